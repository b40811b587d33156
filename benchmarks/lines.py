"""Files of records, one line of JSON each: a line is there whole or does not count."""

import json
import os
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import joblib

from benchmarks.files import DamagedFileError, open_plain

__all__ = ["DamagedRecordError", "LinesFile", "check_of_parts", "complete", "read_lines"]


class DamagedRecordError(DamagedFileError):
    """A line of a file of records is not one."""


class LinesFile:
    """A file of records, open for more. Only one process at a time may have it open.

    Parameters
    ----------
    file : Path
        A line that was cut off when a run was killed is dropped from it.
    beginning : bytes
        Of every line; what was cut off is recognized by it.
    check : callable
        Raises a ValueError for what is not a record.

    Attributes
    ----------
    records : list of dict
        All lines of the file.

    Raises
    ------
    DamagedRecordError
        If there is anything else in the file; it is left as it is.
    OSError
        If a link or something else stands in the place of the file.
    """

    def __init__(self, file: Path, *, beginning: bytes, check: Callable[[object], None]):
        self.file = file
        with open_plain(file, "a+b") as handle:
            handle.seek(0)
            self.records, whole = _parse(handle.read(), file, beginning, check)
            handle.truncate(whole)

    def append(self, record: dict) -> None:
        """Write a record; when this returns, it is on the disk."""
        line = json.dumps(record, allow_nan=False) + "\n"
        with open_plain(self.file, "ab") as handle:
            handle.write(line.encode())
            handle.flush()
            os.fsync(handle.fileno())
        self.records.append(record)


def check_of_parts(*parts: str) -> Callable[[object], None]:
    """Return a check that a record is an object with some parts at least."""

    def check(record):
        if not isinstance(record, dict) or not record.keys() >= set(parts):
            raise ValueError(f"it must be an object with {', '.join(parts)}")

    return check


def complete(
    file: LinesFile, cells: Sequence[Hashable], *, cell_of: Callable, measure: Callable, jobs: int = 1
) -> list[dict]:
    """Measure what is missing in a file, and return the records of all cells.

    Parameters
    ----------
    file : LinesFile
    cells : sequence of tuples
        All that is wanted; they are measured in this order.
    cell_of : callable (record) -> tuple
        Tells which cell a record is of.
    measure : callable (cell) -> dict
        Returns the record of a cell.
    jobs : int, default=1
        Cells side by side, one process each.

    Returns
    -------
    records : list of dict
        One per cell, in the order of `cells`.
    """
    done = {cell_of(record) for record in file.records}
    missing = [cell for cell in cells if cell not in done]
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    for number, record in enumerate(parallel(joblib.delayed(measure)(cell) for cell in missing), 1):
        file.append(record)
        print(f"{number}/{len(missing)} {', '.join(map(str, cell_of(record)))}", flush=True)
    by_cell = {cell_of(record): record for record in file.records}
    return [by_cell[cell] for cell in cells]


def read_lines(file: Path, *, beginning: bytes, check: Callable[[object], None]) -> list[dict]:
    """Return the records of a file, which is left as it is; none if there is no file.

    Parameters and errors are those of `LinesFile`.
    """
    try:
        with open_plain(file, "rb") as handle:
            return _parse(handle.read(), file, beginning, check)[0]
    except FileNotFoundError:
        return []


def _parse(content, file, beginning, check):
    """Return the records, and the length in bytes of the lines that are whole."""
    *lines, rest = content.split(b"\n")
    records = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line.decode("utf-8"))
            check(record)
        except (ValueError, RecursionError) as error:
            raise _damaged(number, file, error) from error
        records.append(record)
    # What a killed run has left is dropped; anything else was not written here and is not for us to throw away.
    if not (rest.startswith(beginning) or beginning.startswith(rest)):
        raise _damaged(len(lines) + 1, file, "it has no end, and is not the beginning of a record")
    return records, len(content) - len(rest)


def _damaged(number, file, why):
    return DamagedRecordError(
        f"line {number} of {file} is damaged, or of another version: {why}. Delete that line to run its cell again, "
        "or use another place for the results."
    )
