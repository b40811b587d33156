"""Questions to torch modules, and settings of theirs that are changed for the length of a block."""

import math
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.instancenorm import _InstanceNorm

from sklearn_lec._selection import array_if_on_host, on_host

__all__ = [
    "batchnorm_in_evaluation",
    "batchnorm_statistics",
    "class_weights",
    "has_convolutions",
    "label_to_ignore",
    "mend_batchnorm",
    "one_loss_per_sample",
    "to_host",
    "untracked_batchnorm",
    "uses_batch_statistics",
    "voting_mode",
]


@contextmanager
def untracked_batchnorm(module: nn.Module):
    """Let batch norm use the statistics of the batch without adding them to its running statistics."""
    instance_norms = [layer for layer in module.modules() if isinstance(layer, _InstanceNorm)]
    with (
        _attribute_of_all(_batchnorm_layers(module), "track_running_stats", False),
        _attribute_of_all(instance_norms, "momentum", 0.0),  # they count whatever that attribute says
    ):
        yield


@contextmanager
def batchnorm_in_evaluation(module: nn.Module):
    """Let batch norm use its running statistics, whatever the mode of the rest."""
    with _attribute_of_all(_batchnorm_layers(module), "training", False):
        yield


@contextmanager
def voting_mode(module: nn.Module):
    """Hold a block in evaluation mode, in which batch norm all the same uses the statistics of the batch.

    Running statistics lag behind the weights, the more so the fewer batches an epoch has: for the first epochs of a
    small data set they are those of another network. Layers that the network itself keeps frozen stay frozen.
    """
    module.train()
    in_use = [layer for layer in _batchnorm_layers(module) if layer.training]
    module.eval()
    with untracked_batchnorm(module), _attribute_of_all(in_use, "training", True):
        yield


def uses_batch_statistics(module: nn.Module) -> bool:
    """Return whether a batch norm layer takes the statistics of the batch, which a single sample does not have."""
    return any(layer.training for layer in _batchnorm_layers(module))


@contextmanager
def one_loss_per_sample(criterion: nn.Module, *, weigh_classes: bool = False):
    """Let the criterion return one loss per sample.

    Class weights say how much a class counts in the update. Where losses are compared to tell right labels from wrong
    ones they are switched off, as an up-weighted class would be left out first.
    """
    keeps_weights = weigh_classes or class_weights(criterion) is None
    with (
        _attribute_of_all([criterion], "reduction", "none"),
        nullcontext() if keeps_weights else _attribute_of_all([criterion], "weight", None),
    ):
        yield


def class_weights(criterion) -> Tensor | None:
    """Return the class weights of a criterion, if it has any; a plain function or None has not."""
    return dict(criterion.named_buffers()).get("weight") if isinstance(criterion, nn.Module) else None


def label_to_ignore(criterion: nn.Module) -> int | None:
    """Return the label with which the criterion can be told to ignore a sample; None if it knows none."""
    knows_one = type(criterion) in (nn.CrossEntropyLoss, nn.NLLLoss) and criterion.ignore_index < 0
    return criterion.ignore_index if knows_one else None


def batchnorm_statistics(module: nn.Module) -> dict[nn.Module, dict[str, Tensor]]:
    """Return a copy of the running statistics of each batch norm layer."""
    return {
        layer: {name: buffer.clone() for name, buffer in layer.named_buffers()} for layer in _batchnorm_layers(module)
    }


def mend_batchnorm(module: nn.Module, before: dict[nn.Module, dict[str, Tensor]]) -> None:
    """Put back running statistics from `before` where a batch with NaN or infinite values has made them useless."""
    for layer in _batchnorm_layers(module):
        if layer.running_mean is not None and not (layer.running_mean + layer.running_var).isfinite().all():
            for name, buffer in layer.named_buffers():
                buffer.copy_(before[layer][name])


def has_convolutions(module: nn.Module) -> bool:
    """Return whether a network has a convolutional layer."""
    return any(isinstance(layer, _ConvNd) for layer in module.modules())


def _batchnorm_layers(module):
    return [layer for layer in module.modules() if isinstance(layer, _BatchNorm)]


@contextmanager
def _attribute_of_all(modules, name, value):
    """Set an attribute of several modules, and put the old values back at the end of the block."""
    before = [getattr(module, name) for module in modules]
    try:
        for module in modules:
            setattr(module, name, value)
        yield
    finally:
        for module, old in zip(modules, before, strict=True):
            setattr(module, name, old)


def to_host(losses: Tensor, mask: Tensor | None, loss: Tensor | None) -> list[float]:
    """Bring to the host, in one transfer, the largest loss, the loss of the update, and the numbers selected.

    Parameters
    ----------
    losses : Tensor of shape (n_voters, n_samples)
    mask : bool Tensor of shape (n_masks, n_samples) or None
    loss : scalar Tensor or None

    Returns
    -------
    values : list of float
        The largest absolute loss, the loss of the update (NaN if None), and a number for each mask.
    """
    if on_host(losses):
        largest = float(abs(array_if_on_host(losses)).max())
        value = math.nan if loss is None else loss.item()
        return [largest, value, *(() if mask is None else array_if_on_host(mask).sum(1))]
    largest = losses.abs().max()  # NaN, if there is one
    value = torch.full_like(largest, math.nan) if loss is None else loss.detach().to(largest)
    counts = largest.new_empty(0) if mask is None else mask.sum(dim=1).to(largest)
    return torch.cat([torch.stack([largest, value]), counts]).tolist()
