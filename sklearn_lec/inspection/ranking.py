"""From what is known of each sample to a quality of its label, and to a decision: pure functions on arrays."""

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Evidence", "is_issue", "label_quality", "suggestions"]

ROOM_FOR_TIES = 1e-6
"""By how much the quality of a label may be moved, so that no two are the same."""


@dataclass(frozen=True)
class Evidence:
    """What is known of each sample; arrays of shape (n_samples,).

    Parameters
    ----------
    labels : int64 ndarray
        The given labels as class numbers.
    label_probability : float ndarray
        The probability of the given label; NaN if nothing is predicted for the sample.
    other : int64 ndarray
        The most probable class among the others; -1 if nothing is predicted for the sample.
    other_probability : float ndarray
        The probability of that class; NaN if nothing is predicted for the sample.
    clean_score : float ndarray
        The share of filtering epochs in which the sample was selected; NaN where there is none.
    wrong_probability : float ndarray
        The probability that the label is wrong, by the estimate of noise; NaN where there is none.
    """

    labels: np.ndarray
    label_probability: np.ndarray
    other: np.ndarray
    other_probability: np.ndarray
    clean_score: np.ndarray
    wrong_probability: np.ndarray

    @classmethod
    def of_predictions(cls, labels: np.ndarray, probabilities: np.ndarray, wrong_probability=None) -> "Evidence":
        """Return what predictions tell.

        Parameters
        ----------
        labels : int64 ndarray of shape (n_samples,)
        probabilities : ndarray of shape (n_samples, n_classes)
            NaN for samples without a prediction.
        wrong_probability : float ndarray of shape (n_samples,) or None, default=None

        Examples
        --------
        >>> evidence = Evidence.of_predictions(np.array([0, 0]), np.array([[0.75, 0.25], [0.25, 0.75]]))
        >>> evidence.label_probability, evidence.predicted
        (array([0.75, 0.25]), array([0, 1]))
        """
        samples = np.arange(len(labels))
        others = np.array(probabilities, dtype=np.float64)
        is_known = np.isfinite(others).all(axis=1)
        others[~is_known] = np.nan
        of_label = others[samples, labels]
        others[samples, labels] = -1
        nothing = np.full(len(labels), np.nan)
        return cls(
            labels=labels,
            label_probability=of_label,
            other=np.where(is_known, np.nan_to_num(others, nan=-1).argmax(axis=1), -1),
            other_probability=np.where(is_known, others.max(axis=1), np.nan),
            clean_score=nothing,
            wrong_probability=nothing if wrong_probability is None else wrong_probability,
        )

    def completed_by(self, more: "Evidence") -> "Evidence":
        """Return the same, with the predictions of `more` where there are none."""
        missing = self.other < 0
        names = ("label_probability", "other", "other_probability")
        return replace(self, **{name: np.where(missing, getattr(more, name), getattr(self, name)) for name in names})

    @property
    def differs(self) -> np.ndarray:
        """Whether another class than the given label is predicted; False if nothing is."""
        return self.other_probability > self.label_probability

    @property
    def predicted(self) -> np.ndarray:
        """The predicted class; -1 if nothing is predicted for the sample."""
        return np.where(self.other < 0, -1, np.where(self.differs, self.other, self.labels))

    @property
    def predicted_probability(self) -> np.ndarray:
        """The probability of the predicted class; NaN if nothing is predicted for the sample."""
        return np.maximum(self.label_probability, self.other_probability)


def label_quality(evidence: Evidence) -> np.ndarray:
    """Return how much speaks for each label, from 0 to 1; no two samples have the same.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    quality : float ndarray of shape (n_samples,)
        The probability of the given label. Ties are broken by how probable another class is, then by the share of
        epochs that selected the sample, and at last by the order of the samples. Samples of which nothing is known are
        in the middle.
    """
    quality = np.nan_to_num(evidence.label_probability, nan=0.5)
    ties = (np.nan_to_num(evidence.clean_score, nan=1.0), -np.nan_to_num(evidence.other_probability, nan=0.5))
    order = np.lexsort((*ties, quality))
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order)) / max(len(order), 1)
    return quality * (1 - ROOM_FOR_TIES) + rank * ROOM_FOR_TIES


def is_issue(evidence: Evidence) -> np.ndarray:
    """Return the samples whose labels are probably wrong.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    is_issue : bool ndarray of shape (n_samples,)
    """
    return evidence.differs


def suggestions(evidence: Evidence) -> np.ndarray:
    """Return the class to change the label of each sample to; -1 for no change.

    Parameters
    ----------
    evidence : Evidence

    Returns
    -------
    suggested : int64 ndarray of shape (n_samples,)
    """
    is_sure = is_issue(evidence) & (evidence.other_probability > 0.5)
    return np.where(is_sure, evidence.other, -1)
