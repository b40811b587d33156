"""trusted: samples whose labels are known to be right are learned from in every epoch, on their label."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn import config_context
from sklearn.model_selection import cross_val_score
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec._training.settle import settle_eps
from sklearn_lec.methods import METHODS, Batch, Selected
from tests._training.interruption import history_of, interrupted, power_cut, settings
from tests.helpers import OnBatch, TinyNet, weights

WRONG = np.arange(90) % 10 == 0
"""The samples of `table` with wrong labels, which methods leave out if they can."""

pytestmark = pytest.mark.filterwarnings("ignore:.*has no effect", "ignore:the whole training is warm-up")

whole_set = {"batch_size": -1, "lr": 0.05, "max_epochs": 8}


def started(name, *, trusted, **parameters):
    """Return a method past its warm-up, which knows which of its samples are trusted."""
    method = METHODS[name]()
    method.set_params(**{key: value for key, value in parameters.items() if key in method.get_params()})
    method.reset(len(trusted), n_classes=2)
    method.record.trusted = torch.tensor(trusted)
    method.epoch = 5
    return method


@pytest.mark.parametrize("method", METHODS)
def test_no_method_leaves_a_trusted_sample_out_of_any_epoch(table, quick, method):
    seen = []

    def look(net, batch):
        if batch.selected is not None:
            seen.append(batch.selected[:, WRONG[batch.samples]].all().item())

    clf = LECClassifier(TinyNet, **quick | {"method": method, "lr": 0.05, "T_k": 2}, callbacks=[OnBatch(look)])
    clf.fit(*table, trusted=WRONG)

    assert all(seen)
    assert (clf.clean_score_[WRONG] == 1).all()
    assert clf.clean_mask_[WRONG].all()


@pytest.mark.parametrize("method", ["self-training", "lnec", "ltec", "ltec-full", "co-teaching"])
def test_the_same_samples_are_left_out_if_they_are_not_trusted(table, quick, method):
    clf = LECClassifier(TinyNet, **quick | whole_set | {"method": method, "T_k": 2}).fit(*table)

    assert not clf.clean_mask_[WRONG].all()


@pytest.mark.parametrize("changes", [{"method": "ltec", "n_networks": 2}, {"method": "ltec", "separate_vote": True}])
def test_trusted_samples_stay_with_several_networks_and_with_votes_of_their_own(table, quick, changes):
    clf = LECClassifier(TinyNet, **quick | whole_set | changes).fit(*table, trusted=WRONG)

    assert (clf.clean_score_[WRONG] == 1).all()


def test_trusted_samples_stay_where_only_some_of_the_samples_are_candidates():
    method = started("ltec", trusted=[True, False, False], eps=0.0, M=1, T_w=0)
    method.record.candidates = torch.tensor([False, True, False])
    batch = Batch([torch.zeros(3, 2)], torch.tensor([0, 1, 0]), torch.arange(3), losses=torch.ones(1, 3))

    assert method.decide(batch).mask.tolist() == [[True, True, False]]


def test_a_share_of_eps_of_all_samples_is_left_out_and_chosen_among_those_that_are_not_trusted(table, quick):
    parameters = quick | whole_set | {"method": "self-training", "eps": 0.2}

    plain = LECClassifier(TinyNet, **parameters).fit(*table)
    clf = LECClassifier(TinyNet, **parameters).fit(*table, trusted=WRONG)

    assert plain.clean_mask_.sum() == clf.clean_mask_.sum() == 72


def test_where_all_samples_are_trusted_it_is_ordinary_training(table, quick):
    everything = np.ones(90, dtype=bool)

    clf = LECClassifier(TinyNet, **quick | {"eps": 0.5}).fit(*table, trusted=everything)
    standard = LECClassifier(TinyNet, **quick | {"method": "standard"}).fit(*table)

    assert clf.clean_mask_.all()
    assert torch.allclose(weights(clf), weights(standard), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_mask_that_trusts_no_sample_changes_nothing(table, quick, method):
    parameters = quick | {"method": method, "T_k": 2}

    plain = LECClassifier(TinyNet, **parameters).fit(*table)
    clf = LECClassifier(TinyNet, **parameters).fit(*table, trusted=np.zeros(90, dtype=bool))

    assert torch.equal(weights(clf), weights(plain))


# --- methods that learn from every sample -----------------------------------------------------------------------------


def test_relabel_keeps_trusted_labels_and_doubts_the_others_the_more():
    method = started("relabel", trusted=[True, True, False, False, False, False], eps=0.3, T_w=1)
    predicted = torch.tensor([[0.1, 0.9], [0.9, 0.1], [0.2, 0.8], [0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    method.record.memory["mean_prediction"][:] = predicted

    method.before_epoch(SimpleNamespace(samples=torch.arange(6), labels=torch.zeros(6, dtype=torch.int64)))

    trust = method.record.memory["trust"]
    assert trust[:2].tolist() == [1.0, 1.0]
    assert trust[2] < 0.5
    assert trust.mean() == pytest.approx(0.7, abs=0.05)


def loss_of(method, *, outputs, labels):
    return method.loss(nn.CrossEntropyLoss(reduction="sum"), Selected(outputs, labels, torch.arange(2)))


def test_forward_corrects_no_trusted_label():
    method = started("forward", trusted=[True, False])
    method.matrix = torch.tensor([[0.7, 0.3], [0.2, 0.8]])
    outputs, labels = torch.tensor([[2.0, 0.5], [2.0, 0.5]]), torch.tensor([1, 1])

    loss = loss_of(method, outputs=outputs, labels=labels)

    p = outputs.softmax(dim=1)[0]
    assert torch.allclose(loss, -p[1].log() - (method.matrix.T @ p)[1].log())


def test_d2l_mixes_no_prediction_into_a_trusted_label():
    method = started("d2l", trusted=[True, False])
    method.label_weight = 0.3
    outputs, labels = torch.tensor([[2.0, 0.5], [2.0, 0.5]]), torch.tensor([1, 1])

    loss = loss_of(method, outputs=outputs, labels=labels)

    log_p = outputs.log_softmax(dim=1)[0]
    assert torch.allclose(loss, -log_p[1] - (0.7 * log_p[0] + 0.3 * log_p[1]))


def test_elr_holds_no_earlier_prediction_against_a_trusted_label():
    method, plain = (METHODS["elr"]() for _ in range(2))
    for one in (method, plain):
        one.reset(2, n_classes=2)
    method.record.trusted = torch.ones(2, dtype=torch.bool)
    outputs, labels = torch.tensor([[2.0, 0.5], [2.0, 0.5]]), torch.tensor([1, 1])
    memory = {"mean_prediction": torch.tensor([[0.9, 0.1], [0.9, 0.1]])}

    def criterion(outputs, targets):
        return nn.functional.cross_entropy(outputs, targets)

    criterion.mean = torch.mean
    losses = [one.loss(criterion, Selected(outputs, labels, torch.arange(2), 0, memory)) for one in (method, plain)]

    assert losses[0] == criterion(outputs, labels)
    assert losses[1] < losses[0]


# --- eps --------------------------------------------------------------------------------------------------------------


def settled_eps(*, trusted, wrong_probability):
    method = started("ltec", trusted=trusted, eps="auto", M=2, T_w=1)
    estimate = SimpleNamespace(eps=np.nanmean(wrong_probability), wrong_probability=np.array(wrong_probability))
    settle_eps(method, SimpleNamespace(noise_estimate=lambda: estimate), np.arange(2))
    return method.eps


@pytest.mark.filterwarnings("ignore:eps='auto' is estimated too low")
def test_an_estimate_counts_no_label_as_wrong_that_is_trusted():
    wrong_probability = [0.9, 0.8, 0.1, 0.1, 0.1]

    assert settled_eps(trusted=[False] * 5, wrong_probability=wrong_probability) == pytest.approx(0.4)
    assert settled_eps(trusted=[True] + [False] * 4, wrong_probability=wrong_probability) == pytest.approx(0.22)
    assert settled_eps(trusted=[True] * 5, wrong_probability=wrong_probability) == 0


def test_an_estimate_from_labels_that_were_corrected_is_warned_of():
    with pytest.warns(UserWarning, match=r"estimated too low .* eps=corrections\.eps_left\(clf\.noise_estimate_\)"):
        settled_eps(trusted=[True, False], wrong_probability=[0.1, 0.1])


def test_more_wrong_labels_than_samples_that_are_not_trusted_are_warned_of(table, quick):
    trusted = np.arange(90) < 80

    with pytest.warns(UserWarning, match=r"eps=0.2 of 90 labels .* only 10 samples are not trusted"):
        LECClassifier(TinyNet, **quick).fit(*table, trusted=trusted)


# --- what is accepted, and where it goes ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, torch.tensor, lambda mask: np.array(mask, dtype=object)])
def test_any_kind_of_mask_is_taken(table, quick, kind):
    expected = LECClassifier(TinyNet, **quick).fit(*table, trusted=WRONG)

    clf = LECClassifier(TinyNet, **quick).fit(*table, trusted=kind(WRONG.tolist()))

    assert torch.equal(weights(clf), weights(expected))


@pytest.mark.parametrize(
    ("trusted", "error", "message"),
    [
        (np.flatnonzero(WRONG), TypeError, r"boolean for each sample, got dtype int64\. For sample numbers write"),
        (WRONG[:80], ValueError, r"must have shape \(90,\).*If samples were dropped from X, drop them from trusted"),
        (WRONG[:, None], ValueError, r"got shape \(90, 1\)"),
        ("all", TypeError, "boolean for each sample"),
    ],
)
def test_anything_but_a_boolean_for_each_sample_is_refused(table, quick, trusted, error, message):
    clf = LECClassifier(TinyNet, **quick)

    with pytest.raises(error, match=message):
        clf.fit(*table, trusted=trusted)
    assert not clf.initialized_


def test_trusted_and_weights_go_together(table, quick):
    parameters = quick | whole_set

    weighted = LECClassifier(TinyNet, **parameters).fit(*table, trusted=WRONG, sample_weight=np.arange(90) + 1.0)
    plain = LECClassifier(TinyNet, **parameters).fit(*table, trusted=WRONG)

    assert (weighted.clean_score_[WRONG] == 1).all()
    assert not torch.allclose(weights(weighted), weights(plain), atol=1e-5)


def test_the_mask_is_routed_through_a_cross_validation(table, quick):
    counts = []

    class Recording(LECClassifier):
        def partial_fit(self, X, y=None, classes=None, *, trusted=None, **fit_params):
            counts.append(trusted.sum())
            return super().partial_fit(X, y, classes, trusted=trusted, **fit_params)

    with config_context(enable_metadata_routing=True):
        routed = Recording(TinyNet, **quick).set_fit_request(trusted=True)
        cross_val_score(routed, *table, cv=3, params={"trusted": WRONG})

    assert sum(counts) == 2 * WRONG.sum()


def test_the_module_gets_no_trusted_among_its_fit_params(table, quick):
    seen = set()

    class WithKeywords(TinyNet):
        def forward(self, x, **fit_params):
            seen.update(fit_params)
            return super().forward(x)

    LECClassifier(WithKeywords, **quick).fit(*table, trusted=WRONG, extra=1)

    assert seen == {"extra"}


def test_a_later_call_has_its_own_mask(table, quick):
    clf = LECClassifier(TinyNet, **quick | whole_set).fit(*table, trusted=WRONG)

    clf = pickle.loads(pickle.dumps(clf)).partial_fit(*table)

    assert not clf.clean_mask_[WRONG].all()


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ltec", "relabel"])
def test_a_resumed_training_trusts_the_same_samples(table, tmp_path, method):
    parameters = settings(method)
    expected = LECClassifier(**parameters).fit(*table, trusted=WRONG)

    resumed = interrupted(table, tmp_path, fit_params={"trusted": WRONG}, **parameters)

    assert torch.equal(weights(resumed), weights(expected))
    assert history_of(resumed) == history_of(expected)


@pytest.mark.parametrize("other", [None, ~WRONG])
def test_a_run_that_trusts_other_samples_is_another_run(table, tmp_path, other):
    with power_cut(epoch=2):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table, trusted=WRONG)

    with pytest.raises(ValueError, match=r"holds a run that differs in trusted\."):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table, trusted=other)
