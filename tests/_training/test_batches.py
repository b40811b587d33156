import numpy as np
import pytest
import torch
from skorch.dataset import Dataset as SkorchDataset
from torch import nn
from torch.utils.data import DataLoader, Dataset, RandomSampler, Subset, TensorDataset

from sklearn_lec._training.batches import (
    IndexedDataset,
    finite_samples,
    to_like,
    module_arguments,
    indexed_loader,
    sample_numbers,
    reference_parameter,
)
from sklearn_lec._training.labels import LabelCodes, RelabeledDataset, labels_of

X = np.arange(20.0).reshape(10, 2)
y = np.arange(10) % 3


class OneByOne(SkorchDataset):
    """Not a plain skorch Dataset, so rows are fetched one by one."""


class WithTargets(Dataset):
    """Like torchvision's: labels are listed, and loading a row counts."""

    def __init__(self, target_transform=None):
        self.targets, self.target_transform, self.n_loaded = y.tolist(), target_transform, 0

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, row):
        self.n_loaded += 1
        label = self.targets[row]
        return X[row], self.target_transform(label) if self.target_transform else label


@pytest.mark.parametrize(
    "dataset", [SkorchDataset(X, y), OneByOne(X, y), TensorDataset(*map(torch.from_numpy, (X, y)))]
)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_batches_bring_the_rows_that_their_numbers_say(dataset, num_workers):
    subset = Subset(dataset, [7, 2, 5, 9])

    batches = list(
        indexed_loader(
            subset,
            DataLoader,
            rows=sample_numbers(subset, dataset),
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
    assert {row for batch in batches for row in batch.samples.tolist()} == {7, 2, 5, 9}


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


def test_rows_are_traced_through_subsets_of_subsets():
    whole = SkorchDataset(X, y)

    rows = sample_numbers(Subset(Subset(whole, [3, 5, 7]), [2, 0]), whole)

    assert rows.tolist() == [7, 3]
    assert sample_numbers(whole, whole).tolist() == list(range(10))
    assert sample_numbers(SkorchDataset(X, y), whole) is None


@pytest.mark.parametrize("positions", [None, [3, 4, 9]])
def test_listed_labels_are_used_without_loading_rows(positions):
    dataset = WithTargets()

    labels = labels_of(dataset if positions is None else Subset(dataset, positions))

    assert labels.tolist() == (y if positions is None else y[positions]).tolist()
    assert dataset.n_loaded == 1


def test_listed_labels_are_not_trusted_when_the_data_set_changes_them():
    assert labels_of(WithTargets(target_transform=lambda label: 10 * label)).tolist() == (10 * y).tolist()


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5,), {"in_features": 5}),
        ((28, 28), {"in_features": 784, "in_channels": 1}),
        ((1, 28, 28), {"in_features": 784, "in_channels": 1}),
        ((32, 32, 3), {"in_features": 3072, "in_channels": 3}),
        ((3, 32, 32), {"in_features": 3072, "in_channels": 3}),
        (None, {}),
    ],
)
def test_module_arguments_follow_from_the_shape_of_a_row(shape, expected):
    assert module_arguments(shape, 7) == {"num_classes": 7} | expected


def test_label_codes_name_a_label_that_they_do_not_know():
    with pytest.raises(ValueError, match="y holds the label 'eel', which is not among the classes"):
        LabelCodes(np.array(["cat", "dog"]))(np.array(["cat", "eel"]))


@pytest.mark.parametrize("y", [np.array([[1], [0]]), torch.tensor([[1], [0]])])
def test_label_codes_take_labels_in_a_column(y):
    assert LabelCodes(np.array([0, 1]))(y).tolist() == [1, 0]
    assert LabelCodes(np.array([0, 1]))(y, known=True).tolist() == [1, 0]


def test_a_relabelled_data_set_keeps_its_inputs():
    dataset = RelabeledDataset(SkorchDataset(X, y), np.arange(10, 20))

    assert dataset[3][1] == 13
    assert np.array_equal(dataset[3][0], X[3])
    assert len(dataset) == 10


@pytest.mark.parametrize("name", ["sampler", "batch_sampler"])
def test_a_sampler_of_none_is_no_sampler(name):
    batches = indexed_loader(SkorchDataset(X, y), DataLoader, rows=None, batch_size=4, shuffle=True, **{name: None})

    assert [len(batch.samples) for batch in batches] == [4, 4, 2]
    assert isinstance(batches.loader.batch_sampler.sampler, RandomSampler)


def test_matching_casts_floats_to_the_precision_of_the_module_and_leaves_integers():
    data = {"a": torch.ones(2, dtype=torch.float64), "b": torch.ones(2, dtype=torch.int32)}

    matched = to_like(data, reference_parameter(nn.Linear(1, 1)))

    assert (matched["a"].dtype, matched["b"].dtype) == (torch.float32, torch.int32)
    assert to_like(data, reference_parameter(nn.Linear(1, 1).double()))["a"].dtype == torch.float64


def test_finite_samples_go_by_the_losses_and_if_none_is_finite_by_the_inputs():
    nan = float("nan")
    inputs = torch.tensor([[0.0, 1.0], [nan, 1.0], [0.0, 0.0]])

    assert finite_samples(torch.tensor([[1.0, nan, 2.0], [nan, 1.0, 1.0]]), inputs).tolist() == [False, False, True]
    assert finite_samples(torch.full((1, 3), nan), inputs).tolist() == [True, False, True]
    assert finite_samples(torch.full((1, 3), nan), {"x": inputs, "z": torch.ones(3)}).tolist() == [True, False, True]
