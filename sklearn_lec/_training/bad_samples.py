"""Which samples cannot be learned from: values that are NaN, infinite, or huge beside those of all other samples."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor
from torch.utils.data import Dataset

from sklearn_lec._selection import on_host
from sklearn_lec._training.batches import IndexedBatch, arrays_in_memory, take, without_subsets
from sklearn_lec._training.warn import warn_caller
from sklearn_lec._validation import as_array

__all__ = ["HUGE", "HugeSamples", "finite_samples", "huge_samples"]

HUGE = 2.0**24
"""How many times as large as in all other samples a value has to be. float32 has 24 binary digits: added to such a
value, the others leave no trace. Batch norm's statistics are such sums, and so is the gradient."""
LARGEST_SHARE = 0.02
"""More samples than this share are no accident: huge values are what X is like, and nothing is left out."""


class HugeSamples:
    """The samples that are left out of a training because of a huge value.

    Data in memory is looked at once, before the training. The samples that a Dataset loads are looked at batch by
    batch, each among all that have been seen so far, as long as they are not on a device that the host would have to
    wait for. When each sample has been seen, those are left out that would be if the data were in memory.

    Parameters
    ----------
    dataset : torch Dataset
        All of X and y; sample numbers are positions in it.

    Attributes
    ----------
    are_all_known : bool
        Whether the data is in memory.
    """

    def __init__(self, dataset: Dataset):
        source, positions = without_subsets(dataset)
        arrays = arrays_in_memory(source)
        self.are_all_known = arrays is not None
        self._n_samples = len(dataset)
        self._in_memory = np.zeros(self._n_samples, dtype=bool)
        self._loaded: dict[int, _LoadedValues] = {}  # by the place of a part in X
        self._named: set[int] = set()  # those that there was a warning of
        if arrays is not None:
            huge = huge_samples(arrays[0], len(source))
            self._in_memory = huge if positions is None else huge[positions]

    @property
    def known(self) -> np.ndarray:
        """Whether each sample is huge, as far as is known; a bool ndarray of shape (n_samples,)."""
        return self._are_known(slice(None))

    def state(self) -> dict:
        """Return all that an interrupted training needs to go on; data in memory is looked at again."""
        return {place: dict(vars(values)) for place, values in self._loaded.items()}

    def load(self, state: dict) -> None:
        """Go on with what `state` has returned."""
        loaded = {place: _LoadedValues(**values) for place, values in state.items()}
        shapes = {values.largest.shape for values in loaded.values()}
        if shapes - (set() if self.are_all_known else {(self._n_samples,)}):
            raise ValueError(f"these are not the largest values of {self._n_samples} samples that were loaded")
        self._loaded = loaded

    def among(self, samples: Tensor) -> Tensor:
        """Return those of `samples`, given by their numbers, that are known to be huge."""
        return samples[torch.from_numpy(self._are_known(samples.numpy()))]

    def warn(self, training_samples: Tensor, *, is_last: bool = False) -> None:
        """Warn of those that are left out of the training: when there are some, and of others found since at its end.

        Parameters
        ----------
        training_samples : int64 Tensor of shape (n_training,)
            Their numbers.
        is_last : bool, default=False
            Whether the last epoch of the training has ended.
        """
        found = sorted(set(self.among(training_samples).tolist()) - self._named)
        if found and (is_last or not self._named):
            self._named.update(found)
            named = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
            total = f" ({len(found)} in all)" if len(found) > 5 else ""
            warn_caller(
                f"sample(s) {named} of X{total} hold a value more than ten million times as large as any of the other "
                "samples. float32 cannot hold both, and such samples are not learned from. Correct or remove them, or "
                "scale X."
            )

    def left_out_of(self, batches: Iterable[IndexedBatch]) -> Iterable[IndexedBatch]:
        """Return the batches without these samples: as they are, if there is none."""
        return batches if self.are_all_known and not self._in_memory.any() else self._without_huge(batches)

    def _are_known(self, numbers) -> np.ndarray:
        """Return which of the samples with these numbers are known to be huge."""
        known = self._in_memory[numbers]
        for values in self._loaded.values():
            if values.is_exceeded:
                known = known | values.are_huge(numbers)
        return known

    def _without_huge(self, batches) -> Iterator[IndexedBatch]:
        for batch in batches:
            samples = getattr(batch, "samples", None)
            if samples is None or not _can_be_indexed(batch[0], len(samples)):  # a batch of the user's own making
                yield batch
                continue
            X, y = batch
            numbers = samples.cpu().numpy()
            if not self.are_all_known and all(isinstance(p, np.ndarray) or on_host(p) for p in _parts(X)):
                self._look_at(X, numbers)
            rest = torch.from_numpy(~self._are_known(numbers))
            if rest.all():
                yield batch
            elif rest.any():
                yield IndexedBatch(take(X, rest), take(y, rest), take(samples, rest))
        for values in self._loaded.values():
            values.end_pass()

    def _look_at(self, X, numbers: np.ndarray) -> None:
        """Take in a batch that was loaded."""
        for place, part in enumerate(_parts(X)):
            largest = _largest_values(part, len(numbers))
            if largest is not None:
                if place not in self._loaded:
                    self._loaded[place] = _LoadedValues(np.full(self._n_samples, np.nan))
                self._loaded[place].take_in(numbers, largest)


@dataclass
class _LoadedValues:
    """The values of one part of X, as far as they have been loaded, and from where on they are huge.

    All that was seen is compared anew only now and then: if a batch is the first to go beyond the limit, when twice as
    many samples have been seen, and at the end of each pass through the data; never if no value has been large.
    """

    largest: np.ndarray
    """The largest absolute value of each sample: NaN if it was not seen, infinite if it is not a number. Where a batch
    holds no large value, it is that of the batch: up to `HUGE` only the largest of all samples counts."""
    n_seen: int = 0
    n_compared: int = 0
    """How many had been seen when they were last compared; 0 if they never were."""
    limit: float = HUGE
    """Values beyond it are huge."""
    is_exceeded: bool = False
    """Whether there were any when they were last compared."""

    def take_in(self, numbers: np.ndarray, largest: np.ndarray | float) -> None:
        """Take in a batch: the numbers of its samples, and what `_largest_values` returns for it."""
        self.n_seen += int(np.isnan(self.largest[numbers]).sum())
        self.largest[numbers] = largest
        is_first_beyond = not self.is_exceeded and isinstance(largest, np.ndarray) and self.are_huge(numbers).any()
        if is_first_beyond or 0 < 2 * self.n_compared <= self.n_seen:
            self._compare()

    def end_pass(self) -> None:
        """Take in that there are no more batches in this pass."""
        if self.n_compared > 0:
            self._compare()

    def are_huge(self, numbers) -> np.ndarray:
        """Return which of the samples with these numbers are huge."""
        return _are_beyond(self.limit, self.largest[numbers])

    def _compare(self) -> None:
        self.limit = _limit(self.largest)
        self.is_exceeded = bool(_are_beyond(self.limit, self.largest).any())
        self.n_compared = self.n_seen


def huge_samples(X, n_samples: int) -> np.ndarray:
    """Return the samples with a value that is more than `HUGE` times as large as 1 and as all other samples' values.

    Not those of features that are large in many samples, and not those of heavy tails, where the largest values have
    others below them that are not much smaller.

    Parameters
    ----------
    X : array, sparse matrix, Tensor, or a dict, list or tuple of them
        Parts of another length, and those that do not hold numbers, are passed over.
    n_samples : int

    Returns
    -------
    huge : bool ndarray of shape (n_samples,)

    Examples
    --------
    >>> huge_samples(np.array([[0.5, 2.0], [1.0, -1e20], [3.0, 0.0]]), 3)
    array([False,  True, False])
    >>> huge_samples(np.array([[1e12, 2.0], [1e13, 1e20], [1e14, 0.0]]), 3)
    array([False, False, False])
    """
    huge = np.zeros(n_samples, dtype=bool)
    for part in _parts(X):
        largest = _largest_values(part, n_samples)
        if isinstance(largest, np.ndarray):
            huge |= _are_beyond(_limit(largest), largest)
    return huge


def finite_samples(losses: Tensor, X) -> Tensor:
    """Return the samples that can be learned from when some losses are NaN or infinite.

    Parameters
    ----------
    losses : Tensor of shape (n_voters, n_samples)
    X : Tensor, or a dict, list or tuple of them
        The inputs. Batch norm spreads the NaN of one sample over its whole batch; if no loss is finite, the inputs
        tell which sample it came from.

    Returns
    -------
    finite : bool Tensor of shape (n_samples,)
    """
    finite = losses.isfinite().all(dim=0)
    if finite.any():
        return finite
    inputs = [
        torch.as_tensor(part, device=losses.device).reshape(len(part), -1).isfinite().all(dim=1) for part in _parts(X)
    ]
    huge = torch.from_numpy(huge_samples(X, len(finite))).to(losses.device)
    return torch.stack([*inputs, ~huge]).all(dim=0)


def _parts(X) -> list:
    """Return the arrays or tensors that X is made of."""
    if isinstance(X, (Mapping, list, tuple)):
        return [leaf for part in (X.values() if isinstance(X, Mapping) else X) for leaf in _parts(part)]
    return [X]


def _can_be_indexed(X, n_samples) -> bool:
    """Return whether all parts of a batch have one entry for each sample."""
    parts = _parts(X)
    return all(isinstance(p, (np.ndarray, Tensor)) and p.ndim > 0 and len(p) == n_samples for p in parts)


def _largest_values(part, n_samples: int) -> np.ndarray | float | None:
    """Return the largest absolute value of each sample in a part of X.

    Returns
    -------
    largest : float ndarray of shape (n_samples,), float or None
        Infinite for a sample that holds NaN. A single number, that of all samples, if no value is beyond `HUGE`: most
        often that is so, and is quickly seen. None if no value can be, because of the type or the shape of the part.
    """
    values = part if issparse(part) else as_array(part) if isinstance(part, Tensor) else np.asarray(part)
    stored = values.data if issparse(values) else values
    if values.ndim == 0 or values.shape[0] != n_samples or stored.size == 0 or values.dtype.kind not in "iuf":
        return None
    limits = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
    if float(limits.max) <= HUGE:
        return None
    of_all = max(float(stored.max()), -float(stored.min()))  # if there is a NaN, the maximum and the minimum are NaN
    if of_all <= HUGE:
        return of_all
    of_sample = 1 if issparse(values) else tuple(range(1, values.ndim))
    extremes = (extreme(axis=of_sample) for extreme in (values.max, values.min))
    highest, lowest = (
        (column.toarray().ravel() if issparse(column) else column).astype(float)  # a sparse matrix has sparse ones
        for column in extremes
    )
    largest = np.maximum(highest, -lowest)
    return np.where(np.isnan(largest), np.inf, largest)


def _limit(largest: np.ndarray) -> float:
    """Return beyond which value a sample is huge: `HUGE` times the largest value below a gap of that factor.

    Parameters
    ----------
    largest : float ndarray of shape (n_samples,)
        The largest absolute value of each sample. Those that are not finite are not judged.

    Returns
    -------
    limit : float
        No value is beyond it if there is no gap below the few largest ones.
    """
    ascending = np.sort(largest[np.isfinite(largest)]).clip(min=1.0)
    if len(ascending) == 0:
        return HUGE
    n_candidates = math.ceil(LARGEST_SHARE * len(ascending))
    upper = ascending[-n_candidates - 1 :]
    gaps = np.flatnonzero(upper[1:] / HUGE > upper[:-1])
    return HUGE * float(upper[gaps[0]] if len(gaps) else upper[-1])


def _are_beyond(limit: float, largest: np.ndarray) -> np.ndarray:
    """Return which samples have a finite value beyond the limit."""
    return (largest > limit) & (largest < np.inf)
