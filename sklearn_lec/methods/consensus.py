"""The consensus of Algorithm 1: voters agree on the samples with small losses."""

import math

from torch import Tensor

from sklearn_lec._selection import small_loss_mask, small_loss_mask_of_labels, unanimous
from sklearn_lec.methods.base import Method
from sklearn_lec.methods.contract import Batch, Selection

__all__ = ["ConsensusMethod"]


class ConsensusMethod(Method):
    """Learn from the samples that every voter finds among its small losses: Algorithm 1 of the paper.

    Parameters
    ----------
    eps : "auto", float in [0, 1), dict, array-like or None, default=None
    M : int, inf or None, default=None
    T_w : "auto", int or None, default=None
        All as for `LECClassifier`, from which None takes the value.
    """

    same_samples_for_all = True
    needs_finite_M = False
    """Whether `M` networks or passes are run, so that an infinite `M` makes no sense."""

    def __init__(self, *, eps=None, M=None, T_w=None):
        self.eps = eps
        self.M = M
        self.T_w = T_w

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds."""
        super().check()
        if self.needs_finite_M and self.M == math.inf:
            name = self.title or type(self).__name__
            raise ValueError(f"M=inf does not fit {name}, which runs M networks or passes. Use M=5, or method='ltec'.")

    @property
    def is_past_warmup(self) -> bool:
        """Whether the warm-up is over."""
        return self.epoch > self.T_w

    @property
    def n_passes(self) -> int:
        """One pass per network, once the warm-up is over."""
        return int(self.is_past_warmup)

    @property
    def largest_share(self) -> float:
        """All but a share of `eps`."""
        return 1 - self.eps

    def select(self, batch: Batch) -> Selection:
        """Select for every network the samples on which the voters agree."""
        return Selection(self.consensus(self.small_losses(batch)))

    def small_losses(self, batch: Batch) -> Tensor:
        """Return which losses are small, shape (n_voters, n_samples); label by label over the whole training set.

        A batch has too few samples of a rare class for a share of them: there all labels are compared. Trusted samples
        have the first places: a share of `eps` of all is left out, and none of it from them.
        """
        losses = batch.losses
        trusted = self.trusted_among(batch.samples)
        if self.averages_networks and self.n_networks > 1:
            losses = losses.unflatten(0, (-1, self.n_networks)).mean(dim=1)
        if self.scope == "epoch" and self.eps_of_labels is not None:
            return small_loss_mask_of_labels(losses, batch.labels, shares=self.eps_of_labels, trusted=trusted)
        return small_loss_mask(losses, eps=self.eps, trusted=trusted)

    def consensus(self, votes: Tensor) -> Tensor:
        """Return the samples on which the voters agree.

        Parameters
        ----------
        votes : bool Tensor of shape (n_voters, n_samples)
            Which losses each voter finds small.

        Returns
        -------
        agreed : bool Tensor of shape (n_samples,)
        """
        return unanimous(votes)
