"""Data, networks and calls that are refused, for the cases in error_cases.py."""

import hashlib
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec._training.folder import CheckpointFolder
from tests.helpers import TinyNet

X = np.random.RandomState(0).normal(size=(30, 4))
Y = np.arange(30) % 3
QUICK = {"max_epochs": 1, "eps": 0.2, "T_w": 0, "batch_size": 16, "verbose": 0, "device": "cpu"}


class MeanOnly(nn.Module):
    def forward(self, outputs, labels):
        return nn.functional.cross_entropy(outputs, labels)


class PairOfOutputs(TinyNet):
    def forward(self, x):
        return super().forward(x), x


class OneOutput(TinyNet):
    def forward(self, x):
        return super().forward(x)[:, 0]


class Embedding(nn.Embedding):
    def __init__(self, n_words, num_classes):
        super().__init__(n_words, num_classes)


class LossPerOutput(nn.Module):
    reduction = "mean"

    def forward(self, outputs, labels):
        losses = (outputs - nn.functional.one_hot(labels, 3)) ** 2
        return losses if self.reduction == "none" else losses.mean()


class CriterionElsewhere(LECClassifier):
    def initialize_criterion(self):
        self.loss_ = nn.CrossEntropyLoss()
        return self


class ModuleElsewhere(LECClassifier):
    def initialize_module(self):
        self.network_ = TinyNet()
        return self


class LoadsSamples(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, index):
        return X[index], int(Y[index])


class Endless(IterableDataset):
    def __iter__(self):
        yield X[0], 0


def with_value(value):
    changed = X.copy()
    changed[3, 2] = value
    return changed


def with_label(label):
    labels = np.array(["a", "b", "c"] * 10, dtype=object)
    labels[3] = label
    return labels


def in_inference_mode():
    with torch.inference_mode():
        fit()()


def fit(X=X, y=Y, *, sample_weight=None, trusted=None, **parameters):
    return lambda: LECClassifier(**QUICK | parameters).fit(X, y, sample_weight=sample_weight, trusted=trusted)


def fitted():
    return LECClassifier(**QUICK, random_state=0).fit(X, Y)


def trimmed():
    clf = fitted()
    clf.trim_for_prediction()
    return clf


def corrupt(noise, y=Y):
    return lambda: noise.corrupt(np.zeros((len(y), 1)), y)


def only_new_tensors(dataset, y=None, **kwargs):
    return TensorDataset(torch.ones(2, 4)), None


def resume(*, spoil=lambda folder: None, **parameters):
    """Fit with other parameters in a folder that holds a run, and in which something may have been spoiled."""

    def call():
        with tempfile.TemporaryDirectory() as folder:
            fit(checkpoint_dir=folder)()
            spoiled = spoil(CheckpointFolder(folder))  # noqa: F841  # a lock lasts as long as what it returns
            fit(checkpoint_dir=folder, **parameters)()

    return call


def rewrite(folder):
    content = b"not what this version writes"
    folder.files()[0].write_bytes(hashlib.sha256(content).digest() + content)


def use(folder):
    folder.lock()
    return folder


def loaded(**parameters):
    """Return an estimator with the weights of another one, in a file without classes."""
    with tempfile.TemporaryDirectory() as folder:
        torch.save(dict(TinyNet().state_dict()), Path(folder) / "params.pt")
        clf = LECClassifier(TinyNet, module__num_classes=3, **QUICK | parameters).initialize()
        clf.load_params(f_params=Path(folder) / "params.pt")
    return clf


def load_other_classes():
    with tempfile.TemporaryDirectory() as folder:
        fitted().save_params(f_params=Path(folder) / "params.pt")
        LECClassifier(**QUICK, classes=["a", "b", "c"]).load_params(f_params=Path(folder) / "params.pt")
