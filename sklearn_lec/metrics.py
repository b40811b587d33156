"""How well a filter told clean labels from wrong ones, as the paper measures it."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, column_or_1d

__all__ = ["label_precision_score", "label_recall_score"]


def label_precision_score(clean_mask, noise_mask: ArrayLike | None = None) -> float:
    """Return the share of the rows learned from whose label is right.

    Parameters
    ----------
    clean_mask : array-like of bool, shape (n_rows,), or fitted NoisyLabelClassifier
        Rows that the training used, or an estimator that has them as ``clean_mask_``.
    noise_mask : array-like of bool, shape (n_rows,), default=None
        Rows whose label is wrong. May be left out if the estimator has them as ``noise_mask_``.

    Returns
    -------
    precision : float
        NaN if no row was used.

    References
    ----------
    "Evaluation" in Section 4.1 of the paper.

    Examples
    --------
    >>> label_precision_score([True, True, True, False], [False, False, True, True])
    0.6666666666666666
    """
    used, right = _masks(clean_mask, noise_mask)
    return _share(used & right, used)


def label_recall_score(clean_mask, noise_mask: ArrayLike | None = None) -> float:
    """Return the share of the rightly labelled rows that the training learned from.

    Parameters
    ----------
    clean_mask : array-like of bool, shape (n_rows,), or fitted NoisyLabelClassifier
        Rows that the training used, or an estimator that has them as ``clean_mask_``.
    noise_mask : array-like of bool, shape (n_rows,), default=None
        Rows whose label is wrong. May be left out if the estimator has them as ``noise_mask_``.

    Returns
    -------
    recall : float
        NaN if every label is wrong.

    References
    ----------
    Section 5.1 of the paper.

    Examples
    --------
    >>> label_recall_score([True, False, True, False], [False, False, True, True])
    0.5
    """
    used, right = _masks(clean_mask, noise_mask)
    return _share(used & right, right)


def _masks(clean_mask, noise_mask):
    if noise_mask is not None:
        clean_mask = getattr(clean_mask, "clean_mask_", clean_mask)
    else:
        try:
            clean_mask, noise_mask = clean_mask.clean_mask_, clean_mask.noise_mask_
        except AttributeError as error:
            raise TypeError(
                "without noise_mask the first argument must be an estimator with clean_mask_ and noise_mask_, such as "
                f"a fitted NoisyLabelClassifier (search.best_estimator_), got {type(clean_mask).__name__}: {error}"
            ) from error
    check_consistent_length(clean_mask, noise_mask)
    masks = []
    for name, mask in (("clean_mask", clean_mask), ("noise_mask", noise_mask)):
        mask = column_or_1d(np.asarray(mask))
        if mask.dtype != bool:
            raise ValueError(
                f"{name} must hold booleans, got dtype {mask.dtype}. Row numbers become a mask with "
                "mask = numpy.zeros(n_rows, dtype=bool); mask[row_numbers] = True."
            )
        masks.append(mask)
    used, wrong = masks
    return used, ~wrong


def _share(part, whole) -> float:
    return float(part.sum() / whole.sum()) if whole.any() else float("nan")
