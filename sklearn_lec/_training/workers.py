"""Workers that live on from epoch to epoch, and yet begin each with random numbers that depend on the epoch alone.

torch seeds a worker once, when it is started. What it draws later depends on how long it has lived, and a training that
is resumed starts new ones. So each batch brings along the seed of its epoch.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Sampler, get_worker_info

__all__ = ["EpochsOfWorker", "SeededPositions", "begin_epoch_of_workers", "with_seeded_batches"]


class SeededPositions(NamedTuple):
    """The positions of a batch, and the seed of the epoch that it belongs to."""

    seed: int
    positions: object


class _SeededBatches(Sampler):
    """Send the seed of the epoch along with each batch of another sampler."""

    def __init__(self, batch_sampler):
        self.batch_sampler = batch_sampler
        self.seed = 0

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[SeededPositions]:
        return (SeededPositions(self.seed, positions) for positions in self.batch_sampler)


class EpochsOfWorker:
    """Notices in a worker that another epoch has begun."""

    def __init__(self):
        self.seed = None

    def begin(self, batch: SeededPositions):
        """Seed the worker's random numbers with the first batch of an epoch, and return the positions of the batch."""
        worker = get_worker_info()
        if worker is not None and batch.seed != self.seed:
            self.seed = batch.seed
            of_worker = np.random.SeedSequence([batch.seed, worker.id]).generate_state(3, dtype=np.uint32)
            torch.manual_seed(int(of_worker[0]))
            np.random.seed(of_worker[1])  # noqa: NPY002
            random.seed(int(of_worker[2]))
        return batch.positions


def with_seeded_batches(arguments: dict) -> dict:
    """Return the arguments of a `DataLoader`, changed so that each batch brings along the seed of its epoch.

    Without a batch size there are no batches, and nothing is changed.
    """
    batches = arguments.get("batch_sampler")
    if batches is None:
        if arguments.get("batch_size") is None:
            return arguments
        batches = BatchSampler(arguments["sampler"], arguments["batch_size"], arguments.get("drop_last", False))
    others = {k: v for k, v in arguments.items() if k not in ("sampler", "batch_size", "drop_last", "batch_sampler")}
    return others | {"batch_sampler": _SeededBatches(batches)}


def begin_epoch_of_workers(loader: DataLoader, *, is_first: bool) -> None:
    """Draw the seed of the epoch that is about to begin.

    Parameters
    ----------
    loader : DataLoader
        With ``persistent_workers``.
    is_first : bool
        Whether its workers are yet to be started.
    """
    seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
    if isinstance(loader.batch_sampler, _SeededBatches):
        loader.batch_sampler.seed = seed
    if not is_first:
        # When it starts its workers, torch draws a number. A training that is resumed in this epoch does so now.
        torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
