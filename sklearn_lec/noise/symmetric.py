"""Symmetric noise: a wrong label is any of the other classes."""

from sklearn_lec.noise.base import TargetNoise, n_noisy_samples

__all__ = ["SymmetricNoise"]


class SymmetricNoise(TargetNoise):
    """Give a fraction of the samples one of the other labels, each with the same probability.

    The easy case for methods that select clean samples: the wrong labels follow no pattern.

    Parameters
    ----------
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_samples)`` labels are changed.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    noise_mask_ : bool ndarray of shape (n_samples,)
        True where the label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The fraction of each true class (row) that now has each label (column).

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section 4.1
    ("sym").

    Examples
    --------
    >>> noise = SymmetricNoise(eps=0.5, random_state=0)
    >>> noise.fit_transform(["cat", "cat", "dog", "dog"])
    array(['dog', 'cat', 'dog', 'cat'], dtype='<U3')
    >>> noise.noise_mask_
    array([ True, False, False,  True])
    """

    def __init__(self, *, eps=0.2, random_state=None):
        self.eps = eps
        self.random_state = random_state

    def _flip(self, X, codes, rng):
        n_changed = n_noisy_samples(len(codes), self.eps)
        changed = rng.choice(len(codes), n_changed, replace=False)
        n_classes = len(self.classes_)
        noisy_codes = codes.copy()
        # Adding 1 to n_classes - 1, modulo n_classes, always gives another class.
        noisy_codes[changed] = (codes[changed] + rng.randint(1, n_classes, n_changed)) % n_classes
        return noisy_codes
