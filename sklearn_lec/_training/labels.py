"""Labels of any kind: where they are found, and which class number each one has."""

import numpy as np
import torch
from skorch.dataset import unpack_data
from skorch.helper import SliceDataset
from skorch.utils import to_numpy
from torch import Tensor
from torch.utils.data import Dataset, Subset

from sklearn_lec._training.batches import arrays_in_memory, without_subsets
from sklearn_lec._validation import unknown_label_error

__all__ = ["LabelCodes", "RelabeledDataset", "known_classes", "labels_of"]


class LabelCodes:
    """Turn labels into class numbers, batch by batch.

    Parameters
    ----------
    classes : array of shape (n_classes,)
        The labels, each one once; the number of a class is its position here.

    Examples
    --------
    >>> LabelCodes(np.array(["cat", "dog"]))(np.array(["dog", "cat"]))
    tensor([1, 0])
    """

    def __init__(self, classes: np.ndarray):
        self.classes = classes
        self.are_codes = classes.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes)))
        self._order = np.argsort(classes)
        self._ascending = classes[self._order]

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
        codes = self._order[np.searchsorted(self._ascending, y).clip(max=len(self.classes) - 1)]
        unknown = self.classes[codes] != y
        if unknown.any():
            raise unknown_label_error(y[unknown], self.classes)
        return torch.from_numpy(codes)


def known_classes(ordered=None, *, named=None, learned: np.ndarray | None = None) -> np.ndarray | None:
    """Return the classes in the order of the outputs; None if nobody has named them.

    Parameters
    ----------
    ordered : array-like of shape (n_classes,) or None, default=None
        The parameter `classes` of the estimator, which gives them an order. An empty one says nothing, as in skorch.
    named : array-like of shape (n_classes,) or None, default=None
        The argument `classes` of ``partial_fit``, which names them all in any order, as in scikit-learn.
    learned : array of shape (n_classes,) or None, default=None
        Those of the training under way.

    Returns
    -------
    classes : array of shape (n_classes,) or None
    """
    for given in (ordered, named):
        if isinstance(given, str | bytes | set | frozenset):
            raise TypeError(f"classes must be a list or an array of labels, got {given!r}.")
    ordered = None if ordered is None or len(ordered) == 0 else np.asarray(ordered)
    named = None if named is None else np.unique(named)
    if learned is not None:
        same_order = ordered is None or np.array_equal(ordered, learned)
        if not same_order or not (named is None or np.array_equal(named, np.unique(learned))):
            raise ValueError(
                f"classes={(named if same_order else ordered).tolist()} are not those of the training under way, "
                f"{learned.tolist()}, to which the outputs of the network belong. Call fit to start with other classes."
            )
        return learned
    if named is not None and ordered is not None and not np.array_equal(named, np.unique(ordered)):
        raise ValueError(
            f"partial_fit got classes={named.tolist()}, but the parameter classes is {ordered.tolist()}. Leave out one "
            "of them, or name the same classes."
        )
    return named if ordered is None else ordered


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
        return np.asarray([_scalar(_pair(dataset[position])[1]) for position in range(len(dataset))])
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
        return _pair(self.dataset[position])[0], self.labels[position]


def _known_targets(dataset):
    # torchvision's data sets list their labels; a target_transform would make that list differ from what they yield.
    targets = getattr(dataset, "targets", getattr(dataset, "labels", None))
    if targets is None or getattr(dataset, "target_transform", None) is not None or len(targets) != len(dataset):
        return None
    return targets if _scalar(targets[0]) == _scalar(_pair(dataset[0])[1]) else None


def _pair(item):
    """Return an item of a data set as x and y, or raise skorch's error if it is no pair."""
    return unpack_data(item if isinstance(item, (tuple, list)) else [item])


def _scalar(label):
    return label.item() if isinstance(label, (torch.Tensor, np.generic)) else label
