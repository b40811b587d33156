"""Resume a training that was killed: what is compared before, what is put back, and when."""

import platform
import sys
import types
from contextlib import contextmanager
from pathlib import Path

import torch
from skorch.callbacks import Checkpoint, GradientNormClipping, LRScheduler, ParamMapper, TrainEndCheckpoint
from skorch.helper import SliceDataset
from torch import nn
from torch.utils.data import Dataset

from sklearn_lec._training.bad_samples import HugeSamples
from sklearn_lec._training.batches import arrays_in_memory
from sklearn_lec._training.folder import CheckpointFolder, foreign_checkpoint
from sklearn_lec._training.identity import Fingerprint, digest
from sklearn_lec._training.labels import RelabeledDataset
from sklearn_lec._training.rng import global_state, set_global_state
from sklearn_lec._training.state import (
    decode,
    encode,
    generator_state,
    hidden_attributes,
    net_state,
    restore,
    set_generator_state,
)
from sklearn_lec._training.warn import warn_caller
from sklearn_lec.callbacks import LabelQuality, SelectionHistory
from sklearn_lec.progress import EpochTable, TrainingPhase, TrainingProgress

__all__ = ["UPDATE_CALLBACKS", "Checkpoints", "is_callback"]

FORMAT = 4
"""What a checkpoint is made of; raised when that changes."""

UPDATE_CALLBACKS = (GradientNormClipping, LRScheduler, ParamMapper)
"""Callbacks that change the updates of a training."""

_OBSERVERS = (
    Checkpoint,
    TrainEndCheckpoint,
    LabelQuality,
    SelectionHistory,
    TrainingProgress,
    TrainingPhase,
    EpochTable,
)
"""Callbacks that only look on; so do all of ``skorch.callbacks.logging``."""

_WITHOUT_EFFECT = {"checkpoint_dir", "verbose", "device", "data_on_device", "warm_start", "torch_load_kwargs"}
"""Parameters that do not change the result of a training."""


class Checkpoints:
    """The checkpoints of one call of ``fit``: written after each epoch, and the way back into the middle of a run.

    Parameters
    ----------
    net : LECClassifier
        Initialized, but not trained yet.
    data : dict
        X, y and the weights of the samples: a run is resumed on the same data only.
    huge : HugeSamples
        Those of a Dataset are found batch by batch.
    """

    def __init__(self, net, data: dict, huge: HugeSamples):
        self.net = net
        self.data = data
        self.huge = huge
        self.folder = CheckpointFolder(net.checkpoint_dir)
        self.identity = {}
        """What decides the result of the run, each by its digest."""
        self.paths = {}
        """The digests of the parts of that, as far as they are kept apart."""
        self.generators = {}
        """The random number generators of the user's own that were found in parameters, data and network."""
        self.versions = {}
        """Those of Python and of the packages that the run uses."""
        self.before = None
        """The random numbers with which the run began; the split of the data is drawn from them."""
        self.changing = None
        """Digests of what might change during the training without being saved; None when that has been looked at."""
        self.n_first = 0
        """How many trainings have come before this one."""
        self.resumed = None
        """The state that the training was resumed from, until the data has been split."""

    # --- the beginning ----------------------------------------------------------------------------------------------

    def resume(self, fit_params: dict) -> None:
        """Take the folder, and bring the net into the state of the newest checkpoint, if there is one."""
        net = self.net
        self.folder.lock()
        fingerprint = Fingerprint()
        self.identity = _identity(net, self.data, fit_params, fingerprint)
        self.paths = dict(fingerprint.paths)
        for name, value in hidden_attributes(net).items():
            fingerprint.of(value, name)
        self.generators = fingerprint.generators
        self._warn_of_generators_in_workers()
        self.before = self._random_numbers()
        self.changing = self._digests_of_changing()
        self.versions = _versions(fingerprint.packages)
        state = self.folder.read()
        if state is not None:
            with self._damage_named(state):
                different, differs_in_callbacks = _compare(self.identity, state["identity"])
                paths = dict(state["paths"])
                other_versions = {
                    name: (of_run, self.versions[name])
                    for name, of_run in state["versions"].items()
                    if self.versions.get(name) not in (None, of_run)
                }
            if different:
                raise ValueError(self._refusal(different, other_versions, paths))
            with self._damage_named(state):
                lost = restore(net, state, n_samples=len(self.data["y"]))
                self.huge.load(decode(state["huge"]))
                # Both, so that an error in either of them is found now.
                self._set_random_numbers(state["now"])
                of_run, own = state["before"][1], self.before[1]
                moved = [name for name in own if digest(of_run.get(name)) != digest(own[name])]
                self._set_random_numbers(state["before"])
            doubts = dict(fingerprint.unknown)
            doubts |= dict.fromkeys(moved, "generator that has been drawn from, or has another seed")
            doubts |= dict.fromkeys(lost, "state that is not there yet, and begins anew")
            self._warn_of_doubts(doubts, other_versions, differs_in_callbacks)
            # The split that comes next was drawn at the beginning of the run.
            self.before = state["before"]
            self.resumed = state
        if len(net.history) < net.max_epochs:
            self.folder.check_writable()

    def check_split(self) -> None:
        """Raise an error if the data was not split as in the run that is resumed."""
        if self.resumed is None:
            return
        if self.net.method_.data_identity != self.resumed["method"]["state"]["data_identity"]:
            raise ValueError(
                "train_split holds out other samples than in the run in checkpoint_dir. Give it a random_state."
            )

    def go_on(self) -> None:
        """Go on with the random numbers of the run that is resumed, if there is one."""
        # Without an epoch, a training that comes first was interrupted, and has just been resumed.
        if self.resumed is not None and len(self.net.history) > 0:
            self._set_random_numbers(self.resumed["now"])
        self.resumed = None

    # --- the end of an epoch, and of the run --------------------------------------------------------------------------

    def write(self) -> None:
        """Write the state of the net after the epoch that has just ended."""
        if self.changing is not None:
            now = self._digests_of_changing()
            changed = [name for name, digest in self.changing.items() if now.get(name) != digest]
            self.changing = None
            if changed:
                warn_caller(
                    f"{', '.join(changed)} changed during an epoch, and checkpoint_dir cannot save that: a run "
                    "that is resumed may end differently. Saved are parameters, buffers and plain attributes of the "
                    "network, plain attributes of callbacks, and random number generators."
                )
        self.folder.write(self._state(), epoch=len(self.net.history))

    def folder_of_first_training(self) -> Path:
        """Return where a training that comes before this one keeps its checkpoints.

        What this one begins with is written down, so that it is the same one when the first is resumed.
        """
        if not self.folder.files():
            self.folder.write(self._state(), epoch=0)
        self.n_first += 1
        return self.folder.path / ("first" if self.n_first == 1 else f"first-{self.n_first}")

    def close(self) -> None:
        """Leave the folder to others."""
        self.folder.unlock()

    # --- parts --------------------------------------------------------------------------------------------------------

    def _state(self) -> dict:
        """Return all that a training goes on with, as tensors and plain values."""
        run = {"format": FORMAT, "identity": self.identity, "paths": self.paths, "versions": self.versions}
        run["huge"] = encode(self.huge.state(), "huge")
        return run | net_state(self.net) | {"before": self.before, "now": self._random_numbers()}

    def _random_numbers(self) -> tuple[dict, dict]:
        """Return the states of the global generators and of the user's own."""
        own = {name: generator_state(generator) for name, generator in self.generators.items()}
        return encode(global_state(), "random"), own

    def _set_random_numbers(self, states: tuple[dict, dict]) -> None:
        """Put the generators into states that `_random_numbers` returned."""
        of_global, own = states
        set_global_state(decode(of_global))
        for name in self.generators.keys() & own.keys():
            set_generator_state(self.generators[name], own[name])

    def _digests_of_changing(self) -> dict[str, str]:
        """Return digests of what is read or called during the training, and might change by that."""
        fingerprint = Fingerprint()
        candidates = {
            name: value
            for name, value in self.net.get_params(deep=False).items()
            if name not in _WITHOUT_EFFECT and not name.startswith("callbacks") and not isinstance(value, nn.Module)
        }
        for name, callback in self.net.callbacks_:
            candidates |= {f"callbacks.{name}.{key}": code for key, code in _code_of(callback).items()}
        candidates |= hidden_attributes(self.net)
        if (dataset := _loading_dataset(self.data["X"])) is not None:
            candidates["X"] = dataset
        return {name: fingerprint.of(value, name) for name, value in candidates.items()}

    def _warn_of_generators_in_workers(self) -> None:
        """Warn of generators whose copies in worker processes move out of sight."""
        in_data = [name for name in self.generators if name.startswith("X")]
        if in_data and self.net.get_params_for("iterator_train").get("persistent_workers"):
            warn_caller(
                f"{', '.join(in_data)} lives on in worker processes, where checkpoint_dir cannot save it: a run that "
                "is resumed may end differently. Draw from the global generators, or set "
                "iterator_train__persistent_workers=False."
            )

    # --- what is said about a run that is resumed ---------------------------------------------------------------------

    @contextmanager
    def _damage_named(self, state):
        """Turn what goes wrong with a file of another structure into an error that says so."""
        try:
            if state["format"] != FORMAT:
                raise ValueError(f"format {state['format']}")
            yield
        except torch.cuda.OutOfMemoryError:  # a RuntimeError, too
            raise
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise foreign_checkpoint(self.folder.path, error) from error

    def _refusal(self, different: list[str], other_versions: dict, paths: dict[str, str]) -> str:
        """Return why a run cannot be resumed, and what can be done."""
        named = [name + _where_within(name, self.paths, paths) for name in sorted(different)]
        message = (
            f"checkpoint_dir={str(self.net.checkpoint_dir)!r} holds a run that differs in "
            f"{', '.join(named)}. Use another folder for each fit, or delete this one to start anew."
        )
        if any(name.startswith("callbacks.") or _has_code(getattr(self.net, name, None)) for name in different):
            message += (
                " Code counts with all that it refers to, global values too. What the run has changed (a list that "
                "grows, a network that was passed as an instance) has to be made anew before fit is called again."
            )
        if any(isinstance(getattr(self.net, name, None), nn.Module) for name in different):
            message += (
                " The weights of a network that is passed as an instance are compared, too: call torch.manual_seed "
                "before it is made, or pass its class."
            )
        if "Python" in other_versions:
            message += f" It was begun with Python {other_versions['Python'][0]}, where functions look different."
        return message

    def _warn_of_doubts(self, doubts, other_versions, differs_in_callbacks) -> None:
        """Warn of what may make the result another one than that of a run in one piece."""
        name = f"the run in checkpoint_dir={str(self.net.checkpoint_dir)!r}"
        if other_versions:
            changes = [f"{package} {old} (now {new})" for package, (old, new) in other_versions.items()]
            warn_caller(f"{name} was begun with {', '.join(changes)}: its result may be another than in one piece.")
        if (dataset := _loading_dataset(self.data["X"])) is not None:
            doubts = doubts | {"X": f"{type(dataset).__name__} that loads its samples"}
        if doubts:
            named = ", ".join(f"{where} (a {kind})" for where, kind in doubts.items())
            warn_caller(f"{name} is resumed, but it is not certain that these are the same as before: {named}.")
        if differs_in_callbacks:
            warn_caller(
                f"{name} is resumed with callbacks added or left out: {', '.join(sorted(differs_in_callbacks))}. If "
                "they do more than look on, its result is that of neither."
            )


def _identity(net, data: dict, fit_params: dict, fingerprint: Fingerprint) -> dict[str, str]:
    """Return the digest of everything that decides the result of a run, by name."""
    parts = {
        name: value
        for name, value in net.get_params(deep=False).items()
        if name not in _WITHOUT_EFFECT and not name.startswith("callbacks")
    }
    parts |= data | {f"fit_params.{name}": value for name, value in fit_params.items()}
    parts |= {f"callbacks.{name}": callback for name, callback in net.callbacks_ if not _only_looks_on(callback)}
    parts["the class of the estimator"] = type(net)
    # In one order: digests of functions that call each other depend on which of them comes first.
    return {name: fingerprint.of(parts[name], name) for name in sorted(parts)}


def _compare(identity: dict[str, str], of_run: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return what differs from the run in the folder: for certain, and callbacks that only one of the two has."""
    different = [name for name in identity.keys() | of_run.keys() if identity.get(name) != of_run.get(name)]
    only_in_one = identity.keys() ^ of_run.keys()
    callbacks = [name for name in different if name.startswith("callbacks.") and name in only_in_one]
    return [name for name in different if name not in callbacks], callbacks


def _where_within(name: str, paths: dict[str, str], of_run: dict[str, str]) -> str:
    """Return, for an error, the parts of a value that differ from those of the run; empty if they are not known."""
    # Where only one of them has a part, they are different as a whole.
    within = [path for path in paths.keys() & of_run.keys() if path.startswith(tuple(name + mark for mark in ".:["))]
    differing = [path for path in within if paths[path] != of_run[path]]
    deepest = sorted(one for one in differing if not any(two != one and two.startswith(one) for two in differing))
    return f" (at {', '.join(deepest[:3])}{', ...' if len(deepest) > 3 else ''})" if deepest else ""


def _code_of(callback) -> dict[str, object]:
    """Return the class of a callback and the functions among its settings, whose globals and closures may change."""
    functions = {name: value for name, value in vars(callback).items() if isinstance(value, types.FunctionType)}
    keywords = {k: v for k, v in (vars(callback).get("kwargs") or {}).items() if isinstance(v, types.FunctionType)}
    return {"__class__": type(callback)} | functions | keywords


def _has_code(value) -> bool:
    """Return whether a parameter is code, or an object with code of its own."""
    return callable(value) or hasattr(value, "__dict__")


def _loading_dataset(X) -> Dataset | None:
    """Return the data set of the user's own that X is, unless it does nothing but index arrays."""
    dataset = X.dataset if isinstance(X, RelabeledDataset | SliceDataset) else X
    return dataset if isinstance(dataset, Dataset) and arrays_in_memory(dataset) is None else None


def _only_looks_on(callback) -> bool:
    """Return whether a callback is known to change nothing; one of the user's own may change anything."""
    return type(callback) in _OBSERVERS or type(callback).__module__ == "skorch.callbacks.logging"


def _versions(packages: set[str]) -> dict[str, str]:
    """Return the versions of Python, of what every run depends on, and of the packages that this one uses."""
    names = sorted(packages | {"torch", "numpy", "skorch", "sklearn_lec"})
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in names}
    of_packages = {name: str(version) for name, version in found.items() if version is not None}
    return {"Python": ".".join(platform.python_version_tuple()[:2])} | of_packages


def is_callback(item, kinds: tuple[type, ...]) -> bool:
    """Return whether an entry of `callbacks`, an instance or a class, possibly with its name, is of one of `kinds`."""
    callback = item[1] if isinstance(item, (tuple, list)) else item
    return isinstance(callback, kinds) or (isinstance(callback, type) and issubclass(callback, kinds))
