"""What "forward" gains by a better estimate of the corruption matrix.

Run ``python -m benchmarks.forward_matrix`` from the root of the project. The method is trained with its own estimate,
which is the paper's, with that of `estimate_noise` and with the true matrix. Balanced accuracy is that on clean labels
that were held out. Every problem and seed is one line of the file given by ``--out``; a second run does only what is
missing. The page is written beside it.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score, confusion_matrix

from benchmarks.forward_matrix_page import AUTO, IDENTITY, OWN, TRUE, page_of
from benchmarks.no_knobs import SOURCES
from benchmarks.pages import Cell, held_out, run_script
from sklearn_lec import LECClassifier

OUT = Path("benchmarks/results/forward_matrix.jsonl")
PROBLEMS = [
    *(("digits", noise) for noise in ("sym-20", "sym-60", "asym-20", "asym-40")),
    ("breast cancer", "sym-20"),
    ("TF-IDF text", "sym-40"),
]
EPOCHS = 100


def matrix_error(found: np.ndarray, true: np.ndarray) -> float:
    """Return the mean absolute error of the entries of a corruption matrix; every true class counts the same.

    Examples
    --------
    >>> matrix_error(np.array([[0.75, 0.25], [0.0, 1.0]]), np.eye(2))
    0.125
    """
    return float(np.abs(found - true).mean())


def measure(cell: Cell) -> dict:
    """Train with each of the matrices, and return the record."""
    torch.set_num_threads(1)
    X, y = SOURCES[cell.data](seed=cell.seed, data_home=None)
    data = held_out(X, y, noise=cell.noise, seed=cell.seed)
    true_matrix = confusion_matrix(data.right, data.given, normalize="true")
    identity = round(matrix_error(np.eye(len(true_matrix)), true_matrix), 5)
    record = cell._asdict() | {"scores": {}, "errors": {IDENTITY: identity}, "seconds": {}}
    for name, matrix in {OWN: None, AUTO: "auto", TRUE: true_matrix}.items():
        classifier = LECClassifier(
            method="forward",
            corruption_matrix=matrix,
            max_epochs=EPOCHS,
            random_state=cell.seed,
            device="cpu",
            verbose=0,
        )
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an estimate that is not to be trusted, which the error tells
            classifier.fit(data.X, data.given)
        record["seconds"][name] = round(time.perf_counter() - start, 3)
        record["scores"][name] = round(balanced_accuracy_score(data.y_test, classifier.predict(data.X_test)), 5)
        record["errors"][name] = round(matrix_error(classifier.corruption_matrix_, true_matrix), 5)
    return record


PARTS = ("scores", "errors", "seconds")
"""What a record has besides the fields of its cell."""


def main(arguments=None):
    run_script(__doc__, arguments, out=OUT, problems=PROBLEMS, measure=measure, parts=PARTS, page_of=page_of)


if __name__ == "__main__":
    main()
