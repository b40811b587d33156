"""What displays ask of a fitted classifier: its history, its warm-up, its labels, and which of these are wrong."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from sklearn_lec.callbacks import LabelQuality, SelectionHistory

__all__ = ["fitted_classifier", "noise_mask", "selection_history", "training_samples", "warmup_epochs", "wrong_labels"]


def fitted_classifier(estimator, caller: str):
    """Return the fitted `LECClassifier` in a pipeline, a search or a meta-estimator, or the one that is passed.

    Parameters
    ----------
    estimator : fitted LECClassifier, or what holds one
    caller : str
        For errors.

    Returns
    -------
    clf : fitted LECClassifier
    """
    inner = estimator
    while not hasattr(inner, "method_"):
        if hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        elif hasattr(inner, "estimator_"):
            inner = inner.estimator_
        elif hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        else:
            break
    if not hasattr(inner, "method") or not hasattr(inner, "predict_proba"):
        raise TypeError(
            f"{caller}: estimator must be a fitted LECClassifier, or a pipeline or search that ends with one, got "
            f"{type(estimator).__name__}."
        )
    if getattr(getattr(inner, "method_", None), "record", None) is None:
        raise NotFittedError(f"{caller}: this {type(inner).__name__} is not fitted yet; call fit first.")
    return inner


def warmup_epochs(clf) -> int | None:
    """Return after how many epochs the warm-up of a fitted classifier ended; None if its method has none."""
    return clf.T_w_ if "T_w" in clf.method_.get_params(deep=False) else None


def training_samples(clf) -> np.ndarray:
    """Return a mask of the samples that took part in training, and were not held out."""
    return ~np.isnan(clf.clean_score_)


def selection_history(clf) -> SelectionHistory | None:
    """Return the record of the samples that each epoch selected, if it was kept."""
    return _callback(clf, SelectionHistory, lambda callback: callback.epochs_)


def noise_mask(clf, y_true: ArrayLike | None, y: ArrayLike | None) -> np.ndarray | None:
    """Return which labels of the training are wrong, as far as that is known.

    Parameters
    ----------
    clf : fitted LECClassifier
    y_true : array-like of shape (n_samples,) or None
        The right labels. None takes them of the callback `LabelQuality`, if it is there.
    y : array-like of shape (n_samples,) or None
        The labels that were given to ``fit``; None asks for what the estimator remembers.

    Returns
    -------
    is_wrong : bool ndarray of shape (n_samples,) or None
        None if the right labels are not known.
    """
    if y_true is None:
        quality = _callback(clf, LabelQuality, lambda callback: hasattr(callback, "noise_mask_"))
        is_wrong = None if quality is None else quality.noise_mask_
        return is_wrong if is_wrong is None or len(is_wrong) == len(clf.clean_mask_) else None
    if y is None:
        from sklearn_lec.inspection.label_issues import find_label_issues

        y = find_label_issues(clf)["given_label"]
    elif len(y) != len(clf.clean_mask_):
        raise ValueError(
            f"y has {len(y)} labels, but {type(clf).__name__} was fitted on {len(clf.clean_mask_)}. Pass those that "
            "were passed to fit."
        )
    return wrong_labels(y, y_true)


def wrong_labels(y_given: ArrayLike, y_true: ArrayLike) -> np.ndarray:
    """Return where two arrays of labels differ, after a look at whether they can be compared.

    Parameters
    ----------
    y_given, y_true : array-like of shape (n_samples,)

    Returns
    -------
    is_wrong : bool ndarray of shape (n_samples,)

    Examples
    --------
    >>> wrong_labels(["cat", "dog"], ["cat", "cat"])
    array([False,  True])
    """
    given, true = np.asarray(y_given), np.asarray(y_true)
    if given.shape != true.shape or given.ndim != 1:
        raise ValueError(
            f"y_true has shape {true.shape}, but there are {len(given)} given labels. Pass one true label per sample."
        )
    if len(given) and not set(given.tolist()) & set(true.tolist()):
        raise ValueError(
            f"y_true and the given labels have no label in common: {true[:1].tolist()} against {given[:1].tolist()}. "
            "Pass labels of the same kind."
        )
    return given != true


def _callback(clf, kind: type, is_usable):
    """Return the first callback of a kind that has something to tell; None if there is none."""
    callbacks = (callback for _, callback in vars(clf).get("callbacks_", []) if isinstance(callback, kind))
    return next(filter(is_usable, callbacks), None)
