"""Co-teaching: two networks, each of which learns from the samples that the other one selects."""

from sklearn_lec._selection import small_loss_mask
from sklearn_lec.methods.base import Method
from sklearn_lec.methods.contract import Batch, Selection

__all__ = ["CoTeaching"]


class CoTeaching(Method):
    """Learn from the other network's small-loss samples, whose share falls from 1 to ``1 - eps``.

    What counts as selected, in ``clean_mask_`` and in the history, is what both networks learned from.

    Parameters
    ----------
    eps, T_k : as for `LECClassifier`, from which None takes the value

    References
    ----------
    B. Han et al., "Co-teaching: Robust training of deep neural networks with extremely noisy labels", NeurIPS 2018.
    """

    title = "Co-teaching"
    n_networks = 2

    def __init__(self, *, eps=None, T_k=None):
        self.eps = eps
        self.T_k = T_k

    @property
    def share_left_out(self) -> float:
        """The share of each batch that is left out in this epoch: from 0 in the first to `eps` in epoch `T_k`."""
        return self.eps * min(1.0, (self.epoch - 1) / (self.T_k - 1)) if self.T_k > 1 else self.eps

    @property
    def is_past_warmup(self) -> bool:
        """Whether anything is left out in this epoch."""
        return self.share_left_out > 0

    def select(self, batch: Batch) -> Selection:
        """Select for each network what the other one finds among its small losses."""
        trusted = self.trusted_among(batch.samples)
        return Selection(small_loss_mask(batch.losses, eps=self.share_left_out, trusted=trusted).flip(0))
