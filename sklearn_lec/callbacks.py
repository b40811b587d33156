"""skorch callbacks: the paper's learning rate, records of which samples were selected, progress on the screen."""

import numpy as np
import torch
from skorch.callbacks import Callback, LRScheduler

from sklearn_lec.metrics import label_precision_score, label_recall_score
from sklearn_lec.progress import EpochTable, TrainingProgress

__all__ = ["EpochTable", "LabelQuality", "LinearDecay", "SelectionHistory", "TrainingProgress"]


class LinearDecay(Callback):
    """Decrease the learning rate and Adam's beta1 linearly in the last part of the training.

    `LECClassifier` uses it by default, under the name ``linear_decay``. It does nothing if there is an `LRScheduler`
    among the callbacks. ``callbacks__linear_decay=None`` switches it off.

    Parameters
    ----------
    start : float, default=0.4
        The decay begins after this fraction of the epochs. The paper uses 0.4, and 0.5 for CIFAR-100.
    lr : float, default=0.0
        The final learning rate, as a fraction of the initial one. It would be reached one epoch after the last.
    beta1 : float or None, default=0.1
        The final beta1 of Adam. None does not change beta1. Optimizers without betas ignore it.

    Notes
    -----
    Each call to ``fit`` or ``partial_fit`` runs the whole schedule, over `max_epochs` epochs.

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section A.1.2
    ("Architecture and optimization details").

    Examples
    --------
    >>> decay = LinearDecay()
    >>> [round(decay.weight(epoch, n_epochs=10), 2) for epoch in range(10)]
    [1.0, 1.0, 1.0, 1.0, 1.0, 0.83, 0.67, 0.5, 0.33, 0.17]
    """

    def __init__(self, *, start: float = 0.4, lr: float = 0.0, beta1: float | None = 0.1):
        self.start = start
        self.lr = lr
        self.beta1 = beta1

    def weight(self, epoch: int, *, n_epochs: int) -> float:
        """Return the weight of the initial value in an epoch.

        The value in use is ``weight * initial + (1 - weight) * final``. The weight is 1 until the decay begins, and
        then decreases linearly.

        Parameters
        ----------
        epoch : int
            Counted from 0.
        n_epochs : int
            Length of the training.

        Returns
        -------
        weight : float in [0, 1]
            0 beyond the end.
        """
        first = int(self.start * n_epochs)
        return min(1.0, max(0.0, (n_epochs - epoch) / (n_epochs - first)))

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Check the parameters, and remember at which epoch the schedule starts."""
        if not 0 <= self.start < 1:
            raise ValueError(
                f"LinearDecay: start must lie in [0, 1), got {self.start!r}. It is a fraction of the epochs."
            )
        self.epochs_before_ = len(net.history)
        self.is_replaced_ = any(isinstance(callback, LRScheduler) for _, callback in net.callbacks_)

    def on_epoch_begin(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Set the learning rate and beta1 of the epoch."""
        if self.is_replaced_:
            return
        epoch = len(net.history) - 1 - self.epochs_before_
        weight = self.weight(epoch, n_epochs=net.max_epochs)
        for group in _param_groups(net):
            # The initial values are stored in the group, so that the optimizer's state_dict has them. If the learning
            # rate is not the one set here, the user has changed it: decay from there.
            if group["lr"] != group.get("decayed_lr"):
                group["initial_lr"] = group["lr"]
            group["lr"] = group["decayed_lr"] = group["initial_lr"] * (weight + (1 - weight) * self.lr)
            if self.beta1 is not None and "betas" in group:
                beta1 = group.setdefault("initial_beta1", group["betas"][0])
                group["betas"] = (weight * beta1 + (1 - weight) * self.beta1, group["betas"][1])

    def on_train_end(self, net, X=None, y=None, **kwargs):
        """Restore the initial values, for a training that continues from here."""
        for group in _param_groups(net):
            if "initial_beta1" in group:
                group["betas"] = (group.pop("initial_beta1"), group["betas"][1])
            if "decayed_lr" in group:
                initial_lr, decayed_lr = group.pop("initial_lr"), group.pop("decayed_lr")
                group["lr"] = initial_lr if group["lr"] == decayed_lr else group["lr"]


def _param_groups(net) -> list[dict]:
    """Return the parameter groups of all optimizers, whatever a subclass has called them."""
    return [group for name in net._optimizers for group in getattr(net, f"{name}_").param_groups]


class LabelQuality(Callback):
    """Record the label precision and the label recall of the selected samples in each epoch.

    It writes ``label_precision`` and ``label_recall`` into the history. It is for experiments where the true labels
    are known.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The true label of each sample of X.

    See Also
    --------
    sklearn_lec.metrics.label_precision_score : The fraction of the selected samples whose label is right.
    sklearn_lec.metrics.label_recall_score : The fraction of the samples with a right label that were selected.
    """

    def __init__(self, y_true):
        self.y_true = y_true

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Compare the given labels with the true ones."""
        y_true = np.asarray(self.y_true)
        if len(y_true) != len(y):
            raise ValueError(
                f"LabelQuality: y_true has {len(y_true)} labels, but y has {len(y)}. Pass one true label per sample."
            )
        self.noise_mask_ = y_true != np.asarray(y)

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Record precision and recall. Samples held out for validation do not count."""
        in_training = ~np.isnan(net.clean_score_)
        masks = net.clean_mask_[in_training], self.noise_mask_[in_training]
        net.history.record("label_precision", label_precision_score(*masks))
        net.history.record("label_recall", label_recall_score(*masks))


class SelectionHistory(Callback):
    """Keep which samples were selected in each epoch: ``clean_mask_`` as it was then.

    It is for `SelectionFlowDisplay`, and for questions that ``clean_score_`` does not answer: when a sample was given
    up, and whether it came back. It takes one bit per sample and epoch.

    Attributes
    ----------
    masks_ : bool ndarray of shape (n_epochs, n_samples)
        The samples that each epoch learned from, as ``clean_mask_`` says it. Samples held out by `train_split` are
        False.
    epochs_ : list of int
        The numbers of these epochs, counted from 1 as in the history. A ``partial_fit`` on other samples begins anew.

    See Also
    --------
    sklearn_lec.inspection.SelectionFlowDisplay : A picture of it.
    LabelQuality : Label precision and recall of each epoch.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn_lec import LECClassifier
    >>> X, y = make_blobs(60, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> selection = SelectionHistory()
    >>> clf = LECClassifier(eps=0.1, T_w=1, max_epochs=3, verbose=0, random_state=0, callbacks=[selection]).fit(X, y)
    >>> selection.masks_.shape, selection.epochs_
    ((3, 60), [1, 2, 3])
    >>> selection.masks_.sum(axis=1).tolist() == clf.history[:, "n_selected"]
    True
    """

    def initialize(self):
        """Forget all epochs: a training begins."""
        # Names that end in an underscore: these are what a checkpoint saves, and what a clone leaves out.
        self.packed_, self.epochs_ = [], []
        self.n_samples_, self.identity_ = 0, ""
        return self

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Add the epoch."""
        mask = net.clean_mask_
        if net.method_.data_identity != self.identity_:
            self.initialize()
            self.n_samples_, self.identity_ = len(mask), net.method_.data_identity
        # A tensor, because a checkpoint would store an array of bytes as one of int64.
        self.packed_.append(torch.from_numpy(np.packbits(mask)))
        self.epochs_.append(len(net.history))

    @property
    def masks_(self) -> np.ndarray:
        """The samples that each epoch learned from."""
        packed = [np.unpackbits(bits.numpy(), count=self.n_samples_) for bits in self.packed_]
        return np.array(packed, dtype=bool).reshape(len(packed), self.n_samples_)
