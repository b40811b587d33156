"""Methods of the user's own through pickles, saved parameters and checkpoints."""

import pickle

import numpy as np
import pytest
import torch
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec.methods import ELR, LTEC, Method, Relabel
from tests._training.interruption import power_cut
from tests.helpers import TinyNet, weights, without
from tests.methods.own_methods import Majority, SelfLabelling

METHODS = [LTEC(M=2), SelfLabelling(threshold=0.5), Majority(M=2), ELR(beta=0.5), Relabel(beta=0.5)]


@pytest.fixture
def settings(quick):
    return without(quick, "M", "T_w")


@pytest.mark.parametrize("method", METHODS)
def test_a_method_goes_on_after_pickle_and_from_saved_parameters(table, settings, method, tmp_path):
    settings = settings | {"T_w": 1, "random_state": None, "iterator_train__shuffle": False}
    settings |= {"callbacks__linear_decay": None, "module__num_classes": 3}
    clf = LECClassifier(TinyNet, method=method, **settings | {"eps": 0.3}).fit(*table)
    files = {f"f_{part}": tmp_path / part for part in ("params", "optimizer", "history", "method")}
    clf.save_params(**files)
    loaded = LECClassifier(TinyNet, method=method, **settings | {"eps": 0.3}).initialize()
    loaded.load_params(**files)

    copies = [pickle.loads(pickle.dumps(clf)), loaded]
    for net in (clf, *copies):
        net.partial_fit(*table)

    for copy in copies:
        assert torch.equal(weights(copy), weights(clf))
        assert str(copy.method_.state_dict()) == str(clf.method_.state_dict())


@pytest.mark.parametrize("method", METHODS)
def test_a_method_resumes_from_checkpoints(table, settings, method, tmp_path):
    settings = {"T_w": 1, "eps": 0.3, **settings, "max_epochs": 6}
    expected = LECClassifier(TinyNet, method=method, **settings).fit(*table)
    with power_cut(epoch=4):
        LECClassifier(TinyNet, method=method, checkpoint_dir=tmp_path, **settings).fit(*table)

    resumed = LECClassifier(TinyNet, method=method, checkpoint_dir=tmp_path, **settings).fit(*table)

    assert torch.equal(weights(resumed), weights(expected))
    assert np.array_equal(resumed.clean_score_, expected.clean_score_)


def test_a_run_with_another_parameter_of_the_method_is_not_resumed(table, settings, tmp_path):
    LECClassifier(TinyNet, method=SelfLabelling(threshold=0.5), checkpoint_dir=tmp_path, **settings).fit(*table)

    with pytest.raises(ValueError, match="holds a run that differs in method"):
        LECClassifier(TinyNet, method=SelfLabelling(threshold=0.6), checkpoint_dir=tmp_path, **settings).fit(*table)


def test_what_cannot_be_saved_is_named_when_it_is_written(table, settings, tmp_path):
    class Careless(Method):
        def before_epoch(self, context):
            self.network = nn.Linear(1, 1)

    with pytest.raises(TypeError, match=r"checkpoint_dir cannot save method_\.network, which is a Linear"):
        LECClassifier(TinyNet, method=Careless, checkpoint_dir=tmp_path, **settings).fit(*table)


def test_the_state_of_another_number_of_networks_does_not_change_how_many_there_are(table, settings):
    one = LECClassifier(TinyNet, method="relabel", **settings | {"T_w": 1}).fit(*table)
    two = LECClassifier(TinyNet, method="relabel", n_networks=2, **settings | {"T_w": 1}).fit(*table)

    two.method_.load_state_dict(one.method_.state_dict())

    assert two.method_.n_networks == 2
    assert two.predict(table[0]).shape == (90,)
