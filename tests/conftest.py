"""Small data, small networks, and one thread: training has to be fast enough to be tested often."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_lec.noise import SymmetricNoise

torch.set_num_threads(1)


@pytest.fixture
def table():
    """90 samples of 4 features in 3 classes that a tiny network can tell apart, every tenth label wrong."""
    rng = np.random.RandomState(0)
    y = np.arange(90) % 3
    X = (rng.normal(size=(90, 4)) + 3 * np.eye(3, 4)[y]).astype(np.float32)
    y[::10] = (y[::10] + 1) % 3
    return X, y


@pytest.fixture(scope="session")
def noisy_digits():
    """Digits with 60 % symmetric noise: X_train, y_true, y_noisy, X_test, y_test."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=0)
    return X_train, y_train, SymmetricNoise(eps=0.6, random_state=0).fit_transform(y_train), X_test, y_test


@pytest.fixture
def quick():
    """Parameters that make a training last a moment."""
    settings = {"eps": 0.2, "T_w": 1, "M": 2, "max_epochs": 3, "batch_size": 16}
    return settings | {"verbose": 0, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="session")
def shared_data():
    """The folder with the real MNIST and CIFAR-10, beside the project or named by SKLEARN_LEC_DATA."""
    folder = Path(os.environ.get("SKLEARN_LEC_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.exists():
        pytest.skip(f"no data in {folder}; set SKLEARN_LEC_DATA to a folder in torchvision's layout")
    return folder


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory):
    """The folder of a run of all benchmarks at the smallest scale, with its report."""
    from benchmarks.experiments import EXPERIMENTS
    from benchmarks.files import FolderInUseError
    from benchmarks.report import write_report
    from benchmarks.running import run
    from benchmarks.scales import load_scale

    base = tmp_path_factory.getbasetemp()
    # Made once, even if the tests are run by several processes: their folders lie in a common one.
    out = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke"
    while not (out / "README.md").exists():
        with contextlib.suppress(FolderInUseError):
            assert run(list(EXPERIMENTS.values()), load_scale("smoke"), out=out) == []
            write_report(out)
    return out
