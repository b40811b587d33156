"""How well clean labels were separated from wrong ones: label precision and label recall, as in the paper."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import precision_score, recall_score

__all__ = ["label_precision_score", "label_recall_score"]


def label_precision_score(clean_mask, noise_mask: ArrayLike | None = None) -> float:
    """Return the fraction of the selected samples whose label is right.

    Parameters
    ----------
    clean_mask : array-like of bool, shape (n_samples,), or fitted NoisyLabelClassifier
        The samples that were selected for training, or an estimator with the attribute ``clean_mask_``.
    noise_mask : array-like of bool, shape (n_samples,), default=None
        The samples whose label is wrong. Not needed if the estimator has the attribute ``noise_mask_``.

    Returns
    -------
    precision : float
        NaN if no sample was selected.

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section 4.1
    ("Evaluation").

    Examples
    --------
    >>> label_precision_score([True, True, True, False], [False, False, True, True])
    0.6666666666666666
    """
    right, selected = _masks(clean_mask, noise_mask)
    return float(precision_score(right, selected, zero_division=np.nan))


def label_recall_score(clean_mask, noise_mask: ArrayLike | None = None) -> float:
    """Return the fraction of the samples with a right label that were selected.

    Parameters
    ----------
    clean_mask : array-like of bool, shape (n_samples,), or fitted NoisyLabelClassifier
        The samples that were selected for training, or an estimator with the attribute ``clean_mask_``.
    noise_mask : array-like of bool, shape (n_samples,), default=None
        The samples whose label is wrong. Not needed if the estimator has the attribute ``noise_mask_``.

    Returns
    -------
    recall : float
        NaN if every label is wrong.

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section 5.1.

    Examples
    --------
    >>> label_recall_score([True, False, True, False], [False, False, True, True])
    0.5
    """
    right, selected = _masks(clean_mask, noise_mask)
    return float(recall_score(right, selected, zero_division=np.nan))


def _masks(clean_mask, noise_mask):
    """Return which labels are right and which samples were selected, as arrays of bool."""
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
    clean_mask, noise_mask = np.asarray(clean_mask), np.asarray(noise_mask)
    for name, mask in (("clean_mask", clean_mask), ("noise_mask", noise_mask)):
        if mask.dtype != bool:
            raise ValueError(
                f"{name} must hold booleans, got dtype {mask.dtype}. To make a mask from sample indices, write "
                "mask = numpy.zeros(n_samples, dtype=bool); mask[indices] = True."
            )
    return ~noise_mask, clean_mask
