"""The problems of `benchmarks.choice`: data with wrong labels to learn from, and right ones that test."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from benchmarks.noise_problems import DATA, NOISES
from benchmarks.patch_features import patch_features
from sklearn_lec.datasets import fetch_cifar10, fetch_cifar10n, fetch_fashion_mnist, fetch_mnist

__all__ = ["AUTO", "CONV9", "KEPT_BACK", "MLP", "PROBLEMS", "TUNED", "Problem", "Split", "load"]

MLP, CONV9 = "MLP", "Conv9 (1/8)"
TUNED, KEPT_BACK = "tuned on", "kept back"
SEEDS = {(TUNED, MLP): range(5), (KEPT_BACK, MLP): range(100, 105), (TUNED, CONV9): range(3)}
AUTO = "auto"
"""`eps` and `T_w` as they come."""
N_IMAGES = 10_000
N_PHOTOGRAPHS = 5_000
"""To learn from, where they are seen as features."""
N_TEST = 5_000
FIRST_PERSON = "human-"


class Problem(NamedTuple):
    """What is learned from."""

    data: str
    noise: str
    network: str = MLP
    told: str = "eps"
    """What the method is told of the noise: "eps", "0.8 eps", "1.2 eps" or "auto"."""
    group: str = TUNED
    """Whether methods were tuned on it, or it was kept back."""

    @property
    def seeds(self) -> range:
        """Those of the trainings."""
        return SEEDS[self.group, self.network]


class Split(NamedTuple):
    """Samples to learn from, with the labels given and the right ones, and samples that test."""

    X: np.ndarray
    given: np.ndarray
    right: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


PROBLEMS = [
    *(Problem(data, noise) for data in ("digits", "MNIST") for noise in ("sym-20", "sym-60", "asym-40")),
    *(Problem("CIFAR-10 features", n) for n in ("sym-60", "asym-40", "human-random1", "human-worst")),
    *(Problem("digits, long tail", noise, told=AUTO) for noise in ("sym-20", "sym-40")),
    Problem("digits, 8 or not", "sym-15", told=AUTO),
    *(Problem("digits", "sym-60", told=told) for told in ("0.8 eps", "1.2 eps")),
    *(Problem("Fashion-MNIST", noise, group=KEPT_BACK) for noise in ("sym-20", "sym-60", "asym-40")),
    *(Problem("CIFAR-10 features", n, group=KEPT_BACK) for n in ("human-aggregate", "human-random2")),
    *(
        Problem(data, noise, told=AUTO, group=KEPT_BACK)
        for data in ("breast cancer", "made table")
        for noise in ("sym-20", "sym-40")
    ),
    *(Problem("CIFAR-10", noise, CONV9) for noise in ("human-worst", "human-random1", "sym-60", "asym-40")),
]


def load(problem: Problem, *, seed: int, data_home=None) -> Split:
    """Return the samples of a problem.

    Parameters
    ----------
    problem : Problem
    seed : int
        Decides which samples are drawn, which labels are wrong, and which samples test.
    data_home : str, Path or None, default=None
        Where the images are; None for the default of `sklearn_lec.datasets`.

    Returns
    -------
    split : Split
    """
    X, y, numbers, n_test = SOURCES[problem.data](seed=seed, data_home=data_home)
    training, test = train_test_split(np.arange(len(y)), test_size=n_test, stratify=y, random_state=seed)
    if problem.noise.startswith(FIRST_PERSON):
        labels = problem.noise.removeprefix(FIRST_PERSON)
        given = fetch_cifar10n(data_home, noise=labels, return_X_y=True, dtype="uint8")[1][numbers[training]]
    else:
        given = NOISES[problem.noise](y[training], seed)
    return Split(X[training], given, y[training], X[test], y[test])


def _small(data, *, seed, data_home):
    X, y = DATA[data](seed=seed, data_home=data_home)
    return X, y, None, 0.25


def _made_table(*, seed, data_home):
    X, y = make_classification(
        2000, n_features=30, n_informative=12, n_classes=5, n_clusters_per_class=2, class_sep=2.0, random_state=seed
    )
    return X.astype(np.float32), y, None, 0.25


@lru_cache(maxsize=2)
def _all_images(fetch, data_home):
    return fetch(data_home, return_X_y=True, dtype="uint8")


def _images(fetch, *, seed, data_home, n_samples=N_IMAGES, flat=True):
    images, y = _all_images(fetch, data_home)
    numbers = np.random.RandomState(seed).choice(len(y), n_samples + N_TEST, replace=False)
    X = images[numbers].astype(np.float32) / 255
    return X.reshape(len(X), -1) if flat else X, y[numbers], numbers, N_TEST


@lru_cache(maxsize=2)
def _features(*, seed, data_home):
    images, y, numbers, n_test = _images(
        fetch_cifar10, seed=seed, data_home=data_home, n_samples=N_PHOTOGRAPHS, flat=False
    )
    return patch_features(images, seed=seed), y, numbers, n_test


def _photographs(*, seed, data_home):
    images, y, numbers, n_test = _images(fetch_cifar10, seed=seed, data_home=data_home, flat=False)
    return (images - images.mean()) / images.std(), y, numbers, n_test


SOURCES: dict[str, Callable] = {
    **{name: partial(_small, name) for name in ("digits", "digits, long tail", "digits, 8 or not", "breast cancer")},
    "made table": _made_table,
    "MNIST": partial(_images, fetch_mnist),
    "Fashion-MNIST": partial(_images, fetch_fashion_mnist),
    "CIFAR-10 features": _features,
    "CIFAR-10": _photographs,
}
