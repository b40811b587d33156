"""Semantic noise: the samples that are hardest to classify get the label of the class that they look like."""

import warnings
from numbers import Integral

import numpy as np
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.utils import check_consistent_length, check_random_state

from sklearn_lec._validation import check_labels
from sklearn_lec.classifier import LECClassifier
from sklearn_lec.noise.base import LabelNoise, n_noisy_samples

__all__ = ["SemanticNoise", "uncertainty"]


class SemanticNoise(LabelNoise):
    """Mislabel the most uncertain samples as the class that they resemble most.

    Classifiers are trained on the clean data. The samples on which they disagree most get the class that is second in
    their averaged prediction. Tired annotators make such errors. They are hard to find, because the wrong labels look
    right. Given the trained classifiers, the noise is deterministic.

    Parameters
    ----------
    estimator : classifier with predict_proba, list of them, or None, default=None
        None means ``LECClassifier(method="standard", verbose=0)``. A single estimator is copied and trained
        `n_estimators` times with different random states. To use classifiers that are already trained, pass a list
        of ``sklearn.frozen.FrozenEstimator(classifier)``.
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_samples)`` labels are changed.
    n_estimators : int, default=5
        How many classifiers are trained. Not used with a list.
    random_state : int, RandomState instance or None, default=None
        For the training of the classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of classifiers
        Trained on the clean data.
    noise_mask_ : bool ndarray of shape (n_samples,)
        True where the label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The fraction of each true class (row) that now has each label (column).

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section 4.1
    ("Semantic noise"), and its footnote on the uncertainty.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> noise = SemanticNoise(RandomForestClassifier(10), eps=0.1, random_state=0)
    >>> _, y_noisy = noise.corrupt(X, y)
    >>> noise.corruption_matrix_[0].tolist()  # setosa is easy to classify
    [1.0, 0.0, 0.0]
    """

    def __init__(self, estimator=None, *, eps=0.2, n_estimators=5, random_state=None):
        self.estimator = estimator
        self.eps = eps
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y):
        """Train the classifiers on clean data.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame with n_samples samples
        y : array-like of shape (n_samples,)
            The true labels.

        Returns
        -------
        self : SemanticNoise
        """
        check_consistent_length(X, y)
        return self._fit(X, y)

    def _fit(self, X, y):
        super()._fit(X, y)
        estimators = self._estimators()
        for estimator in estimators:
            if not hasattr(estimator, "predict_proba"):
                raise TypeError(
                    f"the estimator {type(estimator).__name__} has no predict_proba, from which the uncertainty is "
                    "computed. Use one that has, or wrap it in sklearn.calibration.CalibratedClassifierCV."
                )
        y = check_labels(y)
        self.estimators_ = [estimator.fit(X, y) for estimator in estimators]
        for estimator in self.estimators_:
            if not np.array_equal(estimator.classes_, self.classes_):
                raise ValueError(
                    f"the estimator {type(estimator).__name__} was trained on the classes "
                    f"{np.asarray(estimator.classes_).tolist()}, but y has {self.classes_.tolist()}. Train it on the "
                    "same labels."
                )
        return self

    def _flip(self, X, codes, rng):
        probabilities = np.stack([estimator.predict_proba(X) for estimator in self.estimators_])
        disagreement = uncertainty(probabilities).round(9)
        if not disagreement.any():
            warnings.warn(
                "all estimators predict the same, so their disagreement does not show which samples are hard. Samples "
                "are chosen by the probability of the best wrong class alone. Use an estimator whose training depends "
                "on random_state.",
                stacklevel=4,
            )
        best_wrong = probabilities.mean(axis=0)
        best_wrong[np.arange(len(codes)), codes] = -np.inf
        # Ties, which are common when estimators agree exactly, go to the sample with the most probable wrong class.
        order = np.lexsort((-best_wrong.max(axis=1), -disagreement))
        most_uncertain = order[: n_noisy_samples(len(codes), self.eps)]
        noisy_codes = codes.copy()
        noisy_codes[most_uncertain] = best_wrong[most_uncertain].argmax(axis=1)
        return noisy_codes

    def _estimators(self):
        """Return the classifiers to train: copies, with their random states set."""
        if isinstance(self.estimator, (list, tuple)):
            copies = [clone(estimator) for estimator in self.estimator]
        else:
            if not isinstance(self.n_estimators, Integral) or self.n_estimators < 1:
                raise ValueError(f"n_estimators must be a whole number of at least 1, got {self.n_estimators!r}.")
            estimator = self.estimator
            if estimator is None:
                estimator = LECClassifier(method="standard", verbose=0)
            copies = [clone(estimator) for _ in range(self.n_estimators)]
        if not copies:
            raise ValueError("estimator is an empty list; pass at least one classifier, or None.")
        rng = check_random_state(self.random_state)
        for copy in copies:
            for name in sorted(copy.get_params(deep=True)):
                if name == "random_state" or name.endswith("__random_state"):
                    copy.set_params(**{name: rng.randint(np.iinfo(np.int32).max)})
        return copies


def uncertainty(probabilities: np.ndarray) -> np.ndarray:
    """Return how much classifiers disagree on each sample.

    Parameters
    ----------
    probabilities : ndarray of shape (n_estimators, n_samples, n_classes)

    Returns
    -------
    uncertainty : ndarray of shape (n_samples,)
        The sum over the estimators of the Kullback-Leibler divergence of their prediction from the mean prediction.

    Examples
    --------
    >>> uncertainty(np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])).round(3)
    array([1.386, 0.   ])
    """
    mean = probabilities.mean(axis=0)
    # p log p - p log q, with 0 log 0 = 0; where p > 0 the mean is positive too.
    return (xlogy(probabilities, probabilities) - xlogy(probabilities, np.where(mean > 0, mean, 1))).sum(axis=(0, 2))
