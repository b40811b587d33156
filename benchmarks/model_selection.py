"""Whether scores on wrong labels can choose parameters, or the epoch to stop at.

Run ``python -m benchmarks.model_selection`` from the root of the project. Candidates are ranked as GridSearchCV ranks
them, by scores on held-out folds with noisy labels, and by the accuracy of the same networks on the clean labels of
these folds. Ways to stop a training early by a noisy validation set are compared on clean test labels. Every finished
piece is one line of the file given by ``--out``; a second run does only what is missing. The page is written beside it.
"""

import argparse
import tempfile
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, cross_validate, train_test_split
from sklearn.preprocessing import StandardScaler
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring
from skorch.dataset import ValidSplit

from benchmarks.files import write_whole
from benchmarks.lines import LinesFile, check_of_parts, complete
from benchmarks.model_selection_page import SCORES, SEARCH, STOPPING, page_of
from sklearn_lec import LECClassifier
from sklearn_lec.datasets import fetch_mnist
from sklearn_lec.noise import AsymmetricNoise, SymmetricNoise

N_IMAGES = 10_000
LENGTHS = {
    "digits": {"max_epochs": 60, "T_w": 10},
    "breast cancer": {"max_epochs": 60, "T_w": 10},
    "MNIST": {"max_epochs": 15, "T_w": 3},  # an epoch has five times as many updates as one of the digits
}
STOPPING_LENGTH = {"max_epochs": 100, "T_w": 10}


class Piece(NamedTuple):
    """What is trained and recorded as one."""

    part: str
    data: str
    noise: str
    seed: int
    choice: str
    """One of `candidates`, or one of `RULES`."""


def load(data: str, *, seed: int, data_home=None) -> tuple[np.ndarray, np.ndarray]:
    """Return float32 samples and class numbers; of MNIST as many as `N_IMAGES`, drawn by the seed."""
    if data == "digits":
        X, y = load_digits(return_X_y=True)
        return (X / 16).astype(np.float32), y
    if data == "breast cancer":
        X, y = load_breast_cancer(return_X_y=True)
        return StandardScaler().fit_transform(X).astype(np.float32), y
    images, y = fetch_mnist(data_home, return_X_y=True, dtype="uint8")
    drawn = np.random.RandomState(seed).choice(len(y), N_IMAGES, replace=False)
    return images[drawn].reshape(N_IMAGES, -1).astype(np.float32) / 255, y[drawn]


def add_noise(y: np.ndarray, noise: str, *, seed: int) -> tuple[np.ndarray, float]:
    """Return the labels with noise such as ``"sym-40"``, and the share of them that is wrong."""
    kind, percent = noise.split("-")
    noise_class = {"sym": SymmetricNoise, "asym": AsymmetricNoise}[kind]
    given = noise_class(eps=int(percent) / 100, random_state=seed).fit_transform(y)
    return given, float((given != y).mean())


# --- searches --------------------------------------------------------------------------------------------------------


def candidates(share: float, T_w: int) -> dict[str, dict]:
    """Return the parameters of all candidates by name; LTEC with M = 1 is self-training."""
    ltec = {"method": "ltec", "M": 5, "eps": share, "T_w": T_w}
    return {
        "standard": {"method": "standard", "eps": share},
        "co-teaching": {"method": "co-teaching", "eps": share},
        "self-training": {"method": "self-training", "eps": share, "T_w": T_w},
        "ltec": ltec,
        "ltec, eps x 0.5": ltec | {"eps": 0.5 * share},
        "ltec, eps x 1.5": ltec | {"eps": 1.5 * share},
        "ltec, eps auto": ltec | {"eps": "auto"},
        "ltec, M=3": ltec | {"M": 3},
        "ltec, M=9": ltec | {"M": 9},
        "ltec-full": ltec | {"method": "ltec-full"},
    }


CANDIDATES = list(candidates(0.2, 10))
FEW = CANDIDATES[:6]
"""For MNIST, which takes longer."""


def search(piece: Piece, data_home) -> dict:
    """Cross-validate a candidate on noisy labels; return its scores on these and on the clean labels, as means."""
    X, y = load(piece.data, seed=piece.seed, data_home=data_home)
    given, share = add_noise(y, piece.noise, seed=piece.seed)
    length = LENGTHS[piece.data]
    classifier = LECClassifier(
        **candidates(share, length["T_w"])[piece.choice],
        max_epochs=length["max_epochs"],
        random_state=piece.seed,
        device="cpu",
        verbose=0,
    )
    result = cross_validate(
        classifier,
        X,
        given,
        cv=StratifiedKFold(3, shuffle=True, random_state=piece.seed),
        scoring={"noisy_accuracy": "accuracy", "noisy_neg_log_loss": "neg_log_loss"},
        return_estimator=True,
        return_indices=True,
        error_score="raise",
    )
    held_out = result["indices"]["test"]
    clean = [fitted.score(X[fold], y[fold]) for fitted, fold in zip(result["estimator"], held_out, strict=True)]
    scores = {name: result[f"test_{name}"] for name in SCORES} | {"clean_accuracy": clean}
    return {name: round(float(np.mean(of_folds)), 5) for name, of_folds in scores.items()}


# --- early stopping --------------------------------------------------------------------------------------------------


def filtered_accuracy(net, X, y) -> float:
    """Return the accuracy, but 0 during the warm-up, in which the network cannot be better than the noise lets it."""
    return accuracy_score(y, net.predict(X)) if net.method_.is_past_warmup else 0.0


def _filtered():
    return "filtered", EpochScoring(filtered_accuracy, lower_is_better=False, name="filtered_acc")


def _best(monitor, folder):
    return "best", Checkpoint(monitor=monitor, load_best=True, dirname=folder)


RULES = {
    "no early stopping": lambda folder: {},
    "no early stopping, half the epochs": lambda folder: {"max_epochs": STOPPING_LENGTH["max_epochs"] // 2},
    "best loss": lambda folder: {"callbacks": [_best("valid_loss_best", folder)]},
    "best accuracy": lambda folder: {"callbacks": [_best("valid_acc_best", folder)]},
    "best accuracy after the warm-up": lambda folder: {"callbacks": [_filtered(), _best("filtered_acc_best", folder)]},
    "stop by loss, patience 5": lambda folder: {"callbacks": [("stop", EarlyStopping(patience=5, load_best=True))]},
    "stop by accuracy after the warm-up, patience 30": lambda folder: {
        "callbacks": [
            _filtered(),
            ("stop", EarlyStopping(monitor="filtered_acc", patience=30, lower_is_better=False, load_best=True)),
        ]
    },
}
"""By name, the parameters of a training; checkpoints go into the folder."""


def stop_early(piece: Piece) -> dict:
    """Train with a rule; return the accuracy on clean labels, the epoch restored, and how many epochs were trained."""
    X, y = load(piece.data, seed=piece.seed)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=piece.seed)
    given, share = add_noise(y_train, piece.noise, seed=piece.seed)
    with tempfile.TemporaryDirectory() as folder:
        classifier = LECClassifier(
            method="ltec",
            eps=share,
            M=5,
            **STOPPING_LENGTH | RULES[piece.choice](folder),
            train_split=ValidSplit(0.2, stratified=True, random_state=piece.seed),
            random_state=piece.seed,
            device="cpu",
            verbose=0,
        ).fit(X_train, given)
    stopping = dict(classifier.callbacks_).get("stop")
    return {
        "accuracy": round(classifier.score(X_test, y_test), 5),
        # A checkpoint that is loaded brings its history with it.
        "restored": len(classifier.history) if stopping is None else stopping.best_epoch_,
        "trained": classifier.method_.epoch,
    }


# --- pieces ----------------------------------------------------------------------------------------------------------

PROBLEMS = {
    ("digits", "sym-40"): (CANDIDATES, 2),
    ("digits", "asym-30"): (CANDIDATES, 2),
    ("breast cancer", "sym-30"): (CANDIDATES, 2),
    ("MNIST", "sym-40"): (FEW, 1),
    ("MNIST", "asym-30"): (FEW, 1),
}
"""The candidates and the number of seeds for each problem."""
STOPPING_NOISES, STOPPING_SEEDS = ("sym-40", "asym-40"), 4


def all_pieces() -> list[Piece]:
    """Return all that the page is made of, the first seed of everything before the second."""
    pieces = [
        Piece(SEARCH, *problem, seed, candidate)
        for problem, (names, n_seeds) in PROBLEMS.items()
        for seed in range(n_seeds)
        for candidate in names
    ]
    pieces += [
        Piece(STOPPING, "digits", noise, seed, rule)
        for noise in STOPPING_NOISES
        for seed in range(STOPPING_SEEDS)
        for rule in RULES
    ]
    return sorted(pieces, key=lambda piece: piece.seed)


def measure(piece: Piece, data_home=None) -> dict:
    """Train what a piece asks for, and return its record."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # candidates are meant to be bad, too
        figures = search(piece, data_home) if piece.part == SEARCH else stop_early(piece)
    return piece._asdict() | figures


def piece_of(record: dict) -> Piece:
    """Return the piece that a record is of."""
    return Piece(*(record[field] for field in Piece._fields))


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data-home", default=None, help="where MNIST is; the data folder of scikit-learn by default")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/model_selection.jsonl"))
    options = parser.parse_args(arguments)

    file = LinesFile(options.out, beginning=b'{"part": "', check=check_of_parts(*Piece._fields))
    of_piece = partial(measure, data_home=options.data_home)
    records = complete(file, all_pieces(), cell_of=piece_of, measure=of_piece, jobs=options.jobs)
    page = page_of(records, lengths=LENGTHS, stopping_length=STOPPING_LENGTH)
    write_whole(options.out.with_suffix(".md"), page.encode())
    print(page)


if __name__ == "__main__":
    main()
