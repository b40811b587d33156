"""From parameters and data to the method, its networks and the optimizer."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn
from torchvision.models import ResNet18_Weights, mobilenet_v3_small, resnet18

from sklearn_lec import LECClassifier
from sklearn_lec._training.build import module_arguments
from sklearn_lec.modules import ResNet20
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
        ((5, 32, 32), {"in_features": 5120, "in_channels": 5}),
        ((64, 8, 8), {"in_features": 4096, "in_channels": 64}),
        ((5, 30, 40), {"in_features": 6000, "in_channels": 5}),
        ((30, 40, 3), {"in_features": 3600, "in_channels": 3}),
        ((1, 2, 2), {"in_features": 4, "in_channels": 1}),
        (None, {}),
    ],
)
def test_module_arguments_follow_from_the_shape_of_a_sample(shape, expected):
    names = ["in_features", "in_channels", "num_classes", "width"]

    assert module_arguments(names, shape, 7) == {"num_classes": 7} | expected


@pytest.mark.parametrize("shape", [(32, 32, 5), (5, 5, 32), (64, 8, 10), (4, 4, 1)])
def test_channels_that_may_be_first_or_last_are_not_guessed(shape):
    with pytest.raises(ValueError, match=f"module__in_channels={shape[0]} or module__in_channels={shape[2]}"):
        module_arguments(["in_channels"], shape, 7)


def test_channels_are_asked_for_only_where_the_module_has_to_know_them(quick):
    X, y = np.random.RandomState(0).rand(12, 8, 8, 5), np.arange(12) % 3

    of_user = LECClassifier(partial(ResNet20, width=1 / 8), module__in_channels=5, **quick).fit(X, y)
    without_channels = LECClassifier(**quick).fit(X, y)

    assert of_user.module_.stem[0].in_channels == 5
    assert without_channels.module_.body[1].in_features == 320


@pytest.fixture
def images():
    """Six images of 32x32 pixels in three classes."""
    return np.random.RandomState(0).rand(6, 3, 32, 32).astype(np.float32), np.arange(6) % 3


@pytest.mark.parametrize("builder", [resnet18, partial(resnet18, progress=False), mobilenet_v3_small])
def test_models_of_torchvision_get_the_number_of_classes(images, quick, builder):
    clf = LECClassifier(builder, **quick | {"max_epochs": 1, "T_w": 0}).fit(*images)

    assert clf.predict_proba(images[0]).shape == (6, 3)


@pytest.mark.parametrize("choice", [{"weights": ResNet18_Weights.DEFAULT}, {"weights": "DEFAULT"}])
@pytest.mark.parametrize("bound", [True, False])
def test_the_error_for_pretrained_weights_says_how_to_replace_the_last_layer(images, quick, choice, bound, monkeypatch):
    of_1000_classes = resnet18().state_dict()
    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", lambda *args, **kwargs: of_1000_classes)
    module = partial(resnet18, **choice) if bound else resnet18
    given = {} if bound else {f"module__{name}": value for name, value in choice.items()}

    with pytest.raises(ValueError, match=r"shape .6, 1000.*Pretrained weights .* replaces the last layer"):
        LECClassifier(module, **given, **quick).fit(*images)


def test_functions_of_the_user_get_only_arguments_that_they_name(table, quick):
    calls = []

    def make(in_features, **of_layer):
        calls.append(of_layer)
        return nn.Linear(in_features, 3, **of_layer)

    make.__module__ = None  # as of a function that exec has made

    clf = LECClassifier(make, module__bias=False, **quick).fit(*table)

    assert calls == [{"bias": False}]
    assert clf.module_.bias is None


def test_the_error_for_a_wrong_number_of_outputs_names_the_argument(table, quick):
    def make(**of_network):
        return TinyNet(**{"num_classes": 7} | of_network)

    with pytest.raises(ValueError, match="Set module__num_classes=3"):
        LECClassifier(make, **quick).fit(*table)

    assert LECClassifier(make, module__num_classes=3, **quick).fit(*table).predict_proba(table[0]).shape == (90, 3)
