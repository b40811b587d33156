"""estimate_noise: how many labels are wrong, by a classifier that has not seen them."""

import reprlib
import warnings
from numbers import Integral

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state

from sklearn_lec._training.copies import checked_folds, planned_folds
from sklearn_lec._training.labels import LabelCodes
from sklearn_lec._validation import check_classes, check_labels
from sklearn_lec.estimation.noise_estimate import NoiseEstimate

__all__ = ["estimate_noise"]

N_FOLDS = 5


def estimate_noise(
    estimator=None, X=None, y=None, *, cv=None, random_state=None, pred_probs=None, classes=None
) -> NoiseEstimate:
    """Estimate how many labels are wrong, in all and in each class, and how probably each of them is.

    The classifier is trained on part of the samples and predicts the rest. The surer a prediction is, the more often
    it agrees with the label, but not beyond the share of labels that are right: that plateau is what is looked for.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, or None if there is `pred_probs`
        It is cloned and left as it is. A `LECClassifier`, also as the last step of a pipeline, is trained by ordinary
        training for a few epochs: with its network, loaders, device and `random_state`, for no more than a quarter of
        `max_epochs` in all. The stronger the classifier, the better the estimate.
    X : array-like, sparse matrix, DataFrame, or what else the estimator takes
        n_samples samples.
    y : array-like of shape (n_samples,)
        The labels, some of which are wrong. May be None for a `LECClassifier` and a Dataset with labels.
    cv : int, splitter, iterable or None, default=None
        The folds. None takes five, stratified; for a `LECClassifier` five, three or two, as its epochs allow.
    random_state : int, RandomState instance or None, default=None
        For the folds, if `cv` leaves them open, and for a `LECClassifier` that has no `random_state` of its own.
    pred_probs : array-like of shape (n_samples, n_classes) or None, default=None
        Predictions for samples that were held out, if you have them; `estimator` and `X` may be None then.
        Predictions for samples that the model was trained on agree with wrong labels, too: the estimate is too low.
    classes : array-like of shape (n_classes,) or None, default=None
        What the columns of `pred_probs` stand for; None takes the names of its columns if these are the labels in y,
        and else the labels ascending.

    Returns
    -------
    estimate : NoiseEstimate
        ``print(estimate)`` gives a summary, ``estimate.plot()`` a picture.

    See Also
    --------
    sklearn_lec.LECClassifier : ``eps="auto"`` does the same before the training, with folds of its own.

    Notes
    -----
    It is assumed that how often a label is wrong depends on the class alone. Where people mislabel hard samples, the
    estimate is too low. A classifier that is weak takes some of its own errors for wrong labels, which
    `is_trustworthy` does not always show. No method can tell if more than half of a class has the same wrong label.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> y[::5] = (y[::5] + 3) % 10
    >>> estimate = estimate_noise(KNeighborsClassifier(20), X, y, random_state=0)
    >>> round(estimate.eps, 2), estimate.is_trustworthy
    (0.19, True)
    """
    if pred_probs is not None:
        if estimator is not None or cv is not None:
            raise TypeError("with pred_probs nothing is trained: leave estimator and cv at None.")
        if y is None:
            raise ValueError("y is required: estimate_noise(y=y, pred_probs=...).")
        y = check_labels(y)
        if len(y) != len(pred_probs):
            raise ValueError(f"pred_probs must have a row per sample: it has {len(pred_probs)}, and y has {len(y)}.")
        classes = check_classes(y, known=_classes_of_columns(pred_probs, y) if classes is None else classes)
        pred_probs = _check_pred_probs(pred_probs, n_classes=len(classes))
        if (pred_probs.argmax(axis=1) == LabelCodes(classes)(y).numpy()).all():
            warnings.warn(
                "pred_probs agrees with every label. If the model was trained on these samples, it has memorized wrong "
                "labels, too: pass predictions for samples that were held out, as of cross_val_predict.",
                stacklevel=2,
            )
    else:
        if not (hasattr(estimator, "predict_proba") and is_classifier(estimator)):
            raise TypeError(
                f"estimator must be a classifier with predict_proba, got {reprlib.repr(estimator)}. Others have it "
                "with CalibratedClassifierCV around them. Call estimate_noise(classifier, X, y), or "
                "estimate_noise(y=y, pred_probs=...) with predictions for held-out samples."
            )
        if classes is not None:
            raise TypeError("classes names the columns of pred_probs; without them it is the estimator that knows.")
        pred_probs, y, classes = _out_of_fold_predictions(clone(estimator), X, y, cv, random_state)
    return NoiseEstimate.from_predictions(LabelCodes(classes)(y).numpy(), pred_probs, classes=classes)


def _out_of_fold_predictions(estimator, X, y, cv, random_state) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predictions for held-out samples, the labels, and the classes that the columns stand for."""
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
