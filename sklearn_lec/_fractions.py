"""Shares as people mean them: 0.9 is nine tenths, not the nearest binary number."""

from fractions import Fraction

__all__ = ["decimal_fraction"]


def decimal_fraction(share: float) -> Fraction:
    """Return the simple fraction that a floating-point share stands for.

    Counting rows with it is exact, where ``int((1 - 0.9) * 100)`` would give 9.

    Examples
    --------
    >>> decimal_fraction(0.9)
    Fraction(9, 10)
    """
    return Fraction(float(share)).limit_denominator(10**6)
