"""Trainings that go on after an interruption: they end bit for bit as if they had never been interrupted."""

import hashlib
import io
import random
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, EarlyStopping, Freezer, LRScheduler
from skorch.dataset import ValidSplit
from torch.utils.data import TensorDataset, WeightedRandomSampler

from sklearn_lec import LECClassifier
from sklearn_lec._training.folder import CheckpointFolder
from sklearn_lec.methods import METHODS
from tests._training.interruption import history_of, interrupted, power_cut, settings
from tests.helpers import TinyNet, weights

pytestmark = pytest.mark.filterwarnings("ignore:.*has no effect")


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

    resumed = interrupted(table, tmp_path, make=lambda: {"callbacks": callbacks()}, epochs=(2, 4), **parameters)

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
    def split(dataset, y=None, **kwargs):
        return torch.utils.data.Subset(dataset, np.random.default_rng().permutation(90)[:60].tolist()), None

    with pytest.raises(ValueError, match="train_split holds out other samples"):
        interrupted(table, tmp_path, **settings(train_split=split))


@pytest.mark.parametrize("name", ["generator", "sampler"])
def test_generators_of_the_users_own_are_resumed(table, tmp_path, name):
    def parameters():
        generator = torch.Generator().manual_seed(5)
        sampler = WeightedRandomSampler(np.arange(1, 91), 90, generator=generator)
        return settings(**{f"iterator_train__{name}": generator if name == "generator" else sampler})

    expected = LECClassifier(**parameters()).fit(*table)
    resumed = interrupted(table, tmp_path, make=parameters)

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

    with pytest.raises(ValueError, match=r"damaged or from another version.*\(UnpicklingError: Weights only"):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert not (tmp_path / "exploded").exists()


def test_a_finished_run_is_taken_as_it_is(table, tmp_path):
    first = LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    with patch.object(LECClassifier, "train_step", side_effect=AssertionError("there is nothing left to train")):
        second = LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

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

    with pytest.raises(ValueError, match=rf"holds a run that differs in {names}\. Use another folder"):
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
    with power_cut(epoch=5):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)
    newest = CheckpointFolder(tmp_path).files()[0]
    content = newest.read_bytes()

    for tenth in range(10):
        newest.write_bytes(damaged(content, kind, tenth / 10))
        with pytest.warns(UserWarning, match=f"{newest.name} is damaged; going back to the one before"):
            state = CheckpointFolder(tmp_path).read()
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
    with power_cut(epoch=5):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)
    before = torch.get_rng_state(), random.getstate()

    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
