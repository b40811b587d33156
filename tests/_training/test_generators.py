"""Random number generators of the user's own go on where they were."""

import random

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

from sklearn_lec import LECClassifier
from tests._training.interruption import interrupted, settings
from tests.helpers import weights


class Jittered(Dataset):
    """A data set with generators of its own."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.numpy = np.random.default_rng(3)
        self.legacy = np.random.RandomState(4)
        self.python = random.Random(5)
        self.torch = torch.Generator().manual_seed(6)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, at):
        noise = self.numpy.normal() + self.legacy.normal() + self.python.gauss(0, 1)
        return self.X[at] + np.float32(0.1 * noise) + 0.1 * torch.randn(4, generator=self.torch).numpy(), self.y[at]


class Composed(Dataset):
    """Two transformations of one class, each with a generator."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.transforms = [Jittered(X, y), Jittered(X, y)]
        self.transforms[1].numpy = np.random.default_rng(9)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, at):
        return sum(transform[at][0] for transform in self.transforms), self.y[at]


@pytest.mark.filterwarnings("ignore:the run in checkpoint_dir=.*not certain")
def test_generators_of_several_parts_of_a_data_set_are_resumed(table, tmp_path):
    expected = LECClassifier(**settings("standard")).fit(Composed(*table), None)

    resumed = interrupted(lambda: (Composed(*table), None), tmp_path, **settings("standard"))

    assert torch.equal(weights(resumed), weights(expected))


@pytest.mark.filterwarnings("ignore:the run in checkpoint_dir=.*not certain")
@pytest.mark.parametrize("n_workers", [0, 1])
def test_generators_of_a_data_set_are_resumed(table, tmp_path, n_workers):
    parameters = settings("standard", iterator_train__num_workers=n_workers)
    expected = LECClassifier(**parameters).fit(Jittered(*table), None)

    resumed = interrupted(lambda: (Jittered(*table), None), tmp_path, **parameters)

    assert torch.equal(weights(resumed), weights(expected))


def test_a_generator_that_lives_in_persistent_workers_is_warned_of(table, tmp_path):
    parameters = settings("standard", max_epochs=1, iterator_train__num_workers=1)

    with pytest.warns(UserWarning, match=r"X.legacy, X.numpy, X.python, X.torch lives on in worker processes"):
        LECClassifier(**parameters, iterator_train__persistent_workers=True, checkpoint_dir=tmp_path).fit(
            Jittered(*table), None
        )


def test_a_split_is_drawn_again_from_a_generator_of_the_users_own(table, tmp_path):
    def make():
        rng = np.random.default_rng(0)

        def split(dataset, y=None, **kwargs):
            return torch.utils.data.Subset(dataset, rng.permutation(90)[:60].tolist()), None

        return {"train_split": split}

    expected = LECClassifier(**settings(), **make()).fit(*table)

    resumed = interrupted(table, tmp_path, make=make, **settings())

    assert torch.equal(weights(resumed), weights(expected))
