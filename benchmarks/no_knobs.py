"""LECClassifier as it comes against the best of several settings that know the share of wrong labels.

Run ``python -m benchmarks.no_knobs`` from the root of the project. Each problem is trained with ``eps`` and ``T_w`` at
"auto", by ordinary training and by cleanlab's CleanLearning around the same network, side by side, and, apart from
these, with the true share and each of several `T_w`. Balanced accuracy is that on clean labels that were held out.
Every finished run is one line of the file given by ``--out``; a second run does only what is missing. The page is
written beside it.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from cleanlab.classification import CleanLearning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import balanced_accuracy_score

from benchmarks.no_knobs_page import AS_IT_COMES, CLEANLAB, KNOWN, METHODS, page_of
from benchmarks.noise_problems import DATA
from benchmarks.pages import completed_page, held_out
from sklearn_lec import LECClassifier

OUT = Path("benchmarks/results/no_knobs.jsonl")
WARMUPS = [2, 5, 10, 20]
EPOCHS = {"MNIST": 30}
"""Where the 200 epochs of the default would take hours: fewer for all alike."""
N_WORDS = 3000


def text(*, seed, **_):
    """Return 800 documents on four topics, as TF-IDF of 3,000 words: more columns than samples.

    Words are as frequent as Zipf's law has it; 150 of them are six times as frequent in one of the topics.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(800) % 4
    frequencies = np.tile(1 / np.arange(1, N_WORDS + 1), (4, 1))
    for of_topic in frequencies:
        of_topic[rng.choice(np.arange(50, N_WORDS), 150, replace=False)] *= 6
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(rng.integers(60, 200), frequencies[topic]) for topic in y])
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray().astype(np.float32), y


SOURCES = DATA | {"TF-IDF text": text}
MANY_CLASSES = ["digits", "wine", "MNIST", "TF-IDF text", "digits, long tail"]
TWO_CLASSES = ["breast cancer", "digits, 8 or not"]
PROBLEMS = [
    *((data, noise) for data in MANY_CLASSES for noise in ("clean", "sym-20", "sym-40", "sym-60", "asym-40")),
    *((data, noise) for data in TWO_CLASSES for noise in ("clean", "sym-20", "sym-40")),
]


class Cell(NamedTuple):
    """What one line of the file is about."""

    data: str
    noise: str
    seed: int
    part: str
    """What is trained: with settings as they come, or with those that are known to be right."""


def all_cells(*, seeds: int, data: Sequence[str] = tuple(SOURCES)) -> list[Cell]:
    """Return all that the page is made of, the first seed of everything before the second.

    With clean labels, the setting that is known to be right is ordinary training.
    """
    return [
        Cell(source, noise, seed, part)
        for seed in range(seeds)
        for source, noise in PROBLEMS
        for part in (AS_IT_COMES, KNOWN)
        if source in data and not (noise == "clean" and part == KNOWN)
    ]


def contenders(part: str, true_eps: float, **common) -> dict:
    """Return all that is trained on a problem in one part, by name."""
    if part == KNOWN:
        return {
            f"{method}, T_w={T_w}": LECClassifier(method=method, eps=true_eps, T_w=T_w, **common)
            for method in METHODS
            for T_w in WARMUPS
        }
    standard = LECClassifier(method="standard", **common)
    return {
        **{method: LECClassifier(method=method, eps="auto", T_w="auto", **common) for method in METHODS},
        "standard": standard,
        CLEANLAB: CleanLearning(standard, seed=common["random_state"], verbose=False),
    }


def measure(cell: Cell, *, data_home=None) -> dict:
    """Train all of a part on a problem and return the record."""
    torch.set_num_threads(1)
    X, y = SOURCES[cell.data](seed=cell.seed, data_home=data_home)
    data = held_out(X, y, noise=cell.noise, seed=cell.seed)
    true_eps = float((data.given != data.right).mean())
    record = cell._asdict() | {"true_eps": true_eps, "scores": {}, "seconds": {}}
    common = {"max_epochs": EPOCHS.get(cell.data, 200), "random_state": cell.seed, "device": "cpu", "verbose": 0}
    for name, classifier in contenders(cell.part, true_eps, **common).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(data.X, data.given)
        record["seconds"][name] = round(time.perf_counter() - start, 2)
        record["scores"][name] = round(balanced_accuracy_score(data.y_test, classifier.predict(data.X_test)), 5)
        if name in METHODS:
            record[f"eps {name}"], record[f"T_w {name}"] = round(float(classifier.eps_), 4), int(classifier.T_w_)
    return record


PARTS = (*Cell._fields, "true_eps", "scores", "seconds")
"""Of a record."""


def cell_of(record: dict) -> Cell:
    """Return the cell that a record is of."""
    return Cell(*(record[field] for field in Cell._fields))


def run(out: Path, cells: Sequence[Cell], *, data_home=None, jobs: int = 1) -> str:
    """Do what is missing in a file of records, write the page beside it, and return it."""
    what = partial(measure, data_home=data_home)
    return completed_page(out, cells, cell_of=cell_of, measure=what, parts=PARTS, page_of=page_of, jobs=jobs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, one core each; default: 1")
    parser.add_argument("--data-home", help="where MNIST is; default: scikit-learn's folder")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), help="data sets; default: all")
    parser.add_argument("--out", type=Path, default=OUT, help=f"the file of finished runs; default: {OUT}")
    options = parser.parse_args()
    cells = all_cells(seeds=options.seeds, data=options.only)
    print(run(options.out, cells, data_home=options.data_home, jobs=options.jobs))


if __name__ == "__main__":
    main()
