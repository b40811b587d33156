"""Shares as people mean them: 0.9 is nine tenths, not the nearest binary number, and 20 is not a share."""

import math
from fractions import Fraction
from numbers import Real

import numpy as np

__all__ = ["check_eps", "decimal_fraction", "is_number"]


def decimal_fraction(share: float) -> Fraction:
    """Return the simple fraction that a floating-point share stands for.

    Counting rows with it is exact, where ``int((1 - 0.9) * 100)`` would give 9.

    Examples
    --------
    >>> decimal_fraction(0.9)
    Fraction(9, 10)
    """
    return Fraction(float(share)).limit_denominator(10**6)


def check_eps(eps) -> None:
    """Raise an error if `eps` is not a share in [0, 1)."""
    if not is_number(eps):
        raise TypeError(f"eps must be a number in [0, 1), got {eps!r}.")
    if not 0 <= eps < 1:
        hint = f" eps is a fraction: for {eps:g} % wrong labels write eps={eps / 100:g}." if 1 < eps < 100 else ""
        raise ValueError(f"eps must lie in [0, 1), got {eps!r}.{hint}")


def is_number(value) -> bool:
    """Return whether `value` is a real number, and neither a boolean nor NaN."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and not math.isnan(value)
