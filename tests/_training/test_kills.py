"""Processes that are killed and started again: they end bit for bit as one that was never killed.

``python -m tests._training.test_kills 200`` kills that many times instead of twenty-four.
"""

import itertools
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch

from sklearn_lec.methods import METHODS

TRAINING = '''
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np
import torch
from sklearn.datasets import load_digits
from skorch.callbacks import Callback, LRScheduler
from torch import nn
from torch.utils.data import Subset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS

torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
X = X.astype("float32")[:300] / 16
WIDTHS = {"small": 16, "large": 32}


def network(activation):
    return lambda: nn.Sequential(*[nn.Linear(64, WIDTHS[w]) for w in WIDTHS if w in {"large"}], activation(), Head())


class Head(nn.Module):
    """Counts in a plain attribute, and in a buffer that is not saved."""

    def __init__(self, width=32):
        super().__init__()
        self.layer, self.n_calls = nn.Linear(width, 10), 0
        self.register_buffer("total", torch.zeros(()), persistent=False)

    def forward(self, x):
        if self.training:
            self.n_calls += 1
            self.total += 1
        return self.layer(x) * (1 + 1e-3 * self.n_calls + 1e-3 * self.total)


def split(rng):
    wanted = {"seven", "eight"}

    def split_by(dataset, y=None, **kwargs):
        order = [int(i) for i in rng.permutation(len(dataset)) if "seven" in wanted]
        return Subset(dataset, order[:240]), Subset(dataset, order[240:])

    return split_by


class Pulse(Callback):
    """A callback of the user's own that changes the training, and remembers something."""

    def __init__(self):
        self.n = 0

    def on_batch_begin(self, net, **kwargs):
        self.n += 1
        net.optimizer_.param_groups[0]["weight_decay"] = 1e-4 * (self.n % 7)


def settings(method):
    number = list(METHODS).index(method)
    schedulers = [
        LRScheduler("MultiStepLR", milestones=[2, 5, 5, 9]),
        LRScheduler("LambdaLR", lr_lambda=lambda epoch: sum(0.9**e for e in {epoch, epoch + 1}) / 2),
        LRScheduler("CyclicLR", base_lr=1e-3, max_lr=1e-2, step_size_up=7, step_every="batch", cycle_momentum=False),
        LRScheduler("ReduceLROnPlateau", monitor="train_loss", patience=1),
    ]
    parameters = {"callbacks": [schedulers[number % 4], Pulse()]}
    if number % 2:
        parameters["module"] = network(nn.Tanh)
    if number % 3 == 0:
        parameters["train_split"] = split(np.random.default_rng(3))
    if number % 7 == 0:
        parameters |= {"iterator_train__num_workers": 1, "iterator_train__persistent_workers": True}
    return parameters


for method in sys.argv[3:]:
    clf = LECClassifier(
        method=method, eps=0.2, max_epochs=int(sys.argv[2]), T_w=3, M=3, W=4, T_k=4, batch_size=64, random_state=0,
        verbose=0, checkpoint_dir=sys.argv[1] + "/" + method, **settings(method),
    ).fit(X, y[:300])
    score = torch.tensor(clf.clean_score_).nan_to_num(-1)  # NaN, which equals nothing, for samples held out
    result = [*clf.module_.state_dict().values(), score, torch.tensor(clf.clean_mask_)]
    result.append(torch.tensor(clf.history[:, "train_loss"], dtype=torch.float64))
    torch.save(result, sys.argv[1] + "/" + method + ".result")
'''


def kill_and_compare(folder, *, n_kills, n_epochs):
    """Kill trainings `n_kills` times, by all methods in turn.

    Return how many were killed while they were at it, and the methods that ended differently.
    """
    # From a file: a function of a script that is read from the command line has no file that could be found.
    (folder / "training.py").write_text(TRAINING)

    def start(name, *methods):
        (folder / name).mkdir(exist_ok=True)
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, folder / "training.py", folder / name, str(n_epochs), *methods]
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)

    never_killed = start("never", *METHODS)
    rng, n_done = random.Random(0), 0
    epochs_between = n_epochs // (1 + math.ceil(n_kills / len(METHODS)))
    try:
        for number, method in zip(range(n_kills), itertools.cycle(METHODS), strict=False):
            process = start("killed", method)
            seen, n_new, wanted = _checkpoints(folder, method), 0, rng.randint(1, max(1, epochs_between))
            # Every seventh time at a moment that has nothing to do with checkpoints.
            while number % 7 and process.poll() is None and n_new < wanted:
                time.sleep(0.01)
                now = _checkpoints(folder, method)
                n_new, seen = n_new + len(now - seen), seen | now
            time.sleep(rng.uniform(0, 0.1) if number % 7 else rng.uniform(0, 4))
            n_done += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert start("killed", *METHODS).wait(timeout=600) == 0
        assert never_killed.wait(timeout=600) == 0
    finally:
        never_killed.kill()
    different = []
    for method in METHODS:
        left, right = (torch.load(folder / name / f"{method}.result") for name in ("never", "killed"))
        if not all(torch.equal(a, b) for a, b in zip(left, right, strict=True)):
            different.append(method)
    return n_done, different


def _checkpoints(folder, method):
    return set((folder / "killed" / method).rglob("*.ckpt"))


@pytest.mark.slow
def test_a_process_killed_twenty_times_ends_as_one_that_was_never_killed(tmp_path):
    n_kills, different = kill_and_compare(tmp_path, n_kills=24, n_epochs=30)

    assert n_kills >= 20
    assert different == []


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        n = int(sys.argv[1])
        print("kills, methods that ended differently:", *kill_and_compare(Path(name), n_kills=n, n_epochs=30 + n // 2))
