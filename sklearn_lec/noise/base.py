"""What all label noises share: the transformer interface, the record of what was changed, and checks."""

import math
from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import confusion_matrix
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_lec._selection import decimal_fraction
from sklearn_lec._validation import check_classes, check_eps, check_labels

__all__ = ["LabelNoise", "corruption_matrix", "n_noisy_rows", "row_count"]


class LabelNoise(TransformerMixin, BaseEstimator, ABC, auto_wrap_output_keys=None):
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
        y = check_labels(y)
        self.classes_ = check_classes(y, known=None)
        self._check_parameters()
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
        y = check_labels(y)
        check_classes(y, known=self.classes_)
        codes = np.searchsorted(self.classes_, y)
        noisy_codes = self._flip(codes, check_random_state(self.random_state))
        self.noise_mask_ = noisy_codes != codes
        self.corruption_matrix_ = corruption_matrix(codes, noisy_codes, len(self.classes_))
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
        check_consistent_length(X, y)
        return X, self.fit_transform(y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.one_d_labels = True
        return tags

    def _check_parameters(self):
        check_eps(self.eps)

    @abstractmethod
    def _flip(self, codes, rng):
        """Return new class numbers for class numbers, both of shape (n_rows,)."""


def corruption_matrix(codes: np.ndarray, noisy_codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the share of each true class (row) that bears each label (column).

    Parameters
    ----------
    codes, noisy_codes : int ndarray of shape (n_rows,)
        Class numbers before and after.
    n_classes : int

    Returns
    -------
    matrix : ndarray of shape (n_classes, n_classes)
        Each row sums to 1.
    """
    matrix = confusion_matrix(codes, noisy_codes, labels=range(n_classes), normalize="true")
    # A class without rows has nothing that could be corrupted.
    empty = matrix.sum(axis=1) == 0
    matrix[empty] = np.eye(n_classes)[empty]
    return matrix


def n_noisy_rows(n_rows: int, eps: float) -> int:
    """Return ``floor(eps * n_rows)``, computed on the decimal number that `eps` stands for."""
    return math.floor(decimal_fraction(eps) * n_rows)


def row_count(X) -> int:
    """Return the number of rows of an array, tensor, frame or list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)
