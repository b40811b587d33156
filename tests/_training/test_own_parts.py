"""Subclasses that build the network, the criterion or the optimizer by themselves."""

import numpy as np
import pytest
import torch
from sklearn import config_context
from torch import nn

from sklearn_lec import LECClassifier
from tests._training.interruption import power_cut, settings
from tests.helpers import OnBatch, TinyNet, weights


class OwnCriterion(LECClassifier):
    """The criterion under another name, and the loss that comes with it."""

    def initialize_criterion(self):
        self.loss_ = nn.CrossEntropyLoss()
        return self

    def get_loss(self, y_pred, y_true, *args, **kwargs):
        return self.loss_(y_pred, y_true)


class TwoModules(LECClassifier):
    def initialize_module(self):
        super().initialize_module()
        self.scaling_ = nn.Linear(4, 4)
        return self

    def infer(self, x, **fit_params):
        return super().infer(self.scaling_(x), **fit_params)


class OwnOptimizers(LECClassifier):
    """An optimizer for each layer, and none of them with skorch's name."""

    def initialize_optimizer(self):
        first, _, second = self.module_.layers
        self.first_ = torch.optim.Adam(first.parameters(), lr=self.lr)
        self.second_ = torch.optim.Adam(second.parameters(), lr=self.lr)
        return self


def ordinary(quick):
    return {name: value for name, value in quick.items() if name not in ("T_w", "M")} | {"method": "standard"}


@pytest.mark.parametrize("criterion", [nn.CrossEntropyLoss, None])
def test_ordinary_training_takes_a_criterion_of_another_name(table, quick, criterion):
    usual = LECClassifier(TinyNet, **ordinary(quick)).fit(*table)

    ours = OwnCriterion(TinyNet, criterion=criterion, **ordinary(quick)).fit(*table)

    assert torch.equal(weights(ours), weights(usual))


def test_a_criterion_that_a_subclass_builds_is_checked_before_training(table, quick):
    class OnlyMeans(LECClassifier):
        def initialize_criterion(self):
            self.criterion_ = nn.Module()
            return self

    with pytest.raises(TypeError, match="the criterion Module cannot give one loss per sample"):
        OnlyMeans(TinyNet, **quick).fit(*table)


def test_the_schedule_reaches_every_optimizer(table, quick):
    seen = []

    def look(net, batch):
        seen.append([optimizer.param_groups[0]["lr"] for optimizer in (net.first_, net.second_)])

    quick |= {"batch_size": -1, "max_epochs": 5, "lr": 1.0}
    clf = OwnOptimizers(TinyNet, **quick, callbacks=[OnBatch(look)]).fit(*table)

    assert np.array(seen) == pytest.approx(np.array([[1, 1], [1, 1], [1, 1], [2 / 3, 2 / 3], [1 / 3, 1 / 3]]))
    assert [optimizer.param_groups[0]["lr"] for optimizer in (clf.first_, clf.second_)] == [1.0, 1.0]


@pytest.mark.parametrize("estimator", [TwoModules, OwnCriterion, OwnOptimizers])
def test_parts_of_any_name_are_resumed(table, tmp_path, estimator):
    parameters = ordinary(settings()) | {"module": TinyNet, "checkpoint_dir": tmp_path}
    expected = estimator(**parameters | {"checkpoint_dir": None}).fit(*table)
    with power_cut(epoch=4):
        estimator(**parameters).fit(*table)

    resumed = estimator(**parameters).fit(*table)

    assert torch.equal(weights(resumed), weights(expected))


@pytest.mark.parametrize("called", ["fit", "partial_fit"])
def test_arguments_of_forward_can_be_asked_for_beside_weights(table, quick, called):
    factors = []

    class Scaled(TinyNet):
        def forward(self, x, factor=None):
            factors.append(factor)
            return super().forward(x)

    class Own(LECClassifier):
        """Of a subclass, too."""

    for estimator in (LECClassifier, Own):
        clf = estimator(Scaled, **quick)
        with config_context(enable_metadata_routing=True):
            getattr(clf, f"set_{called}_request")(factor=True, sample_weight=True)
            getattr(clf, called)(*table, factor=2, sample_weight=np.ones(90))

    assert set(factors) == {2}


def test_an_argument_that_nobody_asked_for_is_refused_before_anything_is_built(table, quick):
    clf = LECClassifier(TinyNet, **quick)

    with config_context(enable_metadata_routing=True), pytest.raises(TypeError, match="unexpected argument"):
        clf.fit(*table, unknown=1)

    assert not clf.initialized_
