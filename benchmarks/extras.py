"""What is shown beside trainings: Figures A1 and A2, Table A3; kept in the run folder so that a report needs no data.

``OUT/figureA1-<scale>.json`` has ``panels``, a list of ``{"data", "noise", "class_names", "matrix"}``; ``matrix`` is
the share of each true class (row) that has each label (column).

``OUT/figureA2-<scale>.npz`` has ``images``, float32 in [0, 1] of shape (2, 10, channels, height, width), clean rows
first, then noisy ones; their ``y_true`` and ``y_noisy``, int64 of shape (2, 10); ``class_names``; ``data``; ``noise``.

Both have ``settings``, those of each row as text, by which a file is known to be out of date.

``OUT/tableA3.json`` has ``[parameters, forward, backward]`` by method, as `benchmarks.complexity` counts them.
"""

import contextlib
import io
import json
import re
from pathlib import Path

import numpy as np

from benchmarks.cells import NOISE, Cell, data_parts
from benchmarks.complexity import count_all
from benchmarks.data import clean_data, noisy_data
from benchmarks.experiments import Experiment, Row
from benchmarks.files import DamagedFileError, open_plain, write_whole
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
NAME = re.compile(r"[\w /-]+")
"""Of a class or a method: letters that a page and a picture can show."""


def cells_behind(experiment: Experiment, scale: Scale) -> list[Cell]:
    """Return cells that have the noisy data that an experiment without cells of its own shows."""
    return [] if experiment.has_cells else [_cell_behind(scale, row) for row in experiment.rows_at(scale)]


def extra_file(experiment: Experiment, scale: Scale | None, out: Path) -> Path:
    """Return the file of an experiment without cells; `scale` is not used where it has none."""
    name = f"{experiment.name}-{scale.name}" if experiment.has_scale else experiment.name
    return Path(out) / (name + ENDINGS[experiment.shows])


def has_current_file(experiment: Experiment, scale: Scale, out: Path) -> bool:
    """Return whether the file of an experiment is there, made with the settings as they are now."""
    # What does not depend on the scale follows from the code alone; it is quickly made again.
    if not experiment.has_scale:
        return False
    read = {"matrices": read_matrices, "examples": read_examples}[experiment.shows]
    try:
        return str(read(extra_file(experiment, scale, out)).get("settings")) == _settings(experiment, scale)
    except (FileNotFoundError, DamagedFileError):  # to be made, or made again
        return False


def write_extra(experiment: Experiment, scale: Scale, *, data_home: str | None, out: Path, device: str = "cpu") -> None:
    """Write the file of an experiment without cells."""
    content = {"matrices": _matrices, "examples": _examples, "complexity": _counts}[experiment.shows]
    where = {"data_home": data_home, "out": out, "device": device}
    write_whole(extra_file(experiment, scale, out), content(experiment, scale, **where))


def read_matrices(file: Path) -> dict:
    """Return what Figure A1 shows: ``settings``, and ``panels`` with ``matrix`` as an ndarray.

    Raises
    ------
    DamagedFileError
    """
    with _damage_named(file):
        content = json.loads(_content(file))
        panels = [panel | {"matrix": np.array(panel["matrix"], dtype=float)} for panel in content["panels"]]
        for panel in panels:
            data_parts(panel["data"])
            _require(NOISE.fullmatch(panel["noise"]) and isinstance(panel["class_names"], list))
            _require(all(map(NAME.fullmatch, panel["class_names"])))
            n_classes = len(panel["class_names"])
            _require(n_classes > 0 and panel["matrix"].shape == (n_classes, n_classes) and _are_shares(panel["matrix"]))
        _require(panels)
        return {"settings": content["settings"], "panels": panels}


def read_examples(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays of Figure A2, by name.

    Raises
    ------
    DamagedFileError
    """
    with _damage_named(file), np.load(io.BytesIO(_content(file))) as arrays:
        content = dict(arrays)
        images, names = content["images"], content["class_names"]
        _require(images.ndim == 5 and images.shape[:2] == (2, N_EXAMPLES) and images.shape[2] in (1, 3))
        _require(images.size > 0 and images.dtype.kind == "f" and _are_shares(images))
        _require(names.ndim == 1 and all(map(NAME.fullmatch, names.tolist())))
        for labels in (content["y_true"], content["y_noisy"]):
            _require(labels.shape == (2, N_EXAMPLES) and labels.dtype.kind == "i")
            names[labels]
        return content


def read_counts(file: Path) -> dict[str, list[float]]:
    """Return what Table A3 shows: parameters, forward and backward passes by method.

    Raises
    ------
    DamagedFileError
    """
    with _damage_named(file):
        counts = json.loads(_content(file))
        for name, numbers in counts.items():
            _require(NAME.fullmatch(name) and isinstance(numbers, list) and len(numbers) == 3)
            _require(all(isinstance(number, int | float) and 0 <= number < 1e6 for number in numbers))
        return counts


def _content(file):
    with open_plain(file, "rb") as handle:
        return handle.read()


@contextlib.contextmanager
def _damage_named(file):
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # json, zipfile and numpy raise whatever they stumble over
        raise DamagedFileError(f"{file} is damaged: {error!r}. Delete it to have it made again.") from error


def _require(condition):
    if not condition:
        raise ValueError("it is not what was written")


def _are_shares(array):
    return bool(((array >= 0) & (array <= 1)).all())


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
