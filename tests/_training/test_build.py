"""From parameters and data to the method, its networks and the optimizer."""

import pytest
import torch

from sklearn_lec import LECClassifier
from sklearn_lec._training.build import module_arguments
from tests.helpers import TinyNet


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.AdamW])
def test_adam_is_fused(table, quick, optimizer):
    clf = LECClassifier(TinyNet, optimizer=optimizer, **quick).fit(*table)

    assert clf.optimizer_.param_groups[0]["fused"]


@pytest.mark.parametrize("choice", [{"fused": False}, {"foreach": True}, {"capturable": False}])
def test_what_the_user_says_of_adam_is_left_alone(table, quick, choice):
    named = {f"optimizer__{name}": value for name, value in choice.items()}
    clf = LECClassifier(TinyNet, **named, **quick).fit(*table)

    assert not clf.optimizer_.param_groups[0]["fused"]


def test_other_optimizers_are_left_alone(table, quick):
    clf = LECClassifier(TinyNet, optimizer=torch.optim.SGD, **quick).fit(*table)

    assert not clf.optimizer_.param_groups[0]["fused"]


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((5,), {"in_features": 5}),
        ((28, 28), {"in_features": 784, "in_channels": 1}),
        ((1, 28, 28), {"in_features": 784, "in_channels": 1}),
        ((32, 32, 3), {"in_features": 3072, "in_channels": 3}),
        ((3, 32, 32), {"in_features": 3072, "in_channels": 3}),
        (None, {}),
    ],
)
def test_module_arguments_follow_from_the_shape_of_a_sample(shape, expected):
    assert module_arguments(shape, 7) == {"num_classes": 7} | expected
