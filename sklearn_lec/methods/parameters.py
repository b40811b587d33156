"""Which values the parameters of the methods may take, and what the errors and warnings say."""

import difflib
import math
import reprlib
import warnings
from numbers import Integral

from sklearn_lec.methods.base import Method
from sklearn_lec.shares import check_eps, is_number

__all__ = ["check_parameters", "warn_of_too_few_epochs", "warn_of_unused_parameters"]

TOO_FEW_EPOCHS = {
    "T_w": "the whole training is warming-up and nothing will be filtered",
    "W": "no turning point can be found, and D2L is the same as ordinary training",
}
"""What it means for the parameters that count epochs not to be smaller than the number of epochs."""


def check_parameters(methods: dict[str, type[Method]], *, method, eps, M, T_w, T_k, percentile, W, **_others) -> None:
    """Raise an error that names the parameter, its value, the rule and the fix if one of them is out of bounds.

    Parameters
    ----------
    methods : dict
        The methods by name.
    method, eps, M, T_w, T_k, percentile, W
        As for `LECClassifier`.
    **_others
        Parameters that can only be checked against the data.
    """
    if not isinstance(method, str) or method not in methods:
        close = difflib.get_close_matches(str(method), methods, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ValueError(f"unknown method {method!r}; {hint}Methods: {', '.join(methods)}.")
    check_eps(eps)
    if not is_number(M):
        raise TypeError(f"M must be a whole number or inf, got {M!r}.")
    if M != math.inf and not (M >= 1 and M == int(M)):
        raise ValueError(f"M must be a whole number of at least 1, or inf, got {M!r}. M=1 trusts a single vote.")
    if M == math.inf and methods[method].m_must_be_finite:
        raise ValueError(f"M=inf does not fit method={method!r}, which runs M networks or passes. Use M=5, or 'ltec'.")
    _check_epochs("T_w", T_w, at_least=0, meaning="It counts the epochs before filtering starts.")
    _check_epochs("T_k", T_k, at_least=1, meaning="It is the epoch from which on a share of eps is left out.")
    _check_epochs("W", W, at_least=2, meaning="It counts the epochs whose dimensionality is compared.")
    if not is_number(percentile):
        raise TypeError(f"percentile must be a number from 0 to 100, got {percentile!r}.")
    if not 0 <= percentile <= 100:
        raise ValueError(
            f"percentile must lie in [0, 100], got {percentile!r}. The paper has 97, or 100 for CIFAR-100."
        )


def warn_of_unused_parameters(method: str, used: tuple[str, ...], *, values: dict, defaults: dict) -> None:
    """Warn of parameters that were set although the method does not use them.

    `eps` is spared: it says something about the data, and methods are often compared on the same data.

    Parameters
    ----------
    method : str
    used : tuple of str
        The parameters that the method uses.
    values, defaults : dict
        The parameters of all methods, as they are and as they would be if left alone.
    """
    for name in sorted(values.keys() - {"method", "eps", *used}):
        if values[name] is not defaults[name] and (defaults[name] is None or values[name] != defaults[name]):
            warnings.warn(
                f"{name}={reprlib.repr(values[name])} has no effect: method={method!r} does not use it. It uses "
                f"{', '.join(used) or 'no parameter of its own'}.",
                stacklevel=5,
            )


def warn_of_too_few_epochs(used: tuple[str, ...], n_epochs: int, *, values: dict) -> None:
    """Warn of parameters that count epochs if the training is over before they come into play.

    Parameters
    ----------
    used : tuple of str
        The parameters that the method uses.
    n_epochs : int
        The epochs of the whole training.
    values : dict
        The parameters of all methods.
    """
    for name in TOO_FEW_EPOCHS.keys() & set(used):
        if values[name] >= n_epochs:
            warnings.warn(
                f"{name}={values[name]} is not smaller than max_epochs={n_epochs}: {TOO_FEW_EPOCHS[name]}. Lower "
                f"{name} or raise max_epochs.",
                stacklevel=5,
            )
    if "T_k" in used and values["T_k"] > n_epochs:
        warnings.warn(
            f"T_k={values['T_k']} is larger than max_epochs={n_epochs}: the share of rows that is left out never "
            f"reaches eps. Lower T_k or raise max_epochs.",
            stacklevel=5,
        )


def _check_epochs(name, value, *, at_least, meaning):
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number of epochs, got {value!r}.")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}. {meaning}")
