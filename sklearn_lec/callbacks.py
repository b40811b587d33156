"""skorch callbacks: the paper's schedule, and the label quality of what was learned from."""

import numpy as np
from skorch.callbacks import Callback, LRScheduler

from sklearn_lec.metrics import label_precision_score, label_recall_score

__all__ = ["LabelQuality", "LinearDecay"]


class LinearDecay(Callback):
    """Let the learning rate and Adam's beta1 fall linearly over the last part of the training.

    `LECClassifier` has it by default, under the name ``linear_decay``. It steps aside for an `LRScheduler` among the
    callbacks; ``callbacks__linear_decay=None`` switches it off.

    Parameters
    ----------
    start : float, default=0.4
        Share of the epochs before the fall begins. The paper has 0.4, and 0.5 for CIFAR-100.
    lr : float, default=0.0
        The learning rate at the end of the fall, that is one epoch after the last, as a share of the initial one.
    beta1 : float or None, default=0.1
        Adam's beta1 at the end of the fall; None leaves it alone, and so does an optimizer without betas.

    Notes
    -----
    Each call to ``fit`` or ``partial_fit`` runs through the whole schedule, over `max_epochs` epochs.

    References
    ----------
    "Architecture and optimization details" in Section A.1.2 of the paper.

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
        """Return the share of the initial value at `epoch`, counted from 0, against that of the final value."""
        first = int(self.start * n_epochs)
        return min(1.0, (n_epochs - epoch) / (n_epochs - first))

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Check the parameters and note at which epoch the schedule starts."""
        if not 0 <= self.start < 1:
            raise ValueError(f"LinearDecay: start must lie in [0, 1), got {self.start!r}. It is a share of the epochs.")
        self.epochs_before_ = len(net.history)
        self.steps_aside_ = any(isinstance(callback, LRScheduler) for _, callback in net.callbacks_)

    def on_epoch_begin(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Set the learning rate and beta1 of the epoch."""
        if self.steps_aside_:
            return
        epoch = len(net.history) - 1 - self.epochs_before_
        weight = self.weight(epoch, n_epochs=net.max_epochs)
        for group in net.optimizer_.param_groups:
            # Kept in the group, so that they come along in the optimizer's state_dict. A learning rate that is not the
            # one set here was set by the user, and the fall goes on from there.
            if group["lr"] != group.get("decayed_lr"):
                group["initial_lr"] = group["lr"]
            group["lr"] = group["decayed_lr"] = group["initial_lr"] * (weight + (1 - weight) * self.lr)
            if self.beta1 is not None and "betas" in group:
                beta1 = group.setdefault("initial_beta1", group["betas"][0])
                group["betas"] = (weight * beta1 + (1 - weight) * self.beta1, group["betas"][1])

    def on_train_end(self, net, X=None, y=None, **kwargs):
        """Put the initial values back, for a training that goes on from here."""
        for group in net.optimizer_.param_groups:
            if "initial_beta1" in group:
                group["betas"] = (group.pop("initial_beta1"), group["betas"][1])
            if "decayed_lr" in group:
                initial_lr, decayed_lr = group.pop("initial_lr"), group.pop("decayed_lr")
                group["lr"] = initial_lr if group["lr"] == decayed_lr else group["lr"]


class LabelQuality(Callback):
    """Record, per epoch, how clean the labels were that the network learned from.

    Writes ``label_precision`` and ``label_recall`` into the history. For experiments, where the right labels are known.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        The right label of each row of X.

    See Also
    --------
    sklearn_lec.metrics.label_precision_score : The share of rows learned from whose label is right.
    sklearn_lec.metrics.label_recall_score : The share of rows with a right label that were learned from.
    """

    def __init__(self, y_true):
        self.y_true = y_true

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Compare the given labels with the right ones."""
        y_true = np.asarray(self.y_true)
        if len(y_true) != len(y):
            raise ValueError(
                f"LabelQuality: y_true has {len(y_true)} labels, but y has {len(y)}. Pass the right label of every row."
            )
        self.noise_mask_ = y_true != np.asarray(y)

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Record precision and recall over the rows that take part in training."""
        in_training = ~np.isnan(net.clean_score_)
        masks = net.clean_mask_[in_training], self.noise_mask_[in_training]
        net.history.record("label_precision", label_precision_score(*masks))
        net.history.record("label_recall", label_recall_score(*masks))
