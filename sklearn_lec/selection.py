"""Which rows to trust: pure functions and small state, from losses to masks. No networks, no skorch."""

import math
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from sklearn_lec.shares import decimal_fraction

__all__ = [
    "KeptRows",
    "TemporalConsensus",
    "array_if_on_host",
    "on_host",
    "small_loss_count",
    "small_loss_mask",
    "unanimous",
]


@lru_cache(maxsize=1024)
def small_loss_count(n_rows: int, *, eps: float) -> int:
    """Return how many of `n_rows` rows count as having a small loss.

    Parameters
    ----------
    n_rows : int
    eps : float in [0, 1)
        Share of the rows that is left out.

    Returns
    -------
    count : int
        ``floor((1 - eps) * n_rows)``, computed on the decimal number that `eps` stands for: in floating point
        ``(1 - 0.9) * 100`` falls just short of 10.

    Examples
    --------
    >>> small_loss_count(100, eps=0.9)
    10
    >>> small_loss_count(128, eps=0.2)
    102
    """
    return math.floor((1 - decimal_fraction(eps)) * n_rows)


def small_loss_mask(losses: Tensor, *, eps: float) -> Tensor:
    """Mark the rows with the smallest losses, all but a share `eps` of them.

    Parameters
    ----------
    losses : Tensor of shape (..., n_rows)
    eps : float in [0, 1)

    Returns
    -------
    mask : bool Tensor of the same shape
        ``floor((1 - eps) * n_rows)`` True along the last axis. Ties go to the earlier row. A row whose loss is NaN
        or infinite is never marked, so that there can be fewer.

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
    array = array_if_on_host(losses)
    if isinstance(array, np.ndarray) and np.isfinite(array).all():
        mask = array <= np.partition(array, count - 1)[..., count - 1 : count]
        if np.count_nonzero(mask) * losses.shape[-1] == count * losses.numel():  # no ties at the threshold
            return torch.from_numpy(mask)
    return _smallest(losses, count)


def _smallest(losses, count):
    finite = losses.isfinite()
    losses = losses.where(finite, math.inf)  # nothing compares to NaN
    threshold = losses.kthvalue(count, dim=-1, keepdim=True).values
    below, ties = losses < threshold, losses == threshold
    return finite & (below | (ties & (ties.cumsum(dim=-1) <= count - below.sum(dim=-1, keepdim=True))))


def array_if_on_host(tensor: Tensor) -> Tensor | np.ndarray:
    """Return a tensor, as an array on the same memory if it is on the CPU.

    A batch is so small that its bookkeeping costs as much as the calls do, and a call to NumPy costs a fraction of one
    to torch. What is done with the result has to be written so that both understand it.
    """
    return tensor.detach().numpy() if on_host(tensor) and tensor.dtype != torch.bfloat16 else tensor


def on_host(tensor: Tensor) -> bool:
    """Return whether the host can look at a tensor without waiting for a device."""
    return tensor.device.type == "cpu"


def unanimous(votes: Tensor) -> Tensor:
    """Return for which rows all voters are True.

    Parameters
    ----------
    votes : bool Tensor of shape (n_voters, n_rows)

    Returns
    -------
    agreed : bool Tensor of shape (n_rows,)
    """
    return votes[0] if len(votes) == 1 else votes.all(dim=0)


class TemporalConsensus:
    """Find the rows whose loss has been small in each of the last `M` epochs.

    The paper intersects the small-loss sets of `M` epochs. One integer per row says the same whatever `M`: the last
    epoch in which the row was seen outside the set. A row passes when it is in the current set and that epoch is `M`
    or more epochs ago, or never was. A row that an epoch did not show (``drop_last``) keeps its standing.

    Parameters
    ----------
    n_rows : int
    device : torch.device or str, default="cpu"

    Attributes
    ----------
    last_miss : int32 Tensor of shape (n_rows,)
        The last epoch, counted from 1, in which the row's loss was not small; 0 for never.

    References
    ----------
    Algorithms A3 and A4 of the paper.

    Examples
    --------
    >>> consensus, rows = TemporalConsensus(2), torch.arange(2)
    >>> consensus.update(torch.tensor([True, False]), rows, epoch=1, M=2)
    tensor([ True, False])
    >>> consensus.update(torch.tensor([True, True]), rows, epoch=2, M=2)
    tensor([ True, False])
    >>> consensus.update(torch.tensor([True, True]), rows, epoch=3, M=2)
    tensor([True, True])
    """

    def __init__(self, n_rows: int, *, device="cpu"):
        self.last_miss = torch.zeros(n_rows, dtype=torch.int32, device=device)
        self._before = None

    def update(self, small: Tensor, rows: Tensor, *, epoch: int, M: float, can_be_taken_back: bool = False) -> Tensor:
        """Take in what `epoch` says of `rows`; return which of them pass.

        Parameters
        ----------
        small : bool Tensor of shape (n_batch,)
            Whether each row's loss is small now.
        rows : int64 Tensor of shape (n_batch,)
        epoch : int
            Counted from 1.
        M : int or inf
            How many epochs have to agree, the current one included.
        can_be_taken_back : bool, default=False
            Whether to hold what was known of these rows, until the next update.

        Returns
        -------
        agreed : bool Tensor of shape (n_batch,)
        """
        table, small, rows = array_if_on_host(self.last_miss), array_if_on_host(small), array_if_on_host(rows)
        before = table[rows]
        last_miss = (np if isinstance(table, np.ndarray) else torch).where(small, before, epoch)
        table[rows] = last_miss
        self._before = (rows, before) if can_be_taken_back else None
        return torch.as_tensor(last_miss <= max(epoch - M, 0))

    def take_back(self) -> None:
        """Forget the last update."""
        rows, last_miss = self._before
        array_if_on_host(self.last_miss)[rows] = last_miss


class KeptRows:
    """Keep the books on which rows were learned from: now, in the last finished epoch, and how often.

    Parameters
    ----------
    n_rows : int
        Rows of X as the caller passed it.
    training_rows : int64 Tensor or None, default=None
        The rows that take part in training; None for all.
    device : torch.device or str, default="cpu"

    Attributes
    ----------
    current : bool Tensor of shape (n_rows,)
        Kept in the epoch under way.
    last : bool Tensor of shape (n_rows,)
        Kept in the last finished epoch.
    counts : int16 Tensor of shape (n_rows,)
        In how many filtering epochs the row was kept; -1 for a row that takes no part in training. Becomes int32
        should a training ever outgrow int16.
    n_epochs : int
        Filtering epochs so far.
    """

    def __init__(self, n_rows: int, *, training_rows: Tensor | None = None, device="cpu"):
        self.current = torch.zeros(n_rows, dtype=torch.bool, device=device)
        self.last = torch.zeros_like(self.current)
        self.counts = torch.zeros(n_rows, dtype=torch.int16, device=device)
        self.n_epochs = 0
        if training_rows is not None:
            self.counts.fill_(-1)[training_rows] = 0

    def add(self, rows: Tensor, kept: Tensor | bool) -> None:
        """Note that the epoch under way learned from those of `rows` where `kept` is True."""
        current, rows = array_if_on_host(self.current), array_if_on_host(rows)
        current[rows] |= kept if isinstance(kept, bool) else array_if_on_host(kept)

    def close_epoch(self, *, filtering: bool) -> int:
        """End the epoch under way and return how many rows it kept; only filtering epochs enter the score."""
        if filtering:
            self.n_epochs += 1
            if self.n_epochs > torch.iinfo(self.counts.dtype).max:
                self.counts = self.counts.to(torch.int32)
            self.counts += self.current
        self.last, self.current = self.current, self.last
        self.current.zero_()
        return int(self.last.sum())

    @property
    def last_share(self) -> float:
        """The share of the training rows that the last filtering epoch kept; 1 before there was one."""
        return int(self.last.sum()) / int((self.counts >= 0).sum()) if self.n_epochs else 1.0

    @property
    def score(self) -> Tensor:
        """The share of filtering epochs that kept the row, 1 if there was none; NaN for rows outside training."""
        share = self.counts / self.n_epochs if self.n_epochs else torch.ones(len(self.counts))
        return share.to(self.counts.device).masked_fill(self.counts < 0, math.nan)
