"""Co-teaching: the exchange and the schedule."""

import numpy as np
import pytest
import torch
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS, Batch
from tests.helpers import TinyNet, without


def co_teaching(epoch, *, eps=0.5, T_k=10):
    method = METHODS["co-teaching"](eps=eps, T_k=T_k)
    method.reset(4, n_classes=2)
    method.epoch = epoch
    return method


def test_networks_learn_from_the_samples_that_the_other_one_selects():
    losses = torch.tensor([[0.1, 0.2, 8.0, 9.0], [8.0, 0.2, 0.1, 9.0]])

    first, second = co_teaching(10).select(Batch([], torch.zeros(4), torch.arange(4), losses=losses)).mask

    assert first.tolist() == [False, True, True, False]
    assert second.tolist() == [True, True, False, False]


def test_a_step_moves_each_network_by_the_samples_that_the_other_one_selects(table, quick):
    X, y = torch.from_numpy(table[0]), torch.from_numpy(table[1])
    settings = without(quick, "M", "T_w") | {"max_epochs": 1, "batch_size": -1, "lr": 0.1}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        networks = [TinyNet(4, 3), TinyNet(4, 3)]

    clf = LECClassifier(TinyNet, method="co-teaching", T_k=1, optimizer=torch.optim.SGD, **settings | {"eps": 0.4})
    clf.set_params(iterator_train__shuffle=False).fit(*table)

    losses = [nn.functional.cross_entropy(network(X), y, reduction="none") for network in networks]
    picked = [set(loss.argsort(stable=True)[:54].tolist()) for loss in losses]
    assert picked[0] - picked[1] and picked[1] - picked[0]
    for network, loss, others_pick, trained in zip(networks, losses, picked[::-1], clf.module_.networks, strict=True):
        loss[sorted(others_pick)].mean().backward()
        for before, after in zip(network.parameters(), trained.parameters(), strict=True):
            assert torch.allclose(after, before - 0.1 * before.grad, atol=1e-6)


def test_the_selected_share_falls_linearly_over_the_first_epochs():
    shares = [1 - co_teaching(epoch, eps=0.45).share_left_out for epoch in range(1, 13)]

    assert shares == pytest.approx([1 - 0.05 * step for step in range(10)] + [0.55, 0.55])
    assert co_teaching(1, T_k=1).share_left_out == 0.5


def test_co_teaching_records_what_both_networks_learned_from(table, quick):
    selected = []

    class Watching(METHODS["co-teaching"]):
        def select(self, batch):
            selection = super().select(batch)
            if self.epoch == 3:
                selected.extend(batch.samples[selection.mask.all(dim=0)].tolist())
            return selection

    clf = LECClassifier(TinyNet, method=Watching, **without(quick, "M", "T_w") | {"eps": 0.4}).fit(*table)

    assert set(np.flatnonzero(clf.clean_mask_)) == set(selected)


def test_epochs_in_which_nothing_is_left_out_do_not_count_in_the_score(table, quick):
    settings = without(quick, "M", "T_w") | {"T_k": 3}

    clf = LECClassifier(TinyNet, method="co-teaching", **settings | {"eps": 0.4}).fit(*table)

    assert clf.method_.record.n_epochs == 2
    assert set(clf.clean_score_) <= {0.0, 0.5, 1.0}
