"""Which values the parameters of the methods may take, and what the errors say."""

import difflib
import math
from numbers import Integral

from sklearn_lec.methods.base import Method
from sklearn_lec.shares import check_eps, is_number

__all__ = ["check_parameters"]


def check_parameters(methods: dict[str, type[Method]], *, method, eps, M, T_w) -> None:
    """Raise an error that names the parameter, its value, the rule and the fix if one of them is out of bounds.

    Parameters
    ----------
    methods : dict
        The methods by name.
    method, eps, M, T_w
        As for `LECClassifier`.
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
    if not isinstance(T_w, Integral) or isinstance(T_w, bool):
        raise TypeError(f"T_w must be a whole number of epochs, got {T_w!r}.")
    if T_w < 0:
        raise ValueError(f"T_w must be at least 0, got {T_w}. It counts the epochs before filtering starts.")
