"""The paper's tables in Markdown: what was run, and beneath it what the paper says."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.cells import data_parts
from benchmarks.experiments import Experiment, Row
from benchmarks.methods import in_order, method_title
from benchmarks.results import Results

__all__ = [
    "NOTHING",
    "PAPER",
    "accuracy_table",
    "complexity_table",
    "data_title",
    "markdown_table",
    "noise_title",
    "paper_rows",
]

PAPER = json.loads(Path(__file__).with_name("paper.json").read_text(encoding="utf-8"))
"""The paper's numbers: experiment -> "data/noise" -> title of the column -> numbers; Table A3 by title of the method.

What the paper does not have is not here: experiments, rows, columns, methods."""

NOTHING = "\N{EN DASH}"
"""Stands where there is nothing to show yet."""

DATA_TITLES = {
    "mnist": "MNIST",
    "svhn": "SVHN",
    "imagenet-32": "ImageNet-32",
    "cifar-10": "CIFAR-10",
    "cifar-100": "CIFAR-100",
}
COMPLEXITIES = {
    "parameters": ("parameters", "m"),
    "forward": ("forward passes", "n"),
    "backward": ("backward passes", "n"),
}


def data_title(data: str) -> str:
    """Return the name of a data set as people write it.

    Examples
    --------
    >>> data_title("cifar-10+imagenet-32")
    'CIFAR-10 + ImageNet-32'
    >>> data_title("mnist@10000")
    'MNIST (10,000)'
    """
    name, n_rows, external = data_parts(data)
    title = DATA_TITLES.get(name, name) + (f" ({n_rows:,})" if n_rows is not None else "")
    return f"{title} + {DATA_TITLES.get(external, external)}" if external else title


def noise_title(noise: str) -> str:
    """Return the name of a noise as people write it.

    Examples
    --------
    >>> noise_title("sym-20"), noise_title("clean"), noise_title("human-worst")
    ('sym-20%', 'clean', 'human-worst')
    """
    return noise if noise == "clean" or noise.startswith("human-") else f"{noise}%"


def markdown_table(head: Sequence, lines: Iterable[Sequence], *, n_names: int = 1) -> str:
    """Return a table in Markdown, its first `n_names` columns set to the left, the others centred."""
    rule = ["---"] * n_names + [":---:"] * (len(head) - n_names)
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, rule, *lines])


def accuracy_table(experiment: Experiment, results: Results) -> str:
    """Return the accuracies of an experiment, and beneath each row the paper's where it has the same row.

    Parameters
    ----------
    experiment : Experiment
    results : Results

    Returns
    -------
    table : str
        Entries are ``final ± std / peak ± std`` in %, without std where there is one seed; the best final and the best
        peak of a row are bold, all of them where several are shown with the same digits.
    """
    lines = []
    for row in experiment.rows_at(results.scale):
        lines.append([data_title(row.data), noise_title(row.noise), *_measured(experiment, row, results)])
        if _key(row) in PAPER.get(experiment.name, {}):
            lines.append(["", "*paper*", *_published(experiment, row, results)])
    return _table(experiment, results, lines)


def paper_rows(experiment: Experiment, results: Results) -> str:
    """Return the paper's rows that the scale does not have, as a table; empty if there are none."""
    left = PAPER.get(experiment.name, {}).keys() - {_key(row) for row in experiment.rows_at(results.scale)}
    lines = [
        [data_title(row.data), noise_title(row.noise), *_published(experiment, row, results)]
        for row in experiment.rows
        if _key(row) in left
    ]
    return _table(experiment, results, lines) if lines else ""


def complexity_table(counted: Mapping[str, Sequence[float]]) -> str:
    """Return Table A3: what was counted, and beneath it what the paper says.

    Parameters
    ----------
    counted : mapping of method to (parameters, forward, backward)
        The parameters of all networks as a multiple of one network's (m), and the rows that went forward and backward
        in one epoch as a multiple of the rows (n).

    Returns
    -------
    table : str
    """
    methods = in_order(counted)
    titles = [method_title(method) for method in methods]
    lines = []
    for place, (what, (title, unit)) in enumerate(COMPLEXITIES.items()):
        lines.append([title, *(f"{counted[method][place]:.2f} {unit}" for method in methods)])
        published = [PAPER["tableA3"].get(name, {}).get(what, "") for name in titles]
        lines.append(["*paper*", *(text.replace("<=", "≤") for text in published)])
    return markdown_table(["", *titles], lines)


def _table(experiment: Experiment, results: Results, lines: list[list[str]]) -> str:
    titles = [column.title for column in experiment.columns_at(results.scale)]
    return markdown_table(["data", "noise", *titles], lines, n_names=2)


def _key(row: Row) -> str:
    """Return the name of a row in the paper, which has all rows of its data sets."""
    name, _, external = data_parts(row.data)
    return f"{name}+{external}/{row.noise}" if external else f"{name}/{row.noise}"


def _measured(experiment: Experiment, row: Row, results: Results) -> list[str]:
    """Return the entries of a row that was run."""
    values = [results.accuracies(experiment, row, column) for column in experiment.columns_at(results.scale)]
    # Clean accuracies are final ones alone, as in the paper.
    values = [value[:, :1] if experiment.shows == "clean accuracy" else value for value in values]
    means = [value.mean(axis=0) if len(value) else None for value in values]
    stds = [value.std(axis=0) if len(value) > 1 else None for value in values]
    # Entries of one row are compared: what has fewer seeds than the others, or than it should, says so.
    wanted = max([results.wanted_seeds(row), *map(len, values)])
    entries = _entries(means, stds, digits=1)
    return [
        f"{entry} ({len(value)} of {wanted} seeds)" if 0 < len(value) < wanted else entry
        for entry, value in zip(entries, values, strict=True)
    ]


def _published(experiment: Experiment, row: Row, results: Results) -> list[str]:
    """Return the entries of a row of the paper; columns that the paper does not have are empty."""
    numbers = [PAPER[experiment.name][_key(row)].get(c.title) for c in experiment.columns_at(results.scale)]
    parts = [("mean",), ("std",)] if experiment.shows == "clean accuracy" else [("final", "peak"), ()]
    means, stds = ([np.array([n[p] for p in part]) if n and part else None for n in numbers] for part in parts)
    return [entry if n else "" for n, entry in zip(numbers, _entries(means, stds, digits=2), strict=True)]


def _entries(means: list, stds: list, *, digits: int) -> list[str]:
    """Return the entries of a row, the best of each part (final, peak) in bold."""
    shown = [None if mean is None else [f"{value:.{digits}f}" for value in mean] for mean in means]
    present = [texts for texts in shown if texts is not None]
    # What is shown with the same digits is equally good; one entry alone is not the best of anything.
    best = [max(part, key=float) if len(part) > 1 else None for part in zip(*present, strict=True)]
    entries = []
    for texts, std in zip(shown, stds, strict=True):
        if texts is None:
            entries.append(NOTHING)
            continue
        spreads = [""] * len(texts) if std is None else [f" ± {value:.{digits}f}" for value in std]
        parts = zip(texts, spreads, best, strict=True)
        entries.append(" / ".join(f"**{t}{s}**" if t == b else f"{t}{s}" for t, s, b in parts))
    return entries
