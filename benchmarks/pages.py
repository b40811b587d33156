"""What scripts that fill a file of records share: the page beside it, clean labels held out, the command line."""

import argparse
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.choice_problems import Split
from benchmarks.files import write_whole
from benchmarks.lines import LinesFile, check_of_parts, complete
from benchmarks.noise_problems import NOISES

__all__ = ["Cell", "by_problem", "cells_of", "completed_page", "held_out", "run_facts", "run_script"]


class Cell(NamedTuple):
    """What one line of the file is about."""

    data: str
    noise: str
    seed: int


def cells_of(problems: Sequence[tuple[str, str]], *, seeds: int) -> list[Cell]:
    """Return the cells of pairs of data and noise, the first seed of everything before the second."""
    return [Cell(data, noise, seed) for seed in range(seeds) for data, noise in problems]


def by_problem(records: Sequence[dict]) -> dict[tuple[str, str], list[dict]]:
    """Return the records of each pair of data and noise, in the order in which these first occur."""
    problems = {}
    for record in records:
        problems.setdefault((record["data"], record["noise"]), []).append(record)
    return problems


def held_out(X: np.ndarray, y: np.ndarray, *, noise: str, seed: int) -> Split:
    """Hold out a quarter of the samples, class by class, and put one of `NOISES` into the labels of the others."""
    X_train, X_test, right, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    return Split(X_train, NOISES[noise](right, seed), right, X_test, y_test)


def run_facts(records: Sequence[dict]) -> dict:
    """Return what every page says of its records: how many runs, and the seeds."""
    return {"n_runs": len(records), "seeds": ", ".join(map(str, sorted({record["seed"] for record in records})))}


def completed_page(
    out: Path,
    cells: Sequence[Hashable],
    *,
    cell_of: Callable[[dict], Hashable],
    measure: Callable[[Hashable], dict],
    parts: Sequence[str],
    page_of: Callable[[list[dict]], str],
    jobs: int = 1,
    is_of_all: bool = False,
) -> str:
    """Do what is missing in a file of records, write the page beside it, and return it.

    Parameters
    ----------
    out : Path
        The file of records. The page gets its name, with the ending ``.md``.
    cells, cell_of, measure, jobs : as for `benchmarks.lines.complete`
    parts : sequence of str
        What a record has.
    page_of : callable (list of dict) -> str
    is_of_all : bool, default=False
        Whether the page is of all records in the file, in their order there, and not of those of `cells` alone.

    Returns
    -------
    page : str
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    file = LinesFile(out, beginning=b'{"data": "', check=check_of_parts(*parts))
    of_cells = complete(file, cells, cell_of=cell_of, measure=measure, jobs=jobs)
    page = page_of(file.records if is_of_all else of_cells)
    write_whole(out.with_suffix(".md"), page.encode())
    return page


def run_script(
    about: str,
    arguments: Sequence[str] | None,
    *,
    out: Path,
    problems: Sequence[tuple[str, str]],
    measure: Callable[[Cell], dict],
    parts: Sequence[str],
    page_of: Callable[[list[dict]], str],
) -> str:
    """Do what is missing in a file of records, write the page beside it, print and return it.

    Parameters
    ----------
    about : str
        The docstring of the script.
    arguments : sequence of str or None
        The command line; None for that of the process.
    out : Path
        The file of records, if the command line names no other. The page gets its name, with the ending ``.md``.
    problems : sequence of (data, noise)
    measure : callable (cell) -> dict
        Returns a record that begins with the fields of the cell.
    parts : sequence of str
        What else a record has.
    page_of : callable (list of dict) -> str

    Returns
    -------
    page : str
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, one core each; default: 1")
    parser.add_argument("--out", type=Path, default=out, help=f"the file of finished runs; default: {out}")
    options = parser.parse_args(arguments)

    cells, parts = cells_of(problems, seeds=options.seeds), (*Cell._fields, *parts)
    page = completed_page(
        options.out, cells, cell_of=_cell_of, measure=measure, parts=parts, page_of=page_of, jobs=options.jobs
    )
    print(page)
    return page


def _cell_of(record: dict) -> Cell:
    return Cell(*(record[field] for field in Cell._fields))
