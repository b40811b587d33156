"""Finished cells, one line of JSON each, in ``OUT/cells.jsonl``: a line is there whole or does not count."""

import json
import os
from pathlib import Path

from benchmarks.cells import Cell, data_parts

__all__ = ["RECORDS", "DamagedRecordError", "RecordsFile", "cell_of", "is_current", "read_records"]

RECORDS = "cells.jsonl"


class DamagedRecordError(ValueError):
    """A line of the file of finished cells is not the record of a cell."""


class RecordsFile:
    """The file of finished cells, open for more. Only one process at a time may have it open.

    Parameters
    ----------
    out : Path
        The run folder. A line that was cut off when a run was killed is dropped from the file.
    """

    def __init__(self, out: Path):
        self.file = out / RECORDS
        self.file.touch()
        lines, whole = _read(self.file)
        os.truncate(self.file, whole)
        self._latest = {cell_of(record): record for record in lines}

    def has(self, cell: Cell, settings: dict) -> bool:
        """Return whether the cell is done, with these settings."""
        return cell in self._latest and is_current(self._latest[cell], settings)

    def append(self, record: dict) -> None:
        """Write a record; when this returns, it is on the disk."""
        line = json.dumps(record, allow_nan=False) + "\n"
        with self.file.open("ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())
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
        In the order in which the cells were finished first.
    """
    file = Path(out) / RECORDS
    return list({cell_of(record): record for record in _read(file)[0]}.values()) if file.exists() else []


def cell_of(record: dict) -> Cell:
    """Return the cell that a record is about."""
    return Cell(**{name: record[name] for name in Cell.__dataclass_fields__})


def is_current(record: dict, settings: dict) -> bool:
    """Return whether a record was made with these settings."""
    return record["settings"] == settings


def _check(record):
    """Raise an error if what is shown of a record is not there."""
    data_parts(cell_of(record).data)
    if not record["accuracy"] or not all(isinstance(value, float) for value in record["accuracy"]):
        raise ValueError("accuracy has no number, or something else than numbers")
    if not isinstance(record["seconds"], float | int):
        raise TypeError("seconds is not a number")
    if not isinstance(record["settings"], dict) or not isinstance(record["versions"], dict):
        raise TypeError("settings or versions are not by name")
    for name in ("device", "kept", "noise_fingerprint", "precision", "recall", "small_loss_precision"):
        record[name]


def _read(file):
    """Return the records, and the length in bytes of the lines that are whole."""
    lines = file.read_bytes().splitlines(keepends=True)
    records, whole = [], 0
    for number, line in enumerate(lines, 1):
        try:
            if not line.endswith(b"\n"):
                break
            record = json.loads(line)
            _check(record)
        except (ValueError, TypeError, KeyError) as error:
            if number == len(lines) and isinstance(error, json.JSONDecodeError):
                break
            raise DamagedRecordError(
                f"line {number} of {file} is damaged, or of another version: {error!r}. Delete that line to run its "
                "cell again."
            ) from error
        records.append(record)
        whole += len(line)
    return records, whole
