import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from skorch.callbacks import Callback, LRScheduler

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality, LinearDecay, SelectionHistory
from sklearn_lec.methods import METHODS
from tests._training.interruption import interrupted, settings
from tests.helpers import TinyNet, first_sixty


class RecordSchedule(Callback):
    def initialize(self):
        self.lr_, self.beta1_ = [], []
        return self

    def on_batch_begin(self, net, training=False, **kwargs):
        group = net.optimizer_.param_groups[0]
        self.lr_.append(group["lr"])
        self.beta1_.append(group.get("betas", [None])[0])


def schedule(table, quick, **kwargs):
    record = RecordSchedule()
    settings = quick | {"max_epochs": 10, "batch_size": -1, "lr": 1.0}
    return LECClassifier(TinyNet, **settings | kwargs, callbacks=[record]).fit(*table), record


def test_the_default_schedule_is_the_one_of_the_paper(table, quick):
    _, record = schedule(table, quick)

    weights = np.array([1, 1, 1, 1, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert record.lr_ == pytest.approx(weights)
    assert record.beta1_ == pytest.approx(0.9 * weights + 0.1 * (1 - weights))


def test_the_schedule_can_be_switched_off(table, quick):
    _, record = schedule(table, quick, callbacks__linear_decay=None)

    assert record.lr_ == [1.0] * 10
    assert record.beta1_ == [0.9] * 10


def test_the_schedule_can_be_changed_and_replaced(table, quick):
    _, changed = schedule(table, quick, callbacks__linear_decay__start=0.5, callbacks__linear_decay__lr=0.5)
    _, replaced = schedule(table, quick, callbacks__linear_decay=LinearDecay(start=0.8, beta1=None))

    assert changed.lr_ == pytest.approx([1] * 6 + [0.9, 0.8, 0.7, 0.6])
    assert replaced.lr_ == pytest.approx([1] * 9 + [0.5])
    assert replaced.beta1_ == [0.9] * 10


def test_the_schedule_does_nothing_beside_a_scheduler_of_the_user(table, quick):
    record = RecordSchedule()
    scheduler = LRScheduler(policy="StepLR", step_size=5, gamma=0.1)
    settings = quick | {"max_epochs": 10, "batch_size": -1, "lr": 1.0}
    LECClassifier(TinyNet, **settings, callbacks=[record, scheduler]).fit(*table)

    assert record.lr_ == pytest.approx([1.0] * 5 + [0.1] * 5)
    assert record.beta1_ == [0.9] * 10


def test_an_optimizer_without_betas_only_has_its_learning_rate_lowered(table, quick):
    _, record = schedule(table, quick, optimizer=torch.optim.SGD)

    assert record.lr_[-1] == pytest.approx(1 / 6)


def test_a_second_training_starts_from_the_initial_values(table, quick):
    clf, record = schedule(table, quick)

    clf.partial_fit(*table)

    assert record.lr_[:10] == record.lr_[10:]
    assert record.beta1_[:10] == record.beta1_[10:]


def test_a_learning_rate_set_between_two_trainings_is_used(table, quick):
    clf, record = schedule(table, quick)

    clf.set_params(lr=0.5).partial_fit(*table)

    assert record.lr_[10] == 0.5


def test_a_learning_rate_set_during_a_training_is_used(table, quick):
    class Halve(Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 2:
                net.set_params(lr=0.5)

    record = RecordSchedule()
    settings = quick | {"max_epochs": 10, "batch_size": -1, "lr": 1.0}
    LECClassifier(TinyNet, **settings, callbacks=[record, Halve()]).fit(*table)

    assert record.lr_[:3] == [1.0, 1.0, 0.5]
    assert record.lr_[-1] == pytest.approx(0.5 / 6)


def test_a_learning_rate_set_after_an_interrupted_training_is_used(table, quick):
    class Interrupt(Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 8:
                raise KeyError

    record = RecordSchedule()
    settings = quick | {"max_epochs": 10, "batch_size": -1, "lr": 1.0}
    clf = LECClassifier(TinyNet, **settings, callbacks=[record, Interrupt()])
    with pytest.raises(KeyError):
        clf.fit(*table)

    clf.set_params(lr=0.25).partial_fit(*table)

    assert record.lr_[8] == 0.25


def test_label_quality_ignores_samples_held_out_for_validation(table, quick):
    X, y = table
    y_true = y.copy()
    y_true[60:] = (y[60:] + 1) % 3

    quality = LabelQuality(y_true)
    clf = LECClassifier(TinyNet, **quick, train_split=first_sixty, callbacks=[quality]).fit(X, y)

    assert clf.history[:, "label_precision"] == [1.0] * 3
    assert clf.history[0, "label_recall"] == 1.0


class KeepMasks(Callback):
    def initialize(self):
        self.masks_ = []
        return self

    def on_epoch_end(self, net, **kwargs):
        self.masks_.append(net.clean_mask_)


@pytest.mark.parametrize("method", METHODS)
def test_the_selection_of_each_epoch_is_kept_for_every_method(table, quick, method):
    module = torch.nn.Sequential(torch.nn.Dropout(0.2), TinyNet()) if method == "lsec" else TinyNet
    selection, expected = SelectionHistory(), KeepMasks()
    clf = LECClassifier(module, method=method, **quick, callbacks=[selection, expected]).fit(*table)

    assert np.array_equal(selection.masks_, expected.masks_)
    assert selection.masks_.sum(axis=1).tolist() == clf.history[:, "n_selected"]
    assert selection.epochs_ == [1, 2, 3]


def test_a_resumed_training_has_the_selection_of_all_epochs(table, tmp_path):
    never = SelectionHistory()
    LECClassifier(**settings(), callbacks=[never]).fit(*table)
    resumed = interrupted(table, tmp_path, make=lambda: {"callbacks": [SelectionHistory()]}, **settings())

    (selection,) = (callback for _, callback in resumed.callbacks_ if isinstance(callback, SelectionHistory))
    assert np.array_equal(selection.masks_, never.masks_)
    assert selection.epochs_ == list(range(1, 8))


def test_a_run_may_be_resumed_with_a_record_of_the_selection_that_it_began_without(table, tmp_path, recwarn):
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    LECClassifier(**settings(), checkpoint_dir=tmp_path, callbacks=[SelectionHistory()]).fit(*table)

    assert not [warning for warning in recwarn if "callback" in str(warning.message)]


def test_the_selection_of_each_epoch_is_pickled_and_not_cloned(table, quick):
    clf = LECClassifier(TinyNet, **quick, callbacks=[("selection", SelectionHistory())]).fit(*table)

    again = pickle.loads(pickle.dumps(clf))

    kept, unpickled = dict(clf.callbacks_)["selection"], dict(again.callbacks_)["selection"]
    assert np.array_equal(unpickled.masks_, kept.masks_)
    assert vars(kept)["packed_"][0].dtype == torch.uint8
    assert len(kept.packed_[0]) == 12, "one bit per sample"
    assert dict(clone(clf).initialize().callbacks_)["selection"].masks_.shape == (0, 0)


def test_partial_fit_goes_on_with_the_same_samples_and_begins_anew_with_others(table, quick):
    X, y = table
    selection = SelectionHistory()
    clf = LECClassifier(TinyNet, **quick, callbacks=[selection]).fit(X, y)

    clf.partial_fit(X, y)
    assert selection.epochs_ == [1, 2, 3, 4, 5, 6]

    clf.partial_fit(X[:50], y[:50])
    assert selection.epochs_ == [7, 8, 9]
    assert selection.masks_.shape == (3, 50)

    clf.fit(X, y)
    assert selection.epochs_ == [1, 2, 3]
