"""find_label_issues: a table of all samples that says how much each label can be trusted, and what it should be."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from skorch.dataset import get_len
from torch.utils.data import Dataset

from sklearn_lec._training.labels import LabelCodes, labels_of
from sklearn_lec._validation import check_labels, is_number
from sklearn_lec.estimation import NoiseEstimate
from sklearn_lec.estimation.pred_probs import checked_pred_probs, out_of_fold_predictions
from sklearn_lec.inspection.ranking import (
    Evidence,
    quality_by_corruption,
    quality_in_training,
    suggestions,
    threshold_in_training,
    without_ties,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["find_label_issues"]


def find_label_issues(estimator=None, X=None, y=None, *, pred_probs=None, ranked: bool = False) -> pd.DataFrame:
    """Find the samples whose labels are probably wrong.

    Parameters
    ----------
    estimator : classifier, or None if there is `pred_probs`
        - A fitted `LECClassifier`, also as the last step of a pipeline or as the best estimator of a search. On the
          samples that it was fitted on it tells what it has seen of them in training; nothing is trained.
        - Any other classifier with ``predict_proba``. It is cloned and trained in five folds, whether it is fitted or
          not: what it predicts for samples that it was trained on agrees with wrong labels, too.
    X : array-like, DataFrame, sparse matrix, Dataset, or what else the estimator takes, default=None
        n_samples samples. None stands for those that a `LECClassifier` was fitted on.
    y : array-like of shape (n_samples,), default=None
        The labels to judge. None takes those of the Dataset, or those that a `LECClassifier` was fitted on.
    pred_probs : array-like of shape (n_samples, n_classes) or None, default=None
        Predictions for samples that were held out, as of ``cross_val_predict(..., method="predict_proba")``; columns in
        the order of the labels, ascending, unless they are named. Then `estimator` may be None.
    ranked : bool, default=False
        Whether to return only the samples whose label is probably wrong, the worst first.

    Returns
    -------
    issues : DataFrame with a line for each sample, in the order and with the index of X
        - is_label_issue: whether the label is probably wrong.
        - label_quality: how much speaks for the label, from 0 to 1; no two samples have the same.
        - given_label: the label.
        - predicted_label: the most probable label, missing for samples that no network can learn from.
        - predicted_probability: its probability.
        - clean_score: the share of epochs that selected the sample; NaN for new samples and other estimators.
        - suggested_label: what to change the label to, where that helps, and else missing.

    See Also
    --------
    class_quality_table : The same class by class.
    overlapping_classes_table : Which classes are confused.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn_lec import LECClassifier
    >>> from sklearn_lec.inspection import find_label_issues
    >>> X, y = make_blobs(300, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> y[:30] = 1 - y[:30]
    >>> clf = LECClassifier(max_epochs=20, verbose=0, random_state=0).fit(X, y)
    >>> issues = find_label_issues(clf, X, y)
    >>> int(issues["is_label_issue"].sum()), int(issues["is_label_issue"][:30].sum())
    (30, 30)
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    if pred_probs is not None:
        findings = _of_pred_probs(y, pred_probs)
    elif hasattr(type(_last_step(estimator)), "find_label_issues"):  # importing the class here would be a circle
        findings = _of_lec(estimator, X, y)
    else:
        findings = _of_other(estimator, X, y)
    issues = findings.table(index=X.index if hasattr(X, "iloc") else None)
    return issues[issues["is_label_issue"]].sort_values("label_quality", kind="stable") if ranked else issues


# --- findings -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Findings:
    """What is found of samples.

    Parameters
    ----------
    evidence : Evidence
    quality : float ndarray of shape (n_samples,)
        Without ties.
    is_issue : bool ndarray of shape (n_samples,)
    classes : ndarray of shape (n_classes,)
    given : ndarray of shape (n_samples,) or None, default=None
        The labels as the user passed them; None for those of the training.
    clean_score : float ndarray of shape (n_samples,) or None, default=None
    """

    evidence: Evidence
    quality: np.ndarray
    is_issue: np.ndarray
    classes: np.ndarray
    given: np.ndarray | None = None
    clean_score: np.ndarray | None = None

    @classmethod
    def below_a_half(cls, evidence: Evidence, quality: np.ndarray, **rest) -> _Findings:
        """Return findings by the probability that a label is right."""
        quality = without_ties(quality, evidence)
        return cls(evidence, quality, evidence.is_known & (quality < 0.5), **rest)

    def table(self, index) -> pd.DataFrame:
        """Return the table of all samples, with the labels of the user."""
        import pandas as pd

        evidence, classes = self.evidence, self.classes
        differs = self.is_issue | (evidence.other_probability > evidence.label_probability)
        predicted = np.where(evidence.is_known, np.where(differs, evidence.other, evidence.labels), -1)
        columns = {
            "is_label_issue": self.is_issue,
            "label_quality": self.quality,
            "given_label": classes[evidence.labels] if self.given is None else self.given,
            "predicted_label": _labels(predicted, classes),
            "predicted_probability": np.where(differs, evidence.other_probability, evidence.label_probability),
            "clean_score": np.nan if self.clean_score is None else self.clean_score,
            "suggested_label": _labels(suggestions(evidence, self.is_issue), classes, may_miss=True),
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.quality)) if index is None else index)


def _labels(codes: np.ndarray, classes: np.ndarray, *, may_miss: bool = False):
    """Return the labels of class numbers; missing for -1, in a type that has a missing value beside the labels."""
    import pandas as pd

    is_missing = codes < 0
    labels = classes[np.where(is_missing, 0, codes)]
    if not (may_miss or is_missing.any()):
        return labels
    if labels.dtype.kind in "biu":
        return pd.Series(labels).convert_dtypes().mask(is_missing).array
    labels = labels.astype(object)
    labels[is_missing] = None
    return pd.array(labels, dtype=object)


# --- a LECClassifier ----------------------------------------------------------------------------------------------


def _of_lec(estimator, X, y) -> _Findings:
    """Return what a fitted `LECClassifier`, or a pipeline that ends in one, finds."""
    net = _last_step(estimator)
    if not vars(net).get("initialized_") or vars(net).get("classes_inferred_") is None:
        raise NotFittedError(f"this {type(net).__name__} is not fitted yet; call fit before find_label_issues.")
    known = _evidence_of_training(net)
    if X is None:
        if y is not None:
            raise TypeError("find_label_issues got y without X. Pass both; or none, for the samples of fit.")
        if known is None:
            raise NotFittedError(f"this {type(net).__name__} remembers no samples; call fit, or pass X and y.")
        return _in_training(net, known)
    n_samples = len(X) if isinstance(X, Dataset) else get_len(X)
    may_be_known = known is not None and n_samples == len(known.labels)
    if y is None and may_be_known and not isinstance(X, Dataset):
        labels = known.labels
    else:
        if y is None and not isinstance(X, Dataset):
            raise ValueError(f"y is required: these {n_samples} samples are not those of fit.")
        y = check_labels(labels_of(X) if y is None else y, n_samples=n_samples)
        labels = LabelCodes(net.classes_)(y).numpy()
    if not (may_be_known and np.array_equal(labels, known.labels)):
        return _of_new_samples(net, labels, estimator.predict_proba(X), y)
    if not known.is_known.all():
        known = known.completed_by(Evidence.of_predictions(labels, estimator.predict_proba(X)))
    return _in_training(net, known, y)


def _evidence_of_training(net) -> Evidence | None:
    """Return what a net has predicted of the samples of its training; None if it remembers none."""
    record = net.method_.record
    if record is None or (record.predictions["labels"] < 0).any():
        return None
    return Evidence.of_training({name: values.cpu().numpy() for name, values in record.predictions.items()})


def _in_training(net, evidence: Evidence, given=None) -> _Findings:
    """Return findings in the samples of a training."""
    method, clean_score = net.method_, net.clean_score_.astype(np.float64)
    estimate = method.noise_estimate
    eps = method.get_params(deep=False).get("eps")
    if not is_number(eps):
        eps = None if estimate is None else estimate["eps"]
    wrong_probability = None if estimate is None else estimate["wrong_probability"].cpu().numpy()
    quality = without_ties(quality_in_training(evidence, wrong_probability), evidence)
    is_held_out = np.isnan(clean_score)
    is_trained_on = evidence.is_known & ~is_held_out
    # What has not been trained on has not been memorized, and its quality is not raised by that.
    threshold = np.where(is_held_out, 0.5, threshold_in_training(quality[is_trained_on], eps))
    is_issue = evidence.is_known & (quality < threshold)
    return _Findings(evidence, quality, is_issue, net.classes_, given, clean_score)


def _of_new_samples(net, labels: np.ndarray, probabilities: np.ndarray, given: np.ndarray) -> _Findings:
    """Return findings in samples that a net was not trained on, from what it predicts for them."""
    evidence = Evidence.of_predictions(labels, probabilities)
    matrix = _corruption_matrix(net)
    quality = evidence.margin if matrix is None else quality_by_corruption(labels, probabilities, matrix)
    return _Findings.below_a_half(evidence, quality, classes=net.classes_, given=given)


def _corruption_matrix(net) -> np.ndarray | None:
    """Return which labels the classes are given, as far as a net knows; None if it knows nothing of it."""
    method, n_classes = net.method_, len(net.classes_)
    if method.record is None:
        return None
    if getattr(method, "corruption_matrix_", None) is not None:
        return np.asarray(method.corruption_matrix_)
    if method.noise_estimate is not None:
        return method.noise_estimate["corruption_matrix"].cpu().numpy()
    eps = method.get_params(deep=False).get("eps")
    if not is_number(eps):
        return None
    return np.full((n_classes, n_classes), eps / (n_classes - 1)) + np.eye(n_classes) * (
        1 - eps * n_classes / (n_classes - 1)
    )


# --- other classifiers --------------------------------------------------------------------------------------------


def _of_pred_probs(y, pred_probs) -> _Findings:
    """Return what predictions for held-out samples tell."""
    if y is None:
        raise ValueError("y is required: find_label_issues(y=y, pred_probs=...).")
    return _of_held_out(*checked_pred_probs(pred_probs, y))


def _of_other(estimator, X, y) -> _Findings:
    """Return what clones of a classifier find in samples that they were not trained on."""
    if not (hasattr(estimator, "predict_proba") and is_classifier(estimator)):
        raise TypeError(
            f"estimator must be a classifier with predict_proba, got {reprlib.repr(estimator)}. Others have it with "
            "CalibratedClassifierCV around them; or pass pred_probs, predictions for held-out samples."
        )
    if X is None or y is None:
        raise ValueError(
            f"X and y are required for a {type(estimator).__name__}, clones of which are trained in folds. Only a "
            "fitted LECClassifier remembers its samples."
        )
    return _of_held_out(*out_of_fold_predictions(estimator, X, y, random_state=0))


def _of_held_out(probabilities: np.ndarray, y: np.ndarray, classes: np.ndarray) -> _Findings:
    """Return findings by the estimate of noise."""
    labels = LabelCodes(classes)(y).numpy()
    estimate = NoiseEstimate.from_predictions(labels, probabilities, classes=classes)
    evidence = Evidence.of_predictions(labels, probabilities)
    return _Findings.below_a_half(evidence, 1 - estimate.wrong_probability, classes=classes, given=y)


# --- estimators -------------------------------------------------------------------------------------------------------


def _last_step(estimator):
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator
