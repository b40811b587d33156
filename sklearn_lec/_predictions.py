"""What networks have predicted of each sample in training: a few numbers per sample, for any number of epochs."""

import torch
from torch import Tensor

__all__ = ["add_predictions", "no_predictions"]


def no_predictions(labels: Tensor) -> dict[str, Tensor]:
    """Return the table for samples of which nothing has been predicted yet.

    Parameters
    ----------
    labels : int64 Tensor of shape (n_samples,)
        The given labels as class numbers.

    Returns
    -------
    table : dict of Tensors of shape (n_samples,)
        - "labels": the class numbers.
        - "n_seen": how many times the sample was predicted, at most once an epoch.
        - "label_probability": the mean over these of the probability of the given label.
        - "other_probability": the mean of the largest probability among the other classes.
        - "other": the class that had it, mostly.
        - "other_lead": by how much that class is ahead of the rest, in sums of probabilities.
    """
    numbers = torch.zeros(len(labels), dtype=torch.float32, device=labels.device)
    return {
        "labels": labels.to(torch.int32),
        "n_seen": torch.zeros_like(numbers, dtype=torch.int32),
        "label_probability": numbers,
        "other_probability": numbers.clone(),
        "other": torch.full_like(numbers, -1, dtype=torch.int32),
        "other_lead": numbers.clone(),
    }


def add_predictions(table: dict[str, Tensor], samples: Tensor, probabilities: Tensor) -> None:
    """Add one prediction for each of some samples to the table.

    Parameters
    ----------
    table : dict of Tensors of shape (n_samples,)
        As of `no_predictions`; it is written to.
    samples : int64 Tensor of shape (n_predicted,)
        The numbers of the samples.
    probabilities : Tensor of shape (n_predicted, n_classes)
        Those that are not finite do not count.

    Examples
    --------
    >>> table = no_predictions(torch.tensor([0, 2]))
    >>> add_predictions(table, torch.tensor([1]), torch.tensor([[0.5, 0.25, 0.25]]))
    >>> add_predictions(table, torch.tensor([1]), torch.tensor([[0.25, 0.0, 0.75]]))
    >>> table["label_probability"], table["other"], table["n_seen"]
    (tensor([0.0000, 0.5000]), tensor([-1,  0], dtype=torch.int32), tensor([0, 2], dtype=torch.int32))
    """
    labels = table["labels"][samples].long().unsqueeze(dim=1)
    of_label = probabilities.gather(1, labels).flatten()
    of_other, other = probabilities.scatter(1, labels, -1.0).max(dim=1)
    # NaN in one class is NaN in the sum. No mask that picks samples: a device would have to tell how many there are.
    is_finite = probabilities.sum(dim=1).isfinite()
    n_seen = table["n_seen"][samples] + is_finite.int()
    # One class and its lead are all that a majority vote needs (Boyer and Moore): others take votes from the lead, and
    # the one that would turn it negative takes over.
    before, lead = table["other"][samples], table["other_lead"][samples]
    lead = lead + torch.where(before == other, of_other, -of_other)
    new = {
        "n_seen": n_seen,
        "other": torch.where(lead < 0, other.int(), before),
        "other_lead": lead.abs(),
    }
    for name, value in (("label_probability", of_label), ("other_probability", of_other)):
        mean = table[name][samples]
        new[name] = mean + (value - mean) / n_seen.clamp(min=1)
    for name, values in new.items():
        table[name][samples] = torch.where(is_finite, values, table[name][samples]).to(table[name].dtype)
