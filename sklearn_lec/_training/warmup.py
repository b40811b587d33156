"""Watch the warm-up: end it when the network begins to memorize, and warn if it has memorized everything."""

import torch
from torch import Tensor

from sklearn_lec._selection import small_loss_mask
from sklearn_lec.estimation.warmup import is_memorizing, longest_warmup, memorized_share
from sklearn_lec.methods import Method
from sklearn_lec.methods.parameters import is_open

__all__ = ["WarmupWatch", "settle_warmup"]

NEARLY_ALL = 0.8
"""The share of memorized wrong labels from which on filtering comes too late."""
NOTICEABLE = 0.05
"""The share of wrong labels below which agreement does not tell whether they are memorized."""


def settle_warmup(method: Method, *, max_epochs: int) -> None:
    """Give the method the longest warm-up, if it is left to the training; `WarmupWatch` may shorten it."""
    if is_open(method.get_params(deep=False).get("T_w")):
        method.settle(T_w=longest_warmup(max_epochs))


class WarmupWatch:
    """Measure, epoch by epoch, how well the network agrees with the given labels while it is trained on them.

    Parameters
    ----------
    method : Method
    codes : int64 Tensor of shape (n_samples,)
        The class number of every sample.
    """

    def __init__(self, method: Method, codes: Tensor):
        self.method = method
        self.codes = codes
        self._hits: list[Tensor] = []

    @property
    def is_on(self) -> bool:
        """Whether the epoch under way has to be watched: in the warm-up, if its end is open, or in its last epoch."""
        method, last = self.method, getattr(self.method, "T_w", 0)
        return method.doubts_labels and (method.epoch <= last if "T_w" in method.settled else method.epoch == last)

    def add(self, outputs: tuple[Tensor, ...], labels: Tensor) -> None:
        """Count the samples of a batch that the networks together predict as they are labelled."""
        predicted = sum(output.detach() for output in outputs).argmax(dim=-1)
        self._hits.append(predicted == labels)

    def end_epoch(self, record, warn) -> None:
        """Look at the epoch that has just ended, and end the warm-up if it is time.

        Parameters
        ----------
        record : callable (name, value)
            Writes into the history.
        warn : callable (agreement)
            Called if the warm-up is over, nearly all wrong labels have been memorized, and there is no estimate that
            tells which.
        """
        is_left_open = "T_w" in self.method.settled
        if not self._hits:
            if is_left_open:
                record("agreement", None)  # a column without gaps, which skorch's table of epochs counts on
            return
        method, agreement = self.method, float(torch.cat(self._hits).float().mean())
        self._hits, eps = [], getattr(method, "eps", 0)
        if is_left_open:
            record("agreement", agreement)
            if is_memorizing(agreement, eps=eps):
                method.settle(T_w=method.epoch)
                method.record.candidates = _probably_right(method, self.codes)
        is_over = method.epoch == method.T_w and method.record.candidates is None
        if is_over and eps >= NOTICEABLE and memorized_share(agreement, eps=eps) >= NEARLY_ALL:
            warn(agreement)


def _probably_right(method: Method, codes: Tensor) -> Tensor | None:
    """Return the samples whose labels are right by the estimate that `eps` was taken from; None if there is none.

    A network that memorizes wrong labels within a few epochs finds their losses small. Those that the estimate comes
    from have not been trained on the sample in question: they cannot have memorized its label.

    Parameters
    ----------
    method : Method
    codes : int64 Tensor of shape (n_samples,)
        The class number of every sample.

    Returns
    -------
    mask : bool Tensor of shape (n_samples,) or None
        A share of ``1 - eps`` of those with an estimate, and all samples with a label that none of these has.
    """
    if method.noise_estimate is None:
        return None
    wrong_probability = method.noise_estimate["wrong_probability"].cpu()
    known = ~wrong_probability.isnan()
    mask = torch.zeros_like(known)
    trusted = method.record.trusted
    trusted = None if trusted is None else trusted.cpu()[known]
    mask[known] = small_loss_mask(wrong_probability[known].unsqueeze(0), eps=method.eps, trusted=trusted)[0]
    # Of a class with few samples the estimate knows too little to rule it out.
    mask |= ~torch.isin(codes, codes[mask])
    return mask.to(method.record.counts.device)
