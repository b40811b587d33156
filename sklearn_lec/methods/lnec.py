"""LNEC: M networks agree on the samples that all of them learn from."""

from sklearn_lec.methods.base import ConsensusMethod
from sklearn_lec.methods.parameters import check_voters_are_finite

__all__ = ["LNEC"]


class LNEC(ConsensusMethod):
    """Network-ensemble consensus (Algorithm A1): `M` networks vote, all learn from the intersection.

    Parameters
    ----------
    eps, M, T_w : as for `LECClassifier`, from which None takes the value
    """

    title = "LNEC"

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds, or `M` is infinite."""
        super().check()
        check_voters_are_finite(self.M, title=self.title)

    @property
    def n_networks(self) -> int:
        """As many as vote."""
        return int(self.M)
