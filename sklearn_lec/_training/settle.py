"""Settle the parameters that are left to the training: how many labels are wrong, in all and in each class."""

import numpy as np
import torch

from sklearn_lec._training.warn import warn_caller
from sklearn_lec.estimation.noise_estimate import NoEstimateError
from sklearn_lec.methods import Method, MethodContext
from sklearn_lec.methods.parameters import AUTO, is_open, shares_of_labels

__all__ = ["check_shares", "settle_eps"]

NEGLIGIBLE = 0.01
"""An estimate below that is taken for no wrong labels at all: one sample of each batch is already more."""
LARGEST = 0.95


def settle_eps(method: Method, context: MethodContext, classes: np.ndarray) -> None:
    """Give the method a number for `eps`, if it uses it and has none yet.

    Parameters
    ----------
    method : Method
        Its parameter `eps` is a number, "auto", or tells shares of the labels.
    context : MethodContext
    classes : ndarray of shape (n_classes,)
    """
    eps = method.get_params(deep=False).get("eps")
    if not is_open(eps):
        _warn_of_too_many_trusted(method, eps)
        return
    if isinstance(eps, str):
        _warn_of_corrected_labels(method)
        try:
            estimate = context.noise_estimate()
        except NoEstimateError as reason:
            method.eps = 0.0  # for this call; the next one may have more epochs
            warn_caller(
                f"eps={AUTO!r} cannot be settled: {reason} In this call eps_=0 is used, so that no sample is left out. "
                "Or give eps."
            )
            return
        eps = estimate.eps - _share_known_better(method, estimate.wrong_probability)
        eps = 0.0 if eps < NEGLIGIBLE else min(eps, LARGEST)
    else:
        shares = shares_of_labels(eps, classes)
        eps = float(shares[context.labels[context.samples].numpy()].mean())
        method.eps_of_labels = torch.tensor(shares)
    method.settle(eps=eps)
    _warn_of_too_many_trusted(method, eps)


def _share_known_better(method: Method, wrong_probability: np.ndarray) -> float:
    """Return the share of wrong labels that an estimate sees among samples that are trusted."""
    trusted = None if method.record is None else method.record.trusted
    if trusted is None:
        return 0.0
    known = np.isfinite(wrong_probability)
    return float(wrong_probability[known & trusted.cpu().numpy()].sum() / known.sum())


def _warn_of_corrected_labels(method: Method) -> None:
    """Warn of an estimate from labels of which the most suspect ones may have been corrected."""
    trusted = None if method.record is None else method.record.trusted
    if method.noise_estimate is None and trusted is not None and trusted.any():
        warn_caller(
            f"eps={AUTO!r} is estimated too low if the most suspect labels have been corrected: those that are left "
            "are taken for errors of the network. Give what is left of an estimate made before, as "
            "eps=corrections.eps_left(clf.noise_estimate_) of sklearn_lec.inspection.apply_corrections."
        )


def _warn_of_too_many_trusted(method: Method, eps: float | None) -> None:
    """Warn if more labels are taken to be wrong than there are samples that are not trusted."""
    record = method.record
    if eps is None or record is None or record.trusted is None or not method.selects_samples:
        return
    in_training = record.counts >= 0
    n_samples, n_others = int(in_training.sum()), int((in_training & ~record.trusted).sum())
    if 0 < n_others < eps * n_samples:
        warn_caller(
            f"eps={eps:.2g} of {n_samples} labels are taken to be wrong, but only {n_others} samples are not trusted: "
            "most of these will not be learned from. eps is the share of all samples, after corrections: lower it, or "
            "leave it at 'auto'."
        )


def check_shares(method: Method, classes: np.ndarray) -> None:
    """Raise an error if `eps` has shares of labels, but not one for each of the classes."""
    eps = method.get_params(deep=False).get("eps")
    if is_open(eps) and not isinstance(eps, str):
        shares_of_labels(eps, classes)
