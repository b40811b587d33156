"""The epochs of a training: rows that are recognised, batches that know them, records and warnings."""

import warnings

import joblib
import numpy as np
import torch
from skorch.dataset import get_len, unpack_data
from torch.utils.data import Subset

from sklearn_lec.data import (
    arrays_in_memory,
    innermost,
    matching,
    numbered_batches,
    rows_within,
    typical_parameter,
)
from sklearn_lec.filtering import FilteredLossMixin, per_network
from sklearn_lec.switches import batchnorm_in_evaluation, has_convolutions, untracked_batchnorm
from sklearn_lec.trainer import NetTrainer

__all__ = ["ConsensusTrainingMixin"]

APART_BELOW = 0.5
"""The share of kept rows below which the vote has a pass of its own: with backward passes of about twice a forward one
that takes 1 + 3 * share instead of 3 passes. See benchmarks/speed."""


class ConsensusTrainingMixin(FilteredLossMixin):
    """Give a skorch classifier the training of a `Method`, epoch by epoch."""

    _whole_ = None
    _on_device_ = None
    _like_ = None
    _warned_of_ = frozenset()
    _codes_ = None

    def __getstate__(self):
        # A net that is pickled in the middle of a training (Checkpoint does) must not take the data along.
        passing = {"_rows_", "_fit_params_", "_kept_in_epoch_", "_whole_", "_run_", "_codes_", "_sample_weight_"}
        passing |= {"_checkpoint_", "_random_before_", "_fetched_loss_", "_on_device_", "_like_"}
        return {name: value for name, value in super().__getstate__().items() if name not in passing}

    def get_split_datasets(self, X, y=None, **fit_params):
        """Split into training and validation sets, and note which rows of X are for training."""
        self._whole_ = self.get_dataset(X, y)
        dataset_train, dataset_valid = super().get_split_datasets(self._whole_, y, **fit_params)
        rows = rows_within(dataset_train, self._whole_)
        if rows is None:
            raise TypeError(
                f"train_split returned a {type(dataset_train).__name__} whose rows cannot be traced back to X. It must "
                "return the data set it was given, or a torch.utils.data.Subset of it."
            )
        if not isinstance(self.data_on_device, bool | np.bool_):
            raise TypeError(f"data_on_device must be True or False, got {self.data_on_device!r}.")
        self._on_device_ = self._put_on_device() if self.data_on_device else None
        self._recognise_rows(rows, y)
        self.method_.before_training(NetTrainer(self, dataset_train, X=X, y=y, fit_params=fit_params))
        return dataset_train, dataset_valid

    def _put_on_device(self):
        """Return X, on the device and in the precision of the network, and y."""
        arrays = arrays_in_memory(innermost(self._whole_)[0])
        in_the_way = [
            f"{iterator}__{name}"
            for iterator in ("iterator_train", "iterator_valid")
            for name, value in self.get_params_for(iterator).items()
            if name in ("num_workers", "pin_memory", "collate_fn") and value
        ]
        if arrays is None or in_the_way:
            reason = f"{in_the_way[0]} is set" if in_the_way else "X is a Dataset that loads its rows"
            raise ValueError(
                f"data_on_device=True moves X to the device as a whole and takes batches from it there, but {reason}. "
                "Leave data_on_device False, or pass arrays or tensors and plain batches."
            )
        X, y = arrays
        return matching(X, typical_parameter(self.module_)), y

    def _recognise_rows(self, rows, y):
        """Let the method go on with its record if these rows are those that it knows, and else begin a new one."""
        self._codes_ = self.label_codes_(y)
        identity = joblib.hash((self._codes_.numpy(), rows))
        if identity != self.method_.rows_identity:
            device = next((p.device for p in self.module_.parameters()), self.device)
            training_rows = torch.from_numpy(rows)
            self.method_.start(len(self._whole_), training_rows=training_rows, identity=identity, device=device)
        # A checkpoint without the state of the method still tells how long the network has been trained.
        self.method_.epoch = max(self.method_.epoch, len(self.history))

    def fit_loop(self, X, y=None, epochs=None, **fit_params):
        """Train for `epochs` epochs, `max_epochs` if None."""
        epochs = self.max_epochs if epochs is None else epochs
        self.last_epoch_ = len(self.history) + epochs
        return super().fit_loop(X, y, epochs, **fit_params)

    def get_iterator(self, dataset, training=False):
        """Return an iterator over batches that know their row numbers."""
        arguments = self.get_params_for("iterator_train" if training else "iterator_valid")
        loader_class = self.iterator_train if training else self.iterator_valid
        return self._batches(dataset, loader_class, {"shuffle": training} | arguments)

    def every_row_in_order(self, dataset, **changes):
        """Return an iterator that prepares rows as in training, but shows each exactly once."""
        arguments = self.get_params_for("iterator_train")
        for name in ("shuffle", "sampler", "batch_sampler", "drop_last"):
            arguments.pop(name, None)
        return self._batches(dataset, self.iterator_train, arguments | changes)

    def _batches(self, dataset, loader_class, arguments):
        arguments = {"batch_size": self.batch_size} | arguments
        rows = rows_within(dataset, self._whole_)
        arrays = None if rows is None else self._on_device_
        return numbered_batches(dataset, loader_class, rows=rows, arrays=arrays, **arguments)

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch; a training epoch is announced to the method, and its kept rows are recorded."""
        if not training:
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
            return
        training_set = iterator.dataset
        self.method_.begin_epoch()
        self._kept_in_epoch_ = None
        self._selects_apart_ = self._apart_is_cheaper()
        if self.method_.scope == "epoch" and self.method_.n_votes:
            iterator = self._over_kept_rows(iterator, fit_params)
        self._like_ = typical_parameter(self.module_)
        try:
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
        finally:
            self._like_ = None
        n_kept = self.method_.end_epoch()
        self.history.record("rows_kept", n_kept)
        self._warn_of_lost_classes()
        self.method_.after_epoch(NetTrainer(self, training_set, fit_params=fit_params))
        if n_kept == 0:
            self._warn_once(
                "nothing kept",
                f"nothing was learned in epoch {self.method_.epoch}: no row was kept. Voters agreed on none, or "
                "batches are too small for a share of 1 - eps. Lower eps or M, or raise batch_size.",
            )

    def _apart_is_cheaper(self):
        """Whether to vote in a pass without gradients, and to run another one over the kept rows alone."""
        method = self.method_
        votes_on_each_batch = method.filtering and method.n_votes > 0 and method.scope == "batch"
        if not (votes_on_each_batch and method.keeps_alike and has_convolutions(self.module_)):
            return False
        # What users put around a step may need the gradient of its first pass, or batches without rows to be taken.
        step_is_plain = (
            type(self).infer is ConsensusTrainingMixin.infer
            and type(self).get_loss is FilteredLossMixin.get_loss
            and type(self).train_step_single.__module__.startswith("skorch.")
            and self.get_params_for("iterator_train").get("collate_fn") is None
            and not self.compile  # passes of two kinds and of ever other lengths would be compiled over and over
        )
        return step_is_plain and min(1 - method.eps, method.kept.last_share) < APART_BELOW

    def train_step(self, batch, **fit_params):
        """Train on a batch that knows its row numbers."""
        self._rows_, self._fit_params_ = getattr(batch, "rows", None), fit_params
        try:
            step = super().train_step(batch, **fit_params)
        finally:
            self._rows_, self._fit_params_ = None, {}
            (loss, version, value), self._fetched_loss_ = self._fetched_loss_, type(self)._fetched_loss_
        # skorch asks for the number, which in a step that went as usual is on the host already.
        n_networks = self.method_.n_networks
        if step["loss"] is loss and loss._version == version:
            return step | {"loss": torch.tensor(value / n_networks, dtype=loss.dtype)}
        return step | {"loss": step["loss"].detach() / n_networks}

    def infer(self, x, **fit_params):
        """Run the network on a batch, brought to its device and precision."""
        if self._rows_ is None or not self._selects_apart_:
            return self._infer(x, **fit_params)
        with torch.no_grad(), untracked_batchnorm(self.module_):
            y_pred = self._infer(x, **fit_params)
        torch.clear_autocast_cache()  # weights that were cast without a gradient are of no use to the pass that follows
        return y_pred

    def _infer(self, x, **fit_params):
        x = matching(x, typical_parameter(self.module_) if self._like_ is None else self._like_)
        try:
            return super().infer(x, **fit_params)
        except ValueError:
            # Batch norm refuses to take the statistics of a single row, which the last batch may well be.
            if not self.module_.training or get_len(x) != 1:
                raise
            with batchnorm_in_evaluation(self.module_):
                return super().infer(x, **fit_params)

    def _warn_of_losses(self, rows):
        named = ", ".join(map(str, rows[:5].tolist())) + (", ..." if len(rows) > 5 else "")
        self._warn_once(
            "loss",
            f"the loss is NaN or infinite in epoch {self.method_.epoch}, at row(s) {named} of X. Such rows are not "
            "learned from. Look for extreme values in them, scale X, or lower lr.",
        )

    def _warn_of_lost_classes(self):
        kept = self.method_.kept
        if not (self.method_.filters and self.method_.filtering and kept.last.any()):
            return
        codes = self._codes_.to(kept.last.device)
        n_classes = len(self.label_codes_.classes)
        in_training = codes[kept.counts >= 0].bincount(minlength=n_classes) > 0
        lost = in_training & (codes[kept.last].bincount(minlength=n_classes) == 0)
        for label in self.label_codes_.classes[lost.cpu().numpy()].tolist():
            self._warn_once(
                ("class lost", label),
                f"no row labelled {label!r} was kept in epoch {self.method_.epoch}: the network is about to forget "
                "that class. Lower eps or M, or raise T_w.",
            )

    def _warn_once(self, kind, message):
        if kind not in self._warned_of_:
            self._warned_of_ |= {kind}
            warnings.warn(message, stacklevel=2)

    def _over_kept_rows(self, iterator, fit_params):
        """Let all rows of the training set vote, and return an iterator over those kept."""
        dataset, losses, rows = iterator.dataset, [], []
        # In evaluation mode: these batches follow the order of X, which may be sorted by class, and batch norm would
        # see one class at a time.
        self._set_training(False)
        with torch.no_grad():
            for batch in self.every_row_in_order(dataset):
                X, y = unpack_data(batch)
                y_pred = self.infer(X, **fit_params)
                losses.append(self._row_losses(per_network(y_pred), self.label_codes_(y).to(y_pred.device)))
                rows.append(batch.rows.to(y_pred.device))
        losses, rows = torch.cat(losses, dim=1), torch.cat(rows)
        finite = losses.isfinite().all(dim=0)
        if not finite.all():
            self._warn_of_losses(rows[~finite])
        kept = torch.zeros(len(self._whole_), dtype=torch.bool, device=rows.device)
        kept[rows] = self.method_.keep(losses, rows).all(dim=0)
        self._kept_in_epoch_ = kept
        arguments = self.get_params_for("iterator_train")
        if arguments.get("sampler") is not None or arguments.get("batch_sampler") is not None:
            return iterator  # a sampler of the user's counts on the whole set; rows are left out batch by batch
        positions = kept.cpu().numpy()[rows_within(dataset, self._whole_)].nonzero()[0]
        over_kept_rows = self.get_iterator(Subset(dataset, positions), training=True) if len(positions) else ()
        # An epoch without batches would leave skorch's callbacks without a loss or a prediction to look at.
        if not len(over_kept_rows):
            return iterator
        self._kept_in_epoch_ = None  # no batch has a row to be left out
        return over_kept_rows
