"""The training step with its filter: votes, kept rows, the update on them, and what can go wrong in between."""

import warnings

import torch
from skorch.dataset import get_len, unpack_data
from skorch.utils import to_device
from torch import Tensor
from torch.utils.data import Subset

from sklearn_lec.data import cast_floats, finite_rows, rows_within, take
from sklearn_lec.modules import batchnorm_in_evaluation, mend_batchnorm, untracked_batchnorm
from sklearn_lec.validation import check_outputs, check_row_losses, one_loss_per_row

__all__ = ["ConsensusTrainingMixin"]


class ConsensusTrainingMixin:
    """Give a skorch classifier the training step of a `Method`.

    The filter sits in ``get_loss``, below everything that skorch and its mixins put around a step: the outputs come
    in, the method decides on the rows, and the loss of the kept rows goes out.
    """

    _rows_ = None
    _fit_params_ = {}
    _nothing_to_learn_ = False

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch; a training epoch is announced to the method, and its kept rows are recorded."""
        if not training:
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
            return
        self.method_.begin_epoch()
        if self.method_.scope == "epoch" and self.method_.n_votes:
            iterator = self._over_kept_rows(iterator, fit_params)
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
        self._nothing_to_learn_ = False
        self.history.record("rows_kept", self.method_.end_epoch())

    def train_step(self, batch, **fit_params):
        """Train on a batch that knows its row numbers."""
        self._rows_, self._fit_params_ = to_device(batch.rows, self.device), fit_params
        try:
            step = super().train_step(batch, **fit_params)
        finally:
            self._rows_ = None
        return step | {"loss": step["loss"].detach() / self.method_.n_networks}

    def infer(self, x, **fit_params):
        """Run the network on a batch, floats cast to its precision."""
        x = cast_floats(x, self.module_)
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
        y_true = to_device(self.label_codes_(y_true), self.device)
        check_outputs(y_pred, n_rows=len(y_true), n_classes=len(self.label_codes_.classes))
        if training and self._rows_ is not None:
            return self._filtered_loss(y_pred, y_true, X, self._rows_)
        return torch.stack([self._criterion_loss(output, y_true) for output in _per_network(y_pred)]).mean()

    def _filtered_loss(self, y_pred, y, X, rows):
        method, outputs = self.method_, _per_network(y_pred)
        if self._nothing_to_learn_:
            return self._no_update(self._row_losses(outputs, y))
        keep = torch.ones(len(outputs), len(y), dtype=torch.bool, device=y.device)
        if method.scope == "batch" and method.n_votes:
            losses = self._votes(outputs, y, X)
            if not losses.isfinite().all():
                return self._loss_of_finite_rows(losses, y, X, rows)
            keep = method.keep(losses, rows)
        loss = self._loss_of_kept_rows(outputs, y, keep)
        if loss is None:
            return self._no_update(losses)
        if not loss.isfinite():
            return self._loss_of_finite_rows(self._row_losses(outputs, y), y, X, rows)
        method.kept.add(rows, keep.all(dim=0))
        return loss

    def _criterion_loss(self, output, y):
        return super().get_loss(output, y)

    @torch.no_grad()
    def _row_losses(self, outputs, y):
        losses = []
        with one_loss_per_row(self.criterion_):
            for output in outputs:
                losses.append(self._criterion_loss(output, y))
                check_row_losses(losses[-1], n_rows=len(y), criterion=self.criterion_)
        return torch.stack(losses)

    @torch.no_grad()
    def _votes(self, outputs, y, X):
        # The pass that is trained on votes too; further ones must not move batch norm's running statistics, to which
        # this batch, wrong labels and all, has contributed once already.
        losses = [self._row_losses(outputs, y)]
        with untracked_batchnorm(self.module_):
            for _ in range(self.method_.n_votes - 1):
                losses.append(self._row_losses(_per_network(self.infer(X, **self._fit_params_)), y))
        return torch.cat(losses)

    def _loss_of_kept_rows(self, outputs, y, keep):
        loss = None
        for output, kept, n_kept in zip(outputs, keep, keep.sum(dim=1).tolist(), strict=True):
            if n_kept == 0:
                continue
            # Where nothing is left out, the step is bit for bit the one of skorch.
            part = self._criterion_loss(*((output, y) if n_kept == len(y) else (output[kept], y[kept])))
            loss = part if loss is None else loss + part
        return loss

    def _loss_of_finite_rows(self, losses, y, X, rows):
        # A second pass without the bad rows, because even with weight zero they would turn the gradient into NaN.
        finite = finite_rows(losses, X)
        self._warn_of_losses(rows, finite)
        mend_batchnorm(self.module_)
        if finite.all() or not finite.any():
            return self._no_update(losses)
        X = take(X, finite)
        return self._filtered_loss(self.infer(X, **self._fit_params_), y[finite], X, rows[finite])

    def _no_update(self, losses):
        """Return a loss to report that leads back to no parameter: without a gradient, no optimizer moves anything."""
        return (losses[losses.isfinite()].mean() * self.method_.n_networks).requires_grad_()

    def _warn_of_losses(self, rows, finite):
        if self._warned_of_losses_:
            return
        self._warned_of_losses_ = True
        bad = rows[~finite].tolist() if not finite.all() else rows.tolist()
        named = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        warnings.warn(
            f"the loss is NaN or infinite in epoch {self.method_.epoch}, at row(s) {named} of X. Such rows are not "
            "learned from. Look for extreme values in them, scale X, or lower lr.",
            stacklevel=2,
        )

    def _over_kept_rows(self, iterator, fit_params):
        """Let all rows of the training set vote, and return an iterator over those kept."""
        dataset, losses, rows = iterator.dataset, [], []
        self._fit_params_ = fit_params
        self._set_training(True)
        with torch.no_grad(), untracked_batchnorm(self.module_):
            for batch in self.get_iterator(dataset, training=False):
                X, y = unpack_data(batch)
                y = to_device(self.label_codes_(y), self.device)
                losses.append(self._votes(_per_network(self.infer(X, **fit_params)), y, X))
                rows.append(to_device(batch.rows, self.device))
        losses, rows = torch.cat(losses, dim=1), torch.cat(rows)
        finite = losses.isfinite().all(dim=0)
        if not finite.all():
            self._warn_of_losses(rows, finite)
        keep = self.method_.keep(losses, rows).all(dim=0)
        # An empty epoch would leave skorch's callbacks without a loss or a prediction to look at.
        self._nothing_to_learn_ = not keep.any()
        if self._nothing_to_learn_ or keep.all():
            return iterator
        kept = torch.zeros(len(self._whole_), dtype=torch.bool)
        kept[rows[keep].cpu()] = True
        positions = kept.numpy()[rows_within(dataset, self._whole_)].nonzero()[0]
        return self.get_iterator(Subset(dataset, positions), training=True)

    def _check_criterion(self):
        """Raise an error before the training if the method votes and the criterion cannot tell rows apart."""
        if self.method_.filters:
            n_classes = len(self.label_codes_.classes)
            self._row_losses([torch.zeros(2, n_classes, device=self.device)], torch.arange(2, device=self.device))


def _per_network(y_pred: Tensor) -> tuple[Tensor, ...]:
    return y_pred.unbind(dim=1) if y_pred.ndim == 3 else (y_pred,)

