"""``data_on_device``: all of X is moved at once, and trains as if it came batch by batch."""

import numpy as np
import pandas as pd
import pytest
import torch
from skorch.dataset import Dataset as SkorchDataset
from skorch.dataset import ValidSplit

from sklearn_lec import LECClassifier
from tests.helpers import OnBatch, TinyNet, same_training


@pytest.mark.parametrize("method", ["ltec", "ltec-full", "lnec", "d2l"])
def test_data_on_the_device_trains_as_data_that_comes_batch_by_batch(table, quick, method):
    X, y = table[0].astype(np.float64), np.array(["a", "b", "c"])[table[1]]
    settings = {"method": method, "eps": 0.2, **quick}
    moved = LECClassifier(TinyNet, **settings, data_on_device=True).fit(X, y)
    by_batch = LECClassifier(TinyNet, **settings).fit(X, y)

    assert same_training(moved, by_batch)


@pytest.mark.parametrize("change", [lambda X: X[::-1], lambda X: np.asfortranarray(X), pd.DataFrame, "read-only"])
def test_data_on_the_device_may_lie_in_memory_in_any_way(table, quick, change):
    X = table[0].copy()
    if change == "read-only":
        X.flags.writeable = False
    else:
        X = change(X)
    dataset = SkorchDataset(X, table[1])
    moved = LECClassifier(TinyNet, data_on_device=True, iterator_train__num_workers=0, **quick).fit(dataset)
    by_batch = LECClassifier(TinyNet, **quick).fit(dataset)

    assert same_training(moved, by_batch)


def test_data_on_the_device_is_moved_once_and_released(table, quick):
    clf = LECClassifier(TinyNet, data_on_device=True, **quick)
    seen = []
    clf.set_params(callbacks=[("look", OnBatch(lambda net, batch: seen.append((net._run._arrays[0], batch[0].dtype))))])

    clf.fit(table[0].astype(np.float64), table[1])

    assert len({id(moved) for moved, _ in seen}) == 1
    assert {dtype for _, dtype in seen} == {torch.float32}
    assert clf._run is None


def test_data_on_the_device_goes_with_subsets_and_a_split(table, quick):
    split = ValidSplit(3)
    moved = LECClassifier(TinyNet, data_on_device=True, train_split=split, **quick).fit(*table)
    by_batch = LECClassifier(TinyNet, train_split=split, **quick).fit(*table)

    assert same_training(moved, by_batch)
    assert moved.history[:, "valid_loss"] == pytest.approx(by_batch.history[:, "valid_loss"], rel=1e-5)
