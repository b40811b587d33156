"""The criterion as methods see it: weights of samples and classes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sklearn_lec._training.criterion import WeightedCriterion, nonlinearity_of
from sklearn_lec._training.step import FilteredLoss
from sklearn_lec.methods import SelfTraining

WEIGHTS = torch.tensor([1.0, 4.0])


def test_losses_are_compared_as_they_would_be_without_class_weights():
    method = SelfTraining(eps=0.5, T_w=0)
    method.reset(2, n_classes=2)
    loss = FilteredLoss(method, nn.CrossEntropyLoss(weight=WEIGHTS), nn.Identity())
    probabilities = torch.tensor([[0.6, 0.4], [0.5, 0.5]])
    outputs = (probabilities * WEIGHTS).log()  # what a network learns to return

    losses = loss.sample_losses((outputs,), torch.tensor([0, 1]))

    assert torch.allclose(losses, -torch.tensor([[0.6, 0.5]]).log())


def test_probabilities_of_a_class_without_weight_are_finite():
    nonlinearity = nonlinearity_of(nn.CrossEntropyLoss(weight=torch.tensor([0.0, 2.0])))

    assert torch.allclose(nonlinearity(torch.tensor([[0.2, 0.8]]).log()), torch.tensor([[1 / 3, 2 / 3]]))


@pytest.mark.parametrize("sample_weight", [None, torch.tensor([1.0, 0.5, 2.0])])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_label_and_its_probability_of_one_have_the_same_loss(sample_weight, reduction):
    criterion = nn.CrossEntropyLoss(weight=WEIGHTS, reduction=reduction)
    weighted = WeightedCriterion(criterion, criterion, sample_weight)
    outputs, labels = torch.tensor([[1.0, 0.0], [0.5, -0.5], [0.0, 2.0]]), torch.tensor([0, 1, 0])

    as_labels, as_probabilities = weighted(outputs, labels), weighted(outputs, F.one_hot(labels, 2).float())

    assert torch.allclose(as_probabilities, as_labels)
