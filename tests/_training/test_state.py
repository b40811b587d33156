"""What a training goes on with: plain values, schedulers, attributes of modules and callbacks."""

import enum
import functools
from collections import Counter, deque

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from skorch.callbacks import Callback, LRScheduler
from torch import nn
from torch.optim import lr_scheduler

from sklearn_lec import LECClassifier
from sklearn_lec._training.state import TAG, decode, encode
from tests._training.interruption import history_of, interrupted, power_cut, settings
from tests.helpers import TinyNet, weights

keys = st.text() | st.integers() | st.sampled_from(["counter", "ndarray", "dtype", "items", "values", TAG])
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda part: st.lists(part) | st.tuples(part, part) | st.dictionaries(keys, part),
)


@given(plain)
def test_what_is_encoded_is_decoded(value):
    assert decode(encode(value, "")) == value


class Mode(enum.StrEnum):
    FAST = "fast"


@pytest.mark.parametrize("value", [Mode.FAST, enum.IntEnum("Size", "SMALL").SMALL, {1, 2}, deque([1])])
def test_what_loading_would_refuse_is_not_encoded(value):
    with pytest.raises(TypeError, match="cannot save stats, which is a"):
        encode(value, "stats")


def test_counters_stay_counters():
    assert decode(encode({"milestones": Counter([1, 1, 3])}, "")) == {"milestones": Counter([1, 1, 3])}


# --- schedulers ---------------------------------------------------------------------------------------------------


class InTurn(lr_scheduler.SequentialLR):
    """Two schedulers after one another, as a class that `LRScheduler` can make."""

    def __init__(self, optimizer, **kwargs):
        parts = [lr_scheduler.ConstantLR(optimizer), lr_scheduler.MultiStepLR(optimizer, milestones=[1, 1, 3])]
        super().__init__(optimizer, parts, milestones=[2])


class Chained(lr_scheduler.ChainedScheduler):
    def __init__(self, optimizer, **kwargs):
        super().__init__([lr_scheduler.ExponentialLR(optimizer, 0.9), lr_scheduler.MultiStepLR(optimizer, [2, 4])])


class Warmup:
    """A function with a memory."""

    def __init__(self):
        self.n_calls = 0

    def __call__(self, epoch):
        self.n_calls += 1
        return min(1.0, self.n_calls / 5)


SCHEDULERS = {
    "LambdaLR": {"lr_lambda": Warmup()},
    "MultiplicativeLR": {"lr_lambda": lambda epoch: 0.9},
    "StepLR": {"step_size": 2},
    "MultiStepLR": {"milestones": [2, 4, 4]},
    "ConstantLR": {"total_iters": 3},
    "LinearLR": {"total_iters": 3},
    "ExponentialLR": {"gamma": 0.8},
    "SequentialLR": {},
    "CosineAnnealingLR": {"T_max": 7},
    "ChainedScheduler": {},
    "ReduceLROnPlateau": {"monitor": "train_loss", "patience": 0, "threshold": 0.5},
    "CyclicLR": {"base_lr": 0.001, "max_lr": 0.01, "step_size_up": 3, "step_every": "batch", "cycle_momentum": False},
    "CosineAnnealingWarmRestarts": {"T_0": 2},
    "OneCycleLR": {"max_lr": 0.01, "total_steps": 60, "step_every": "batch"},
    "PolynomialLR": {"total_iters": 6},
}
OF_SEVERAL = {"SequentialLR": InTurn, "ChainedScheduler": Chained}


def test_every_scheduler_of_torch_is_tried():
    assert set(lr_scheduler.__all__) - {"LRScheduler"} <= SCHEDULERS.keys()


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedulers_go_on_where_they_were(table, tmp_path, name):
    def make():
        arguments = {key: Warmup() if isinstance(value, Warmup) else value for key, value in SCHEDULERS[name].items()}
        return {
            "callbacks": [LRScheduler(OF_SEVERAL.get(name, getattr(lr_scheduler, name)), event_name="lr", **arguments)]
        }

    parameters = settings("standard", lr=0.01)
    expected = LECClassifier(**parameters, **make()).fit(*table)

    resumed = interrupted(table, tmp_path, make=make, **parameters)

    assert history_of(resumed) == history_of(expected)
    assert torch.equal(weights(resumed), weights(expected))


# --- modules and callbacks ----------------------------------------------------------------------------------------


class Counting(TinyNet):
    """Scales its outputs by what it remembers beside its parameters."""

    def __init__(self):
        super().__init__()
        self.n_calls = 0
        self.seen = []
        self.mean = torch.zeros(())
        self.register_buffer("total", torch.zeros(()), persistent=False)

    def forward(self, x):
        if self.training:
            self.n_calls += 1
            self.seen = [*self.seen, len(x)][-3:]
            self.mean = 0.9 * self.mean + 0.1 * x.mean()
            self.total += 1
        scale = 1 + self.n_calls / 100 + sum(self.seen) / 1000 + self.mean + self.total / 100
        return super().forward(x) * scale


def test_attributes_of_a_module_and_buffers_that_are_not_saved_are_resumed(table, tmp_path):
    expected = LECClassifier(Counting, **settings("standard")).fit(*table)

    resumed = interrupted(table, tmp_path, module=Counting, **settings("standard"))

    assert resumed.module_.n_calls == expected.module_.n_calls > 0
    assert torch.equal(weights(resumed), weights(expected))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.lstm(x.unsqueeze(0))[0].squeeze(0))


def test_a_module_with_a_list_of_its_weights_is_resumed(table, tmp_path):
    expected = LECClassifier(Recurrent, **settings("standard")).fit(*table)

    resumed = interrupted(table, tmp_path, module=Recurrent, **settings("standard"))

    assert torch.equal(weights(resumed), weights(expected))


class Queueing(TinyNet):
    def __init__(self):
        super().__init__()
        self.seen = {1}

    def forward(self, x):
        self.seen.add(len(self.seen) + 1)
        return super().forward(x)


def test_an_attribute_that_changes_and_cannot_be_saved_is_warned_of(table, tmp_path):
    with pytest.warns(UserWarning, match=r"module_.seen changed during an epoch.*cannot save that"):
        LECClassifier(Queueing, **settings(), checkpoint_dir=tmp_path).fit(*table)


def test_a_callback_of_the_users_own_goes_on_with_its_attributes(table, tmp_path):
    class Halve(Callback):
        def __init__(self):
            self.n_epochs = 0

        def on_epoch_begin(self, net, **kwargs):
            self.n_epochs += 1
            net.optimizer_.param_groups[0]["lr"] = 0.01 / self.n_epochs

    parameters = settings(callbacks__linear_decay=None)
    expected = LECClassifier(**parameters, callbacks=[Halve()]).fit(*table)

    resumed = interrupted(table, tmp_path, make=lambda: {"callbacks": [Halve()]}, **parameters)

    assert torch.equal(weights(resumed), weights(expected))


class WithMode(TinyNet):
    def __init__(self):
        super().__init__()
        self.mode = Mode.FAST


def test_a_module_with_an_enumeration_is_resumed(table, tmp_path):
    expected = LECClassifier(WithMode, **settings("standard")).fit(*table)

    resumed = interrupted(table, tmp_path, module=WithMode, **settings("standard"))

    assert torch.equal(weights(resumed), weights(expected))


class Remembering(Callback):
    """Remembers something that cannot be saved."""

    def __init__(self):
        self.losses = deque()

    def on_epoch_end(self, net, **kwargs):
        self.losses.append(net.history[-1, "train_loss"])


def test_an_attribute_of_a_callback_that_changes_and_cannot_be_saved_is_warned_of(table, tmp_path):
    with pytest.warns(UserWarning, match=r"callbacks.Remembering.losses changed during an epoch"):
        LECClassifier(**settings("standard"), callbacks=[Remembering()], checkpoint_dir=tmp_path).fit(*table)


COUNT = {"n": 0}


class CountingGlobally(Callback):
    """Counts in a global value."""

    def on_epoch_end(self, net, **kwargs):
        COUNT["n"] += 1


def test_a_global_value_that_a_callback_counts_in_is_warned_of(table, tmp_path):
    with pytest.warns(UserWarning, match=r"callbacks.CountingGlobally.__class__ changed during an epoch"):
        LECClassifier(**settings("standard"), callbacks=[CountingGlobally()], checkpoint_dir=tmp_path).fit(*table)


def test_a_variable_that_a_function_counts_in_is_warned_of(table, tmp_path):
    n_calls = 0

    def decay(epoch):
        nonlocal n_calls
        n_calls += 1
        return 0.9**n_calls

    with pytest.warns(UserWarning, match=r"callbacks.LRScheduler.lr_lambda changed during an epoch"):
        LECClassifier(
            **settings("standard"), callbacks=[LRScheduler("LambdaLR", lr_lambda=decay)], checkpoint_dir=tmp_path
        ).fit(*table)


def test_a_scheduler_of_a_cached_function_is_resumed(table, tmp_path):
    @functools.lru_cache
    def decay(epoch):
        return 0.9**epoch

    def make():
        return {"callbacks": [LRScheduler("LambdaLR", lr_lambda=decay)]}

    expected = LECClassifier(**settings("standard"), **make()).fit(*table)

    resumed = interrupted(table, tmp_path, make=make, **settings("standard"))

    assert torch.equal(weights(resumed), weights(expected))


class Averaging(Callback):
    """Makes something with a state of its own in the first epoch."""

    def on_epoch_end(self, net, **kwargs):
        self.average = getattr(self, "average", None) or nn.Linear(1, 1)


def test_a_state_that_a_callback_makes_later_is_named_and_no_damage(table, tmp_path):
    parameters = settings("standard", max_epochs=3)
    with power_cut(epoch=2):
        LECClassifier(**parameters, callbacks=[Averaging()], checkpoint_dir=tmp_path).fit(*table)

    with pytest.warns(UserWarning, match=r"callbacks.Averaging.average \(a state that is not there yet"):
        clf = LECClassifier(**parameters, callbacks=[Averaging()], checkpoint_dir=tmp_path).fit(*table)

    assert len(clf.history) == 3


def test_a_callback_with_a_generator_can_be_added(table, tmp_path):
    class Drawing(Callback):
        def __init__(self, seed):
            self.seed, self.rng = seed, np.random.default_rng(seed)

    parameters = settings("standard", max_epochs=3)
    with power_cut(epoch=2):
        LECClassifier(**parameters, checkpoint_dir=tmp_path).fit(*table)

    with pytest.warns(UserWarning, match=r"callbacks added or left out: callbacks.Drawing"):
        clf = LECClassifier(**parameters, callbacks=[Drawing(3)], checkpoint_dir=tmp_path).fit(*table)

    assert len(clf.history) == 3


def test_a_notebook_that_fits_again_with_the_same_callback_goes_on(table, tmp_path):
    class Noting(Callback):
        def __init__(self):
            self.losses = []

        def on_epoch_end(self, net, **kwargs):
            self.losses.append(float(net.history[-1, "train_loss"]))

    clf = LECClassifier(**settings("standard"), callbacks=[Noting()], checkpoint_dir=tmp_path)
    with power_cut(epoch=4):
        clf.fit(*table)
    clf.fit(*table)

    assert len(clf.callbacks[0].losses) == len(clf.history) == 7


@pytest.mark.filterwarnings("error:.*changed during an epoch")
def test_a_compiled_network_is_resumed_without_a_word(table, tmp_path):
    parameters = settings("standard", max_epochs=4, compile=True, compile__backend="eager")
    expected = LECClassifier(TinyNet, **parameters).fit(*table)

    resumed = interrupted(table, tmp_path, epochs=(3,), module=TinyNet, **parameters)

    assert torch.equal(weights(resumed), weights(expected))
