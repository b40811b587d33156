"""LSEC: M stochastic passes of one network agree on the samples it learns from."""

from sklearn_lec.methods.consensus import ConsensusMethod

__all__ = ["LSEC"]


class LSEC(ConsensusMethod):
    """Self-ensemble consensus (Algorithm A2): dropout and noise layers make each of `M` passes another voter.

    Parameters
    ----------
    eps, M, T_w : as for `LECClassifier`, from which None takes the value
    """

    title = "LSEC"
    needs_finite_M = True

    @property
    def n_passes(self) -> int:
        """`M` passes, once the warm-up is over."""
        return int(self.M) if self.is_past_warmup else 0
