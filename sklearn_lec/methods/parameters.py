"""Which values the parameters that methods share may take, and what the errors and warnings say."""

import math
import warnings
from collections.abc import Mapping
from functools import partial
from numbers import Integral

import numpy as np

from sklearn_lec._validation import check_eps, is_number

__all__ = [
    "AUTO",
    "ESTIMATOR_PARAMETERS",
    "check_parameters",
    "is_open",
    "shares_of_labels",
    "warn_of_short_calls",
    "warn_of_too_few_epochs",
]

AUTO = "auto"
"""The value of a parameter that is left to the training."""

ESTIMATOR_PARAMETERS = ("M", "T_k", "T_w", "W", "corruption_matrix", "eps", "lid_layer", "percentile")
"""Parameters of the estimator that are there for methods alone. A new method keeps its parameters to itself."""

TOO_FEW_EPOCHS = {
    "T_w": "the whole training is warm-up and no sample will be left out",
    "W": "no turning point can be found, and D2L is the same as ordinary training",
}
"""What it means for the parameters that count epochs not to be smaller than the number of epochs."""


def check_parameters(values: Mapping[str, object]) -> None:
    """Raise an error that names the parameter, its value, the rule and the fix if one of them is out of bounds.

    Parameters
    ----------
    values : mapping from the name of a parameter to its value
        Names that are not known here are left to whoever uses them.
    """
    for name, check in CHECKS.items():
        if name in values:
            check(values[name])


def warn_of_too_few_epochs(values: Mapping[str, object], n_epochs: int) -> None:
    """Warn of parameters that count epochs if the training is over before they come into play.

    Parameters
    ----------
    values : mapping from the name of a parameter to its value
    n_epochs : int
        The epochs of the whole training.
    """
    if n_epochs == 0:
        warnings.warn("max_epochs=0: the network is built, but not trained. Raise max_epochs.", stacklevel=5)
        return
    for name in TOO_FEW_EPOCHS.keys() & values.keys():
        is_auto = is_open(values[name])
        fewest = 1 if is_auto else values[name]
        if fewest is not None and fewest >= n_epochs:
            fix = "Raise max_epochs." if is_auto else f"Lower {name} or raise max_epochs."
            warnings.warn(
                f"{name}={values[name]!r} is not smaller than max_epochs={n_epochs}: {TOO_FEW_EPOCHS[name]}. {fix}",
                stacklevel=5,
            )
    if values.get("T_k", 0) > n_epochs:
        warnings.warn(
            f"T_k={values['T_k']} is larger than max_epochs={n_epochs}: the share of samples that is left out never "
            f"reaches eps. Lower T_k or raise max_epochs.",
            stacklevel=5,
        )


def warn_of_short_calls(values: Mapping[str, object], max_epochs: int) -> None:
    """Warn, at the first of several calls to ``partial_fit``, of a warm-up that is decided by its few epochs."""
    if is_open(values.get("T_w")) and 0 < max_epochs < 5:
        warnings.warn(
            f"T_w={AUTO!r} is a fifth of max_epochs={max_epochs}, at least 1, whatever comes after it. If you call "
            "partial_fit again and again, set T_w, and eps, to numbers.",
            stacklevel=3,
        )


def is_open(value) -> bool:
    """Return whether the number for a parameter is found in training: from "auto", or from shares of the labels."""
    return value is not None and not is_number(value)


def shares_of_labels(eps, classes: np.ndarray) -> np.ndarray:
    """Return the share of wrong labels among the samples given each label.

    Parameters
    ----------
    eps : mapping from label to share, or array-like of shape (n_classes,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    shares : ndarray of shape (n_classes,)

    Examples
    --------
    >>> shares_of_labels({"dog": 0.1, "cat": 0.3}, np.array(["cat", "dog"]))
    array([0.3, 0.1])
    """
    eps = eps.to_dict() if hasattr(eps, "to_dict") else eps  # a Series, whose index are the labels
    if isinstance(eps, Mapping):
        labels = classes.tolist()
        missing = [label for label in labels if label not in eps]
        if missing:
            raise ValueError(
                f"eps={dict(eps)!r} has no share for {missing[0]!r}. It must have one for each of the labels {labels}."
            )
        return np.array([eps[label] for label in labels], dtype=float)
    if len(eps) != len(classes):
        raise ValueError(
            f"eps has {len(eps)} shares, but there are {len(classes)} classes. Give one for each of "
            f"{classes.tolist()}, in this order, or a dict from label to share. If y may lack some classes, as in "
            "folds, use the dict, or name all of them with classes."
        )
    return np.asarray(eps, dtype=float)


def _check_eps(eps):
    """Raise an error unless `eps` is "auto", a share, or one share per class."""
    if isinstance(eps, str):
        if eps != AUTO:
            raise TypeError(f"eps must be a number in [0, 1), 'auto', or one share per class, got {eps!r}.")
    elif isinstance(eps, Mapping):
        for share in eps.values():
            check_eps(share)
    elif np.ndim(eps) == 1:
        for share in np.asarray(eps).tolist():
            check_eps(share)
    else:
        check_eps(eps)


def _check_warmup(T_w):
    if isinstance(T_w, str) and T_w == AUTO:
        return
    _check_epochs(T_w, name="T_w", at_least=0, meaning="It counts the epochs before samples are left out.")


def _check_voters(M):
    if not is_number(M):
        raise TypeError(f"M must be a whole number or inf, got {M!r}.")
    if M != math.inf and not (M >= 1 and M == int(M)):
        raise ValueError(f"M must be a whole number of at least 1, or inf, got {M!r}. M=1 trusts a single vote.")


def _check_epochs(value, *, name, at_least, meaning):
    if not isinstance(value, Integral) or isinstance(value, bool):
        or_auto = " or 'auto'" if name == "T_w" else ""
        raise TypeError(f"{name} must be a whole number of epochs{or_auto}, got {value!r}.")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}. {meaning}")


def _check_percentile(percentile):
    if not is_number(percentile):
        raise TypeError(f"percentile must be a number from 0 to 100, got {percentile!r}.")
    if not 0 <= percentile <= 100:
        raise ValueError(
            f"percentile must lie in [0, 100], got {percentile!r}. The paper has 97, or 100 for CIFAR-100."
        )


CHECKS = {
    "eps": _check_eps,
    "M": _check_voters,
    "T_w": _check_warmup,
    "T_k": partial(
        _check_epochs, name="T_k", at_least=1, meaning="It is the epoch from which on a share of eps is left out."
    ),
    "W": partial(_check_epochs, name="W", at_least=2, meaning="It counts the epochs whose dimensionality is compared."),
    "percentile": _check_percentile,
    "max_epochs": partial(
        _check_epochs, name="max_epochs", at_least=0, meaning="With 0 the network is built, and not trained."
    ),
}
