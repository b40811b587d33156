"""Warnings of a training under way, each kind once."""

import sys
import warnings

import numpy as np
from torch import Tensor

from sklearn_lec._progress_bar import bars_aside
from sklearn_lec.methods import Method

__all__ = ["RunWarnings", "warn_caller"]


RARE = 0.5
"""The size of a class, compared to the mean of all, below which it is rare."""
NEGLECTED = 0.5
"""The share of its right labels below which a rare class is said to be neglected."""


class RunWarnings:
    """Warn of what goes wrong in a training, each kind once."""

    def __init__(self):
        self._given = set()
        self._lost_classes = set()  # those that there was a warning of

    def of_bad_samples(self, samples: Tensor, *, epoch: int) -> None:
        """Warn of samples whose loss is NaN or infinite."""
        self._once(
            "loss",
            f"the loss is NaN or infinite in epoch {epoch}, at sample(s) {_listed(samples)} of X. Such samples are not "
            "learned from. Look for extreme values in them, scale X, or lower lr.",
        )

    def of_lost_classes(self, method: Method, *, codes: Tensor, classes: np.ndarray, is_last: bool) -> None:
        """Warn of classes of which no sample was selected in the epoch that has just ended.

        Once when that happens first, and once more at the end of the training if it has happened to others since.

        Parameters
        ----------
        method : Method
        codes : int64 Tensor of shape (n_samples,)
            The class number of every sample.
        classes : ndarray of shape (n_classes,)
        is_last : bool
            Whether this was the last epoch of the training.
        """
        record = method.record
        if not (method.selects_samples and method.is_past_warmup and record.last.any()):
            return
        codes = codes.to(record.last.device)
        in_training = codes[record.counts >= 0].bincount(minlength=len(classes)) > 0
        lost = in_training & (codes[record.last].bincount(minlength=len(classes)) == 0)
        labels = classes[lost.cpu().numpy()]
        is_due = is_last or not self._lost_classes
        if is_due and not self._lost_classes.issuperset(labels.tolist()):
            self._lost_classes.update(labels.tolist())
            other = "" if method.scope == "epoch" else ", or use method='ltec-full', which compares all samples at once"
            warn_caller(
                f"no sample labelled {_listed(labels)} was selected in epoch {method.epoch}: the network is about to "
                f"forget {len(labels)} of {len(classes)} classes. Lower eps or M, raise T_w{other}."
            )

    def of_rare_classes(self, method: Method, *, codes: Tensor, classes: np.ndarray) -> None:
        """Warn, after the last epoch, of rare classes that lost most of their samples to the comparison in batches.

        Parameters
        ----------
        method : Method
        codes : int64 Tensor of shape (n_samples,)
            The class number of every sample.
        classes : ndarray of shape (n_classes,)
        """
        record, eps = method.record, getattr(method, "eps", 0)
        if not (method.selects_samples and method.scope == "batch" and method.is_past_warmup and eps):
            return
        codes = codes.to(record.last.device)
        given, kept = (
            codes[mask].bincount(minlength=len(classes)).cpu().numpy() for mask in (record.counts >= 0, record.last)
        )
        if method.eps_of_labels is not None:
            share_wrong = method.eps_of_labels.cpu().numpy()
        elif method.noise_estimate is not None:
            share_wrong = method.noise_estimate["per_class"].cpu().numpy()
        else:
            share_wrong = np.full(len(classes), eps)
        is_rare = given < RARE * given.sum() / len(classes)
        neglected = is_rare & (kept > 0) & (kept < NEGLECTED * (1 - share_wrong) * given)
        if neglected.any():
            labels = classes.tolist()
            listed = ", ".join(f"{kept[k]} of {given[k]} labelled {labels[k]!r}" for k in neglected.nonzero()[0][:5])
            warn_caller(
                f"few samples of rare classes are selected: {listed}. The network learns them late, and in batches "
                "they are compared with samples that it learns early. Use method='ltec-full', which compares all "
                "samples at once, or a longer warm-up T_w."
            )

    def of_memorized(self, method: Method, agreement: float) -> None:
        """Warn of a warm-up in which the network has learned wrong labels and right ones alike."""
        self._once(
            "memorized",
            f"when the warm-up ended with epoch {method.epoch}, the network agreed with {agreement:.0%} of the labels, "
            f"although eps={method.eps:.2g} of them are taken to be wrong: either nearly all wrong labels have been "
            "memorized, and cannot be told from right ones any more, or there are fewer. Lower T_w or lr, use a "
            "smaller network or more dropout, or lower eps.",
        )

    def of_equal_passes(self, method: Method) -> None:
        """Warn of several passes that vote although nothing in them is random."""
        self._once(
            "equal passes",
            f"the {method.n_passes} passes of {type(method).__name__} had equal outputs in all of epoch "
            f"{method.epoch}: nothing in the network is random, so they count as a single vote. Add "
            "nn.Dropout or sklearn_lec.modules.GaussianNoise to the module, or use method='ltec'.",
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
            warn_caller(message)


def _listed(items) -> str:
    """Return the first few of some sample numbers or labels, as text."""
    return ", ".join(map(repr, items[:5].tolist())) + (", ..." if len(items) > 5 else "")


def warn_caller(message: str) -> None:
    """Warn, and point at the line of the user's own that called the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    with bars_aside():
        warnings.warn(message, stacklevel=level)


_INSIDE = ("sklearn_lec", "skorch", "contextlib")
