"""Warnings of a training under way, each kind once."""

import sys
import warnings

import numpy as np
from torch import Tensor

from sklearn_lec.methods import Method

__all__ = ["RunWarnings", "warn_caller"]


class RunWarnings:
    """Warn of what goes wrong in a training, each kind once."""

    def __init__(self):
        self._given = set()

    def of_bad_samples(self, samples: Tensor, *, epoch: int) -> None:
        """Warn of samples whose loss is NaN or infinite."""
        named = ", ".join(map(str, samples[:5].tolist())) + (", ..." if len(samples) > 5 else "")
        self._once(
            "loss",
            f"the loss is NaN or infinite in epoch {epoch}, at sample(s) {named} of X. Such samples are not learned "
            "from. Look for extreme values in them, scale X, or lower lr.",
        )

    def of_lost_classes(self, method: Method, *, codes: Tensor, classes: np.ndarray) -> None:
        """Warn of classes of which no sample was selected in the epoch that has just ended.

        Parameters
        ----------
        method : Method
        codes : int64 Tensor of shape (n_samples,)
            The class number of every sample.
        classes : ndarray of shape (n_classes,)
        """
        record = method.record
        if not (method.selects_samples and method.is_past_warmup and record.last.any()):
            return
        codes = codes.to(record.last.device)
        in_training = codes[record.counts >= 0].bincount(minlength=len(classes)) > 0
        lost = in_training & (codes[record.last].bincount(minlength=len(classes)) == 0)
        for label in classes[lost.cpu().numpy()].tolist():
            self._once(
                ("class lost", label),
                f"no sample labelled {label!r} was selected in epoch {method.epoch}: the network is about to forget "
                "that class. Lower eps or M, or raise T_w.",
            )

    def of_nothing_selected(self, *, epoch: int) -> None:
        """Warn of an epoch in which nothing was learned."""
        self._once(
            "nothing selected",
            f"nothing was learned in epoch {epoch}: no sample was selected. Voters agreed on none, or batches are too "
            "small for a share of 1 - eps. Lower eps or M, or raise batch_size.",
        )

    def _once(self, kind, message: str) -> None:
        """Warn, unless there was a warning of this kind before."""
        if kind not in self._given:
            self._given.add(kind)
            warnings.warn(message, stacklevel=3)


def warn_caller(message: str) -> None:
    """Warn, and point at the line of the user's own that called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


_INSIDE = ("sklearn_lec", "skorch", "contextlib")
