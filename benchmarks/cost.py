"""What trainings cost: counted operations of one pass, times passes, rows and epochs."""

from functools import lru_cache

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.cells import Cell, data_parts
from benchmarks.classifiers import NETWORKS
from benchmarks.methods import CLEANLAB
from benchmarks.scales import Scale

__all__ = ["CORE", "GPU", "STEP", "UNITS", "UnknownCostError", "flops_per_row", "hours", "operations", "passes"]

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


class UnknownCostError(ValueError):
    """The operations of a network on data cannot be counted."""


def passes(method: str, *, epochs: int, warm_up: int = 0, eps: float = 0.0, M: float = 1, folds: int = 1) -> tuple:
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
    >>> passes("lsec", epochs=200, warm_up=10, M=5)
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
    forward, backward = _passes(cell, settings)
    return _flops(cell, settings) * settings["train_rows"] * (forward + 2 * backward)


def hours(cells: list[Cell], scale: Scale, *, shown: list[Cell] = ()) -> float:
    """Return the hours that cells take on one core, or one GPU where the scale is meant for it.

    The networks that semantic noise rests on are counted too, also that of cells whose data alone is `shown`.
    """
    unit = UNITS[scale.name]
    speed, seconds = {"core": CORE, "GPU": GPU}[unit], 0.0
    for cell in [*cells, *_behind_semantic_noise([*cells, *shown], scale)]:
        settings = scale.settings(cell)
        n_steps = _passes(cell, settings)[1] * settings["train_rows"] / settings["batch_size"]
        seconds += operations(cell, settings) / speed + n_steps * STEP[unit]
    return seconds / 3600


def _behind_semantic_noise(cells, scale):
    data = dict.fromkeys((cell.scale, cell.data) for cell in cells if cell.noise_kind == "semantic")
    ordinary = [Cell(*names, "semantic-20", "standard", seed=0) for names in data]
    return [cell for cell in ordinary for _ in range(scale.settings(cell)["semantic_networks"])]


def _passes(cell, settings):
    return passes(
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
