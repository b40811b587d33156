"""How well wrong labels are found: `find_label_issues` against cleanlab and against the loss of the last epoch.

Run ``python -m benchmarks.label_issues`` from the root of the project. Labels are ranked by quality, and some of them
are flagged, by `LECClassifier` as it comes, by cleanlab's CleanLearning around ordinary training of the same network
and around a logistic regression, and by the loss after ordinary training. Times are those of the processor, for the
whole way from data to table. Every finished run is one line of the file given by ``--out``; a second run does only
what is missing. The page is written beside it.
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
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, precision_score, recall_score

from benchmarks.label_issues_page import CONTENDERS, LAST_LOSS, LOGISTIC, OURS, page_of
from benchmarks.mixed_table import prepared_mixed_table
from benchmarks.no_knobs import EPOCHS, text
from benchmarks.noise_problems import DATA, NOISES
from benchmarks.pages import completed_page
from sklearn_lec import LECClassifier

OUT = Path("benchmarks/results/label_issues.jsonl")
SOURCES = {
    **{name: DATA[name] for name in ("wine", "breast cancer", "digits")},
    "mixed table": prepared_mixed_table,
    "TF-IDF text": text,
    "MNIST": DATA["MNIST"],
}
NOISY = ["sym-10", "sym-20", "asym-20"]


class Cell(NamedTuple):
    """What one line of the file is about."""

    data: str
    noise: str
    seed: int
    contender: str


def all_cells(
    *, seeds: int, data: Sequence[str] = tuple(SOURCES), contenders: Sequence[str] = tuple(CONTENDERS)
) -> list[Cell]:
    """Return all that the page is made of, the first seed of everything before the second."""
    return [
        Cell(source, noise, seed, contender)
        for seed in range(seeds)
        for source in SOURCES
        for noise in NOISY
        for contender in CONTENDERS
        if source in data and contender in contenders
    ]


def judged(contender: str, X, y, **common) -> tuple[np.ndarray, np.ndarray, dict]:
    """Return the quality of each label, which of them are flagged, and what else is worth a note.

    Parameters
    ----------
    contender : str
    X, y : samples with their given labels
    **common : parameters of `LECClassifier`

    Returns
    -------
    quality : ndarray of shape (n_samples,)
    is_issue : bool ndarray of shape (n_samples,)
    notes : dict
    """
    seed = common["random_state"]
    if contender == OURS:
        clf = LECClassifier(**common).fit(X, y)
        issues = clf.find_label_issues()
        notes = {"eps": round(float(clf.eps_), 4), "T_w": int(clf.T_w_)}
        return issues["label_quality"].to_numpy(), issues["is_label_issue"].to_numpy(), notes
    standard = LECClassifier(method="standard", **common)
    if contender == LAST_LOSS:
        probabilities = standard.fit(X, y).predict_proba(X)
        return probabilities[np.arange(len(y)), y], probabilities.argmax(axis=1) != y, {}
    around = LogisticRegression(max_iter=1000) if contender == LOGISTIC else standard
    cleaner = CleanLearning(around, seed=seed, verbose=False, find_label_issues_kwargs={"n_jobs": 1})
    issues = cleaner.find_label_issues(X, y)
    return issues["label_quality"].to_numpy(), issues["is_label_issue"].to_numpy(), {}


def measure(cell: Cell, *, data_home=None) -> dict:
    """Find the wrong labels of a problem by one contender, and return the record."""
    torch.set_num_threads(1)
    X, y = SOURCES[cell.data](seed=cell.seed, data_home=data_home)
    given = NOISES[cell.noise](y, cell.seed)
    is_wrong = given != y
    common = {"max_epochs": EPOCHS.get(cell.data, 200), "random_state": cell.seed, "device": "cpu", "verbose": 0}
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quality, is_issue, notes = judged(cell.contender, X, given, **common)
    seconds = time.process_time() - start
    return {
        **cell._asdict(),
        "average_precision": round(float(average_precision_score(is_wrong, -quality)), 5),
        "precision": round(float(precision_score(is_wrong, is_issue, zero_division=0)), 5),
        "recall": round(float(recall_score(is_wrong, is_issue)), 5),
        "n_wrong": int(is_wrong.sum()),
        "n_flagged": int(is_issue.sum()),
        "seconds": round(seconds, 2),
        **notes,
    }


def cell_of(record: dict) -> Cell:
    """Return the cell that a record is of."""
    return Cell(*(record[field] for field in Cell._fields))


def run(out: Path, cells: Sequence[Cell], *, data_home=None, jobs: int = 1) -> str:
    """Do what is missing in a file of records, write the page of all that is there beside it, and return it."""
    what, parts = (
        partial(measure, data_home=data_home),
        (*Cell._fields, "average_precision", "precision", "recall", "seconds"),
    )
    return completed_page(
        out, cells, cell_of=cell_of, measure=what, parts=parts, page_of=page_of, jobs=jobs, is_of_all=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, one core each; default: 1")
    parser.add_argument("--data-home", help="where MNIST is; default: scikit-learn's folder")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), help="data sets; default: all")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS, help="default: all")
    parser.add_argument("--out", type=Path, default=OUT, help=f"the file of finished runs; default: {OUT}")
    options = parser.parse_args()
    cells = all_cells(seeds=options.seeds, data=options.only, contenders=options.contenders)
    print(run(options.out, cells, data_home=options.data_home, jobs=options.jobs))


if __name__ == "__main__":
    main()
