"""Class-conditional noise: any probability of each label given the true class."""

import numpy as np

from sklearn_lec._validation import check_corruption_matrix
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
        check_corruption_matrix(self.corruption_matrix, n_classes=len(self.classes_))

    def _flip(self, codes, rng):
        matrix = check_corruption_matrix(self.corruption_matrix, n_classes=len(self.classes_))
        # A uniform number falls into the interval of its new label on the line of cumulated probabilities.
        bounds = np.cumsum(matrix, axis=1)[:, :-1]
        return (rng.uniform(size=(len(codes), 1)) >= bounds[codes]).sum(axis=1)
