"""Forward: correct the loss by the probability with which each class is mislabelled as another."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from sklearn_lec.methods.base import Method, Trainer
from sklearn_lec.shares import check_corruption_matrix, decimal_fraction

__all__ = ["Forward", "estimate_corruption_matrix"]


class Forward(Method):
    """Learn from every row, on ``-log((C^T p)[y])`` in place of ``-log p[y]``.

    The corruption matrix C is given, or is read off the predictions of a network that is trained on all rows first.

    References
    ----------
    G. Patrini et al., "Making deep neural networks robust to label noise: a loss correction approach", CVPR 2017.
    """

    parameters = ("corruption_matrix", "percentile")
    memory = (*Method.memory, "matrix", "estimated_at")
    matrix: Tensor | None = None
    """The corruption matrix in use, true classes in rows; shape (n_classes, n_classes)."""
    estimated_at: float | None = None
    """The percentile at which the matrix was estimated; None if it was given."""

    def before_training(self, trainer: Trainer) -> None:
        """Check the corruption matrix, or estimate it if there is none."""
        if not isinstance(trainer.criterion, nn.CrossEntropyLoss):
            raise TypeError(
                "method='forward' corrects the cross-entropy of logits, but the criterion is "
                f"{type(trainer.criterion).__name__}. Leave criterion at torch.nn.CrossEntropyLoss, and let the module "
                "return logits."
            )
        if self.corruption_matrix is not None:
            matrix = check_corruption_matrix(self.corruption_matrix, n_classes=trainer.n_classes)
            self.matrix, self.estimated_at = torch.as_tensor(matrix, dtype=torch.float32), None
        elif self.estimated_at != self.percentile:
            probabilities = trainer.probabilities_after_standard_training()
            matrix = estimate_corruption_matrix(probabilities, percentile=self.percentile)
            self.matrix, self.estimated_at = torch.as_tensor(matrix, dtype=torch.float32), float(self.percentile)

    def loss(self, criterion, outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of what the network's outputs become when labels are corrupted."""
        self.matrix = self.matrix.to(outputs)
        log_matrix = self.matrix.log().clamp(min=-1e4)  # finite, for a label that no class ever gets
        # Logarithms of probabilities are logits: their softmax is the probabilities again. Sums are taken among
        # logarithms, where a network that is very sure of itself still has a gradient.
        noisy = (outputs.log_softmax(dim=-1).unsqueeze(dim=2) + log_matrix).logsumexp(dim=1)
        return criterion(noisy, labels)

    def start(self, n_rows: int, **record) -> None:
        """Forget all rows, and what was read off the predictions for them."""
        super().start(n_rows, **record)
        self.matrix = self.estimated_at = None


def estimate_corruption_matrix(probabilities: np.ndarray, *, percentile: float) -> np.ndarray:
    """Read the corruption matrix off the predictions of a network that was trained on noisy labels.

    Where a row surely belongs to a class, the network predicts how that class is labelled. A row that has a high
    probability of the class, without being an outlier, is taken for such a row.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
    percentile : float in [0, 100]
        Where among the probabilities of a class the row stands that is read off; 100 is the largest.

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
            "the standard network that is trained first predicts NaN for every row. Lower lr, scale X, or pass "
            "corruption_matrix."
        )
    position = math.floor(decimal_fraction(percentile / 100) * (len(probabilities) - 1))
    typical_rows = np.argsort(probabilities, axis=0, kind="stable")[position]
    return probabilities[typical_rows]
