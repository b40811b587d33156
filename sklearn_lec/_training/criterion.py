"""The criterion as methods see it: a loss of one batch, in which samples count by their weights."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from sklearn_lec._training.torch_utils import class_weights, one_loss_per_sample
from sklearn_lec.methods.contract import softmax

__all__ = ["WeightedCriterion", "check_criterion", "criterion_of", "nonlinearity_of", "without_class_weights"]


class WeightedCriterion:
    """The `Criterion` of a batch, in which each sample counts by its weight.

    Parameters
    ----------
    criterion : nn.Module
    compute : callable (outputs, targets) -> Tensor
        Applies the criterion.
    sample_weight : Tensor of shape (n_samples,) or None
        None for equal weights.
    """

    def __init__(self, criterion, compute, sample_weight):
        self.criterion = criterion
        self.compute = compute
        self.sample_weight = sample_weight

    def __call__(self, outputs, targets) -> Tensor:
        by_class = class_weights(self.criterion)
        if self.sample_weight is None and (by_class is None or not targets.is_floating_point()):
            return self.compute(outputs, targets)
        weights = outputs.new_ones(len(outputs)) if self.sample_weight is None else self.sample_weight
        with one_loss_per_sample(self.criterion, weigh_classes=True):
            total = (weights * self.compute(outputs, targets)).sum()
        if self.criterion.reduction == "sum":
            return total
        if targets.is_floating_point():
            # torch divides by the number of samples here, but by the weights of the classes for class numbers: a
            # method that goes over from these to probabilities would change the scale of the loss.
            return total / (weights if by_class is None else weights * (targets @ by_class.to(targets))).sum()
        counting = weights * (targets != getattr(self.criterion, "ignore_index", None))
        return total / (counting if by_class is None else counting * by_class[targets]).sum()

    def mean(self, values) -> Tensor:
        """Return the mean of one value per sample; the sum, if the criterion sums up."""
        is_sum = getattr(self.criterion, "reduction", "mean") == "sum"
        if self.sample_weight is None:
            return values.sum() if is_sum else values.mean()
        total = (self.sample_weight * values).sum()
        return total if is_sum else total / self.sample_weight.sum()


def nonlinearity_of(criterion: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return what makes probabilities of a network's outputs, as they would be without class weights.

    Examples
    --------
    >>> criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))
    >>> nonlinearity_of(criterion)(torch.tensor([[0.25, 0.75]]).log())
    tensor([[0.5000, 0.5000]])
    """
    if isinstance(criterion, nn.NLLLoss):  # skorch takes the outputs for probabilities then
        return nn.Identity()
    return lambda outputs: softmax(without_class_weights(outputs, criterion))


def without_class_weights(outputs: Tensor, criterion: nn.Module) -> Tensor:
    """Return logits as they would be without class weights.

    A network predicts a class as much more often as the cross-entropy weighs it. Without that, losses and predictions
    can be held against labels. A class with weight 0, of which nothing is learned, stays as it is, and so do the
    outputs of other criteria.
    """
    by_class = class_weights(criterion)
    if by_class is None or not isinstance(criterion, nn.CrossEntropyLoss):
        return outputs
    return outputs - by_class.where(by_class > 0, 1).to(outputs).log()


def criterion_of(net):
    """Return the criterion of a net as it was before skorch compiled it; None if a subclass gave it another name."""
    criterion = vars(net).get("criterion_")
    return getattr(criterion, "_orig_mod", criterion)


def check_criterion(criterion, *, n_classes: int, per_sample: bool) -> None:
    """Raise an error if the criterion cannot give one loss for several samples or, if asked to, one per sample."""
    fix = "Use torch.nn.CrossEntropyLoss, or a module that returns one loss per sample where its reduction is 'none'."
    name = type(criterion).__name__
    if getattr(criterion, "reduction", None) == "none":
        raise ValueError("criterion__reduction must not be 'none': an update needs one loss for all selected samples.")
    if not per_sample:
        return
    if not hasattr(criterion, "reduction"):
        raise TypeError(
            f"the criterion {name} cannot give one loss per sample, which is what methods compare: it has no attribute "
            f"reduction. {fix}"
        )
    try:
        with one_loss_per_sample(criterion):
            shape = tuple(criterion(torch.zeros(2, n_classes), torch.arange(2)).shape)
    except (RuntimeError, ValueError, IndexError) as error:
        raise ValueError(
            f"the criterion {name} cannot compare logits of shape (2, {n_classes}) with 2 labels: {error}. {fix}"
        ) from error
    if shape != (2,):
        raise ValueError(
            f"the criterion {name} with reduction='none' returned shape {shape} for 2 samples, but methods compare "
            f"one loss per sample. {fix}"
        )
