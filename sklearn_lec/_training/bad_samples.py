"""Which samples cannot be learned from: values that are NaN, infinite, or huge beside those of all other samples."""

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor
from torch.utils.data import Dataset

from sklearn_lec._selection import on_host
from sklearn_lec._training.batches import IndexedBatch, arrays_in_memory, take, without_subsets
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
    batch, each among the others of its batch, as long as they are not on a device that the host would have to wait for.

    Parameters
    ----------
    dataset : torch Dataset
        All of X and y; sample numbers are positions in it.

    Attributes
    ----------
    known : bool ndarray of shape (n_samples,)
        Those found so far.
    """

    def __init__(self, dataset: Dataset):
        source, positions = without_subsets(dataset)
        arrays = arrays_in_memory(source)
        self.are_all_known = arrays is not None
        self.known = np.zeros(len(source), dtype=bool) if arrays is None else huge_samples(arrays[0], len(source))
        self.known = self.known if positions is None else self.known[positions]

    def load(self, known: np.ndarray) -> None:
        """Go on with what an interrupted training has found."""
        if known.shape != self.known.shape or known.dtype != bool:
            raise ValueError(f"these are not {len(self.known)} booleans")
        self.known = known

    def among(self, samples: Tensor) -> Tensor:
        """Return those of `samples`, given by their numbers, that are known to be huge."""
        return samples[torch.from_numpy(self.known[samples.numpy()])]

    def left_out_of(self, batches: Iterable[IndexedBatch]) -> Iterable[IndexedBatch]:
        """Return the batches without these samples: as they are, if there is none."""
        return batches if self.are_all_known and not self.known.any() else self._without_huge(batches)

    def _without_huge(self, batches) -> Iterator[IndexedBatch]:
        for batch in batches:
            samples = getattr(batch, "samples", None)
            if samples is None or not _can_be_indexed(batch[0], len(samples)):  # a batch of the user's own making
                yield batch
                continue
            X, y = batch
            numbers = samples.cpu().numpy()
            if not self.are_all_known and all(isinstance(p, np.ndarray) or on_host(p) for p in _parts(X)):
                self.known[numbers] |= huge_samples(X, len(samples))
            rest = torch.from_numpy(~self.known[numbers])
            if rest.all():
                yield batch
            elif rest.any():
                yield IndexedBatch(take(X, rest), take(y, rest), take(samples, rest))


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
        values = part if issparse(part) else as_array(part) if isinstance(part, Tensor) else np.asarray(part)
        stored = part.data if issparse(part) else values
        if values.ndim > 0 and values.shape[0] == n_samples and _has_large_values(stored):
            of_sample = 1 if issparse(part) else tuple(range(1, values.ndim))
            largest, smallest = (_dense(extreme(axis=of_sample)).astype(float) for extreme in (values.max, values.min))
            huge |= _far_above_the_others(np.maximum(largest, -smallest))
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


def _dense(extremes) -> np.ndarray:
    """Return one value per sample as an array; of a sparse matrix they are a sparse column."""
    return extremes.toarray().ravel() if issparse(extremes) else extremes


def _can_be_indexed(X, n_samples) -> bool:
    """Return whether all parts of a batch have one entry for each sample."""
    parts = _parts(X)
    return all(isinstance(p, (np.ndarray, Tensor)) and p.ndim > 0 and len(p) == n_samples for p in parts)


def _has_large_values(values: np.ndarray) -> bool:
    """Return whether there are values beyond `HUGE`, or NaN, without a copy; most often there are none."""
    if values.size == 0 or values.dtype.kind not in "iuf":
        return False
    limits = np.finfo(values.dtype) if values.dtype.kind == "f" else np.iinfo(values.dtype)
    return float(limits.max) > HUGE and not (values.max() <= HUGE and values.min() >= -HUGE)


def _far_above_the_others(largest: np.ndarray) -> np.ndarray:
    """Return which of a few samples lie above a gap of a factor of `HUGE`.

    Parameters
    ----------
    largest : float ndarray of shape (n_samples,)
        The largest absolute value of each sample. Those that are not finite are not judged.

    Returns
    -------
    above : bool ndarray of shape (n_samples,)
    """
    is_finite = np.isfinite(largest)
    ascending = np.sort(largest[is_finite]).clip(min=1.0)
    n_candidates = math.ceil(LARGEST_SHARE * len(ascending))
    upper = ascending[-n_candidates - 1 :]
    gaps = np.flatnonzero(upper[1:] > HUGE * upper[:-1])
    return is_finite & (largest > upper[gaps[0]]) if len(gaps) else np.zeros_like(is_finite)
