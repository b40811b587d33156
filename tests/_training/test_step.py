"""One training step: votes, selected samples, the loss; with four tensors, and within a training."""

import math
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import TensorDataset

from benchmarks.complexity import count_passes
from sklearn_lec import LECClassifier
from sklearn_lec._training.step import FilteredLoss
from sklearn_lec.methods import ELR, LSEC, LTEC, METHODS, LTECFull, Method, Selection, SelfTraining, as_method
from sklearn_lec.modules import MLP, Conv9, NetworkEnsemble
from tests.helpers import TinyConv, TinyNet, same_training, weights

VOTING = ["self-training", "lnec", "lsec", "ltec", "co-teaching"]


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


@contextmanager
def as_on_a_device():
    """Let CPU tensors be treated as if the host could not look into them."""
    with (
        patch("sklearn_lec._selection.on_host", lambda tensor: False),
        patch("sklearn_lec._training.torch_utils.on_host", lambda tensor: False),
    ):
        yield


@pytest.fixture
def four_tensors():
    """Outputs of a network, labels, inputs and sample numbers of a batch of eight; and the network."""
    torch.manual_seed(0)
    network, X = nn.Linear(4, 3), torch.randn(8, 4)
    return network(X), torch.arange(8) % 3, X, torch.arange(8), network


def filtered_loss(method, network, **arguments):
    method.reset(8, n_classes=3)
    method.begin_epoch()
    return FilteredLoss(method, nn.CrossEntropyLoss(), network, **arguments)


def test_a_step_is_the_mean_loss_of_the_selected_samples(four_tensors):
    outputs, labels, X, samples, network = four_tensors
    method = SelfTraining(eps=0.5, T_w=0)

    step = filtered_loss(method, network)(outputs, labels, X, samples=samples)

    losses = F.cross_entropy(outputs, labels, reduction="none")
    smallest = losses.argsort()[:4]
    assert torch.allclose(step.loss, losses[smallest].mean())
    assert set(step.selected[0].nonzero().flatten().tolist()) == set(smallest.tolist())
    assert torch.equal(method.record.current, step.selected[0])


def test_a_selection_that_was_made_before_is_not_put_to_the_vote(four_tensors):
    outputs, labels, X, samples, network = four_tensors
    method, selection = SelfTraining(eps=0.9, T_w=0), Selection(samples < 3)

    step = filtered_loss(method, network)(outputs, labels, X, samples=samples, selection=selection)

    assert torch.allclose(step.loss, F.cross_entropy(outputs[:3], labels[:3]))


def test_nothing_is_remembered_of_a_batch_before_its_losses_are_known_to_be_finite(four_tensors):
    _, labels, X, samples, network = four_tensors
    X[2] = math.nan
    method, named = LTEC(eps=0.0, M=2, T_w=0), []

    step = filtered_loss(method, network, warn_of_bad_samples=named.append)(network(X), labels, X, samples=samples)

    good = samples != 2
    assert [bad.tolist() for bad in named] == [[2]]
    assert method.record.memory["last_miss"].tolist() == [0, 0, 1, 0, 0, 0, 0, 0]
    assert torch.equal(step.selected[0], good)
    assert torch.allclose(step.loss, F.cross_entropy(network(X[good]), labels[good]))


def test_a_running_mean_is_not_written_before_the_losses_are_known_to_be_finite(four_tensors):
    _, labels, X, samples, network = four_tensors
    X[2] = math.nan
    method = ELR()

    filtered_loss(method, network)(network(X), labels, X, samples=samples)

    means = method.record.memory["mean_prediction"]
    assert (means.sum(dim=1) > 0).tolist() == [sample != 2 for sample in range(8)]
    assert torch.allclose(means[samples != 2].sum(dim=1), torch.tensor(0.3))


def test_a_network_that_is_broken_leaves_no_trace_in_the_memory(four_tensors):
    _, labels, X, samples, network = four_tensors
    method = ELR()
    broken = torch.full((8, 3), math.nan, requires_grad=True)

    step = filtered_loss(method, network)(broken, labels, X, samples=samples)

    assert method.record.memory["mean_prediction"].abs().sum() == 0
    assert not step.selected.any()


def test_a_bad_sample_that_is_left_out_does_not_reach_the_gradient(four_tensors):
    _, labels, X, samples, network = four_tensors
    X[2] = math.nan
    loss = filtered_loss(LTECFull(eps=0.5, M=1, T_w=0), network)

    loss(network(X), labels, X, samples=samples, selection=Selection(samples != 2)).loss.backward()

    assert network.weight.grad.isfinite().all()


def test_a_method_that_looks_at_probabilities_alone_is_protected_from_bad_samples(four_tensors):
    class Confident(Method):
        def sample_memory(self, n_classes):
            return {"confidence": torch.tensor(0.0)}

        def select(self, batch):
            confidence = batch.probabilities[0].amax(dim=-1)
            return Selection(confidence > 0.1, {"confidence": confidence})

    _, labels, X, samples, network = four_tensors
    X[2] = math.nan
    method = Confident()

    filtered_loss(method, network)(network(X), labels, X, samples=samples).loss.backward()

    assert network.weight.grad.isfinite().all()
    assert (method.record.memory["confidence"] > 0).tolist() == [sample != 2 for sample in range(8)]


@pytest.mark.parametrize("criterion", [nn.NLLLoss(), nn.CrossEntropyLoss()])
def test_probabilities_are_those_of_skorch_whatever_the_criterion(four_tensors, criterion):
    outputs, labels, X, samples, network = four_tensors
    seen = []

    class Looking(Method):
        def select(self, batch):
            seen.append(batch.probabilities[0])
            return Selection()

        def loss(self, criterion, batch):
            seen.append(batch.probabilities.detach())
            return criterion(batch.outputs, batch.labels)

    method = Looking()
    method.reset(8, n_classes=3)
    shown = outputs.softmax(dim=-1) if isinstance(criterion, nn.NLLLoss) else outputs
    FilteredLoss(method, criterion, network)(shown, labels, X, samples=samples)

    assert all(torch.allclose(probabilities, outputs.softmax(dim=-1)) for probabilities in seen)
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (torch.ones(8, dtype=torch.bool), TypeError, "must return a Selection, got Tensor"),
        (None, TypeError, "must return a Selection, got NoneType"),
        (
            Selection(torch.ones(1, dtype=torch.bool)),
            ValueError,
            r"a mask of shape \(1, 1\) for 8 samples and 1 network",
        ),
        (Selection(torch.ones(3, 8, dtype=torch.bool)), ValueError, r"a mask of shape \(3, 8\)"),
        (Selection(memory={"b": torch.ones(8)}), ValueError, "remembers 'b', but sample_memory declares a"),
        (Selection(memory={"a": torch.ones(1, 8)}), ValueError, r"of shape \(1, 8\), but sample_memory declares"),
        (Selection(memory={"a": torch.rand(8)}), ValueError, "as torch.float32 .* declares torch.int64"),
    ],
)
def test_a_decision_that_makes_no_sense_is_named(four_tensors, answer, error, message):
    outputs, labels, X, samples, network = four_tensors

    class Wrong(Method):
        def sample_memory(self, n_classes):
            return {"a": 0}

        def select(self, batch):
            return answer

    with pytest.raises(error, match=message):
        filtered_loss(Wrong(), network)(outputs, labels, X, samples=samples)


@pytest.mark.parametrize("answer", [None, 1.0, torch.ones(8)])
def test_a_loss_that_is_no_scalar_is_named(four_tensors, answer):
    outputs, labels, X, samples, network = four_tensors

    class Wrong(Method):
        def loss(self, criterion, batch):
            return answer

    with pytest.raises(TypeError, match=r"Wrong\.loss must return a scalar tensor"):
        filtered_loss(Wrong(), network)(outputs, labels, X, samples=samples)


def test_a_selection_that_was_made_before_stays_when_bad_samples_are_left_out(four_tensors):
    _, labels, X, samples, network = four_tensors
    X[2] = math.nan
    loss = filtered_loss(SelfTraining(eps=0.9, T_w=0), network)

    step = loss(network(X), labels, X, samples=samples, selection=Selection(samples < 4))

    assert step.selected[0].tolist() == [True, True, False, True, False, False, False, False]
    assert torch.allclose(step.loss, F.cross_entropy(network(X[[0, 1, 3]]), labels[[0, 1, 3]]))


def test_a_batch_from_which_nothing_can_be_learned_leads_back_to_no_parameter(four_tensors):
    outputs, labels, X, samples, network = four_tensors

    step = filtered_loss(SelfTraining(eps=0.99, T_w=0), network)(outputs, labels, X, samples=samples)
    step.loss.backward()

    assert network.weight.grad is None
    assert torch.allclose(step.loss, F.cross_entropy(outputs, labels))


def test_a_vote_in_a_pass_of_its_own_leaves_out_bad_samples_and_lets_the_others_vote(four_tensors):
    _, labels, X, samples, network = four_tensors
    X[2] = math.nan
    method = LTEC(eps=0.5, M=1, T_w=0)

    mask, memory, outputs = filtered_loss(method, network).select(X, labels, samples)

    good = samples[samples != 2]
    losses = F.cross_entropy(outputs[good], labels[good], reduction="none")
    assert set(mask.nonzero().flatten().tolist()) == set(good[losses.argsort()[:3]].tolist())
    assert not outputs.requires_grad
    assert memory["last_miss"].tolist() == [0, 0, 0]
    assert method.record.memory["last_miss"].tolist() == [0 if selected else 1 for selected in mask]


@pytest.mark.parametrize("method", VOTING)
def test_a_device_is_waited_for_once_per_step(four_tensors, method):
    _, labels, X, samples, _ = four_tensors
    method = as_method(method).set_params(eps=0.2)
    method.set_params(**{name: 1 for name, value in method.get_params().items() if value is None})
    method.epoch = 5
    networks = [nn.Linear(4, 3) for _ in range(method.n_networks)]
    network = networks[0] if len(networks) == 1 else NetworkEnsemble(networks)
    loss, outputs, fetched, tolist = filtered_loss(method, network), network(X), [], torch.Tensor.tolist

    def counted(tensor):
        fetched.append(tensor)
        return tolist(tensor)

    with as_on_a_device(), patch.object(torch.Tensor, "tolist", counted), Waits() as waits:
        loss(outputs, labels, X, samples=samples)

    assert len(fetched) == 1
    assert waits.seen == []


@pytest.mark.parametrize("method", METHODS)
def test_the_path_for_devices_trains_as_the_one_for_the_cpu(table, quick, method):
    settings = {"method": method, "eps": 0.2, **quick, "max_epochs": 5}
    on_cpu = LECClassifier(TinyNet, **settings).fit(*table)
    with as_on_a_device():
        on_device = LECClassifier(TinyNet, **settings).fit(*table)

    assert same_training(on_device, on_cpu)


def test_a_sample_that_spoils_its_batch_costs_the_others_no_vote(table, quick):
    X, y = torch.tensor(table[0]), torch.tensor(table[1])
    X[4] = math.nan  # batch norm spreads it over the losses of all 16 rows
    clf = LECClassifier(MLP, iterator_train__shuffle=False, **quick)

    with pytest.warns(UserWarning, match="at sample"):
        clf.fit(TensorDataset(X, y), None)

    assert clf.method_.record.memory["last_miss"][4] == 3
    assert clf.clean_mask_[:16].sum() > 4


def test_an_update_that_is_not_finite_is_left_out_although_the_votes_are(table, quick):
    X, y = table
    order = np.argsort(y, kind="stable")  # batches of one class, whose weight is zero: the weighted mean is 0 / 0
    weight = torch.tensor([0.0, 1.0, 1.0])
    clf = LECClassifier(TinyNet, criterion__weight=weight, iterator_train__shuffle=False, **quick)

    with pytest.warns(UserWarning, match="the loss is NaN or infinite"):
        clf.fit(X[order], y[order])

    assert weights(clf).isfinite().all()


@pytest.mark.parametrize("method", ["lsec", "ltec"])
@pytest.mark.parametrize("batch_size", [16, 89])
def test_a_network_that_freezes_its_batch_norm_keeps_it_frozen(table, quick, method, batch_size):
    class Frozen(TinyConv):
        def train(self, mode=True):
            super().train(mode)
            self.norm.eval()
            return self

    # Further votes, separate votes and a last batch of one sample all switch batch norm for a moment.
    clf = LECClassifier(Frozen, method=method, **quick | {"batch_size": batch_size, "eps": 0.6}).fit(*table)

    assert clf.module_.norm.num_batches_tracked == 0
    assert torch.equal(clf.module_.norm.running_var, torch.ones(2))
    assert not clf.module_.norm.training


@pytest.mark.parametrize("norm", [nn.BatchNorm1d, partial(nn.InstanceNorm1d, track_running_stats=True)])
@pytest.mark.parametrize("votes", ["further", "separate"])
def test_a_vote_moves_no_running_statistics(four_tensors, norm, votes):
    class Normed(TinyConv):
        def __init__(self):
            super().__init__()
            self.norm = norm(2)

    _, labels, X, samples, _ = four_tensors
    network = Normed().train()
    loss = filtered_loss(LSEC(eps=0.2, M=3, T_w=0), network)
    outputs = network(X)
    before = network.norm.running_mean.clone()

    if votes == "further":
        loss(outputs, labels, X, samples=samples)
    else:
        loss.select(X, labels, samples)

    assert torch.equal(network.norm.running_mean, before)
    assert not torch.equal(before, torch.zeros(2))


def test_losses_of_many_samples_in_half_precision_do_not_overflow(quick):
    X = np.random.RandomState(0).normal(size=(70_000, 4)).astype(np.float16)
    y = (X[:, 0] > 0).astype(int)

    class Half(nn.Linear):
        def __init__(self):
            super().__init__(4, 2)
            self.half()

    clf = LECClassifier(
        Half, optimizer=torch.optim.SGD, **quick | {"batch_size": -1, "max_epochs": 2, "T_w": 0, "eps": 0.5}
    ).fit(X, y)

    assert clf.history[:, "n_selected"][0] == 35_000


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


@pytest.mark.parametrize("method", METHODS)
def test_channels_last_images_and_weights_train_with_every_method(method, quick):
    class ChannelsLast(Conv9):
        def __init__(self, in_channels, num_classes):
            super().__init__(in_channels, num_classes, width=1 / 32)
            self.to(memory_format=torch.channels_last)

    X = torch.randn(32, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    y = np.arange(32) % 4
    clf = LECClassifier(ChannelsLast, method=method, **quick | {"max_epochs": 2, "eps": 0.25})
    clf.fit(X.contiguous(memory_format=torch.channels_last), y)

    assert all(math.isfinite(loss) for loss in clf.history[:, "train_loss"])
    assert clf.clean_mask_.any()
