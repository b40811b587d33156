"""Samples: what was read, from whatever source, and where each sample stood there."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Samples"]


@dataclass
class Samples:
    """Labelled samples, ready for training.

    Parameters
    ----------
    X : DataFrame or ndarray with n_samples entries
    y : ndarray of shape (n_samples,)
    estimator : classifier, not fitted
    places : int64 ndarray of shape (n_samples,)
        Where each of them stood in the input, counted from 0.
    names : list
        What each entry of the input is called, those without a label too: numbers of rows, paths of files.
    names_of : str
        The column that these names stand in: "row" or "file".
    display : list, Series or DataFrame with n_samples entries
        What people look at to judge a label.
    notes : list of str
        What the user should know before the training.
    """

    X: object
    y: np.ndarray
    estimator: object
    places: np.ndarray
    names: list
    names_of: str
    display: object
    notes: list[str] = field(default_factory=list)
