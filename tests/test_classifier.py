"""LECClassifier as an estimator: data and labels of every kind, masks that fit the samples, repeatable fits."""

import random
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from skorch.callbacks import Callback
from skorch.dataset import ValidSplit
from skorch.helper import predefined_split
from torch import nn
from torch.utils.data import (
    BatchSampler,
    Dataset,
    SequentialSampler,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
)

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import Conv9
from tests.helpers import TinyNet, weights


class OneByOne(Dataset):
    """A data set of the user's own, one sample at a time."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return self.X[index], self.y[index]


class TwoInputs(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.head = nn.Linear(4, num_classes)

    def forward(self, left, right):
        return self.head(torch.cat([left, right], dim=1))


def as_given(X, y, kind):
    return {
        "ndarray": (X, y),
        "float64": (X.astype(np.float64), y),
        "big endian": (X.astype(">f4"), y.astype(">i8")),
        "long double": (X.astype(np.longdouble), y),
        "object": (X.astype(object), y),
        "list": (X.tolist(), y.tolist()),
        "tensor": (torch.from_numpy(X), torch.from_numpy(y)),
        "frame": (pd.DataFrame(X, columns=list("abcd")), pd.Series(y)),
        "dataset": (OneByOne(X, y), None),
        "tensor dataset": (TensorDataset(torch.from_numpy(X), torch.from_numpy(y)), None),
        "subset": (Subset(OneByOne(X[::-1].copy(), y[::-1].copy()), range(len(X) - 1, -1, -1)), None),
    }[kind]


@pytest.mark.parametrize("method", ["ltec", "ltec-full", "lnec"])
@pytest.mark.parametrize(
    "kind",
    [
        "float64",
        "big endian",
        "long double",
        "object",
        "list",
        "tensor",
        "frame",
        "dataset",
        "tensor dataset",
        "subset",
    ],
)
def test_the_kind_of_container_does_not_change_the_result(table, quick, kind, method):
    X, y = table
    expected = LECClassifier(TinyNet, method=method, **quick).fit(X, y)

    clf = LECClassifier(TinyNet, method=method, **quick).fit(*as_given(X, y, kind))

    assert torch.equal(weights(clf), weights(expected))
    assert np.array_equal(clf.clean_mask_, expected.clean_mask_)
    assert np.array_equal(clf.predict(as_given(X, y, kind)[0]), expected.predict(X))


def test_a_dict_of_arrays_becomes_the_arguments_of_forward(table, quick):
    X, y = table
    parts = {"left": X[:, :2].astype(np.float64), "right": X[:, 2:]}

    clf = LECClassifier(TwoInputs, **quick).fit(parts, y)

    assert clf.predict(parts).shape == (90,)
    assert clf.clean_mask_.shape == (90,)


def test_integer_inputs_reach_an_embedding_as_they_are(quick):
    X = np.arange(60).reshape(-1, 1) % 3
    module = nn.Sequential(nn.Embedding(3, 4), nn.Flatten(), nn.Linear(4, 3))

    clf = LECClassifier(module, **quick | {"max_epochs": 40, "lr": 0.05, "eps": 0}).fit(X, X.ravel())

    assert clf.score(X, X.ravel()) == 1


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (28, 28, 1), (32, 32, 3), (28, 28)])
def test_conv9_finds_channels_and_classes_in_the_data(shape):
    X, y = np.random.RandomState(0).rand(12, *shape), np.arange(12) % 3
    small_conv9 = partial(Conv9, width=1 / 32)

    clf = LECClassifier(module=small_conv9, method="ltec", eps=0.2, max_epochs=2, T_w=1, verbose=0).fit(X, y)

    assert clf.module_.body[1].in_channels == (3 if 3 in shape else 1)
    assert clf.predict_proba(X).shape == (12, 3)


def test_arguments_that_the_user_set_are_not_overwritten(table, quick):
    clf = LECClassifier(TinyNet, classes=[0, 1, 2, 3], module__num_classes=4, **quick).fit(*table)

    assert clf.module_.layers[2].out_features == 4


@pytest.mark.parametrize("method", ["ltec", "lnec"])
@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ant", "bee", "cat"]),
        np.array(["ant", "bee", "cat"], dtype=object),
        np.array([-7, 3, 1000]),
        np.array([0.0, 1.0, 2.0]),
        np.array([0, 1, 2], dtype=np.uint8),
    ],
)
def test_labels_of_any_kind_come_back_from_predict(table, quick, labels, method):
    X, codes = table
    expected = LECClassifier(method=method, **quick, train_split=ValidSplit(3)).fit(X, codes)

    clf = LECClassifier(method=method, **quick, train_split=ValidSplit(3)).fit(X, labels[codes])

    assert np.array_equal(clf.predict(X), labels[expected.predict(X)])
    assert clf.predict(X).dtype == labels.dtype
    assert clf.classes_.tolist() == labels.tolist()
    assert clf.history[:, "valid_acc"] == expected.history[:, "valid_acc"]
    assert np.array_equal(clf.clean_mask_, expected.clean_mask_)


def test_boolean_labels_come_back_from_predict(table, quick):
    X, y = table

    clf = LECClassifier(**quick).fit(X, y == 1)

    assert clf.predict(X).dtype == bool


def test_a_dataset_may_have_words_as_labels(table, quick):
    X, y = table
    words = np.array(["ant", "bee", "cat"])[y].tolist()

    clf = LECClassifier(TinyNet, **quick).fit(OneByOne(X, words))

    assert set(clf.predict(OneByOne(X, words))) <= {"ant", "bee", "cat"}


def with_two_wrong_labels(X, method="ltec", **kwargs):
    """Return a net and data in which only samples 0 and 1 are hard to learn."""
    y = np.arange(len(X)) % 2
    X = X.copy()
    X[:, 0] = 20.0 * y - 10.0
    X[:2, 0] *= -1
    settings = {"max_epochs": 8, "T_w": 3, "M": 2, "eps": 0.2, "batch_size": 10, "verbose": 0, "random_state": 0}
    return LECClassifier(TinyNet, method=method, lr=0.05, **settings | kwargs), X, y


@pytest.mark.parametrize("method", [m for m in METHODS if METHODS[m]().selects_samples])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_masks_line_up_with_the_samples_that_the_user_passed(method, num_workers):
    rng = np.random.RandomState(0)
    clf, X, y = with_two_wrong_labels(rng.normal(size=(40, 3)).astype(np.float32), method)
    if num_workers:
        clf.set_params(iterator_train__num_workers=num_workers, max_epochs=5)

    clf.fit(OneByOne(X, y) if num_workers else X, None if num_workers else y)

    assert not clf.clean_mask_[:2].any()
    assert (clf.clean_score_[:2] < np.median(clf.clean_score_)).all()


@pytest.mark.parametrize("method", METHODS)
def test_samples_held_out_are_false_in_the_mask_and_nan_in_the_score(table, quick, method):
    X, y = table
    held_out = np.zeros(90, dtype=bool)

    def split(dataset, y=None, **kwargs):
        train, valid = ValidSplit(3, stratified=True)(dataset, y, **kwargs)
        held_out[valid.indices] = True
        return train, valid

    clf = LECClassifier(TinyNet, method=method, **quick, train_split=split).fit(X, y)

    assert held_out.sum() == 30
    assert not clf.clean_mask_[held_out].any()
    assert np.array_equal(np.isnan(clf.clean_score_), held_out)
    assert clf.history[-1, "n_selected"] == clf.clean_mask_.sum() <= 60


def test_masks_line_up_through_a_split_of_a_subset():
    rng = np.random.RandomState(0)
    clf, X, y = with_two_wrong_labels(rng.normal(size=(40, 3)).astype(np.float32))
    shuffled = rng.permutation(40)
    dataset = Subset(OneByOne(X[shuffled], y[shuffled]), np.argsort(shuffled).tolist())

    clf.set_params(train_split=ValidSplit(5)).fit(dataset)

    assert not clf.clean_mask_[:2].any()
    assert clf.clean_mask_.sum() > 10


def test_a_validation_set_of_its_own_leaves_every_sample_for_training(table, quick):
    X, y = table

    clf = LECClassifier(TinyNet, **quick, train_split=predefined_split(TensorDataset(torch.ones(5, 4), torch.ones(5))))

    assert not np.isnan(clf.fit(X, y).clean_score_).any()


def test_clean_mask_is_what_the_last_epoch_trained_on(table, quick):
    masks = []

    class RecordMasks(Callback):
        def on_epoch_end(self, net, **kwargs):
            masks.append(net.clean_mask_)

    clf = LECClassifier(TinyNet, **quick | {"eps": 0.4}, callbacks=[RecordMasks()]).fit(*table)

    assert np.array_equal(clf.clean_mask_, masks[-1])
    assert masks[0].all()
    assert np.allclose(clf.clean_score_, (masks[1].astype(float) + masks[2]) / 2)
    assert clf.history[:, "n_selected"] == [mask.sum() for mask in masks]


@pytest.mark.parametrize("method", METHODS)
def test_random_state_repeats_a_fit_bit_for_bit(table, quick, method):
    first = LECClassifier(method=method, **quick).fit(*table)
    torch.rand(7)
    second = LECClassifier(method=method, **quick).fit(*table)
    third = second.fit(*table)

    assert torch.equal(weights(first), weights(second))
    assert torch.equal(weights(first), weights(third))
    assert np.array_equal(first.clean_score_, second.clean_score_)


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_with_random_state_leaves_the_global_random_state_alone(table, quick, method):
    before = torch.get_rng_state(), np.random.get_state()[1], random.getstate()

    LECClassifier(method=method, **quick).fit(*table)

    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])
    assert random.getstate() == before[2]


def test_without_random_state_the_seed_of_torch_counts(table, quick):
    quick["random_state"] = None
    torch.manual_seed(3)
    first = LECClassifier(**quick).fit(*table)
    torch.manual_seed(3)
    second = LECClassifier(**quick).fit(*table)

    assert torch.equal(weights(first), weights(second))


def test_partial_fit_goes_on_where_fit_ended(table, quick):
    whole = LECClassifier(**quick | {"max_epochs": 4}, callbacks__linear_decay=None).fit(*table)
    parts = LECClassifier(**quick | {"max_epochs": 2}, callbacks__linear_decay=None).fit(*table)

    parts.partial_fit(*table)

    assert np.array_equal(parts.clean_score_, whole.clean_score_)
    assert torch.equal(weights(parts), weights(whole))
    assert len(parts.history) == 4


def test_partial_fit_on_other_samples_forgets_the_old_ones(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick).fit(X, y)

    clf.partial_fit(X[:50], y[:50])

    assert clf.clean_mask_.shape == (50,)
    assert clf.method_.epoch == 6


def test_partial_fit_takes_classes_that_come_later(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick)

    clf.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2]).partial_fit(X, y)

    assert clf.predict_proba(X).shape == (90, 3)


@pytest.mark.parametrize("method", METHODS)
def test_a_sampler_of_the_users_replaces_shuffling(table, quick, method):
    X, y = table
    sampler = WeightedRandomSampler(torch.arange(90) < 45, num_samples=200)

    clf = LECClassifier(TinyNet, method=method, **quick, iterator_train__sampler=sampler).fit(X, y)

    assert not clf.clean_mask_[45:].any()
    assert clf.clean_mask_[:45].any()


@pytest.mark.parametrize("method", METHODS)
def test_a_batch_sampler_of_the_users_is_used(table, quick, method):
    batches = BatchSampler(SequentialSampler(range(90)), batch_size=30, drop_last=False)

    clf = LECClassifier(TinyNet, method=method, **quick, iterator_train__batch_sampler=batches).fit(*table)

    assert [len(epoch["batches"]) for epoch in clf.history] == [3, 3, 3]


def test_labels_passed_beside_a_dataset_take_the_place_of_its_own(table, quick):
    X, y = table
    expected = LECClassifier(TinyNet, **quick).fit(X, 2 - y)

    clf = LECClassifier(TinyNet, **quick).fit(OneByOne(X, y), 2 - y)

    assert torch.equal(weights(clf), weights(expected))


def test_a_refit_on_images_forgets_the_columns_of_a_table(table, quick):
    X, y = table
    clf = LECClassifier(**quick).fit(pd.DataFrame(X, columns=list("abcd")), y)

    clf.fit(X.reshape(-1, 1, 2, 2), y)

    assert not hasattr(clf, "n_features_in_")
    assert not hasattr(clf, "feature_names_in_")


@pytest.mark.parametrize("method", ["ltec", "ltec-full"])
def test_a_collate_function_of_the_users_is_called(table, quick, method):
    X, y = table

    def doubled(samples):
        return torch.stack([2 * torch.as_tensor(x) for x, _ in samples]), torch.tensor([label for _, label in samples])

    clf = LECClassifier(TinyNet, method=method, **quick, iterator_train__collate_fn=doubled).fit(X, y)
    expected = LECClassifier(TinyNet, method=method, **quick).fit(2 * X, y)

    assert torch.equal(weights(clf), weights(expected))


def test_tables_tell_their_number_of_features_and_images_do_not(table, quick):
    X, y = table

    assert LECClassifier(TinyNet, **quick).fit(X, y).n_features_in_ == 4
    assert not hasattr(LECClassifier(**quick).fit(X.reshape(-1, 1, 2, 2), y), "n_features_in_")


def test_columns_of_a_frame_are_remembered(table, quick):
    X, y = table

    clf = LECClassifier(TinyNet, **quick).fit(pd.DataFrame(X, columns=list("abcd")), y)

    assert clf.feature_names_in_.tolist() == list("abcd")


def test_there_is_no_mask_before_fit():
    assert not hasattr(LECClassifier(), "clean_mask_")
    assert not hasattr(LECClassifier(), "clean_score_")


def test_probabilities_that_are_not_numbers_are_warned_of(table, quick):
    clf = LECClassifier(**quick).fit(*table)
    X = table[0].copy()
    X[3] = 1e38

    with pytest.warns(UserWarning, match="returns NaN for 1 of 90 samples, the first of them is sample 3"):
        clf.predict(X)
