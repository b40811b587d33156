"""What all training methods share: defaults for every question, and state."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import joblib
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from sklearn_lec._selection import SampleRecord
from sklearn_lec.methods.contract import Batch, Criterion, MethodContext, Selected, Selection
from sklearn_lec.methods.parameters import check_parameters, warn_of_too_few_epochs

__all__ = ["Method"]


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
    settled : dict
        Parameters that are left to the training, such as ``eps="auto"``, with the numbers found for them. A method
        reads them as the parameters that they are: from `before_training` on, `eps` is a number.
    settled_from : dict
        Digests of what these parameters were, so that others than these are settled anew.
    left_open : dict
        What these parameters were, as the user has set them; not part of the state.
    eps_of_labels : float64 Tensor of shape (n_classes,) or None
        The share of wrong labels among the samples given each label, if they are to be compared label by label.
    noise_estimate : dict or None
        The `NoiseEstimate` that `eps` was taken from, as its ``state``.

    Examples
    --------
    A method that leaves out what the network contradicts with confidence:

    >>> class Contradicted(Method):
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
    averages_networks = False
    """Whether any number of networks may be trained, which have one vote together: the user's `n_networks` decides."""
    is_past_warmup = True
    """Whether this epoch counts in the share of epochs that selected a sample."""
    largest_share = 1.0
    """The largest share of the samples that can be selected after the warm-up."""
    needs_outputs = False
    """Whether `select` looks at outputs or probabilities. Where `scope` is "epoch" they take memory for all samples."""

    epoch = 0
    record: SampleRecord | None = None
    data_identity: str | None = None
    settled: Mapping[str, float] = MappingProxyType({})
    settled_from: Mapping[str, str] = MappingProxyType({})
    left_open: Mapping[str, object] = MappingProxyType({})
    eps_of_labels: Tensor | None = None
    noise_estimate: dict | None = None

    @property
    def n_passes(self) -> int:
        """How many forward passes of each network vote in this epoch; 0 selects every sample without a question."""
        return int(type(self).select is not Method.select)

    @property
    def selects_samples(self) -> bool:
        """Whether samples may be left out, so that the criterion has to give one loss per sample."""
        return type(self).select is not Method.select

    @property
    def doubts_labels(self) -> bool:
        """Whether labels may be held to be wrong after the warm-up: samples are left out, or get other targets."""
        return self.selects_samples

    @property
    def has_own_loss(self) -> bool:
        """Whether the loss is another than that of the criterion."""
        return type(self).loss is not Method.loss

    @property
    def is_ordinary(self) -> bool:
        """Whether this is ordinary training: every sample counts, by the criterion alone, and nothing is remembered."""
        return type(self).select is Method.select and not self.has_own_loss

    @property
    def same_samples_for_all(self) -> bool:
        """Whether all networks learn from the same samples."""
        return self.n_networks == 1 or self.averages_networks

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

    def memory_of_nonfinite(self, samples: Tensor) -> dict[str, Tensor]:
        """Return what to remember of samples that are left out because their loss is NaN or infinite.

        Parameters
        ----------
        samples : int64 Tensor of shape (n_samples,)

        Returns
        -------
        memory : dict from str to Tensor of shape (n_samples, ...)
        """
        return {}

    def loss(self, criterion: Criterion, batch: Selected) -> Tensor:
        """Return the loss of one network on the samples that it learns from.

        Parameters
        ----------
        criterion : callable (outputs, targets) -> scalar Tensor
            Targets are class numbers, or probabilities of shape (n_samples, n_classes) if the criterion takes them. A
            term of one value per sample is added as ``criterion.mean(values)``: both count samples by their weights.
        batch : Selected

        Returns
        -------
        loss : scalar Tensor
        """
        return criterion(batch.outputs, batch.labels)

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

    def trusted(self) -> Tensor | None:
        """Return the samples whose labels count as right, if a method that selects all of them teaches others instead.

        Returns
        -------
        trusted : bool Tensor of shape (n_samples_in_X,) or None
            What ``clean_mask_`` and ``clean_score_`` are about, among the samples selected in the epoch that ends;
            None for all of these.
        """
        return None

    def trusted_among(self, samples: Tensor) -> Tensor | None:
        """Return which of some samples the user has marked as `trusted`, with a label to be taken as it is.

        Parameters
        ----------
        samples : int64 Tensor of shape (n_samples,)

        Returns
        -------
        trusted : bool Tensor of shape (n_samples,) or None
            None if the user has marked none. They are selected whatever `select` says; a `loss` that doubts labels
            should not doubt theirs.
        """
        return None if self.record is None or self.record.trusted is None else self.record.trusted[samples]

    # --- hooks ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise an error if a parameter is out of bounds; names of the estimator's parameters keep their meaning."""
        if self.scope not in ("batch", "epoch"):
            raise ValueError(f"{type(self).__name__}.scope must be 'batch' or 'epoch', got {self.scope!r}.")
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

    @torch.no_grad()
    def decide(self, batch: Batch) -> Selection:
        """Return what `select` says of a batch, or raise an error that says what is wrong with it.

        Samples that are no candidates in the record are left out, and trusted ones never are.
        """
        selection, n_samples = self.select(batch), len(batch)
        if not isinstance(selection, Selection):
            raise TypeError(f"{type(self).__name__}.select must return a Selection, got {type(selection).__name__}.")
        mask = selection.mask
        if mask is not None and (mask.shape[-1] != n_samples or mask.shape[0] not in (1, self.n_networks)):
            raise ValueError(
                f"{type(self).__name__}.select returned a mask of shape {tuple(mask.shape)} for {n_samples} samples "
                f"and {self.n_networks} network(s). It must hold a boolean per sample, or a row of them per network."
            )
        for name, values in selection.memory.items():
            table = self.record.memory.get(name)
            if table is None:
                raise ValueError(
                    f"{type(self).__name__}.select remembers {name!r}, but sample_memory declares "
                    f"{', '.join(self.record.memory) or 'nothing'}."
                )
            fits = values.shape[:1] == (n_samples,) and values.shape[1:] == table.shape[1:]
            if not (fits and torch.can_cast(values.dtype, table.dtype)):
                raise ValueError(
                    f"{type(self).__name__}.select remembers {name!r} as {values.dtype} of shape "
                    f"{tuple(values.shape)}, but sample_memory declares {table.dtype}, of shape "
                    f"{(n_samples, *table.shape[1:])} for {n_samples} samples."
                )
        if self.record is None:
            return selection
        admitted = self.record.admitted(mask, batch.samples, is_past_warmup=self.is_past_warmup)
        return selection if admitted is mask else replace(selection, mask=admitted)

    def reset(self, n_samples: int, *, n_classes: int, identity: str = "", **record) -> None:
        """Forget all samples: the training that follows is on `n_samples` samples that have not been seen before.

        `record` is what else the constructor of `SampleRecord` is told.
        """
        self.data_identity = identity
        self.noise_estimate = None
        if self.eps_of_labels is not None:  # with how many labels of each kind there are, the overall share changes
            self._reopen("eps")
            self.eps_of_labels = None
        self.record = SampleRecord(n_samples, memory=self.sample_memory(n_classes), **record)

    def settle(self, **values: float) -> None:
        """Give parameters that are left to the training the values that were found for them."""
        self.left_open = {**{name: getattr(self, name) for name in values}, **self.left_open}
        self.settled_from = {name: joblib.hash(value) for name, value in self.left_open.items()}
        self.settled = {**self.settled, **values}
        vars(self).update(values)

    def _reopen(self, *names: str) -> None:
        """Put back what the user has set for parameters that were settled."""
        for name in names:
            setattr(self, name, self.left_open[name])
        for attribute in ("left_open", "settled", "settled_from"):
            rest = {name: value for name, value in getattr(self, attribute).items() if name not in names}
            setattr(self, attribute, rest)

    def begin_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch += 1
        self.record.current.zero_()

    def end_epoch(self) -> int:
        """Finish the epoch under way and return how many samples it selected, and trusts."""
        trusted = self.trusted()
        if trusted is not None:
            self.record.current &= trusted
        return self.record.close_epoch(is_past_warmup=self.is_past_warmup)

    def state_dict(self) -> dict:
        """Return all that the method remembers, without its parameters."""
        left_out = {"left_open", "n_networks", *self.get_params(deep=False)}
        state = {name: value for name, value in vars(self).items() if name not in left_out}
        if self.record is not None:
            state["record"] = dict(vars(self.record))
        return {"method": type(self).__name__, "state": state}

    def load_state_dict(self, state: dict) -> None:
        """Take over a copy of what `state_dict` returned."""
        if state["method"] != type(self).__name__:
            raise ValueError(
                f"this is the state of {state['method']}, and cannot be loaded into {type(self).__name__}."
            )
        state = copy.deepcopy(state["state"])
        if state.get("record") is not None:
            record = SampleRecord(0)
            vars(record).update(state["record"])
            state["record"] = record
        self._reopen(*self.left_open)
        for name in vars(self).keys() - self.get_params(deep=False).keys() - {"n_networks"}:
            delattr(self, name)
        vars(self).update(state)
        settled, origins = vars(self).pop("settled", {}), vars(self).pop("settled_from", {})
        for name, value in settled.items():
            if joblib.hash(getattr(self, name)) == origins[name]:
                self.settle(**{name: value})
                continue
            # It has been set to something else since, and what was found with it does not count any more.
            if name == "eps":
                self.eps_of_labels = self.noise_estimate = None
            if self.record is not None:
                self.record.candidates = None
