"""Labels of which a known share is wrong: the data sets and noises of `benchmarks.noise_ratio`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from benchmarks.patch_features import patch_features
from sklearn_lec.datasets import fetch_cifar10, fetch_cifar10n, fetch_fashion_mnist, fetch_mnist
from sklearn_lec.noise import AsymmetricNoise, SymmetricNoise

__all__ = ["CLEAN", "LIMITS", "LOGISTIC", "MAIN", "MLP", "PROBLEMS", "SPECIAL", "NoisyLabels", "Problem", "load"]

MLP, LOGISTIC = "MLP", "logistic regression"

N_IMAGES = 10_000
"""Drawn from MNIST and Fashion-MNIST."""
N_PHOTOGRAPHS = 5_000
"""Drawn from CIFAR-10, whose features take longer."""
SMALLEST_SHARE = 0.1
"""What the last class of the long tail keeps of its samples; the first keeps all."""
RARE = 0.05
"""The share of the rarer of two classes."""


@dataclass(frozen=True)
class Problem:
    """What is estimated from: data, the noise in its labels, and the model whose predictions are looked at."""

    data: str
    noise: str
    model: str = MLP

    @property
    def title(self) -> str:
        """The name of the problem within its table."""
        return f"{self.data}, {self.noise}" + ("" if self.model == MLP else f", {self.model}")

    def __str__(self):
        return self.title


@dataclass(frozen=True)
class NoisyLabels:
    """Samples with the labels that they were given, and with the right ones; labels are class numbers."""

    X: np.ndarray
    given: np.ndarray
    right: np.ndarray

    @property
    def share_wrong(self) -> float:
        """What is to be estimated."""
        return float((self.given != self.right).mean())


def load(problem: Problem, *, seed: int, data_home=None) -> NoisyLabels:
    """Return the samples of a problem.

    Parameters
    ----------
    problem : Problem
    seed : int
        Decides which samples are drawn, where not all are taken, and which labels are wrong.
    data_home : str, Path or None, default=None
        Where MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-10N are; None for the default of `sklearn_lec.datasets`.

    Returns
    -------
    labels : NoisyLabels
    """
    X, y = DATA[problem.data](seed=seed, data_home=data_home)
    return NoisyLabels(X, given=NOISES[problem.noise](y, seed, data_home=data_home), right=y)


# --- data ------------------------------------------------------------------------------------------------------------


def _digits(**_):
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y


def _long_tail(*, seed, **_):
    """Return digits whose classes get rarer and rarer, each by the same factor."""
    X, y = _digits()
    rng = np.random.RandomState(seed)
    kept = [
        rng.permutation(np.flatnonzero(y == k))[: round(share * (y == k).sum())]
        for k, share in enumerate(np.geomspace(1, SMALLEST_SHARE, 10))
    ]
    samples = np.sort(np.concatenate(kept))
    return X[samples], y[samples]


def _eight_or_not(*, seed, **_):
    """Return the digits 3, 5 and 9 as one class, and so many of the digit 8 that it is rare."""
    X, y = _digits()
    others = np.flatnonzero(np.isin(y, [3, 5, 9]))
    n_rare = round(len(others) * RARE / (1 - RARE))
    eights = np.random.RandomState(seed).permutation(np.flatnonzero(y == 8))[:n_rare]
    samples = np.sort(np.concatenate([others, eights]))
    return X[samples], (y[samples] == 8).astype(np.int64)


@lru_cache(maxsize=2)
def _all_images(fetch, data_home):
    return fetch(data_home, return_X_y=True, dtype="uint8")


def _images(fetch, *, seed, data_home):
    images, y = _all_images(fetch, data_home)
    samples = np.random.RandomState(seed).choice(len(y), N_IMAGES, replace=False)
    return images[samples].reshape(N_IMAGES, -1).astype(np.float32) / 255, y[samples]


@lru_cache(maxsize=4)
def _photographs(seed, data_home):
    """Return features of images of CIFAR-10 and their labels; all noises of a seed are about the same images."""
    images, y = _all_images(fetch_cifar10, data_home)
    samples = _drawn_photographs(seed, len(y))
    return patch_features(images[samples].astype(np.float32) / 255, seed=seed), y[samples]


def _drawn_photographs(seed, n_images):
    return np.random.RandomState(seed).choice(n_images, N_PHOTOGRAPHS, replace=False)


def _table(fetch, **_):
    X, y = fetch(return_X_y=True)
    return StandardScaler().fit_transform(X).astype(np.float32), y


DATA: dict[str, Callable] = {
    "digits": _digits,
    "MNIST": partial(_images, fetch_mnist),
    "Fashion-MNIST": partial(_images, fetch_fashion_mnist),
    "CIFAR-10": lambda *, seed, data_home: _photographs(seed, data_home),
    "breast cancer": partial(_table, load_breast_cancer),
    "wine": partial(_table, load_wine),
    "iris": partial(_table, load_iris),
    "digits, long tail": _long_tail,
    "digits, 8 or not": _eight_or_not,
}

# --- noise -----------------------------------------------------------------------------------------------------------


def _symmetric(percent):
    return lambda y, seed, **_: SymmetricNoise(eps=percent / 100, random_state=seed).fit_transform(y)


def _asymmetric(percent, mapping=None):
    return lambda y, seed, **_: AsymmetricNoise(eps=percent / 100, mapping=mapping, random_state=seed).fit_transform(y)


def _within_half_of_classes(noise):
    """Return noise that only samples of the classes 0 to 4 have, and that gives them a label among these."""

    def corrupt(y, seed, **_):
        corrupted = y.copy()
        corrupted[y < 5] = noise(y[y < 5], seed)
        return corrupted

    return corrupt


def _people(labels):
    """Return the labels that people gave to the images that `_photographs` has drawn."""

    def labels_of_people(y, seed, *, data_home):
        given = fetch_cifar10n(data_home, noise=labels, return_X_y=True, dtype="uint8")[1]
        return given[_drawn_photographs(seed, len(given))]

    return labels_of_people


NOISES: dict[str, Callable[..., np.ndarray]] = {
    "clean": lambda y, seed, **_: y,
    **{f"sym-{percent}": _symmetric(percent) for percent in (10, 15, 20, 30, 40, 50, 60)},
    **{f"asym-{percent}": _asymmetric(percent) for percent in (5, 10, 20, 30, 40)},
    "sym-40 within 0-4": _within_half_of_classes(_symmetric(40)),
    **{f"human-{labels}": _people(labels) for labels in ("aggregate", "random1", "worst")},
    "asym-40 of 0-4": _asymmetric(40, mapping={k: k + 1 for k in range(5)}),
}

# --- problems --------------------------------------------------------------------------------------------------------

MAIN = [
    Problem(data, noise)
    for data in ("digits", "MNIST", "Fashion-MNIST")
    for noise in (
        "clean",
        *(f"sym-{percent}" for percent in (10, 20, 30, 40, 50, 60)),
        *(f"asym-{percent}" for percent in (5, 10, 20, 30, 40)),
    )
]
CLEAN = [Problem(data, "clean") for data in ("breast cancer", "wine", "iris")]
SPECIAL = [
    Problem("digits, long tail", "sym-20"),
    Problem("digits, long tail", "sym-40"),
    Problem("digits", "sym-40 within 0-4"),
    Problem("digits", "asym-40 of 0-4"),
    Problem("digits, 8 or not", "sym-15"),
]
LIMITS = [
    *(Problem(data, "sym-20") for data in ("breast cancer", "wine", "iris")),
    *(Problem(data, noise, LOGISTIC) for data in ("digits", "Fashion-MNIST") for noise in ("clean", "sym-40")),
    *(Problem("CIFAR-10", noise) for noise in ("clean", "sym-40", "human-aggregate", "human-random1", "human-worst")),
]
PROBLEMS = [*MAIN, *CLEAN, *SPECIAL, *LIMITS]
