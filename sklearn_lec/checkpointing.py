"""A training that survives being killed: its whole state in a folder, epoch by epoch, and the way back."""

import hashlib
import io
import os
import warnings
from pathlib import Path

import joblib
import numpy as np
import torch
from skorch.history import History

from sklearn_lec.randomness import global_state, set_global_state

__all__ = ["ResumableTrainingMixin", "RunFolder"]

N_KEPT = 2
"""How many checkpoints are kept: if the newest one is damaged, there is the one before."""


class RunFolder:
    """The checkpoints of one training.

    Each is a file that begins with the SHA-256 of the rest, and is written whole or not at all. What is in it are
    tensors and plain values; loading executes no code.

    Parameters
    ----------
    folder : str or Path
    """

    def __init__(self, folder):
        self.folder = Path(folder).expanduser()

    def files(self) -> list[Path]:
        """Return the checkpoints, the newest one first."""
        return sorted(self.folder.glob("epoch-*.ckpt"), reverse=True)

    def write(self, state: dict, *, epoch: int) -> None:
        """Write the state after `epoch`, and delete what is older than the one before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getvalue()
        file = self.folder / f"epoch-{epoch:06d}.ckpt"
        temporary = file.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("wb") as handle:
            handle.write(hashlib.sha256(content).digest() + content)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(file)
        _sync_folder(self.folder)
        for old in self.files()[N_KEPT:]:
            old.unlink(missing_ok=True)

    def read(self, *, map_location) -> dict | None:
        """Return the newest intact state; None if there is no checkpoint.

        A damaged checkpoint is passed over with a warning; if there are only damaged ones, that is an error.
        """
        files = self.files()
        for file in files:
            content = file.read_bytes()
            digest, content = content[:32], content[32:]
            if hashlib.sha256(content).digest() == digest:
                return torch.load(io.BytesIO(content), map_location=map_location, weights_only=True)
            warnings.warn(f"the checkpoint {file} is damaged; going back to the one before.", stacklevel=2)
        if files:
            raise OSError(f"all checkpoints in {self.folder} are damaged. Delete the folder to start anew.")
        return None


class ResumableTrainingMixin:
    """Let ``fit`` write its state into `checkpoint_dir` after each epoch, and go on from there after a break."""

    _run_ = None
    _identity_ = None

    def fit_loop(self, X, y=None, epochs=None, **fit_params):
        """Train for `epochs` epochs, or for as many as an interrupted run has left."""
        if epochs is None and self._run_ is not None:
            self._resume()
            epochs = max(0, self.max_epochs - len(self.history))
        return super().fit_loop(X, y, epochs, **fit_params)

    def notify(self, method_name, **kwargs):
        """Tell callbacks, and write a checkpoint when all of them are through with an epoch."""
        super().notify(method_name, **kwargs)
        if method_name == "on_epoch_end" and self._run_ is not None:
            self._run_.write(self._state(), epoch=len(self.history))

    def _open_run(self, X, y):
        """Prepare for checkpoints of a training from scratch on X and y, if there is a folder for them."""
        if self.checkpoint_dir is not None:
            self._run_ = RunFolder(self.checkpoint_dir)
            self._identity_ = {name: _digest(value) for name, value in self._relevant_parameters().items()}
            self._identity_ |= {"X": _digest(X), "y": _digest(y), "sample_weight": _digest(self._sample_weight_)}

    def _relevant_parameters(self):
        passing = {"checkpoint_dir", "verbose", "device", "callbacks", "warm_start", "torch_load_kwargs"}
        return {name: value for name, value in self.get_params(deep=False).items() if name not in passing}

    def _state(self):
        return {
            "identity": self._identity_,
            "module": self.module_.state_dict(),
            "criterion": self.criterion_.state_dict(),
            "optimizer": self.optimizer_.state_dict(),
            "method": self.method_.state_dict(),
            "history": _plain(self.history.to_list()),
            "callbacks": {name: _callback_state(callback) for name, callback in self.callbacks_},
            "random": _without_arrays(global_state()),
        }

    def _resume(self):
        state = self._run_.read(map_location=self.device)
        if state is None:
            return
        different = [name for name, digest in self._identity_.items() if state["identity"].get(name) != digest]
        different += state["identity"].keys() - self._identity_.keys()
        if different:
            raise ValueError(
                f"checkpoint_dir={str(self.checkpoint_dir)!r} holds a run that differs in "
                f"{', '.join(sorted(different))}. Use another folder, or delete this one to start anew."
            )
        self.module_.load_state_dict(state["module"])
        self.criterion_.load_state_dict(state["criterion"])
        self.optimizer_.load_state_dict(state["optimizer"])
        self.method_.load_state_dict(state["method"])
        self.history = History(state["history"])
        for name, callback in self.callbacks_:
            _restore_callback(callback, state["callbacks"].get(name, {}))
        set_global_state(_with_arrays(state["random"]))


def _digest(value):
    """Return a short text that tells values apart; names stand for classes and functions."""
    if isinstance(value, torch.utils.data.Dataset):
        value = (type(value).__qualname__, len(value))
    if isinstance(value, torch.nn.Module):
        value = (type(value).__qualname__, {name: t.cpu().numpy() for name, t in value.state_dict().items()})
    if isinstance(value, torch.Tensor):
        value = value.cpu().numpy()
    if callable(value):
        value = getattr(value, "__qualname__", type(value).__qualname__)
    try:
        return joblib.hash(value)
    except Exception:  # whatever cannot be pickled
        return type(value).__qualname__


def _callback_state(callback):
    state = {}
    for name, value in vars(callback).items():
        if name.endswith("_") and hasattr(value, "state_dict") and not isinstance(value, type):
            state[name] = {"state_dict": _plain(value.state_dict())}
        elif name.endswith("_") and _is_plain(value):
            state[name] = {"value": _plain(value)}
    return state


def _restore_callback(callback, state):
    for name, saved in state.items():
        if "value" in saved:
            setattr(callback, name, saved["value"])
        else:
            getattr(callback, name).load_state_dict(saved["state_dict"])


def _is_plain(value):
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(part) for key, part in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str, np.generic, torch.Tensor))


def _plain(value):
    """Return `value` with numpy's numbers as Python's, which loading without code can take."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _without_arrays(state):
    name, keys, *rest = state["numpy"]
    return state | {"numpy": [name, torch.from_numpy(keys.astype(np.int64)), *rest]}


def _with_arrays(state):
    name, keys, *rest = state["numpy"]
    state = state | {"numpy": (name, keys.cpu().numpy().astype(np.uint32), *rest)}
    # torch keeps the states of all its generators on the CPU, wherever the network was loaded to.
    return state | {"torch": state["torch"].cpu(), "cuda": [part.cpu() for part in state.get("cuda", ())]}


def _sync_folder(folder):
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
