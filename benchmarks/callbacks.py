"""What is measured in every epoch of a benchmark: accuracy on clean test labels, and label precision and recall."""

import math

import numpy as np
import torch
from skorch.callbacks import Callback, EpochScoring
from skorch.dataset import Dataset
from skorch.helper import predefined_split

from sklearn_lec.callbacks import LabelQuality
from sklearn_lec.metrics import label_precision_score

__all__ = ["LabelQualityOfNetworks", "SmallLossPrecision", "mean_network_accuracy", "measurements"]


def mean_network_accuracy(net, X, y) -> float:
    """Return the accuracy averaged over the networks, as the paper does for methods with several."""
    outputs = torch.cat(list(net.forward_iter(X)))
    predicted = outputs.argmax(dim=-1).reshape(len(y), -1).numpy()
    return float((net.classes_[predicted] == np.asarray(y)[:, None]).mean())


class LabelQualityOfNetworks(LabelQuality):
    """Record label precision and recall averaged over networks that learn from different samples, as the paper does.

    `LabelQuality` looks at the samples that all networks learned from, of which fewer have a wrong label.
    """

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Compare the given labels with the right ones, and start counting."""
        super().on_train_begin(net, X, y, **kwargs)
        self._start_counting()

    def on_batch_end(self, net, batch=None, training=False, **kwargs):
        """Count what each network learned from, where they differ."""
        selected = batch.selected if training else None
        if selected is not None and len(selected) > 1:
            is_right = ~self.noise_mask_[batch.samples.numpy()]
            self.n_selected_ += selected.sum(dim=1).cpu().numpy()
            self.n_right_ += selected.cpu().numpy()[:, is_right].sum(axis=1)

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Record the averages; for an epoch without a decision what `LabelQuality` does."""
        super().on_epoch_end(net, dataset_train=dataset_train, dataset_valid=dataset_valid, **kwargs)
        if np.any(self.n_selected_):
            n_right = (~self.noise_mask_).sum()
            net.history.record("label_precision", float((self.n_right_ / self.n_selected_).mean()))
            net.history.record("label_recall", float((self.n_right_ / n_right).mean()))
        self._start_counting()

    def _start_counting(self):
        self.n_selected_ = self.n_right_ = 0


class SmallLossPrecision(Callback):
    """Record, per epoch, the label precision of the samples whose loss was small in that epoch alone.

    Writes ``small_loss_precision`` into the history: NaN in epochs without a vote, and for methods that do not remember
    which losses were small.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The right label of each sample of X.
    """

    def __init__(self, y_true):
        self.y_true = y_true

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Compare the given labels with the right ones."""
        self.noise_mask_ = np.asarray(self.y_true) != np.asarray(y)

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Record the precision."""
        method, precision = net.method_, math.nan
        last_miss = method.record.memory.get("last_miss")
        if last_miss is not None and method.n_passes:
            small = (last_miss != method.epoch).cpu().numpy()
            precision = label_precision_score(small, self.noise_mask_)
        net.history.record("small_loss_precision", precision)


def measurements(X_test, y_test, *, y_true=None) -> dict:
    """Return the parameters that let a classifier measure itself in every epoch.

    Parameters
    ----------
    X_test, y_test : array-like of n_test samples
        Samples with right labels that take no part in training; ``accuracy`` in the history is measured on them.
    y_true : array-like of shape (n_samples,) or None, default=None
        The right label of each sample of the training set, for ``label_precision``, ``label_recall`` and
        ``small_loss_precision``; None leaves them out.

    Returns
    -------
    parameters : dict
        ``train_split`` and ``callbacks`` of `LECClassifier`.
    """
    callbacks = [("accuracy", EpochScoring(mean_network_accuracy, name="accuracy", lower_is_better=False))]
    if y_true is not None:
        callbacks += [
            ("label_quality", LabelQualityOfNetworks(y_true)),
            ("small_loss_precision", SmallLossPrecision(y_true)),
        ]
    return {"train_split": predefined_split(Dataset(X_test, y_test)), "callbacks": callbacks}
