"""Self-training: a network learns from its own small-loss rows."""

from sklearn_lec.methods.base import ConsensusMethod

__all__ = ["SelfTraining"]


class SelfTraining(ConsensusMethod):
    """Learn from the small-loss rows of the current batch; one network, one vote.

    This is any of the three LECs with ``M = 1`` (Section 4.2 of the paper).
    """

    parameters = ("eps", "T_w")
