"""How time and memory grow with the number of rows and with M, and what filtering's own work is of it."""

import json
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch import nn

from benchmarks.contenders import Work, lec
from sklearn_lec._selection import SampleRecord
from sklearn_lec._training import step
from sklearn_lec.methods import consensus, ltec

__all__ = ["bookkeeping_shares", "memory_by_agreement", "seconds_by_rows", "tiny_work"]

N_FEATURES, N_CLASSES = 20, 10


class TinyNetwork(nn.Sequential):
    """One hidden layer of 16."""

    def __init__(self):
        super().__init__(nn.Linear(N_FEATURES, 16), nn.ReLU(), nn.Linear(16, N_CLASSES))


def tiny_work(n_rows: int, *, batch_size: int = 128, seed: int = 0) -> Work:
    """Return rows of ten classes in 20 dimensions, a fifth of them with wrong labels, and a tiny network."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, N_CLASSES, n_rows)
    centres = rng.standard_normal((N_CLASSES, N_FEATURES), dtype=np.float32)
    X = centres[y] + rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    y[: n_rows // 5] = (y[: n_rows // 5] + rng.integers(1, N_CLASSES, n_rows // 5)) % N_CLASSES
    return Work(TinyNetwork, X, y, batch_size)


def seconds_by_rows(sizes: list[int], *, batch_size: int, rounds: int) -> list[dict]:
    """Time an epoch of LTEC on more and more rows.

    Parameters
    ----------
    sizes : list of int
        Numbers of rows.
    batch_size : int
    rounds : int

    Returns
    -------
    lines : list of dict
        For each size ``rows``, ``batch_size``, ``microseconds`` per row of the epoch (median over rounds that take
        turns), and ``own``: how much of the epoch each part of `bookkeeping_shares` took.
    """
    epochs = {n: lec(tiny_work(n, batch_size=batch_size), "ltec", eps=0.2) for n in sizes}
    seconds, shares = {n: [] for n in sizes}, {n: [] for n in sizes}
    for _ in range(rounds):
        for n, epoch in epochs.items():
            seconds[n].append(epoch())
            shares[n].append(bookkeeping_shares(epoch))
    return [
        {
            "rows": n,
            "batch_size": batch_size,
            "microseconds": float(np.median(seconds[n])) / n * 1e6,
            "own": {part: float(np.median([share[part] for share in shares[n]])) for part in shares[n][0]},
        }
        for n in sizes
    ]


def bookkeeping_shares(epoch) -> dict[str, float]:
    """Return what share of an epoch of LTEC filtering's own work takes, beyond the losses that vote.

    Parameters
    ----------
    epoch : callable
        As `benchmarks.contenders.lec` returns it.

    Returns
    -------
    shares : dict
        ``all``; of it ``selection``, from losses to masks, ``state``, of the rows, and ``decision``, what the host
        needs to know before it can go on.
    """
    with clocked_bookkeeping() as clock:
        total = epoch()
    return {
        "all": (clock["select"] + clock["add"] + clock["remember"] + clock["to_host"]) / total,
        "selection": clock["small_loss_mask"] / total,
        "state": (clock["temporal_consensus"] + clock["add"] + clock["remember"]) / total,
        "decision": clock["to_host"] / total,
    }


@contextmanager
def clocked_bookkeeping():
    """Measure, in seconds by name, how long the functions take through which votes become masks and are kept."""
    places = [
        (ltec.LTEC, "select"),
        (consensus, "small_loss_mask"),
        (ltec, "temporal_consensus"),
        (SampleRecord, "add"),
        (SampleRecord, "remember"),
        (step, "to_host"),
    ]
    clock = {name: 0.0 for _, name in places}
    with ExitStack() as patches:
        for owner, name in places:
            patches.enter_context(patch.object(owner, name, _clocked(getattr(owner, name), clock, name)))
        yield clock


def _clocked(function, clock, name):
    def timed(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            clock[name] += time.perf_counter() - start

    return timed


def memory_by_agreement(values: list[float], *, n_rows: int) -> list[dict]:
    """Measure the peak of the memory beyond the data for values of M, and for training without filtering.

    Parameters
    ----------
    values : list of int or inf
    n_rows : int

    Returns
    -------
    lines : list of dict
        ``M`` (None without filtering), ``megabytes`` that the peak of the process rose in two epochs, and
        ``state_bytes``: what the method holds per row.
    """
    program = [sys.executable, "-m", "benchmarks.growth"]
    lines = []
    for M in [None, *values]:
        arguments = json.dumps({"M": None if M is None else str(M), "n_rows": n_rows})
        result = subprocess.run([*program, arguments], check=True, capture_output=True, text=True)
        lines.append({"M": None if M is None else str(M)} | json.loads(result.stdout))
    return lines


def _measure_memory(M, n_rows):
    torch.set_num_threads(1)
    work = tiny_work(n_rows, batch_size=1024)
    chosen = {"method": "standard"} if M is None else {"method": "ltec", "M": float(M) if M == "inf" else int(M)}
    lec(tiny_work(2048, batch_size=1024), **{"eps": 0.2} | chosen)()  # libraries, kernels and threads are in memory
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts from what is used now
    start = _kilobytes(status, "VmHWM")
    epoch = lec(work, **{"eps": 0.2} | chosen)
    epoch()
    method = epoch.net.method_
    held = [*vars(method.record).values(), *method.record.memory.values()]
    state = sum(t.numel() * t.element_size() for t in held if isinstance(t, torch.Tensor) and len(t) == n_rows)
    return {"megabytes": (_kilobytes(status, "VmHWM") - start) / 1024, "state_bytes": state / n_rows}


def _kilobytes(status, name):
    (line,) = (line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1])


if __name__ == "__main__":
    print(json.dumps(_measure_memory(**json.loads(sys.argv[1]))))
