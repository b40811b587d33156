"""Saved parameters in a new estimator: it predicts labels, or says what is missing."""

import io

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from sklearn.exceptions import NotFittedError
from skorch.callbacks import Checkpoint, LoadInitState

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from tests.helpers import TinyNet, weights

WORDS = np.array(["ant", "bee", "cat"])


@pytest.fixture
def words(table):
    X, y = table
    return X, WORDS[y]


@pytest.mark.parametrize("use_safetensors", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_new_estimator_predicts_labels_from_saved_parameters(words, quick, tmp_path, method, use_safetensors):
    clf = LECClassifier(method=method, **quick).fit(*words)
    clf.save_params(f_params=tmp_path / "params", use_safetensors=use_safetensors)

    loaded = LECClassifier(method=method, **quick)
    loaded.load_params(f_params=tmp_path / "params", use_safetensors=use_safetensors)

    assert np.array_equal(loaded.predict(words[0]), clf.predict(words[0]))
    assert np.array_equal(loaded.predict_proba(words[0]), clf.predict_proba(words[0]))
    assert np.array_equal(loaded.classes_, WORDS)


def test_torch_reads_the_file_as_before(words, quick, tmp_path):
    clf = LECClassifier(TinyNet, **quick).fit(*words)
    clf.save_params(f_params=tmp_path / "params")

    network = TinyNet()
    network.load_state_dict(torch.load(tmp_path / "params", weights_only=True))

    assert torch.equal(network(torch.tensor(words[0])), clf.forward(words[0]))
    assert "sklearn_lec" not in str(clf.module_.state_dict()._metadata)


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, 7, 12]),
        np.array([False, True]),
        np.array([1.0, 2.0]),
        np.array(["x", "y"], dtype=object),
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
    ],
)
@pytest.mark.parametrize("use_safetensors", [False, True])
def test_labels_keep_their_type(table, quick, classes, use_safetensors):
    X, y = table[0], classes[table[1] % len(classes)]
    clf = LECClassifier(**quick).fit(X, y)
    file = io.BytesIO()
    clf.save_params(f_params=file, use_safetensors=use_safetensors)
    file.seek(0)

    loaded = LECClassifier(**quick)
    loaded.load_params(f_params=file, use_safetensors=use_safetensors)

    assert loaded.classes_.dtype == classes.dtype
    assert np.array_equal(loaded.predict(X), clf.predict(X))


@pytest.mark.parametrize("use_safetensors", [False, True])
def test_a_checkpoint_of_skorchs_brings_the_classes_along(words, quick, tmp_path, use_safetensors):
    def checkpoint():
        files = {"f_params": "params-{last_epoch[epoch]}.pt", "f_optimizer": None, "f_criterion": None}
        return Checkpoint(dirname=tmp_path, monitor=None, use_safetensors=use_safetensors, **files)

    clf = LECClassifier(**quick, callbacks=[checkpoint()]).fit(*words)

    loaded = LECClassifier(**quick)
    loaded.load_params(checkpoint=checkpoint(), use_safetensors=use_safetensors)

    assert np.array_equal(loaded.predict(words[0]), clf.predict(words[0]))
    assert len(loaded.history) == 3


def test_names_of_features_are_loaded_and_checked(words, quick, tmp_path):
    X = pd.DataFrame(words[0], columns=["a", "b", "c", "d"])
    LECClassifier(**quick).fit(X, words[1]).save_params(f_params=tmp_path / "params")

    loaded = LECClassifier(**quick)
    loaded.load_params(f_params=tmp_path / "params")

    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[["b", "a", "c", "d"]])


def test_numbers_are_never_given_for_labels(words, quick, tmp_path):
    clf = LECClassifier(TinyNet, **quick).fit(*words)
    torch.save(dict(clf.module_.state_dict()), tmp_path / "params")  # without the notes
    loaded = LECClassifier(TinyNet, module__num_classes=3, **quick).initialize()
    loaded.load_params(f_params=tmp_path / "params")

    assert loaded.predict_proba(words[0]).shape == (90, 3)
    with pytest.raises(NotFittedError, match=r"loaded a network but no classes.*Set classes; a file that"):
        loaded.predict(words[0])

    assert np.array_equal(loaded.set_params(classes=WORDS).predict(words[0]), clf.predict(words[0]))


def test_a_network_that_comes_with_the_module_predicts_numbers_as_in_skorch(words, quick):
    assert set(LECClassifier(TinyNet(), **quick).initialize().predict(words[0])) <= {0, 1, 2}


def test_a_network_that_cannot_be_built_without_data_names_what_is_missing(quick):
    with pytest.raises(TypeError, match=r"Set module__in_features=..., module__num_classes=.... load_params with"):
        LECClassifier(**quick).initialize()
    with pytest.raises(TypeError, match=r"needs num_classes, which fit may find.*Set module__num_classes=...\."):
        LECClassifier(module__in_features=4, **quick).initialize()


def test_safetensors_of_others_are_loaded_and_have_no_classes(words, quick, tmp_path):
    clf = LECClassifier(TinyNet, **quick).fit(*words)
    save_file(clf.module_.state_dict(), tmp_path / "params")

    loaded = LECClassifier(TinyNet, module__num_classes=3, classes=WORDS, **quick).initialize()
    loaded.load_params(f_params=tmp_path / "params", use_safetensors=True)

    assert np.array_equal(loaded.predict(words[0]), clf.predict(words[0]))


def test_safetensors_are_saved_without_a_word(words, quick, tmp_path, capsys):
    clf = LECClassifier(**quick).fit(*words).set_params(verbose=1)

    clf.save_params(f_params=tmp_path / "params", use_safetensors=True)

    assert capsys.readouterr().out == ""


def test_others_read_our_safetensors(words, quick, tmp_path):
    clf = LECClassifier(TinyNet, **quick).fit(*words)
    clf.save_params(f_params=tmp_path / "params", use_safetensors=True)

    network = TinyNet()
    network.load_state_dict(load_file(tmp_path / "params"))

    assert torch.equal(network(torch.tensor(words[0])), clf.forward(words[0]))


def test_other_classes_than_the_saved_ones_are_refused(words, quick, tmp_path):
    LECClassifier(**quick).fit(*words).save_params(f_params=tmp_path / "params")

    with pytest.raises(ValueError, match=r"tells \['ant', 'bee', 'cat'\] apart, but the classes here are \[0, 1, 2\]"):
        LECClassifier(**quick, classes=[0, 1, 2]).load_params(f_params=tmp_path / "params")


def test_a_training_is_not_begun_with_a_network_for_other_classes(words, quick, tmp_path):
    def checkpoint():
        return Checkpoint(dirname=tmp_path, monitor=None)

    LECClassifier(**quick, callbacks=[checkpoint()]).fit(*words)
    y = np.where(words[1] == "ant", "dog", words[1])

    with pytest.raises(ValueError, match=r"tells \['ant', 'bee', 'cat'\] apart, but the classes here are \['bee'"):
        LECClassifier(**quick, callbacks=[LoadInitState(checkpoint())]).fit(words[0], y)


def test_labels_that_no_file_can_hold_are_left_out(table, quick, tmp_path):
    y = table[1].astype("timedelta64[D]")
    clf = LECClassifier(TinyNet, **quick).fit(table[0], y)
    clf.save_params(f_params=tmp_path / "params")

    loaded = LECClassifier(TinyNet, module__num_classes=3, **quick).initialize()
    loaded.load_params(f_params=tmp_path / "params")

    assert torch.equal(weights(loaded), weights(clf))
    with pytest.raises(NotFittedError, match="no classes"):
        loaded.predict(table[0])


def test_a_network_of_another_size_is_not_loaded_and_leaves_the_net_as_it_was(words, quick, tmp_path):
    LECClassifier(**quick).fit(*words).save_params(f_params=tmp_path / "params")
    y = np.where(words[1] == "ant", "x", "y")
    clf = LECClassifier(**quick).fit(words[0], y)

    with pytest.raises(RuntimeError, match="size mismatch"):
        clf.load_params(f_params=tmp_path / "params")

    assert clf.classes_.tolist() == ["x", "y"]
    assert set(clf.predict(words[0])) <= {"x", "y"}


def test_names_of_features_do_not_outlive_the_network_that_had_them(words, quick, tmp_path):
    LECClassifier(**quick).fit(*words).save_params(f_params=tmp_path / "params")
    clf = LECClassifier(**quick).fit(pd.DataFrame(words[0], columns=list("abcd")), words[1])

    clf.load_params(f_params=tmp_path / "params")

    assert not hasattr(clf, "feature_names_in_")


def test_loading_nothing_changes_nothing(words, quick):
    clf = LECClassifier(TinyNet(), **quick).initialize()

    clf.load_params()

    assert clf.predict(words[0]).shape == (90,)


@pytest.mark.parametrize("content", [b"", b"short", b"\xff" * 40])
def test_a_file_that_is_none_of_safetensors_gets_their_error(words, quick, tmp_path, content):
    (tmp_path / "params").write_bytes(content)

    with pytest.raises(SafetensorError):
        LECClassifier(TinyNet(), **quick).initialize().load_params(f_params=tmp_path / "params", use_safetensors=True)
