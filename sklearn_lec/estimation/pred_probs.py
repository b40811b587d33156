"""Predictions for samples that were held out: checked if they are given, else made in folds with any classifier."""

import reprlib
import warnings
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state

from sklearn_lec._training.folds import checked_folds, planned_folds
from sklearn_lec._training.labels import LabelCodes
from sklearn_lec._validation import check_classes, check_labels

__all__ = ["checked_pred_probs", "out_of_fold_predictions"]

N_FOLDS = 5


def checked_pred_probs(pred_probs, y, *, classes=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predictions of the user's own, the labels, and the classes that the columns stand for, all checked.

    Parameters
    ----------
    pred_probs : array-like of shape (n_samples, n_classes)
    y : array-like of shape (n_samples,)
    classes : array-like of shape (n_classes,) or None, default=None
        None takes the names of the columns if these are the labels in y, and else the labels ascending.

    Returns
    -------
    pred_probs : ndarray of shape (n_samples, n_classes)
    y : ndarray of shape (n_samples,)
    classes : ndarray of shape (n_classes,)
    """
    y = check_labels(y)
    if len(y) != len(pred_probs):
        raise ValueError(f"pred_probs must have a row per sample: it has {len(pred_probs)}, and y has {len(y)}.")
    classes = check_classes(y, known=_classes_of_columns(pred_probs, y) if classes is None else classes)
    pred_probs = _check_pred_probs(pred_probs, n_classes=len(classes))
    if (pred_probs.argmax(axis=1) == LabelCodes(classes)(y).numpy()).all():
        warnings.warn(
            "pred_probs agrees with every label. If the model was trained on these samples, it has memorized wrong "
            "labels, too: pass predictions for samples that were held out, as of cross_val_predict.",
            stacklevel=3,
        )
    return pred_probs, y, classes


def out_of_fold_predictions(
    estimator, X, y, *, cv=None, random_state=None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train clones of a classifier on part of the samples, and predict those that are held out.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``
    X, y : what it takes
    cv : int, splitter, iterable or None, default=None
        The folds; None takes five, stratified, or what the estimator takes for itself.
    random_state : int, RandomState instance or None, default=None
        For the folds, and for an estimator with folds of its own that has none.

    Returns
    -------
    pred_probs : ndarray of shape (n_samples, n_classes)
        NaN for samples in no fold.
    y : ndarray of shape (n_samples,)
    classes : ndarray of shape (n_classes,)
        The labels that the columns stand for.
    """
    estimator = clone(estimator)
    if isinstance(estimator, Pipeline) and len(estimator) == 1:
        estimator = estimator[-1]
    if hasattr(estimator, "out_of_fold_predictions"):  # it knows a shorter way than to be fitted in full
        if random_state is not None and estimator.random_state is None:
            estimator.set_params(random_state=random_state)
        return estimator.out_of_fold_predictions(X, y, cv=cv)
    if y is None:
        raise ValueError("y is required; only a LECClassifier can take the labels from a Dataset.")
    y = check_labels(y)
    parts = []
    in_pipeline = isinstance(estimator, Pipeline) and hasattr(estimator[-1], "out_of_fold_predictions")
    if in_pipeline and cv is None:
        cv = planned_folds(estimator[-1], y)
    for training, held_out in _folds(X, y, cv, random_state):
        if in_pipeline:
            part, columns = _predict_in_pipeline(clone(estimator), X, y, training, held_out, random_state)
        else:
            fitted = clone(estimator).fit(_safe_indexing(X, training), y[training])
            part, columns = fitted.predict_proba(_safe_indexing(X, held_out)), fitted.classes_
        parts.append((held_out, part, columns))
    classes = np.unique(np.concatenate([y, *(columns for _, _, columns in parts)]))
    pred_probs = np.full((len(y), len(classes)), np.nan)
    for held_out, part, columns in parts:
        pred_probs[held_out] = 0  # for a class that this fold has not seen
        pred_probs[np.ix_(held_out, np.searchsorted(classes, columns))] = part
    return pred_probs, y, classes


def _predict_in_pipeline(pipeline, X, y, training, held_out, random_state) -> tuple[np.ndarray, np.ndarray]:
    """Return what the last step predicts for samples that no step of the pipeline has seen, and for which classes."""
    steps, last = pipeline[:-1], pipeline[-1]
    if random_state is not None and last.random_state is None:
        last.set_params(random_state=random_state)
    steps.fit(_safe_indexing(X, training), y[training])
    transformed = steps.transform(X)
    pred_probs, _, classes = last.out_of_fold_predictions(transformed, y, cv=[(training, held_out)])
    return pred_probs[held_out], classes


def _folds(X, y: np.ndarray, cv, random_state) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the numbers of the samples to train on, and of those that are held out."""
    if cv is None or isinstance(cv, Integral):
        n_folds = max(2, min(N_FOLDS, np.unique(y, return_counts=True)[1].max())) if cv is None else cv
        seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
        cv = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # some folds do without it
        return checked_folds(check_cv(cv, y, classifier=True).split(X, y))


def _classes_of_columns(pred_probs, y: np.ndarray) -> list | None:
    """Return the labels that the columns of a DataFrame are named after; None if there are no names."""
    columns = list(getattr(pred_probs, "columns", []))
    if not columns:
        return None
    if set(columns) >= set(y.tolist()):
        return columns
    if columns == list(range(len(columns))):  # what pandas calls columns without names
        return None
    by_name = {str(label): label for label in np.unique(y).tolist()}
    if not {str(column) for column in columns} >= by_name.keys():
        raise ValueError(
            f"the columns of pred_probs are named {reprlib.repr(columns)}, which are not the labels in y. Name them "
            "after the labels, or say with classes what they stand for."
        )
    return [by_name.get(str(column), column) for column in columns]


def _check_pred_probs(pred_probs, *, n_classes: int) -> np.ndarray:
    """Return the predictions as an array, or raise an error that says what is wrong with them."""
    pred_probs = np.asarray(pred_probs, dtype=float)
    if pred_probs.ndim == 1:
        raise ValueError(
            "pred_probs must have a column per class, got one number per sample. For the probability p of the second "
            "of two classes, pass np.column_stack([1 - p, p])."
        )
    if pred_probs.ndim != 2 or pred_probs.shape[1] != n_classes:
        raise ValueError(
            f"pred_probs must have a row per sample and a column for each of the {n_classes} classes, got shape "
            f"{pred_probs.shape}. Name the classes of its columns, all that occur in y among them, with classes."
        )
    if not np.isfinite(pred_probs).all(axis=1).any():
        raise ValueError("pred_probs has no row without NaN: there is no prediction to look at.")
    known = pred_probs[np.isfinite(pred_probs).all(axis=1)]
    if (known < 0).any() or not np.allclose(known.sum(axis=1), 1, atol=1e-3):
        raise ValueError("pred_probs must hold probabilities that sum to 1 in each row. Are these logits?")
    return pred_probs
