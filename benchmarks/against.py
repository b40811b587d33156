"""Time this checkout against another one: epochs of both in turns, as ratios.

    git worktree add ../before COMMIT
    python -m benchmarks.against ../before

One process for each checkout, one thread each; they take turns, so that whatever slows the machine down slows down
both. Data and random numbers are the same: both select the same samples, as long as the numerics have not moved.
"""

import argparse
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

__all__ = ["CASES", "main"]

CASES = {
    "MLP, ltec, eps 0.2": ("mlp", "ltec", 0.2),
    "MLP, ltec, eps 0.6": ("mlp", "ltec", 0.6),
    "MLP, standard": ("mlp", "standard", 0.0),
    "MLP, co-teaching, eps 0.2": ("mlp", "co-teaching", 0.2),
    "Conv9 at 1/8, ltec, eps 0.2": ("conv9", "ltec", 0.2),
    "Conv9 at 1/8, ltec, eps 0.6": ("conv9", "ltec", 0.6),
}
"""What is timed: a network, a method, and the share of wrong labels."""


class Checkout:
    """A process that runs epochs of one case with the code of one checkout.

    Parameters
    ----------
    folder : Path
    case : str
        One of `CASES`.
    """

    def __init__(self, folder: Path, case: str):
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--work", case],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        where = self.process.stdout.readline().strip()
        if Path(where).parent != folder / "sklearn_lec":
            raise RuntimeError(f"the code of {folder} was asked for, but {where or 'none'} was run")

    def epoch(self) -> float:
        """Run an epoch and return its seconds."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def stop(self) -> None:
        """End the process."""
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    """Print the ratio of this checkout to the other one, for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the folder of the other checkout")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="cases whose names hold this text")
    parser.add_argument("--work", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        _work(*CASES[options.work])
        return
    if options.other is None:
        parser.error("name the folder of the other checkout")
    from benchmarks.timing import alternate, ratio, shown

    folders = {"this": Path(__file__).resolve().parents[1], "other": options.other.resolve()}
    for case in (case for case in CASES if options.only in case):
        checkouts = {name: Checkout(folder, case) for name, folder in folders.items()}
        seconds = alternate({name: checkout.epoch for name, checkout in checkouts.items()}, rounds=options.rounds)
        for checkout in checkouts.values():
            checkout.stop()
        print(f"{case}: {shown(ratio(seconds, 'this', 'other'))}", flush=True)


def _work(network: str, method: str, eps: float) -> None:
    """Run an epoch for each line of the input, and print its seconds; the first line printed names the code."""
    import numpy as np
    import torch

    import sklearn_lec
    from benchmarks.contenders import Work, lec
    from sklearn_lec.modules import MLP, Conv9

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    n_samples, shape = (20_000, (784,)) if network == "mlp" else (640, (3, 32, 32))
    module = partial(MLP, 784, 10) if network == "mlp" else partial(Conv9, width=1 / 8)
    y = rng.integers(0, 10, n_samples)
    X = rng.standard_normal((10, *shape), dtype=np.float32)[y] + rng.standard_normal((n_samples, *shape), np.float32)
    is_wrong = rng.random(n_samples) < eps
    y[is_wrong] = (y[is_wrong] + rng.integers(1, 10, is_wrong.sum())) % 10
    epoch = lec(Work(module, X, y), method, eps=eps, random_state=0)
    print(sklearn_lec.__file__, flush=True)
    for _ in sys.stdin:
        print(epoch(), flush=True)


if __name__ == "__main__":
    main()
