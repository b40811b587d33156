"""LTEC-full: temporal consensus on the whole training set, before each epoch."""

from sklearn_lec.methods.ltec import LTEC

__all__ = ["LTECFull"]


class LTECFull(LTEC):
    """Temporal-ensemble consensus within the full set (Algorithm A4), collected from the second epoch on.

    Losses are those of the network in evaluation mode, but for batch norm, which uses the statistics of batches drawn
    at random: its running statistics lag behind the weights.

    Parameters
    ----------
    eps, M, T_w : as for `LECClassifier`, from which None takes the value
    """

    title = "LTEC-full"
    scope = "epoch"

    @property
    def is_past_warmup(self) -> bool:
        """Whether the warm-up is over, which takes the first epoch at least."""
        return self.epoch > max(self.T_w, 1)

    @property
    def n_passes(self) -> int:
        """One pass over the training set; none if nothing is left out, nor before the network has been trained."""
        return int(self.epoch > 1 and self.eps > 0)
