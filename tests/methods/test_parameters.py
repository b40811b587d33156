"""Parameters that belong to one method: bad values, warnings where they are not used, attributes and states."""

import warnings

import numpy as np
import pytest
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec.methods import LTEC, METHODS
from tests.helpers import TinyNet, without


class Auxiliary(TinyNet):
    def __init__(self, in_features=4, num_classes=3):
        super().__init__(in_features, num_classes)
        self.unused = nn.Linear(8, 2)


class NoLinear(nn.Module):
    def __init__(self, in_features, num_classes):
        super().__init__()
        self.conv = nn.Conv1d(1, num_classes, in_features)

    def forward(self, x):
        return self.conv(x.unsqueeze(1)).squeeze(2)


def test_the_state_of_another_method_is_refused():
    with pytest.raises(ValueError, match="the state of Standard, and cannot be loaded into D2L"):
        METHODS["d2l"](W=4, lid_layer=None).load_state_dict(METHODS["standard"]().state_dict())


def test_defaults_of_a_subclass_are_not_warned_of(table, quick):
    class Patient(LECClassifier):
        def __init__(self, module=TinyNet, *, T_w=3, **kwargs):
            super().__init__(module, T_w=T_w, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Patient(method="standard", **without(quick, "M", "T_w")).fit(*table)


def test_a_loaded_state_is_a_copy():
    method, other = METHODS["d2l"](W=4, lid_layer=None), METHODS["d2l"](W=4, lid_layer=None)
    method.lid_history_ = [1.0]
    other.load_state_dict(method.state_dict())

    other.lid_history_.append(2.0)

    assert method.lid_history_ == [1.0]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"method": "d2l", "module": NoLinear},
            ValueError,
            "NoLinear has none. Name the layer with lid_layer; layers: conv",
        ),
        (
            {"method": "d2l", "lid_layer": "top"},
            ValueError,
            "lid_layer='top' is not a layer of the module. Its layers: ",
        ),
        ({"method": "d2l", "module": Auxiliary}, ValueError, "takes no part in the network. Name the classifier head"),
        ({"method": "d2l", "criterion__reduction": "none"}, ValueError, "criterion__reduction must not be 'none'"),
        ({"method": "d2l", "W": 1}, ValueError, "W must be at least 2, got 1"),
        ({"method": "d2l", "W": 2.5}, TypeError, "W must be a whole number of epochs, got 2.5"),
        ({"method": "co-teaching", "T_k": 0}, ValueError, "T_k must be at least 1, got 0"),
        ({"method": "forward", "percentile": 101}, ValueError, r"percentile must lie in \[0, 100\], got 101"),
        ({"method": "forward", "percentile": "97"}, TypeError, "percentile must be a number from 0 to 100, got '97'"),
        ({"method": "forward", "corruption_matrix": np.eye(2)}, ValueError, "is for 2 classes, but y has 3"),
        ({"method": "forward", "corruption_matrix": np.ones((3, 3))}, ValueError, "sum to 1 in each row"),
        ({"method": "forward", "criterion": nn.MultiMarginLoss}, TypeError, "corrects the cross-entropy of logits"),
        ({"method": "co-teaching", "module": TinyNet(4, 3)}, TypeError, "trains 2 networks"),
    ],
)
def test_bad_parameters_are_refused_before_training(table, quick, parameters, error, message):
    clf = LECClassifier(**without(quick, "M", "T_w") | parameters)

    with pytest.raises(error, match=message):
        clf.fit(*table)

    assert not clf.history


@pytest.mark.parametrize(
    ("method", "parameters", "unused"),
    [
        ("ltec", {"T_k": 5}, ["T_k=5"]),
        ("ltec", {"M": 3, "T_w": 2}, []),
        ("standard", {"eps": 0.6}, []),
        ("standard", {"M": 3, "percentile": 100}, ["M=3", "percentile=100"]),
        (LTEC(M=2), {"M": 3, "T_k": 5}, ["M=3", "T_k=5"]),
        (LTEC(M=2), {"T_w": 2}, []),
        (LTEC(eps=0.1), {"eps": 0.3}, ["eps=0.3"]),
        ("co-teaching", {"T_k": 5}, []),
        ("co-teaching", {"T_w": 2}, ["T_w=2"]),
        ("self-training", {"M": 3, "T_w": 2}, ["M=3"]),
        ("d2l", {"corruption_matrix": np.eye(3), "W": 5}, ["corruption_matrix=array"]),
    ],
)
def test_parameters_that_the_method_does_not_use_are_warned_of(table, quick, method, parameters, unused):
    settings = without(quick, "M", "T_w") | {"max_epochs": 11} | parameters
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LECClassifier(TinyNet, method=method, **settings).fit(*table)

    messages = sorted(str(w.message) for w in caught if "has no effect" in str(w.message))
    assert len(messages) == len(unused)
    assert all(message.startswith(name) for message, name in zip(messages, sorted(unused), strict=True))


@pytest.mark.parametrize("name", ["corruption_matrix_", "lid_history_", "turning_epoch_"])
def test_attributes_of_one_method_are_not_there_for_another(table, quick, name):
    assert not hasattr(LECClassifier(TinyNet, **quick).fit(*table), name)


def test_a_training_of_no_epoch_is_warned_of_once(table, quick):
    with pytest.warns(UserWarning, match="max_epochs=0: the network is built, but not trained") as caught:
        clf = LECClassifier(TinyNet, **quick | {"max_epochs": 0}).fit(*table)

    assert len(caught) == 1
    assert len(clf.history) == 0
    assert clf.classes_.tolist() == [0, 1, 2]
