"""Warn if callbacks have ended a training, or put back one of its networks, before any sample was left out."""

from skorch.callbacks import Checkpoint, EarlyStopping

from sklearn_lec._training.warn import warn_caller
from sklearn_lec._validation import is_number
from sklearn_lec.methods import Method

__all__ = ["warn_of_early_end"]

_REASON = (
    "Labels of a validation set are wrong, too: its loss is smallest while the network is still unsure of everything. "
    "Train to the end, or monitor a score that counts after the warm-up only; see docs/model_selection.md."
)


def warn_of_early_end(net, method: Method, *, last_epoch: int) -> None:
    """Warn at the end of a training whose network is one of the warm-up, although the training was to go on.

    Parameters
    ----------
    net : LECClassifier
        Its callbacks have been told that the training is over.
    method : Method
    last_epoch : int
        The epoch with which the training was to end.
    """
    warmup = getattr(method, "T_w", None)
    has_begun = method.epoch > 0 and is_number(warmup)
    if not (has_begun and method.doubts_labels and getattr(method, "eps", 0) and last_epoch > warmup):
        return
    if method.epoch <= warmup and method.epoch < last_epoch:
        by_callback = any(isinstance(callback, EarlyStopping) for _, callback in net.callbacks_)
        warn_caller(
            f"the training was stopped after epoch {method.epoch}, within the warm-up of {warmup} epochs: no label "
            f"was doubted, and clean_mask_ is True for all.{' ' + _REASON if by_callback else ''}"
        )
        return
    for name, callback in net.callbacks_:
        epoch = _restored_epoch(callback, net.history)
        if epoch is not None and epoch <= warmup:
            warn_caller(
                f"{name} has put back the network of epoch {epoch}, which is from before labels were doubted: the "
                f"warm-up lasted {warmup} epochs. {_REASON}"
            )


def _restored_epoch(callback, history) -> int | None:
    """Return the epoch whose network a callback has put back at the end of the training; None if it has not."""
    if not getattr(callback, "load_best", False):
        return None
    if isinstance(callback, EarlyStopping):
        return getattr(callback, "best_epoch_", None)
    if isinstance(callback, Checkpoint) and callback.event_name is not None:
        return max((epoch["epoch"] for epoch in history if epoch.get(callback.event_name)), default=None)
    return None
