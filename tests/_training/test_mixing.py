"""Mixup: what is mixed, what is not, and the loss on the labels of both parts."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from sklearn_lec import LECClassifier
from sklearn_lec._training.batches import IndexedBatch
from sklearn_lec._training.mixing import Mixing, mixed_batch
from sklearn_lec.methods import LTEC, Method
from tests.helpers import OnBatch, TinyNet, same_training, weights


class Mixup(Method):
    mixup_alpha = 1.0


@pytest.fixture
def settings():
    return {"max_epochs": 2, "batch_size": 30, "verbose": 0, "random_state": 0, "device": "cpu"}


@given(n_samples=st.integers(1, 40), alpha=st.floats(0.05, 5))
def test_each_sample_weighs_more_than_its_partner(n_samples, alpha):
    mixing = Mixing.drawn(n_samples, alpha=alpha)

    assert sorted(mixing.partners.tolist()) == list(range(n_samples))
    assert 0.5 <= mixing.weight <= 1


def test_dicts_and_lists_of_numbers_are_mixed_part_by_part():
    part = torch.tensor([[0.0], [8.0]])

    mixed = Mixing(torch.tensor([1, 0]), 0.75).of_inputs({"a": part, "b": [part.double()]})

    assert mixed["a"].tolist() == mixed["b"][0].tolist() == [[2.0], [6.0]]
    assert mixed["b"][0].dtype == torch.float64


@pytest.mark.parametrize("other", [torch.tensor([3, 4]), np.array(["a", "b"]), None])
def test_inputs_that_are_no_numbers_of_a_scale_stay_as_they_are(other):
    batch = IndexedBatch({"a": torch.rand(2, 1), "b": other}, torch.tensor([0, 1]), torch.arange(2))

    mixed, mixing = mixed_batch(batch, alpha=1.0)

    assert mixed is batch
    assert mixing is None


def test_the_loss_is_that_on_the_labels_of_both_parts_by_their_weights(table, settings, monkeypatch):
    X, y = table
    mixing = Mixing(torch.arange(29, -1, -1), 0.7)
    monkeypatch.setattr(Mixing, "drawn", lambda n_samples, alpha: mixing)
    clf = LECClassifier(TinyNet, method=Mixup, iterator_train__shuffle=False, callbacks__linear_decay=None, **settings)

    clf.fit(X, y)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyNet(4, 3)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for _ in range(2):
        for x, labels in zip(torch.tensor(X).split(30), torch.tensor(y).split(30), strict=True):
            outputs = network(0.7 * x + 0.3 * x.flip(0))
            loss = 0.7 * F.cross_entropy(outputs, labels) + 0.3 * F.cross_entropy(outputs, labels.flip(0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert torch.allclose(weights(clf), torch.cat([p.flatten() for p in network.parameters()]), atol=1e-5)


def test_samples_of_weight_zero_count_neither_by_themselves_nor_as_partners(table, settings):
    X, y = table
    weight = (np.arange(90) % 2).astype(float)
    others = np.where(weight == 0, (y + 1) % 3, y)

    one, other = (
        LECClassifier(TinyNet, method=Mixup, **settings).fit(X, labels, sample_weight=weight) for labels in (y, others)
    )

    assert torch.allclose(weights(one), weights(other), atol=1e-6)


def test_callbacks_see_the_batch_as_it_was_before_it_was_mixed(table, settings):
    X, _ = table
    seen = []

    def look(net, batch):
        seen.append(np.array_equal(batch[0].numpy(), X[batch.samples]))

    LECClassifier(TinyNet, method=Mixup, callbacks=[OnBatch(look)], **settings).fit(*table)

    assert seen == [True] * 6


def test_where_batches_vote_nothing_is_mixed(table, settings):
    class MixedLTEC(LTEC):
        mixup_alpha = 1.0

    mixed, plain = (
        LECClassifier(TinyNet, method=method, eps=0.1, T_w=1, **settings).fit(*table) for method in (MixedLTEC, LTEC)
    )

    assert same_training(mixed, plain)


def test_a_mixture_with_a_loss_that_is_not_finite_changes_nothing(table, settings):
    class Broken(Mixup):
        def loss(self, criterion, batch):
            return super().loss(criterion, batch) * torch.nan

    with pytest.warns(UserWarning, match="nothing was learned"):
        clf = LECClassifier(TinyNet, method=Broken, **settings).fit(*table)

    untrained = LECClassifier(TinyNet, method="standard", **settings | {"lr": 0.0}).fit(*table)
    assert torch.equal(weights(clf), weights(untrained))
