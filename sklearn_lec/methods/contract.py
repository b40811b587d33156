"""What a method is given, and what it answers: batches, selections, the criterion, the context of the training."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["Batch", "Criterion", "MethodContext", "Selected", "Selection", "softmax"]


def softmax(outputs: Tensor) -> Tensor:
    """Return the probabilities of logits, in float32 at least: half precision cannot tell 0.9999 from 1."""
    return outputs.softmax(dim=-1, dtype=torch.promote_types(outputs.dtype, torch.float32))


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
    nonlinearity : callable, default=softmax
        Makes probabilities of outputs.

    Attributes
    ----------
    losses : Tensor of shape (n_voters, n_samples)
    probabilities : Tensor of shape (n_voters, n_samples, n_classes)
    """

    def __init__(
        self,
        outputs,
        labels: Tensor,
        samples: Tensor,
        *,
        losses: Tensor | Callable[[], Tensor],
        nonlinearity: Callable[[Tensor], Tensor] = softmax,
    ):
        self.outputs = outputs
        self.labels = labels
        self.samples = samples
        self.nonlinearity = nonlinearity
        self._losses = losses

    def __len__(self):
        return self.labels.shape[0]

    @cached_property
    def losses(self) -> Tensor:
        """The loss of each sample for each voter, without class weights."""
        return self._losses() if callable(self._losses) else self._losses

    @cached_property
    def probabilities(self) -> Tensor:
        """The probability of each class for each sample and voter, without class weights."""
        if not self.outputs:
            raise ValueError(
                "outputs and probabilities are not collected where scope is 'epoch', unless the method sets "
                "needs_outputs = True."
            )
        return torch.stack([self.nonlinearity(output) for output in self.outputs])


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
        if self.mask is None:
            return
        mask = torch.as_tensor(self.mask)
        if mask.dtype != torch.bool:
            raise TypeError(f"the mask of a Selection must hold booleans, got {mask.dtype}.")
        object.__setattr__(self, "mask", mask.unsqueeze(dim=0) if mask.ndim == 1 else mask)


@dataclass(frozen=True)
class Selected:
    """The samples that one network learns from, as `Method.loss` sees them.

    Parameters
    ----------
    outputs : Tensor of shape (n_samples, n_classes)
        Logits, with their gradient.
    labels : int64 Tensor of shape (n_samples,)
        The given labels as class numbers.
    samples : int64 Tensor of shape (n_samples,)
        The numbers of the samples in X.
    network : int, default=0
        The number of the network, for methods that train several.
    memory : dict from str to Tensor of shape (n_samples, ...)
        What `Method.select` wants to remember of these samples, which is not in the record yet; empty where `scope` is
        "epoch", in which case the record has it.
    nonlinearity : callable, default=softmax
        Makes probabilities of outputs.
    """

    outputs: Tensor
    labels: Tensor
    samples: Tensor
    network: int = 0
    memory: Mapping[str, Tensor] = field(default_factory=dict)
    nonlinearity: Callable[[Tensor], Tensor] = softmax

    @property
    def probabilities(self) -> Tensor:
        """The probability of each class, with its gradient and without class weights; shape (n_samples, n_classes)."""
        return self.nonlinearity(self.outputs)

    def at(self, positions: Tensor) -> "Selected":
        """Return the part of it at some positions."""
        memory = {name: values[positions] for name, values in self.memory.items()}
        parts = {name: getattr(self, name)[positions] for name in ("outputs", "labels", "samples")}
        return replace(self, memory=memory, **parts)


class Criterion(Protocol):
    """How the loss of a batch is computed: the criterion of the estimator, in which samples count by their weights."""

    def __call__(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the loss of logits against class numbers, or against probabilities if the criterion takes them."""

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of one value per sample, for a term that a method adds to the loss."""


class MethodContext(Protocol):
    """What a method may ask of the training under way."""

    n_classes: int
    labels: Tensor
    """The class number of every sample of X; int64 Tensor of shape (n_samples,)."""
    samples: Tensor
    """The numbers of the samples that take part in training; int64 Tensor of shape (n_training,)."""
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
        """Train another network of the same kind with `method`, and return its probabilities for all samples.

        NaN for a sample that no network can learn from.
        """

    def noise_estimate(self):
        """Return a `NoiseEstimate` from networks that are trained on part of the samples.

        It is made once for the same samples, and costs a quarter of the epochs of the training at most. Raises a
        `NoEstimateError` that says why if there can be none.
        """

    def record(self, name: str, value: float) -> None:
        """Write a value into the history of the epoch."""
