"""Open-set noise: inputs that belong to none of the classes, but keep a label of one."""

import warnings
from collections.abc import Mapping

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _num_samples, validate_data

from sklearn_lec._validation import check_classes, check_eps, check_labels
from sklearn_lec.noise.base import n_noisy_samples, own_random_numbers

__all__ = ["OpenSetNoise"]


class OpenSetNoise(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Replace the inputs of a fraction of the samples with inputs from another data set. Labels stay as they are.

    It is a transformer of X that changes training data only: ``fit_transform`` replaces samples, ``transform`` returns
    X unchanged. As a step of a `Pipeline` it therefore changes what ``fit`` sees, but not what ``predict`` sees.

    Parameters
    ----------
    X_ood : array-like, Tensor or DataFrame with at least ``eps * n_samples`` samples
        The other data set ("out of distribution"). Each of its samples is used at most once. Its samples must have
        the shape and the type of those of X.
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_samples)`` samples are replaced.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    noise_mask_ : bool ndarray of shape (n_samples,)
        True where the sample was replaced.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The identity, because no label was changed. Exists only if y was given.

    See Also
    --------
    sklearn_lec.datasets.CIFAR100_CLASSES_LIKE_CIFAR10 : Classes to leave out of CIFAR-100 as X_ood for CIFAR-10.

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section 4.1
    ("Open-set noise").

    Examples
    --------
    >>> noise = OpenSetNoise(np.full((3, 2), 9), eps=0.5, random_state=0)
    >>> noise.fit_transform(np.zeros((4, 2), dtype=int))
    array([[9, 9],
           [0, 0],
           [0, 0],
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
        X : array-like, Tensor or DataFrame with n_samples samples
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : OpenSetNoise
        """
        check_eps(self.eps)
        for name, data in (("X", X), ("X_ood", self.X_ood)):
            if not hasattr(data, "__len__") or isinstance(data, Mapping) or issparse(data):
                raise TypeError(f"{name} must be a dense array, a tensor or a frame, got {type(data).__name__}.")
        n_samples, n_ood = _num_samples(X), _num_samples(self.X_ood)
        n_replaced = n_noisy_samples(n_samples, self.eps)
        if n_replaced > n_ood:
            raise ValueError(
                f"X_ood has {n_ood} rows, but eps={self.eps:g} of {n_samples} rows needs {n_replaced}, each used "
                "once. Pass a larger X_ood or lower eps."
            )
        shapes = [np.shape(data)[1:] for data in (X, self.X_ood)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"rows of X_ood have shape {shapes[1]}, but rows of X have shape {shapes[0]}. Resize or reshape X_ood."
            )
        vars(self).pop("corruption_matrix_", None)
        if y is not None:
            check_consistent_length(X, y)
            self.corruption_matrix_ = np.eye(len(check_classes(check_labels(y), known=None)))
        validate_data(self, X, reset=True, skip_check_array=True)
        return self

    def fit_transform(self, X, y=None):
        """Return a copy of X in which samples are replaced.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame with n_samples samples
        y : array-like of shape (n_samples,), default=None

        Returns
        -------
        X_noisy : like X
        """
        self.fit(X, y)
        rng = own_random_numbers(self.random_state)
        n_samples = _num_samples(X)
        n_replaced = n_noisy_samples(n_samples, self.eps)
        replaced = rng.choice(n_samples, n_replaced, replace=False)
        foreign = rng.choice(_num_samples(self.X_ood), n_replaced, replace=False)
        self.noise_mask_ = np.isin(np.arange(n_samples), replaced)
        return _replace(X, replaced, self.X_ood, foreign)

    def transform(self, X):
        """Return X unchanged: only training data gets noise.

        Parameters
        ----------
        X : any

        Returns
        -------
        X : any
        """
        return X

    def corrupt(self, X, y):
        """Return a copy of X in which samples are replaced, and y unchanged.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame with n_samples samples
        y : array-like of shape (n_samples,)

        Returns
        -------
        X_noisy : like X
        y : array-like of shape (n_samples,)
        """
        return self.fit_transform(X, y), y


def _replace(X, replaced, X_ood, foreign):
    """Return a copy of X in which the samples `replaced` are the samples `foreign` of X_ood."""
    if hasattr(X, "iloc"):
        return _replace_in_frame(X, replaced, X_ood, foreign)
    if isinstance(X, torch.Tensor):
        new = torch.as_tensor(X_ood)[foreign].detach()
        _check_same_values(new.to(X), new)
        X = X.detach().clone()
        X[replaced] = new.to(X)
        return X
    X, new = np.array(X), np.asarray(X_ood)[foreign]
    if X.dtype.kind not in "biuf":
        X = X.astype(np.result_type(X, new))  # a longer string must not be cut
    with np.errstate(invalid="ignore"):
        _check_same_values(new.astype(X.dtype), new)
    X[replaced] = new
    return X


def _replace_in_frame(X, replaced, X_ood, foreign):
    """Do the same for a DataFrame. Columns are matched by name if X_ood is a DataFrame too."""
    if hasattr(X_ood, "iloc"):
        if set(X_ood.columns) != set(X.columns):
            raise ValueError(f"columns of X_ood are {list(X_ood.columns)}, but those of X are {list(X.columns)}.")
        X_ood = X_ood[list(X.columns)]
    noisy = X.copy()
    try:
        with warnings.catch_warnings():
            # pandas 2 warns and gives the column another type, which is refused below; pandas 3 raises an error.
            warnings.simplefilter("ignore", FutureWarning)
            noisy.iloc[replaced] = np.asarray(X_ood)[foreign]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"values of X_ood do not fit into the columns of X: {error}. Convert both to one type."
        ) from error
    for column, old, new in zip(X.columns, X.dtypes, noisy.dtypes, strict=True):
        if new != old:
            raise ValueError(
                f"values of X_ood do not fit into the columns of X: {column!r} is {old} and would become {new}. "
                "Convert both to one type."
            )
    return noisy


def _check_same_values(converted, original):
    """Raise an error if the conversion changed a value by more than the rounding of floats."""
    same = (converted == original) | ((converted != converted) & (original != original))
    is_rounding = "f" in str(converted.dtype) and "f" in str(original.dtype)
    if not (is_rounding or same.all()):
        raise ValueError(
            f"values of X_ood ({original.dtype}) do not fit into X ({converted.dtype}): they would be changed. Convert "
            "both to one type and range, for example with fetch_cifar10(dtype='uint8')."
        )
