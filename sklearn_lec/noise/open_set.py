"""Open-set noise: rows that belong to no class at all, under labels that were never meant for them."""

from collections.abc import Mapping

import numpy as np
import torch
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from sklearn_lec._validation import check_classes, check_eps, check_labels
from sklearn_lec.noise.base import n_noisy_rows, row_count

__all__ = ["OpenSetNoise"]


class OpenSetNoise(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace the inputs of a share of the rows by inputs of another data set; labels stay.

    A transformer of X for training data alone: ``fit_transform`` replaces rows, ``transform`` leaves X as it is, so
    that as a step of a `Pipeline` it touches what ``fit`` sees and not what ``predict`` sees.

    Parameters
    ----------
    X_ood : array-like, Tensor or DataFrame of at least ``eps * n_rows`` rows
        Where the foreign rows come from, each used at most once. Rows have the shape and the type of those of X.
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_rows)`` rows are replaced.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    noise_mask_ : bool ndarray of shape (n_rows,)
        The rows that were replaced.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The identity, as no label was changed; there if y was given.

    See Also
    --------
    sklearn_lec.datasets.CIFAR100_CLASSES_LIKE_CIFAR10 : What the paper leaves out of CIFAR-100 as X_ood for CIFAR-10.

    References
    ----------
    "Open-set noise" in Section 4.1 of the paper.

    Examples
    --------
    >>> noise = OpenSetNoise(np.full((3, 2), 9), eps=0.5, random_state=0)
    >>> noise.fit_transform(np.zeros((4, 2), dtype=int))
    array([[0, 0],
           [0, 0],
           [9, 9],
           [9, 9]])
    """

    def __init__(self, X_ood, *, eps=0.2, random_state=None):
        self.X_ood = X_ood
        self.eps = eps
        self.random_state = random_state

    def fit(self, X, y=None):
        """Check the parameters against X.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame of n_rows rows
        y : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : OpenSetNoise
        """
        check_eps(self.eps)
        for name, data in (("X", X), ("X_ood", self.X_ood)):
            if not hasattr(data, "__len__") or isinstance(data, Mapping):
                raise TypeError(f"{name} must be an array, a tensor or a frame, got {type(data).__name__}.")
        n_replaced, n_ood = n_noisy_rows(row_count(X), self.eps), row_count(self.X_ood)
        if n_replaced > n_ood:
            raise ValueError(
                f"X_ood has {n_ood} rows, but eps={self.eps:g} of {row_count(X)} rows needs {n_replaced}, each used "
                "once. Pass a larger X_ood or lower eps."
            )
        shapes = [np.shape(data)[1:] for data in (X, self.X_ood)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"rows of X_ood have shape {shapes[1]}, but rows of X have shape {shapes[0]}. Resize or reshape X_ood."
            )
        vars(self).pop("corruption_matrix_", None)
        if y is not None:
            self.corruption_matrix_ = np.eye(len(check_classes(check_labels(y, n_rows=row_count(X)), known=None)))
        validate_data(self, X, reset=True, skip_check_array=True)
        return self

    def fit_transform(self, X, y=None):
        """Return a copy of X in which rows are replaced.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame of n_rows rows
        y : array-like of shape (n_rows,), default=None

        Returns
        -------
        X_noisy : like X
        """
        self.fit(X, y)
        rng = check_random_state(self.random_state)
        n_replaced = n_noisy_rows(row_count(X), self.eps)
        replaced = rng.choice(row_count(X), n_replaced, replace=False)
        foreign = rng.choice(row_count(self.X_ood), n_replaced, replace=False)
        self.noise_mask_ = np.isin(np.arange(row_count(X)), replaced)
        return _with_rows(X, replaced, self.X_ood, foreign)

    def transform(self, X):
        """Return X as it is: only the data that is fitted gets noise.

        Parameters
        ----------
        X : any

        Returns
        -------
        X : any
        """
        return X

    def corrupt(self, X, y):
        """Return a copy of X in which rows are replaced, and y as it is.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame of n_rows rows
        y : array-like of shape (n_rows,)

        Returns
        -------
        X_noisy : like X
        y : array-like of shape (n_rows,)
        """
        return self.fit_transform(X, y), y


def _with_rows(X, replaced, X_ood, foreign):
    """Return a copy of X with the rows `replaced` taken from the rows `foreign` of X_ood."""
    if hasattr(X, "iloc"):
        return _frame_with_rows(X, replaced, X_ood, foreign)
    if isinstance(X, torch.Tensor):
        rows = torch.as_tensor(X_ood)[foreign].detach()
        _check_same_values(rows.to(X), rows)
        X = X.detach().clone()
        X[replaced] = rows.to(X)
        return X
    X, rows = np.array(X), np.asarray(X_ood)[foreign]
    if X.dtype.kind not in "biuf":
        X = X.astype(np.result_type(X, rows))
    with np.errstate(invalid="ignore"):
        _check_same_values(rows.astype(X.dtype), rows)
    X[replaced] = rows
    return X


def _frame_with_rows(X, replaced, X_ood, foreign):
    if hasattr(X_ood, "iloc"):
        if set(X_ood.columns) != set(X.columns):
            raise ValueError(f"columns of X_ood are {list(X_ood.columns)}, but those of X are {list(X.columns)}.")
        X_ood = X_ood[list(X.columns)]
    X = X.copy()
    try:
        X.iloc[replaced] = np.asarray(X_ood)[foreign]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"values of X_ood do not fit into the columns of X: {error}. Convert both to one type."
        ) from error
    return X


def _check_same_values(converted, rows):
    same = (converted == rows) | ((converted != converted) & (rows != rows))
    is_rounding = "f" in str(converted.dtype) and "f" in str(rows.dtype)
    if not (is_rounding or same.all()):
        raise ValueError(
            f"values of X_ood ({rows.dtype}) do not fit into X ({converted.dtype}): they would be cut off. Convert "
            "both to one type and range, for example with fetch_cifar10(dtype='uint8')."
        )
