"""Labels as cells of a CSV file: no spreadsheet takes them for a formula, a date or a number, and all come back."""

import re
from numbers import Number

import numpy as np

__all__ = ["label_of_cell", "to_cell"]

_PLAIN = re.compile(r"[^\W\d_]+(?:[ _][^\W\d_]+)*")
"""Words: the only text that spreadsheets leave alone."""
_ESCAPED = re.compile(r"\\|[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]|^ | $")
"""What is written by its number: control characters, which get lost, and those that turn the direction of the text."""
LONGEST_NUMBER = 15
"""Digits that a spreadsheet keeps of a number."""


def to_cell(label) -> str:
    r"""Return the text that stands for a label in a CSV file.

    Numbers and words stand for themselves. Any other text has an apostrophe in front, and its control characters
    written by their numbers.

    Parameters
    ----------
    label : str, number, bool or another value with a text of its own

    Returns
    -------
    cell : str

    Examples
    --------
    >>> [to_cell(label) for label in ("cat", 3, "3", "=1+1", "it's", "two\nlines", "MARCH1", True)]
    ['cat', '3', "'3", "'=1+1", "'it's", "'two\\u000alines", "'MARCH1", 'True']
    """
    text = str(label)
    if isinstance(label, bool | np.bool_) or (isinstance(label, Number) and _is_kept(text)):
        return text
    is_word = isinstance(label, str) and _PLAIN.fullmatch(text) and text.lower() not in ("true", "false")
    return text if is_word else "'" + _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _is_kept(number: str) -> bool:
    """Return whether a spreadsheet keeps all digits of a number."""
    return len(re.sub(r"\D", "", number)) <= LONGEST_NUMBER


def label_of_cell(cell: str, labels: dict[str, object]):
    """Return the label that a cell stands for, also if a spreadsheet has written it in a way of its own.

    Parameters
    ----------
    cell : str
    labels : dict from `to_cell` of each label to the label

    Returns
    -------
    label : object

    Raises
    ------
    KeyError
        If it stands for none of them.

    Examples
    --------
    >>> label_of_cell("1", {"1.0": 1.0, "2.0": 2.0}), label_of_cell("TRUE", {"True": True, "False": False})
    (1.0, True)
    """
    if cell in labels:
        return labels[cell]
    for written, label in labels.items():
        # An apostrophe may be taken for the mark of a text, which a spreadsheet hides and does not save.
        if written == "'" + cell or _is_same_value(label, cell.strip()):
            return label
    raise KeyError(cell)


def _is_same_value(label, cell: str) -> bool:
    """Return whether a number or a boolean has been written in another way."""
    if isinstance(label, bool | np.bool_):
        return cell.lower() == str(label).lower()
    if not isinstance(label, Number):
        return False
    try:
        return float(cell.replace(",", ".")) == float(label)
    except ValueError:
        return False
