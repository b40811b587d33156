"""Where labels are found, and which class number each one has."""

import numpy as np
import pytest
import torch
from skorch.dataset import Dataset as SkorchDataset
from torch.utils.data import Dataset, Subset

from sklearn_lec._training.labels import LabelCodes, RelabeledDataset, labels_of

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


def test_a_relabelled_data_set_keeps_its_inputs():
    dataset = RelabeledDataset(SkorchDataset(X, y), np.arange(10, 20))

    assert dataset[3][1] == 13
    assert np.array_equal(dataset[3][0], X[3])
    assert len(dataset) == 10
