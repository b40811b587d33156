"""Resume a training that was killed: its whole state in a folder, epoch by epoch."""

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
from sklearn.base import BaseEstimator
from skorch.callbacks import EarlyStopping, GradientNormClipping, LRScheduler, ParamMapper
from skorch.history import History
from torch import nn
from torch.utils.data import Dataset

from sklearn_lec._training.batches import arrays_in_memory
from sklearn_lec._training.rng import global_state, set_global_state

__all__ = ["TRAINING_CALLBACKS", "UPDATE_CALLBACKS", "CheckpointFolder", "Checkpoints", "digest", "is_callback"]

N_KEPT = 2
"""How many checkpoints are kept: if the newest one is damaged, there is the one before."""


class CheckpointFolder:
    """The files of one training's checkpoints.

    Each is a file that begins with the SHA-256 of the rest, and is written whole or not at all. What is in it are
    tensors and plain values; loading executes no code.

    Parameters
    ----------
    folder : str or Path
    """

    def __init__(self, folder):
        if not str(folder):
            raise ValueError("checkpoint_dir must name a folder, got ''.")
        self.path = Path(folder).expanduser().resolve()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OSError(f"checkpoint_dir={str(folder)!r} cannot be made a folder: {error}") from error

    def files(self) -> list[Path]:
        """Return the checkpoints, the newest one first."""
        return sorted(self.path.glob("epoch-*.ckpt"), reverse=True)

    def write(self, state: dict, *, epoch: int) -> None:
        """Write the state after `epoch`, and delete what is older than the one before."""
        buffer = io.BytesIO()
        torch.save(state, buffer)
        content = buffer.getvalue()
        file = self.path / f"epoch-{epoch:06d}.ckpt"
        temporary = file.with_suffix(f".{os.getpid()}.tmp")
        with temporary.open("wb") as handle:
            handle.write(hashlib.sha256(content).digest() + content)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(file)
        _sync_folder(self.path)
        for old in [*self.files()[N_KEPT:], *self.path.glob("epoch-*.tmp")]:
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
            raise OSError(f"all checkpoints in {self.path} are damaged. Delete the folder to start anew.")
        return None


class Checkpoints:
    """The checkpoints of one call of ``fit``: written after each epoch, and the way back into the middle of a run.

    Parameters
    ----------
    net : LECClassifier
        Initialized, but not trained yet.
    data : dict
        X, y and the weights of the samples: a run is resumed on the same data only.
    """

    def __init__(self, net, data: dict):
        self.net = net
        self.folder = CheckpointFolder(net.checkpoint_dir)
        self.identity = {name: digest(value) for name, value in (_relevant_parameters(net) | data).items()}
        self.random_before = None
        """The random numbers with which the run began; the split of the data is drawn from them."""
        self.n_first = 0
        """How many trainings have come before this one."""
        self.resumed = None
        """The state that the training was resumed from, until the data has been split."""

    def resume(self) -> None:
        """Bring the net into the state of the newest checkpoint, if there is one."""
        self.random_before = _encode(global_state(), "random")
        state = self.folder.read(map_location=self.net.device)
        if state is None:
            return
        different = [name for name, value in self.identity.items() if state["identity"].get(name) != value]
        different += state["identity"].keys() - self.identity.keys()
        if different:
            raise ValueError(
                f"checkpoint_dir={str(self.net.checkpoint_dir)!r} holds a run that differs in "
                f"{', '.join(sorted(different))}. Use another folder for each fit, or delete this one to start anew."
            )
        _restore(self.net, state)
        # The split that comes next was drawn at the beginning of the run.
        self.random_before = state["random_before"]
        set_global_state(_decode(self.random_before))
        self.resumed = state

    def after_split(self) -> None:
        """Check that the data was split as in the run that is resumed, and go on with its random numbers."""
        if self.resumed is None:
            return
        if self.net.method_.data_identity != self.resumed["method"]["state"]["data_identity"]:
            raise ValueError(
                "train_split holds out other samples than in the run in checkpoint_dir. Give it a random_state."
            )
        if len(self.net.history) > 0:  # else a training that comes first was interrupted, and has just been resumed
            set_global_state(_decode(self.resumed["random"]))
        self.resumed = None

    def write(self) -> None:
        """Write the state of the net after the epoch that has just ended."""
        self.folder.write(self._state(), epoch=len(self.net.history))

    def folder_of_first_training(self) -> Path:
        """Return where a training that comes before this one keeps its checkpoints.

        What this one begins with is written down, so that it is the same one when the first is resumed.
        """
        if not self.folder.files():
            self.folder.write(self._state(), epoch=0)
        self.n_first += 1
        return self.folder.path / ("first" if self.n_first == 1 else f"first-{self.n_first}")

    def _state(self) -> dict:
        """Return all that a training goes on with, as tensors and plain values."""
        net = self.net
        return {
            "identity": self.identity,
            "module": net.module_.state_dict(),
            "trainable": {name: p.requires_grad for name, p in net.module_.named_parameters()},
            "criterion": net.criterion_.state_dict(),
            "optimizer": net.optimizer_.state_dict(),
            "method": net.method_.state_dict() | {"state": _encode(net.method_.state_dict()["state"], "method_")},
            "history": _encode(net.history.to_list(), "history"),
            "callbacks": {name: _callback_state(callback, name) for name, callback in net.callbacks_},
            "random": _encode(global_state(), "random"),
            "generators": [generator.get_state() for generator in _generators(net)],
            "random_before": self.random_before,
        }


def _restore(net, state: dict) -> None:
    """Bring a net into a state that `Checkpoints` has written."""
    net.module_.load_state_dict(state["module"])
    for name, parameter in net.module_.named_parameters():
        parameter.requires_grad_(state["trainable"][name])
    net.criterion_.load_state_dict(state["criterion"])
    net.optimizer_.load_state_dict(state["optimizer"])
    net.method_.load_state_dict(_decode(state["method"]))
    net.history = History(_decode(state["history"]))
    for name, callback in net.callbacks_:
        _restore_callback(callback, state["callbacks"].get(name, {}))
    for generator, saved in zip(_generators(net), state["generators"], strict=True):
        generator.set_state(saved.cpu())


def _relevant_parameters(net) -> dict:
    """Return the parameters that change the result of a training."""
    others = {"checkpoint_dir", "verbose", "device", "data_on_device", "warm_start", "torch_load_kwargs"}
    parameters = {name: value for name, value in net.get_params(deep=False).items() if name not in others}
    callbacks = net.callbacks if isinstance(net.callbacks, list) else []
    return parameters | {"callbacks": [item for item in callbacks if is_callback(item, TRAINING_CALLBACKS)]}


def _generators(net) -> list[torch.Generator]:
    """Return the generators of the user's own that samples are drawn with."""
    arguments = list(net.get_params_for("iterator_train").values())
    candidates = [*arguments, *(getattr(argument, "generator", None) for argument in arguments)]
    return [candidate for candidate in candidates if isinstance(candidate, torch.Generator)]


UPDATE_CALLBACKS = (GradientNormClipping, LRScheduler, ParamMapper)
"""Callbacks that change the updates of a training."""
TRAINING_CALLBACKS = (EarlyStopping, *UPDATE_CALLBACKS)
"""Callbacks that change the result of a training."""


def is_callback(item, kinds: tuple[type, ...]) -> bool:
    """Return whether an entry of `callbacks`, an instance or a class, possibly with its name, is of one of `kinds`."""
    callback = item[1] if isinstance(item, (tuple, list)) else item
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
    if isinstance(value, BaseEstimator):  # a method, whose state is in the checkpoint
        return type(value).__module__, type(value).__qualname__, parts(value.get_params(deep=False))
    if hasattr(value, "__dict__"):
        return type(value).__qualname__, parts({k: v for k, v in vars(value).items() if not k.endswith("_")})
    return str(value)


def _callback_state(callback, callback_name):
    """Return the fitted attributes of a callback that can be saved."""
    state = {}
    for name, value in vars(callback).items():
        if name.endswith("_") and hasattr(value, "state_dict") and not isinstance(value, type):
            state[name] = {"state_dict": _encode(value.state_dict(), f"{callback_name}.{name}")}
        elif name.endswith("_") and _is_plain(value):
            state[name] = {"value": _encode(value, name)}
    return state


def _restore_callback(callback, state):
    """Put back what `_callback_state` returned."""
    for name, saved in state.items():
        if "value" in saved:
            setattr(callback, name, _decode(saved["value"]))
        else:
            getattr(callback, name).load_state_dict(_decode(saved["state_dict"]))


def _is_plain(value):
    """Return whether `_encode` takes a value."""
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
    """Return what `_encode` was given."""
    if isinstance(value, dict) and value.keys() == {"ndarray", "dtype"}:
        return value["ndarray"].cpu().numpy().astype(value["dtype"])
    if isinstance(value, dict):
        return {key: _decode(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(_decode, value))
    return value


def _storable(dtype):
    """Return a dtype that torch has and that holds every value of `dtype`."""
    return np.int64 if dtype.kind == "u" and dtype.itemsize < 8 else dtype


def _sync_folder(folder):
    """Make sure that the names in a folder are on disk."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
