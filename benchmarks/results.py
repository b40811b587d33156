"""Finished cells of one scale, looked up by the table entry or the line of a figure that they belong to."""

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from benchmarks.cells import Cell
from benchmarks.experiments import Column, Experiment, Row
from benchmarks.records import cell_of, is_current
from benchmarks.scales import Scale

__all__ = ["Results"]


class Results:
    """The finished cells of one scale.

    Parameters
    ----------
    scale : Scale
    records : iterable of dict
        One per cell, in any order, of any scale. Records with other settings than the scale has now do not count as
        finished.
    seeds : int or None, default=None
        How many seeds are wanted; None for as many as the scale says for the data.

    Attributes
    ----------
    records : dict of Cell to dict
    n_outdated : int
        Records that are left out because of their settings.
    """

    def __init__(self, scale: Scale, records: Iterable[dict], *, seeds: int | None = None):
        self.scale = scale
        self.seeds = seeds
        self.records: dict[Cell, dict] = {}
        self.n_outdated = 0
        self._by_column: dict[Cell, list[dict]] = {}
        # Sorted, so that rounding does not depend on the order of the file.
        for record in sorted((r for r in records if r["scale"] == scale.name), key=_sort_key):
            cell = cell_of(record)
            if not is_current(record, scale.settings(cell)):
                self.n_outdated += 1
            else:
                self.records[cell] = record
                self._by_column.setdefault(replace(cell, seed=0), []).append(record)

    def of(self, experiment: Experiment, row: Row, column: Column) -> list[dict]:
        """Return the records of all seeds of a row and column."""
        return self._by_column.get(experiment.cell(self.scale, row, column, seed=0), [])

    def wanted_seeds(self, row: Row) -> int:
        """Return how many seeds a row should have."""
        return self.scale.seeds(row.data) if self.seeds is None else self.seeds

    def progress(self, experiment: Experiment) -> tuple[int, int]:
        """Return how many cells of an experiment are finished and how many there are."""
        cells = set(experiment.cells(self.scale, self.seeds))
        return len(cells & self.records.keys()), len(cells)

    def rows_of_mixed_noise(self, experiment: Experiment) -> list[Row]:
        """Return the rows in which trainings had different noise that should have had the same.

        Random noise goes with the seed. Semantic noise is the same for all seeds, but the networks behind it come out
        differently on another machine.
        """
        mixed = []
        for row in experiment.rows_at(self.scale):
            records = [r for column in experiment.columns_at(self.scale) for r in self.of(experiment, row, column)]
            noises = {(cell_of(record).noise_seed, record["noise_fingerprint"]) for record in records}
            if len(noises) > len({noise_seed for noise_seed, _ in noises}):
                mixed.append(row)
        return mixed

    def accuracies(self, experiment: Experiment, row: Row, column: Column) -> np.ndarray:
        """Return final and peak accuracy in %, of shape (n_seeds, 2)."""
        curves = [record["accuracy"] for record in self.of(experiment, row, column)]
        return 100 * np.array([(curve[-1], max(curve)) for curve in curves], dtype=float).reshape(-1, 2)

    def curve(self, experiment: Experiment, row: Row, column: Column, measure: str) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation over seeds of a measure in %, one of each per epoch.

        Epochs without a value, such as the precision of no rows, are NaN; both are empty without any record.
        """
        curves = [record[measure] for record in self.of(experiment, row, column) if record[measure] is not None]
        if not curves:
            return np.empty(0), np.empty(0)
        values = np.ma.masked_invalid(100 * np.array(curves, dtype=float))
        return values.mean(axis=0).filled(np.nan), values.std(axis=0).filled(np.nan)


def _sort_key(record: dict) -> tuple[str, float]:
    """Return a key that puts the time, the only thing that differs between runs of a cell, last."""
    return json.dumps({**record, "seconds": None}, sort_keys=True), record["seconds"]
