"""LNEC: M networks agree on the rows that all of them learn from."""

from sklearn_lec.methods.base import ConsensusMethod

__all__ = ["LNEC"]


class LNEC(ConsensusMethod):
    """Network-ensemble consensus (Algorithm A1): `M` networks vote, all learn from the intersection."""

    m_must_be_finite = True

    @property
    def n_networks(self) -> int:
        """As many as vote."""
        return int(self.M)
