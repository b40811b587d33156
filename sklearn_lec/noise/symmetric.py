"""Symmetric noise: wrong labels that are any of the other classes."""

from sklearn_lec.noise.base import LabelNoise, n_noisy_rows

__all__ = ["SymmetricNoise"]


class SymmetricNoise(LabelNoise):
    """Give a share of the rows one of the other labels, each with the same probability.

    The easy case for filters: wrong labels do not resemble each other.

    Parameters
    ----------
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_rows)`` rows are changed.
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
    "sym" in Section 4.1 of the paper.

    Examples
    --------
    >>> noise = SymmetricNoise(eps=0.5, random_state=0)
    >>> noise.fit_transform(["cat", "cat", "dog", "dog"])
    array(['cat', 'cat', 'cat', 'cat'], dtype='<U3')
    >>> noise.noise_mask_
    array([False, False,  True,  True])
    """

    def __init__(self, *, eps=0.2, random_state=None):
        self.eps = eps
        self.random_state = random_state

    def _flip(self, codes, rng):
        n_changed = n_noisy_rows(len(codes), self.eps)
        changed = rng.choice(len(codes), n_changed, replace=False)
        n_classes = len(self.classes_)
        noisy = codes.copy()
        # A step of 1 to n_classes - 1 around the circle of classes never ends where it began.
        noisy[changed] = (codes[changed] + rng.randint(1, n_classes, n_changed)) % n_classes
        return noisy
