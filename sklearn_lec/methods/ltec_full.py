"""LTEC-full: temporal consensus on the whole training set, before each epoch."""

from sklearn_lec.methods.ltec import LTEC

__all__ = ["LTECFull"]


class LTECFull(LTEC):
    """Temporal-ensemble consensus within the full set (Algorithm A4), collected from the second epoch on.

    Losses are those of the network in evaluation mode.
    """

    scope = "epoch"

    @property
    def filtering(self) -> bool:
        """Whether the warming-up is over, which takes the first epoch at the least."""
        return self.epoch > max(self.T_w, 1)

    @property
    def n_votes(self) -> int:
        """One pass over the training set, which the untrained network of the first epoch is spared."""
        return int(self.epoch > 1)
