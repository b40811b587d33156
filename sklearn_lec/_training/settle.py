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
        return
    if isinstance(eps, str):
        try:
            estimate = context.noise_estimate()
        except NoEstimateError as reason:
            method.eps = 0.0  # for this call; the next one may have more epochs
            warn_caller(
                f"eps={AUTO!r} cannot be settled: {reason} In this call eps_=0 is used, so that no sample is left out. "
                "Or give eps."
            )
            return
        eps = 0.0 if estimate.eps < NEGLIGIBLE else min(estimate.eps, LARGEST)
    else:
        shares = shares_of_labels(eps, classes)
        eps = float(shares[context.labels[context.samples].numpy()].mean())
        method.eps_of_labels = torch.tensor(shares)
    method.settle(eps=eps)


def check_shares(method: Method, classes: np.ndarray) -> None:
    """Raise an error if `eps` has shares of labels, but not one for each of the classes."""
    eps = method.get_params(deep=False).get("eps")
    if is_open(eps) and not isinstance(eps, str):
        shares_of_labels(eps, classes)
