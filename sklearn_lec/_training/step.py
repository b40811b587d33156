"""One training step: from a batch's outputs to votes, from votes to selected samples, from those to the loss."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sklearn_lec._selection import unanimous
from sklearn_lec._training.bad_samples import finite_samples
from sklearn_lec._training.batches import take
from sklearn_lec._training.criterion import WeightedCriterion, nonlinearity_of, without_class_weights
from sklearn_lec._training.torch_utils import (
    batchnorm_statistics,
    label_to_ignore,
    mend_batchnorm,
    one_loss_per_sample,
    to_host,
    untracked_batchnorm,
)
from sklearn_lec.methods import Batch, Method, Selected, Selection

__all__ = ["FilteredLoss", "Step", "per_network"]


@dataclass(frozen=True)
class Step:
    """What comes out of a training step.

    Parameters
    ----------
    loss : scalar Tensor
        Summed over the networks. Leads back to no parameter if nothing can be learned from the batch.
    selected : bool Tensor of shape (1, n_samples) or (n_networks, n_samples), or None
        The samples that all networks, or each of them, learned from; None for every sample.
    """

    loss: Tensor
    selected: Tensor | None = None


class FilteredLoss:
    """The loss of the samples that a method selects.

    It is called with the outputs of a batch. It asks the method which samples to learn from, and computes the loss of
    those, summed over the networks. Then it writes down which samples were selected and what the method wants to
    remember, but only when the losses have turned out to be finite. Samples whose loss is NaN or infinite are left out,
    and the others go through the network once more.

    What the host has to know before it can go on (whether all losses are finite, how many samples are left) comes from
    the device in one transfer: a step waits for the device once.

    Parameters
    ----------
    method : Method
        With a record of the samples.
    criterion : nn.Module
    module : nn.Module
        The network, or a `NetworkEnsemble` of several.
    forward : callable X -> outputs, default=module
        Runs the network once more.
    compute : callable (outputs, targets) -> Tensor, default=criterion
        Applies the criterion.
    sample_weight : Tensor of shape (n_samples_in_X,) or None, default=None
    warn_of_bad_samples : callable, default=None
        Called with the numbers of samples whose loss is NaN or infinite.

    Attributes
    ----------
    passes_differ : bool or None
        Whether several passes over the same samples had different outputs, in one batch at least; None if there was one
        pass only.

    Examples
    --------
    >>> from sklearn_lec.methods import SelfTraining
    >>> method = SelfTraining(eps=0.5, T_w=0)
    >>> method.reset(4, n_classes=2)
    >>> method.begin_epoch()
    >>> network, X, labels = nn.Linear(3, 2), torch.randn(4, 3), torch.tensor([0, 1, 0, 1])
    >>> filtered_loss = FilteredLoss(method, nn.CrossEntropyLoss(), network)
    >>> step = filtered_loss(network(X), labels, X, samples=torch.arange(4))
    >>> step.loss.requires_grad, step.selected.sum().item()
    (True, 2)
    """

    def __init__(
        self,
        method: Method,
        criterion: nn.Module,
        module: nn.Module,
        *,
        forward: Callable | None = None,
        compute: Callable[[Tensor, Tensor], Tensor] | None = None,
        sample_weight: Tensor | None = None,
        warn_of_bad_samples: Callable[[Tensor], None] | None = None,
    ):
        self.method = method
        self.criterion = criterion
        self.module = module
        self._statistics = batchnorm_statistics(module)  # of the epoch's beginning, for a batch that spoils them
        self.forward = forward or module
        self.compute = compute or criterion
        self.sample_weight = sample_weight
        self.nonlinearity = nonlinearity_of(criterion)
        self.warn_of_bad_samples = warn_of_bad_samples or (lambda samples: None)
        self.passes_differ: bool | None = None

    @property
    def votes_in_batches(self) -> bool:
        """Whether the method is asked about each batch in this epoch."""
        return self.method.scope == "batch" and self.method.n_passes > 0

    def __call__(
        self, outputs: Tensor, labels: Tensor, X, *, samples: Tensor, selection: Selection | None = None
    ) -> Step:
        """Return the loss of the selected samples, and write down what was decided.

        Parameters
        ----------
        outputs : Tensor of shape (n_samples, n_classes) or (n_samples, n_networks, n_classes)
        labels : int64 Tensor of shape (n_samples,)
        X : the inputs of the batch
            For further passes through the network.
        samples : int64 Tensor of shape (n_samples,)
            The numbers of the samples.
        selection : Selection or None, default=None
            What has been decided on the batch before; None asks the method, if it is one that votes in batches.

        Returns
        -------
        step : Step
        """
        outputs = per_network(outputs, self.method)
        if selection is not None or not self.votes_in_batches:
            selection = selection or Selection()
            # What is left out must be finite, too: a gradient of 0 times NaN is NaN.
            if selection.mask is not None and not torch.stack(outputs).isfinite().all():
                losses = self._losses_or(_largest_outputs(outputs), outputs, labels)
                if not losses.isfinite().all():
                    return self._loss_of_finite(losses, labels, X, samples, selection, voted=False)
            return self._loss_of_selected(outputs, labels, X, samples, selection, voted=False)
        batch = self._votes(outputs, labels, X, samples)
        selection = self.method.decide(batch)
        loss = self._loss_with_others_ignored(outputs, labels, selection.mask)
        largest, value, *n_selected = to_host(_evidence(batch), selection.mask, loss)
        if not math.isfinite(largest):
            losses = self._losses_or(_evidence(batch), batch.outputs, labels)
            if not losses.isfinite().all():  # else a network rules out a class by an output of -inf
                return self._loss_of_finite(losses, labels, X, samples, selection, voted=True)
        if all(n_selected) and math.isfinite(value):
            return self._write_down(loss, samples, selection)
        return self._loss_of_selected(outputs, labels, X, samples, selection, voted=True)

    @torch.no_grad()
    def select(self, X, labels: Tensor, samples: Tensor) -> tuple[Tensor, dict[str, Tensor], Tensor]:
        """Select among the samples of a batch in a pass of its own, and remember the votes on those left out.

        Parameters
        ----------
        X : the inputs of the batch
        labels : int64 Tensor of shape (n_samples,)
        samples : int64 Tensor of shape (n_samples,)

        Returns
        -------
        mask : bool Tensor of shape (n_samples,)
            The samples that all networks learn from. None of them has a loss that is NaN or infinite.
        memory : dict from str to Tensor of shape (n_selected, ...)
            What is to be remembered of them after the step.
        outputs : Tensor
            Those of the pass.
        """
        # The pass must not move batch norm's running statistics: the one that is trained on will.
        with untracked_batchnorm(self.module):
            outputs = self.forward(X)
        torch.clear_autocast_cache()  # weights that were cast without a gradient are of no use to the pass that follows
        labels, samples = labels.to(outputs.device), samples.to(outputs.device)
        batch = self._votes(per_network(outputs, self.method), labels, X, samples)
        selection, losses = self.method.decide(batch), _evidence(batch)
        if not math.isfinite(to_host(losses, None, None)[0]):
            losses = self._losses_or(losses, batch.outputs, labels)
        if losses.isfinite().all():
            if selection.mask is not None and len(selection.mask) > 1:
                raise ValueError(
                    f"{type(self.method).__name__}.select returned a mask for each network, which separate_vote=True "
                    "cannot run. Use separate_vote=False, and do not set same_samples_for_all."
                )
            mask = torch.ones_like(labels, dtype=torch.bool) if selection.mask is None else selection.mask[0]
            self.method.record.remember(samples[~mask], _part(selection.memory, ~mask))
            return mask, _part(selection.memory, mask), outputs
        finite = finite_samples(losses, X)
        if finite.all():  # the network is broken, and no sample
            finite = ~finite
        self._leave_out(samples[~finite])
        mask, memory = torch.zeros_like(finite), {}
        if finite.any():
            mask[finite], memory, _ = self.select(take(X, finite), labels[finite], samples[finite])
        return mask, memory, outputs

    def select_among_all(self, losses: Tensor, outputs, codes: Tensor, samples: Tensor) -> Tensor | None:
        """Select among all training samples before an epoch, and remember the votes.

        Parameters
        ----------
        losses : Tensor of shape (n_networks, n_training)
        outputs : sequence of Tensors of shape (n_training, n_classes)
            One for each network, or none if the method does not need them.
        codes : int64 Tensor of shape (n_samples_in_X,)
            The given labels as class numbers.
        samples : int64 Tensor of shape (n_training,)

        Returns
        -------
        selected : bool Tensor of shape (n_samples_in_X,), or None for every training sample
        """
        finite = losses.isfinite().all(dim=0)
        all_finite = bool(finite.all())
        if not all_finite:
            self._leave_out(samples[~finite])
            losses, samples, outputs = losses[:, finite], samples[finite], [output[finite] for output in outputs]
        labels = codes.to(samples.device)[samples]
        batch = Batch(outputs, labels, samples, losses=losses, nonlinearity=self.nonlinearity)
        selection = self.method.decide(batch)
        if selection.mask is not None and len(selection.mask) > 1:
            raise ValueError(
                f"{type(self.method).__name__}.select returned a mask for each network, but where scope is 'epoch' all "
                "networks run over the same samples. Return one mask, or use scope = 'batch'."
            )
        self.method.record.remember(samples, selection.memory)
        if selection.mask is None and all_finite:
            return None
        selected = torch.zeros(len(codes), dtype=torch.bool, device=samples.device)
        selected[samples] = True if selection.mask is None else selection.mask[0]
        return selected

    # --- votes ----------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def sample_losses(self, outputs: tuple[Tensor, ...], labels: Tensor) -> Tensor:
        """Return the loss of each sample for each network, without class weights; shape (n_networks, n_samples)."""
        criterion = self.criterion
        outputs = [without_class_weights(output, criterion) for output in outputs]
        if type(criterion) is nn.CrossEntropyLoss:  # the same as below, without the detour
            options = {"ignore_index": criterion.ignore_index, "label_smoothing": criterion.label_smoothing}
            losses = [F.cross_entropy(output, labels, reduction="none", **options) for output in outputs]
        else:
            with one_loss_per_sample(criterion):
                losses = [self.compute(output, labels) for output in outputs]
        return losses[0].unsqueeze(dim=0) if len(losses) == 1 else torch.stack(losses)

    @torch.no_grad()
    def _votes(self, outputs, labels, X, samples) -> Batch:
        """Return what the method is to decide on: the outputs of this pass, and of as many more as it asks for."""
        outputs, n_more = tuple(output.detach() for output in outputs), self.method.n_passes - 1
        if n_more > 0:
            # The pass that is trained on votes too; further ones must not move batch norm's running statistics, to
            # which this batch, wrong labels and all, has contributed once already.
            with untracked_batchnorm(self.module):
                passes = [per_network(self.forward(X), self.method) for _ in range(n_more)]
            # A difference is looked for until one is found: in the first batch, if anything in the network is random.
            self.passes_differ = self.passes_differ or not torch.equal(outputs[0], passes[0][0])
            outputs = (*outputs, *(output for outputs_of_pass in passes for output in outputs_of_pass))
        losses = partial(self.sample_losses, outputs, labels)
        return Batch(outputs, labels, samples, losses=losses, nonlinearity=self.nonlinearity)

    # --- the loss of the update -----------------------------------------------------------------------------------

    def _loss_with_others_ignored(self, outputs, labels, mask) -> Tensor | None:
        """Return the loss of the selected samples, without the host having to know which; None if not possible.

        Only for a method that leaves the loss to the criterion: a loss of its own never sees a sample that is left out.
        """
        ignored = label_to_ignore(self.criterion)
        if self.method.has_own_loss or ignored is None or self.sample_weight is not None:
            return None
        labels = labels.expand(1, -1) if mask is None else labels.where(mask, ignored)
        parts = [self.compute(*of) for of in zip(outputs, labels.expand(len(outputs), -1), strict=True)]
        return sum(parts[1:], start=parts[0])

    def _loss_of_selected(self, outputs, labels, X, samples, selection, *, voted) -> Step:
        """Return the sum over the networks of the loss on the samples that each of them learns from.

        `voted` says whether the selection is the vote of this batch.
        """
        mask = selection.mask
        positions = [None] if mask is None else [row.nonzero().flatten() for row in mask]
        positions = positions * len(outputs) if len(positions) == 1 else positions
        everything = [
            Selected(output, labels, samples, network, selection.memory, self.nonlinearity)
            for network, output in enumerate(outputs)
        ]
        parts = [self._loss_of_network(*of) for of in zip(everything, positions, strict=True)]
        parts = [part for part in parts if part is not None]
        if not parts:
            return self._write_down(self._no_update(self.sample_losses(outputs, labels)), samples, selection)
        loss = sum(parts[1:], start=parts[0])
        if math.isfinite(loss.item()):
            return self._write_down(loss, samples, selection)
        losses = self._losses_or(loss.detach().expand(1, len(labels)), outputs, labels)
        return self._loss_of_finite(losses, labels, X, samples, selection, voted=voted)

    def _losses_or(self, otherwise: Tensor, outputs, labels) -> Tensor:
        """Return the losses of the samples, or something else if the criterion only gives means."""
        return self.sample_losses(outputs, labels) if hasattr(self.criterion, "reduction") else otherwise

    def _loss_of_network(self, batch: Selected, positions) -> Tensor | None:
        """Return the loss of one network on the samples at `positions`, all if None; None if there are none."""
        if positions is not None and len(positions) == 0:
            return None
        # Where nothing is left out, the step is bit for bit the one of skorch.
        if positions is not None and len(positions) < len(batch.labels):
            batch = batch.at(positions)
        weights = None
        if self.sample_weight is not None:
            weights = self.sample_weight[batch.samples].to(batch.outputs)
            if not weights.any():
                return None
        loss = self.method.loss(WeightedCriterion(self.criterion, self.compute, weights), batch)
        if not isinstance(loss, Tensor) or loss.ndim > 0:
            raise TypeError(f"{type(self.method).__name__}.loss must return a scalar tensor, got {loss!r}.")
        return loss

    def _no_update(self, losses) -> Tensor:
        """Return a loss to report that leads back to no parameter: without a gradient, no optimizer moves anything."""
        losses = losses.detach()
        return (losses[losses.isfinite()].mean() * self.method.n_networks).requires_grad_()

    # --- afterwards -----------------------------------------------------------------------------------------------

    def _write_down(self, loss, samples, selection) -> Step:
        """Write the selection and what the method remembers into the record, and return the step."""
        self.method.record.add(samples, None if selection.mask is None else unanimous(selection.mask))
        self.method.record.remember(samples, selection.memory)
        return Step(loss, selection.mask)

    def _leave_out(self, samples) -> None:
        """Warn of samples whose loss is NaN or infinite, and let the method remember it."""
        self.warn_of_bad_samples(samples)
        self.method.record.remember(samples, self.method.memory_of_nonfinite(samples))

    def _loss_of_finite(self, losses, labels, X, samples, selection, *, voted) -> Step:
        """Return the loss without the samples whose own loss is NaN or infinite; no update if that is all of them.

        A second pass is needed, because even with weight zero they would turn the gradient into NaN.
        """
        finite = finite_samples(losses, X)
        mend_batchnorm(self.module, self._statistics)
        if losses.isfinite().all():  # only the loss of the whole is not finite, as with class weights of 0: votes count
            self.warn_of_bad_samples(samples)
            self.method.record.remember(samples, selection.memory)
            return Step(self._no_update(losses), torch.zeros_like(finite[None]))
        if finite.all():  # the inputs are finite, but no loss is: the network is broken, and no sample
            finite = ~finite
        self._leave_out(samples[~finite])
        if not finite.any():
            return Step(self._no_update(losses), finite[None])
        X, mask = take(X, finite), selection.mask
        # The vote of this batch is held again without them; a selection that was made before the step stays.
        rest = Selection(None if mask is None else mask[:, finite], _part(selection.memory, finite))
        selection = None if voted else rest
        step = self(self.forward(X), labels[finite], X, samples=samples[finite], selection=selection)
        selected = finite.repeat(1 if step.selected is None else len(step.selected), 1)
        selected[:, finite] = True if step.selected is None else step.selected
        return Step(step.loss, selected)


def _part(memory, at: Tensor) -> dict[str, Tensor]:
    """Return what is to be remembered of some of the samples, given by a mask or by positions."""
    return {name: values[at] for name, values in memory.items()}


def _evidence(batch: Batch) -> Tensor:
    """Return what tells whether samples are finite: losses, if the method asked for them, else the largest outputs."""
    losses = vars(batch).get("losses")
    return _largest_outputs(batch.outputs) if losses is None else losses


def _largest_outputs(outputs) -> Tensor:
    """Return the largest absolute output per voter and sample; shape (n_voters, n_samples)."""
    return torch.stack([output.detach().abs().amax(dim=-1) for output in outputs])


def per_network(outputs: Tensor, method: Method) -> tuple[Tensor, ...]:
    """Return the outputs of each network that the method trains."""
    return outputs.unbind(dim=1) if method.n_networks > 1 else (outputs,)
