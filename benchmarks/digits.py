"""All methods on scikit-learn's digits with four kinds of label noise: accuracy, label precision and recall.

Run ``python -m benchmarks.digits`` from the root of the project. A quarter of the 1,797 digits is held out with clean
labels; the noise of a seed is the same for all methods. Every finished training is one line of the file given by
``--out``; a second run does only what is missing. The table is also written beside that file, as Markdown.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.callbacks import measurements
from benchmarks.files import write_whole
from benchmarks.lines import LinesFile, check_of_parts, complete
from benchmarks.methods import parameters_of
from benchmarks.tables import markdown_table
from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.noise import AsymmetricNoise, SymmetricNoise
from sklearn_lec.noise.base import LabelNoise

NOISES = {
    "sym-20": SymmetricNoise(eps=0.2),
    "sym-60": SymmetricNoise(eps=0.6),
    "asym-20": AsymmetricNoise(eps=0.2),
    "asym-40": AsymmetricNoise(eps=0.4),
}
KNOWN_MATRIX = "forward, known matrix"
T_W = 10
COMPARED = [*METHODS, KNOWN_MATRIX]
MEASURES = ["final", "peak", "precision", "recall"]

PAGE = """# Digits

Accuracy on clean test labels (final and peak over the epochs), and precision and recall of the labels that the last
epoch learned from; mean ± standard deviation over {seeds} seeds, in %. MLP with two hidden layers of 256, {epochs}
epochs, T_w = {T_w}, M = 5, eps as in the noise. Made by `python -m benchmarks.digits`.

{table}
"""


class NoisyDigits(NamedTuple):
    """Digits of which a quarter is held out with clean labels; float32 in [0, 1], of 64 pixels each."""

    X_train: np.ndarray
    y_train: np.ndarray
    y_noisy: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    noise: LabelNoise
    """What was done to the labels."""


def noisy_digits(noise_name: str, *, seed: int) -> NoisyDigits:
    """Return the digits with one of `NOISES`; the seed decides which are held out and which have a wrong label."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X.astype("float32") / 16, y, test_size=0.25, stratify=y, random_state=seed
    )
    noise = clone(NOISES[noise_name]).set_params(random_state=seed)
    _, y_noisy = noise.corrupt(X_train, y_train)
    return NoisyDigits(X_train, y_train, y_noisy, X_test, y_test, noise)


class Cell(NamedTuple):
    """One training."""

    noise: str
    method: str
    seed: int
    epochs: int


def cell_of(record: dict) -> Cell:
    """Return the training that a record is of."""
    return Cell(*(record[field] for field in Cell._fields))


def measure(cell: Cell) -> dict:
    """Train a method and return the record."""
    torch.set_num_threads(1)
    method = cell.method
    digits = noisy_digits(cell.noise, seed=cell.seed)
    known = {"method": "forward", "corruption_matrix": digits.noise.corruption_matrix_}
    classifier = LECClassifier(
        **known if method == KNOWN_MATRIX else {"method": method},
        eps=digits.noise.eps,
        **{"T_w": T_W} if method in METHODS and "T_w" in parameters_of(method) else {},
        max_epochs=cell.epochs,
        random_state=cell.seed,
        verbose=0,
        **measurements(digits.X_test, digits.y_test, y_true=digits.y_train),
    ).fit(digits.X_train, digits.y_noisy)
    accuracy = classifier.history[:, "accuracy"]
    return cell._asdict() | {
        "final": accuracy[-1],
        "peak": max(accuracy),
        "precision": classifier.history[-1, "label_precision"],
        "recall": classifier.history[-1, "label_recall"],
    }


def markdown(results):
    lines = []
    for noise in NOISES:
        for method in COMPARED:
            cells = [r for r in results if (r["noise"], r["method"]) == (noise, method)]
            if cells:
                values = 100 * np.array([[r[measure] for measure in MEASURES] for r in cells])
                shown = [f"{m:.1f} ± {s:.1f}" for m, s in zip(values.mean(axis=0), values.std(axis=0), strict=True)]
                lines.append([noise, method, *shown])
    return markdown_table(["noise", "method", *MEASURES], lines, n_names=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--methods", nargs="+", choices=COMPARED, default=COMPARED)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/digits.jsonl"))
    options = parser.parse_args()

    check = check_of_parts(*Cell._fields, *MEASURES)
    file = LinesFile(options.out, beginning=b'{"noise": "', check=check)
    cells = [Cell(n, m, s, options.epochs) for s in range(options.seeds) for n in NOISES for m in options.methods]
    records = complete(file, cells, cell_of=cell_of, measure=measure, jobs=options.jobs)
    page = PAGE.format(epochs=options.epochs, T_w=T_W, seeds=options.seeds, table=markdown(records))
    write_whole(options.out.with_suffix(".md"), page.encode())
    print(page)


if __name__ == "__main__":
    main()
