import pytest
import torch
from torch import nn

from sklearn_lec._training.torch_utils import (
    batchnorm_in_evaluation,
    batchnorm_statistics,
    mend_batchnorm,
    one_loss_per_sample,
    untracked_batchnorm,
)


def test_untracked_batchnorm_uses_the_batch_and_leaves_the_running_statistics_alone():
    layer, x = nn.BatchNorm1d(2), torch.rand(8, 2) + 5
    before = layer.running_mean.clone()

    with untracked_batchnorm(layer):
        outputs = layer(x)

    assert torch.equal(layer.running_mean, before)
    assert outputs.mean().abs() < 1e-5
    assert layer.track_running_stats


def test_batchnorm_in_evaluation_takes_a_single_sample():
    layer = nn.BatchNorm1d(2)

    with batchnorm_in_evaluation(layer):
        outputs = layer(torch.ones(1, 2))

    assert torch.allclose(outputs, torch.ones(1, 2), atol=1e-4)
    assert layer.training


def test_mending_puts_back_only_statistics_that_are_not_finite():
    good, bad = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    network = nn.Sequential(good, bad)
    bad.running_mean.fill_(2.0)
    before = batchnorm_statistics(network)
    good.running_mean.fill_(3.0)
    bad.running_mean.fill_(float("nan"))

    mend_batchnorm(network, before)

    assert good.running_mean.tolist() == [3.0, 3.0]
    assert bad.running_mean.tolist() == [2.0, 2.0]


def test_one_loss_per_sample_leaves_class_weights_out_and_puts_everything_back():
    weight = torch.tensor([1.0, 9.0])
    criterion, outputs, labels = nn.CrossEntropyLoss(weight=weight), torch.zeros(2, 2), torch.tensor([0, 1])

    with one_loss_per_sample(criterion):
        losses = criterion(outputs, labels)

    assert losses[0] == losses[1]
    assert criterion.reduction == "mean"
    assert torch.equal(criterion.weight, weight)


def test_switches_are_turned_back_after_an_error():
    criterion = nn.CrossEntropyLoss()

    with pytest.raises(KeyError), one_loss_per_sample(criterion):
        raise KeyError

    assert criterion.reduction == "mean"
