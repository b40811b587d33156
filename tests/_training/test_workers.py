"""Workers that live on: each epoch begins with random numbers that depend on the epoch alone."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, RandomSampler

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from tests._training.interruption import interrupted, settings
from tests.helpers import weights

PERSISTENT = {"iterator_train__num_workers": 1, "iterator_train__persistent_workers": True}


class Jittered(Dataset):
    """Draws from all global generators in the worker."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, at):
        noise = np.random.normal() + random.gauss(0, 1) + torch.randn(()).item()
        return self.X[at] + np.float32(0.1 * noise), self.y[at]


@pytest.mark.parametrize("method", METHODS)
def test_a_training_with_persistent_workers_is_resumed(table, tmp_path, method):
    parameters = settings(method, max_epochs=5, **PERSISTENT)
    expected = LECClassifier(**parameters).fit(*table)

    resumed = interrupted(table, tmp_path, epochs=(4,), **parameters)

    assert torch.equal(weights(resumed), weights(expected))


@pytest.mark.filterwarnings("ignore:the run in checkpoint_dir=.*not certain")
@pytest.mark.parametrize("sampler", [{}, {"iterator_train__sampler": RandomSampler(range(90))}])
def test_what_persistent_workers_draw_is_resumed(table, tmp_path, sampler):
    parameters = settings("standard", **PERSISTENT, **sampler) | {"iterator_train__num_workers": 2}
    data = Jittered(*table), None
    expected = LECClassifier(**parameters).fit(*data)

    resumed = interrupted(data, tmp_path, epochs=(2, 4), **parameters)

    assert torch.equal(weights(resumed), weights(expected))


def test_persistent_workers_draw_other_numbers_in_each_epoch(table):
    seen = []

    class Watching(LECClassifier):
        def train_step(self, batch, **fit_params):
            seen.append(batch[0].clone())
            return super().train_step(batch, **fit_params)

    parameters = settings("standard", max_epochs=3, batch_size=90, **PERSISTENT, iterator_train__shuffle=False)
    Watching(**parameters).fit(Jittered(*table), None)

    assert not torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[1], seen[2])


def test_batches_of_one_sample_have_no_seed(table):
    parameters = settings("standard", max_epochs=1, **PERSISTENT) | {"batch_size": None}

    clf = LECClassifier(**parameters).fit(*table)

    assert len(clf.history) == 1
