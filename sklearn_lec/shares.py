"""Shares as people mean them: 0.9 is nine tenths, not the nearest binary number, and 20 is not a share."""

import math
from fractions import Fraction
from numbers import Real

import numpy as np

__all__ = ["check_corruption_matrix", "check_eps", "decimal_fraction", "is_number"]


def decimal_fraction(share: float) -> Fraction:
    """Return the simple fraction that a floating-point share stands for.

    Counting rows with it is exact, where ``int((1 - 0.9) * 100)`` would give 9.

    Examples
    --------
    >>> decimal_fraction(0.9)
    Fraction(9, 10)
    """
    simple = Fraction(float(share)).limit_denominator(10**6)
    # 0.6 * 1.1 is meant to be 0.66, while 1e-7 is meant to be what it says.
    return simple if abs(simple - Fraction(float(share))) < 1e-12 else Fraction(str(share))


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


def check_corruption_matrix(matrix, *, n_classes: int | None = None) -> np.ndarray:
    """Return the matrix as an array, or raise an error if its rows are not distributions over the classes.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row).
    n_classes : int or None, default=None
        How many classes there are; None if that is not known yet.

    Returns
    -------
    matrix : float ndarray of shape (n_classes, n_classes)
    """
    try:
        matrix = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"corruption_matrix must be a square array of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"corruption_matrix must be square, one row and one column per class, got shape {matrix.shape}."
        )
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError(
            "corruption_matrix must hold probabilities, but some of its entries are negative or not finite."
        )
    if not np.allclose(matrix.sum(axis=1), 1):
        raise ValueError(
            "corruption_matrix must hold probabilities that sum to 1 in each row (the true class); got row sums "
            f"{np.round(matrix.sum(axis=1), 3).tolist()}. Divide it by matrix.sum(axis=1, keepdims=True), or transpose "
            "it if its columns are the true classes."
        )
    if n_classes is not None and len(matrix) != n_classes:
        raise ValueError(f"corruption_matrix is for {len(matrix)} classes, but y has {n_classes}.")
    return matrix / matrix.sum(axis=1, keepdims=True)
