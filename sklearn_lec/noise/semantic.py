"""Semantic noise: the rows that are hardest to tell get the label that they are most easily taken for."""

import warnings
from numbers import Integral

import numpy as np
from scipy.special import xlogy
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from sklearn_lec._validation import check_classes, check_eps, check_labels
from sklearn_lec.classifier import LECClassifier
from sklearn_lec.noise.base import corruption_matrix, n_noisy_rows, row_count

__all__ = ["SemanticNoise", "uncertainty"]


class SemanticNoise(BaseEstimator):
    """Mislabel the most uncertain rows as the class that they resemble most.

    Classifiers trained on the clean data tell what is hard: rows on which they disagree most get the runner-up of
    their averaged prediction. This is what tired annotators do, and it is hard to filter, as the wrong labels look
    right. The noise is deterministic given the trained classifiers.

    Parameters
    ----------
    estimator : classifier with predict_proba, list of them, or None, default=None
        None stands for ``LECClassifier(method="standard", verbose=0)``. Copies of a single estimator are trained
        `n_estimators` times with different random states. To use classifiers that are already trained, pass a list
        of ``sklearn.frozen.FrozenEstimator(classifier)``.
    eps : float in [0, 1), default=0.2
        Exactly ``floor(eps * n_rows)`` rows are changed.
    n_estimators : int, default=5
        How many classifiers are trained; not used with a list.
    random_state : int, RandomState instance or None, default=None
        For the training of the classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of classifiers
        Trained on the clean data.
    noise_mask_ : bool ndarray of shape (n_rows,)
        The rows whose label was changed.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The share of each true class (row) that now bears each label (column).

    References
    ----------
    "Semantic noise" in Section 4.1 of the paper, and its footnote for the uncertainty.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> noise = SemanticNoise(RandomForestClassifier(10), eps=0.1, random_state=0)
    >>> _, y_noisy = noise.corrupt(X, y)
    >>> noise.corruption_matrix_[0].tolist()  # setosa is never hard to tell
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
        X : array-like, Tensor or DataFrame of n_rows rows
        y : array-like of shape (n_rows,)
            The right labels.

        Returns
        -------
        self : SemanticNoise
        """
        check_eps(self.eps)
        y = check_labels(y, n_rows=row_count(X))
        self.classes_ = check_classes(y, known=None)
        estimators = self._estimators()
        for estimator in estimators:
            if not hasattr(estimator, "predict_proba"):
                raise TypeError(
                    f"the estimator {type(estimator).__name__} has no predict_proba, from which the uncertainty is "
                    "computed. Use one that has, or wrap it in sklearn.calibration.CalibratedClassifierCV."
                )
        self.estimators_ = [estimator.fit(X, y) for estimator in estimators]
        for estimator in self.estimators_:
            if not np.array_equal(estimator.classes_, self.classes_):
                raise ValueError(
                    f"the estimator {type(estimator).__name__} was trained on the classes "
                    f"{np.asarray(estimator.classes_).tolist()}, but y has {self.classes_.tolist()}. Train it on the "
                    "same labels."
                )
        return self

    def corrupt(self, X, y):
        """Train the classifiers, and return X as it is and a copy of the labels with noise.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame of n_rows rows
        y : array-like of shape (n_rows,)
            The right labels.

        Returns
        -------
        X : as given
        y_noisy : ndarray of shape (n_rows,)
        """
        self.fit(X, y)
        codes = np.searchsorted(self.classes_, check_labels(y, n_rows=row_count(X)))
        probabilities = np.stack([estimator.predict_proba(X) for estimator in self.estimators_])
        disagreement = uncertainty(probabilities).round(9)
        if not disagreement.any():
            warnings.warn(
                "all estimators predict the same, so that they cannot disagree on what is hard; rows are chosen by the "
                "probability of the runner-up alone. Use an estimator whose training depends on random_state.",
                stacklevel=2,
            )
        runner_up = probabilities.mean(axis=0)
        runner_up[np.arange(len(codes)), codes] = -np.inf
        # Where estimators agree to the last digit, the row that is nearest to being taken for another class is first.
        most_uncertain = np.lexsort((-runner_up.max(axis=1), -disagreement))[: n_noisy_rows(len(codes), self.eps)]
        noisy_codes = codes.copy()
        noisy_codes[most_uncertain] = runner_up[most_uncertain].argmax(axis=1)
        self.noise_mask_ = noisy_codes != codes
        self.corruption_matrix_ = corruption_matrix(codes, noisy_codes, len(self.classes_))
        return X, self.classes_[noisy_codes]

    def _estimators(self):
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
    """Return how much classifiers disagree on each row.

    Parameters
    ----------
    probabilities : ndarray of shape (n_estimators, n_rows, n_classes)

    Returns
    -------
    uncertainty : ndarray of shape (n_rows,)
        The sum over the estimators of the Kullback-Leibler divergence of their prediction from the mean prediction.

    Examples
    --------
    >>> uncertainty(np.array([[[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]])).round(3)
    array([1.386, 0.   ])
    """
    mean = probabilities.mean(axis=0)
    # p log p - p log q, with 0 log 0 = 0; where p > 0 the mean is positive too.
    return (xlogy(probabilities, probabilities) - xlogy(probabilities, np.where(mean > 0, mean, 1))).sum(axis=(0, 2))
