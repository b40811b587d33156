"""Train a copy of a net, with some parameters changed, before the net itself."""

import copy
import warnings

from sklearn.base import clone
from skorch.callbacks import Callback

from sklearn_lec._training.build import method_defaults
from sklearn_lec._training.resume import UPDATE_CALLBACKS, is_callback

__all__ = ["FinishedEpochs", "trained_copy"]


def trained_copy(net, X, y, *, phase=None, callbacks=(), sample_weight=None, trusted=None, fit_params=None, **changes):
    """Return a copy of a net that has been trained, with some parameters changed.

    Its random numbers go on with those of the net. Of the user's callbacks only those run that change the updates: a
    checkpoint of this network would be taken for one of the network to come.

    Parameters
    ----------
    net : LECClassifier
    X, y : the data, checked
    phase : Callback or None, default=None
        Reports to the bar of the net, if it shows one.
    callbacks : sequence of (name, Callback), default=()
        More of them.
    sample_weight : array-like of shape (n_samples,) or None, default=None
    trusted : array-like of bool, of shape (n_samples,), or None, default=None
    fit_params : dict or None, default=None
    **changes : parameters of the copy

    Returns
    -------
    other : LECClassifier
    """
    of_user, package = net.callbacks, _class_of_package(net)
    if isinstance(of_user, list):
        of_user = [_copy(item) for item in of_user if is_callback(item, UPDATE_CALLBACKS) and _runs_alone(item)]
    has_callbacks = bool(callbacks) or of_user != "disable"
    if has_callbacks:
        callbacks = [*callbacks, ("finished_epochs", FinishedEpochs())]
        callbacks += [] if phase is None else [("phase", phase)]
        of_user = [*(of_user if isinstance(of_user, list) else []), *callbacks]
    parameters = net.get_params(deep=False) | method_defaults(type(net))
    switched_off = tuple(f"{name}__" for name, value in changes.items() if name.startswith("callbacks__") and not value)
    parameters = {name: value for name, value in parameters.items() if not name.startswith(switched_off)}
    parameters |= {"random_state": None, "predict_nonlinearity": "auto", "warm_start": False}
    parameters |= {"callbacks": of_user, "module": copy.deepcopy(net.module), "checkpoint_dir": None}
    try:
        other = type(net)(**parameters | changes)
    except TypeError as error:
        raise TypeError(
            f"a copy of the {type(net).__name__} has to be trained first, but it cannot be made: {error}. Let its "
            "__init__ take all parameters of LECClassifier as **kwargs; with a number for eps no copy is needed."
        ) from error
    if "_metadata_request" in vars(net):
        other._metadata_request = copy.deepcopy(net._metadata_request)
    of_samples = {"sample_weight": sample_weight, "trusted": trusted}
    of_samples = {name: values for name, values in of_samples.items() if values is not None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to warn of will be said in the training under way
        # A fit of the user's own has been called already: what it does to X must not be done twice.
        package.fit(other, X, y, **of_samples, **(fit_params or {}))
    n_epochs = dict(other.callbacks_)["finished_epochs"].n_epochs_ if has_callbacks else len(other.history)
    if n_epochs < other.max_epochs:
        raise KeyboardInterrupt  # skorch takes it for the end of that training, but the user meant this one
    return other


class FinishedEpochs(Callback):
    """Count the epochs that have come to their end; the history has those that were broken off, too.

    Attributes
    ----------
    n_epochs_ : int
    """

    def on_train_begin(self, net, **kwargs):
        """Begin anew; a training that goes on from a checkpoint gets its attribute back after that."""
        self.n_epochs_ = 0

    def on_epoch_end(self, net, **kwargs):
        """Count one more."""
        self.n_epochs_ = len(net.history)


def _class_of_package(net) -> type:
    """Return the class of the package that a net is of, which may be the parent of a class of the user's own."""
    return next(kind for kind in type(net).__mro__ if kind.__module__.startswith("sklearn_lec."))


def _runs_alone(item) -> bool:
    """Return whether an entry of `callbacks` needs no score that another callback of the user's records."""
    monitor = getattr(item[1] if isinstance(item, (tuple, list)) else item, "monitor", None)
    return not isinstance(monitor, str) or monitor in ("train_loss", "valid_loss", "valid_acc")


def _copy(item):
    """Return a copy of an entry of `callbacks`."""
    return (item[0], clone(item[1])) if isinstance(item, (tuple, list)) else clone(item)
