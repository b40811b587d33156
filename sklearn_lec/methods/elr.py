"""ELR: early-learning regularization, a pull towards what the network predicted before it memorized labels."""

import torch
from torch import Tensor

from sklearn_lec._validation import is_number
from sklearn_lec.methods.base import Batch, Method, Selection

__all__ = ["ELR"]


class ELR(Method):
    """Learn from every sample, with a term that rewards agreement with a running mean of earlier predictions.

    The loss is ``criterion + lambda_ * mean(log(1 - <p, t>))``, where p are the probabilities of a sample and
    ``t = beta * t + (1 - beta) * p`` is their running mean over the epochs. Costs K floats per sample for K classes.

    Parameters
    ----------
    beta : float in [0, 1), default=0.7
        How slowly the running mean follows the predictions.
    lambda_ : float, default=3.0
        The weight of the term; 0 is ordinary training.

    References
    ----------
    S. Liu et al., "Early-learning regularization prevents memorization of noisy labels", NeurIPS 2020, Equation 6.
    """

    title = "ELR"
    n_passes = 1
    selects_samples = False

    def __init__(self, *, beta=0.7, lambda_=3.0):
        self.beta = beta
        self.lambda_ = lambda_

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds."""
        if not is_number(self.beta) or not 0 <= self.beta < 1:
            raise ValueError(f"beta must be a number in [0, 1), got {self.beta!r}. The paper has 0.7.")
        if not is_number(self.lambda_) or self.lambda_ < 0:
            raise ValueError(f"lambda_ must be a number of at least 0, got {self.lambda_!r}. The paper has 3.")

    def sample_memory(self, n_classes: int) -> dict[str, Tensor]:
        """Remember the running mean of the predictions."""
        return {"mean_prediction": torch.zeros(n_classes)}

    def select(self, batch: Batch) -> Selection:
        """Select every sample, and remember the new running mean."""
        probabilities = _bounded(batch.probabilities.mean(dim=0))
        return Selection(memory={"mean_prediction": self._mean_with(probabilities, batch.samples)})

    def loss(self, criterion, outputs: Tensor, labels: Tensor, samples: Tensor) -> Tensor:
        """Return the loss with the term of agreement."""
        probabilities = _bounded(outputs.softmax(dim=-1))
        agreement = (self._mean_with(probabilities.detach(), samples) * probabilities).sum(dim=-1)
        return criterion(outputs, labels) + self.lambda_ * criterion.mean((1 - agreement).log())

    def _mean_with(self, probabilities: Tensor, samples: Tensor) -> Tensor:
        """Return the running mean of `samples` with the probabilities of this epoch in it."""
        new = probabilities / probabilities.sum(dim=-1, keepdim=True)
        return self.beta * self.record.memory["mean_prediction"][samples] + (1 - self.beta) * new


def _bounded(probabilities: Tensor) -> Tensor:
    """Return probabilities that are neither 0 nor 1, as in the authors' code: their logarithms stay finite."""
    return probabilities.clamp(1e-4, 1 - 1e-4)
