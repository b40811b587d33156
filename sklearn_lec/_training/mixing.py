"""Mixup: batches of weighted means of two samples each, and the loss on the labels of both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sklearn_lec._training.batches import IndexedBatch, take
from sklearn_lec.methods import Selected

__all__ = ["Mixing", "mixed_batch"]


@dataclass(frozen=True)
class Mixing:
    """How the samples of a batch were mixed: ``weight * sample + (1 - weight) * partner``.

    Parameters
    ----------
    partners : int64 Tensor of shape (n_samples,)
        The position in the batch of each sample's partner.
    weight : float in [0.5, 1]
        Of the sample itself, the same for all: it weighs more than its partner.
    """

    partners: Tensor
    weight: float

    @classmethod
    def drawn(cls, n_samples: int, *, alpha: float) -> "Mixing":
        """Draw partners at random, and a weight from a Beta distribution with two parameters of `alpha`."""
        weight = torch.distributions.Beta(alpha, alpha).sample().item()
        return cls(torch.randperm(n_samples), max(weight, 1 - weight))

    def of_inputs(self, X):
        """Return the mixed inputs; None if there is anything else than floating-point numbers among them.

        Examples
        --------
        >>> Mixing(torch.tensor([1, 0]), 0.75).of_inputs(torch.tensor([[0.0, 4.0], [8.0, 8.0]]))
        tensor([[2., 5.],
                [6., 7.]])
        """
        if isinstance(X, Mapping):
            parts = {name: self.of_inputs(part) for name, part in X.items()}
            return None if any(part is None for part in parts.values()) else parts
        if isinstance(X, (list, tuple)):
            parts = [self.of_inputs(part) for part in X]
            return None if any(part is None for part in parts) else parts
        if not (isinstance(X, Tensor) and X.is_floating_point()):
            return None
        return torch.lerp(take(X, self.partners), X, self.weight)

    def of_losses(self, loss: Callable[[Selected], Tensor], batch: Selected) -> Tensor:
        """Return the loss of outputs for mixed inputs: on the samples, and on their partners, by their weights."""
        partners = self.partners.to(batch.labels.device)
        of_partners = replace(batch.at(partners), outputs=batch.outputs)
        return self.weight * loss(batch) + (1 - self.weight) * loss(of_partners)


def mixed_batch(batch: IndexedBatch, *, alpha: float) -> tuple[IndexedBatch, Mixing | None]:
    """Return a batch with mixed inputs and how they were mixed; the batch itself and None if they cannot be.

    Parameters
    ----------
    batch : IndexedBatch
    alpha : float
        Parameter of the Beta distribution; 0 mixes nothing.

    Returns
    -------
    batch : IndexedBatch
        Its labels and sample numbers are those of the samples that weigh more.
    mixing : Mixing or None

    References
    ----------
    H. Zhang et al., "mixup: Beyond empirical risk minimization", ICLR 2018, https://arxiv.org/abs/1710.09412.
    """
    if alpha == 0:
        return batch, None
    X, y = batch
    mixing = Mixing.drawn(len(batch.samples), alpha=alpha)
    mixed = mixing.of_inputs(X)
    return (batch, None) if mixed is None else (IndexedBatch(mixed, y, batch.samples), mixing)
