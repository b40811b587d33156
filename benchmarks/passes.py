"""How many rows go forward and backward through a network in one epoch of a method, counted with hooks."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from benchmarks.methods import parameters_of
from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.noise import SymmetricNoise

__all__ = ["EPS", "N_ROWS", "M", "Passes", "count_all", "count_passes"]

N_ROWS, N_FEATURES, N_CLASSES = 6400, 16, 4
EPS = 0.2
M = 5


@dataclass(frozen=True)
class Passes:
    """What an epoch of a method takes, in multiples of what an ordinary training takes.

    Parameters
    ----------
    parameters : float
        Trained parameters.
    forward, backward : float
        Rows that go through a network, per row of the training set.
    """

    parameters: float
    forward: float
    backward: float


def count_passes(method: str, *, module=None, eps: float = EPS) -> Passes:
    """Count the passes of a method in an epoch after warming-up.

    Parameters
    ----------
    method : str
        One of `sklearn_lec.methods.METHODS`.
    module : callable or None, default=None
        Makes the network; None for a small one of linear layers.
    eps : float, default=0.2

    Returns
    -------
    passes : Passes
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, N_ROWS)
    X = rng.standard_normal((N_ROWS, N_FEATURES), dtype=np.float32) + 2 * np.eye(N_CLASSES, N_FEATURES)[y]
    _, y = SymmetricNoise(eps=eps, random_state=0).corrupt(X, y)
    module = module or SmallNetwork
    shared = {"max_epochs": 1, "random_state": 0, "verbose": 0, "device": "cpu", "callbacks__linear_decay": None}
    own = {"M": M, "T_w": 3, "T_k": 1, "corruption_matrix": np.eye(N_CLASSES)}
    own = {name: value for name, value in own.items() if name in parameters_of(method)}
    net = LECClassifier(module, method=method, eps=eps, **own, **shared)
    for _ in range(5):  # warming-up, and as many epochs as the last M that have to agree
        net.partial_fit(X, y)
    counter = RowCounter(net.module_)
    net.partial_fit(X, y)
    n_parameters = sum(p.numel() for p in net.module_.parameters())
    n_of_one = sum(p.numel() for p in module().parameters())
    return Passes(n_parameters / n_of_one, counter.forward / N_ROWS, counter.backward / N_ROWS)


def count_all() -> dict[str, list[float]]:
    """Return the counts of all methods, as ``[parameters, forward, backward]`` by name."""
    counts = {method: count_passes(method) for method in METHODS}
    return {name: [count.parameters, count.forward, count.backward] for name, count in counts.items()}


class RowCounter:
    """Count the rows that pass through the networks of a module from now on.

    Parameters
    ----------
    module : nn.Module
        A `SmallNetwork`, a `SmallConvolution` or a committee of them.
    """

    def __init__(self, module: nn.Module):
        self.forward = self.backward = 0
        for layer in module.modules():
            if getattr(layer, "is_head", False):
                layer.register_forward_hook(self._count)

    def _count(self, layer, inputs, output):
        self.forward += len(output)
        if output.requires_grad:
            output.register_hook(self._count_gradient)

    def _count_gradient(self, gradient):
        self.backward += len(gradient)


class SmallNetwork(nn.Module):
    """Linear layers, batch norm and dropout, with a head that is marked for counting."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N_FEATURES, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.25))
        self.head = nn.Linear(8, N_CLASSES)
        self.head.is_head = True

    def forward(self, X):
        """Return logits."""
        return self.head(self.body(X))


class SmallConvolution(SmallNetwork):
    """The same with a convolution over the features."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv1d(1, 1, 3, padding=1)

    def forward(self, X):
        """Return logits."""
        return super().forward(torch.relu(self.convolution(X.unsqueeze(1))).squeeze(1))
