"""Self-training: a network learns from its own small-loss samples."""

from sklearn_lec.methods.consensus import ConsensusMethod

__all__ = ["SelfTraining"]


class SelfTraining(ConsensusMethod):
    """Learn from the small-loss samples of the current batch; one network, one vote.

    This is any of the three LECs with ``M = 1`` (Section 4.2 of the paper).

    Parameters
    ----------
    eps, T_w : as for `LECClassifier`, from which None takes the value
    """

    title = "Self-training"
    averages_networks = True

    def __init__(self, *, eps=None, T_w=None):
        self.eps = eps
        self.T_w = T_w
