"""Rows of a table beside the trusted rows that are most alike, and the features in which they differ."""

from collections.abc import Sequence

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

__all__ = ["ComparableTable"]

WEIGHT_OF_MISMATCH = 1.0
"""Two different categories count as far apart as two numbers that differ by one standard deviation."""


class ComparableTable:
    """A table whose rows can be compared: numbers in standard deviations, categories by being equal or not.

    Parameters
    ----------
    X : array-like, DataFrame, sparse matrix or Tensor of shape (n_samples, n_features)
        A missing number counts as the median of its column, a missing category as one of its own.
    feature_names : sequence of str or None, default=None
        None takes the names of a DataFrame's columns, and else "feature 0" and so on.
    """

    def __init__(self, X, *, feature_names: Sequence[str] | None = None):
        X = X.detach().cpu().numpy() if isinstance(X, torch.Tensor) else X
        self.X = X.tocsr() if issparse(X) else X if hasattr(X, "iloc") else np.asarray(X)
        n_features = X.shape[1]
        if feature_names is None:
            feature_names = self.X.columns if hasattr(X, "iloc") else [f"feature {k}" for k in range(n_features)]
        if len(feature_names) != n_features:
            raise ValueError(
                f"feature_names has {len(feature_names)} names, but X has {n_features} features. Pass one name each."
            )
        self.feature_names = [str(name) for name in feature_names]
        self.is_category = np.zeros(n_features, dtype=bool)
        self.values = self._comparable()

    def _comparable(self) -> np.ndarray | csr_matrix:
        """Return numbers divided by their standard deviation, and the codes of categories."""
        if issparse(self.X):
            _, variance = mean_variance_axis(self.X.astype(np.float64), axis=0)
            return self.X.multiply(1 / np.sqrt(np.where(variance > 0, variance, 1))).tocsr()
        import pandas as pd

        columns = self.X if hasattr(self.X, "iloc") else pd.DataFrame(self.X).infer_objects()
        values = np.empty(columns.shape)
        for k in range(columns.shape[1]):
            column = columns.iloc[:, k]
            self.is_category[k] = not pd.api.types.is_numeric_dtype(column)
            if self.is_category[k]:
                values[:, k] = pd.factorize(column.astype(object))[0]
            else:
                numbers = column.astype(float).replace([np.inf, -np.inf], np.nan)
                numbers = numbers.fillna(numbers.median()).fillna(0.0)
                values[:, k] = numbers / (numbers.std(ddof=0) or 1.0)
        return values

    def nearest(self, sample: int, candidates: np.ndarray) -> int | None:
        """Return the candidate that is most like a sample.

        Parameters
        ----------
        sample : int
        candidates : int ndarray of shape (n_candidates,)

        Returns
        -------
        nearest : int or None
            None if there is no candidate.
        """
        candidates = candidates[candidates != sample]
        if not len(candidates):
            return None
        if issparse(self.values):
            # Without the length of the sample itself, which is the same for all candidates.
            of_candidates = self.values[candidates]
            product = (of_candidates @ self.values[sample].T).toarray().ravel()
            distance = np.asarray(of_candidates.multiply(of_candidates).sum(axis=1)).ravel() - 2 * product
        else:
            distance = (self._apart(self.values[sample], self.values[candidates]) ** 2).sum(axis=1)
        return int(candidates[distance.argmin()])

    def differences(self, sample: int, other: int) -> np.ndarray:
        """Return how far two samples are apart in each feature, in standard deviations.

        Parameters
        ----------
        sample, other : int

        Returns
        -------
        differences : ndarray of shape (n_features,)
        """
        pair = self.values[[sample, other]]
        return self._apart(*(pair.toarray() if issparse(pair) else pair))

    def _apart(self, one: np.ndarray, others: np.ndarray) -> np.ndarray:
        return np.where(self.is_category, WEIGHT_OF_MISMATCH * (one != others), np.abs(one - others))

    def text(self, sample: int, feature: int) -> str:
        """Return a value as it is shown."""
        value = self.X.iloc[sample, feature] if hasattr(self.X, "iloc") else self.X[sample, feature]
        if value is None or value != value or not isinstance(value == value, bool | np.bool_):
            return "missing"  # NaN is not equal to itself, and of pandas.NA one cannot say
        if not isinstance(value, float | np.floating):
            return str(value)
        return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"
