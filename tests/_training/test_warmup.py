"""T_w="auto": the warm-up ends when the network begins to memorize, and is told."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from sklearn_lec import LECClassifier
from sklearn_lec._training.warmup import WarmupWatch
from sklearn_lec.estimation import NoiseEstimate
from sklearn_lec.methods import LTEC
from tests._training.interruption import power_cut
from tests.helpers import weights


@pytest.fixture
def wide():
    """60 samples of 400 random features: nothing to learn, everything to memorize."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 400)).astype(np.float32), np.arange(60) % 3


@pytest.fixture
def settings():
    common = {"eps": 0.4, "T_w": "auto", "M": 2, "max_epochs": 60, "batch_size": 20, "lr": 0.01}
    return common | {"verbose": 0, "random_state": 0, "device": "cpu"}


@pytest.mark.parametrize("method", ["self-training", "lnec", "lsec", "ltec", "ltec-full"])
def test_the_warm_up_ends_when_half_of_the_wrong_labels_are_memorized(wide, settings, method):
    settings = {k: v for k, v in settings.items() if k != "M" or method != "self-training"}

    clf = LECClassifier(method=method, **settings).fit(*wide)

    agreement = np.array(clf.history[:, "agreement"], dtype=float)
    n_selected = np.array(clf.history[:, "n_selected"])
    assert 1 <= clf.T_w_ < 12
    assert (agreement[: clf.T_w_ - 1] < 0.8).all()
    assert agreement[clf.T_w_ - 1] >= 0.8
    assert np.isnan(agreement[clf.T_w_ :]).all()
    assert (n_selected[: clf.T_w_] == 60).all()
    assert n_selected[clf.T_w_] < 60


def test_the_warm_up_ends_at_the_bound_where_nothing_is_memorized(table, settings):
    clf = LECClassifier(**settings | {"lr": 1e-6, "max_epochs": 20}).fit(*table)

    assert clf.T_w_ == 4
    assert clf.history[4, "n_selected"] < 90


def test_the_training_is_the_one_of_a_user_who_knew_the_epoch(wide, settings):
    clf = LECClassifier(**settings).fit(*wide)

    knowing = LECClassifier(**settings | {"T_w": clf.T_w_}).fit(*wide)

    assert torch.equal(weights(clf), weights(knowing))
    assert "agreement" not in knowing.history[-1]


@pytest.fixture
def memorizing(monkeypatch):
    """Return a classifier that memorizes everything, and whose estimate takes the first 24 labels of 60 for wrong."""
    wrong_probability = np.where(np.arange(60) < 24, 0.9, 0.1)
    wrong_probability[-1] = np.nan

    labels = np.arange(60) % 3
    found = NoiseEstimate.from_predictions(labels, np.eye(3)[labels], classes=np.arange(3))
    found = replace(found, eps=0.4, wrong_probability=wrong_probability)
    monkeypatch.setattr(
        NoiseEstimate,
        "from_predictions",
        lambda labels, probabilities, classes: replace(found, per_class=np.full(len(classes), 0.4)),
    )
    return {"eps": "auto"}


@pytest.mark.parametrize("method", ["self-training", "lnec", "lsec", "ltec", "ltec-full"])
def test_where_the_network_memorizes_held_out_predictions_have_a_vote(wide, settings, memorizing, method):
    settings = {k: v for k, v in settings.items() if k != "M" or method != "self-training"}

    clf = LECClassifier(method=method, **settings | memorizing).fit(*wide)

    assert clf.T_w_ < 12
    assert (clf.clean_score_[:24] == 0).all()
    assert clf.clean_score_[24:59].max() > 0.5
    assert clf.clean_score_[-1] == 0  # of which nothing is known


def test_where_the_network_does_not_memorize_the_network_alone_votes(wide, settings, memorizing):
    clf = LECClassifier(**settings | memorizing | {"lr": 1e-6}).fit(*wide)

    assert clf.T_w_ == 12
    assert clf.clean_score_[:24].max() > 0


def test_held_out_predictions_have_their_vote_after_a_checkpoint_too(wide, settings, memorizing, tmp_path):
    settings |= memorizing
    whole = LECClassifier(**settings).fit(*wide)
    with power_cut(epoch=30, batch=1, method="ltec"):
        LECClassifier(**settings, method="ltec", checkpoint_dir=tmp_path).fit(*wide)

    resumed = LECClassifier(**settings, method="ltec", checkpoint_dir=tmp_path).fit(*wide)

    assert torch.equal(weights(resumed), weights(whole))
    assert (resumed.clean_score_[:24] == 0).all()


def test_held_out_predictions_lose_their_vote_with_the_estimate(wide, settings, memorizing):
    clf = LECClassifier(**settings | memorizing).fit(*wide)

    clf.set_params(eps=0.2).partial_fit(*wide)

    assert clf.clean_mask_[:24].any()


def test_a_training_that_goes_on_keeps_its_warm_up(wide, settings, tmp_path):
    whole = LECClassifier(**settings).fit(*wide)
    clf = LECClassifier(**settings | {"max_epochs": 30}).fit(*wide)
    T_w = clf.T_w_

    clf.partial_fit(*wide)
    finished = [LECClassifier(**settings, checkpoint_dir=tmp_path).fit(*wide) for _ in range(2)]

    assert clf.T_w_ == T_w
    assert finished[0].T_w_ == finished[1].T_w_ == whole.T_w_
    assert clf.set_params(T_w=7).partial_fit(*wide).T_w_ == 7


def test_a_warm_up_that_memorizes_everything_is_warned_of(wide, settings):
    with pytest.warns(UserWarning, match=r"warm-up ended with epoch 25, the network agreed with .*Lower T_w"):
        LECClassifier(**settings | {"T_w": 25}).fit(*wide)


def agreement_and_warmup(predicted, labels, *, eps):
    """Return what is recorded of an epoch, and the warm-up after it."""
    method = LTEC(eps=eps, M=1, T_w=20)
    method.settle(T_w=20)
    method.reset(len(labels), n_classes=11)
    method.epoch = 1
    watch, recorded = WarmupWatch(method, labels), {}
    watch.add((torch.eye(11)[predicted],), labels)
    watch.end_epoch(recorded.__setitem__, warn=lambda agreement: None)
    return recorded["agreement"], method.T_w


def test_a_network_that_is_right_has_memorized_nothing_whichever_labels_are_wrong():
    right = torch.cat([torch.zeros(100), torch.arange(1, 11)]).long()
    labels = right.clone()
    labels[:20] = 1  # so that each of ten of eleven labels is right, or nearly so

    agreement, T_w = agreement_and_warmup(right, labels, eps=20 / 110)

    assert agreement == pytest.approx(90 / 110)
    assert T_w == 20


def test_a_network_that_agrees_with_most_wrong_labels_has_memorized():
    labels = torch.arange(110) % 11

    agreement, T_w = agreement_and_warmup(labels, labels, eps=0.2)

    assert (agreement, T_w) == (1, 1)


def test_a_class_of_which_little_is_known_is_not_ruled_out(wide, settings, memorizing):
    X, y = wide[0], wide[1].copy()
    y[:3] = 7  # of these labels all are probably wrong

    clf = LECClassifier(**settings | memorizing).fit(X, y)

    assert clf.method_.record.candidates[:3].all()
    assert not clf.method_.record.candidates[3:24].any()


def test_a_longer_warm_up_that_is_set_later_is_one_on_all_samples(wide, settings, memorizing):
    clf = LECClassifier(**settings | memorizing).fit(*wide)

    clf.set_params(T_w=200, max_epochs=1).partial_fit(*wide)

    assert clf.history[-1, "n_selected"] == 60
