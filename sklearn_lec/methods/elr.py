"""ELR: early-learning regularization, a pull towards what the network predicted before it memorized labels."""

import torch
from torch import Tensor

from sklearn_lec._validation import is_number
from sklearn_lec.methods.base import Method
from sklearn_lec.methods.contract import Batch, Criterion, Selected, Selection

__all__ = ["ELR"]


class ELR(Method):
    """Learn from every sample, with a term that rewards agreement with a running mean of earlier predictions.

    The loss is ``criterion + reg_lambda * mean(log(1 - <p, t>))``, where p are the probabilities of a sample and
    ``t = beta * t + (1 - beta) * p`` is their running mean over the epochs. Costs K floats per sample for K classes.

    Parameters
    ----------
    beta : float in [0, 1), default=0.7
        How slowly the running mean follows the predictions.
    reg_lambda : float, default=3.0
        The weight of the term; 0 is ordinary training.

    References
    ----------
    S. Liu et al., "Early-learning regularization prevents memorization of noisy labels", NeurIPS 2020, Section 4,
    https://arxiv.org/abs/2007.00151.
    """

    title = "ELR"
    averages_networks = True
    selects_samples = False

    def __init__(self, *, beta=0.7, reg_lambda=3.0):
        self.beta = beta
        self.reg_lambda = reg_lambda

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds."""
        if not is_number(self.beta) or not 0 <= self.beta < 1:
            raise ValueError(f"beta must be a number in [0, 1), got {self.beta!r}. The paper has 0.7.")
        if not is_number(self.reg_lambda) or self.reg_lambda < 0:
            raise ValueError(f"reg_lambda must be a number of at least 0, got {self.reg_lambda!r}. The paper has 3.")

    def sample_memory(self, n_classes: int) -> dict[str, Tensor]:
        """Remember the running mean of the predictions."""
        return {"mean_prediction": torch.zeros(n_classes)}

    def select(self, batch: Batch) -> Selection:
        """Select every sample, and remember the new running mean."""
        new = _bounded(batch.probabilities.mean(dim=0))
        new = new / new.sum(dim=-1, keepdim=True)
        mean = self.beta * self.record.memory["mean_prediction"][batch.samples] + (1 - self.beta) * new
        return Selection(memory={"mean_prediction": mean})

    def loss(self, criterion: Criterion, batch: Selected) -> Tensor:
        """Return the loss with the term of agreement."""
        agreement = (batch.memory["mean_prediction"] * _bounded(batch.probabilities)).sum(dim=-1)
        term, trusted = (1 - agreement).log(), self.trusted_among(batch.samples)
        if trusted is not None:  # what was predicted before must not hold on against a label that is right
            term = term.masked_fill(trusted, 0.0)
        return criterion(batch.outputs, batch.labels) + self.reg_lambda * criterion.mean(term)


def _bounded(probabilities: Tensor) -> Tensor:
    """Return probabilities that are neither 0 nor 1, as in the authors' code: their logarithms stay finite."""
    return probabilities.clamp(1e-4, 1 - 1e-4)
