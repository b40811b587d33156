import pytest
import torch

from sklearn_lec import LECClassifier
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
