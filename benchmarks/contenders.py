"""What is timed against each other: a loop written by hand, plain skorch, and `LECClassifier`, one epoch at a time."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from skorch import NeuralNetClassifier
from torch import nn

from benchmarks.methods import parameters_of
from sklearn_lec import LECClassifier

__all__ = ["Work", "hand_written", "lec", "plain_skorch"]


@dataclass(frozen=True)
class Work:
    """A network and the rows that it is trained on.

    Parameters
    ----------
    module : callable
        Makes the network, without arguments.
    X : float32 ndarray of shape (n_rows, ...)
    y : int64 ndarray of shape (n_rows,)
        Labels, some of them wrong.
    batch_size : int, default=128
    """

    module: Callable[[], nn.Module]
    X: np.ndarray
    y: np.ndarray
    batch_size: int = 128

    @property
    def settings(self) -> dict:
        """What skorch and `LECClassifier` are told alike."""
        return {
            "criterion": nn.CrossEntropyLoss,
            "optimizer": torch.optim.Adam,
            "lr": 0.001,
            "batch_size": self.batch_size,
            "max_epochs": 1,
            "train_split": None,
            "verbose": 0,
            "device": "cpu",
        }


def hand_written(work: Work) -> Callable[[], float]:
    """Return an epoch as one writes it without any library around torch."""
    net, X, y = work.module(), torch.from_numpy(work.X), torch.from_numpy(work.y)
    optimizer, criterion = torch.optim.Adam(net.parameters(), lr=0.001), nn.CrossEntropyLoss()

    def epoch():
        start = time.perf_counter()
        net.train()
        total = 0.0
        for rows in torch.randperm(len(X)).split(work.batch_size):
            optimizer.zero_grad()
            loss = criterion(net(X[rows]), y[rows])
            loss.backward()
            optimizer.step()
            total += loss.item()
        return time.perf_counter() - start

    epoch()
    return epoch


def plain_skorch(work: Work, **changes) -> Callable[[], float]:
    """Return an epoch of skorch's ``NeuralNetClassifier``, changed by further arguments."""
    net = NeuralNetClassifier(work.module, iterator_train__shuffle=True, **work.settings, **changes)
    net.partial_fit(work.X, work.y)
    return lambda: _epoch(net, work)


def lec(work: Work, method: str, *, eps: float, warm_up: int = 2, **changes) -> Callable[[], float]:
    """Return an epoch of `LECClassifier` after its warm-up.

    Parameters
    ----------
    work : Work
    method : str
    eps : float
    warm_up : int, default=2
        Epochs before the first that counts; the last of them filters already.
    **changes
        Further arguments.

    Returns
    -------
    epoch : callable
        Has the classifier as its attribute ``net``.
    """
    own = {"M": 5, "T_w": warm_up - 1, "T_k": warm_up - 1}
    own = {name: value for name, value in own.items() if name in parameters_of(method)}
    net = LECClassifier(
        work.module,
        **{"method": method, "eps": eps, "callbacks__linear_decay": None} | own | work.settings | changes,
    )
    for _ in range(warm_up):
        net.partial_fit(work.X, work.y)

    def epoch():
        return _epoch(net, work)

    epoch.net = net
    return epoch


def _epoch(net, work):
    # skorch's own clock leaves out what is done once per fit, such as the examination of X.
    net.partial_fit(work.X, work.y)
    return net.history[-1, "dur"]
