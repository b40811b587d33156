"""Files that are there whole or not at all, short names for contents, and a lock that says who works in a folder."""

import contextlib
import hashlib
import json
import os
import secrets
import stat
import sys
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks; there, two runs in one folder are the user's to avoid
    fcntl = None

__all__ = [
    "DamagedFileError",
    "FolderInUseError",
    "check_folder",
    "digest",
    "open_plain",
    "sole_use",
    "taking_part",
    "write_whole",
]

NO_TRAPS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Follow no link, wait for nobody at the other end of a pipe; Windows has neither flag."""

LOCK = ".lock"


class DamagedFileError(ValueError):
    """What is in a file is not what belongs there; the message names the file and the way out."""


class FolderInUseError(Exception):
    """Another process works in the folder."""


def digest(value) -> str:
    """Return eight letters that tell a value from others: bytes as they are, all else as JSON.

    Examples
    --------
    >>> digest({"lr": 0.1, "epochs": 3}) == digest({"epochs": 3, "lr": 0.1})
    True
    """
    content = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:8]


def write_whole(file: Path, content: bytes) -> None:
    """Write a file under another name, and give it its own when it is complete and on the disk.

    Raises
    ------
    OSError
        If it cannot be written; what was there before is still there.
    """
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(8)}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as handle:  # a new file: one that is there, or a link, is an error
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"{file} cannot be written ({error.strerror})") from error


def open_plain(file: Path, mode: str):
    """Open a file that is kept in place and added to, where neither a link nor a pipe may stand in for it.

    Parameters
    ----------
    file : Path
    mode : str
        As for `open`.

    Raises
    ------
    OSError
        If there is something else than an ordinary file; the message says what.
    """
    with contextlib.suppress(FileNotFoundError):
        kind = file.lstat().st_mode
        if stat.S_ISLNK(kind):
            raise OSError(f"{file} is a link to {file.readlink()}, which is not followed. Put a file in its place.")
        if not stat.S_ISREG(kind):
            what = "a folder" if stat.S_ISDIR(kind) else "a device, a pipe or a socket"
            raise OSError(f"{file} is {what}, not a file. Move it away.")
    # Checked above for the message, and once more on opening, in case that it has changed in between.
    return open(file, mode, opener=lambda name, flags: os.open(name, flags | NO_TRAPS, 0o666))


def check_folder(folder: Path) -> None:
    """Raise an error if something that is no folder has the name of one.

    Raises
    ------
    NotADirectoryError
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise NotADirectoryError(f"{folder} must be a folder, and something else is there. Move it away.")


@contextlib.contextmanager
def sole_use(folder: Path, *, patience: float = 10.0):
    """Be the only run in `folder`, but let its own workers in.

    Workers hold the lock together with their run. Those of a run that was killed take a moment to notice; they are
    waited for, so that no training is done by two processes at once.

    Parameters
    ----------
    folder : Path
    patience : float, default=10.0
        Seconds to wait for others.

    Raises
    ------
    FolderInUseError
        If others are still there when the patience is over.
    OSError
        If the folder cannot be made, or nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open_plain(folder / LOCK, "a")
    except OSError as error:
        raise OSError(f"{folder} cannot be a run folder: {error}") from error
    with lock as file:
        if fcntl is not None:
            deadline = time.monotonic() + patience
            announced = False
            while not _lock(file, exclusive=True):
                if not announced:
                    print(f"Waiting for another run in {folder} to end ...", file=sys.stderr, flush=True)
                    announced = True
                if time.monotonic() > deadline:
                    raise FolderInUseError(
                        f"another run, or a worker of one, is using {folder}. Wait until it is done, end it, or "
                        "use another --out."
                    )
                time.sleep(0.1)
            _lock(file, exclusive=False)
        yield


@contextlib.contextmanager
def taking_part(folder: Path):
    """Work in `folder` as one of the workers of the run that has it."""
    with open_plain(folder / LOCK, "a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _lock(file, *, exclusive):
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
