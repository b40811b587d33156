"""How many labels are wrong: from out-of-fold predictions to the share, by the plateau of their agreement.

Where a network is surer, fewer of its predictions are errors of its own; but held-out samples of which it is surest
still disagree with their label at the rate of the noise, as long as noise depends on the class alone. So agreement
with the labels rises with confidence towards a plateau of 1 - eps. No estimators here: arrays in, arrays out.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.special import expit, log_expit

__all__ = ["NoiseModel", "Plateau", "agreement_curve", "fit_plateau", "noise_model"]

N_GROUPS = 40
"""Groups of like confidence, for each predicted class, into which samples are put before the fit; fewer for many
classes."""
LARGEST_CONFIDENCE = 3.0
"""Beyond this distance from the median, in units of the range of the middle 80 %, confidence is not told apart."""
FEWEST_OF_CLASS = 10
"""Predictions of a class below which its confidence is measured by that of all classes."""


@dataclass(frozen=True)
class Prior:
    """Centers and scales of the normal priors, on the scale of logits. They count where there are few samples."""

    ceiling: tuple[float, float] = (2.0, 3.0)
    """Of the mean over the classes of the logit of the plateau; 2 is a plateau of 0.88."""
    ceiling_of_class: float = 1.5
    """How far that of a class is from the mean."""
    offset: tuple[float, float] = (3.0, 2.0)
    """Logit of the probability that a prediction of median confidence is right."""
    offset_of_class: float = 1.0
    log_slope: tuple[float, float] = (1.5, 0.5)
    """Logarithm of how fast that rises with the confidence. With much noise the data say little of it, and a slope that
    is taken for too small puts the plateau too high."""


PRIOR = Prior()


@dataclass(frozen=True)
class Plateau:
    """The fitted agreement of predictions with labels.

    Attributes
    ----------
    predicted : int64 ndarray of shape (n_samples,)
        The most probable class.
    confidence : ndarray of shape (n_samples,)
        How sure the prediction is, compared to other predictions of the same class.
    p_right : ndarray of shape (n_samples,)
        The probability that the predicted class is the true one.
    eps : ndarray of shape (n_classes,)
        The share of wrong labels among the samples of each *true* class: one minus the plateau.
    covariance : ndarray of shape (n_classes, n_classes)
        Of `eps`, by the curvature of the posterior at its maximum.
    """

    predicted: np.ndarray
    confidence: np.ndarray
    p_right: np.ndarray
    eps: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class NoiseModel:
    """What the labels went through, if noise depends on the class alone.

    Attributes
    ----------
    eps : float
        The share of wrong labels.
    standard_error : float
        Of `eps`, from the number of samples and the fit.
    class_shares : ndarray of shape (n_classes,)
        The share of each true class.
    corruption_matrix : ndarray of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row).
    per_label : ndarray of shape (n_classes,)
        The share of wrong labels among the samples *given* each label.
    wrong_probability : ndarray of shape (n_samples,)
        The probability that the label of a sample is wrong.
    """

    eps: float
    standard_error: float
    class_shares: np.ndarray
    corruption_matrix: np.ndarray
    per_label: np.ndarray
    wrong_probability: np.ndarray


def fit_plateau(labels: np.ndarray, probabilities: np.ndarray) -> Plateau:
    """Fit ``P(label = prediction) = (1 - eps_k) * sigmoid(a + d_k + s * confidence)``, k being the predicted class.

    The first factor is the plateau, the second the probability that the prediction is right. Parameters of classes
    share a prior, so that a class with few samples takes after the others. Samples of like confidence are put into
    groups first, so that the cost hardly grows with the number of samples.

    Parameters
    ----------
    labels : int64 ndarray of shape (n_samples,)
        The given labels as class numbers.
    probabilities : ndarray of shape (n_samples, n_classes)
        Of networks that have not seen the sample in training.

    Returns
    -------
    plateau : Plateau

    Examples
    --------
    Predictions that are right, of which every fifth label does not agree, however sure they are:

    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 4000)
    >>> labels = np.where(rng.random(4000) < 0.2, 1 - truth, truth)
    >>> probabilities = np.eye(2)[truth] * 0.8 + rng.uniform(0, 0.2, (4000, 1)) * (2 * np.eye(2)[truth] - 1)
    >>> fit_plateau(labels, probabilities).eps.round(2)
    array([0.19, 0.2 ])
    """
    n_classes = probabilities.shape[1]
    predicted, confidence = _confidence(probabilities)
    group = _groups_of_like_confidence(predicted, confidence, max_groups=max(5, min(N_GROUPS, 4000 // n_classes)))
    size = np.bincount(group).astype(float)
    confidence_of_group = np.bincount(group, weights=confidence) / size
    class_of_group = np.empty(len(size), dtype=np.int64)
    class_of_group[group] = predicted
    posterior = _Posterior(
        class_of_group,
        confidence_of_group,
        n_agreeing=np.bincount(group, weights=labels == predicted),
        size=size,
        n_classes=n_classes,
    )
    best = min((posterior.maximum(*start) for start in ((1.0, 2.0), (2.5, 1.0))), key=lambda found: found.fun).x
    eps = expit(-best[:n_classes])
    derivative = eps * (1 - eps)
    covariance = np.linalg.inv(posterior.information(best))[:n_classes, :n_classes] * np.outer(derivative, derivative)
    p_right = expit(posterior.logit_right(best))[group]
    return Plateau(predicted, confidence_of_group[group], p_right, eps, covariance)


def noise_model(labels: np.ndarray, probabilities: np.ndarray, plateau: Plateau) -> NoiseModel:
    """Return what the labels went through, from the plateau of each class to the probability of each label.

    Parameters
    ----------
    labels : int64 ndarray of shape (n_samples,)
    probabilities : ndarray of shape (n_samples, n_classes)
        As for `fit_plateau`.
    plateau : Plateau

    Returns
    -------
    model : NoiseModel
    """
    matrix = _corruption_matrix(labels, plateau)
    shares = _class_shares(labels, plateau.predicted, matrix)
    eps = float(shares @ plateau.eps)
    joint = shares[:, None] * matrix
    given = joint.sum(axis=0)
    right = np.divide(joint.diagonal(), given, out=np.ones(len(given)), where=given > 0)
    # No term for which labels came out wrong by chance: it is the share in this very sample that is asked for.
    variance = shares @ plateau.covariance @ shares
    return NoiseModel(
        eps=eps,
        standard_error=float(np.sqrt(variance)),
        class_shares=shares,
        corruption_matrix=matrix,
        per_label=1 - right,
        wrong_probability=_wrong_probability(labels, probabilities, plateau, matrix),
    )


def agreement_curve(labels: np.ndarray, plateau: Plateau, *, n_points: int = 20) -> np.ndarray:
    """Return how the agreement of predictions with labels rises with confidence, seen and fitted.

    Parameters
    ----------
    labels : int64 ndarray of shape (n_samples,)
    plateau : Plateau
    n_points : int, default=20
        Groups of equal size into which the samples are put by their confidence.

    Returns
    -------
    curve : ndarray of shape (n_points, 4)
        Mean confidence, share of predictions that agree with the label, the same as fitted, and the plateau, for the
        classes that are predicted in the group. Fewer points if there are fewer samples.
    """
    order = np.argsort(plateau.confidence, kind="stable")
    ceiling = 1 - plateau.eps[plateau.predicted]
    columns = np.stack(
        [plateau.confidence, labels == plateau.predicted, ceiling * plateau.p_right, ceiling], axis=1
    ).astype(float)
    return np.array([columns[part].mean(axis=0) for part in np.array_split(order, min(n_points, len(order)))])


def _confidence(probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the predicted classes, and the confidence in each compared to that in the same class.

    Networks are surer of some classes than of others. The logit is centered by its median and divided by the range
    of the middle 80 %, class by class.
    """
    predicted = probabilities.argmax(axis=1)
    p = probabilities.max(axis=1).astype(np.float64)
    logit = np.log(np.maximum(p, 1e-9)) - np.log(np.maximum(1 - p, 1e-9))
    low, median, high = np.quantile(logit, [0.1, 0.5, 0.9])
    confidence = (logit - median) / max(high - low, 1e-6)
    for k, count in enumerate(np.bincount(predicted)):
        if count >= FEWEST_OF_CLASS:
            of_class = predicted == k
            low, median, high = np.quantile(logit[of_class], [0.1, 0.5, 0.9])
            confidence[of_class] = (logit[of_class] - median) / max(high - low, 1e-6)
    return predicted, confidence.clip(-LARGEST_CONFIDENCE, LARGEST_CONFIDENCE)


def _groups_of_like_confidence(predicted: np.ndarray, confidence: np.ndarray, *, max_groups: int) -> np.ndarray:
    """Return a group number for each sample: groups of equal size for each predicted class, or one per sample."""
    order = np.lexsort((confidence, predicted))
    count = np.bincount(predicted)
    n_groups = np.minimum(count, max_groups)
    first_sample, first_group = np.cumsum(count) - count, np.cumsum(n_groups) - n_groups
    of_class = predicted[order]
    rank = np.arange(len(order)) - first_sample[of_class]
    group = np.empty_like(order)
    group[order] = first_group[of_class] + rank * n_groups[of_class] // count[of_class]
    return group


class _Posterior:
    """The posterior of the parameters of the plateau, given how many samples of each group agree with their label.

    Parameters are, in this order: the logits of the plateaus of the classes, their mean, the offsets of the classes,
    the common offset, and the logarithm of the slope.
    """

    def __init__(self, predicted, confidence, *, n_agreeing, size, n_classes):
        self.predicted = predicted
        self.confidence = confidence
        self.n_agreeing = n_agreeing
        self.size = size
        self.n_classes = n_classes
        n = n_classes
        self._center = np.zeros(2 * n + 3)
        self._center[[n, -2, -1]] = PRIOR.ceiling[0], PRIOR.offset[0], PRIOR.log_slope[0]
        # The prior is a quadratic form: classes are compared to their mean, the mean and the rest to the center.
        classes, mean = np.arange(n), n
        self._precision = np.zeros((2 * n + 3, 2 * n + 3))
        self._precision[classes, classes] = 1 / PRIOR.ceiling_of_class**2
        self._precision[classes, mean] = self._precision[mean, classes] = -1 / PRIOR.ceiling_of_class**2
        self._precision[mean, mean] = n / PRIOR.ceiling_of_class**2 + 1 / PRIOR.ceiling[1] ** 2
        self._precision[n + 1 + classes, n + 1 + classes] = 1 / PRIOR.offset_of_class**2
        self._precision[-2, -2] = 1 / PRIOR.offset[1] ** 2
        self._precision[-1, -1] = 1 / PRIOR.log_slope[1] ** 2
        # Classes are measured from their mean, which is a parameter: the center of both is the same.
        self._center[classes] = PRIOR.ceiling[0]

    def maximum(self, ceiling: float, offset: float):
        """Return where `minimize` ends that starts from logits for the plateau and the offset."""
        start = np.zeros(2 * self.n_classes + 3)
        start[: self.n_classes + 1] = ceiling
        start[-2:] = offset, PRIOR.log_slope[0]
        return minimize(
            self, start, jac=True, hess=self.information, method="trust-exact", options={"gtol": 1e-3, "maxiter": 100}
        )

    def logit_right(self, parameters: np.ndarray) -> np.ndarray:
        """Return the logit of the probability that a prediction is right, for each group."""
        offsets = parameters[self.n_classes + 1 : -2]
        return parameters[-2] + offsets[self.predicted] + np.exp(parameters[-1]) * self.confidence

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the negative logarithm of the posterior, up to a constant, and its gradient."""
        log_agree, p_agree, p_other = self._agreement(parameters)
        misfit = -(self.n_agreeing @ log_agree + (self.size - self.n_agreeing) @ np.log(p_other))
        away = parameters - self._center
        pull = self._precision @ away
        residual = (self.n_agreeing - self.size * p_agree) / p_other
        return misfit + 0.5 * away @ pull, pull - self._sensitivity(parameters).T @ residual

    def information(self, parameters: np.ndarray) -> np.ndarray:
        """Return the expected second derivatives (Fisher information and prior), which are positive definite."""
        _, p_agree, p_other = self._agreement(parameters)
        sensitivity = self._sensitivity(parameters)
        return sensitivity.T @ (sensitivity * (self.size * p_agree / p_other)[:, None]) + self._precision

    def _agreement(self, parameters):
        """Return the logarithm of the probability of agreement, that probability, and the one of disagreement."""
        log_ceiling = log_expit(parameters[: self.n_classes])[self.predicted]
        log_agree = log_ceiling + log_expit(self.logit_right(parameters))
        return log_agree, np.exp(log_agree), np.maximum(-np.expm1(log_agree), 1e-10)

    def _sensitivity(self, parameters):
        """Return the derivative of the logarithm of the probability of agreement, for each group and parameter."""
        n, groups = self.n_classes, np.arange(len(self.predicted))
        derivative = np.zeros((len(groups), 2 * n + 3))
        derivative[groups, self.predicted] = expit(-parameters[self.predicted])
        p_error = expit(-self.logit_right(parameters))
        derivative[groups, n + 1 + self.predicted] = derivative[:, -2] = p_error
        derivative[:, -1] = p_error * np.exp(parameters[-1]) * self.confidence
        return derivative


def _corruption_matrix(labels: np.ndarray, plateau: Plateau) -> np.ndarray:
    """Return which labels each class gets: where a prediction is probably right, and the label differs from it."""
    n_classes, predicted = len(plateau.eps), plateau.predicted
    mislabelled = plateau.p_right * plateau.eps[predicted]
    share = mislabelled / (mislabelled + 1 - plateau.p_right + 1e-12) * (labels != predicted)
    matrix = np.bincount(predicted * n_classes + labels, weights=share, minlength=n_classes**2)
    matrix = matrix.reshape(n_classes, n_classes) + 1e-9  # a class that is never predicted gets any label
    np.fill_diagonal(matrix, 0)
    matrix *= (plateau.eps / matrix.sum(axis=1))[:, None]
    np.fill_diagonal(matrix, 1 - plateau.eps)
    return matrix


def _class_shares(labels: np.ndarray, predicted: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the share of each true class: those that explain the labels, and are not far from the predictions."""
    n_samples, n_classes = len(labels), len(matrix)
    given = np.bincount(labels, minlength=n_classes) / n_samples
    found = np.bincount(predicted, minlength=n_classes) / n_samples
    # The labels are counted exactly, up to chance; predictions favor some classes over others.
    of_given = np.sqrt(given * (1 - given) / n_samples) + 0.03 * given + 1e-4
    of_found = 0.3 * found + 1e-3
    weighted = np.vstack([matrix.T / of_given[:, None], np.diag(1 / of_found)])
    shares, _ = nnls(weighted, np.concatenate([given / of_given, found / of_found]))
    return shares / shares.sum()


def _wrong_probability(labels, probabilities, plateau: Plateau, matrix: np.ndarray) -> np.ndarray:
    """Return the probability that each label is wrong, by Bayes' rule.

    The true class is the predicted one with the probability of the fit, and otherwise one of the others in proportion
    to what the network says of them; the corruption matrix tells which label each of them would have been given.
    """
    samples, predicted = np.arange(len(labels)), plateau.predicted
    truth = probabilities.astype(np.float64)
    truth[samples, predicted] = 0
    rest = truth.sum(axis=1, keepdims=True)
    truth = np.where(rest > 1e-300, truth / np.maximum(rest, 1e-300), 1 / (len(matrix) - 1))
    truth *= (1 - plateau.p_right)[:, None]
    truth[samples, predicted] = plateau.p_right
    of_label = (truth * matrix.T[labels]).sum(axis=1)
    right = truth[samples, labels] * matrix.diagonal()[labels]
    return 1 - np.divide(right, of_label, out=np.ones(len(labels)), where=of_label > 0)
