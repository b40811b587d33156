"""The contract between a training method and the estimator, and what all methods share."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from sklearn.base import BaseEstimator
from torch import Tensor, nn

from sklearn_lec._selection import SampleRecord, small_loss_mask, unanimous
from sklearn_lec.methods.parameters import check_parameters, warn_of_too_few_epochs

__all__ = ["Batch", "ConsensusMethod", "Criterion", "Method", "MethodContext", "Selection"]


class Batch:
    """What a method is shown of some samples before it decides on them. Nothing in it carries a gradient.

    Parameters
    ----------
    outputs : sequence of Tensors of shape (n_samples, n_classes)
        The logits of each voter: pass by pass, and within a pass network by network.
    labels : int64 Tensor of shape (n_samples,)
        The given labels as class numbers.
    samples : int64 Tensor of shape (n_samples,)
        The numbers of the samples in X as the caller passed it.
    losses : Tensor of shape (n_voters, n_samples), or callable that returns it
        Computed when a method asks for it, and not before.

    Attributes
    ----------
    losses : Tensor of shape (n_voters, n_samples)
    probabilities : Tensor of shape (n_voters, n_samples, n_classes)
    """

    def __init__(self, outputs, labels: Tensor, samples: Tensor, *, losses: Tensor | Callable[[], Tensor]):
        self.outputs = outputs
        self.labels = labels
        self.samples = samples
        self._losses = losses

    def __len__(self):
        return len(self.labels)

    @cached_property
    def losses(self) -> Tensor:
        """The loss of each sample for each voter, without class weights."""
        return self._losses() if callable(self._losses) else self._losses

    @cached_property
    def probabilities(self) -> Tensor:
        """The probability of each class for each sample and voter."""
        return torch.stack([output.detach().softmax(dim=-1) for output in self.outputs])


@dataclass(frozen=True)
class Selection:
    """What a method decides on a batch: the samples to learn from, and what to remember.

    Nothing is remembered before the losses of the batch are known to be finite.

    Parameters
    ----------
    mask : bool Tensor of shape (n_samples,) or (n_networks, n_samples), or None
        The samples that all networks, or each of them, learn from; None for every sample. Held as a matrix with one
        row or a row for each network.
    memory : dict from str to Tensor of shape (n_samples, ...)
        New values of what `Method.sample_memory` declares.
    """

    mask: Tensor | None = None
    memory: Mapping[str, Tensor] = field(default_factory=dict)

    def __post_init__(self):
        if self.mask is not None and self.mask.dtype != torch.bool:
            raise TypeError(f"the mask of a Selection must hold booleans, got {self.mask.dtype}.")
        if self.mask is not None and self.mask.ndim == 1:
            object.__setattr__(self, "mask", self.mask.unsqueeze(dim=0))


class Criterion(Protocol):
    """How the loss of a batch is computed: the criterion of the estimator, in which samples count by their weights."""

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of logits against class numbers, or against probabilities if the criterion takes them."""

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of one value per sample, for a term that a method adds to the loss."""


class MethodContext(Protocol):
    """What a method may ask of the training under way."""

    n_classes: int
    criterion: nn.Module
    device: torch.device
    last_epoch: int
    """The number of the epoch with which the call to ``fit`` or ``partial_fit`` will end."""

    def check_head(self, layer: str | None) -> None:
        """Raise an error if the classifier head cannot be found; `layer` names it, None takes the last linear layer."""

    def hidden_features(self, n_samples: int, *, layer: str | None) -> Iterator[Tensor]:
        """Yield, in batches, the input of the classifier head for random training samples; finite ones only."""

    def weights(self) -> dict[str, Tensor]:
        """Return a copy of the network's weights."""

    def restore(self, weights: dict[str, Tensor]) -> None:
        """Put back weights that `weights` returned."""

    def predictions_of(self, method) -> np.ndarray:
        """Train another network of the same kind with `method`, and return its probabilities for all samples."""

    def record(self, name: str, value: float) -> None:
        """Write a value into the history of the epoch."""


class Method(BaseEstimator):
    """Decide which samples each network learns from, on which loss, and what to remember of each sample.

    The estimator trains `n_networks` networks side by side. Before every update it shows the method a `Batch`, and
    gets back a `Selection`. The update then descends on the sum, over the networks, of `loss` on the samples that each
    may learn from. This base class selects every sample and leaves the loss alone; a subclass changes what it needs.

    A method is a scikit-learn estimator as far as its parameters go: the constructor stores them under their names and
    does nothing else. A parameter that is None takes the value of the estimator's parameter of the same name, if there
    is one. What a method remembers of each sample is declared in `sample_memory`. All other attributes that it sets
    are numbers, text, tensors, or lists and dicts of them: checkpoints and pickles carry them along. Attributes
    whose names end in an underscore can be read from the fitted classifier, too.

    Attributes
    ----------
    epoch : int
        The epoch under way or last finished, counted from 1 over all calls to ``fit`` and ``partial_fit``.
    record : SampleRecord or None
        Which samples were selected, and ``record.memory``; None before the first training.
    data_identity : str or None
        Tells the samples that the record is about from others.

    Examples
    --------
    A method that leaves out what the network contradicts with confidence:

    >>> class Contradicted(Method):
    ...     n_passes = 1
    ...     def __init__(self, threshold=0.9):
    ...         self.threshold = threshold
    ...     def select(self, batch):
    ...         confidence, prediction = batch.probabilities.mean(dim=0).max(dim=-1)
    ...         return Selection((prediction == batch.labels) | (confidence < self.threshold))
    >>> outputs, labels = torch.tensor([[5.0, 0.0], [0.0, 5.0]]), torch.tensor([0, 0])
    >>> Contradicted().select(Batch([outputs], labels, torch.arange(2), losses=None)).mask
    tensor([[ True, False]])
    """

    title = ""
    """The name in tables and figures; empty for the name in `METHODS`."""
    scope = "batch"
    """Where samples are compared: within each "batch" (Algorithm 1), or within the whole training set, before the
    "epoch", which then runs over the selected samples alone (Algorithm 2)."""
    n_networks = 1
    """How many networks are trained side by side."""
    n_passes = 0
    """How many forward passes of each network vote in this epoch; 0 selects every sample without asking `select`."""
    is_past_warmup = True
    """Whether this epoch counts in the share of epochs that selected a sample."""
    largest_share = 1.0
    """The largest share of the samples that can be selected after the warm-up."""
    needs_outputs = False
    """Whether `select` looks at outputs or probabilities. Where `scope` is "epoch" they take memory for all samples."""

    epoch = 0
    record: SampleRecord | None = None
    data_identity: str | None = None

    @property
    def selects_samples(self) -> bool:
        """Whether samples may be left out, so that the criterion has to give one loss per sample."""
        return type(self).select is not Method.select

    @property
    def same_samples_for_all(self) -> bool:
        """Whether all networks learn from the same samples."""
        return self.n_networks == 1

    # --- what a method decides ------------------------------------------------------------------------------------

    def select(self, batch: Batch) -> Selection:
        """Return which samples each network may learn from, and what to remember of them; without side effects.

        Parameters
        ----------
        batch : Batch
            A batch of the epoch, or the whole training set where `scope` is "epoch".

        Returns
        -------
        selection : Selection
        """
        return Selection()

    def memory_of_bad(self, samples: Tensor) -> dict[str, Tensor]:
        """Return what to remember of samples that are left out because their loss is NaN or infinite.

        Parameters
        ----------
        samples : int64 Tensor of shape (n_samples,)

        Returns
        -------
        memory : dict from str to Tensor of shape (n_samples, ...)
        """
        return {}

    def loss(self, criterion: Criterion, outputs: Tensor, labels: Tensor, samples: Tensor) -> Tensor:
        """Return the loss of one network on the samples that it learns from.

        Parameters
        ----------
        criterion : callable (outputs, targets) -> scalar Tensor
            Targets are class numbers, or probabilities of shape (n_samples, n_classes) if the criterion takes them. A
            term of one value per sample is added as ``criterion.mean(values)``: both count samples by their weights.
        outputs : Tensor of shape (n_samples, n_classes)
            Logits, with their gradient.
        labels : int64 Tensor of shape (n_samples,)
            The given labels as class numbers.
        samples : int64 Tensor of shape (n_samples,)
            The numbers of the samples in X.

        Returns
        -------
        loss : scalar Tensor
        """
        return criterion(outputs, labels)

    def sample_memory(self, n_classes: int) -> dict[str, Tensor]:
        """Declare what is remembered of each sample: a name, and the value for one sample to begin with.

        Parameters
        ----------
        n_classes : int

        Returns
        -------
        memory : dict from str to Tensor
            A scalar tensor for one number per sample, a vector for several. ``record.memory`` then has one more axis
            in front, for the samples.
        """
        return {}

    # --- hooks ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise an error that names the parameter, its value, the rule and the fix if one is out of bounds."""
        check_parameters(self.get_params(deep=False))

    def check_length(self, n_epochs: int) -> None:
        """Warn if a training of `n_epochs` epochs is over before the method comes into play."""
        warn_of_too_few_epochs(self.get_params(deep=False), n_epochs)

    def before_training(self, context: MethodContext) -> None:
        """Get ready, before the first epoch of each call to ``fit`` or ``partial_fit``."""

    def before_epoch(self, context: MethodContext) -> None:
        """Get ready for the epoch that begins; `epoch` is its number."""

    def after_epoch(self, context: MethodContext) -> None:
        """Look back on the epoch that has just ended."""

    # --- what the engine calls ------------------------------------------------------------------------------------

    def reset(
        self,
        n_samples: int,
        *,
        n_classes: int,
        training_samples: Tensor | None = None,
        identity: str = "",
        device="cpu",
    ) -> None:
        """Forget all samples: the training that follows is on `n_samples` samples that have not been seen before."""
        self.data_identity = identity
        self.record = SampleRecord(
            n_samples, training_samples=training_samples, memory=self.sample_memory(n_classes), device=device
        )

    def begin_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch += 1
        self.record.current.zero_()

    def end_epoch(self) -> int:
        """Finish the epoch under way and return how many samples it learned from."""
        return self.record.close_epoch(is_past_warmup=self.is_past_warmup)

    def state_dict(self) -> dict:
        """Return all that the method remembers, without its parameters."""
        state = {name: value for name, value in vars(self).items() if name not in self.get_params(deep=False)}
        if self.record is not None:
            state["record"] = dict(vars(self.record))
        return {"method": type(self).__name__} | state

    def load_state_dict(self, state: dict) -> None:
        """Take over a copy of what `state_dict` returned."""
        if state["method"] != type(self).__name__:
            raise ValueError(
                f"this is the state of {state['method']}, and cannot be loaded into {type(self).__name__}."
            )
        state = copy.deepcopy({name: value for name, value in state.items() if name != "method"})
        if state.get("record") is not None:
            record = SampleRecord(0)
            vars(record).update(state["record"])
            state["record"] = record
        for name in vars(self).keys() - self.get_params(deep=False).keys():
            delattr(self, name)
        vars(self).update(state)


class ConsensusMethod(Method):
    """Learn from the samples that every voter finds among its small losses: Algorithm 1 of the paper.

    Parameters
    ----------
    eps : float in [0, 1) or None, default=None
    M : int, inf or None, default=None
    T_w : int or None, default=None
        All as for `LECClassifier`, from which None takes the value.
    """

    same_samples_for_all = True

    def __init__(self, *, eps=None, M=None, T_w=None):
        self.eps = eps
        self.M = M
        self.T_w = T_w

    @property
    def is_past_warmup(self) -> bool:
        """Whether the warm-up is over."""
        return self.epoch > self.T_w

    @property
    def n_passes(self) -> int:
        """One pass per network, once the warm-up is over."""
        return int(self.is_past_warmup)

    @property
    def largest_share(self) -> float:
        """All but a share of `eps`."""
        return 1 - self.eps

    def select(self, batch: Batch) -> Selection:
        """Select for every network the samples on which the voters agree."""
        return Selection(self.consensus(small_loss_mask(batch.losses, eps=self.eps)))

    def consensus(self, votes: Tensor) -> Tensor:
        """Return the samples on which the voters agree.

        Parameters
        ----------
        votes : bool Tensor of shape (n_voters, n_samples)
            Which losses each voter finds small.

        Returns
        -------
        agreed : bool Tensor of shape (n_samples,)
        """
        return unanimous(votes)
