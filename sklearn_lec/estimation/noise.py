"""estimate_noise: how many labels are wrong, by a classifier that has not seen them."""

import reprlib

from sklearn.base import is_classifier

from sklearn_lec._training.labels import LabelCodes
from sklearn_lec.estimation.noise_estimate import NoiseEstimate
from sklearn_lec.estimation.pred_probs import checked_pred_probs, out_of_fold_predictions

__all__ = ["estimate_noise"]


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
        pred_probs, y, classes = checked_pred_probs(pred_probs, y, classes=classes)
    else:
        if not (hasattr(estimator, "predict_proba") and is_classifier(estimator)):
            raise TypeError(
                f"estimator must be a classifier with predict_proba, got {reprlib.repr(estimator)}. Others have it "
                "with CalibratedClassifierCV around them. Call estimate_noise(classifier, X, y), or "
                "estimate_noise(y=y, pred_probs=...) with predictions for held-out samples."
            )
        if classes is not None:
            raise TypeError("classes names the columns of pred_probs; without them it is the estimator that knows.")
        pred_probs, y, classes = out_of_fold_predictions(estimator, X, y, cv=cv, random_state=random_state)
    return NoiseEstimate.from_predictions(LabelCodes(classes)(y).numpy(), pred_probs, classes=classes)
