"""LSEC: M stochastic passes of one network agree on the rows it learns from."""

from sklearn_lec.methods.base import ConsensusMethod

__all__ = ["LSEC"]


class LSEC(ConsensusMethod):
    """Self-ensemble consensus (Algorithm A2): dropout and noise layers make each of `M` passes another voter."""

    m_must_be_finite = True

    @property
    def n_votes(self) -> int:
        """`M` passes, once the warming-up is over."""
        return int(self.M) if self.filtering else 0
