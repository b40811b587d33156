"""Other ways of running the same networks: several at once through vmap, channels last, compiled."""

import copy
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from benchmarks.contenders import Work, lec
from benchmarks.digits import noisy_digits
from benchmarks.timing import alternate, ratio
from sklearn_lec import LECClassifier
from sklearn_lec.modules import NetworkEnsemble, ResNet20

__all__ = ["compiled", "ensemble_by_vmap", "memory_formats", "separate_vote"]


def ensemble_by_vmap(work: Work, n_networks: int, *, rounds: int) -> dict[str, float]:
    """Time a step of several networks side by side under ``vmap``, as a ratio to the loop over them.

    Parameters
    ----------
    work : Work
    n_networks : int
    rounds : int

    Returns
    -------
    ratio : dict
        As `benchmarks.timing.ratio` returns it.
    """
    X, y = _first_batch(work)
    networks = [work.module() for _ in range(n_networks)]
    contenders = {
        "loop": _step(NetworkEnsemble(networks), X, y, n_networks),
        "vmap": _step(VmapNetworkEnsemble([work.module() for _ in range(n_networks)]), X, y, n_networks),
    }
    return ratio(alternate(contenders, rounds=rounds), "vmap", "loop")


class VmapNetworkEnsemble(nn.Module):
    """Run the networks as one with stacked parameters; outputs as those of `NetworkEnsemble`."""

    def __init__(self, networks: list[nn.Module]):
        super().__init__()
        parameters, buffers = stack_module_state(networks)
        self.names = list(parameters), list(buffers)
        self.parameters_of_all = nn.ParameterList([nn.Parameter(p.detach().clone()) for p in parameters.values()])
        self.buffers_of_all = list(buffers.values())
        self.skeleton = [copy.deepcopy(networks[0]).to("meta")]  # in a list, so that it is not a part of this module

    def forward(self, X):
        """Return logits of shape (n_rows, n_networks, n_classes)."""
        parameters = dict(zip(self.names[0], self.parameters_of_all, strict=True))
        buffers = dict(zip(self.names[1], self.buffers_of_all, strict=True))

        def one(parameters, buffers):
            return functional_call(self.skeleton[0], (parameters, buffers), (X,))

        return vmap(one, randomness="different", out_dims=1)(parameters, buffers)


def memory_formats(work: Work, *, rounds: int) -> dict[str, float]:
    """Time a step of a convolutional network on channels-last images, as a ratio to channels first."""
    X, y = _first_batch(work)
    contenders = {
        "first": _step(_Bare(work.module()), X, y, 1),
        "last": _step(_Bare(work.module()), X.contiguous(memory_format=torch.channels_last), y, 1),
    }
    return ratio(alternate(contenders, rounds=rounds), "last", "first")


class _Bare(nn.Module):
    """The layers of a network of this package without its own change to channels last."""

    def __init__(self, network):
        super().__init__()
        self.body, self.head = network.body, network.head

    def forward(self, X):
        return self.head(self.body(X)).unsqueeze(1)


def compiled(work: Work, method: str, *, eps: float, rounds: int) -> dict[str, float]:
    """Time an epoch with ``compile=True``, as a ratio to one without; compiling itself is left out."""
    contenders = {
        "eager": lec(work, method, eps=eps),
        "compiled": lec(work, method, eps=eps, compile=True),
    }
    return ratio(alternate(contenders, rounds=rounds), "compiled", "eager")


def separate_vote(*, seeds: int, epochs: int = 40) -> dict[str, list[float]]:
    """Train LTEC on digits with 60 % wrong labels, the vote in a pass of its own and in the one that is trained on.

    Returns
    -------
    accuracies : dict
        ``apart`` and ``shared``: the accuracy on clean test labels after the last epoch, one per seed; ``ratio``: the
        time of the one to that of the other.
    """
    lines = {"apart": [], "shared": [], "ratio": []}
    for seed in range(seeds):
        digits = noisy_digits("sym-60", seed=seed)
        X_train, X_test = (X.reshape(-1, 1, 8, 8) for X in (digits.X_train, digits.X_test))
        seconds = {}
        for name, is_separate in (("apart", True), ("shared", False)):
            net = LECClassifier(
                partial(ResNet20, width=0.5),
                eps=0.6,
                T_w=10,
                separate_vote=is_separate,
                max_epochs=epochs,
                random_state=seed,
                verbose=0,
                device="cpu",
            )
            start = time.perf_counter()
            net.fit(X_train, digits.y_noisy)
            seconds[name] = time.perf_counter() - start
            lines[name].append(float(net.score(X_test, digits.y_test)))
        lines["ratio"].append(seconds["apart"] / seconds["shared"])
    return lines


def _first_batch(work):
    return torch.from_numpy(work.X[: work.batch_size]), torch.from_numpy(work.y[: work.batch_size])


def _step(net, X, y, n_networks) -> Callable[[], float]:
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    labels = y.repeat_interleave(n_networks)

    def step():
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(net(X).flatten(0, 1), labels).backward()
        optimizer.step()
        return time.perf_counter() - start

    step()
    return step
