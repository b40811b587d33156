"""Finished cells, one line of JSON each, in ``OUT/cells.jsonl``: a line is there whole or does not count."""

import re
import reprlib
from pathlib import Path

from benchmarks.cells import DATA, NOISE, Cell, data_parts
from benchmarks.lines import LinesFile, read_lines
from benchmarks.methods import CLEANLAB
from benchmarks.scales import SCALES
from sklearn_lec.methods import METHODS

__all__ = ["RECORDS", "RecordsFile", "cell_of", "is_current", "read_records"]

RECORDS = "cells.jsonl"

BEGINNING = b'{"scale": "'
"""Of every line; what was cut off is recognized by it."""

LARGE = 10**9
"""No number of a record comes near it."""


class RecordsFile:
    """The file of finished cells, open for more. Only one process at a time may have it open.

    Parameters
    ----------
    out : Path
        The run folder. A line that was cut off when a run was killed is dropped from the file.

    Raises
    ------
    DamagedRecordError
        If there is anything else in the file; it is left as it is.
    OSError
        If a link or something else stands in the place of the file.
    """

    def __init__(self, out: Path):
        self._file = LinesFile(out / RECORDS, beginning=BEGINNING, check=_check)
        self._latest = {cell_of(record): record for record in self._file.records}

    def has(self, cell: Cell, settings: dict) -> bool:
        """Return whether the cell is done, with these settings."""
        return cell in self._latest and is_current(self._latest[cell], settings)

    def append(self, record: dict) -> None:
        """Write a record; when this returns, it is on the disk."""
        self._file.append(record)
        self._latest[cell_of(record)] = record


def read_records(out: Path) -> list[dict]:
    """Return the record of each finished cell; the newest one, if settings have changed and it was run again.

    Parameters
    ----------
    out : Path
        The run folder.

    Returns
    -------
    records : list of dict
        In the order in which the cells were finished first; none if there is no file.

    Raises
    ------
    DamagedRecordError
        If a line is not the record of a cell.
    OSError
        If a link or something else stands in the place of the file.
    """
    records = read_lines(Path(out) / RECORDS, beginning=BEGINNING, check=_check)
    return list({cell_of(record): record for record in records}.values())


def cell_of(record: dict) -> Cell:
    """Return the cell that a record is about."""
    return Cell(**{name: record[name] for name in Cell.__dataclass_fields__})


def is_current(record: dict, settings: dict) -> bool:
    """Return whether a record was made with these settings."""
    return record["settings"] == settings


# --- what a record is ------------------------------------------------------------------------------------------------


def _check(record):
    """Raise an error unless a record has all that `training.train` returns, and nothing else.

    Whoever reads records relies on it: the report puts texts on a page, adds up numbers and compares curves.
    """
    if not isinstance(record, dict):
        raise ValueError(f"it must be an object with the parts of a record, got {reprlib.repr(record)}")
    if differing := record.keys() ^ {*PARTS, *CURVES}:
        raise ValueError(f"it must have the parts of a record; missing or unknown: {reprlib.repr(sorted(differing))}")
    for name, (is_valid, rule) in PARTS.items():
        if not is_valid(record[name]):
            raise ValueError(f"{name} must be {rule}, got {reprlib.repr(record[name])}")
    _check_cell(record)
    for name in CURVES:
        _check_curve(name, record[name], record["settings"])


def _check_cell(record):
    cell = cell_of(record)
    for name, value in cell.as_dict().items():
        if record[name] != value:
            raise ValueError(f"{name} must be {value}, as {cell.method} does not use it, got {record[name]!r}")
    if (cell.noise_kind == "open") != (data_parts(cell.data).external is not None):
        raise ValueError(f"open-set noise, and no other, needs external data, got {cell.noise} and {cell.data}")
    if cell.noise_kind == "human" and data_parts(cell.data).name != "cifar-10":
        raise ValueError(f"people have labelled cifar-10, got {cell.noise} and {cell.data}")


def _check_curve(name, curve, settings):
    if curve is None and name == "small_loss_precision":
        return  # of a method without temporal consensus
    n_epochs, n_rows = settings["epochs"], settings["train_rows"]
    if not isinstance(curve, list) or len(curve) != n_epochs:
        raise ValueError(f"{name} must be a list of {n_epochs} values, one per epoch, got {reprlib.repr(curve)}")
    is_valid, rule = CURVES[name]
    for epoch, value in enumerate(curve, 1):
        if not is_valid(value, n_rows):
            raise ValueError(f"{name} in epoch {epoch} must be {rule}, got {reprlib.repr(value)}")


def _is_number(value, low, high):
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high  # false for NaN


def _is_whole(value, low, high=LARGE):
    return isinstance(value, int) and _is_number(value, low, high)


def _is_text(value, pattern):
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _is_setting(value, levels=4):
    """Return whether a value is plain, or made of plain ones on so many levels."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_setting(part, levels - 1) for part in parts)
    return value is None or isinstance(value, str | bool) or _is_number(value, -LARGE, LARGE)


def _is_settings(value):
    has_sizes = isinstance(value, dict) and all(_is_whole(value.get(name), 1) for name in ("epochs", "train_rows"))
    return has_sizes and _is_setting(value)


def _is_versions(value):
    texts = [*value, *value.values()] if isinstance(value, dict) else [None]
    return all(_is_text(text, r"[A-Za-z0-9.+!_-]+") for text in texts)


PARTS = {
    "scale": (lambda v: v in SCALES, f"one of {', '.join(SCALES)}"),
    "data": (lambda v: _is_text(v, DATA), "data, data@rows, data+external or data@rows+external"),
    "noise": (
        lambda v: _is_text(v, NOISE),
        "clean, or sym, asym, open or semantic with a percentage, or human-worst and such",
    ),
    "method": (lambda v: isinstance(v, str) and (v in METHODS or v == CLEANLAB), "a method of this version"),
    "seed": (lambda v: _is_whole(v, 0), "a whole number of at least 0"),
    "M": (lambda v: v is None or v == "inf" or _is_whole(v, 1), 'a whole number of at least 1, "inf" or null'),
    "eps_factor": (lambda v: _is_number(v, 0.01, 100), "a number between 0.01 and 100"),
    "network": (lambda v: v is None or _is_text(v, r"[a-z0-9_-]+"), "the name of a network or null"),
    "settings": (_is_settings, "an object of settings, among them epochs and train_rows of at least 1"),
    "noise_fingerprint": (lambda v: _is_text(v, r"[0-9a-f]{8}"), "8 hexadecimal digits"),
    "seconds": (lambda v: _is_number(v, 0, LARGE), f"a number between 0 and {LARGE}"),
    "device": (lambda v: _is_text(v, r"[a-z0-9]+(:[0-9]+)?"), "the name of a device"),
    "versions": (_is_versions, "an object of names and versions of packages"),
}
"""What a part of a record must be: a function that tells whether a value is, and the rule in words."""


def _is_share(value, n_rows):
    return _is_number(value, 0, 1)


def _is_share_if_any(value, n_rows):
    return value is None or _is_share(value, n_rows)


CURVES = {
    "accuracy": (_is_share, "a number between 0 and 1"),
    "precision": (_is_share_if_any, "a number between 0 and 1 or null"),
    "recall": (_is_share_if_any, "a number between 0 and 1 or null"),
    "small_loss_precision": (_is_share_if_any, "a number between 0 and 1 or null"),
    "kept": (lambda v, n_rows: _is_whole(v, 0, n_rows), "a whole number between 0 and train_rows"),
}
"""What each value must be of the parts that have one per epoch, given the number of rows."""
