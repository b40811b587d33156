"""What all label noises share: the transformer interface, the record of what was changed, and checks."""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from sklearn_lec.validation import check_classes, check_eps

__all__ = ["LabelNoise"]


class LabelNoise(BaseEstimator, ABC):
    """Base of the noises that change labels: a transformer of the target, as `LabelEncoder` is.

    Subclasses define `_flip`.
    """

    def fit(self, y):
        """Learn the classes.

        Parameters
        ----------
        y : array-like of shape (n_rows,)

        Returns
        -------
        self : LabelNoise
        """
        check_eps(self.eps)
        self.classes_ = check_classes(column_or_1d(y), known=None)
        return self

    def transform(self, y):
        """Return a copy of the labels with noise; `noise_mask_` and `corruption_matrix_` then speak of this copy.

        Parameters
        ----------
        y : array-like of shape (n_rows,)

        Returns
        -------
        y_noisy : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        y = column_or_1d(y)
        check_classes(y, known=self.classes_)
        codes = np.searchsorted(self.classes_, y)
        noisy_codes = self._flip(codes, check_random_state(self.random_state))
        self.noise_mask_ = noisy_codes != codes
        self.corruption_matrix_ = _corruption_matrix(codes, noisy_codes, len(self.classes_))
        return self.classes_[noisy_codes]

    def fit_transform(self, y):
        """Learn the classes and return a copy of the labels with noise.

        Parameters
        ----------
        y : array-like of shape (n_rows,)

        Returns
        -------
        y_noisy : ndarray of shape (n_rows,)
        """
        return self.fit(y).transform(y)

    def corrupt(self, X, y):
        """Return X as it is and a copy of the labels with noise.

        Parameters
        ----------
        X : any
        y : array-like of shape (n_rows,)

        Returns
        -------
        X : any
        y_noisy : ndarray of shape (n_rows,)
        """
        return X, self.fit_transform(y)

    @abstractmethod
    def _flip(self, codes, rng):
        """Return new class numbers for class numbers, both of shape (n_rows,)."""


def _corruption_matrix(codes, noisy_codes, n_classes):
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (codes, noisy_codes), 1)
    # A class without rows has nothing that could be corrupted.
    counts[counts.sum(axis=1) == 0] = np.eye(n_classes)[counts.sum(axis=1) == 0]
    return counts / counts.sum(axis=1, keepdims=True)
