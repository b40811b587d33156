"""Checksums of whole trainings: run it before and after a change that must not move the numerics, and compare.

    python -m benchmarks.checksums > before.txt
    python -m benchmarks.checksums > after.txt
    diff before.txt after.txt

Names of methods as arguments leave out the others.

Each line names a training on digits with 60 % wrong labels, followed by a checksum of its final weights, of its mask of
selected samples and of its scores. Bits depend on the machine and on the version of torch; compare on one machine.
"""

import hashlib
import sys
import warnings

import numpy as np
import torch
from sklearn.datasets import load_digits
from skorch.dataset import ValidSplit
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.noise import SymmetricNoise

__all__ = ["checksum", "main"]

N_EPOCHS, T_W, EPS = 15, 5, 0.6


class SmallConvolution(nn.Module):
    """A convolution, batch norm, dropout and a linear layer on 8x8 digits."""

    def __init__(self, num_classes=10):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2)
        )
        self.head = nn.Linear(8 * 16, num_classes)

    def forward(self, x):
        """Return logits of shape (n_samples, num_classes)."""
        return self.head(self.body(x.reshape(-1, 1, 8, 8)))


def checksum(clf: LECClassifier) -> str:
    """Return a short text that changes if a bit of the weights, the mask or the scores does."""
    state = [value.detach().cpu().numpy() for value in clf.module_.state_dict().values()]
    digest = hashlib.sha256()
    for array in (*state, clf.clean_mask_, clf.clean_score_):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def main() -> None:
    """Print a line for each method and each way to train it."""
    torch.set_num_threads(1)
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    y = SymmetricNoise(eps=EPS, random_state=0).fit_transform(y)
    sample_weight = np.random.RandomState(0).uniform(0.5, 2, len(y))
    ways = {
        "plain": ({}, {}),
        "train_split": ({"train_split": ValidSplit(0.2, stratified=True, random_state=0)}, {}),
        "sample_weight": ({}, {"sample_weight": sample_weight}),
        "convolution": ({"module": SmallConvolution}, {}),
        "convolution, eps 0.2": ({"module": SmallConvolution, "eps": 0.2}, {}),
    }
    for name in sys.argv[1:] or METHODS:
        for way, (parameters, fit_params) in ways.items():
            settings = {"eps": EPS, "M": 3, "T_w": T_W, "W": 4, "max_epochs": N_EPOCHS, "batch_size": 64}
            settings |= {"verbose": 0, "random_state": 0, "device": "cpu"} | parameters
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf = LECClassifier(method=name, **settings).fit(X, y, **fit_params)
            print(f"{name}, {way}: {checksum(clf)}", flush=True)


if __name__ == "__main__":
    main()
