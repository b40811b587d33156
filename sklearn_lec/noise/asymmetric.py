"""Asymmetric noise: each class is mislabeled as one other class."""

import math
from collections.abc import Mapping

import numpy as np

from sklearn_lec._selection import decimal_fraction
from sklearn_lec.noise.base import TargetNoise

__all__ = ["AsymmetricNoise"]


class AsymmetricNoise(TargetNoise):
    """Give a fraction of the samples of each class the label of one other class.

    The hard case for methods that select clean samples: the wrong labels follow a pattern that a network can learn.
    An annotator who confuses two classes makes such errors.

    Parameters
    ----------
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_samples)`` labels are changed, where n_samples counts only the classes that `mapping`
        changes. Each of these classes gets the same fraction of wrong labels, up to rounding.
    mapping : dict or None, default=None
        What each label is changed to. Labels that are not in it stay as they are. None changes each class to the next
        one in ascending order, and the last class to the first.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_mask_ : bool ndarray of shape (n_samples,)
        True where the label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The fraction of each true class (row) that now has each label (column).

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section 4.1
    ("asym").

    Examples
    --------
    >>> noise = AsymmetricNoise(eps=0.5, mapping={"truck": "car"}, random_state=0)
    >>> noise.fit_transform(["car", "car", "truck", "truck"])
    array(['car', 'car', 'car', 'truck'], dtype='<U5')
    """

    def __init__(self, *, eps=0.2, mapping=None, random_state=None):
        self.eps = eps
        self.mapping = mapping
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        self._new_codes()

    def _flip(self, X, codes, rng):
        new_codes = self._new_codes()
        sizes = np.bincount(codes, minlength=len(new_codes)) * (new_codes != np.arange(len(new_codes)))
        noisy_codes = codes.copy()
        for code, n_changed in enumerate(_rounded_counts(sizes, decimal_fraction(self.eps))):
            changed = rng.choice(np.flatnonzero(codes == code), n_changed, replace=False)
            noisy_codes[changed] = new_codes[code]
        return noisy_codes

    def _new_codes(self):
        """Return the class number that each class number is changed to."""
        n_classes = len(self.classes_)
        if self.mapping is None:
            return (np.arange(n_classes) + 1) % n_classes
        if not isinstance(self.mapping, Mapping):
            raise TypeError(f"mapping must be a dict from label to label, got {self.mapping!r}.")
        new_codes = np.arange(n_classes)
        number = {label: code for code, label in enumerate(self.classes_.tolist())}
        for label, other in self.mapping.items():
            if label not in number or other not in number:
                missing = label if label not in number else other
                raise ValueError(
                    f"mapping names the label {missing!r}, which is not among the classes {self.classes_.tolist()}."
                )
            new_codes[number[label]] = number[other]
        return new_codes


def _rounded_counts(sizes, fraction):
    """Round ``fraction * size`` for each size, up or down, so that the sum is ``floor(fraction * sum(sizes))``."""
    exact = [fraction * int(size) for size in sizes]
    counts = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: math.floor(sum(exact)) - sum(counts)]:
        counts[i] += 1
    return counts
