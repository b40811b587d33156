"""``separate_vote``: when the vote has a pass of its own, what it costs, and that it trains as it should."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from skorch.callbacks import Callback
from torch.utils.data import default_collate

from benchmarks.complexity import SmallConvolution, count_passes
from sklearn_lec import LECClassifier
from sklearn_lec.methods import ConsensusMethod, Selection
from tests.helpers import OnBatch, TinyConv, TinyNet, weights


@pytest.mark.parametrize(
    ("module", "eps", "method", "is_separate"),
    [
        (TinyConv, 0.6, "ltec", True),
        (TinyConv, 0.6, "lsec", True),
        (TinyConv, 0.6, "lnec", True),
        (TinyConv, 0.2, "ltec", False),
        (TinyConv, 0.6, "co-teaching", False),
        (TinyConv, 0.6, "elr", False),
        (TinyConv, 0.6, "standard", False),
        (TinyNet, 0.6, "ltec", False),
    ],
)
def test_the_vote_has_a_pass_of_its_own_where_that_is_cheaper(table, quick, module, eps, method, is_separate):
    decided = []
    look = OnBatch(lambda net, batch: decided.append(net._run.separate_vote))

    LECClassifier(module, method=method, callbacks=[look], **quick | {"eps": eps}).fit(*table)

    assert set(decided) == {is_separate}  # from the first batch to the last


@pytest.mark.parametrize(
    "settings", [{"compile": True, "compile__backend": "eager"}, {"iterator_train__collate_fn": default_collate}]
)
def test_the_vote_has_no_pass_of_its_own_where_batches_cannot_be_cut(table, quick, settings):
    decided = []
    look = OnBatch(lambda net, batch: decided.append(net._run.separate_vote))

    LECClassifier(TinyConv, callbacks=[look], **quick | settings | {"eps": 0.6}).fit(*table)

    assert set(decided) == {False}


def samples_forward_and_backward(table, quick, **settings):
    """Return how many samples went forward and backward in an epoch after the warm-up."""
    passes = {"forward": 0, "backward": 0}

    class Counting(TinyNet):
        def forward(self, x):
            passes["forward"] += len(x)
            outputs = super().forward(x)
            passes["backward"] += len(x) * outputs.requires_grad
            return outputs

    clf = LECClassifier(Counting, **quick | {"T_w": 0, "max_epochs": 1, "M": 1, "eps": 0.4}, **settings).fit(*table)
    return passes["forward"] - 90, passes["backward"] - clf.clean_mask_.sum()


def test_a_separate_vote_can_be_asked_for_and_switched_off(table, quick):
    n_selected = 5 * 9 + 6  # floor(0.6 * n) of five batches of 16 and one of 10

    assert samples_forward_and_backward(table, quick, separate_vote=True) == (n_selected, 0)
    assert samples_forward_and_backward(table, quick, separate_vote=False) == (0, 90 - n_selected)


def test_the_vote_has_no_pass_of_its_own_during_the_warm_up(table, quick):
    passes = []

    class Counting(TinyConv):
        def forward(self, x):
            passes.append(torch.is_grad_enabled())
            return super().forward(x)

    with pytest.warns(UserWarning, match="the whole training is warm-up"):
        LECClassifier(Counting, **quick | {"max_epochs": 1, "T_w": 1, "eps": 0.6}).fit(*table)

    assert passes == [True] * 6


def test_callbacks_see_whole_batches_and_what_was_selected_of_them(table, quick):
    seen = []

    class Look(Callback):
        def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
            if net.method_.epoch == 3:
                seen.append((batch.samples, y_pred, batch.selected))

    clf = LECClassifier(TinyConv, callbacks=[Look()], **quick | {"eps": 0.6}).fit(*table)

    assert [len(y_pred) for _, y_pred, _ in seen] == [len(samples) for samples, *_ in seen] == [16] * 5 + [10]
    selected = torch.cat([samples[mask[0]] for samples, _, mask in seen])
    assert set(selected.tolist()) == set(np.flatnonzero(clf.clean_mask_))


def test_a_separate_vote_trains_as_two_passes_written_out(table, quick):
    X, y = table
    clf = LECClassifier(TinyConv, **quick | {"M": 1, "max_epochs": 3, "eps": 0.6}, callbacks__linear_decay=None)
    clf.set_params(iterator_train__shuffle=False).fit(X, y)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyConv()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    for epoch in (1, 2, 3):
        learned = set()
        for rows in torch.arange(90).split(16):
            X_batch, y_batch = torch.tensor(X[rows]), torch.tensor(y[rows])
            if epoch > quick["T_w"]:
                before = {name: buffer.clone() for name, buffer in network.named_buffers()}
                with torch.no_grad():
                    losses = F.cross_entropy(network(X_batch), y_batch, reduction="none")
                network.load_state_dict(before, strict=False)  # the vote leaves no trace in batch norm
                kept = losses.argsort(stable=True)[: math.floor(0.4 * len(y_batch) + 1e-9)].sort().values
                X_batch, y_batch, rows = X_batch[kept], y_batch[kept], rows[kept]
            learned |= set(rows.tolist())
            optimizer.zero_grad()
            F.cross_entropy(network(X_batch), y_batch).backward()
            optimizer.step()

    assert set(np.flatnonzero(clf.clean_mask_)) == learned
    for ours, theirs in zip(clf.module_.state_dict().values(), network.state_dict().values(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_a_second_pass_that_is_not_finite_changes_neither_weights_nor_votes(table, quick):
    class Breaks(TinyConv):
        def forward(self, x):
            return super().forward(x) * (math.nan if breaks and torch.is_grad_enabled() else 1.0)

    breaks = False
    clf = LECClassifier(Breaks, **quick | {"eps": 0.6}).fit(*table)
    before, breaks = weights(clf), True
    with pytest.warns(UserWarning, match="the loss is NaN or infinite"):
        clf.set_params(max_epochs=1).partial_fit(*table)

    assert torch.equal(weights(clf), before)
    assert (clf.method_.record.memory["last_miss"] == 4).sum() >= 0.5 * len(table[1])
    assert not clf.clean_mask_.any()


@pytest.mark.parametrize(("method", "networks", "forward"), [("ltec", 1, 1), ("lsec", 1, 5), ("lnec", 5, 5)])
def test_a_separate_vote_costs_only_the_selected_samples_more(method, networks, forward):
    passes = count_passes(method, module=SmallConvolution, eps=0.6)

    assert passes.parameters == networks
    assert passes.backward <= 0.4 * networks
    assert passes.forward == pytest.approx(forward + passes.backward)


def test_a_network_that_is_broken_ends_the_training_with_a_warning(table, quick):
    class Broken(TinyConv):
        def forward(self, x):
            return super().forward(x) * math.nan

    with pytest.warns(UserWarning, match="the loss is NaN or infinite"):
        clf = LECClassifier(Broken, separate_vote=True, **quick | {"T_w": 0, "eps": 0.6}).fit(*table)

    assert not clf.clean_mask_.any()


def test_an_empty_vote_leaves_no_trace(table, quick):
    class Noisy(TinyConv):
        def forward(self, x):
            return super().forward(torch.nn.functional.dropout(x, 0.1, self.training))

    states = []
    look = OnBatch(lambda net, batch: states.append((net.module_.norm.running_mean.clone(), torch.get_rng_state())))
    settings = quick | {"eps": 0.99, "T_w": 0, "max_epochs": 1, "batch_size": 45, "separate_vote": True}
    LECClassifier(Noisy, callbacks=[look], iterator_train__shuffle=False, **settings).fit(*table)

    with torch.random.fork_rng():
        torch.set_rng_state(states[0][1])
        torch.nn.functional.dropout(torch.ones(45, 4), 0.1)  # what the vote on the second batch draws
        expected = torch.get_rng_state()
    assert torch.equal(states[1][1], expected)
    assert torch.equal(states[1][0], torch.zeros(2))


def test_a_method_with_a_mask_for_each_network_is_refused(table, quick):
    class PerNetwork(ConsensusMethod):
        n_networks = 2

        def select(self, batch):
            return Selection(super().select(batch).mask.repeat(2, 1))

    with pytest.raises(ValueError, match="a mask for each network, which separate_vote=True cannot run"):
        LECClassifier(TinyNet, method=PerNetwork, separate_vote=True, **quick | {"eps": 0.4}).fit(*table)
