"""Where labels are found, and which class number each one has."""

import numpy as np
import pytest
import torch
from skorch.dataset import Dataset as SkorchDataset
from torch.utils.data import Dataset, Subset

from sklearn_lec._training.labels import LabelCodes, RelabeledDataset, known_classes, labels_of

X = np.arange(20.0).reshape(10, 2)
y = np.arange(10) % 3


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


@pytest.mark.parametrize("positions", [None, [3, 4, 9]])
def test_listed_labels_are_used_without_loading_rows(positions):
    dataset = WithTargets()

    labels = labels_of(dataset if positions is None else Subset(dataset, positions))

    assert labels.tolist() == (y if positions is None else y[positions]).tolist()
    assert dataset.n_loaded == 1


def test_listed_labels_are_not_trusted_when_the_data_set_changes_them():
    assert labels_of(WithTargets(target_transform=lambda label: 10 * label)).tolist() == (10 * y).tolist()


def test_label_codes_name_a_label_that_they_do_not_know():
    with pytest.raises(ValueError, match="y holds the label 'eel', which is not among the classes"):
        LabelCodes(np.array(["cat", "dog"]))(np.array(["cat", "eel"]))


@pytest.mark.parametrize("y", [np.array([[1], [0]]), torch.tensor([[1], [0]])])
def test_label_codes_take_labels_in_a_column(y):
    assert LabelCodes(np.array([0, 1]))(y).tolist() == [1, 0]
    assert LabelCodes(np.array([0, 1]))(y, known=True).tolist() == [1, 0]


def test_label_codes_follow_the_order_of_the_classes():
    codes = LabelCodes(np.array(["dog", "eel", "cat"]))

    assert codes(np.array(["cat", "dog", "eel", "dog"])).tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"ordered": []}, None),
        ({"ordered": np.array([])}, None),
        ({"ordered": [2, 0, 1]}, [2, 0, 1]),
        ({"named": [2, 0, 1]}, [0, 1, 2]),
        ({"ordered": [2, 0, 1], "named": [0, 1, 2]}, [2, 0, 1]),
        ({"named": [0, 1, 2], "learned": np.array([2, 0, 1])}, [2, 0, 1]),
    ],
)
def test_the_parameter_orders_the_classes_and_the_argument_only_names_them(given, expected):
    classes = known_classes(**given)

    assert (classes if classes is None else classes.tolist()) == expected


@pytest.mark.parametrize("given", [{"ordered": [2, 1, 0]}, {"named": [0, 1, 2, 3]}])
def test_classes_cannot_change_in_a_training_under_way(given):
    with pytest.raises(ValueError, match="are not those of the training under way"):
        known_classes(**given, learned=np.array([0, 1, 2]))


@pytest.mark.parametrize("items", [[1.0, 2.0], [(1.0,), (2.0,)], [(1.0, 0, 0), (2.0, 1, 1)]])
def test_a_data_set_without_pairs_gets_the_error_of_skorch(items):
    with pytest.raises(ValueError, match="must return exactly 2 values, X and y"):
        labels_of(items)
    with pytest.raises(ValueError, match="must return exactly 2 values, X and y"):
        RelabeledDataset(items, y)[0]


def test_a_relabelled_data_set_keeps_its_inputs():
    dataset = RelabeledDataset(SkorchDataset(X, y), np.arange(10, 20))

    assert dataset[3][1] == 13
    assert np.array_equal(dataset[3][0], X[3])
    assert len(dataset) == 10
