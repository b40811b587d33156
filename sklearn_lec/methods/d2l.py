"""D2L: trust the labels less when the network's inner representation starts to become more complex."""

import math

import numpy as np
import torch
from torch import Tensor

from sklearn_lec.methods.base import Method
from sklearn_lec.methods.contract import Criterion, MethodContext, Selected

__all__ = ["D2L", "is_turning_point", "local_intrinsic_dimensionality", "weight_of_labels"]

N_SAMPLES = 1280
"""Samples over which the local intrinsic dimensionality is averaged in each epoch."""
N_NEIGHBORS = 20


class D2L(Method):
    """Learn from every sample, after the turning point with targets that mix label and prediction.

    The local intrinsic dimensionality (LID) of what enters the classifier head falls while the network learns patterns
    and rises when it starts to memorize labels. At that point the network goes back to the epoch before, and the
    weight of the given labels falls from then on.

    Parameters
    ----------
    W, lid_layer : as for `LECClassifier`, from which None takes the value

    Attributes
    ----------
    lid_history_ : list of float
        The LID in each epoch.
    turning_epoch_ : int or None
        The epoch whose LID rose; None if there was none.

    References
    ----------
    X. Ma et al., "Dimensionality-driven learning with noisy labels", ICML 2018.
    """

    title = "D2L"
    turning_epoch_: int | None = None
    weights_before: dict[str, Tensor] | None = None
    """The weights after the last epoch, until the turning point."""
    label_weight = 1.0
    """How much the given labels count against the predictions."""

    def __init__(self, *, W=None, lid_layer=None):
        self.W = W
        self.lid_layer = lid_layer

    def before_training(self, context: MethodContext) -> None:
        """Find the classifier head, whose input is measured."""
        self.lid_history_ = vars(self).get("lid_history_", [])
        context.check_head(self.lid_layer)

    def loss(self, criterion: Criterion, batch: Selected) -> Tensor:
        """Return the loss against the label and against the network's own prediction, weighted."""
        outputs = batch.outputs
        loss = criterion(outputs, batch.labels)
        if self.label_weight < 1:
            predicted, trusted = outputs.argmax(dim=-1), self.trusted_among(batch.samples)
            others = predicted if trusted is None else torch.where(trusted, batch.labels, predicted)
            loss = self.label_weight * loss + (1 - self.label_weight) * criterion(outputs, others)
        return loss

    def after_epoch(self, context: MethodContext) -> None:
        """Measure the LID, go back by an epoch at the turning point, and set the weight of the labels."""
        batches = context.hidden_features(N_SAMPLES, layer=self.lid_layer)
        lid = torch.cat([local_intrinsic_dimensionality(batch) for batch in batches]).nanmean().item()
        self.lid_history_ = [*self.lid_history_, lid]
        context.record("lid", lid)
        if self.turning_epoch_ is None and is_turning_point(self.lid_history_, window=self.W):
            self.turning_epoch_ = self.epoch
            context.restore(self.weights_before)  # the weights alone, as in the authors' code; Adam's moments stay
        if self.turning_epoch_ is None:
            self.weights_before = context.weights()
        else:
            self.weights_before = None
            self.label_weight = weight_of_labels(self.lid_history_, progress=self.epoch / context.last_epoch)


def local_intrinsic_dimensionality(features: Tensor, *, n_neighbors: int = N_NEIGHBORS) -> Tensor:
    """Return the maximum-likelihood estimate of the local intrinsic dimensionality at each sample.

    Parameters
    ----------
    features : Tensor of shape (n_samples, n_features)
    n_neighbors : int, default=20
        Nearest neighbors, among the samples given, that the estimate rests on; fewer if there are not as many.

    Returns
    -------
    lid : Tensor of shape (n_samples,)
        ``-k / sum(log(r_i / r_k))`` over the distances r_1 to r_k of the k nearest neighbors; NaN where that is not
        defined, because the sample coincides with others, or they are all equally far away.

    Examples
    --------
    >>> line = torch.linspace(0, 1, 101)[:, None] * torch.tensor([1.0, 2.0, 3.0])
    >>> round(local_intrinsic_dimensionality(line).mean().item())
    1
    """
    n_neighbors = min(n_neighbors, len(features) - 1)
    distances = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    nearest = distances.topk(n_neighbors + 1, largest=False).values[:, 1:]  # the nearest one is the sample itself
    log_ratios = (nearest / nearest[:, -1:]).log().sum(dim=1)
    defined = log_ratios.isfinite() & (log_ratios < 0)
    return (-n_neighbors / log_ratios).where(defined, math.nan)


def is_turning_point(lids: list[float], *, window: int) -> bool:
    """Return whether the last LID exceeds the mean of the `window` before it by two standard deviations.

    Examples
    --------
    >>> is_turning_point([5, 4, 3, 2, 8], window=4), is_turning_point([5, 4, 3, 2, 3], window=4)
    (True, False)
    """
    if len(lids) <= window:
        return False
    before = lids[-window - 1 : -1]
    # Where the LID is not defined it is NaN, and every comparison with NaN is False.
    return bool(lids[-1] > np.mean(before) + 2 * np.std(before))


def weight_of_labels(lids: list[float], *, progress: float) -> float:
    """Return how much the given labels count: ``exp(-progress * LID / min LID)``.

    Parameters
    ----------
    lids : list of float
        One per epoch, the last one that of the current epoch.
    progress : float
        The current epoch as a share of all.

    Returns
    -------
    weight : float in (0, 1]
    """
    defined = [lid for lid in lids if not math.isnan(lid)]
    return math.exp(-progress * defined[-1] / min(defined))
