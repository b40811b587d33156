"""sample_weight: how much each sample counts in the update."""

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.model_selection import cross_val_score

from sklearn_lec import LECClassifier
from tests.helpers import TinyNet, weights


def test_weights_count_in_the_update(table, quick):
    twice = np.where(np.arange(90) < 45, 2.0, 1.0)
    settings = {"eps": 0.3, **quick, "batch_size": -1, "max_epochs": 2}

    weighted = LECClassifier(TinyNet, **settings).fit(*table, sample_weight=twice)
    plain = LECClassifier(TinyNet, **settings).fit(*table)

    assert not torch.allclose(weights(weighted), weights(plain), atol=1e-5)


def test_weights_do_not_count_in_the_vote(table, quick):
    twice = np.where(np.arange(90) < 45, 2.0, 1.0)
    settings = {"eps": 0.3, "lr": 0.0, **quick, "batch_size": -1, "max_epochs": 2}

    weighted = LECClassifier(TinyNet, **settings).fit(*table, sample_weight=twice)
    plain = LECClassifier(TinyNet, **settings).fit(*table)

    assert not plain.clean_mask_.all()
    assert np.array_equal(weighted.clean_mask_, plain.clean_mask_)


@pytest.mark.parametrize(
    "criterion",
    [
        {},
        {"criterion__reduction": "sum"},
        {"criterion__weight": torch.tensor([1.0, 5.0, 2.0])},
        {"criterion__weight": torch.tensor([1.0, 5.0, 2.0]), "criterion__label_smoothing": 0.2},
        {"criterion__ignore_index": 1},
    ],
)
@pytest.mark.parametrize("size", [1.0, 1e-40, 1e300])
def test_equal_weights_change_nothing(table, quick, criterion, size):
    X, y = table
    quick |= {"optimizer": torch.optim.SGD, "lr": 0.01}

    plain = LECClassifier(TinyNet, **quick | {"eps": 0.0}, **criterion).fit(X, y)
    equal = LECClassifier(TinyNet, **quick | {"eps": 0.0}, **criterion).fit(X, y, sample_weight=np.full(90, size))

    assert torch.allclose(weights(plain), weights(equal), atol=1e-5)


def test_whole_weights_count_as_repeated_samples(table, quick):
    X, y = table
    counts = np.arange(90) % 3 + 1
    settings = quick | {"method": "standard", "batch_size": -1, "optimizer": torch.optim.SGD}

    weighted = LECClassifier(TinyNet, **settings).fit(X, y, sample_weight=counts)
    repeated = LECClassifier(TinyNet, **settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))

    assert torch.allclose(weights(weighted), weights(repeated), atol=1e-5)


def test_weights_of_a_fit_that_failed_do_not_count_in_the_next(table, quick):
    class Broken(TinyNet):
        def __init__(self, in_features, num_classes):
            raise RuntimeError("broken")

    X, y = table
    expected = LECClassifier(TinyNet, **quick).fit(X, y)
    clf = LECClassifier(Broken, **quick)
    with pytest.raises(RuntimeError, match="broken"):
        clf.fit(X, y, sample_weight=np.arange(90))

    clf.set_params(module=TinyNet).fit(X, y)

    assert torch.equal(weights(clf), weights(expected))


def test_samples_of_weight_zero_can_be_selected(table, quick):
    half = (np.arange(90) < 45).astype(float)

    clf = LECClassifier(TinyNet, method="standard", **quick | {"batch_size": 4}).fit(*table, sample_weight=half)

    assert clf.clean_mask_.all()


@pytest.mark.parametrize("method", ["standard", "lnec", "forward", "d2l"])
def test_labels_of_weight_zero_are_not_learned_from(table, quick, method):
    X, y = table
    half = (np.arange(90) < 45).astype(float)
    wrong = np.where(half > 0, y, (y + 1) % 3)
    settings = quick | {"method": method, "eps": 0.0}

    one, other = (LECClassifier(TinyNet, **settings).fit(X, labels, sample_weight=half) for labels in (y, wrong))

    assert torch.allclose(weights(one), weights(other), atol=1e-6)


def test_weights_are_routed_through_a_cross_validation(table, quick):
    sums = []

    class Recording(LECClassifier):
        def partial_fit(self, X, y=None, classes=None, *, sample_weight=None, **fit_params):
            sums.append(sample_weight.sum())
            return super().partial_fit(X, y, classes, sample_weight=sample_weight, **fit_params)

    clf = Recording(TinyNet, lr=0.05, **quick | {"max_epochs": 15, "T_w": 3, "eps": 0.1})
    with config_context(enable_metadata_routing=True):
        routed = clf.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scores = cross_val_score(routed, *table, cv=3, params={"sample_weight": np.arange(90)})

    assert sum(sums) == 2 * np.arange(90).sum()
    assert scores.mean() > 0.8
