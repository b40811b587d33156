"""What all label noises share: the interface, the record of what was changed, and the checks."""

import math
from abc import ABC, abstractmethod
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_lec._selection import decimal_fraction
from sklearn_lec._validation import check_classes, check_eps, check_labels

__all__ = ["LabelNoise", "TargetNoise", "corruption_matrix", "n_noisy_samples", "own_random_numbers"]

STREAM = 1910
"""Tells the random numbers of noise from others that are drawn with the same seed."""


class LabelNoise(BaseEstimator, ABC):
    """Base of the noises that change labels. A new noise is one subclass.

    Subclasses define `_flip`, which may look at X. Noises that do not look at X derive from `TargetNoise`.
    """

    def corrupt(self, X, y):
        """Return X unchanged, and a copy of the labels with noise.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame with n_samples samples
        y : array-like of shape (n_samples,)
            The true labels.

        Returns
        -------
        X : as given
        y_noisy : ndarray of shape (n_samples,)
        """
        check_consistent_length(X, y)
        self._fit(X, y)
        return X, self._noisy_labels(X, y)

    def _fit(self, X, y):
        """Learn the classes, and check the parameters against them."""
        self.classes_ = check_classes(check_labels(y), known=None)
        self._check_parameters()
        return self

    def _noisy_labels(self, X, y):
        """Return a copy of the labels with noise, and record what was changed."""
        y = check_labels(y)
        check_classes(y, known=self.classes_)
        codes = np.searchsorted(self.classes_, y)
        noisy_codes = self._flip(X, codes, own_random_numbers(self.random_state))
        self.noise_mask_ = noisy_codes != codes
        self.corruption_matrix_ = corruption_matrix(codes, noisy_codes, len(self.classes_))
        return self.classes_[noisy_codes]

    def _check_parameters(self):
        """Raise an error if a parameter is wrong; `classes_` is known by then."""
        check_eps(self.eps)

    @abstractmethod
    def _flip(self, X, codes, rng):
        """Return the new class numbers.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame with n_samples samples, or None for a `TargetNoise`
        codes : int ndarray of shape (n_samples,)
            The true class numbers: positions in `classes_`. Must not be changed in place.
        rng : RandomState instance

        Returns
        -------
        noisy_codes : int ndarray of shape (n_samples,)
        """


class TargetNoise(TransformerMixin, LabelNoise, auto_wrap_output_keys=None):
    """Base of the label noises that do not look at X: transformers of the target, as `LabelEncoder` is."""

    def fit(self, y):
        """Learn the classes.

        Parameters
        ----------
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : TargetNoise
        """
        return self._fit(None, y)

    def transform(self, y):
        """Return a copy of the labels with noise. `noise_mask_` and `corruption_matrix_` then describe this copy.

        Parameters
        ----------
        y : array-like of shape (n_samples,)

        Returns
        -------
        y_noisy : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._noisy_labels(None, y)

    def fit_transform(self, y):
        """Learn the classes, and return a copy of the labels with noise.

        Parameters
        ----------
        y : array-like of shape (n_samples,)

        Returns
        -------
        y_noisy : ndarray of shape (n_samples,)
        """
        return self.fit(y).transform(y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags


def corruption_matrix(codes: np.ndarray, noisy_codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the fraction of each true class (row) that has each label (column).

    Parameters
    ----------
    codes, noisy_codes : int ndarray of shape (n_samples,)
        Class numbers before and after.
    n_classes : int

    Returns
    -------
    matrix : ndarray of shape (n_classes, n_classes)
        Each row sums to 1.
    """
    matrix = confusion_matrix(codes, noisy_codes, labels=range(n_classes), normalize="true")
    # A class without samples has nothing that could be corrupted.
    empty = matrix.sum(axis=1) == 0
    matrix[empty] = np.eye(n_classes)[empty]
    return matrix


def n_noisy_samples(n_samples: int, eps: float) -> int:
    """Return ``floor(eps * n_samples)``, computed with the decimal number that the user wrote for `eps`."""
    return math.floor(decimal_fraction(eps) * n_samples)


def own_random_numbers(random_state) -> np.random.RandomState:
    """Return random numbers for noise, which from a seed are others than what scikit-learn draws from that seed.

    ``train_test_split`` and shuffled folds begin with a permutation of the samples, and so does noise. If they were the
    same, all wrong labels could end up among the samples that are held out.

    Parameters
    ----------
    random_state : int, RandomState instance or None

    Returns
    -------
    rng : RandomState instance

    Examples
    --------
    >>> own_random_numbers(0).randint(100, size=5), np.random.RandomState(0).randint(100, size=5)
    (array([42, 67, 54, 99, 39]), array([44, 47, 64, 67, 67]))
    """
    rng = check_random_state(random_state)
    if isinstance(random_state, Integral):
        rng = np.random.RandomState(np.random.MT19937([STREAM, int(random_state)]))
    return rng
