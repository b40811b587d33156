"""Co-teaching: two networks, each of which learns from the rows that the other one picks."""

from torch import Tensor

from sklearn_lec.methods.base import Method
from sklearn_lec.selection import small_loss_mask

__all__ = ["CoTeaching"]


class CoTeaching(Method):
    """Learn from the other network's small-loss rows, the kept share falling from 1 to ``1 - eps``.

    What counts as kept, in ``clean_mask_`` and in the history, is what both networks learned from.

    References
    ----------
    B. Han et al., "Co-teaching: Robust training of deep neural networks with extremely noisy labels", NeurIPS 2018.
    """

    parameters = ("eps", "T_k")
    n_networks = 2
    filters = True

    @property
    def share_left_out(self) -> float:
        """The share of each batch that is left out in this epoch: from 0 in the first to `eps` in epoch `T_k`."""
        return self.eps * min(1.0, (self.epoch - 1) / (self.T_k - 1)) if self.T_k > 1 else self.eps

    @property
    def filtering(self) -> bool:
        """Whether anything is left out in this epoch."""
        return self.share_left_out > 0

    @property
    def n_votes(self) -> int:
        """One pass per network."""
        return 1

    def keep(self, losses: Tensor, rows: Tensor) -> Tensor:
        """Keep for each network what the other one finds among its small losses."""
        return small_loss_mask(losses, eps=self.share_left_out).flip(0)
