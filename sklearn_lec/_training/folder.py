"""The files of one training's checkpoints: each whole or not there at all, one process at a time."""

import errno
import hashlib
import io
import os
import pickle
import re
import secrets
import weakref
from pathlib import Path

import torch

from sklearn_lec._training.warn import warn_caller

try:
    import fcntl
except ImportError:  # Windows has no such locks: users must avoid two trainings in one folder
    fcntl = None

__all__ = ["CheckpointFolder", "foreign_checkpoint"]

N_KEPT = 2
"""How many checkpoints are kept: if the newest one is damaged, there is the one before."""

_open_folders = weakref.WeakSet()


class CheckpointFolder:
    """The files of one training's checkpoints, locked from `lock` until `unlock`.

    Each is a file that begins with the SHA-256 of the rest, and is written whole or not at all. What is in it are
    tensors and plain values; loading executes no code. Whatever else lies in the folder is left alone.

    Parameters
    ----------
    folder : str or Path
        Made if it is not there.
    """

    def __init__(self, folder):
        if not str(folder):
            raise ValueError("checkpoint_dir must name a folder, got ''.")
        self._descriptor = None
        try:
            self.path = Path(folder).expanduser().resolve()
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, RuntimeError, TypeError, ValueError) as error:  # RuntimeError: links in a circle, for one
            raise OSError(f"checkpoint_dir={folder!r} cannot be made a folder: {error}") from error

    # --- one process at a time --------------------------------------------------------------------------------------

    def lock(self) -> None:
        """Take the folder for this training, or raise an error if another one has it."""
        if fcntl is None:
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                os.close(descriptor)
                raise OSError(
                    f"checkpoint_dir={str(self.path)!r} is in use by another training. Use another folder for each "
                    "fit, or wait for the other one."
                ) from error
            # A file system without locks: users must avoid two trainings in one folder.
        self._descriptor = descriptor
        _open_folders.add(self)

    def unlock(self) -> None:
        """Leave the folder to others."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            _open_folders.discard(self)

    # --- reading and writing ----------------------------------------------------------------------------------------

    def files(self) -> list[Path]:
        """Return the checkpoints, the newest one first."""
        numbered = {
            int(match[1]): file
            for file in self.path.iterdir()
            if (match := re.fullmatch(r"epoch-(\d{6,})\.ckpt", file.name)) and file.is_file()
        }
        return [file for _, file in sorted(numbered.items(), reverse=True)]

    def check_writable(self) -> None:
        """Raise an error if no file can be written."""
        self._write_whole(self.path / "epoch-000000.ckpt", keep=False)

    def write(self, state: dict, *, epoch: int) -> None:
        """Write the state after `epoch`, and delete what is older than the one before."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getbuffer()
        self._write_whole(self.path / f"epoch-{epoch:06d}.ckpt", hashlib.sha256(content).digest(), content)
        half_written = [file for file in self.path.glob("epoch-*.tmp") if not file.is_dir()]
        for old in [*self.files()[N_KEPT:], *half_written]:
            old.unlink(missing_ok=True)

    def _write_whole(self, file: Path, *parts, keep: bool = True) -> None:
        """Write a file under another name, and give it its own when it is whole; delete it again if not `keep`."""
        temporary = file.with_suffix(f".{secrets.token_hex(8)}.tmp")
        try:
            with temporary.open("xb") as handle:  # a new file: one that is there, or a link, is an error
                handle.writelines(parts)
                handle.flush()
                os.fsync(handle.fileno())
            if keep:
                temporary.replace(file)
                _sync_folder(self.path)
        except OSError as error:
            raise OSError(
                error.errno,
                f"the checkpoint {file} cannot be written ({error.strerror}). Those written before are still there",
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    def read(self) -> dict | None:
        """Return the newest intact state, its tensors on the CPU; None if there is no checkpoint.

        A damaged checkpoint is passed over with a warning; if there are only damaged ones, that is an error.
        """
        files = self.files()
        for file in files:
            content = file.read_bytes()
            digest, content = content[:32], content[32:]
            if hashlib.sha256(content).digest() == digest:
                try:
                    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
                except Exception as error:  # torch raises whatever its parts raise
                    raise foreign_checkpoint(self.path, error) from error
            warn_caller(f"the checkpoint {file} is damaged; going back to the one before.")
        if files:
            raise OSError(f"all checkpoints in {self.path} are damaged. Delete the folder to start anew.")
        return None


def foreign_checkpoint(folder: Path, error: Exception) -> ValueError:
    """Return the error to raise for a file that is intact, but not what this version writes."""
    reason = str(error).partition("\n")[0]
    if isinstance(error, pickle.UnpicklingError):  # torch goes on with the advice to execute what is in the file
        reason = reason.partition(".")[0]
    return ValueError(
        f"the newest checkpoint in {folder} is damaged or from another version of sklearn-lec "
        f"({type(error).__name__}: {reason}). Delete the folder to start anew, or go on with that version."
    )


def _sync_folder(folder):
    """Make sure that the names in a folder are on disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _leave_locks_to_the_parent():
    """Let go of locks in a process that was forked: workers that outlive a killed training must not hold its folder."""
    for folder in list(_open_folders):
        folder.unlock()


if fcntl is not None:
    os.register_at_fork(after_in_child=_leave_locks_to_the_parent)
