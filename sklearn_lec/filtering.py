"""The step below skorch's: from a batch's outputs to votes, from votes to kept rows, from those to the loss."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sklearn_lec.data import finite_rows, take
from sklearn_lec.selection import array_if_on_host, on_host, unanimous
from sklearn_lec.switches import class_weights, label_to_ignore, mend_batchnorm, one_loss_per_row, untracked_batchnorm
from sklearn_lec.validation import check_outputs

__all__ = ["FilteredLossMixin", "per_network"]


class FilteredLossMixin:
    """Give a skorch classifier the loss of the rows that its `Method` keeps.

    The filter sits in ``get_loss``, below everything that skorch and its mixins put around a step: the outputs come
    in, the method decides on the rows, and the loss of the kept rows goes out.

    Outputs serve the vote and the update alike, if they carry a gradient. If they do not (`_selects_apart_`), the kept
    rows go through the network once more.

    What the host has to know before it can go on (whether all losses are finite, how many rows are left) comes from
    the device in one transfer, together with the loss that skorch writes into the history: a step waits for the
    device once, as a step of skorch does.
    """

    _rows_ = None
    _fit_params_ = {}
    _kept_in_epoch_ = None
    _sample_weight_ = None
    _selects_apart_ = False
    _fetched_loss_ = (None, 0, math.nan)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss: in a training step that of the kept rows summed over networks, else the mean."""
        y_true = self.label_codes_(y_true, known=training)
        check_outputs(y_pred, n_rows=len(y_true), n_classes=len(self.label_codes_.classes))
        y_true = y_true.to(y_pred.device)
        if training and self._rows_ is not None:
            return self._filtered_loss(y_pred, y_true, X, self._rows_.to(y_pred.device))
        return torch.stack([self._criterion_loss(output, y_true) for output in per_network(y_pred)]).mean()

    def _filtered_loss(self, y_pred, y, X, rows):
        method, outputs, keep = self.method_, per_network(y_pred), None
        if self._kept_in_epoch_ is not None:
            keep = self._kept_in_epoch_[rows].unsqueeze(dim=0)
        elif method.scope == "batch" and method.n_votes:
            losses = self._votes(outputs, y, X)
            keep = method.keep(losses, rows)
            loss = self._loss_with_others_ignored(outputs, y, keep)
            largest, value, *n_kept = _fetch(losses, keep, loss)
            if not math.isfinite(largest):
                return self._loss_of_finite_rows(losses, y, X, rows)
            if all(n_kept) and math.isfinite(value):
                return self._noted(loss, value, rows, keep)
        return self._loss_of_kept_rows(outputs, y, X, rows, keep)

    def _loss_with_others_ignored(self, outputs, y, keep):
        """Return the loss of the kept rows, without the host having to know which; None if that is not possible."""
        ignored = label_to_ignore(self.criterion_)
        if self._selects_apart_ or ignored is None or self._sample_weight_ is not None:
            return None
        labels = y.where(keep, ignored).expand(len(outputs), -1)
        parts = [self.method_.loss(self._criterion_loss, *of) for of in zip(outputs, labels, strict=True)]
        return sum(parts[1:], start=parts[0])

    def _noted(self, loss, value, rows, keep):
        self._record(rows, keep)
        self._fetched_loss_ = loss, loss._version, value
        return loss

    def _record(self, rows, keep):
        self.method_.kept.add(rows, True if keep is None else unanimous(keep))

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
        criterion = self.criterion_
        if type(criterion) is nn.CrossEntropyLoss:  # the same as below, without the detour
            options = {"ignore_index": criterion.ignore_index, "label_smoothing": criterion.label_smoothing}
            losses = [F.cross_entropy(output, y, reduction="none", **options) for output in outputs]
        else:
            with one_loss_per_row(criterion):
                losses = [self._criterion_loss(output, y) for output in outputs]
        return losses[0].unsqueeze(dim=0) if len(losses) == 1 else torch.stack(losses)

    @torch.no_grad()
    def _votes(self, outputs, y, X):
        losses = self._row_losses(outputs, y)
        n_more = self.method_.n_votes - 1
        if n_more == 0:
            return losses
        # The pass that is trained on votes too; further ones must not move batch norm's running statistics, to which
        # this batch, wrong labels and all, has contributed once already.
        with untracked_batchnorm(self.module_):
            passes = [self.infer(X, **self._fit_params_) for _ in range(n_more)]
        return torch.cat([losses, *(self._row_losses(per_network(y_pred), y) for y_pred in passes)])

    def _loss_of_kept_rows(self, outputs, y, X, rows, keep):
        positions = [None] if keep is None else [mask.nonzero().flatten() for mask in keep]
        if self._selects_apart_ and keep is not None and len(positions[0]):
            y, rows, X = y[positions[0]], rows[positions[0]], take(X, positions[0])
            outputs, positions, keep = per_network(self._infer(X, **self._fit_params_)), [None], None
        positions = positions * len(outputs) if len(positions) == 1 else positions
        parts = [self._loss_of_network(*of, y, rows) for of in zip(outputs, positions, strict=True)]
        parts = [part for part in parts if part is not None]
        if not parts:
            self._record(rows, keep)
            return self._no_update(self._row_losses(outputs, y))
        loss = sum(parts[1:], start=parts[0])
        value = loss.item()
        if math.isfinite(value):
            return self._noted(loss, value, rows, keep)
        if self._selects_apart_:  # the vote, in which all was finite, stands
            self._warn_of_losses(rows)
            mend_batchnorm(self.module_)
            return self._no_update(loss.detach().expand(1, len(y)))
        tells_rows_apart = hasattr(self.criterion_, "reduction")
        losses = self._row_losses(outputs, y) if tells_rows_apart else loss.expand(1, len(y))
        return self._loss_of_finite_rows(losses.detach(), y, X, rows)

    def _loss_of_network(self, output, kept, y, rows):
        """Return the loss of one network on the rows that it keeps, all if `kept` is None; None if it has none."""
        if kept is not None and len(kept) == 0:
            return None
        # Where nothing is left out, the step is bit for bit the one of skorch.
        if kept is not None and len(kept) < len(y):
            output, y, rows = output[kept], y[kept], rows[kept]
        criterion = self._criterion_loss
        if self._sample_weight_ is not None:
            weights = self._sample_weight_.to(output)[rows]
            if not weights.any():
                return None
            criterion = partial(self._weighted_loss, sample_weight=weights)
        return self.method_.loss(criterion, output, y)

    def _loss_of_finite_rows(self, losses, y, X, rows):
        method, finite = self.method_, finite_rows(losses, X)
        bad = ~finite if not finite.all() else torch.ones_like(finite)  # if no row stands out, none can be trusted
        self._warn_of_losses(rows[bad])
        mend_batchnorm(self.module_)
        if self._kept_in_epoch_ is None and method.scope == "batch" and method.n_votes:
            method.take_back_vote()
            method.keep(losses[:, bad], rows[bad])  # a vote against them, which the method may remember
        if bad.all():
            return self._no_update(losses)
        # A second pass without the bad rows, because even with weight zero they would turn the gradient into NaN.
        X = take(X, finite)
        return self._filtered_loss(self.infer(X, **self._fit_params_), y[finite], X, rows[finite])

    def _no_update(self, losses):
        """Return a loss to report that leads back to no parameter: without a gradient, no optimizer moves anything."""
        losses = losses.detach()
        return (losses[losses.isfinite()].mean() * self.method_.n_networks).requires_grad_()


def per_network(y_pred: Tensor) -> tuple[Tensor, ...]:
    """Return the outputs of each network, of which a `Committee` has several."""
    return y_pred.unbind(dim=1) if y_pred.ndim == 3 else (y_pred,)


def _fetch(losses: Tensor, keep: Tensor, loss: Tensor | None) -> list[float]:
    """Bring to the host, in one transfer, the largest loss, the loss of the update, and how many rows are kept."""
    if on_host(losses):
        largest = float(abs(array_if_on_host(losses)).max())
        return [largest, math.nan if loss is None else loss.item(), *array_if_on_host(keep).sum(1)]
    largest = losses.abs().max()  # NaN, if there is one
    value = torch.full_like(largest, math.nan) if loss is None else loss.detach().to(largest)
    return torch.cat([torch.stack([largest, value]), keep.sum(dim=1).to(largest)]).tolist()
