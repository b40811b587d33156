"""Whether the run in a folder is the one asked for: taken, refused, or taken with a word on what is not certain."""

import hashlib
import io
import pickle
import sys
from unittest.mock import patch

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, EpochScoring, PrintLog
from torch import nn
from torch.utils.data import Dataset, Subset

import sklearn_lec
from sklearn_lec import LECClassifier
from sklearn_lec._training.folder import CheckpointFolder
from tests._training.interruption import interrupted, power_cut, settings
from tests.helpers import TinyNet, weights

RATES = {}
SHORT = settings("standard", max_epochs=2)


class SetLR(Callback):
    def __init__(self, lr):
        self.lr = lr

    def on_epoch_begin(self, net, **kwargs):
        net.optimizer_.param_groups[0]["lr"] = self.lr


class AddToOutputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x, shift=0.0):
        return self.layer(x) + shift


def split_at(n):
    """A split with all that a function may contain."""
    keep = {"a", "b"}

    def split(dataset, y=None, **kwargs):
        positions = [i for i in range(len(dataset)) if i < n or i in {"wood", "stone", 89}]
        parts = (position for position in positions if (lambda p: p >= 0)(position) and keep)
        return Subset(dataset, list(parts)), None

    return split


def network(activation):
    return lambda: nn.Sequential(nn.Linear(4, 8), activation(), nn.Linear(8, 3))


def edited(hidden):
    class Edited(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(4, hidden), nn.Linear(hidden, 3))

        def forward(self, x):
            return self.layers(x) * hidden

    return Edited


def subclass(factor):
    class Own(LECClassifier):
        def get_loss(self, *args, **kwargs):
            return factor * super().get_loss(*args, **kwargs)

    return Own


def instance(seed):
    torch.manual_seed(seed)
    return TinyNet()


def test_a_run_with_functions_among_its_parameters_is_resumed(table, tmp_path):
    def make():
        return {"module": network(nn.ReLU), "train_split": split_at(60)}

    expected = LECClassifier(**settings(), **make()).fit(*table)

    resumed = interrupted(table, tmp_path, make=make, **settings())

    assert torch.equal(weights(resumed), weights(expected))


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("module", lambda: network(nn.ReLU), lambda: network(nn.Tanh)),
        ("module", lambda: edited(8), lambda: edited(9)),
        ("module", lambda: instance(0), lambda: instance(1)),
        ("train_split", lambda: split_at(60), lambda: split_at(61)),
        ("iterator_train__generator", *[lambda s=seed: torch.Generator().manual_seed(s) for seed in (0, 1)]),
    ],
)
def test_another_run_is_refused(table, tmp_path, name, one, other):
    first = LECClassifier(**SHORT | {name: one()}, checkpoint_dir=tmp_path).fit(*table)

    with pytest.raises(ValueError, match=f"holds a run that differs in {name}"):
        LECClassifier(**SHORT | {name: other()}, checkpoint_dir=tmp_path).fit(*table)
    again = LECClassifier(**SHORT | {name: one()}, checkpoint_dir=tmp_path).fit(*table)

    assert torch.equal(weights(first), weights(again))


def test_the_weights_of_an_instance_are_named_when_they_may_be_the_reason(table, tmp_path):
    LECClassifier(instance(0), **SHORT, checkpoint_dir=tmp_path).fit(*table)

    with pytest.raises(ValueError, match=r"differs in module.*call torch.manual_seed before it is made"):
        LECClassifier(instance(1), **SHORT, checkpoint_dir=tmp_path).fit(*table)


def test_other_values_of_fit_params_are_refused(table, tmp_path):
    clf = LECClassifier(AddToOutputs, **SHORT, checkpoint_dir=tmp_path)
    clf.fit(*table, shift=1.0)

    with pytest.raises(ValueError, match=r"differs in fit_params\.shift"):
        clf.fit(*table, shift=2.0)
    with pytest.raises(ValueError, match=r"differs in fit_params\.shift"):
        clf.fit(*table)


def test_an_estimator_with_other_code_is_refused(table, tmp_path):
    subclass(1)(**SHORT, checkpoint_dir=tmp_path).fit(*table)

    with pytest.raises(ValueError, match="differs in the class of the estimator"):
        subclass(2)(**SHORT, checkpoint_dir=tmp_path).fit(*table)
    subclass(1)(**SHORT, checkpoint_dir=tmp_path).fit(*table)


def test_a_callback_with_other_settings_is_refused(table, tmp_path):
    LECClassifier(**SHORT, checkpoint_dir=tmp_path, callbacks=[SetLR(0.1)]).fit(*table)

    with pytest.raises(ValueError, match=r"differs in callbacks\.SetLR"):
        LECClassifier(**SHORT, checkpoint_dir=tmp_path, callbacks=[SetLR(0.2)]).fit(*table)


def test_a_callback_that_is_added_or_left_out_is_warned_of(table, tmp_path):
    LECClassifier(**SHORT, checkpoint_dir=tmp_path, callbacks=[SetLR(0.1)]).fit(*table)

    with pytest.warns(UserWarning, match=r"callbacks added or left out: callbacks.EpochScoring, callbacks.SetLR"):
        LECClassifier(**SHORT, checkpoint_dir=tmp_path, callbacks=[EpochScoring("accuracy")]).fit(*table)


def test_the_refusal_says_where_the_difference_is(table, tmp_path):
    def fit(**values):
        class Slowing(Callback):
            def on_epoch_begin(self, net, **kwargs):
                net.optimizer_.param_groups[0]["lr"] = RATES["slow"]

        RATES.update(values)
        return LECClassifier(**SHORT, checkpoint_dir=tmp_path, callbacks=[Slowing()]).fit(*table)

    fit(slow=0.1, fast=1.0)

    with pytest.raises(ValueError, match=r"callbacks.Slowing \(at callbacks.Slowing.on_epoch_begin: RATES\['slow'\]\)"):
        fit(slow=0.2)


def test_callbacks_that_only_look_on_make_no_difference(table, tmp_path, recwarn):
    LECClassifier(**SHORT, checkpoint_dir=tmp_path, callbacks=[("log", PrintLog(sink=str))]).fit(*table)

    LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(*table)

    assert not [warning for warning in recwarn if "checkpoint_dir" in str(warning.message)]


def test_what_cannot_be_compared_is_named_when_a_run_is_resumed(table, tmp_path):
    def make(lines):
        return {"train_split": lambda dataset, y=None, **kwargs: (dataset, lines and None)}

    LECClassifier(**SHORT, **make(x for x in ()), checkpoint_dir=tmp_path).fit(*table)

    with pytest.warns(UserWarning, match=r"not certain that these are the same as before: train_split: lines \(a gene"):
        LECClassifier(**SHORT, **make(x for x in ()), checkpoint_dir=tmp_path).fit(*table)


def test_a_data_set_that_loads_its_samples_is_named_when_a_run_is_resumed(table, tmp_path):
    class FromElsewhere(Dataset):
        def __len__(self):
            return 90

        def __getitem__(self, at):
            return table[0][at], table[1][at]

    LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(FromElsewhere(), None)

    with pytest.warns(UserWarning, match=r"not certain.*X \(a FromElsewhere that loads its samples\)"):
        LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(FromElsewhere(), None)


def test_a_generator_that_begins_elsewhere_is_named_when_a_run_is_resumed(table, tmp_path):
    def fit(seed):
        rng = np.random.RandomState(seed)
        split = lambda dataset, y=None, **kwargs: (Subset(dataset, rng.permutation(90)[:60]), None)  # noqa: E731
        return LECClassifier(**SHORT, train_split=split, checkpoint_dir=tmp_path).fit(*table)

    first = fit(0)

    with pytest.warns(UserWarning, match=r"train_split: rng \(a generator that has been drawn from, or has"):
        second = fit(1)
    assert torch.equal(weights(first), weights(second))


def test_another_version_is_warned_of(table, tmp_path):
    LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(*table)

    with (
        patch.object(sklearn_lec, "__version__", "99"),
        patch.object(torch, "__version__", "98"),
        patch.object(np, "__version__", "97"),
        pytest.warns(UserWarning, match=r"numpy .* \(now 97\), sklearn_lec .* \(now 99\), torch .* \(now 98\)"),
    ):
        LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(*table)


def test_functions_of_another_version_of_python_are_refused_with_the_reason(table, tmp_path):
    LECClassifier(network(nn.ReLU), **SHORT, checkpoint_dir=tmp_path).fit(*table)

    with (
        patch("platform.python_version_tuple", return_value=("3", "99", "0")),
        pytest.raises(ValueError, match=f"It was begun with Python {sys.version_info[0]}.{sys.version_info[1]}, where"),
    ):
        LECClassifier(network(nn.Tanh), **SHORT, checkpoint_dir=tmp_path).fit(*table)


# --- files that are intact, but not what they should be -------------------------------------------------------------


def rewrite(folder, change):
    """Change the state in the newest checkpoint, and give it a valid hash."""
    file = CheckpointFolder(folder).files()[0]
    state = torch.load(io.BytesIO(file.read_bytes()[32:]), weights_only=True)
    state = change(state) or state
    buffer = io.BytesIO()
    torch.save(state, buffer)
    file.write_bytes(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())


PARTS = ["format", "huge", "identity", "paths", "versions", "modules", "optimizers", "method", "history"]
PARTS += ["callbacks", "before", "now"]


def without_part(name):
    return lambda state: state.pop(name) and None


def with_list(name):
    return lambda state: state.update({name: [1, 2]})


def shortened(state):
    state["method"]["state"]["record"]["memory"] = {"streak": torch.zeros(5)}


def with_short_counts(state):
    state["method"]["state"]["record"]["counts"] = torch.zeros(5, dtype=torch.int16)


def with_few_huge(state):
    state["huge"] = {0: {"largest": [1.0, 2.0]}}


def with_other_random_state(state):
    state["now"][0]["torch"] = torch.zeros(5, dtype=torch.uint8)


DAMAGE = {f"without {name}": without_part(name) for name in PARTS}
DAMAGE |= {f"a list for {name}": with_list(name) for name in PARTS}
DAMAGE |= {
    "short memory": shortened,
    "short counts": with_short_counts,
    "few huge": with_few_huge,
    "short random state": with_other_random_state,
}
DAMAGE |= {"a list for all": lambda state: [1, 2], "a number for all": lambda state: 3}


@pytest.mark.parametrize("content", [b"", b"not a file of torch's", pickle.dumps({"format": 2})])
def test_a_file_that_torch_cannot_read_is_damaged_or_from_another_version(table, tmp_path, content):
    LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(*table)
    CheckpointFolder(tmp_path).files()[0].write_bytes(hashlib.sha256(content).digest() + content)

    with pytest.raises(ValueError, match="is damaged or from another version of sklearn-lec"):
        LECClassifier(**SHORT, checkpoint_dir=tmp_path).fit(*table)


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_file_of_another_structure_is_damaged_or_from_another_version(table, tmp_path, kind):
    with power_cut(epoch=3):
        LECClassifier(**settings(max_epochs=4), checkpoint_dir=tmp_path).fit(*table)
    rewrite(tmp_path, DAMAGE[kind])

    with pytest.raises(ValueError, match="is damaged or from another version of sklearn-lec"):
        LECClassifier(**settings(max_epochs=4), checkpoint_dir=tmp_path).fit(*table)
