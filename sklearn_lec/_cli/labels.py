"""The labels of a table: which are missing, what they are, and whether a classifier can learn them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sklearn_lec._cli.errors import UnusableDataError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_learnable", "labels_from_cells"]

MISSING = frozenset({"", "nan", "na", "n/a", "<na>", "null"})
"""Cells that stand for no label, in lower case. Not "none", which is a label in many tables."""
FEWEST = 10
"""Samples below which nothing can be said."""


def labels_from_cells(cells: pd.Series) -> pd.Series:
    """Return the labels that the cells of a column hold.

    Parameters
    ----------
    cells : Series
        Text as it stands in a CSV file, or values of any type.

    Returns
    -------
    labels : Series of objects
        None where there is no label. Whole numbers are numbers, also if they were written as 1.0.

    Examples
    --------
    >>> import pandas as pd
    >>> labels_from_cells(pd.Series(["1.0", "", "2.0"])).tolist()
    [1, None, 2]
    >>> labels_from_cells(pd.Series(["none", "N/A", "mild"])).tolist()
    ['none', None, 'mild']
    """
    import pandas as pd

    is_text = cells.map(lambda cell: isinstance(cell, str))
    is_missing = cells.isna() | (is_text & cells.where(is_text, "x").astype(str).str.strip().str.lower().isin(MISSING))
    values = cells[~is_missing]
    # 007 and 7 are different labels as long as they are text.
    has_code = values.map(lambda cell: isinstance(cell, str) and len(cell) > 1 and cell[0] == "0" and cell.isdecimal())
    numbers = pd.to_numeric(values, errors="coerce") if len(values) else values
    is_bool = values.map(lambda cell: isinstance(cell, bool | np.bool_)).any()
    if len(values) and not is_bool and not has_code.any() and pd.api.types.is_numeric_dtype(numbers):
        numbers = numbers.astype(float)
        if np.isfinite(numbers).all():
            whole = (numbers == numbers.round()).all() and (numbers.abs() < 2**53).all()
            values = numbers.astype("int64") if whole else numbers
    labels = pd.Series([None] * len(cells), index=cells.index, dtype=object)
    labels[~is_missing] = pd.Series(values.tolist(), index=values.index, dtype=object)
    return labels


def check_learnable(labels: np.ndarray, *, name: str) -> None:
    """Raise an error if these are not classes that a classifier can learn.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Without missing ones.
    name : str
        Where they come from.
    """
    n_samples, n_classes = len(labels), len(set(labels.tolist()))
    if n_samples < FEWEST:
        raise UnusableDataError(
            f"too few samples: {n_samples} with a label, and at least {FEWEST} are needed, better hundreds."
        )
    if n_classes == 1:
        raise UnusableDataError(
            f"only one class: every label in {name} is {labels.tolist()[0]!r}. There must be at least two."
        )
    if any(isinstance(label, float) and label != int(label) for label in labels.tolist()):
        raise UnusableDataError(
            f"{name} holds {n_classes} different numbers with decimals: a quantity, and not classes. Choose another "
            "column with --label, or divide the numbers into classes first, such as low and high."
        )
    if n_classes > max(20, n_samples // 2):
        raise UnusableDataError(
            f"{name} holds {n_classes} different values in {n_samples} samples: a number or a name of each sample, and "
            "not classes. Choose another column with --label."
        )
