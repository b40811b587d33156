"""TrainingRun: all that lives for one call of ``fit`` or ``partial_fit``."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import joblib
import torch
from skorch import NeuralNetClassifier
from skorch.dataset import unpack_data
from torch import Tensor
from torch.utils.data import Dataset, Subset

from sklearn_lec._selection import on_host
from sklearn_lec._training.bad_samples import HugeSamples
from sklearn_lec._training.batches import (
    IndexedBatch,
    IndexedLoader,
    indexed_loader,
    reference_parameter,
    sample_numbers,
    sample_numbers_of,
    take,
)
from sklearn_lec._training.build import data_on_device, refuse_several_processes
from sklearn_lec._training.context import NetContext
from sklearn_lec._training.criterion import criterion_of
from sklearn_lec._training.labels import LabelCodes
from sklearn_lec._training.prediction_log import PredictionLog
from sklearn_lec._training.resume import Checkpoints
from sklearn_lec._training.separate_vote import decide_on_separate_vote
from sklearn_lec._training.settle import settle_eps
from sklearn_lec._training.step import FilteredLoss, Step, per_network
from sklearn_lec._training.torch_utils import untracked_batchnorm
from sklearn_lec._training.warmup import WarmupWatch, settle_warmup
from sklearn_lec._training.warn import RunWarnings
from sklearn_lec._training.whole_set import select_in_whole_set
from sklearn_lec.methods import Method, Selection

__all__ = ["InterruptedBeforeTraining", "TrainingRun"]


@dataclass
class _BatchUnderWay:
    """The batch that is trained on at the moment."""

    X: object
    samples: Tensor
    selection: Selection | None = None
    """What has been decided on it before the step; None leaves it to the step."""
    step: Step | None = None
    """What came out of it; None until its loss has been asked for."""


class InterruptedBeforeTraining(BaseException):
    """The user has stopped what comes before the first epoch.

    Not a `KeyboardInterrupt`, at which skorch would take the network as it is: it has not been trained.
    """


class TrainingRun:
    """All that lives for one call of ``fit`` or ``partial_fit``: made at its beginning, dropped at its end.

    skorch calls the estimator's hooks, and these call the run: `start` before the data is split, `begin` when the
    first epoch begins, `begin_epoch` and `end_epoch` around the batches of an epoch, `loss_of_batch` for each of them.

    Parameters
    ----------
    net : LECClassifier
        Initialized.
    X, y : the data, checked
    sample_weight : Tensor of shape (n_samples,) or None, default=None
    trusted : bool Tensor of shape (n_samples,) or None, default=None
        The samples whose labels are known to be right.
    is_resumable : bool, default=False
        Whether to write checkpoints into the net's ``checkpoint_dir``, if it has one.

    Attributes
    ----------
    fit_params : dict
        Passed to the network.
    dataset : Dataset
        All of X and y; sample numbers are positions in it.
    label_codes : LabelCodes
        From labels to class numbers.
    codes : int64 Tensor of shape (n_samples,)
        The class number of every sample.
    dataset_train : Dataset or None
        What is trained on, once the data is split.
    numbers : int64 Tensor of shape (n_training,) or None
        The numbers of the samples in it.
    reference : Tensor or None
        A parameter of the network during an epoch: batches are brought to its device and precision.
    last_epoch : int
        The number of the epoch with which the run will end.
    checkpoints : Checkpoints or None
    huge : HugeSamples
        Left out of the training.
    separate_vote : bool
        Whether the votes after the warm-up have a pass of their own.
    log : PredictionLog or None
        Takes down what is predicted of each sample, once an epoch has begun.
    watch : WarmupWatch or None
        What is seen of the warm-up, once the training begins.
    batch : _BatchUnderWay or None
    """

    def __init__(self, net, X, y, *, sample_weight=None, trusted=None, is_resumable=False):
        self.net = net
        self.X, self.y = X, y
        self.sample_weight = sample_weight
        self.trusted = trusted
        self.fit_params = {}
        self.label_codes = LabelCodes(net.classes_inferred_)
        self.codes = self.label_codes(y)
        self.numbers: Tensor | None = None
        self.dataset = net.get_dataset(X, y)
        self.dataset_train: Dataset | None = None
        self.log: PredictionLog | None = None
        self.last_epoch = 0
        self.separate_vote = False
        self.huge = HugeSamples(self.dataset)
        self.batch: _BatchUnderWay | None = None
        self.reference: Tensor | None = None
        self.checkpoints = None
        if is_resumable and net.checkpoint_dir is not None:
            data = {"X": X, "y": y, "sample_weight": sample_weight}
            self.checkpoints = Checkpoints(net, data if trusted is None else data | {"trusted": trusted}, self.huge)
        self.watch: WarmupWatch | None = None
        self._arrays = data_on_device(net, self.dataset)
        self._loss: FilteredLoss | None = None
        self._selected_in_epoch: Tensor | None = None
        self._warnings = RunWarnings()

    @property
    def method(self) -> Method:
        """The method in training."""
        return self.net.method_

    # --- the beginning --------------------------------------------------------------------------------------------

    def start(self, epochs: int | None) -> int:
        """Resume if there is something to resume, and return how many epochs are left; `max_epochs` if None."""
        if epochs is None and self.checkpoints is not None:
            self.checkpoints.resume(self.fit_params)
            epochs = max(0, self.net.max_epochs - len(self.net.history))
        epochs = self.net.max_epochs if epochs is None else epochs
        self.last_epoch = len(self.net.history) + epochs
        return epochs

    def finish(self) -> None:
        """End the run after its last epoch."""
        if self.checkpoints is not None:
            self.checkpoints.go_on()  # if there was no epoch left

    def close(self) -> None:
        """Let go of what others may wait for, however the run ended."""
        if self.checkpoints is not None:
            self.checkpoints.close()

    def begin(self, dataset_train: Dataset | None) -> None:
        """Get ready for the first epoch: recognize the samples, and let the method prepare itself."""
        if self.dataset_train is not None:
            return
        refuse_several_processes(self.net)
        numbers = None if dataset_train is None else sample_numbers(dataset_train, self.dataset)
        if numbers is None:
            raise TypeError(
                f"train_split returned a {type(dataset_train).__name__} whose samples cannot be traced back to X. It "
                "must return the data set it was given, or a torch.utils.data.Subset of it."
            )
        self.dataset_train = dataset_train
        self.numbers = torch.from_numpy(numbers)
        self._recognize_samples()
        self.huge.warn(self.numbers)
        if self.checkpoints is not None:
            self.checkpoints.check_split()
        context = NetContext(self.net, self)
        try:
            settle_eps(self.method, context, self.label_codes.classes)
            settle_warmup(self.method, max_epochs=self.net.max_epochs)
            self.watch = WarmupWatch(self.method, self.codes)
            self.method.before_training(context)
        except KeyboardInterrupt as interrupt:
            raise InterruptedBeforeTraining from interrupt
        if self.checkpoints is not None:
            self.checkpoints.go_on()
        self.separate_vote = decide_on_separate_vote(self.net)

    def _recognize_samples(self) -> None:
        """Let the method go on with its record if these are the samples that it knows, and else begin a new one."""
        identity = joblib.hash((self.codes.numpy(), self.numbers.numpy()))
        if identity != self.method.data_identity:
            self.method.reset(
                len(self.dataset),
                n_classes=len(self.label_codes.classes),
                training_samples=self.numbers,
                identity=identity,
                labels=self.codes,
                device=next((p.device for p in self.net.module_.parameters()), self.net.device),
            )
        device = self.method.record.current.device
        self.method.record.trusted = None if self.trusted is None else self.trusted.to(device)
        # A checkpoint without the state of the method still tells how long the network has been trained.
        self.method.epoch = max(self.method.epoch, len(self.net.history))

    # --- batches --------------------------------------------------------------------------------------------------

    def loader(self, dataset: Dataset, loader_class, arguments: dict) -> IndexedLoader:
        """Return an iterator over batches that carry their sample numbers."""
        numbers = sample_numbers(dataset, self.dataset)
        arrays = None if numbers is None else self._arrays
        return indexed_loader(dataset, loader_class, numbers=numbers, arrays=arrays, **arguments)

    def each_sample_once(self, dataset: Dataset, **changes) -> Iterable[IndexedBatch]:
        """Return batches that are prepared as in training, but show each sample exactly once, in order."""
        arguments = {"batch_size": self.net.batch_size} | self.net.get_params_for("iterator_train")
        for name in ("shuffle", "sampler", "batch_sampler", "drop_last"):
            arguments.pop(name, None)
        return self.huge.left_out_of(self.loader(dataset, self.net.iterator_train, arguments | changes))

    # --- an epoch -------------------------------------------------------------------------------------------------

    def begin_epoch(self, iterator, step_fn):
        """Begin an epoch.

        Parameters
        ----------
        iterator : iterable of batches
            Over the training set.
        step_fn : callable batch -> dict
            The training step of the estimator, whoever has overridden it.

        Returns
        -------
        iterator : iterable of batches
            The batches of the epoch; only selected samples, if the method selects before the epoch.
        step_fn : callable batch -> dict
            The step, during which the run knows the batch.
        """
        net, method = self.net, self.method
        self.reference = reference = reference_parameter(net.module_)
        self._loss = FilteredLoss(
            method,
            criterion_of(net),
            net.module_,
            forward=lambda X: net.infer(X, **self.fit_params),
            compute=partial(NeuralNetClassifier.get_loss, net),
            sample_weight=None if self.sample_weight is None else self.sample_weight.to(reference.device),
            warn_of_bad_samples=lambda samples: self._warnings.of_bad_samples(samples, epoch=method.epoch),
        )
        self.log = PredictionLog(method, self._loss.nonlinearity)
        method.begin_epoch()
        method.before_epoch(NetContext(net, self))
        self._selected_in_epoch = None
        has_predicted_all = method.scope == "epoch" and method.n_passes > 0
        if has_predicted_all:
            iterator = self._over_selected_samples(iterator)
        is_separate = self.separate_vote and method.is_past_warmup and self._loss.votes_in_batches
        train = self._train_with_separate_vote if is_separate else self._train

        def step(batch, **fit_params):
            return train(batch, step_fn, fit_params)

        return self.huge.left_out_of(iterator), step if has_predicted_all else self.log.watching(step)

    def end_epoch(self) -> None:
        """End an epoch: count what was selected, and warn where that is too little."""
        net, method = self.net, self.method
        self.reference = None
        n_selected = method.end_epoch()
        net.history.record("n_selected", n_selected)
        is_last = method.epoch == self.last_epoch
        self.huge.warn(self.numbers, is_last=is_last)
        self._warnings.of_lost_classes(method, codes=self.codes, classes=self.label_codes.classes, is_last=is_last)
        if is_last:
            self._warnings.of_rare_classes(method, codes=self.codes, classes=self.label_codes.classes)
        if self._loss.passes_differ is False:
            self._warnings.of_equal_passes(method)
        self.watch.end_epoch(net.history.record, partial(self._warnings.of_memorized, method))
        method.after_epoch(NetContext(net, self))
        if n_selected == 0 and method.trusted() is None:
            self._warnings.of_nothing_selected(epoch=method.epoch)

    def _over_selected_samples(self, iterator):
        """Let the method select among all training samples, and return an iterator over those selected."""
        net = self.net
        selected = select_in_whole_set(self, self._loss, self.log)
        if selected is None:
            return iterator
        self._selected_in_epoch = selected
        arguments = net.get_params_for("iterator_train")
        if arguments.get("sampler") is not None or arguments.get("batch_sampler") is not None:
            return iterator  # a sampler of the user's counts on the whole set; samples are left out batch by batch
        positions = selected.cpu()[self.numbers].numpy().nonzero()[0]
        over_selected = net.get_iterator(Subset(self.dataset_train, positions), training=True) if len(positions) else ()
        # An epoch without batches would leave skorch's callbacks without a loss or a prediction to look at.
        if not len(over_selected):
            return iterator
        self._selected_in_epoch = None  # no batch has a sample to be left out
        return over_selected

    # --- a batch --------------------------------------------------------------------------------------------------

    def _train(self, batch, step_fn, fit_params: dict, *, selection: Selection | None = None) -> dict:
        """Run the training step on a batch; report the mean loss over the networks, and what was selected of it."""
        samples = sample_numbers_of(batch)
        if selection is None and self._selected_in_epoch is not None:
            selection = Selection(self._selected_in_epoch[samples.to(self._selected_in_epoch.device)])
        self.batch = _BatchUnderWay(unpack_data(batch)[0], samples, selection)
        try:
            step = step_fn(batch, **fit_params)
            if self.batch.step is None:
                self.batch.step = self._step_with_loss_of_user(step["loss"], samples)
            batch.selected = self.batch.step.selected
        finally:
            self.batch = None
        n_networks = self.method.n_networks
        return step if n_networks == 1 else step | {"loss": step["loss"].detach() / n_networks}

    def _train_with_separate_vote(self, batch, step_fn, fit_params: dict) -> dict:
        """Vote in a pass without gradients, and run the training step on the selected samples alone."""
        X, y = unpack_data(batch)
        self.net.module_.train()
        mask, memory, outputs = self._loss.select(X, self.label_codes(y, known=True), sample_numbers_of(batch))
        positions = mask.nonzero().flatten()
        if len(positions) == 0:
            # The step is run all the same, for what users count in it; it must leave no trace.
            devices = [self.reference.device] if self.reference.is_cuda else []
            with untracked_batchnorm(self.net.module_), torch.random.fork_rng(devices):
                return self._train(batch, step_fn, fit_params, selection=Selection(mask))
        selected = IndexedBatch(take(X, positions), take(y, positions), take(batch.samples, positions))
        step = self._train(selected, step_fn, fit_params, selection=Selection(memory=memory))
        batch.selected = mask[None]
        return step | {"y_pred": outputs}  # callbacks see the whole batch

    def is_under_way(self, labels: Tensor) -> bool:
        """Return whether these are the labels of the batch that is trained on at the moment, as far as one can tell."""
        if self.batch is None or labels.shape != self.batch.samples.shape:
            return False
        samples = self.batch.samples
        if not (on_host(labels) and on_host(samples)):  # a comparison would have to wait for the device
            return True
        return bool((labels.numpy() == self.codes.numpy()[samples.numpy()]).all())

    def loss_of_batch(self, outputs: Tensor, labels: Tensor, X=None) -> Tensor:
        """Return the loss of the batch under way, on the samples that the method selects."""
        batch = self.batch
        if batch is None:
            raise RuntimeError(
                "get_loss was called for training outside of a training step, so that it is not known which samples "
                "these are. A run_single_epoch of your own must call super().run_single_epoch."
            )
        if len(labels) != len(batch.samples):
            raise ValueError(
                f"get_loss got {len(labels)} samples of a batch of {len(batch.samples)}, so that it is not known which "
                "ones these are. Pass whole batches to train_step_single; for smaller ones lower batch_size."
            )
        if not self.is_under_way(labels):
            raise ValueError(
                "get_loss got other labels than those of the batch, or the same in another order, so that it is not "
                "known which samples these are. Targets of your own belong in the loss of a sklearn_lec.methods.Method."
            )
        samples, labels = batch.samples.to(outputs.device), labels.to(outputs.device)
        X = batch.X if X is None else X
        if self.watch.is_on:
            self.watch.add(per_network(outputs, self.method), labels)
        batch.step = self._loss(outputs, labels, X, samples=samples, selection=batch.selection)
        return batch.step.loss

    def _step_with_loss_of_user(self, loss: Tensor, samples: Tensor) -> Step:
        """Count all samples as learned from by a step that computed its loss by itself, if the method allows that."""
        if not self.method.is_ordinary:
            raise RuntimeError(
                f"the training step of {type(self.net).__name__} did not call LECClassifier.get_loss, in which "
                f"method={self.net.method!r} does its work. Call super().get_loss in get_loss, and train_step_single "
                "or get_loss in train_step; a loss of your own belongs in the parameter criterion."
            )
        self.method.record.add(samples.to(self.method.record.current.device), None)
        return Step(loss)
