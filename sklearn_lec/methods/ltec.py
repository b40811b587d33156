"""LTEC: the network of the current epoch and those of the epochs before agree on the rows."""

from torch import Tensor

from sklearn_lec.methods.base import ConsensusMethod
from sklearn_lec.selection import TemporalConsensus, unanimous

__all__ = ["LTEC"]


class LTEC(ConsensusMethod):
    """Temporal-ensemble consensus (Algorithm A3): small losses in each of the last `M` epochs."""

    consensus: TemporalConsensus | None = None

    @property
    def n_votes(self) -> int:
        """One pass in every epoch: small-loss rows are collected during warming-up too."""
        return 1

    def agreement(self, votes: Tensor, rows: Tensor) -> Tensor:
        """Return the rows in the current set and in those of the ``M - 1`` epochs before."""
        in_batches = self.scope == "batch"
        return self.consensus.update(unanimous(votes), rows, epoch=self.epoch, M=self.M, can_be_taken_back=in_batches)

    def take_back_vote(self) -> None:
        """Forget what the last vote said of its rows."""
        self.consensus.take_back()

    def start(self, n_rows: int, **record) -> None:
        """Forget all rows, their streaks included."""
        super().start(n_rows, **record)
        self.consensus = TemporalConsensus(n_rows, device=self.kept.counts.device)

    def state_dict(self) -> dict:
        """Return all that the method remembers, the streaks included."""
        state = super().state_dict()
        if self.consensus is not None:
            state["consensus.last_miss"] = self.consensus.last_miss
        return state

    def load_state_dict(self, state: dict) -> None:
        """Take over what `state_dict` returned."""
        super().load_state_dict(state)
        if "consensus.last_miss" in state:
            self.consensus.last_miss = state["consensus.last_miss"]
