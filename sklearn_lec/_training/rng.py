"""Random numbers that belong to one estimator, apart from the global generators."""

import os
import random
import threading
from contextlib import contextmanager
from numbers import Integral

import numpy as np
import torch
from sklearn.utils import check_random_state

from sklearn_lec._training.warn import warn_caller

__all__ = ["RandomStream", "global_state", "random_numbers_put_back", "set_global_state"]

_one_thread_at_a_time = threading.RLock()  # one thread may open a block of another stream within a block
PATIENCE = 60.0
"""Seconds after which a thread that waits for its turn says so."""


class RandomStream:
    """A stream of random numbers for everything that runs inside its `active` block.

    Inside the block the global generators of torch, numpy and Python continue the stream; after it they are as they
    were before. A second block goes on where the first one ended. There is one set of global generators, so that blocks
    in several threads wait for one another.

    Parameters
    ----------
    random_state : int or numpy.random.RandomState
        Where the stream begins. An integer begins it where ``torch.manual_seed`` with that integer would.

    Examples
    --------
    >>> with RandomStream(0).active():
    ...     inside = torch.rand(1)
    >>> inside == torch.rand(1, generator=torch.Generator().manual_seed(0))
    tensor([True])
    """

    def __init__(self, random_state):
        generator = check_random_state(random_state)
        is_seed = isinstance(random_state, Integral)
        self._seed = int(random_state) if is_seed else generator.randint(np.iinfo(np.int32).max)
        self._state = None
        self._is_active = False

    def __getstate__(self):
        # A copy made inside a block begins where the block stands, and is not inside a block itself.
        state = global_state() if self._is_active else self._state
        return vars(self) | {"_state": state, "_is_active": False}

    @property
    def is_active(self) -> bool:
        """Whether an `active` block is open."""
        return self._is_active

    @contextmanager
    def active(self):
        """Draw all random numbers of the block from this stream; a block within a block changes nothing."""
        if self._is_active:
            yield
            return
        with _turn():
            outside = global_state()
            if self._state is None:
                torch.manual_seed(self._seed)
                np.random.seed(self._seed % 2**32)
                random.seed(self._seed)
            else:
                set_global_state(self._state)
            self._is_active = True
            try:
                yield
            finally:
                self._is_active = False
                self._state = global_state()
                set_global_state(outside)


@contextmanager
def _turn():
    """Wait for the blocks of other threads, and hold those back that come later."""
    lock = _one_thread_at_a_time
    if not lock.acquire(timeout=PATIENCE):
        warn_caller(
            f"this training has waited for {PATIENCE:.0f} s for another one in this process, as both have a "
            "random_state. If the other one waits for it, in a callback that trains in a thread, that will never end: "
            "use processes, or leave one random_state at None."
        )
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _renew_lock():
    """Make a new lock in a process that was forked: the thread that held the old one is not there."""
    global _one_thread_at_a_time
    _one_thread_at_a_time = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def global_state() -> dict:
    """Return the state of the global generators of torch, numpy and Python, and of the devices in use."""
    state = {"torch": torch.get_rng_state(), "numpy": np.random.get_state(), "python": random.getstate()}
    if torch.cuda.is_initialized():  # asking would initialize it, in every worker of a search on the CPU too
        state["cuda"] = torch.cuda.get_rng_state_all()
    if torch.backends.mps.is_available():
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_global_state(state: dict) -> None:
    """Put the global generators into a state that `global_state` returned."""
    torch.set_rng_state(state["torch"].cpu())
    np.random.set_state(state["numpy"])
    random.setstate(state["python"])
    # A stream may have been pickled on a machine with other devices.
    if torch.cuda.is_initialized() and len(state.get("cuda", ())) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([of_device.cpu() for of_device in state["cuda"]])
    if "mps" in state and torch.backends.mps.is_available():
        torch.mps.set_rng_state(state["mps"].cpu())


@contextmanager
def random_numbers_put_back():
    """Hold a block after which the global generators are as they were before it."""
    before = global_state()
    try:
        yield
    finally:
        set_global_state(before)
