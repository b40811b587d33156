import numpy as np
import pytest
import torch
from skorch.dataset import Dataset as SkorchDataset
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, Subset, TensorDataset

from sklearn_lec._training.batches import (
    IndexedDataset,
    indexed_loader,
    reference_parameter,
    sample_numbers,
    to_like,
)

X = np.arange(20.0).reshape(10, 2)
y = np.arange(10) % 3


class OneByOne(SkorchDataset):
    """Not a plain skorch Dataset, so samples are fetched one by one."""


@pytest.mark.parametrize(
    "dataset", [SkorchDataset(X, y), OneByOne(X, y), TensorDataset(*map(torch.from_numpy, (X, y)))]
)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_bring_the_samples_that_their_numbers_say(dataset, num_workers):
    subset = Subset(dataset, [7, 2, 5, 9])

    batches = list(
        indexed_loader(
            subset,
            DataLoader,
            numbers=sample_numbers(subset, dataset),
            batch_size=3,
            shuffle=True,
            num_workers=num_workers,
        )
    )

    assert [len(batch.samples) for batch in batches] == [3, 1]
    for batch in batches:
        X_batch, y_batch = batch
        assert torch.equal(X_batch, torch.from_numpy(X[batch.samples.numpy()]))
        assert torch.equal(y_batch, torch.from_numpy(y[batch.samples.numpy()]))
    assert {sample for batch in batches for sample in batch.samples.tolist()} == {7, 2, 5, 9}


def test_data_in_memory_is_fetched_by_whole_batches():
    class CountingArray(np.ndarray):
        calls = 0

        def __getitem__(self, index):
            CountingArray.calls += 1
            return np.asarray(self)[index]

    dataset = SkorchDataset(X, y)
    dataset.X = X.view(CountingArray)
    CountingArray.calls = 0

    IndexedDataset(dataset).__getitems__([1, 2, 3, 4, 5])

    assert CountingArray.calls <= 1


def test_samples_are_traced_through_subsets_of_subsets():
    whole = SkorchDataset(X, y)

    numbers = sample_numbers(Subset(Subset(whole, [3, 5, 7]), [2, 0]), whole)

    assert numbers.tolist() == [7, 3]
    assert sample_numbers(whole, whole).tolist() == list(range(10))
    assert sample_numbers(SkorchDataset(X, y), whole) is None


@pytest.mark.parametrize("name", ["sampler", "batch_sampler"])
def test_a_sampler_of_none_is_no_sampler(name):
    batches = indexed_loader(SkorchDataset(X, y), DataLoader, numbers=None, batch_size=4, shuffle=True, **{name: None})

    assert [len(batch[0]) for batch in batches] == [4, 4, 2]
    assert all(batch.samples is None for batch in batches)  # not known
    assert isinstance(batches.loader.batch_sampler.sampler, RandomSampler)


def test_to_like_casts_floats_to_the_precision_of_the_module_and_leaves_integers():
    data = {"a": torch.ones(2, dtype=torch.float64), "b": torch.ones(2, dtype=torch.int32)}

    matched = to_like(data, reference_parameter(nn.Linear(1, 1)))

    assert (matched["a"].dtype, matched["b"].dtype) == (torch.float32, torch.int32)
    assert to_like(data, reference_parameter(nn.Linear(1, 1).double()))["a"].dtype == torch.float64
