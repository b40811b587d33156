"""The training step with its filter: votes, kept rows, the update on them, and what can go wrong in between."""

import warnings
from functools import partial

import joblib
import torch
from skorch.dataset import get_len, unpack_data
from torch import Tensor
from torch.utils.data import Subset

from sklearn_lec.data import finite_rows, matching, numbered_batches, rows_within, take
from sklearn_lec.switches import (
    batchnorm_in_evaluation,
    class_weights,
    mend_batchnorm,
    one_loss_per_row,
    untracked_batchnorm,
)
from sklearn_lec.trainer import NetTrainer
from sklearn_lec.validation import check_outputs

__all__ = ["ConsensusTrainingMixin"]


class ConsensusTrainingMixin:
    """Give a skorch classifier the training step of a `Method`.

    The filter sits in ``get_loss``, below everything that skorch and its mixins put around a step: the outputs come
    in, the method decides on the rows, and the loss of the kept rows goes out.
    """

    _rows_ = None
    _fit_params_ = {}
    _kept_in_epoch_ = None
    _whole_ = None
    _warned_of_ = frozenset()
    _codes_ = None
    _sample_weight_ = None

    def __getstate__(self):
        # A net that is pickled in the middle of a training (Checkpoint does) must not take the data along.
        passing = {"_rows_", "_fit_params_", "_kept_in_epoch_", "_whole_", "_run_", "_codes_", "_sample_weight_"}
        passing |= {"_checkpoint_", "_random_before_"}
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
        self._recognise_rows(rows, y)
        self.method_.before_training(NetTrainer(self, dataset_train, X=X, y=y, fit_params=fit_params))
        return dataset_train, dataset_valid

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
        return numbered_batches(dataset, loader_class, rows=rows_within(dataset, self._whole_), **arguments)

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch; a training epoch is announced to the method, and its kept rows are recorded."""
        if not training:
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
            return
        training_set = iterator.dataset
        self.method_.begin_epoch()
        self._kept_in_epoch_ = None
        if self.method_.scope == "epoch" and self.method_.n_votes:
            iterator = self._over_kept_rows(iterator, fit_params)
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
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

    def train_step(self, batch, **fit_params):
        """Train on a batch that knows its row numbers."""
        self._rows_, self._fit_params_ = getattr(batch, "rows", None), fit_params
        try:
            step = super().train_step(batch, **fit_params)
        finally:
            self._rows_, self._fit_params_ = None, {}
        return step | {"loss": step["loss"].detach() / self.method_.n_networks}

    def infer(self, x, **fit_params):
        """Run the network on a batch, brought to its device and precision."""
        x = matching(x, self.module_)
        try:
            return super().infer(x, **fit_params)
        except ValueError:
            # Batch norm refuses to take the statistics of a single row, which the last batch may well be.
            if not self.module_.training or get_len(x) != 1:
                raise
            with batchnorm_in_evaluation(self.module_):
                return super().infer(x, **fit_params)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss: in a training step that of the kept rows summed over networks, else the mean."""
        y_true = self.label_codes_(y_true, known=training)
        check_outputs(y_pred, n_rows=len(y_true), n_classes=len(self.label_codes_.classes))
        y_true = y_true.to(y_pred.device)
        if training and self._rows_ is not None:
            return self._filtered_loss(y_pred, y_true, X, self._rows_.to(y_pred.device))
        return torch.stack([self._criterion_loss(output, y_true) for output in _per_network(y_pred)]).mean()

    def _filtered_loss(self, y_pred, y, X, rows):
        method, outputs = self.method_, _per_network(y_pred)
        keep = torch.ones(1, len(y), dtype=torch.bool, device=y.device)
        if self._kept_in_epoch_ is not None:
            keep = self._kept_in_epoch_[rows].unsqueeze(dim=0)
        elif method.scope == "batch" and method.n_votes:
            losses = self._votes(outputs, y, X)
            if not losses.isfinite().all():
                return self._loss_of_finite_rows(losses, y, X, rows)
            keep = method.keep(losses, rows)
        loss = self._loss_of_kept_rows(outputs, y, keep, rows)
        if loss is not None and not loss.isfinite():
            tells_rows_apart = hasattr(self.criterion_, "reduction")
            losses = self._row_losses(outputs, y) if tells_rows_apart else loss.detach().expand(1, len(y))
            return self._loss_of_finite_rows(losses, y, X, rows)
        method.kept.add(rows, keep.all(dim=0))
        return self._no_update(self._row_losses(outputs, y)) if loss is None else loss

    def _criterion_loss(self, output, y):
        return super().get_loss(output, y)

    def _weighted_loss(self, output, y, *, sample_weight):
        with one_loss_per_row(self.criterion_, weigh_classes=True):
            total = (sample_weight * self._criterion_loss(output, y)).sum()
        if self.criterion_.reduction == "sum":
            return total
        by_class = class_weights(self.criterion_)
        counting = sample_weight * (y != getattr(self.criterion_, "ignore_index", None))
        return total / (counting if by_class is None else counting * by_class[y]).sum()

    @torch.no_grad()
    def _row_losses(self, outputs, y):
        with one_loss_per_row(self.criterion_):
            return torch.stack([self._criterion_loss(output, y) for output in outputs])

    @torch.no_grad()
    def _votes(self, outputs, y, X):
        # The pass that is trained on votes too; further ones must not move batch norm's running statistics, to which
        # this batch, wrong labels and all, has contributed once already.
        losses = [self._row_losses(outputs, y)]
        with untracked_batchnorm(self.module_):
            for _ in range(self.method_.n_votes - 1):
                losses.append(self._row_losses(_per_network(self.infer(X, **self._fit_params_)), y))
        return torch.cat(losses)

    def _loss_of_kept_rows(self, outputs, y, keep, rows):
        kept_rows = [mask.nonzero().flatten() for mask in keep]  # once for all networks if the mask is the same
        kept_rows = kept_rows * len(outputs) if len(keep) == 1 else kept_rows
        loss = None
        for output, kept in zip(outputs, kept_rows, strict=True):
            if len(kept) == 0:
                continue
            # Where nothing is left out, the step is bit for bit the one of skorch.
            outputs_and_labels = (output, y) if len(kept) == len(y) else (output[kept], y[kept])
            criterion = self._criterion_loss
            if self._sample_weight_ is not None:
                weights = self._sample_weight_.to(output)[rows[kept]]
                if not weights.any():
                    continue
                criterion = partial(self._weighted_loss, sample_weight=weights)
            part = self.method_.loss(criterion, *outputs_and_labels)
            loss = part if loss is None else loss + part
        return loss

    def _loss_of_finite_rows(self, losses, y, X, rows):
        finite = finite_rows(losses, X)
        bad = ~finite if not finite.all() else torch.ones_like(finite)  # if no row stands out, none can be trusted
        self._warn_of_losses(rows[bad])
        mend_batchnorm(self.module_)
        if self.method_.scope == "batch" and self.method_.n_votes:
            self.method_.keep(losses[:, bad], rows[bad])  # a vote against them, which the method may remember
        if bad.all():
            return self._no_update(losses)
        # A second pass without the bad rows, because even with weight zero they would turn the gradient into NaN.
        X = take(X, finite)
        return self._filtered_loss(self.infer(X, **self._fit_params_), y[finite], X, rows[finite])

    def _no_update(self, losses):
        """Return a loss to report that leads back to no parameter: without a gradient, no optimizer moves anything."""
        return (losses[losses.isfinite()].mean() * self.method_.n_networks).requires_grad_()

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
                losses.append(self._row_losses(_per_network(y_pred), self.label_codes_(y).to(y_pred.device)))
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
        return over_kept_rows if len(over_kept_rows) else iterator


def _per_network(y_pred: Tensor) -> tuple[Tensor, ...]:
    return y_pred.unbind(dim=1) if y_pred.ndim == 3 else (y_pred,)
