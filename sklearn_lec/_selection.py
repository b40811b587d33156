"""Which samples to trust: pure functions from losses to masks, and the record of what was selected."""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from sklearn_lec._predictions import no_predictions

__all__ = [
    "SampleRecord",
    "array_if_on_host",
    "decimal_fraction",
    "on_host",
    "small_loss_count",
    "small_loss_mask",
    "small_loss_mask_of_labels",
    "temporal_consensus",
    "unanimous",
]


def decimal_fraction(share: float) -> Fraction:
    """Return the simple fraction that a floating-point share stands for.

    Counting samples with it is exact, where ``int((1 - 0.9) * 100)`` would give 9.

    Examples
    --------
    >>> decimal_fraction(0.9)
    Fraction(9, 10)
    """
    simple = Fraction(float(share)).limit_denominator(10**6)
    # 0.6 * 1.1 is meant to be 0.66, while 1e-7 is meant to be what it says.
    return simple if abs(simple - Fraction(float(share))) < 1e-12 else Fraction(str(share))


@lru_cache(maxsize=1024)
def small_loss_count(n_samples: int, *, eps: float) -> int:
    """Return how many of `n_samples` samples count as having a small loss.

    Parameters
    ----------
    n_samples : int
    eps : float in [0, 1)
        Share of the samples that is left out.

    Returns
    -------
    count : int
        ``floor((1 - eps) * n_samples)``, computed on the decimal number that `eps` stands for: in floating point
        ``(1 - 0.9) * 100`` falls just short of 10.

    Examples
    --------
    >>> small_loss_count(100, eps=0.9)
    10
    >>> small_loss_count(128, eps=0.2)
    102
    """
    return math.floor((1 - decimal_fraction(eps)) * n_samples)


def small_loss_mask(losses: Tensor, *, eps: float, trusted: Tensor | None = None) -> Tensor:
    """Mark the samples with the smallest losses, all but a share `eps` of them.

    Parameters
    ----------
    losses : Tensor of shape (..., n_samples)
    eps : float in [0, 1)
    trusted : bool Tensor of shape (n_samples,) or None, default=None
        Samples that are marked first, however large their loss is.

    Returns
    -------
    mask : bool Tensor of the same shape
        ``floor((1 - eps) * n_samples)`` True along the last axis. Ties go to the earlier sample. A sample whose loss is
        NaN or infinite is never marked, so that there can be fewer.

    References
    ----------
    The set S of Section 3.1 of the paper.

    Examples
    --------
    >>> small_loss_mask(torch.tensor([0.3, 9.0, 0.1, 0.2]), eps=0.5)
    tensor([False, False,  True,  True])
    """
    count = small_loss_count(losses.shape[-1], eps=eps)
    if count == 0:
        return torch.zeros_like(losses, dtype=torch.bool)
    if trusted is not None:
        losses = losses.masked_fill(trusted & losses.isfinite(), torch.finfo(losses.dtype).min)
    array = array_if_on_host(losses)
    if isinstance(array, np.ndarray) and np.isfinite(array).all():
        mask = array <= np.partition(array, count - 1)[..., count - 1 : count]
        if np.count_nonzero(mask) * losses.shape[-1] == count * losses.numel():  # no ties at the threshold
            return torch.from_numpy(mask)
    return _smallest(losses, count)


def small_loss_mask_of_labels(
    losses: Tensor, labels: Tensor, *, shares: Tensor, trusted: Tensor | None = None
) -> Tensor:
    """Mark the samples with the smallest losses among those given the same label.

    Parameters
    ----------
    losses : Tensor of shape (..., n_samples)
    labels : int64 Tensor of shape (n_samples,)
        The given labels as class numbers.
    shares : Tensor of shape (n_classes,)
        The share of the samples given each label that is left out, each in [0, 1).
    trusted : bool Tensor of shape (n_samples,) or None, default=None
        Samples that are marked first, however large their loss is.

    Returns
    -------
    mask : bool Tensor of the same shape as `losses`
        For each label as many True as `small_loss_mask` has, along the last axis.

    Examples
    --------
    >>> losses, labels = torch.tensor([0.3, 9.0, 0.1, 0.2]), torch.tensor([0, 0, 1, 1])
    >>> small_loss_mask_of_labels(losses, labels, shares=torch.tensor([0.0, 0.5]))
    tensor([ True,  True,  True, False])
    """
    mask = torch.zeros_like(losses, dtype=torch.bool)
    for label, share in enumerate(shares.tolist()):
        samples = (labels == label).nonzero().flatten()
        first = None if trusted is None else trusted[samples]
        mask[..., samples] = small_loss_mask(losses[..., samples], eps=share, trusted=first)
    return mask


def _smallest(losses: Tensor, count: int) -> Tensor:
    """Mark the `count` smallest finite losses along the last axis, on any device; ties go to the earlier one."""
    finite = losses.isfinite()
    losses = losses.where(finite, math.inf)  # nothing compares to NaN
    threshold = losses.kthvalue(count, dim=-1, keepdim=True).values
    below, ties = losses < threshold, losses == threshold
    return finite & (below | (ties & (ties.cumsum(dim=-1) <= count - below.sum(dim=-1, keepdim=True))))


def unanimous(votes: Tensor) -> Tensor:
    """Return for which samples all voters are True.

    Parameters
    ----------
    votes : bool Tensor of shape (n_voters, n_samples)

    Returns
    -------
    agreed : bool Tensor of shape (n_samples,)
    """
    return votes[0] if len(votes) == 1 else votes.all(dim=0)


def temporal_consensus(small: Tensor, last_miss: Tensor, *, epoch: int, M: float) -> tuple[Tensor, Tensor]:
    """Find the samples whose loss has been small in each of the last `M` epochs.

    The paper intersects the small-loss sets of `M` epochs. One integer per sample says the same for every `M`: the
    last epoch in which the sample was seen outside the set. A sample passes when it is in the current set and that
    epoch is `M` or more epochs ago, or never was. A sample that an epoch did not show (``drop_last``) keeps its
    integer.

    Parameters
    ----------
    small : bool Tensor of shape (n_samples,)
        Whether each sample's loss is small now.
    last_miss : int32 Tensor of shape (n_samples,)
        The last epoch, counted from 1, in which the sample's loss was not small; 0 for never.
    epoch : int
        The current epoch, counted from 1.
    M : int or inf
        How many epochs have to agree, the current one included.

    Returns
    -------
    agreed : bool Tensor of shape (n_samples,)
    last_miss : int32 Tensor of shape (n_samples,)
        What has to be remembered until the next epoch.

    References
    ----------
    Algorithms A3 and A4 of the paper.

    Examples
    --------
    >>> never = torch.zeros(2, dtype=torch.int32)
    >>> agreed, last_miss = temporal_consensus(torch.tensor([True, False]), never, epoch=1, M=2)
    >>> temporal_consensus(torch.tensor([True, True]), last_miss, epoch=2, M=2)[0]
    tensor([ True, False])
    >>> temporal_consensus(torch.tensor([True, True]), last_miss, epoch=3, M=2)[0]
    tensor([True, True])
    """
    before = array_if_on_host(last_miss)
    where = np.where if isinstance(before, np.ndarray) else torch.where
    after = torch.as_tensor(where(array_if_on_host(small), before, epoch))
    return after <= max(epoch - M, 0), after


def array_if_on_host(tensor: Tensor) -> Tensor | np.ndarray:
    """Return a tensor, as an array on the same memory if it is on the CPU.

    A batch is so small that its bookkeeping costs as much as the calls do, and a call to NumPy costs a fraction of one
    to torch. What is done with the result has to be written so that both understand it.
    """
    return tensor.detach().numpy() if on_host(tensor) and tensor.dtype != torch.bfloat16 else tensor


def on_host(tensor: Tensor) -> bool:
    """Return whether the host can look at a tensor without waiting for a device."""
    return tensor.device.type == "cpu"


class SampleRecord:
    """What is known of each sample: whether it was selected, how often, and what the method remembers of it.

    Parameters
    ----------
    n_samples : int
        Samples of X as the caller passed it.
    training_samples : int64 Tensor or None, default=None
        The numbers of the samples that take part in training; None for all.
    memory : mapping from str to Tensor, default={}
        What the method remembers of each sample: a name, and the value for one sample to begin with. A scalar takes
        one entry per sample, a vector of K entries K of them.
    labels : int64 Tensor of shape (n_samples,) or None, default=None
        The given labels as class numbers; None if they are not known, and predictions not written down.
    device : torch.device or str, default="cpu"

    Attributes
    ----------
    current : bool Tensor of shape (n_samples,)
        Selected in the epoch under way.
    last : bool Tensor of shape (n_samples,)
        Selected in the last finished epoch.
    counts : int16 Tensor of shape (n_samples,)
        In how many epochs after the warm-up the sample was selected; -1 for a sample that takes no part in training.
        Becomes int32 should a training ever outgrow int16.
    n_epochs : int
        Epochs after the warm-up so far.
    memory : dict from str to Tensor of shape (n_samples, ...)
    predictions : dict from str to Tensor of shape (n_samples,)
        What has been predicted of each sample, as `no_predictions` describes it.
    candidates : bool Tensor of shape (n_samples,) or None
        The samples among which the method selects, if not among all.
    trusted : bool Tensor of shape (n_samples,) or None
        The samples whose labels are known to be right, so that they are never left out.
    """

    def __init__(
        self,
        n_samples: int,
        *,
        training_samples: Tensor | None = None,
        memory: Mapping[str, Tensor] | None = None,
        labels: Tensor | None = None,
        device="cpu",
    ):
        self.current = torch.zeros(n_samples, dtype=torch.bool, device=device)
        self.last = torch.zeros_like(self.current)
        self.counts = torch.zeros(n_samples, dtype=torch.int16, device=device)
        self.n_epochs = 0
        self.candidates: Tensor | None = None
        self.trusted: Tensor | None = None
        if training_samples is not None:
            self.counts.fill_(-1)[training_samples] = 0
        first = {name: torch.as_tensor(value, device=device) for name, value in (memory or {}).items()}
        self.memory = {name: value.expand(n_samples, *value.shape).clone() for name, value in first.items()}
        unknown = torch.full((n_samples,), -1)
        self.predictions = no_predictions((unknown if labels is None else labels).to(device))

    def admitted(self, mask: Tensor | None, samples: Tensor, *, is_past_warmup: bool) -> Tensor | None:
        """Return a selection among `samples` without those that are no candidates, and with those that are trusted."""
        if self.candidates is not None and is_past_warmup:
            candidates = self.candidates[samples]
            mask = candidates.unsqueeze(dim=0) if mask is None else mask & candidates
        return mask if mask is None or self.trusted is None else mask | self.trusted[samples]

    def add(self, samples: Tensor, selected: Tensor | None) -> None:
        """Note that the epoch under way learned from those of `samples` where `selected` is True; None for all."""
        current, samples = array_if_on_host(self.current), array_if_on_host(samples)
        if selected is None:
            current[samples] = True
        elif isinstance(current, np.ndarray):  # a sampler may have drawn a sample twice
            current[samples[array_if_on_host(selected)]] = True
        else:
            current[samples] |= selected

    def remember(self, samples: Tensor, memory: Mapping[str, Tensor]) -> None:
        """Write new values of the method's memory for `samples`."""
        for name, values in memory.items():
            table, values = array_if_on_host(self.memory[name]), values.to(self.memory[name].dtype)
            if isinstance(table, np.ndarray):
                table[array_if_on_host(samples)] = array_if_on_host(values)
            else:
                table[samples] = values

    def close_epoch(self, *, is_past_warmup: bool) -> int:
        """End the epoch under way and return how many samples it selected; warm-up does not enter the score."""
        if is_past_warmup:
            self.n_epochs += 1
            if self.n_epochs > torch.iinfo(self.counts.dtype).max:
                self.counts = self.counts.to(torch.int32)
            self.counts += self.current
        self.last, self.current = self.current, self.last
        self.current.zero_()
        return int(self.last.sum())

    @property
    def score(self) -> Tensor:
        """The share of epochs that selected the sample, 1 if there was none; NaN for samples outside training."""
        share = self.counts / self.n_epochs if self.n_epochs else torch.ones(len(self.counts))
        return share.to(self.counts.device).masked_fill(self.counts < 0, math.nan)
