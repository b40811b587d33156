"""What methods and trainings cost: passes through a network, counted with hooks; operations and hours, estimated."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.cells import Cell, data_parts
from benchmarks.classifiers import NETWORKS
from benchmarks.methods import CLEANLAB, parameters_of
from benchmarks.scales import Scale
from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.noise import SymmetricNoise

__all__ = [
    "CORE",
    "EPS",
    "GPU",
    "N_ROWS",
    "STEP",
    "UNITS",
    "M",
    "Passes",
    "SmallConvolution",
    "UnknownCostError",
    "count_all",
    "count_passes",
    "flops_per_row",
    "hours",
    "operations",
    "training_passes",
]

# What an epoch of a method takes, counted: Table A3.
N_ROWS, N_FEATURES, N_CLASSES = 6400, 16, 4
EPS = 0.2
M = 5

# What a training takes, estimated.
CORE = 4e10
"""Floating-point operations per second of one core, as small networks reach it."""
# Checked against 74 trainings of the MLP on MNIST at the scale "cpu", on cores that had other work as well: half of
# them took between 1.0 and 1.6 times the estimate, the fastest 0.7 times.
GPU = 8e12
"""Floating-point operations per second of one GPU in single precision: about half the peak of a V100."""
STEP = {"core": 2e-3, "GPU": 4e-3}
"""Seconds that each batch takes beside its operations."""
UNITS = {"smoke": "core", "cpu": "core", "paper": "GPU"}
"""On what each scale is meant to run."""

SHAPES = {"digits": (1, 8, 8), "mnist": (1, 28, 28), "cifar-10": (3, 32, 32), "cifar-100": (3, 32, 32)}


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
    """Count the passes of a method in an epoch after the warm-up.

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
    for _ in range(5):  # the warm-up, and as many epochs as the last M that have to agree
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
        A `SmallNetwork`, a `SmallConvolution` or a `NetworkEnsemble` of them.
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


class UnknownCostError(ValueError):
    """The operations of a network on data cannot be counted."""


def training_passes(
    method: str, *, epochs: int, warm_up: int = 0, eps: float = 0.0, M: float = 1, folds: int = 1
) -> tuple[float, float]:
    """Return how many forward and backward passes a row of the training set takes part in, over a whole training.

    Parameters
    ----------
    method : str
    epochs, warm_up : int
    eps : float, default=0.0
        The share that the method leaves out.
    M : int, default=1
    folds : int, default=1
        Of cleanlab's cross-validation.

    Returns
    -------
    forward, backward : float

    Examples
    --------
    >>> training_passes("lsec", epochs=200, warm_up=10, M=5)
    (960, 200)
    """
    filtering = epochs - warm_up
    known = {
        "lsec": (warm_up + M * filtering, epochs),
        "lnec": (M * epochs, M * epochs),
        "ltec-full": (warm_up + (2 - eps) * filtering, warm_up + (1 - eps) * filtering),
        "co-teaching": (2 * epochs, 2 * epochs),
        "forward": (2 * epochs, 2 * epochs),  # a standard network is trained first
        CLEANLAB: (folds * epochs, folds * epochs),  # folds less one in the folds, and once more in the end
    }
    return known.get(method, (epochs, epochs))


@lru_cache
def flops_per_row(network: str, data: str, **arguments) -> int:
    """Return the floating-point operations of one forward pass of one row.

    Raises
    ------
    UnknownCostError
        If the shape of the data is not known, or does not fit the network.

    Examples
    --------
    >>> flops_per_row("mlp", "mnist", hidden=(256,))
    406528
    """
    if data not in SHAPES:
        raise UnknownCostError(f"the shape of the images of {data!r} is not among the SHAPES in {__name__}.")
    channels, height, width = SHAPES[data]
    num_classes = 100 if data == "cifar-100" else 10
    shape = {"in_features": channels * height * width} if network == "mlp" else {"in_channels": channels}
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        net = NETWORKS[network](**shape, num_classes=num_classes, **arguments).eval()
        try:
            net(torch.empty(1, *SHAPES[data]))
        except ValueError as error:
            raise UnknownCostError(f"{network} does not fit {data}: {error}") from error
    return counter.get_total_flops()


def operations(cell: Cell, settings: dict) -> float:
    """Return the floating-point operations of a cell; a backward pass counts as two forward ones."""
    forward, backward = _passes_of(cell, settings)
    return _flops(cell, settings) * settings["train_rows"] * (forward + 2 * backward)


def hours(cells: list[Cell], scale: Scale, *, shown: list[Cell] = ()) -> float:
    """Return the hours that cells take on one core, or one GPU where the scale is meant for it.

    The networks that make semantic noise are counted too, also those of cells of which only the data is `shown`.
    """
    unit = UNITS[scale.name]
    speed, seconds = {"core": CORE, "GPU": GPU}[unit], 0.0
    for cell in [*cells, *_behind_semantic_noise([*cells, *shown], scale)]:
        settings = scale.settings(cell)
        n_steps = _passes_of(cell, settings)[1] * settings["train_rows"] / settings["batch_size"]
        seconds += operations(cell, settings) / speed + n_steps * STEP[unit]
    return seconds / 3600


def _behind_semantic_noise(cells, scale):
    data = dict.fromkeys((cell.scale, cell.data) for cell in cells if cell.noise_kind == "semantic")
    ordinary = [Cell(*names, "semantic-20", "standard", seed=0) for names in data]
    return [cell for cell in ordinary for _ in range(scale.settings(cell)["semantic_networks"])]


def _passes_of(cell, settings):
    return training_passes(
        cell.method,
        epochs=settings["epochs"],
        warm_up=settings.get("T_w", 0),
        eps=cell.noise_ratio,
        M=cell.M if isinstance(cell.M, int) else 1,
        folds=settings.get("cleanlab_folds", 1),
    )


def _flops(cell, settings):
    arguments = {k: tuple(v) if isinstance(v, list) else v for k, v in settings["network_arguments"].items()}
    return flops_per_row(settings["network"], data_parts(cell.data).name, **arguments)
