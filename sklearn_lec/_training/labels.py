"""Labels of any kind: where they are found, and which class number each one has."""

import numpy as np
import torch
from skorch.helper import SliceDataset
from skorch.utils import to_numpy
from torch import Tensor
from torch.utils.data import Dataset, Subset

from sklearn_lec._training.batches import arrays_in_memory, without_subsets
from sklearn_lec._validation import unknown_label_error

__all__ = ["LabelCodes", "RelabeledDataset", "labels_of"]


class LabelCodes:
    """Turn labels into class numbers, batch by batch.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The labels in ascending order.

    Examples
    --------
    >>> LabelCodes(np.array(["cat", "dog"]))(np.array(["dog", "cat"]))
    tensor([1, 0])
    """

    def __init__(self, classes: np.ndarray):
        self.classes = classes
        self.are_codes = classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes)))

    def __call__(self, y, *, known: bool = False) -> torch.Tensor:
        """Return the class number of each label.

        Parameters
        ----------
        y : Tensor or array of shape (n_samples,) or (n_samples, 1)
        known : bool, default=False
            Whether the labels have been checked before.

        Returns
        -------
        codes : int64 Tensor of shape (n_samples,)
        """
        y = y.reshape(-1)
        if self.are_codes and known:
            return y.long() if isinstance(y, Tensor) else torch.from_numpy(y.astype(np.int64))
        y = to_numpy(y)
        codes = np.searchsorted(self.classes, y).clip(max=len(self.classes) - 1)
        unknown = self.classes[codes] != y
        if unknown.any():
            raise unknown_label_error(y[unknown], self.classes)
        return torch.from_numpy(codes)


def labels_of(dataset: Dataset | SliceDataset) -> np.ndarray:
    """Return the label of every sample of a data set, without loading its inputs if that can be avoided.

    Parameters
    ----------
    dataset : Dataset that yields (x, y), or SliceDataset that yields y

    Returns
    -------
    labels : ndarray of shape (len(dataset),)
    """
    if isinstance(dataset, SliceDataset):
        if type(dataset) is not SliceDataset or dataset.idx != 1:
            return np.asarray([_scalar(label) for label in dataset])
        dataset = Subset(dataset.dataset, dataset.indices_)
    source, positions = without_subsets(dataset)
    arrays = arrays_in_memory(source)
    labels = arrays[1] if arrays is not None else _known_targets(source)
    if labels is None:
        return np.asarray([_scalar(dataset[position][1]) for position in range(len(dataset))])
    labels = to_numpy(labels) if isinstance(labels, torch.Tensor) else np.asarray(labels)
    return labels if positions is None else labels[positions]


class RelabeledDataset(Dataset):
    """A data set with other labels.

    Parameters
    ----------
    dataset : torch Dataset
        Yields pairs (x, y).
    labels : array of shape (len(dataset),)
        Used in place of y.
    """

    def __init__(self, dataset: Dataset, labels: np.ndarray):
        self.dataset = dataset
        self.labels = labels

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, position):
        return self.dataset[position][0], self.labels[position]


def _known_targets(dataset):
    # torchvision's data sets list their labels; a target_transform would make that list differ from what they yield.
    targets = getattr(dataset, "targets", getattr(dataset, "labels", None))
    if targets is None or getattr(dataset, "target_transform", None) is not None or len(targets) != len(dataset):
        return None
    return targets if _scalar(targets[0]) == _scalar(dataset[0][1]) else None


def _scalar(label):
    return label.item() if isinstance(label, (torch.Tensor, np.generic)) else label
