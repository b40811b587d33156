"""Everything that a skorch user relies on, on every method."""

import pickle

import joblib
import numpy as np
import pytest
import torch
from accelerate import Accelerator
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch.callbacks import (
    Checkpoint,
    EarlyStopping,
    EpochScoring,
    GradientNormClipping,
    LoadInitState,
    LRScheduler,
    ProgressBar,
)
from skorch.dataset import ValidSplit
from skorch.hf import AccelerateMixin

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import MLP
from tests.helpers import TinyNet, weights

every_method = pytest.mark.parametrize("method", METHODS)


@every_method
def test_epoch_scoring_works_on_training_and_on_validation_samples(table, quick, method):
    callbacks = [
        EpochScoring("accuracy", name="train_acc", on_train=True, lower_is_better=False),
        EpochScoring("neg_log_loss", name="valid_log_loss", lower_is_better=False),
        EpochScoring("accuracy", name="valid_acc_again", use_caching=False, lower_is_better=False),
    ]

    clf = LECClassifier(method=method, **quick | {"eps": 0.4}, train_split=ValidSplit(3), callbacks=callbacks).fit(
        *table
    )

    for name in ("train_acc", "valid_acc", "valid_acc_again"):
        assert all(0 <= score <= 1 for score in clf.history[:, name])
    assert clf.history[:, "valid_acc"] == clf.history[:, "valid_acc_again"]
    if clf.method_.n_networks == 1:
        assert np.allclose(-np.array(clf.history[:, "valid_log_loss"]), clf.history[:, "valid_loss"])


@every_method
def test_checkpoint_brings_back_the_best_epoch(table, quick, method, tmp_path):
    checkpoint = Checkpoint(dirname=tmp_path, f_method="method.pt", monitor="valid_loss_best", load_best=True)
    settings = quick | {"max_epochs": 5}
    settings |= {"train_split": ValidSplit(3), "callbacks": [checkpoint]}

    clf = LECClassifier(method=method, **settings).fit(*table)
    loaded = LECClassifier(method=method, module__in_features=4, module__num_classes=3, **settings)
    loaded.initialize().load_params(checkpoint=checkpoint)

    assert torch.equal(weights(loaded), weights(clf))
    assert np.array_equal(loaded.clean_mask_, clf.clean_mask_)
    assert np.array_equal(loaded.clean_score_, clf.clean_score_, equal_nan=True)


@every_method
def test_save_params_carries_the_state_of_the_method(table, quick, method, tmp_path):
    clf = LECClassifier(method=method, **quick).fit(*table)
    files = {f"f_{part}": tmp_path / part for part in ("params", "optimizer", "history", "method")}
    clf.save_params(**files)

    other = LECClassifier(method=method, module__in_features=4, module__num_classes=3, **quick).initialize()
    other.load_params(**files)

    assert np.array_equal(other.predict(table[0]), clf.predict(table[0]))
    assert np.array_equal(other.clean_score_, clf.clean_score_)
    assert other.method_.epoch == 3


@every_method
def test_a_training_goes_on_from_saved_parameters_with_the_same_record(table, quick, method, tmp_path):
    quick |= {"random_state": None, "max_epochs": 4, "callbacks__linear_decay": None}
    clf = LECClassifier(TinyNet, method=method, iterator_train__shuffle=False, **quick | {"eps": 0.3}).fit(*table)
    files = {f"f_{part}": tmp_path / part for part in ("params", "optimizer", "history", "method")}
    clf.save_params(**files)
    other = LECClassifier(
        TinyNet, method=method, iterator_train__shuffle=False, module__num_classes=3, **quick | {"eps": 0.3}
    ).initialize()
    other.load_params(**files)

    clf.partial_fit(*table)
    other.partial_fit(*table)

    assert torch.equal(weights(other), weights(clf))
    assert np.array_equal(other.clean_score_, clf.clean_score_)
    assert other.history[:, "n_selected"] == clf.history[:, "n_selected"]


def test_a_checkpoint_without_the_state_of_the_method_does_not_restart_the_warm_up(table, quick, tmp_path):
    settings = quick | {"T_w": 2, "max_epochs": 4}
    LECClassifier(TinyNet, **settings | {"eps": 0.4}, callbacks=[Checkpoint(monitor=None, dirname=tmp_path)]).fit(
        *table
    )
    checkpoint = Checkpoint(monitor=None, dirname=tmp_path)

    clf = LECClassifier(TinyNet, **settings | {"eps": 0.4}, callbacks=[checkpoint, LoadInitState(checkpoint)]).fit(
        *table
    )

    assert clf.method_.epoch == 8
    assert max(clf.history[4:, "n_selected"]) < 90


def test_a_net_pickled_during_training_is_complete_without_the_data(table, quick, tmp_path):
    X, y = table
    wide = np.hstack([X, np.zeros((90, 3000), dtype=np.float32)])
    checkpoint = Checkpoint(monitor=None, dirname=tmp_path, f_pickle="net.pkl")
    clf = LECClassifier(TinyNet, **quick | {"eps": 0.4}, callbacks=[checkpoint]).fit(wide, y)

    file = tmp_path / "net.pkl"
    loaded = pickle.loads(file.read_bytes())
    loaded.set_params(callbacks=None)
    before = torch.get_rng_state()
    first, second = (weights(loaded.fit(wide, y)).clone() for _ in range(2))

    assert file.stat().st_size < 4 * weights(clf).numel() * 4 + wide.nbytes / 10
    assert torch.equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


@every_method
def test_pickle_carries_everything(table, quick, method):
    clf = LECClassifier(method=method, **quick).fit(*table)

    copy = pickle.loads(pickle.dumps(clf))

    assert np.array_equal(copy.predict_proba(table[0]), clf.predict_proba(table[0]))
    assert np.array_equal(copy.clean_mask_, clf.clean_mask_)
    assert torch.equal(weights(copy.partial_fit(*table)), weights(clf.partial_fit(*table)))


@every_method
def test_a_half_trained_net_goes_on_after_joblib(table, quick, method, tmp_path):
    clf = LECClassifier(method=method, **quick | {"max_epochs": 2}).partial_fit(*table)
    joblib.dump(clf, tmp_path / "net.joblib")

    copy = joblib.load(tmp_path / "net.joblib").partial_fit(*table)

    assert torch.equal(weights(copy), weights(clf.partial_fit(*table)))
    assert np.array_equal(copy.clean_score_, clf.clean_score_)


@pytest.mark.parametrize("method", ["ltec", "lnec"])
def test_tensors_of_a_net_are_brought_to_the_device_at_hand(table, quick, method):
    clf = LECClassifier(method=method, **quick).fit(*table)
    state = clf.__getstate__()

    # What torch would leave on a GPU that is not there must be in the part that skorch maps to another device.
    outside = {name: value for name, value in state.items() if isinstance(value, (torch.Tensor, torch.nn.Module))}
    assert not outside
    assert "method_" not in state
    assert "method_" in clf.cuda_dependent_attributes_


@every_method
def test_a_net_trimmed_for_prediction_predicts_as_before(table, quick, method):
    X, y = table
    clf = LECClassifier(method=method, **quick).fit(X, y)
    before, mask = clf.predict_proba(X), clf.clean_mask_

    clf.trim_for_prediction()
    loaded = pickle.loads(pickle.dumps(clf))

    for net in (clf, loaded):
        assert np.array_equal(net.predict_proba(X), before)
        assert np.array_equal(net.clean_mask_, mask)


def test_the_representation_of_a_fitted_net_shows_its_network_and_the_method(table, quick):
    clf = LECClassifier(TinyNet, **quick).fit(*table)

    header, method, eps, voters, warmup, *lines, _ = repr(clf).splitlines()

    assert header == "<class 'sklearn_lec.classifier.LECClassifier'>[initialized]("
    assert [method, eps, voters, warmup] == ["  method='ltec',", "  eps=0.2,", "  M=2,", "  T_w=1,"]
    assert "\n".join(lines) == "  module_=" + str(clf.module_).replace("\n", "\n  ") + ","


def test_pickle_does_not_carry_the_training_data(quick):
    X, y = np.ones((500, 2000), dtype=np.float32), np.arange(500) % 3

    clf = LECClassifier(TinyNet, **quick).fit(X, y)

    parameters_and_moments = 3 * sum(p.nbytes for p in clf.module_.parameters())
    assert len(pickle.dumps(clf)) < parameters_and_moments + X.nbytes / 10


@every_method
def test_early_stopping_ends_a_training_with_clipped_gradients(table, quick, method):
    callbacks = [EarlyStopping(monitor="valid_loss", patience=2, threshold=10.0), GradientNormClipping(0.1)]
    quick["max_epochs"] = 50

    clf = LECClassifier(method=method, **quick, train_split=ValidSplit(3), callbacks=callbacks).fit(*table)

    assert len(clf.history) < 50


@every_method
def test_a_progress_bar_runs_along(table, quick, method, capsys):
    LECClassifier(method=method, **quick, callbacks=[ProgressBar(detect_notebook=False)]).fit(*table)

    assert "0/6" in capsys.readouterr().err


@every_method
def test_warm_start_goes_on_where_fit_ended(table, quick, method):
    clf = LECClassifier(method=method, warm_start=True, **quick).fit(*table)
    before = weights(clf)

    clf.set_params(lr=0.0, optimizer__weight_decay=0.0).fit(*table)

    assert torch.equal(weights(clf), before)
    assert len(clf.history) == 6
    assert clf.method_.epoch == 6


def test_set_params_on_a_fitted_net_leaves_the_global_random_state_alone(table, quick):
    nets = [LECClassifier(**quick).fit(*table) for _ in range(2)]
    before = torch.get_rng_state()

    for net in nets:
        net.set_params(module__hidden=(5,)).partial_fit(*table)

    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(weights(nets[0]), weights(nets[1]))


def test_set_params_reaches_module_optimizer_and_iterator(table, quick):
    clf = LECClassifier(**quick).set_params(
        module__hidden=(7,), optimizer__weight_decay=0.5, iterator_train__drop_last=True, batch_size=40
    )

    clf.fit(*table)

    assert clf.module_.head.in_features == 7
    assert clf.optimizer_.param_groups[0]["weight_decay"] == 0.5
    assert clf.history[:, "n_selected"][0] == 80


def test_param_groups_are_found_by_name_in_every_network(table, quick):
    clf = LECClassifier(method="lnec", **quick, optimizer__param_groups=[("head.*", {"lr": 0.5})]).fit(*table)

    assert [len(group["params"]) for group in clf.optimizer_.param_groups] == [2 * 2, 2 * 8]


def test_param_groups_of_a_module_with_networks_of_its_own_go_by_its_names(table, quick):
    class Tower(TinyNet):
        def __init__(self, in_features, num_classes):
            super().__init__(in_features, num_classes)
            self.networks = torch.nn.ModuleList([torch.nn.Linear(4, 4)])

        def forward(self, x):
            return super().forward(self.networks[0](x))

    clf = LECClassifier(Tower, **quick, optimizer__param_groups=[("networks.0.*", {"lr": 0.5})]).fit(*table)

    assert [len(group["params"]) for group in clf.optimizer_.param_groups] == [2, 4]


@every_method
def test_clone_is_unfitted_and_equal_in_parameters(table, quick, method):
    clf = LECClassifier(TinyNet, method=method, module__num_classes=3, **quick).fit(*table)

    copy = clone(clf)

    assert copy.get_params(deep=False) == clf.get_params(deep=False)
    assert not copy.initialized_
    assert not hasattr(copy, "clean_mask_")


def test_a_grid_search_scores_all_parameters_of_the_paper(table, quick):
    grid = {"M": [1, 3], "T_w": [1, 2], "method": ["ltec", "lnec"], "eps": [0.1, 0.2]}
    quick["max_epochs"] = 4

    search = GridSearchCV(LECClassifier(TinyNet, **quick), grid, cv=2, n_jobs=2).fit(*table)

    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.cv_results_["params"]) == 16
    assert search.best_estimator_.clean_mask_.shape == (90,)


def test_a_pipeline_scales_before_the_network(table, quick):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), LECClassifier(TinyNet, **quick))

    assert pipeline.fit(X * 1000, y).predict(X * 1000).shape == (90,)


def test_an_lr_scheduler_takes_the_place_of_the_default_schedule(table, quick):
    scheduler = LRScheduler(policy="StepLR", step_size=1, gamma=0.1)

    clf = LECClassifier(TinyNet, **quick | {"max_epochs": 4}, callbacks=[scheduler]).fit(*table)

    assert clf.history[:, "event_lr"] == pytest.approx([1e-3, 1e-4, 1e-5, 1e-6])


def test_label_quality_is_written_into_the_history(table, quick):
    X, y = table
    y_true = np.arange(90) % 3

    clf = LECClassifier(TinyNet, **quick, callbacks=[LabelQuality(y_true)]).fit(X, y)

    right = y == y_true
    assert clf.history[0, "label_precision"] == pytest.approx(0.9)
    assert clf.history[0, "label_recall"] == 1
    assert clf.history[-1, "label_precision"] == pytest.approx(right[clf.clean_mask_].mean())
    assert clf.history[-1, "label_recall"] == pytest.approx(clf.clean_mask_[right].mean())


def test_skorchs_accelerate_mixin_selects_the_same_samples(table, quick):
    class AcceleratedClassifier(AccelerateMixin, LECClassifier):
        pass

    settings = quick | {"device": None}
    clf = AcceleratedClassifier(TinyNet, accelerator=Accelerator(cpu=True), **settings | {"eps": 0.4}).fit(*table)
    expected = LECClassifier(TinyNet, **quick | {"eps": 0.4}).fit(*table)

    assert np.array_equal(clf.clean_mask_, expected.clean_mask_)
    assert torch.equal(weights(clf), weights(expected))


@every_method
def test_a_compiled_network_selects_the_same_samples(table, quick, method):
    clf = LECClassifier(TinyNet, method=method, compile=True, compile__backend="eager", **quick | {"eps": 0.4}).fit(
        *table
    )
    expected = LECClassifier(TinyNet, method=method, **quick | {"eps": 0.4}).fit(*table)

    assert np.array_equal(clf.clean_mask_, expected.clean_mask_)


@every_method
def test_networks_in_bfloat16_train_and_predict(quick, method):
    X = np.random.RandomState(0).normal(size=(60, 4)).astype(np.float32)

    class Coarse(MLP):
        def __init__(self, in_features=4, num_classes=2):
            super().__init__(in_features, num_classes, hidden=[8])
            self.to(torch.bfloat16)

    clf = LECClassifier(Coarse, method=method, **quick).fit(X, (X[:, 0] > 0).astype(int))

    assert clf.predict_proba(X).dtype == np.float32
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1, atol=0.02)
