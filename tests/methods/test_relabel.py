"""Relabel: trust in labels, and the soft targets made of it, against direct computations."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec._training.step import FilteredLoss
from sklearn_lec.methods import Relabel
from sklearn_lec.methods.relabel import confusion, evidence_for_labels, trust_in_labels
from sklearn_lec.metrics import label_precision_score, label_recall_score
from sklearn_lec.noise import AsymmetricNoise
from tests.helpers import TinyNet, weights, without


@pytest.fixture
def settings(quick):
    return without(quick, "M") | {"callbacks__linear_decay": None}


def relabel_written_out(X, y, *, eps, T_w, epochs, batch_size, beta=0.9, softness=1.0, sharpness=2.0):
    """Train as the docstring says, sample by sample, in the order of X; return the network and the trust."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyNet(4, 3)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    running, trust = torch.zeros(len(y), 3), torch.ones(len(y))
    for epoch in range(1, epochs + 1):
        if epoch > T_w:
            P = running / running.sum(dim=1, keepdim=True)
            counts = 5 * ((1 - eps) * torch.eye(3) + eps / 2 * (1 - torch.eye(3)))
            for p, label in zip(P, y, strict=True):
                counts[p.argmax(), label] += 1
            T = counts / counts.sum(dim=1, keepdim=True)
            evidence = torch.empty(len(y))
            for i, (p, label) in enumerate(zip(P, y, strict=True)):
                others = [torch.log(p[k] * T[k, label]) for k in range(3) if k != label]
                evidence[i] = torch.log(p[label] * T[label, label]) - max(others)
            trust = trust_in_labels(evidence, eps=eps, softness=softness)
        for samples in torch.arange(len(y)).split(batch_size):
            terms, logits = [], network(X[samples])
            for sample, logit in zip(samples, logits, strict=True):
                running[sample] = beta * running[sample] + (1 - beta) * logit.softmax(dim=0).detach()
                sharp = (running[sample] / running[sample].sum()) ** sharpness
                label = F.one_hot(y[sample], 3)
                target = trust[sample] * label + (1 - trust[sample]) * sharp / sharp.sum()
                terms.append(-(target * logit.log_softmax(dim=0)).sum())
            optimizer.zero_grad()
            torch.stack(terms).mean().backward()
            optimizer.step()
    return network, trust


@pytest.mark.parametrize("parameters", [{}, {"beta": 0.5, "softness": 0.3, "sharpness": 1.0}])
def test_relabel_trains_as_its_rule_written_out(table, settings, parameters):
    X, y = table
    clf = LECClassifier(TinyNet, method=Relabel(**parameters), iterator_train__shuffle=False, **settings)

    clf.fit(X, y)

    network, trust = relabel_written_out(
        torch.tensor(X), torch.tensor(y), eps=0.2, T_w=1, epochs=3, batch_size=16, **parameters
    )
    assert torch.allclose(weights(clf), torch.cat([p.flatten() for p in network.parameters()]), atol=1e-5)
    assert torch.allclose(clf.method_.record.memory["trust"], trust, atol=1e-4)
    assert clf.clean_mask_.tolist() == (trust > 0.5).tolist()


def test_without_wrong_labels_relabel_is_ordinary_training(table, settings):
    relabel = LECClassifier(TinyNet, method="relabel", **settings | {"eps": 0}).fit(*table)
    standard = LECClassifier(TinyNet, method="standard", **without(settings, "T_w")).fit(*table)

    assert torch.equal(weights(relabel), weights(standard))
    assert relabel.clean_mask_.all()


def test_nothing_is_doubted_before_the_network_has_been_trained(table, settings):
    clf = LECClassifier(TinyNet, method="relabel", **settings | {"T_w": 0, "max_epochs": 2}).fit(*table)

    assert clf.history[0, "n_selected"] == 90 > clf.history[1, "n_selected"]
    np.testing.assert_array_equal(clf.clean_score_, clf.clean_mask_)


def test_every_sample_is_learned_from(table, settings):
    seen = []

    class Watched(Relabel):
        def loss(self, criterion, batch):
            seen.append(batch.samples)
            return super().loss(criterion, batch)

    clf = LECClassifier(TinyNet, method=Watched, **settings).fit(*table)

    assert torch.cat(seen).bincount().tolist() == [3] * 90
    assert not clf.clean_mask_.all()


def test_networks_share_one_mean_of_their_predictions(settings):
    method = Relabel(eps=0.2, T_w=0, beta=0.5)
    method.n_networks = 2
    method.reset(1, n_classes=2)
    method.begin_epoch()
    outputs = torch.tensor([[[30.0, 0.0], [0.0, 0.0]]], requires_grad=True)  # probabilities of (1, 0) and (0.5, 0.5)

    FilteredLoss(method, nn.CrossEntropyLoss(), nn.Identity())(
        outputs, torch.tensor([0]), outputs, samples=torch.tensor([0])
    )

    assert torch.allclose(method.record.memory["mean_prediction"], 0.5 * torch.tensor([[0.75, 0.25]]))


def test_shares_of_labels_are_kept_label_by_label(table, settings):
    shares = np.array([0.1, 0.2, 0.4])

    clf = LECClassifier(TinyNet, method="relabel", **settings | {"eps": shares}).fit(*table)

    trust = clf.method_.record.memory["trust"].numpy()
    doubted = np.array([1 - trust[table[1] == label].mean() for label in range(3)])
    assert (doubted > shares - 1e-3).all()
    assert (doubted < 1.25 * shares + 1e-3).all()


def test_a_sample_without_a_finite_prediction_is_not_trusted(table, settings):
    X = table[0].copy()
    X[7] = np.nan
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(table[1]))

    with pytest.warns(UserWarning, match="NaN or infinite in epoch 1, at sample.s. 7 of X"):
        clf = LECClassifier(TinyNet, method="relabel", **settings).fit(dataset)

    assert weights(clf).isfinite().all()
    assert clf.method_.record.memory["mean_prediction"].isfinite().all()
    assert not clf.clean_mask_[7]


def test_a_sample_that_was_never_predicted_keeps_its_label(table, settings):
    settings |= {"iterator_train__drop_last": True, "iterator_train__shuffle": False}

    clf = LECClassifier(TinyNet, method="relabel", **settings).fit(*table)

    trust = clf.method_.record.memory["trust"]
    assert (trust[80:] == 1).all()  # 90 samples in batches of 16: the last ten were never learned from
    assert (trust[:80] < 1).any()
    assert not clf.clean_mask_[80:].any()


def test_labels_of_other_data_are_not_doubted_before_they_have_been_predicted(table, settings):
    X, y = table
    clf = LECClassifier(TinyNet, method="relabel", **settings).fit(X[:60], y[:60])

    clf.set_params(max_epochs=1).partial_fit(X[60:], y[60:])

    assert (clf.method_.record.memory["trust"] == 1).all()


@pytest.mark.parametrize("parameters", [{"T_w": 9}, {"eps": 0}])
def test_labels_are_not_doubted_any_more_when_the_parameters_say_so(table, settings, parameters):
    clf = LECClassifier(TinyNet, method="relabel", **settings).fit(*table)

    clf.set_params(**parameters).partial_fit(*table)

    assert clf.history[2, "n_selected"] < 90
    assert clf.history[-1, "n_selected"] == 90
    assert clf.clean_mask_.all()


def test_class_weights_do_not_count_in_the_trust(settings):
    method, weight = Relabel(eps=0.2, T_w=0, beta=0.0), torch.tensor([1.0, 3.0])
    method.reset(1, n_classes=2)
    method.begin_epoch()
    outputs = torch.tensor([[0.25, 0.75]]).log().requires_grad_()

    FilteredLoss(method, nn.CrossEntropyLoss(weight=weight), nn.Identity())(
        outputs, torch.tensor([0]), outputs, samples=torch.tensor([0])
    )

    assert torch.allclose(method.record.memory["mean_prediction"], torch.tensor([[0.5, 0.5]]))


def test_a_criterion_that_takes_no_probabilities_is_refused_before_the_training(table, settings):
    clf = LECClassifier(TinyNet, method="relabel", criterion=nn.MultiMarginLoss, **settings)

    with pytest.raises(TypeError, match=r"MultiMarginLoss does not take as targets.*Use torch\.nn\.CrossEntropyLoss"):
        clf.fit(*table)

    assert len(clf.history) == 0


def test_a_pass_of_its_own_is_not_spent_on_votes_that_leave_nothing_out(table, settings):
    passes = []

    class Counting(TinyNet):
        def forward(self, X):
            passes.append(self.training)
            return super().forward(X)

    LECClassifier(Counting, method="relabel", separate_vote=True, **settings).fit(*table)

    assert sum(passes) == 3 * 6  # epochs of six batches


def test_blocks_of_samples_have_the_trust_of_the_whole(table, settings, monkeypatch):
    whole = LECClassifier(TinyNet, method="relabel", **settings).fit(*table)
    monkeypatch.setattr("sklearn_lec.methods.relabel.BLOCK", 21)  # seven samples of three classes

    in_blocks = LECClassifier(TinyNet, method="relabel", **settings).fit(*table)

    assert torch.equal(in_blocks.method_.record.memory["trust"], whole.method_.record.memory["trust"])


def test_classes_that_are_taken_for_each_other_are_told_from_right_labels():
    rng = np.random.RandomState(0)
    y = np.arange(1000) % 5
    X = (rng.normal(size=(1000, 5)) + 4 * np.eye(5)[y]).astype(np.float32)
    y_noisy = AsymmetricNoise(eps=0.4, random_state=0).fit_transform(y)

    clf = LECClassifier(method="relabel", eps=0.4, T_w=5, max_epochs=30, verbose=0, random_state=0).fit(X, y_noisy)

    assert label_precision_score(clf.clean_mask_, y_noisy != y) > 0.95
    assert label_recall_score(clf.clean_mask_, y_noisy != y) > 0.95


def test_relabel_does_not_memorize_what_standard_does(noisy_digits):
    X, _, y_noisy, X_test, y_test = noisy_digits
    settings = {"max_epochs": 40, "verbose": 0, "random_state": 0}

    relabel = LECClassifier(method="relabel", eps=0.6, T_w=10, **settings).fit(X, y_noisy)
    standard = LECClassifier(method="standard", **settings).fit(X, y_noisy)

    assert relabel.score(X_test, y_test) > standard.score(X_test, y_test) + 0.1


@given(
    evidence=st.lists(st.floats(-20, 20, width=32), min_size=1, max_size=50),
    eps=st.floats(0.01, 0.95),
    softness=st.floats(0.1, 5),
)
def test_trust_rises_with_the_evidence_and_keeps_its_quota(evidence, eps, softness):
    evidence = torch.tensor(evidence)

    trust = trust_in_labels(evidence, eps=eps, softness=softness)

    assert 1 - min(1.25 * eps, (1 + eps) / 2) - 1e-3 < float(trust.mean()) < 1 - eps + 1e-3
    # Vectorized and single values of torch's sigmoid differ in the last bit: equal evidence may be 1e-7 apart.
    assert (trust[evidence.argsort()].diff() >= -torch.finfo(trust.dtype).eps).all()


def test_more_labels_than_eps_are_doubted_only_if_they_lack_evidence():
    evidence = torch.cat([torch.full((60,), -3.0), torch.full((40,), 9.0)])  # 60 of 100 labels are wrong

    too_few, right = (trust_in_labels(evidence, eps=eps, softness=0.1) for eps in (0.5, 0.6))

    assert too_few.mean() == pytest.approx(0.4, abs=0.03)
    assert right.mean() == pytest.approx(0.4, abs=1e-3)
    assert trust_in_labels(evidence[60:], eps=0.2, softness=0.1).mean() == pytest.approx(0.8, abs=0.06)


def test_trust_without_softness_is_a_decision():
    trust = trust_in_labels(torch.tensor([4.0, -2.0, 3.0, 2.5, -1.0]), eps=0.4, softness=0)

    assert trust.round(decimals=3).tolist() == [1, 0, 1, 1, 0]


def test_a_label_that_often_stands_for_another_class_needs_more_evidence():
    predicted = torch.tensor([0] * 50 + [1] * 50 + [2] * 50)
    labels = torch.tensor([0] * 50 + [1] * 30 + [0] * 20 + [2] * 50)  # of class 1, 40 % are labelled 0
    matrix = confusion(predicted, labels, n_classes=3, eps=0.15)

    unsure = torch.tensor([[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])
    of_confused, of_others = evidence_for_labels(unsure, torch.tensor([0, 2]), matrix)

    assert of_confused < of_others


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"beta": 1.0}, "beta must be a number in"),
        ({"softness": -1}, "softness must be a number of at least 0"),
        ({"sharpness": "2"}, "sharpness must be a number above 0"),
    ],
)
def test_bad_parameters_are_refused(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        LECClassifier(TinyNet, method=Relabel(**parameters)).fit(*table)
