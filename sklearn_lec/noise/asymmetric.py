"""Asymmetric noise: wrong labels that are always the same other class."""

import math
from collections.abc import Mapping

import numpy as np

from sklearn_lec._selection import decimal_fraction
from sklearn_lec.noise.base import LabelNoise

__all__ = ["AsymmetricNoise"]


class AsymmetricNoise(LabelNoise):
    """Give a share of the rows of each class the label of one other class.

    The hard case for filters: wrong labels resemble each other, as when an annotator takes one class for another.

    Parameters
    ----------
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_rows)`` rows are changed, where n_rows counts the classes that `mapping` names; the
        same share of each class, as nearly as whole rows allow.
    mapping : dict or None, default=None
        What each label is changed to; labels that it does not name stay. None changes each class to the next one in
        ascending order, and the last one to the first.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_mask_ : bool ndarray of shape (n_rows,)
        The rows whose label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The share of each true class (row) that now bears each label (column).

    References
    ----------
    "asym" in Section 4.1 of the paper.

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
        self._becomes()

    def _flip(self, codes, rng):
        becomes = self._becomes()
        sizes = np.bincount(codes, minlength=len(becomes)) * (becomes != np.arange(len(becomes)))
        noisy = codes.copy()
        for code, n_changed in enumerate(_shares(sizes, decimal_fraction(self.eps))):
            changed = rng.choice(np.flatnonzero(codes == code), n_changed, replace=False)
            noisy[changed] = becomes[code]
        return noisy

    def _becomes(self):
        """Return the class number that each class number is changed to."""
        n_classes = len(self.classes_)
        if self.mapping is None:
            return (np.arange(n_classes) + 1) % n_classes
        if not isinstance(self.mapping, Mapping):
            raise TypeError(f"mapping must be a dict from label to label, got {self.mapping!r}.")
        becomes = np.arange(n_classes)
        number = {label: code for code, label in enumerate(self.classes_.tolist())}
        for label, other in self.mapping.items():
            if label not in number or other not in number:
                missing = label if label not in number else other
                raise ValueError(
                    f"mapping names the label {missing!r}, which is not among the classes {self.classes_.tolist()}."
                )
            becomes[number[label]] = number[other]
        return becomes


def _shares(sizes, share):
    """Return a whole number near ``share * size`` for each size, that add up to ``floor(share * sum(sizes))``."""
    exact = [share * int(size) for size in sizes]
    counts = [math.floor(value) for value in exact]
    by_remainder = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for i in by_remainder[: math.floor(sum(exact)) - sum(counts)]:
        counts[i] += 1
    return counts
