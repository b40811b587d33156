"""A training that survives being killed: its whole state in a folder, epoch by epoch, and the way back."""

import hashlib
import io
import os
import warnings
from collections import OrderedDict
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import torch
from skorch.callbacks import EarlyStopping, GradientNormClipping, LRScheduler, ParamMapper
from skorch.history import History
from torch import nn
from torch.utils.data import Dataset

from sklearn_lec.data import arrays_in_memory
from sklearn_lec.randomness import global_state, set_global_state

__all__ = ["ResumableTrainingMixin", "RunFolder", "changes_training", "digest"]

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
        if not str(folder):
            raise ValueError("checkpoint_dir must name a folder, got ''.")
        self.folder = Path(folder).expanduser().resolve()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"checkpoint_dir={str(folder)!r} cannot be made a folder: {error}") from error

    def files(self) -> list[Path]:
        """Return the checkpoints, the newest one first."""
        return sorted(self.folder.glob("epoch-*.ckpt"), reverse=True)

    def write(self, state: dict, *, epoch: int) -> None:
        """Write the state after `epoch`, and delete what is older than the one before."""
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
        for old in [*self.files()[N_KEPT:], *self.folder.glob("epoch-*.tmp")]:
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
    _checkpoint_ = None
    _random_before_ = None

    def fit_loop(self, X, y=None, epochs=None, **fit_params):
        """Train for `epochs` epochs, or for as many as an interrupted run has left."""
        if epochs is None and self._run_ is not None:
            self._random_before_ = _encode(global_state(), "random")
            self._checkpoint_ = self._run_.read(map_location=self.device)
            if self._checkpoint_ is not None:
                self._resume(self._checkpoint_)
            epochs = max(0, self.max_epochs - len(self.history))
        return super().fit_loop(X, y, epochs, **fit_params)

    def get_split_datasets(self, X, y=None, **fit_params):
        """Split as the run that is resumed did, and only then go on with the random numbers of its last epoch."""
        datasets = super().get_split_datasets(X, y, **fit_params)
        if self._checkpoint_ is not None:
            if self.method_.rows_identity != self._checkpoint_["method"]["rows_identity"]:
                raise ValueError(
                    "train_split holds out other rows than in the run in checkpoint_dir. Give it a random_state."
                )
            if len(self.history) > 0:  # else a training that comes first was interrupted, and has just been resumed
                set_global_state(_decode(self._checkpoint_["random"]))
            self._checkpoint_ = None
        return datasets

    def notify(self, method_name, **kwargs):
        """Tell callbacks, and write a checkpoint when all of them are through with an epoch."""
        super().notify(method_name, **kwargs)
        if method_name == "on_epoch_end" and self._run_ is not None:
            self._run_.write(self._state(), epoch=len(self.history))

    def _open_run(self, X, y):
        """Prepare for checkpoints of a training from scratch on X and y, if there is a folder for them."""
        if self.checkpoint_dir is not None:
            self._run_ = RunFolder(self.checkpoint_dir)
            data = {"X": X, "y": y, "sample_weight": self._sample_weight_}
            self._identity_ = {name: digest(value) for name, value in (self._relevant_parameters() | data).items()}

    def _folder_of_first_training(self) -> Path | None:
        """Return where a training that comes before this one keeps its checkpoints; None if there are none to keep.

        What this one begins with is written down, so that it is the same one when the first is resumed.
        """
        if self._run_ is None:
            return None
        if not self._run_.files():
            self._run_.write(self._state(), epoch=0)
        return self._run_.folder / "first"

    def _relevant_parameters(self):
        passing = {"checkpoint_dir", "verbose", "device", "data_on_device", "warm_start", "torch_load_kwargs"}
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in passing}
        callbacks = self.callbacks if isinstance(self.callbacks, list) else []
        return parameters | {"callbacks": [callback for callback in callbacks if changes_training(callback)]}

    def _generators(self):
        """Return the generators of the user's own that rows are drawn with."""
        arguments = list(self.get_params_for("iterator_train").values())
        candidates = [*arguments, *(getattr(argument, "generator", None) for argument in arguments)]
        return [candidate for candidate in candidates if isinstance(candidate, torch.Generator)]

    def _state(self):
        return {
            "identity": self._identity_,
            "module": self.module_.state_dict(),
            "trainable": {name: p.requires_grad for name, p in self.module_.named_parameters()},
            "criterion": self.criterion_.state_dict(),
            "optimizer": self.optimizer_.state_dict(),
            "method": self.method_.state_dict(),
            "history": _encode(self.history.to_list(), "history"),
            "callbacks": {name: _callback_state(callback, name) for name, callback in self.callbacks_},
            "random": _encode(global_state(), "random"),
            "generators": [generator.get_state() for generator in self._generators()],
            "random_before": self._random_before_,
        }

    def _resume(self, state):
        different = [name for name, value in self._identity_.items() if state["identity"].get(name) != value]
        different += state["identity"].keys() - self._identity_.keys()
        if different:
            raise ValueError(
                f"checkpoint_dir={str(self.checkpoint_dir)!r} holds a run that differs in "
                f"{', '.join(sorted(different))}. Use another folder for each fit, or delete this one to start anew."
            )
        self.module_.load_state_dict(state["module"])
        for name, parameter in self.module_.named_parameters():
            parameter.requires_grad_(state["trainable"][name])
        self.criterion_.load_state_dict(state["criterion"])
        self.optimizer_.load_state_dict(state["optimizer"])
        self.method_.load_state_dict(state["method"])
        self.history = History(_decode(state["history"]))
        for name, callback in self.callbacks_:
            _restore_callback(callback, state["callbacks"].get(name, {}))
        for generator, saved in zip(self._generators(), state["generators"], strict=True):
            generator.set_state(saved.cpu())
        # The split that comes next was drawn at the beginning of the run.
        self._random_before_ = state["random_before"]
        set_global_state(_decode(self._random_before_))


def changes_training(item) -> bool:
    """Return whether a callback, possibly with its name, changes the training itself."""
    callback = item[1] if isinstance(item, (tuple, list)) else item
    kinds = (EarlyStopping, GradientNormClipping, LRScheduler, ParamMapper)
    return isinstance(callback, kinds) or (isinstance(callback, type) and issubclass(callback, kinds))


def digest(value) -> str:
    """Return a short text that tells parameters and data apart."""
    return joblib.hash(_described(value, depth=6))


def _described(value, *, depth):
    """Return what a value is made of, without what training changes in it."""
    if depth == 0:
        return type(value).__qualname__
    parts = partial(_described, depth=depth - 1)
    if isinstance(value, Dataset):
        arrays = arrays_in_memory(value)
        return parts(arrays) if arrays is not None else (type(value).__qualname__, len(value))
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        return joblib.hash(np.ascontiguousarray(value))
    if isinstance(value, (np.random.RandomState, torch.Generator)):
        return type(value).__qualname__  # what has been drawn from it is in the checkpoint
    if isinstance(value, nn.Module):
        plain = {name: part for name, part in vars(value).items() if isinstance(part, (bool, int, float, str))}
        return repr(value), parts(plain), {name: tuple(part.shape) for name, part in value.state_dict().items()}
    if isinstance(value, partial):
        return "partial", parts(value.func), parts(value.args), parts(value.keywords)
    if isinstance(value, dict):
        return {str(name): parts(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [parts(part) for part in value]
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        code = getattr(value, "__code__", None)
        body = (code.co_code.hex(), parts(code.co_consts)) if code else ()
        return value.__module__, value.__qualname__, *body
    if hasattr(value, "__dict__"):
        return type(value).__qualname__, parts({k: v for k, v in vars(value).items() if not k.endswith("_")})
    return str(value)


def _callback_state(callback, callback_name):
    state = {}
    for name, value in vars(callback).items():
        if name.endswith("_") and hasattr(value, "state_dict") and not isinstance(value, type):
            state[name] = {"state_dict": _encode(value.state_dict(), f"{callback_name}.{name}")}
        elif name.endswith("_") and _is_plain(value):
            state[name] = {"value": _encode(value, name)}
    return state


def _restore_callback(callback, state):
    for name, saved in state.items():
        if "value" in saved:
            setattr(callback, name, _decode(saved["value"]))
        else:
            getattr(callback, name).load_state_dict(_decode(saved["state_dict"]))


def _is_plain(value):
    try:
        _encode(value, "")
    except TypeError:
        return False
    return True


def _encode(value, where):
    """Return `value` as tensors and plain Python, which loading without executing code can take."""
    if type(value) in (dict, OrderedDict):
        return {key: _encode(part, f"{where}.{key}") for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_encode(part, where) for part in value)
    if isinstance(value, np.generic):
        return _encode(value.item(), where)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"ndarray": torch.from_numpy(np.array(value, dtype=_storable(value.dtype))), "dtype": value.dtype.str}
    if value is None or isinstance(value, (bool, int, float, str, torch.Tensor)):
        return value
    raise TypeError(
        f"checkpoint_dir cannot save {where}, which is a {type(value).__name__}: only numbers, text and arrays."
    )


def _decode(value):
    if isinstance(value, dict) and value.keys() == {"ndarray", "dtype"}:
        return value["ndarray"].cpu().numpy().astype(value["dtype"])
    if isinstance(value, dict):
        return {key: _decode(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_decode, value))
    return value


def _storable(dtype):
    return np.int64 if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def _sync_folder(folder):
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
