"""What the columns of a table are: numbers, categories, dates, text, or nothing to learn from."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnKinds", "kinds_of_columns"]

MOSTLY = 0.9
"""The share of cells that have to be numbers, or dates, for the others to be taken for missing."""
NEARLY_ALL_DIFFERENT = 0.95
FEW = 20
"""Rows below which it is no wonder that all values differ."""
_NAME_OF_ID = re.compile(
    r"(unnamed: \d+|index|id|uuid|guid|key|row|.*[ _-](id|uuid|key)|(id|row)[ _-].*)", re.IGNORECASE
)
_WORDS_OF_TEXT = 4
_LONG = 40


@dataclass
class ColumnKinds:
    """The columns of a table by what they are.

    Attributes
    ----------
    numbers, categories, dates, texts : list of str
    dropped : dict from column to the reason
    """

    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    dates: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)


def kinds_of_columns(frame: pd.DataFrame, *, as_text=()) -> tuple[pd.DataFrame, ColumnKinds]:
    """Find out what the columns of a table are, and bring each into one form.

    Parameters
    ----------
    frame : DataFrame
        Without the labels.
    as_text : collection of str
        Columns that are free text, whatever they look like.

    Returns
    -------
    frame : DataFrame
        The columns that are used: floats, text for categories and free text, dates; missing values are NaN, None, NaT.
    kinds : ColumnKinds

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": ["31", "?", "45"] * 9, "city": ["Lima", "Oslo", None] * 9, "x": [1] * 27})
    >>> kinds_of_columns(frame.assign(id=range(27)))[1]
    ColumnKinds(numbers=['age'], categories=['city'], dates=[], texts=[],
        dropped={'x': 'always the same value', 'id': 'a number or name of each row'})
    """
    import pandas as pd

    kinds, columns = ColumnKinds(), {}
    for name in frame.columns:
        kind, column = ("texts", _as_text(frame[name])) if name in as_text else _kind_of(frame[name], str(name))
        if column is None:
            kinds.dropped[name] = kind
        else:
            getattr(kinds, kind).append(name)
            columns[name] = column
    return pd.DataFrame(columns, index=frame.index), kinds


def _kind_of(column: pd.Series, name: str) -> tuple[str, pd.Series | None]:
    """Return the kind of a column and the column in its form; the reason and None if there is nothing to learn."""
    import pandas as pd

    values = column.dropna()
    if len(values) == 0:
        return "no values", None
    if isinstance(values.iloc[0], list | tuple | dict | set | np.ndarray | bytes):
        return f"holds {type(values.iloc[0]).__name__}s, which are no single values", None
    n_different = values.nunique()
    if n_different == 1 and len(values) == len(column):
        return "always the same value", None
    if pd.api.types.is_timedelta64_dtype(column):
        return "numbers", column.dt.total_seconds()
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates", _without_zone(column)
    numbers = _as_numbers(column, values)
    if numbers is not None:
        return _kind_of_numbers(numbers, name, n_different=n_different)
    text = _as_text(column)
    dates = _as_dates(text)
    if dates is not None:
        return "dates", dates
    words, lengths = values.astype(str).str.split().str.len().mean(), values.astype(str).str.len().mean()
    if words >= _WORDS_OF_TEXT or lengths > _LONG:
        return ("texts", text) if n_different > FEW else ("categories", text)
    if len(values) >= FEW and n_different > NEARLY_ALL_DIFFERENT * len(values):
        return "a number or name of each row", None
    return "categories", text


def _kind_of_numbers(numbers: pd.Series, name: str, *, n_different: int) -> tuple[str, pd.Series | None]:
    """Return the kind of a column of numbers, which may number the rows."""
    known = numbers.dropna()
    if len(known) == 0:
        return "no values", None
    is_whole = (known == known.round()).all()
    all_different = len(known) >= FEW and n_different > NEARLY_ALL_DIFFERENT * len(known)
    counts_rows = known.max() - known.min() < 1.05 * len(known) and known.is_monotonic_increasing
    if is_whole and all_different and (counts_rows or _NAME_OF_ID.fullmatch(name.strip())):
        return "a number or name of each row", None
    return "numbers", numbers


def _as_numbers(column: pd.Series, values: pd.Series) -> pd.Series | None:
    """Return a column as floats if nearly all of its values are numbers; infinite ones are missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    if pd.api.types.is_numeric_dtype(column) or values.map(lambda value: isinstance(value, bool | np.bool_)).all():
        numbers = pd.to_numeric(column.astype(object), errors="coerce").astype(float)
    else:
        text = column.astype(object).where(column.notna(), None).map(lambda cell: cell if cell is None else str(cell))
        numbers = pd.to_numeric(text, errors="coerce").astype(float)
        if numbers.notna().sum() < MOSTLY * len(values):
            with_point = text.str.replace(",", ".", regex=False)  # 1,5 is a number in half of the world
            numbers = pd.to_numeric(with_point, errors="coerce").astype(float)
        if numbers.notna().sum() < MOSTLY * len(values) and not _are_numbers_and_marks(numbers, values):
            return None
    return numbers.where(np.isfinite(numbers))


def _are_numbers_and_marks(numbers: pd.Series, values: pd.Series) -> bool:
    """Return whether all that is no number in a column is one mark for missing values, such as a question mark."""
    return numbers.notna().any() and set(values[numbers[values.index].isna()].astype(str).str.strip()) <= {
        "?",
        "-",
        ".",
    }


def _as_dates(text: pd.Series) -> pd.Series | None:
    """Return a column of text as dates if nearly all of it is."""
    import pandas as pd

    known = text.dropna()
    # A quick look first: parsing is slow, and takes more for a date than people do.
    looks = known.head(50).str.contains(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2} \w{3,} \d{4}", regex=True).mean()
    if looks < MOSTLY:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of formats that have to be guessed
        for arguments in ({}, {"format": "mixed"}, {"format": "mixed", "dayfirst": True}):
            dates = pd.to_datetime(text, errors="coerce", utc=True, **arguments)
            if dates.notna().sum() >= MOSTLY * len(known):
                return _without_zone(dates)
    return None


def _without_zone(dates: pd.Series) -> pd.Series:
    return dates.dt.tz_localize(None) if dates.dt.tz is not None else dates


def _as_text(column: pd.Series) -> pd.Series:
    """Return a column as text, None where it is missing."""
    return column.astype(object).map(lambda cell: str(cell).strip(), na_action="ignore").where(column.notna(), None)
