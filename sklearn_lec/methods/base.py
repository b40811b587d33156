"""The contract between a training method and the estimator, and what all methods share."""

import torch
from torch import Tensor

from sklearn_lec.selection import KeptRows, small_loss_mask

__all__ = ["ConsensusMethod", "Method"]


class Method:
    """Decide which rows each network learns from.

    The estimator trains `n_networks` networks side by side. Before every update it hands the method a matrix of
    losses, voters x rows, and gets back a matrix of booleans, networks x rows; the update then descends on the sum,
    over the networks, of the loss on the rows that each may keep. A subclass says how many vote, in which set of
    rows they are compared, and what follows from the vote. This base class keeps everything.

    Parameters
    ----------
    eps : float
        Share of the labels taken to be wrong.
    M : int or inf
        Size of the ensemble whose consensus counts.
    T_w : int
        Epochs of warming-up, in which every row is kept.

    Attributes
    ----------
    epoch : int
        The epoch under way or last finished, counted from 1 over all calls to ``fit`` and ``partial_fit``.
    kept : KeptRows or None
        Which rows were learned from; None before the first training.
    rows_identity : str or None
        Tells the rows that the record is about from others.
    """

    n_networks = 1
    scope = "batch"
    """Where losses are compared: within each "batch" (Algorithm 1), or within the whole training set, before the
    "epoch", which then runs over the kept rows alone (Algorithm 2)."""
    filters = True
    """Whether the method leaves rows out at all."""
    m_must_be_finite = False
    """Whether `M` networks or passes have to be run, so that an infinite `M` makes no sense."""

    def __init__(self, *, eps: float, M: float, T_w: int):
        self.eps = eps
        self.M = M
        self.T_w = T_w
        self.epoch = 0
        self.kept: KeptRows | None = None
        self.rows_identity: str | None = None

    @property
    def filtering(self) -> bool:
        """Whether the warming-up is over."""
        return self.epoch > self.T_w

    @property
    def n_votes(self) -> int:
        """How many forward passes of each network vote in this epoch; 0 keeps every row without a vote."""
        return 0

    def keep(self, losses: Tensor, rows: Tensor) -> Tensor:
        """Return which rows each network may learn from.

        Parameters
        ----------
        losses : Tensor of shape (n_votes * n_networks, n_rows)
            Pass by pass, network by network, in the order of the networks. They carry no gradient.
        rows : int64 Tensor of shape (n_rows,)
            The rows' numbers in X as the caller passed it.

        Returns
        -------
        keep : bool Tensor of shape (n_networks, n_rows), or (1, n_rows) if it is the same for all
        """
        raise NotImplementedError(f"{type(self).__name__} has n_votes > 0, so it must define keep")

    def start(self, n_rows: int, *, training_rows: Tensor | None = None, identity: str = "", device="cpu") -> None:
        """Forget all rows: the training that follows is on `n_rows` rows that have not been seen before."""
        self.rows_identity = identity
        self.kept = KeptRows(n_rows, training_rows=training_rows, device=device)

    def begin_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch += 1
        self.kept.current.zero_()

    def end_epoch(self) -> int:
        """Finish the epoch under way and return how many rows it learned from."""
        return self.kept.close_epoch(filtering=self.filtering)

    def state_dict(self) -> dict:
        """Return all that the method remembers, as tensors and plain numbers."""
        state = {"epoch": self.epoch}
        if self.kept is not None:
            state["rows_identity"] = self.rows_identity
            state |= {f"kept.{name}": value for name, value in vars(self.kept).items()}
        return state

    def load_state_dict(self, state: dict) -> None:
        """Take over what `state_dict` returned."""
        self.epoch = state["epoch"]
        if "kept.counts" in state:
            counts = state["kept.counts"]
            self.start(len(counts), identity=state["rows_identity"], device=counts.device)
            for name in vars(self.kept):
                setattr(self.kept, name, state[f"kept.{name}"])


class ConsensusMethod(Method):
    """Learn from the rows that every voter finds among its small losses: Algorithm 1 of the paper."""

    @property
    def n_votes(self) -> int:
        """One pass per network, once the warming-up is over."""
        return int(self.filtering)

    def keep(self, losses: Tensor, rows: Tensor) -> Tensor:
        """Keep for every network the rows on which the voters agree, and every row during warming-up."""
        agreed = self.agreement(small_loss_mask(losses, eps=self.eps), rows)
        if not self.filtering:
            agreed = torch.ones_like(agreed)
        return agreed.unsqueeze(dim=0)

    def agreement(self, votes: Tensor, rows: Tensor) -> Tensor:
        """Return the rows that pass.

        Parameters
        ----------
        votes : bool Tensor of shape (n_voters, n_rows)
            Which losses each voter finds small.
        rows : int64 Tensor of shape (n_rows,)

        Returns
        -------
        agreed : bool Tensor of shape (n_rows,)
        """
        return votes.all(dim=0)
