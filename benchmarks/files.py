"""Files that are there whole or not at all, short names for contents, and a lock that says who works in a folder."""

import contextlib
import hashlib
import json
import os
import sys
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks; there, two runs in one folder are the user's to avoid
    fcntl = None

__all__ = ["FolderInUseError", "digest", "sole_use", "taking_part", "write_whole"]


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
    """Write a file under another name, and give it its own when it is complete and on the disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    with temporary.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(file)


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
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as file:
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
    with (folder / ".lock").open("a+") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


def _lock(file, *, exclusive):
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
