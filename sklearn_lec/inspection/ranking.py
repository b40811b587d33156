"""From what is predicted of each sample to the quality of its label, and to a decision: pure functions on arrays."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

__all__ = [
    "Evidence",
    "quality_by_corruption",
    "quality_in_training",
    "suggestions",
    "threshold_in_training",
    "without_ties",
]

SMALLEST = 1e-6
"""Margins and sums of probabilities below count as this one."""
WEIGHT_OF_HELD_OUT = 0.4
"""How much predictions for held-out samples count beside those in training, on the scale of logits."""
SUREST_OF_HELD_OUT = 0.9
"""Networks that are trained for a short time are not believed to be surer than that."""
LOWEST_THRESHOLD, HIGHEST_THRESHOLD = 0.27, 0.95
"""Between them the estimated number of wrong labels decides. A label below is always an issue, and one above never."""
LEAST_NOISE = 0.01
"""The share of labels that is taken for wrong, whatever the class, in new samples."""
CONSISTENT = 0.75
"""Of what is predicted beside the given label, the part from which on one class is suggested."""
ROOM_FOR_TIES = 1e-6
"""By how much a quality may be moved, so that no two samples have the same."""


@dataclass(frozen=True)
class Evidence:
    """What is predicted of each sample; arrays of shape (n_samples,).

    Parameters
    ----------
    labels : int64 ndarray
        The given labels as class numbers.
    label_probability : float ndarray
        The probability of the given label; NaN for samples of which nothing is predicted.
    other : int64 ndarray
        The most probable class beside the given one; -1 for samples of which nothing is predicted.
    other_probability : float ndarray
        Its probability; NaN for samples of which nothing is predicted.
    other_share : float ndarray
        Its part of what is predicted beside the given label; NaN for samples of which nothing is predicted.
    """

    labels: np.ndarray
    label_probability: np.ndarray
    other: np.ndarray
    other_probability: np.ndarray
    other_share: np.ndarray

    @classmethod
    def of_predictions(cls, labels: np.ndarray, probabilities: np.ndarray) -> "Evidence":
        """Return what a single prediction for each sample tells.

        Parameters
        ----------
        labels : int64 ndarray of shape (n_samples,)
        probabilities : ndarray of shape (n_samples, n_classes)
            NaN for samples without a prediction.

        Examples
        --------
        >>> evidence = Evidence.of_predictions(np.array([0, 0]), np.array([[0.75, 0.2, 0.05], [0.25, 0.75, 0.0]]))
        >>> evidence.label_probability, evidence.other, evidence.other_share
        (array([0.75, 0.25]), array([1, 1]), array([0.8, 1. ]))
        """
        samples = np.arange(len(labels))
        others = np.array(probabilities, dtype=np.float64)
        is_known = np.isfinite(others).all(axis=1)
        others[~is_known] = np.nan
        of_label = others[samples, labels]
        others[samples, labels] = -1
        of_other = np.where(is_known, others.max(axis=1), np.nan)
        return cls(
            labels=labels,
            label_probability=of_label,
            other=np.where(is_known, others.argmax(axis=1), -1),
            other_probability=of_other,
            other_share=of_other / np.maximum(1 - of_label, SMALLEST),
        )

    @classmethod
    def of_training(cls, seen: dict[str, np.ndarray]) -> "Evidence":
        """Return what predictions in the epochs of a training tell.

        Parameters
        ----------
        seen : dict of ndarrays of shape (n_samples,)
            As `sklearn_lec._predictions.no_predictions` describes it.
        """
        is_known = seen["n_seen"] > 0
        total = np.maximum(seen["n_seen"] * seen["other_probability"].astype(np.float64), SMALLEST)
        # A class that is ahead of all others by the whole has all of it, and one that is ahead by nothing a half.
        share = (1 + np.minimum(seen["other_lead"] / total, 1)) / 2
        return cls(
            labels=seen["labels"].astype(np.int64),
            label_probability=np.where(is_known, seen["label_probability"].astype(np.float64), np.nan),
            other=np.where(is_known, seen["other"], -1).astype(np.int64),
            other_probability=np.where(is_known, seen["other_probability"].astype(np.float64), np.nan),
            other_share=np.where(is_known, share, np.nan),
        )

    @property
    def is_known(self) -> np.ndarray:
        """Whether anything is predicted of the sample."""
        return self.other >= 0

    def completed_by(self, more: "Evidence") -> "Evidence":
        """Return the same, with what `more` says of samples of which nothing is known."""
        names = ("label_probability", "other", "other_probability", "other_share")
        parts = {name: np.where(self.is_known, getattr(self, name), getattr(more, name)) for name in names}
        return replace(self, **parts)

    @property
    def margin(self) -> np.ndarray:
        """How much more probable the given label is than the strongest other class, from 0 to 1; 0.5 if equally."""
        return (1 + self.label_probability - self.other_probability) / 2


def quality_in_training(evidence: Evidence, wrong_probability: np.ndarray | None = None) -> np.ndarray:
    """Return the quality of labels that the network was trained on, from what it predicted in the epochs.

    A label that is memorized late or not at all has a low margin in the mean over the epochs, even if the network ends
    up agreeing with it. Where there are predictions of networks that have not seen the sample, they have a say.

    Parameters
    ----------
    evidence : Evidence
        Means over the epochs.
    wrong_probability : ndarray of shape (n_samples,) or None, default=None
        The probability that each label is wrong by networks that have not seen it; NaN where there is none.

    Returns
    -------
    quality : ndarray of shape (n_samples,)
        Between 0 and 1; NaN for samples of which nothing is predicted.

    Examples
    --------
    >>> evidence = Evidence.of_predictions(np.array([0, 0]), np.array([[0.8, 0.2], [0.2, 0.8]]))
    >>> quality_in_training(evidence)
    array([0.8, 0.2])
    >>> quality_in_training(evidence, wrong_probability=np.array([0.9, 0.9])).round(2)
    array([0.62, 0.09])
    """
    strength = logit(np.clip(evidence.margin, SMALLEST, 1 - SMALLEST))
    if wrong_probability is not None:
        right = np.clip(1 - wrong_probability, 1 - SUREST_OF_HELD_OUT, SUREST_OF_HELD_OUT)
        strength = strength + WEIGHT_OF_HELD_OUT * np.nan_to_num(logit(right), nan=0.0)
    return expit(strength)


def threshold_in_training(quality: np.ndarray, eps: float | None) -> float:
    """Return the quality below which a label that the network was trained on is an issue.

    As many labels are issues as are estimated to be wrong: those of the lowest quality. How low that is depends on how
    much the network has memorized. But a label that the predictions contradict clearly is an issue, however many there
    are, and one that they support clearly is none.

    Parameters
    ----------
    quality : ndarray of shape (n_samples,)
    eps : float or None
        The share of wrong labels; None if it is not known, in which case predictions have to contradict the label.

    Returns
    -------
    threshold : float

    Examples
    --------
    >>> threshold_in_training(np.array([0.1, 0.5, 0.7, 0.9]), eps=0.5)
    0.7
    >>> threshold_in_training(np.array([0.1, 0.5, 0.7, 0.9]), eps=0.0)
    0.27
    """
    if eps is None:
        return 0.5
    known = np.sort(quality[np.isfinite(quality)])
    n_wrong = round(eps * len(known))
    at = float(known[n_wrong]) if n_wrong < len(known) else HIGHEST_THRESHOLD
    return min(max(at, LOWEST_THRESHOLD), HIGHEST_THRESHOLD)


def quality_by_corruption(labels: np.ndarray, probabilities: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return the probability that each label of new samples is right, by Bayes' rule.

    The network says how probable each class is, and the corruption matrix which label each class is given.

    Parameters
    ----------
    labels : int64 ndarray of shape (n_samples,)
    probabilities : ndarray of shape (n_samples, n_classes)
    matrix : ndarray of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row).

    Returns
    -------
    quality : ndarray of shape (n_samples,)
        NaN for samples without a prediction.

    Examples
    --------
    >>> quality_by_corruption(np.array([1]), np.array([[0.6, 0.4]]), np.array([[0.8, 0.2], [0.2, 0.8]])).round(2)
    array([0.72])
    """
    matrix = (1 - LEAST_NOISE) * matrix + LEAST_NOISE / len(matrix)
    joint = probabilities.astype(np.float64) * matrix.T[labels]
    return joint[np.arange(len(labels)), labels] / joint.sum(axis=1)


def without_ties(quality: np.ndarray, evidence: Evidence) -> np.ndarray:
    """Return the same order of samples without ties.

    Parameters
    ----------
    quality : ndarray of shape (n_samples,)
    evidence : Evidence
        Ties go by how much more probable the label is than another class, and at last by the order of the samples.

    Returns
    -------
    quality : ndarray of shape (n_samples,)
        Moved by less than a millionth; in the middle, at 0.5, for samples of which nothing is known.

    Examples
    --------
    >>> evidence = Evidence.of_predictions(np.array([0, 0]), np.array([[0.75, 0.25], [0.25, 0.75]]))
    >>> without_ties(np.array([1.0, 1.0]), evidence).argsort()
    array([1, 0])
    """
    quality = np.nan_to_num(quality, nan=0.5)
    order = np.lexsort((np.nan_to_num(evidence.margin, nan=0.5), quality))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order)) / max(len(order), 1)
    return quality * (1 - ROOM_FOR_TIES) + rank * ROOM_FOR_TIES


def suggestions(evidence: Evidence, is_issue: np.ndarray) -> np.ndarray:
    """Return the class to change each label to: for issues where predictions agree on one.

    Parameters
    ----------
    evidence : Evidence
    is_issue : bool ndarray of shape (n_samples,)

    Returns
    -------
    suggested : int64 ndarray of shape (n_samples,)
        Class numbers; -1 for no change.

    Examples
    --------
    >>> evidence = Evidence.of_predictions(np.array([0, 0]), np.array([[0.1, 0.9, 0.0], [0.1, 0.5, 0.4]]))
    >>> suggestions(evidence, np.array([True, True]))
    array([ 1, -1])
    """
    return np.where(is_issue & (evidence.other_share > CONSISTENT), evidence.other, -1)
