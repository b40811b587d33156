"""Forward: correct the loss by the probability with which each class is mislabelled as another."""

import math
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn

from sklearn_lec._selection import decimal_fraction
from sklearn_lec._validation import check_corruption_matrix
from sklearn_lec.methods.base import Method
from sklearn_lec.methods.contract import Criterion, MethodContext, Selected
from sklearn_lec.methods.parameters import AUTO

__all__ = ["Forward", "estimate_corruption_matrix"]


SMALLEST = 1e-30
"""The smallest probability of a label other than the given one; its logarithm has to be finite."""


class Forward(Method):
    """Learn from every sample, on ``-log((C^T p)[y])`` in place of ``-log p[y]``.

    The corruption matrix C is given, or is estimated from the predictions of a network that is trained on all samples
    first.

    Parameters
    ----------
    corruption_matrix, percentile : as for `LECClassifier`, from which None takes the value

    Attributes
    ----------
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        The corruption matrix in use, true classes in rows.

    Notes
    -----
    The loss of the given label is exact, however sure the network is of itself. The other labels count where the
    criterion has `label_smoothing`; there a probability below 1e-30 counts as 1e-30, without a gradient.

    References
    ----------
    G. Patrini et al., "Making deep neural networks robust to label noise: a loss correction approach", CVPR 2017.
    """

    title = "Forward"
    matrix: Tensor | None = None
    """The corruption matrix in use, on the network's device."""
    estimated_from: float | str | None = None
    """The percentile at which the matrix was estimated, or "auto"; None if it was given."""

    def __init__(self, *, corruption_matrix=None, percentile=None):
        self.corruption_matrix = corruption_matrix
        self.percentile = percentile

    @property
    def corruption_matrix_(self) -> np.ndarray:
        """The corruption matrix in use."""
        if self.matrix is None:
            raise AttributeError("there is no corruption matrix before the first training")
        return self.matrix.cpu().numpy().copy()

    def before_training(self, context: MethodContext) -> None:
        """Check the corruption matrix, or estimate it if there is none."""
        if not isinstance(context.criterion, nn.CrossEntropyLoss):
            raise TypeError(
                "method='forward' corrects the cross-entropy of logits, but the criterion is "
                f"{type(context.criterion).__name__}. Leave criterion at torch.nn.CrossEntropyLoss, and let the module "
                "return logits."
            )
        if isinstance(self.corruption_matrix, str):
            source = AUTO
        else:
            source = None if self.corruption_matrix is not None else float(self.percentile)
        if source is not None and source == self.estimated_from:
            return
        if source is None:
            matrix = check_corruption_matrix(self.corruption_matrix, n_classes=context.n_classes)
        elif source == AUTO:
            matrix = context.noise_estimate().corruption_matrix
        else:
            matrix = estimate_corruption_matrix(context.predictions_of("standard"), percentile=self.percentile)
        self.matrix = torch.as_tensor(matrix, dtype=torch.float32, device=context.device)
        self.estimated_from = source

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds."""
        super().check()
        if isinstance(self.corruption_matrix, str) and self.corruption_matrix != AUTO:
            raise ValueError(f"corruption_matrix must be an array, 'auto' or None, got {self.corruption_matrix!r}.")

    def loss(self, criterion: Criterion, batch: Selected) -> Tensor:
        """Return the loss of what the network's outputs become when labels are corrupted."""
        outputs = batch.outputs
        log_p = outputs.log_softmax(dim=-1, dtype=torch.promote_types(outputs.dtype, torch.float32))
        matrix = self.matrix.to(log_p)
        # Logarithms of probabilities are logits: their softmax is the probabilities again.
        with _no_autocast(log_p.device.type):  # products in half precision would not sum up to 1
            noisy = (log_p.exp() @ matrix.clamp(min=SMALLEST)).log()
        # The given label is what is learned from: its sum is taken among logarithms, where a network that is very sure
        # of itself still has a gradient. Those of the matrix are finite, for a label that no class ever gets.
        of_label = (log_p + matrix.T[batch.labels].log().clamp(min=-1e4)).logsumexp(dim=-1, keepdim=True)
        corrected = noisy.scatter(1, batch.labels.unsqueeze(dim=1), of_label)
        trusted = self.trusted_among(batch.samples)
        if trusted is not None:  # their labels are the true classes, which nothing has corrupted
            corrected = torch.where(trusted.unsqueeze(dim=1), log_p, corrected)
        return criterion(corrected, batch.labels)

    def reset(self, n_samples: int, **record) -> None:
        """Forget all samples, and the matrix that was estimated from the predictions for them."""
        super().reset(n_samples, **record)
        self.matrix = self.estimated_from = None


def _no_autocast(device_type: str) -> AbstractContextManager:
    """Return a block without autocast. Some versions of torch refuse to turn off what a device does not have."""
    is_on = torch.amp.is_autocast_available(device_type) and torch.is_autocast_enabled(device_type)
    return torch.autocast(device_type, enabled=False) if is_on else nullcontext()


def estimate_corruption_matrix(probabilities: np.ndarray, *, percentile: float) -> np.ndarray:
    """Estimate the corruption matrix from the predictions of a network that was trained on noisy labels.

    Where a sample surely belongs to a class, the network predicts how that class is labelled. A sample that has a high
    probability of the class, without being an outlier, is taken for such a sample.

    Parameters
    ----------
    probabilities : ndarray of shape (n_samples, n_classes)
    percentile : float in [0, 100]
        For each class, the sample is taken whose probability of the class is at this percentile; 100 is the largest.

    Returns
    -------
    matrix : ndarray of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row).

    Examples
    --------
    >>> estimate_corruption_matrix(np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), percentile=100)
    array([[0.9, 0.1],
           [0.2, 0.8]])
    """
    probabilities = probabilities[np.isfinite(probabilities).all(axis=1)]
    if len(probabilities) == 0:
        raise ValueError(
            "the standard network that is trained first predicts NaN for every sample. Lower lr, scale X, or pass "
            "corruption_matrix."
        )
    position = math.floor(decimal_fraction(percentile / 100) * (len(probabilities) - 1))
    typical = np.argsort(probabilities, axis=0, kind="stable")[position]
    return probabilities[typical]
