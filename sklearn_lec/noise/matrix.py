"""Class-conditional noise: the user gives the probability of each label given the true class."""

import numpy as np

from sklearn_lec._validation import check_corruption_matrix
from sklearn_lec.noise.base import TargetNoise

__all__ = ["MatrixNoise"]


class MatrixNoise(TargetNoise):
    """Draw each label from a distribution that depends on the true class.

    Parameters
    ----------
    corruption_matrix : array-like of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row). Classes are in ascending order.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_mask_ : bool ndarray of shape (n_samples,)
        True where the label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The fraction of each true class (row) that now has each label (column). The more samples there are, the closer
        it is to `corruption_matrix`.

    Examples
    --------
    >>> noise = MatrixNoise([[1.0, 0.0], [0.5, 0.5]], random_state=1)
    >>> noise.fit_transform(["cat", "cat", "dog", "dog"])
    array(['cat', 'cat', 'cat', 'dog'], dtype='<U3')
    """

    def __init__(self, corruption_matrix, *, random_state=None):
        self.corruption_matrix = corruption_matrix
        self.random_state = random_state

    def _check_parameters(self):
        check_corruption_matrix(self.corruption_matrix, n_classes=len(self.classes_))

    def _flip(self, X, codes, rng):
        matrix = check_corruption_matrix(self.corruption_matrix, n_classes=len(self.classes_))
        # Inverse transform sampling: the new label is the number of cumulative probabilities below a uniform number.
        bounds = np.cumsum(matrix, axis=1)[:, :-1]
        return (rng.uniform(size=(len(codes), 1)) >= bounds[codes]).sum(axis=1)
