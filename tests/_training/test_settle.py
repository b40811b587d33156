"""eps="auto" and shares per label: what is used, what is said, what is kept."""

import pickle
import warnings

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch.dataset import ValidSplit
from torch.utils.data import WeightedRandomSampler

from sklearn_lec import LECClassifier
from sklearn_lec.methods import LTEC, METHODS, Method, Selection
from tests.helpers import TinyNet, weights


@pytest.fixture(scope="module")
def blobs():
    """300 samples in three classes, a fifth of the labels wrong."""
    X, y = make_blobs(300, centers=[[-4, 0], [4, 0], [0, 5]], random_state=0)
    y[::5] = (y[::5] + 1) % 3
    return X.astype(np.float32), y


@pytest.fixture
def auto():
    """Parameters of a training that estimates the noise first."""
    settings = {"eps": "auto", "T_w": 2, "M": 2, "max_epochs": 12, "lr": 0.01, "batch_size": 32}
    return settings | {"module__hidden": (16,), "verbose": 0, "random_state": 0, "device": "cpu"}


def test_the_share_is_estimated_before_the_training(blobs, auto):
    clf = LECClassifier(**auto).fit(*blobs)

    assert clf.eps_ == pytest.approx(0.2, abs=0.07)
    assert clf.noise_estimate_.eps == clf.eps_
    assert clf.eps_per_class_.shape == (3,)
    np.testing.assert_array_equal(clf.eps_per_class_, clf.noise_estimate_.per_class)
    assert clf.noise_estimate_.wrong_probability.shape == (300,)
    assert clf.eps == "auto"
    assert 0 < (~clf.clean_mask_).sum() < 150


def test_the_training_is_the_one_of_a_user_who_knew_the_estimate(blobs, auto):
    clf = LECClassifier(**auto).fit(*blobs)

    knowing = LECClassifier(**auto | {"eps": clf.eps_}).fit(*blobs)

    assert torch.equal(weights(clf), weights(knowing))
    np.testing.assert_array_equal(clf.clean_mask_, knowing.clean_mask_)


def test_clean_labels_are_trained_on_as_by_ordinary_training(auto):
    X, y = make_blobs(300, centers=[[-9, 0], [9, 0]], random_state=0)
    X = X.astype(np.float32)
    ordinary = LECClassifier(method="standard", **{k: v for k, v in auto.items() if k not in ("T_w", "M")}).fit(X, y)

    for method in ("ltec", "ltec-full"):
        clf = LECClassifier(method=method, **auto).fit(X, y)
        assert clf.eps_ == 0
        assert torch.equal(weights(clf), weights(ordinary))


@pytest.mark.parametrize("method", [name for name, kind in METHODS.items() if "eps" in kind().get_params()])
def test_every_method_that_uses_a_share_takes_the_estimate(blobs, auto, method):
    clf = LECClassifier(method=method, **auto | {"max_epochs": 8}).fit(*blobs)

    assert clf.eps_ == clf.noise_estimate_.eps > 0


def test_a_method_that_uses_no_share_does_not_pay_for_an_estimate(blobs, auto, monkeypatch):
    monkeypatch.setattr("sklearn_lec._training.context.held_out_probabilities", None)

    clf = LECClassifier(method="elr", **auto).fit(*blobs)

    for name in ("eps_", "noise_estimate_", "eps_per_class_"):
        assert not hasattr(clf, name)


def test_a_method_of_ones_own_sees_a_number(blobs, auto):
    class KeepsSmall(Method):
        def __init__(self, eps=None):
            self.eps = eps

        def select(self, batch):
            return Selection(batch.losses[0].argsort().argsort() < (1 - self.eps) * len(batch))

    clf = LECClassifier(method=KeepsSmall(), **auto).fit(*blobs)

    assert clf.eps_ == pytest.approx(0.2, abs=0.07)
    assert LECClassifier(method=LTEC(eps="auto"), **auto | {"eps": 0.3}).fit(*blobs).eps_ == clf.eps_


def test_forward_takes_the_corruption_matrix_of_the_estimate(blobs, auto):
    clf = LECClassifier(method="forward", corruption_matrix="auto", **auto).fit(*blobs)

    np.testing.assert_allclose(clf.corruption_matrix_, clf.noise_estimate_.corruption_matrix, atol=1e-6)
    assert clf.corruption_matrix_[0, 1] > 0.1


def test_at_most_a_quarter_of_the_epochs_go_into_the_estimate(blobs, auto, monkeypatch):
    epochs = []
    fit = LECClassifier.fit

    def counted(self, X, y=None, **arguments):
        result = fit(self, X, y, **arguments)
        epochs.append(len(self.history) * len(self._record().counts[self._record().counts >= 0]) / len(y))
        return result

    monkeypatch.setattr(LECClassifier, "fit", counted)
    for max_epochs in (4, 12, 40):
        epochs.clear()
        LECClassifier(**auto | {"max_epochs": max_epochs}).fit(*blobs)
        *in_folds, in_training = epochs
        assert len(in_folds) >= 2
        assert sum(in_folds) <= 0.25 * in_training + 1e-6


def test_the_estimate_is_made_once_and_kept(blobs, auto):
    clf = LECClassifier(**auto).fit(*blobs)
    eps = clf.eps_

    clf.partial_fit(*blobs)
    again = pickle.loads(pickle.dumps(clf))

    assert clf.eps_ == again.eps_ == eps
    assert again.noise_estimate_.interval == clf.noise_estimate_.interval
    assert clone(clf).eps == "auto"
    assert clf.set_params(eps=0.4).partial_fit(*blobs).eps_ == 0.4


def test_a_training_that_was_killed_goes_on_with_its_estimate(blobs, auto, tmp_path):
    whole = LECClassifier(**auto).fit(*blobs)
    LECClassifier(**auto, checkpoint_dir=tmp_path).fit(*blobs)
    for file in tmp_path.glob("*"):  # all but those of the folds
        if file.is_file():
            file.unlink()

    clf = LECClassifier(**auto, checkpoint_dir=tmp_path).fit(*blobs)
    finished = LECClassifier(**auto, checkpoint_dir=tmp_path).fit(*blobs)

    assert clf.eps_ == finished.eps_ == whole.eps_
    assert torch.equal(weights(clf), weights(whole))
    assert str(finished.noise_estimate_) == str(whole.noise_estimate_)


def test_pipelines_and_searches_work(blobs, auto):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), LECClassifier(**auto))

    search = GridSearchCV(pipeline, {"lecclassifier__eps": ["auto", 0.1]}, cv=2, error_score="raise").fit(X, y)

    assert search.best_score_ > 0.6


def test_samples_that_are_held_out_take_no_part(blobs, auto):
    clf = LECClassifier(**auto, train_split=ValidSplit(3)).fit(*blobs)

    held_out = np.isnan(clf.clean_score_)
    np.testing.assert_array_equal(np.isnan(clf.noise_estimate_.wrong_probability), held_out)
    assert held_out.sum() == 100


def test_samplers_of_the_whole_set_are_left_out_of_the_folds(blobs, auto):
    sampler = WeightedRandomSampler(np.ones(300), 300)

    clf = LECClassifier(**auto, iterator_train__sampler=sampler, iterator_train__shuffle=False).fit(*blobs)

    assert clf.eps_ == pytest.approx(0.2, abs=0.1)


def test_too_few_epochs_for_an_estimate_are_told(blobs, auto):
    clf = LECClassifier(**auto | {"max_epochs": 3})

    with pytest.warns(UserWarning, match="eps='auto' cannot be settled: max_epochs=3 leaves no epoch"):
        clf.fit(*blobs)

    assert clf.eps_ == 0
    assert clf.clean_mask_.all()


def test_one_warning_tells_of_an_estimate_that_cannot_be_trusted(auto):
    rng = np.random.default_rng(0)
    clf = LECClassifier(**auto)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(rng.normal(size=(90, 4)).astype(np.float32), np.arange(90) % 3)

    told = [str(w.message) for w in caught if "cannot be trusted" in str(w.message)]
    assert len(told) == 1
    assert f"is estimated as {clf.eps_:.2f} " in told[0]


def test_shares_are_those_of_the_samples_given_each_label(blobs, auto):
    X, y = blobs
    words = np.array(["ant", "bee", "cat"])[y]
    auto |= {"eps": {"bee": 0.5, "ant": 0.0, "cat": 0.1}, "M": 1, "max_epochs": 4}

    clf = LECClassifier(method="ltec-full", **auto).fit(X, words)

    left_out = [(~clf.clean_mask_)[words == word].sum() for word in ("ant", "bee", "cat")]
    counts = [(words == word).sum() for word in ("ant", "bee", "cat")]
    assert left_out == [0, np.ceil(0.5 * counts[1]), np.ceil(0.1 * counts[2])]
    assert clf.eps_per_class_.tolist() == [0, 0.5, 0.1]
    assert clf.eps_ == pytest.approx((0.5 * counts[1] + 0.1 * counts[2]) / 300)


def test_within_a_batch_the_overall_share_is_used(blobs, auto):
    X, y = blobs

    clf = LECClassifier(**auto | {"eps": np.array([0.0, 0.5, 0.1])}).fit(X, y)
    other = LECClassifier(**auto | {"eps": clf.eps_}).fit(X, y)

    np.testing.assert_array_equal(clf.clean_mask_, other.clean_mask_)


def test_huge_samples_have_no_probability_of_being_wrong(blobs, auto):
    X, y = blobs[0].copy(), blobs[1]
    X[3] = 1e20

    with pytest.warns(UserWarning, match="times as large"):
        clf = LECClassifier(TinyNet, module__in_features=2, **{k: v for k, v in auto.items() if "hidden" not in k})
        clf.fit(X, y)

    assert np.isnan(clf.noise_estimate_.wrong_probability[3])
    assert np.isfinite(np.delete(clf.noise_estimate_.wrong_probability, 3)).all()
