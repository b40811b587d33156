"""The contract between a training method and the estimator, and what all methods share."""

import copy
from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from sklearn_lec.selection import KeptRows, small_loss_mask, unanimous

__all__ = ["ConsensusMethod", "Method", "Trainer"]


class Trainer(Protocol):
    """What a method may ask of the training under way."""

    n_classes: int
    criterion: nn.Module
    last_epoch: int
    """The number of the epoch with which the call to ``fit`` or ``partial_fit`` will end."""

    def check_head(self, layer: str | None) -> None:
        """Raise an error if the classifier head cannot be found; `layer` names it, None takes the last linear layer."""

    def hidden_features(self, n_rows: int, *, layer: str | None) -> Iterator[Tensor]:
        """Yield, in batches, what enters the classifier head for random rows of the training set; finite rows only."""

    def weights(self) -> dict[str, Tensor]:
        """Return a copy of the network's weights."""

    def restore(self, weights: dict[str, Tensor]) -> None:
        """Put back weights that `weights` returned."""

    def probabilities_after_standard_training(self) -> np.ndarray:
        """Train another network of the same kind in the ordinary way, and return its predictions for all rows."""

    def record(self, name: str, value: float) -> None:
        """Write a value into the history of the epoch."""


class Method:
    """Decide which rows each network learns from, and on which loss.

    The estimator trains `n_networks` networks side by side. Before every update it hands the method a matrix of losses,
    voters x rows, and gets back a matrix of booleans, networks x rows; the update then descends on the sum, over the
    networks, of the loss on the rows that each may keep. A subclass says how many vote, in which set of rows they are
    compared, and what follows from the vote; or it leaves every row in, as this base class does, and changes the loss.

    Parameters
    ----------
    **parameters
        Values of the estimator's parameters that `parameters` names; each becomes an attribute.

    Attributes
    ----------
    epoch : int
        The epoch under way or last finished, counted from 1 over all calls to ``fit`` and ``partial_fit``.
    kept : KeptRows or None
        Which rows were learned from; None before the first training.
    rows_identity : str or None
        Tells the rows that the record is about from others.
    """

    parameters: tuple[str, ...] = ()
    """The estimator's parameters that the method uses."""
    memory: tuple[str, ...] = ("epoch", "rows_identity")
    """Attributes, beside `kept`, that hold what the method remembers: numbers, tensors, lists or dicts of them."""
    scope = "batch"
    """Where losses are compared: within each "batch" (Algorithm 1), or within the whole training set, before the
    "epoch", which then runs over the kept rows alone (Algorithm 2)."""
    n_networks = 1
    """How many networks are trained side by side."""
    keeps_alike = False
    """Whether all networks learn from the same rows, of which a share `eps` is left out at least."""
    filters = False
    """Whether the method leaves rows out, so that it has to compare the losses of rows."""
    m_must_be_finite = False
    """Whether `M` networks or passes have to be run, so that an infinite `M` makes no sense."""

    def __init__(self, **parameters):
        vars(self).update(parameters)
        self.epoch = 0
        self.kept: KeptRows | None = None
        self.rows_identity: str | None = None

    @property
    def filtering(self) -> bool:
        """Whether this epoch counts in the share of epochs that kept a row."""
        return True

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

    def take_back_vote(self) -> None:
        """Forget what the last call to `keep` said of its rows: some losses turned out not to be finite."""

    def loss(self, criterion: Callable[[Tensor, Tensor], Tensor], outputs: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of one network on the rows that it keeps.

        Parameters
        ----------
        criterion : callable (outputs, labels) -> scalar Tensor
        outputs : Tensor of shape (n_rows, n_classes)
            Logits.
        labels : int64 Tensor of shape (n_rows,)
            Class numbers.

        Returns
        -------
        loss : scalar Tensor
        """
        return criterion(outputs, labels)

    def before_training(self, trainer: Trainer) -> None:
        """Get ready, before the first epoch of each call to ``fit`` or ``partial_fit``."""

    def after_epoch(self, trainer: Trainer) -> None:
        """Look back on the epoch that has just ended."""

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
        """Return all that the method remembers."""
        state = {"method": type(self).__name__} | {name: getattr(self, name) for name in self.memory}
        if self.kept is not None:
            state |= {f"kept.{name}": value for name, value in vars(self.kept).items()}
        return state

    def load_state_dict(self, state: dict) -> None:
        """Take over a copy of what `state_dict` returned."""
        if state["method"] != type(self).__name__:
            raise ValueError(
                f"this is the state of {state['method']}, and cannot be loaded into {type(self).__name__}."
            )
        state = copy.deepcopy(state)
        if "kept.counts" in state:
            counts = state["kept.counts"]
            self.start(len(counts), device=counts.device)
            for name in vars(self.kept):
                setattr(self.kept, name, state[f"kept.{name}"])
        for name in self.memory:
            setattr(self, name, state[name])


class ConsensusMethod(Method):
    """Learn from the rows that every voter finds among its small losses: Algorithm 1 of the paper."""

    parameters = ("eps", "M", "T_w")
    filters = True
    keeps_alike = True

    @property
    def filtering(self) -> bool:
        """Whether the warming-up is over."""
        return self.epoch > self.T_w

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
        return unanimous(votes)
