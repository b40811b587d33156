"""What is shown beside trainings: Figures A1 and A2, Table A3; kept in the run folder so that a report needs no data.

``OUT/figureA1-<scale>.json`` has ``panels``, a list of ``{"data", "noise", "class_names", "matrix"}``; ``matrix`` is
the share of each true class (row) that has each label (column).

``OUT/figureA2-<scale>.npz`` has ``images``, float32 in [0, 1] of shape (2, 10, channels, height, width), clean rows
first, then noisy ones; their ``y_true`` and ``y_noisy``, int64 of shape (2, 10); ``class_names``; ``data``; ``noise``.

Both have ``settings``, those of each row as text, by which a file is known to be out of date.

``OUT/tableA3.json`` has ``[parameters, forward, backward]`` by method, as `benchmarks.complexity` counts them.
"""

import io
import json
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from benchmarks.cells import Cell
from benchmarks.complexity import count_all
from benchmarks.data import clean_data, noisy_data
from benchmarks.experiments import Experiment, Row
from benchmarks.files import write_whole
from benchmarks.scales import Scale
from sklearn_lec.noise.base import corruption_matrix

__all__ = [
    "cells_behind",
    "extra_file",
    "has_current_file",
    "read_counts",
    "read_examples",
    "read_matrices",
    "write_extra",
]

N_EXAMPLES = 10
ENDINGS = {"matrices": ".json", "examples": ".npz", "complexity": ".json"}
"""The kind of file in which is kept what an experiment shows."""


def cells_behind(experiment: Experiment, scale: Scale) -> list[Cell]:
    """Return cells that have the noisy data that an experiment without cells of its own shows."""
    return [] if experiment.has_cells else [_cell_behind(scale, row) for row in experiment.rows_at(scale)]


def extra_file(experiment: Experiment, scale: Scale | None, out: Path) -> Path:
    """Return the file of an experiment without cells; `scale` is not used where it has none."""
    name = f"{experiment.name}-{scale.name}" if experiment.has_scale else experiment.name
    return Path(out) / (name + ENDINGS[experiment.shows])


def has_current_file(experiment: Experiment, scale: Scale, out: Path) -> bool:
    """Return whether the file of an experiment is there, made with the settings as they are now."""
    file = extra_file(experiment, scale, out)
    # What does not depend on the scale follows from the code alone; it is quickly made again.
    if not experiment.has_scale or not file.exists():
        return False
    try:
        content = json.loads(file.read_text()) if experiment.shows == "matrices" else read_examples(file)
        return str(content["settings"]) == _settings(experiment, scale)
    except (ValueError, KeyError, EOFError, BadZipFile):  # damaged: to be made again
        return False


def write_extra(experiment: Experiment, scale: Scale, *, data_home: str | None, out: Path, device: str = "cpu") -> None:
    """Write the file of an experiment without cells."""
    content = {"matrices": _matrices, "examples": _examples, "complexity": _counts}[experiment.shows]
    where = {"data_home": data_home, "out": out, "device": device}
    write_whole(extra_file(experiment, scale, out), content(experiment, scale, **where))


def read_matrices(file: Path) -> list[dict]:
    """Return the panels of Figure A1; ``matrix`` as an ndarray."""
    return [panel | {"matrix": np.array(panel["matrix"])} for panel in json.loads(file.read_text())["panels"]]


def read_examples(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays of Figure A2, by name."""
    with np.load(file) as arrays:
        return dict(arrays)


def read_counts(file: Path) -> dict[str, list[float]]:
    """Return what Table A3 shows: parameters, forward and backward passes by method."""
    return json.loads(file.read_text())


def _settings(experiment, scale):
    cells = cells_behind(experiment, scale)
    return json.dumps([[cell.name, scale.settings(cell)] for cell in cells], sort_keys=True)


def _matrices(experiment, scale, **where):
    panels = []
    for row in experiment.rows_at(scale):
        noisy, clean = _data_of(row, scale, **where)
        matrix = corruption_matrix(noisy.y_clean, noisy.y_noisy, len(clean.class_names))
        panel = {"data": row.data, "noise": row.noise, "class_names": clean.class_names}
        panels.append(panel | {"matrix": matrix.round(5).tolist()})
    return json.dumps({"settings": _settings(experiment, scale), "panels": panels}).encode()


def _examples(experiment, scale, **where):
    (row,) = experiment.rows_at(scale)
    noisy, clean = _data_of(row, scale, **where)
    rng = np.random.RandomState(0)
    drawn = [
        rng.choice(np.flatnonzero(mask), N_EXAMPLES, replace=False) for mask in (~noisy.noise_mask, noisy.noise_mask)
    ]
    buffer = io.BytesIO()
    np.savez(
        buffer,
        images=clean.X_train[np.stack(drawn)],
        y_true=noisy.y_clean[np.stack(drawn)],
        y_noisy=noisy.y_noisy[np.stack(drawn)],
        class_names=clean.class_names,
        data=row.data,
        noise=row.noise,
        settings=_settings(experiment, scale),
    )
    return buffer.getvalue()


def _counts(experiment, scale, **where):
    return json.dumps(count_all()).encode()


def _data_of(row, scale, *, data_home, out, device):
    """Return the noisy rows, and the clean ones as they were before whitening."""
    cell = _cell_behind(scale, row)
    settings = scale.settings(cell)
    noisy = noisy_data(cell, settings, data_home, out=out, device=device)
    return noisy, clean_data(cell.data, settings | {"whitening": False}, data_home)


def _cell_behind(scale: Scale, row: Row) -> Cell:
    """Return a cell that has the noisy data of a row; the first seed represents all."""
    return Cell(scale.name, row.data, row.noise, "standard", seed=0)
