"""When to end the warm-up: pure functions of how well the network agrees with the labels in training."""

__all__ = ["is_memorizing", "longest_warmup", "memorized_share"]

LONGEST = 20
"""Epochs after which the warm-up ends in any case; longer ones were no better."""


def longest_warmup(max_epochs: int) -> int:
    """Return after how many epochs the warm-up ends in any case: a fifth of the training, 20 at most, 1 at least.

    Examples
    --------
    >>> longest_warmup(200), longest_warmup(30), longest_warmup(3)
    (20, 6, 1)
    """
    return min(LONGEST, max(1, max_epochs // 5))


def memorized_share(agreement: float, *, eps: float) -> float:
    """Return the share of the wrong labels that the network has memorized, if it has learned all that are right.

    Parameters
    ----------
    agreement : float
        The share of samples that the network predicts as they are labelled, in training.
    eps : float in [0, 1)
        The share of wrong labels.

    Returns
    -------
    share : float
        0 if there are none, or if not even all right labels have been learned.

    Examples
    --------
    >>> round(memorized_share(0.9, eps=0.2), 3), memorized_share(0.7, eps=0.2)
    (0.5, 0.0)
    """
    return max(0.0, (agreement - (1 - eps)) / eps) if eps > 0 else 0.0


def is_memorizing(agreement: float, *, eps: float) -> bool:
    """Return whether the warm-up has to end: half of the wrong labels have been memorized.

    At less than that, classes that are learned late would be taken for wrong labels.

    Examples
    --------
    >>> is_memorizing(0.89, eps=0.2), is_memorizing(0.91, eps=0.2)
    (False, True)
    """
    return memorized_share(agreement, eps=eps) >= 0.5
