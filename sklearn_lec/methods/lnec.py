"""LNEC: M networks agree on the samples that all of them learn from."""

from sklearn_lec.methods.consensus import ConsensusMethod

__all__ = ["LNEC"]


class LNEC(ConsensusMethod):
    """Network-ensemble consensus (Algorithm A1): `M` networks vote, all learn from the intersection.

    Parameters
    ----------
    eps, M, T_w : as for `LECClassifier`, from which None takes the value
    """

    title = "LNEC"
    needs_finite_M = True

    @property
    def n_networks(self) -> int:
        """As many as vote."""
        return int(self.M)
