"""Several networks side by side: one vote together, predictions averaged."""

import numpy as np
import pytest
import torch

from sklearn_lec import LECClassifier
from sklearn_lec.methods import ELR, LTEC, METHODS, Batch
from sklearn_lec.modules import NetworkEnsemble
from tests._training.interruption import power_cut
from tests.helpers import TinyNet, weights, without

AVERAGING = [name for name, method in METHODS.items() if method.averages_networks]


@pytest.fixture
def settings(quick):
    return quick | {"module__num_classes": 3}


def taken_by(method, settings):
    """Return the settings without those that a method would warn of."""
    unused = {"M", "T_w"} - set(METHODS[method]._get_param_names())
    return without(settings, *unused)


def test_methods_with_one_vote_for_all_networks_are_these():
    assert AVERAGING == ["standard", "self-training", "ltec", "ltec-full", "elr", "relabel"]


@pytest.mark.parametrize("method", AVERAGING)
def test_several_networks_learn_from_the_same_samples_and_predict_together(table, settings, method):
    X, y = table

    clf = LECClassifier(TinyNet, method=method, n_networks=3, **taken_by(method, settings)).fit(X, y)

    assert isinstance(clf.module_, NetworkEnsemble)
    outputs = torch.stack([network(torch.from_numpy(X)) for network in clf.module_.networks])
    np.testing.assert_allclose(clf.predict_proba(X), outputs.softmax(-1).mean(0).detach(), atol=1e-6)
    assert not torch.equal(outputs[0], outputs[1])
    assert clf.clean_mask_.sum() == clf.history[-1, "n_selected"]


@pytest.mark.parametrize("method", AVERAGING)
def test_one_network_is_what_these_methods_need(table, settings, method):
    one, default = (
        LECClassifier(TinyNet, method=method, n_networks=n, **taken_by(method, settings)).fit(*table) for n in (1, None)
    )

    assert torch.equal(weights(one), weights(default))


def test_a_loss_is_small_if_the_mean_over_the_networks_is():
    method = LTEC(eps=0.5, M=1, T_w=0)
    method.n_networks = 2
    method.reset(4, n_classes=2)
    method.begin_epoch()
    losses = torch.tensor([[0.0, 1.0, 2.0, 9.0], [5.0, 1.0, 2.0, 0.0]])  # means: 2.5, 1, 2, 4.5

    selection = method.select(Batch([], torch.zeros(4).long(), torch.arange(4), losses=losses))

    assert selection.mask.tolist() == [[False, True, True, False]]


@pytest.mark.parametrize("separate_vote", [True, False])
def test_votes_of_several_networks_may_have_a_pass_of_their_own(table, settings, separate_vote):
    clf = LECClassifier(TinyNet, n_networks=2, separate_vote=separate_vote, **settings).fit(*table)

    assert 0 < clf.clean_mask_.sum() <= 75


def test_two_networks_that_were_interrupted_go_on(table, settings, tmp_path):
    settings = settings | {"max_epochs": 6, "n_networks": 2, "method": "ltec"}
    whole = LECClassifier(TinyNet, **settings).fit(*table)
    with power_cut(epoch=4):
        LECClassifier(TinyNet, checkpoint_dir=tmp_path, **settings).fit(*table)

    resumed = LECClassifier(TinyNet, checkpoint_dir=tmp_path, **settings).fit(*table)

    assert torch.equal(weights(resumed), weights(whole))


def test_the_folds_of_an_estimate_train_as_many_networks(table, settings):
    clf = LECClassifier(TinyNet, n_networks=2, **settings | {"eps": "auto", "max_epochs": 8})

    assert clf.fit(*table).noise_estimate_.wrong_probability.shape == (90,)


@pytest.mark.parametrize(
    ("method", "n_networks", "error", "message"),
    [
        ("co-teaching", 3, ValueError, "n_networks=3 does not fit method='co-teaching', which trains 2 network"),
        ("lnec", 3, ValueError, "Any number can be trained by standard, self-training, ltec, ltec-full, elr"),
        ("forward", 2, ValueError, "Leave n_networks at None"),
        ("ltec", 0, ValueError, "n_networks must be at least 1, got 0"),
        ("ltec", 2.0, TypeError, "n_networks must be a whole number or None, got 2.0"),
        ("ltec", True, TypeError, "n_networks must be a whole number or None, got True"),
    ],
)
def test_numbers_of_networks_that_a_method_cannot_train_are_refused(table, method, n_networks, error, message):
    with pytest.raises(error, match=message):
        LECClassifier(TinyNet, method=method, n_networks=n_networks, verbose=0).fit(*table)


def test_an_instance_of_a_network_cannot_be_trained_twice(table, settings):
    with pytest.raises(TypeError, match="trains 2 networks that start from different weights"):
        LECClassifier(TinyNet(), n_networks=2, **without(settings, "module__num_classes")).fit(*table)


def test_a_training_under_way_keeps_its_number_of_networks(table, settings):
    clf = LECClassifier(TinyNet, n_networks=2, **settings).fit(*table)

    with pytest.raises(ValueError, match=r"with 2 network.*n_networks=3 cannot go on with it"):
        clf.set_params(n_networks=3).partial_fit(*table)


def test_the_number_of_networks_is_for_instances_of_methods_too(table, settings):
    clf = LECClassifier(TinyNet, method=ELR(beta=0.5), n_networks=2, **without(settings, "M", "T_w")).fit(*table)

    assert clf.method_.n_networks == 2
