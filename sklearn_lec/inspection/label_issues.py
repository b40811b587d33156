"""find_label_issues: a table of all samples that says how much each label can be trusted, and what it should be."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from skorch.dataset import get_len
from torch.utils.data import Dataset

from sklearn_lec._training.labels import LabelCodes, labels_of
from sklearn_lec._validation import check_labels
from sklearn_lec.estimation import NoiseEstimate
from sklearn_lec.estimation.pred_probs import checked_pred_probs, out_of_fold_predictions
from sklearn_lec.inspection.ranking import Evidence, is_issue, label_quality, suggestions

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
    >>> y[:3] = 1 - y[:3]
    >>> clf = LECClassifier(max_epochs=20, verbose=0, random_state=0).fit(X, y)
    >>> issues = find_label_issues(clf, X, y, ranked=True)
    >>> sorted(issues.index[:3])
    [0, 1, 2]
    """
    estimator = getattr(estimator, "best_estimator_", estimator)
    if pred_probs is not None:
        evidence, classes, y = _of_pred_probs(X, y, pred_probs)
    elif _is_lec(_last_step(estimator)):
        evidence, classes, y = _of_lec(estimator, X, y)
    else:
        evidence, classes, y = _of_other(estimator, X, y)
    issues = _table(evidence, classes, y, index=getattr(X, "index", None) if hasattr(X, "iloc") else None)
    return issues[issues["is_label_issue"]].sort_values("label_quality", kind="stable") if ranked else issues


# --- evidence ---------------------------------------------------------------------------------------------------------


def _of_lec(estimator, X, y) -> tuple[Evidence, np.ndarray, np.ndarray | None]:
    """Return what a fitted `LECClassifier`, or a pipeline that ends in one, knows of samples."""
    net = _last_step(estimator)
    record = getattr(vars(net).get("method_"), "record", None)
    classes = vars(net).get("classes_inferred_")
    if not vars(net).get("initialized_") or classes is None:
        raise NotFittedError(f"this {type(net).__name__} is not fitted yet; call fit before find_label_issues.")
    remembered = None if record is None else _remembered(net, record)
    if X is None:
        if y is not None:
            raise TypeError("y without X: pass both, or none of them for the samples and labels of fit.")
        if remembered is None:
            raise NotFittedError(f"this {type(net).__name__} knows no samples; call fit, or pass X and y.")
        return remembered, classes, None
    n_samples = len(X) if isinstance(X, Dataset) else get_len(X)
    is_of_fit = remembered is not None and n_samples == len(remembered.labels)
    if y is None and not isinstance(X, Dataset):
        if not is_of_fit:
            known = 0 if remembered is None else len(remembered.labels)
            raise ValueError(
                f"y is required for {n_samples} samples: fit was called with {known}, whose labels differ."
            )
        labels = remembered.labels
    else:
        y = check_labels(labels_of(X) if y is None else y, n_samples=n_samples)
        labels = LabelCodes(classes)(y).numpy()
    if is_of_fit and np.array_equal(labels, remembered.labels):
        if (remembered.other >= 0).all():
            return remembered, classes, y
        return remembered.completed_by(_predicted(estimator, X, labels)), classes, y
    return _predicted(estimator, X, labels), classes, y


def _remembered(net, record) -> Evidence | None:
    """Return what a net knows of the samples that it was trained on; None if it knows no labels."""
    seen = {name: values.cpu().numpy() for name, values in record.predictions.items()}
    if len(seen["labels"]) == 0 or seen["labels"].min() < 0:
        return None
    is_known = seen["n_seen"] > 0
    estimate = net.method_.noise_estimate
    nothing = np.full(len(is_known), np.nan)
    return Evidence(
        labels=seen["labels"].astype(np.int64),
        label_probability=np.where(is_known, seen["label_probability"].astype(np.float64), np.nan),
        other=np.where(is_known, seen["other"], -1).astype(np.int64),
        other_probability=np.where(is_known, seen["other_probability"].astype(np.float64), np.nan),
        clean_score=record.score.cpu().numpy().astype(np.float64),
        wrong_probability=nothing if estimate is None else estimate["wrong_probability"].cpu().numpy(),
    )


def _predicted(estimator, X, labels: np.ndarray) -> Evidence:
    """Return what a fitted estimator predicts for samples that it may not have seen."""
    return Evidence.of_predictions(labels, estimator.predict_proba(X))


def _of_pred_probs(X, y, pred_probs) -> tuple[Evidence, np.ndarray, np.ndarray]:
    """Return what predictions for held-out samples tell."""
    if y is None:
        raise ValueError("y is required: find_label_issues(y=y, pred_probs=...).")
    probabilities, y, classes = checked_pred_probs(pred_probs, y)
    return _of_held_out(probabilities, y, classes), classes, y


def _of_other(estimator, X, y) -> tuple[Evidence, np.ndarray, np.ndarray]:
    """Return what clones of a classifier say of samples that they were not trained on."""
    if not (hasattr(estimator, "predict_proba") and is_classifier(estimator)):
        raise TypeError(
            f"estimator must be a classifier with predict_proba, got {reprlib.repr(estimator)}. Others have it with "
            "CalibratedClassifierCV around them; or pass pred_probs, predictions for held-out samples."
        )
    if X is None or y is None:
        raise ValueError(
            f"X and y are required for a {type(estimator).__name__}, which is trained in folds. Only a fitted "
            "LECClassifier remembers its samples."
        )
    probabilities, y, classes = out_of_fold_predictions(estimator, X, y)
    return _of_held_out(probabilities, y, classes), classes, y


def _of_held_out(probabilities: np.ndarray, y: np.ndarray, classes: np.ndarray) -> Evidence:
    labels = LabelCodes(classes)(y).numpy()
    estimate = NoiseEstimate.from_predictions(labels, probabilities, classes=classes)
    return Evidence.of_predictions(labels, probabilities, estimate.wrong_probability)


# --- the table --------------------------------------------------------------------------------------------------------


def _table(evidence: Evidence, classes: np.ndarray, y: np.ndarray | None, *, index) -> pd.DataFrame:
    """Return the table of all samples, with the labels of the user."""
    import pandas as pd

    return pd.DataFrame(
        {
            "is_label_issue": is_issue(evidence),
            "label_quality": label_quality(evidence),
            "given_label": classes[evidence.labels] if y is None else y,
            "predicted_label": _labels(evidence.predicted, classes),
            "predicted_probability": evidence.predicted_probability,
            "clean_score": evidence.clean_score,
            "suggested_label": _labels(suggestions(evidence), classes, may_miss=True),
        },
        index=index,
    )


def _labels(codes: np.ndarray, classes: np.ndarray, *, may_miss: bool = False):
    """Return the labels of class numbers; missing for -1, in a type that has a missing value beside the labels."""
    import pandas as pd

    is_missing = codes < 0
    labels = pd.Series(classes[np.where(is_missing, 0, codes)])
    if not (may_miss or is_missing.any()):
        return labels.to_numpy()
    if labels.dtype.kind in "biu":
        return labels.convert_dtypes().mask(is_missing).array
    return labels.astype(object).mask(is_missing, None).array


# --- estimators -------------------------------------------------------------------------------------------------------


def _last_step(estimator):
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _is_lec(estimator) -> bool:
    """Return whether an estimator remembers its samples; the class itself would be imported in a circle."""
    return hasattr(type(estimator), "find_label_issues")
