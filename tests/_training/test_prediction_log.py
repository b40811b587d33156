"""What is predicted in training is taken down: of every sample, in every way to train, and without a trace in it."""

import pickle

import numpy as np
import pytest
import torch
from skorch.dataset import ValidSplit

from sklearn_lec import LECClassifier
from sklearn_lec._training import prediction_log
from sklearn_lec._training.prediction_log import PredictionLog
from sklearn_lec.methods import METHODS
from tests._training.interruption import power_cut
from tests.helpers import TinyConv, TinyNet, weights, without


def table_of(clf):
    return clf.method_.record.predictions


def same_table(one, other):
    return all(torch.equal(table_of(one)[name], table_of(other)[name]) for name in table_of(one))


def of_method(method, quick):
    """Return the parameters that a method takes, as far as they are not its own."""
    unused = () if method in ("ltec", "ltec-full", "lnec", "lsec") else ("M", "T_w")
    return {"method": method, **without(quick, *unused)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
def test_every_sample_is_predicted_once_in_every_epoch(table, quick, method):
    X, y = table

    clf = LECClassifier(TinyNet, **of_method(method, quick)).fit(X, y)

    assert table_of(clf)["n_seen"].tolist() == [3] * 90
    assert table_of(clf)["labels"].tolist() == y.tolist()


@pytest.mark.parametrize(
    "settings", [{"n_networks": 2}, {"separate_vote": True, "module": TinyConv}, {"data_on_device": True}]
)
def test_every_sample_is_predicted_however_it_is_trained_on(table, quick, settings):
    clf = LECClassifier(**{"module": TinyNet} | quick | settings).fit(*table)

    predictions = table_of(clf)
    total = predictions["label_probability"] + predictions["other_probability"]
    assert predictions["n_seen"].tolist() == [3] * 90
    assert ((total > 0.3) & (total < 1 + 1e-5)).all()


def test_held_out_samples_are_predicted_too(table, quick):
    clf = LECClassifier(TinyNet, train_split=ValidSplit(3), **quick).fit(*table)

    assert np.isnan(clf.clean_score_).sum() == 30
    assert table_of(clf)["n_seen"].tolist() == [3] * 90


def test_taking_it_down_leaves_no_trace_in_the_training(table, quick, monkeypatch):
    watched = LECClassifier(**quick).fit(*table)
    monkeypatch.setattr(PredictionLog, "write", lambda self: None)

    unwatched = LECClassifier(**quick).fit(*table)

    assert table_of(unwatched)["n_seen"].sum() == 0
    assert torch.equal(weights(watched), weights(unwatched))


def test_it_does_not_matter_how_many_batches_are_written_at_once(table, quick, monkeypatch):
    at_once = LECClassifier(TinyNet, **quick).fit(*table)
    monkeypatch.setattr(prediction_log, "LARGEST", 1)

    one_by_one = LECClassifier(TinyNet, **quick).fit(*table)

    assert same_table(at_once, one_by_one)


def test_the_table_goes_on_with_the_training_and_through_pickles_and_files(table, quick, tmp_path):
    once = LECClassifier(TinyNet, **quick | {"lr": 0.01}).fit(*table)
    saved = pickle.loads(pickle.dumps(once))
    once.save_params(f_method=tmp_path / "method.pt", f_params=tmp_path / "params.pt")
    loaded = LECClassifier(TinyNet, **quick).initialize()
    loaded.load_params(f_method=tmp_path / "method.pt")

    assert same_table(saved, once)
    assert same_table(loaded, once)
    assert table_of(saved.partial_fit(*table))["n_seen"].tolist() == [6] * 90


def test_other_samples_begin_a_new_table(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick).fit(X, y)

    clf.partial_fit(X[:60], y[:60])

    assert table_of(clf)["n_seen"].tolist() == [3] * 60


def test_a_resumed_run_ends_with_the_same_table(table, quick, tmp_path):
    straight = LECClassifier(TinyNet, **quick).fit(*table)
    with power_cut(epoch=2):
        LECClassifier(TinyNet, checkpoint_dir=tmp_path / "run", **quick).fit(*table)

    resumed = LECClassifier(TinyNet, checkpoint_dir=tmp_path / "run", **quick).fit(*table)

    assert same_table(straight, resumed)
