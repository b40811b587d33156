"""From samples to batches that carry their sample numbers, with whole-batch indexing for data in memory.

Two kinds of numbers occur. A *position* counts within the data set at hand, which may be a Subset. A *sample number*
counts within X as the caller passed it; masks and records go by it. `sample_numbers` leads from the one to the other.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import skorch.dataset
import torch
from scipy.sparse import issparse
from skorch.dataset import unpack_data
from skorch.helper import SliceDataset
from torch import Tensor, nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    TensorDataset,
    default_collate,
)

from sklearn_lec._training.workers import EpochsOfWorker, SeededPositions, begin_epoch_of_workers, with_seeded_batches

__all__ = [
    "ArrayBatchSampler",
    "IndexedBatch",
    "IndexedDataset",
    "IndexedLoader",
    "arrays_in_memory",
    "indexed_loader",
    "reference_parameter",
    "sample_numbers",
    "sample_numbers_of",
    "take",
    "to_like",
    "without_subsets",
]


class IndexedBatch(tuple):
    """A batch ``(X, y)`` that also has the numbers of its samples.

    They are an attribute and not a part of the pair, because skorch's callbacks unpack a batch into exactly two.
    """

    samples: torch.Tensor | None
    selected: torch.Tensor | None = None
    """After a training step: which samples were learned from, shape (1, n_samples) or (n_networks, n_samples); None for
    all of them."""

    def __new__(cls, X, y, samples):
        """Make the pair ``(X, y)`` with the attribute `samples`."""
        batch = super().__new__(cls, (X, y))
        batch.samples = samples
        return batch


class IndexedDataset(Dataset):
    """Fetch whole batches of a data set, each with its sample numbers.

    Parameters
    ----------
    dataset : torch Dataset
        Yields pairs (x, y).
    numbers : int array of shape (len(dataset),) or None, default=None
        The number of each sample; None if it is not known.
    collate_fn : callable or None, default=None
        Makes a batch of a list of samples. If None, data in memory is indexed by whole batches, without a call per
        sample, and other data goes through torch's own collate function.
    arrays : tuple (X, y) or None, default=None
        Used in place of the arrays that the data set holds: the same samples, on another device.

    Notes
    -----
    Batches come out whole: a `DataLoader` over this must not collate them again.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        numbers: np.ndarray | None = None,
        collate_fn: Callable | None = None,
        arrays: tuple | None = None,
    ):
        self.dataset = dataset
        self.numbers = numbers
        self.collate_fn = collate_fn or default_collate
        self.epochs = EpochsOfWorker()
        self.positions = None
        self.arrays = None
        if collate_fn is None:
            source, self.positions = without_subsets(dataset)
            self.arrays = arrays_in_memory(source) if arrays is None else arrays

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, position):
        return self.__getitems__([position])

    def __getitems__(self, positions):
        if isinstance(positions, SeededPositions):
            positions = self.epochs.begin(positions)
        at = np.asarray(positions)
        if self.arrays is not None:
            X, y = (take(array, at if self.positions is None else self.positions[at]) for array in self.arrays)
            y = torch.zeros(len(at)) if y is None else y
        else:
            X, y = unpack_data(self.collate_fn(self._samples(positions)))
        return None if self.numbers is None else torch.from_numpy(self.numbers[at]), X, _numeric_as_tensor(y)

    def _samples(self, positions):
        positions = np.asarray(positions).tolist()  # a data set of the user's counts on plain numbers
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(positions)
        return [self._sample(position) for position in positions]

    def _sample(self, position):
        try:
            return self.dataset[position]
        except Exception as error:
            error.add_note(f"This was sample {position if self.numbers is None else self.numbers[position]} of X.")
            raise


class IndexedLoader:
    """Iterate over a loader of `IndexedDataset`, giving each batch the form that skorch knows.

    Parameters
    ----------
    loader : iterable of (samples, X, y)
    """

    def __init__(self, loader):
        self.loader = loader
        self._n_epochs = 0

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[IndexedBatch]:
        if getattr(self.loader, "persistent_workers", False):
            begin_epoch_of_workers(self.loader, is_first=self._n_epochs == 0)
        self._n_epochs += 1
        for samples, X, y in self.loader:
            yield IndexedBatch(X, y, samples)

    @property
    def dataset(self) -> Dataset:
        """The data set that is iterated over, without its sample numbers."""
        return self.loader.dataset.dataset


class ArrayBatchSampler(BatchSampler):
    """Cut the order of a sampler into arrays of positions, which are faster to index with than lists."""

    def __init__(self, sampler: Sampler[int], batch_size: int, *, drop_last: bool):
        super().__init__(sampler, batch_size, drop_last)

    def __iter__(self) -> Iterator[np.ndarray]:
        order = np.fromiter(self.sampler, dtype=np.int64, count=len(self.sampler))
        for number in range(len(self)):
            yield order[number * self.batch_size : (number + 1) * self.batch_size]


def indexed_loader(
    dataset: Dataset, loader_class: Callable, *, numbers: np.ndarray | None, arrays: tuple | None = None, **arguments
) -> IndexedLoader:
    """Return an iterator over the batches of a data set that carry their sample numbers.

    Parameters
    ----------
    dataset : torch Dataset
    loader_class : DataLoader or a subclass
    numbers : int array of shape (len(dataset),) or None
    arrays : tuple (X, y) or None, default=None
        As for `IndexedDataset`.
    **arguments
        Those of the loader. A sampler excludes ``shuffle``, and a batch sampler ``batch_size`` too; a batch size of
        -1 means all samples.

    Returns
    -------
    batches : IndexedLoader
    """
    has_sampler = arguments.get("sampler") is not None or arguments.get("batch_sampler") is not None
    if has_sampler:
        arguments.pop("shuffle")
    if arguments.get("batch_sampler") is not None:
        arguments.pop("batch_size")
    if arguments.get("batch_size") == -1:
        arguments["batch_size"] = len(dataset)
    if loader_class is DataLoader and not has_sampler and arguments.get("batch_size") is not None:
        shuffled = arguments.pop("shuffle", False)
        sampler = (
            RandomSampler(dataset, generator=arguments.get("generator")) if shuffled else SequentialSampler(dataset)
        )
        size, drop_last = arguments.pop("batch_size"), arguments.pop("drop_last", False)
        arguments["batch_sampler"] = ArrayBatchSampler(sampler, size, drop_last=drop_last)
    if loader_class is DataLoader and arguments.get("persistent_workers"):
        arguments = with_seeded_batches(arguments)
    numbered = IndexedDataset(dataset, numbers=numbers, collate_fn=arguments.pop("collate_fn", None), arrays=arrays)
    return IndexedLoader(loader_class(numbered, collate_fn=_as_is, **arguments))


def take(data, at):
    """Return the samples `at` of an array, a sparse matrix, a tensor, or a dict, list or tuple of those.

    Parameters
    ----------
    data : ndarray, csr_matrix, Tensor, None, or a dict, list or tuple of them
    at : int ndarray or bool or int64 Tensor

    Returns
    -------
    taken : the same nesting, with tensors for numeric arrays and for sparse matrices, of which only these samples are
        made dense
    """
    if data is None:
        return None
    if isinstance(data, Mapping):
        return {name: take(part, at) for name, part in data.items()}
    if isinstance(data, (list, tuple)):
        return [take(part, at) for part in data]
    if isinstance(data, torch.Tensor):
        return data[torch.as_tensor(at, device=data.device)]
    at = at.cpu().numpy() if isinstance(at, torch.Tensor) else at
    return _numeric_as_tensor(data[at].toarray() if issparse(data) else np.asarray(data)[at])


def reference_parameter(module: nn.Module) -> Tensor:
    """Return a parameter that has the device and the precision of a network."""
    return next((p for p in module.parameters() if p.is_floating_point()), torch.empty(0))


def to_like(data, like: Tensor):
    """Return `data` as tensors on the device of `like`, floats in its precision; integers stay what they are.

    Parameters
    ----------
    data : array, Tensor, or a dict, list or tuple of them
    like : Tensor

    Returns
    -------
    tensors : the same nesting
    """

    def match(part):
        if isinstance(part, Mapping):
            return {name: match(value) for name, value in part.items()}
        if isinstance(part, (list, tuple)):
            return [match(value) for value in part]
        if not isinstance(part, Tensor):  # a copy, where torch could not work on the memory of an array
            part = torch.from_numpy(np.require(part, requirements=["C", "W"]))
        return part.to(like) if part.is_floating_point() else part.to(like.device)

    return match(data)


def sample_numbers(dataset: Dataset, whole: Dataset | None) -> np.ndarray | None:
    """Return the numbers that the samples of `dataset` have in `whole`.

    Parameters
    ----------
    dataset : Dataset
        `whole` itself or a Subset of it, possibly of Subsets.
    whole : Dataset or None

    Returns
    -------
    numbers : int array of shape (len(dataset),), or None if `dataset` is not made of `whole`
    """
    numbers = np.arange(len(dataset))
    while dataset is not whole:
        if not isinstance(dataset, Subset):
            return None
        numbers = np.asarray(dataset.indices)[numbers]
        dataset = dataset.dataset
    return numbers


def sample_numbers_of(batch) -> Tensor:
    """Return the sample numbers that a batch carries, or raise an error that says where they come from."""
    samples = getattr(batch, "samples", None)
    if samples is None:
        raise TypeError(
            f"a batch of the training, a {type(batch).__name__}, has no sample numbers, so that it is not known which "
            "samples it holds. Batches must be passed on as super().get_iterator(dataset, training=True) yields them, "
            "and the data set must be that of the training; a transformation belongs in the Dataset passed to fit."
        )
    return samples


def without_subsets(dataset: Dataset) -> tuple[Dataset, np.ndarray | None]:
    """Return the data set that Subsets pick from, and the positions that they pick; None for all.

    Only plain Subsets are looked through: a subclass may do more than pick samples.
    """
    positions = None
    while type(dataset) is Subset:
        indices = np.asarray(dataset.indices)
        positions = indices if positions is None else indices[positions]
        dataset = dataset.dataset
    return dataset, positions


def arrays_in_memory(dataset: Dataset) -> tuple | None:
    """Return X and y if the data set does nothing but index them, else None."""
    if type(dataset) is skorch.dataset.Dataset:
        return None if isinstance(dataset.X, SliceDataset) else (dataset.X, dataset.y)
    if type(dataset) is TensorDataset and len(dataset.tensors) == 2:
        return dataset.tensors
    return None


def _as_is(batch):
    return batch


def _numeric_as_tensor(values):
    # Labels that are words have no tensor; they stay an array, which skorch's scoring takes just as well.
    values = np.asarray(values) if isinstance(values, (list, tuple)) else values
    is_numeric = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    return torch.from_numpy(values) if is_numeric else values
