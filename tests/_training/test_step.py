import math
from functools import partial
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import torch
import torch.nn.functional as F
from skorch.callbacks import Callback
from skorch.dataset import Dataset as SkorchDataset
from skorch.dataset import ValidSplit
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import TensorDataset

from benchmarks.complexity import SmallConvolution, count_passes
from sklearn_lec import LECClassifier
from sklearn_lec._training.torch_utils import untracked_batchnorm
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import MLP, Conv9
from tests.helpers import TinyNet, weights

VOTING = ["self-training", "lnec", "lsec", "ltec", "co-teaching"]


class TinyConv(nn.Module):
    """Convolution, batch norm and two linear layers on rows of 4 features."""

    def __init__(self, num_classes=3):
        super().__init__()
        # No bias: before batch norm its gradient is nothing but rounding, which Adam would make much of.
        self.convolution, self.norm = nn.Conv1d(1, 2, 3, padding=1, bias=False), nn.BatchNorm1d(2)
        self.head = nn.Linear(8, num_classes)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.convolution(x.unsqueeze(1)))).flatten(1))


class OnBatch(Callback):
    """Hand each training batch on."""

    def __init__(self, look):
        self.look = look

    def on_batch_end(self, net, batch=None, training=False, **kwargs):
        if training:
            self.look(net, batch)


class Waits(TorchDispatchMode):
    """Count the operations for which the host has to wait for a device."""

    names = ("aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero", "aten::masked_select", "aten::equal")

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function._schema.name in self.names:
            self.seen.append(function._schema.name)
        return function(*args, **kwargs or {})


def as_on_a_device():
    """Let CPU tensors be treated as if the host could not look into them."""
    return patch("sklearn_lec._selection.on_host", lambda tensor: False), patch(
        "sklearn_lec.filtering.on_host", lambda tensor: False
    )


def same_training(one, other):
    return torch.allclose(weights(one), weights(other), atol=1e-6) and np.array_equal(
        one.clean_mask_, other.clean_mask_
    )


@pytest.mark.parametrize("method", VOTING)
def test_a_device_is_waited_for_once_per_step(table, quick, method):
    clf = LECClassifier(TinyNet, method=method, eps=0.2, **quick).fit(*table)
    fetched, tolist = [], torch.Tensor.tolist

    def counted(tensor):
        fetched.append(tensor)
        return tolist(tensor)

    selection, filtering = as_on_a_device()
    batch = next(iter(clf.get_iterator(clf.get_dataset(*table), training=True)))
    batch.samples = torch.arange(16)
    with selection, filtering, patch.object(torch.Tensor, "tolist", counted), Waits() as waits:
        clf.train_step(batch)

    assert len(fetched) == 1
    assert waits.seen == []


@pytest.mark.parametrize("method", METHODS)
def test_the_path_for_devices_trains_as_the_one_for_the_cpu(table, quick, method):
    settings = {"method": method, "eps": 0.2, **quick, "max_epochs": 5}
    on_cpu = LECClassifier(TinyNet, **settings).fit(*table)
    selection, filtering = as_on_a_device()
    with selection, filtering:
        on_device = LECClassifier(TinyNet, **settings).fit(*table)

    assert same_training(on_device, on_cpu)


@pytest.mark.parametrize(
    ("module", "eps", "method", "apart"),
    [
        (TinyConv, 0.6, "ltec", True),
        (TinyConv, 0.6, "lsec", True),
        (TinyConv, 0.6, "lnec", True),
        (TinyConv, 0.2, "ltec", False),
        (TinyConv, 0.6, "co-teaching", False),
        (TinyConv, 0.6, "ltec-full", False),
        (TinyConv, 0.6, "standard", False),
        (TinyNet, 0.6, "ltec", False),
    ],
)
def test_the_vote_has_a_pass_of_its_own_where_that_is_cheaper(table, quick, module, eps, method, apart):
    clf = LECClassifier(module, method=method, eps=eps, **quick).fit(*table)

    assert clf._selects_apart_ == apart


def test_the_vote_is_apart_once_few_rows_are_kept_whatever_eps_is(table, quick):
    X, y = table[0], np.random.RandomState(0).randint(0, 3, 90)
    clf = LECClassifier(TinyConv, eps=0.4, **quick | {"M": math.inf, "max_epochs": 6}).fit(X, y)

    assert clf.history[-2, "n_selected"] < 45
    assert clf._selects_apart_


def test_a_row_that_spoils_its_batch_costs_the_others_no_vote(table, quick):
    X, y = torch.tensor(table[0]), torch.tensor(table[1])
    X[4] = math.nan  # batch norm spreads it over the losses of all 16 rows
    clf = LECClassifier(MLP, eps=0.2, iterator_train__shuffle=False, **quick)

    with pytest.warns(UserWarning, match="at sample"):
        clf.fit(TensorDataset(X, y), None)

    assert clf.method_.record.memory["last_miss"][4] == 3
    assert clf.clean_mask_[:16].sum() > 4


def test_the_vote_is_not_apart_while_warming_up(table, quick):
    clf = LECClassifier(TinyConv, eps=0.6, **quick | {"max_epochs": 1, "T_w": 1})

    with pytest.warns(UserWarning, match="the whole training is warm-up"):
        clf.fit(*table)

    assert not clf._selects_apart_


def test_apart_trains_as_two_passes_written_out(table, quick):
    X, y = table
    clf = LECClassifier(TinyConv, eps=0.6, **quick | {"M": 1, "max_epochs": 3}, callbacks__linear_decay=None)
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

    assert clf._selects_apart_
    assert set(np.flatnonzero(clf.clean_mask_)) == learned
    for ours, theirs in zip(clf.module_.state_dict().values(), network.state_dict().values(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-5)


class OwnInfer(LECClassifier):
    def infer(self, x, **fit_params):
        return super().infer(x, **fit_params)


class OwnLoss(LECClassifier):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        loss = super().get_loss(y_pred, y_true, X, training)
        loss += 100.0
        return loss


class OwnStep(LECClassifier):
    def train_step_single(self, batch, **fit_params):
        return super().train_step_single(batch, **fit_params)


@pytest.mark.parametrize("estimator", [OwnInfer, OwnLoss, OwnStep])
def test_the_vote_is_not_apart_where_users_have_their_own_step(table, quick, estimator):
    clf = estimator(TinyConv, eps=0.6, **quick).fit(*table)

    assert not clf._selects_apart_


def test_the_vote_is_not_apart_where_batches_are_made_by_the_user(table, quick):
    collate = torch.utils.data.default_collate
    clf = LECClassifier(TinyConv, eps=0.6, iterator_train__collate_fn=collate, **quick).fit(*table)

    assert not clf._selects_apart_


def test_a_loss_that_is_changed_in_place_is_reported_as_it_was_changed(table, quick):
    clf = OwnLoss(TinyNet, eps=0.2, **quick).fit(*table)

    assert min(clf.history[:, "train_loss"]) > 100


def test_an_update_that_is_not_finite_is_left_out_although_the_votes_are(table, quick):
    X, y = table
    order = np.argsort(y, kind="stable")  # batches of one class, whose weight is zero: the weighted mean is 0 / 0
    weight = torch.tensor([0.0, 1.0, 1.0])
    clf = LECClassifier(TinyNet, eps=0.2, criterion__weight=weight, iterator_train__shuffle=False, **quick)

    with pytest.warns(UserWarning, match="the loss is NaN or infinite"):
        clf.fit(X[order], y[order])

    assert weights(clf).isfinite().all()


def test_a_second_pass_that_is_not_finite_changes_neither_weights_nor_votes(table, quick):
    class Breaks(TinyConv):
        def forward(self, x):
            return super().forward(x) * (math.nan if breaks and torch.is_grad_enabled() else 1.0)

    breaks = False
    clf = LECClassifier(Breaks, eps=0.6, **quick).fit(*table)
    before, breaks = weights(clf), True
    with pytest.warns(UserWarning, match="the loss is NaN or infinite"):
        clf.set_params(max_epochs=1).partial_fit(*table)

    assert torch.equal(weights(clf), before)
    assert (clf.method_.record.memory["last_miss"] == 4).sum() >= 0.5 * len(table[1])
    assert not clf.clean_mask_.any()


def test_a_network_that_freezes_its_batch_norm_keeps_it_frozen(table, quick):
    class Frozen(TinyConv):
        def train(self, mode=True):
            super().train(mode)
            self.norm.eval()
            return self

    clf = LECClassifier(Frozen, method="standard", **quick).fit(*table)

    assert clf.module_.norm.num_batches_tracked == 0


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, partial(nn.InstanceNorm1d, track_running_stats=True)])
def test_a_vote_moves_no_running_statistics(table, quick, norm):
    class Normed(TinyConv):
        def __init__(self):
            super().__init__()
            self.norm = norm(2)

    clf = LECClassifier(Normed, method="lsec", eps=0.2, **quick).fit(*table)
    before = clf.module_.norm.running_mean.clone()
    with untracked_batchnorm(clf.module_):
        clf.module_.train()(torch.tensor(table[0]))

    assert torch.equal(clf.module_.norm.running_mean, before)


def test_losses_of_many_rows_in_half_precision_do_not_overflow(quick):
    X = np.random.RandomState(0).normal(size=(70_000, 4)).astype(np.float16)
    y = (X[:, 0] > 0).astype(int)

    class Half(nn.Linear):
        def __init__(self):
            super().__init__(4, 2)
            self.half()

    clf = LECClassifier(
        Half, eps=0.5, optimizer=torch.optim.SGD, **quick | {"batch_size": -1, "max_epochs": 2, "T_w": 0}
    ).fit(X, y)

    assert clf.history[:, "n_selected"][0] == 35_000


@pytest.mark.parametrize(("method", "networks", "forward"), [("ltec", 1, 1), ("lsec", 1, 5), ("lnec", 5, 5)])
def test_a_pass_apart_costs_only_the_kept_rows_more(method, networks, forward):
    passes = count_passes(method, module=SmallConvolution, eps=0.6)

    assert passes.parameters == networks
    assert passes.backward <= 0.4 * networks
    assert passes.forward == pytest.approx(forward + passes.backward)


@pytest.mark.parametrize(
    ("method", "networks", "forward", "backward"),
    [
        ("standard", 1, 1, 1),
        ("self-training", 1, 1, 1),
        ("ltec", 1, 1, 1),
        ("lsec", 1, 5, 1),
        ("lnec", 5, 5, 5),
        ("co-teaching", 2, 2, 2),
    ],
)
def test_passes_are_those_of_the_papers_complexity_analysis(method, networks, forward, backward):
    passes = count_passes(method)

    assert (passes.parameters, passes.forward, passes.backward) == (networks, forward, backward)


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


def test_data_on_the_device_is_moved_once_and_let_go_of(table, quick):
    clf = LECClassifier(TinyNet, data_on_device=True, **quick)
    seen = []
    clf.set_params(callbacks=[("look", OnBatch(lambda net, batch: seen.append((net._on_device_[0], batch[0].dtype))))])

    clf.fit(table[0].astype(np.float64), table[1])

    assert len({id(moved) for moved, _ in seen}) == 1
    assert {dtype for _, dtype in seen} == {torch.float32}
    assert clf._on_device_ is None


def test_data_on_the_device_goes_with_subsets_and_a_split(table, quick):
    split = ValidSplit(3)
    moved = LECClassifier(TinyNet, data_on_device=True, train_split=split, **quick).fit(*table)
    by_batch = LECClassifier(TinyNet, train_split=split, **quick).fit(*table)

    assert same_training(moved, by_batch)
    assert moved.history[:, "valid_loss"] == pytest.approx(by_batch.history[:, "valid_loss"], rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_channels_last_images_and_weights_train_with_every_method(method, quick):
    class ChannelsLast(Conv9):
        def __init__(self, in_channels, num_classes):
            super().__init__(in_channels, num_classes, width=1 / 32)
            self.to(memory_format=torch.channels_last)

    X = torch.randn(32, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    y = np.arange(32) % 4
    clf = LECClassifier(ChannelsLast, method=method, eps=0.25, **quick | {"max_epochs": 2})
    clf.fit(X.contiguous(memory_format=torch.channels_last), y)

    assert all(math.isfinite(loss) for loss in clf.history[:, "train_loss"])
    assert clf.clean_mask_.any()
