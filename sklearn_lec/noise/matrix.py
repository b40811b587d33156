"""Class-conditional noise: any probability of each label given the true class."""

import numpy as np

from sklearn_lec.noise.base import LabelNoise

__all__ = ["MatrixNoise"]


class MatrixNoise(LabelNoise):
    """Draw each label from a distribution that depends on the true class.

    Parameters
    ----------
    corruption_matrix : array-like of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row), classes in ascending order.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_mask_ : bool ndarray of shape (n_rows,)
        The rows whose label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The share of each true class (row) that now bears each label (column): near `corruption_matrix`, the nearer
        the more rows there are.

    Examples
    --------
    >>> noise = MatrixNoise([[1.0, 0.0], [0.5, 0.5]], random_state=0)
    >>> noise.fit_transform(["cat", "cat", "dog", "dog"])
    array(['cat', 'cat', 'dog', 'dog'], dtype='<U3')
    """

    def __init__(self, corruption_matrix, *, random_state=None):
        self.corruption_matrix = corruption_matrix
        self.random_state = random_state

    def _check_parameters(self):
        matrix = self._matrix()
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(
                f"corruption_matrix must be square, one row and one column per class, got shape {matrix.shape}."
            )
        if not (np.isfinite(matrix).all() and (matrix >= 0).all() and np.allclose(matrix.sum(axis=1), 1)):
            raise ValueError(
                "corruption_matrix must hold probabilities that sum to 1 in each row (the true class); got row sums "
                f"{np.round(matrix.sum(axis=1), 3).tolist()}. Divide it by matrix.sum(axis=1, keepdims=True), or "
                "transpose it if its columns are the true classes."
            )

    def _matrix(self):
        return np.asarray(self.corruption_matrix, dtype=float)

    def _flip(self, codes, rng):
        matrix = self._matrix()
        if len(matrix) != len(self.classes_):
            raise ValueError(
                f"corruption_matrix is for {len(matrix)} classes, but y has {len(self.classes_)}: "
                f"{self.classes_.tolist()}."
            )
        # A uniform number falls into the interval of its new label on the line of cumulated probabilities.
        bounds = np.cumsum(matrix, axis=1)[:, :-1]
        return (rng.uniform(size=(len(codes), 1)) >= bounds[codes]).sum(axis=1)
