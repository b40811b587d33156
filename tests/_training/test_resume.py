"""Trainings that go on after an interruption: they end bit for bit as if they had never been interrupted."""

import hashlib
import io
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, EarlyStopping, Freezer, LRScheduler
from skorch.dataset import ValidSplit
from torch.utils.data import TensorDataset, WeightedRandomSampler

from sklearn_lec import LECClassifier
from sklearn_lec._training.resume import CheckpointFolder, digest
from sklearn_lec.methods import METHODS
from tests.helpers import TinyNet, weights

pytestmark = pytest.mark.filterwarnings("ignore:.*has no effect")


class PowerCutError(Exception):
    pass


class PowerCut(Callback):
    """Break off in the middle of an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch

    def on_batch_begin(self, net, batch=None, training=False, **kwargs):
        if training and len(net.history) == self.epoch and len(net.history[-1]["batches"]) == 3:
            raise PowerCutError


def settings(method="ltec", **changes):
    parameters = {"method": method, "eps": 0.3, "max_epochs": 7, "T_w": 2, "M": 2, "T_k": 3, "W": 3}
    return parameters | {"batch_size": 16, "verbose": 0, "random_state": 0} | changes


def interrupted(table, folder, *, epochs=(2, 5), callbacks=(), **parameters):
    """Return a net whose training was broken off in each of `epochs` and resumed each time."""
    for epoch in epochs:
        with pytest.raises(PowerCutError):
            LECClassifier(**parameters, checkpoint_dir=folder, callbacks=[*callbacks, PowerCut(epoch)]).fit(*table)
    return LECClassifier(**parameters, checkpoint_dir=folder, callbacks=list(callbacks)).fit(*table)


def history_of(net):
    epochs = [{name: value for name, value in epoch.items() if name != "dur"} for epoch in net.history]
    return json.dumps(epochs, default=lambda number: number.item())


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_training_ends_as_one_that_was_never_interrupted(table, tmp_path, method):
    expected = LECClassifier(**settings(method)).fit(*table)

    resumed = interrupted(table, tmp_path, **settings(method))

    assert torch.equal(weights(resumed), weights(expected))
    assert np.array_equal(resumed.clean_mask_, expected.clean_mask_)
    assert np.array_equal(resumed.clean_score_, expected.clean_score_)
    assert history_of(resumed) == history_of(expected)


def test_callbacks_with_a_memory_are_resumed_too(table, tmp_path):
    def callbacks():
        return [
            LRScheduler(policy="ReduceLROnPlateau", monitor="train_loss", patience=0, threshold=0.5),
            EarlyStopping(monitor="valid_loss", patience=4, threshold=0.5),
        ]

    parameters = settings(max_epochs=30, lr=0.01, train_split=ValidSplit(3))
    expected = LECClassifier(**parameters, callbacks=callbacks()).fit(*table)

    resumed = interrupted(table, tmp_path, callbacks=callbacks(), epochs=(2, 4), **parameters)

    assert 4 < len(expected.history) < 30
    assert history_of(resumed) == history_of(expected)
    assert torch.equal(weights(resumed), weights(expected))


def test_a_random_split_is_drawn_again_as_it_was(table, tmp_path):
    parameters = settings(train_split=ValidSplit(0.2))
    expected = LECClassifier(**parameters).fit(*table)

    resumed = interrupted(table, tmp_path, **parameters)

    assert np.array_equal(resumed.clean_score_, expected.clean_score_, equal_nan=True)
    assert torch.equal(weights(resumed), weights(expected))


def test_a_split_that_cannot_be_drawn_again_is_refused(table, tmp_path):
    rng = np.random.default_rng()

    def split(dataset, y=None, **kwargs):
        return torch.utils.data.Subset(dataset, rng.permutation(90)[:60].tolist()), None

    with pytest.raises(ValueError, match="train_split holds out other samples"):
        interrupted(table, tmp_path, **settings(train_split=split))


@pytest.mark.parametrize("name", ["generator", "sampler"])
def test_generators_of_the_users_own_are_resumed(table, tmp_path, name):
    def parameters():
        generator = torch.Generator().manual_seed(5)
        sampler = WeightedRandomSampler(np.arange(1, 91), 90, generator=generator)
        return settings(**{f"iterator_train__{name}": generator if name == "generator" else sampler})

    expected = LECClassifier(**parameters()).fit(*table)
    with pytest.raises(PowerCutError):
        LECClassifier(**parameters(), checkpoint_dir=tmp_path, callbacks=[PowerCut(4)]).fit(*table)
    resumed = LECClassifier(**parameters(), checkpoint_dir=tmp_path).fit(*table)

    assert torch.equal(weights(resumed), weights(expected))


def test_frozen_layers_stay_frozen_after_resuming(table, tmp_path):
    expected = LECClassifier(**settings(), callbacks=[Freezer("body.1.*", at=2)]).fit(*table)

    resumed = interrupted(table, tmp_path, callbacks=[Freezer("body.1.*", at=2)], epochs=(4,), **settings())

    assert torch.equal(weights(resumed), weights(expected))


def test_arrays_in_the_history_and_in_callbacks_are_resumed(table, tmp_path):
    class Remember(Callback):
        def initialize(self):
            self.seen_ = np.zeros(3, dtype=np.uint8)
            return self

        def on_epoch_end(self, net, **kwargs):
            self.seen_ = self.seen_ + 1
            net.history.record("seen", self.seen_)

    resumed = interrupted(table, tmp_path, callbacks=[Remember()], **settings())

    assert resumed.history[-1, "seen"].tolist() == [7, 7, 7]
    assert resumed.history[-1, "seen"].dtype == np.uint8


def test_what_cannot_be_saved_is_named_in_the_first_epoch(table, tmp_path):
    class Strange(Callback):
        def on_epoch_end(self, net, **kwargs):
            net.history.record("strange", object())

    with pytest.raises(TypeError, match=r"checkpoint_dir cannot save history.*strange, which is a object"):
        LECClassifier(**settings(), checkpoint_dir=tmp_path, callbacks=[Strange()]).fit(*table)


def test_a_checkpoint_executes_no_code(table, tmp_path):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    buffer = io.BytesIO()
    torch.save({"identity": Bomb()}, buffer)
    content = buffer.getvalue()
    (tmp_path / "epoch-000001.ckpt").write_bytes(hashlib.sha256(content).digest() + content)

    with pytest.raises(pickle.UnpicklingError):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ValidSplit(5), ValidSplit(3)),
        (partial(TinyNet), partial(TinyNet, 4)),
        (torch.nn.Sequential(torch.nn.Dropout(0.1)), torch.nn.Sequential(torch.nn.Dropout(0.6))),
        (torch.nn.CrossEntropyLoss(), torch.nn.CrossEntropyLoss(label_smoothing=0.5)),
        (lambda x: x + 1, lambda x: x + 2),
        ([LRScheduler(gamma=0.1)], [LRScheduler(gamma=0.2)]),
        (TensorDataset(torch.ones(3, 1), torch.ones(3)), TensorDataset(torch.zeros(3, 1), torch.ones(3))),
        (np.ones(3), np.zeros(3)),
        (TinyNet, Path),
    ],
)
def test_what_differs_has_another_digest(one, other):
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


@pytest.mark.parametrize(
    ("one", "same"),
    [
        (np.arange(6).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3))),
        ([torch.ones(3)], [torch.ones(3)]),
        (np.random.RandomState(0), np.random.RandomState(1)),
        (TinyNet(), TinyNet()),
        (WeightedRandomSampler(np.ones(9), 9), WeightedRandomSampler(np.ones(9), 9)),
    ],
)
def test_what_is_the_same_has_the_same_digest(one, same):
    assert digest(one) == digest(same)


@pytest.mark.parametrize("folder", ["", "file"])
def test_a_folder_that_cannot_be_is_refused_before_training(table, tmp_path, folder):
    (tmp_path / "file").write_text("not a folder")

    with pytest.raises((ValueError, OSError), match="checkpoint_dir"):
        LECClassifier(**settings(), checkpoint_dir=folder and tmp_path / folder).fit(*table)


def test_a_finished_run_is_taken_as_it_is(table, tmp_path):
    first = LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    class NoStep(LECClassifier):
        def train_step(self, batch, **fit_params):
            raise AssertionError("there is nothing left to train")

    second = NoStep(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert torch.equal(weights(first), weights(second))
    assert np.array_equal(second.predict(table[0]), first.predict(table[0]))


def test_only_the_last_two_checkpoints_stay_in_the_folder(table, tmp_path):
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert [file.name for file in sorted(tmp_path.iterdir())] == ["epoch-000006.ckpt", "epoch-000007.ckpt"]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"eps": 0.2}, "eps"),
        ({"lr": 0.01, "M": 3}, "M, lr"),
        ({"module": TinyNet}, "module"),
        ({"module__hidden": (8,)}, "module__hidden"),
        ({"max_epochs": 9}, "max_epochs"),
        ({"random_state": 1}, "random_state"),
    ],
)
def test_a_folder_with_a_run_of_other_parameters_is_refused(table, tmp_path, change, names):
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    with pytest.raises(ValueError, match=f"holds a run that differs in {names}. Use another folder"):
        LECClassifier(**settings() | change, checkpoint_dir=tmp_path).fit(*table)


def test_a_folder_with_a_run_on_other_data_is_refused(table, tmp_path):
    X, y = table
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(X, y)

    with pytest.raises(ValueError, match="differs in X"):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(X + 1e-3, y)
    with pytest.raises(ValueError, match="differs in y"):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(X, 2 - y)


def test_a_dataset_can_be_resumed(table, tmp_path):
    data = (TensorDataset(torch.from_numpy(table[0]), torch.from_numpy(table[1])), None)
    expected = LECClassifier(**settings()).fit(*data)

    resumed = interrupted(data, tmp_path, **settings())

    assert torch.equal(weights(resumed), weights(expected))


def damaged(content, kind, share):
    at = int(len(content) * share)
    return content[:at] if kind == "truncated" else content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


@pytest.mark.parametrize("kind", ["truncated", "flipped"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(table, tmp_path, kind):
    expected = LECClassifier(**settings()).fit(*table)
    with pytest.raises(PowerCutError):
        LECClassifier(**settings(), checkpoint_dir=tmp_path, callbacks=[PowerCut(5)]).fit(*table)
    newest = CheckpointFolder(tmp_path).files()[0]
    content = newest.read_bytes()

    for tenth in range(10):
        newest.write_bytes(damaged(content, kind, tenth / 10))
        with pytest.warns(UserWarning, match=f"{newest.name} is damaged; going back to the one before"):
            state = CheckpointFolder(tmp_path).read(map_location="cpu")
        assert len(state["history"]) == 3
    with pytest.warns(UserWarning, match="is damaged"):
        resumed = LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert torch.equal(weights(resumed), weights(expected))


def test_a_folder_with_nothing_but_damaged_checkpoints_is_an_error(table, tmp_path):
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)
    for file in CheckpointFolder(tmp_path).files():
        file.write_bytes(b"nothing")

    with (
        warnings.catch_warnings(),
        pytest.raises(OSError, match=r"all checkpoints in .* are damaged. Delete the folder"),
    ):
        warnings.simplefilter("ignore")
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)


def test_what_a_killed_process_left_half_written_is_not_read(table, tmp_path):
    (tmp_path / "epoch-000009.123.tmp").write_bytes(b"half")

    clf = LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert len(clf.history) == 7


def test_resuming_leaves_the_global_random_state_alone(table, tmp_path):
    with pytest.raises(PowerCutError):
        LECClassifier(**settings(), checkpoint_dir=tmp_path, callbacks=[PowerCut(5)]).fit(*table)
    before = torch.get_rng_state(), random.getstate()

    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]


TRAINING = """
import sys
import warnings

warnings.simplefilter("ignore")
import torch
from sklearn.datasets import load_digits

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS

torch.set_num_threads(1)
X, y = load_digits(return_X_y=True)
for method in METHODS:
    clf = LECClassifier(
        method=method, eps=0.2, max_epochs=30, T_w=3, M=3, W=4, T_k=4, batch_size=64, random_state=0, verbose=0,
        checkpoint_dir=sys.argv[1] + "/" + method,
    ).fit(X[:300] / 16, y[:300])
    result = [*clf.module_.state_dict().values(), torch.tensor(clf.clean_score_), torch.tensor(clf.clean_mask_)]
    result.append(torch.tensor(clf.history[:, "train_loss"], dtype=torch.float64))
    torch.save(result, sys.argv[1] + "/" + method + ".result")
"""


@pytest.mark.slow
def test_a_process_killed_twenty_times_ends_as_one_that_was_never_killed(tmp_path):
    def start(folder):
        folder.mkdir(exist_ok=True)
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.Popen(
            [sys.executable, "-c", TRAINING, str(folder)], env=environment, stdout=subprocess.DEVNULL
        )

    never_killed = start(tmp_path / "never")
    rng, n_kills = random.Random(0), 0
    try:
        while n_kills < 22:
            process = start(tmp_path / "killed")
            checkpoints = set((tmp_path / "killed").rglob("*.ckpt"))
            # Every fifth time at a moment that has nothing to do with checkpoints.
            while n_kills % 5 and process.poll() is None and set((tmp_path / "killed").rglob("*.ckpt")) == checkpoints:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.1) if n_kills % 5 else rng.uniform(0, 4))
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
            process.wait()
            n_kills += 1
        assert start(tmp_path / "killed").wait(timeout=200) == 0
        assert never_killed.wait(timeout=200) == 0
    finally:
        never_killed.kill()
    assert n_kills >= 20

    for method in METHODS:
        left, right = (torch.load(tmp_path / name / f"{method}.result") for name in ("never", "killed"))
        assert all(torch.equal(a, b) for a, b in zip(left, right, strict=True))
