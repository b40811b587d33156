"""What errors leave behind, and what a trained net refuses; the table of errors is walked in test_error_table.py."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from skorch.dataset import Dataset as SkorchDataset
from skorch.helper import predefined_split
from torch import nn
from torch.utils.data import IterableDataset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from tests.helpers import TinyNet

X = np.random.RandomState(0).normal(size=(30, 4))
y = np.arange(30) % 3


class Endless(IterableDataset):
    def __iter__(self):
        yield X[0], 0


class MeanOnly(nn.Module):
    def forward(self, outputs, labels):
        return nn.functional.cross_entropy(outputs, labels)


class PerOutput(nn.Module):
    reduction = "mean"

    def forward(self, outputs, labels):
        losses = (outputs - nn.functional.one_hot(labels, 3)) ** 2
        return losses if self.reduction == "none" else losses.mean()


class Pair(TinyNet):
    def forward(self, x):
        return super().forward(x), x


class Flat(TinyNet):
    def forward(self, x):
        return super().forward(x)[:, 0]


def with_value(value):
    changed = X.copy()
    changed[3, 2] = value
    return changed


@pytest.mark.parametrize(
    ("parameters", "X"), [({}, with_value(np.nan)), ({"criterion": MeanOnly}, X), ({"eps": 2}, X), ({"M": 0}, X)]
)
def test_a_failed_fit_leaves_no_net_that_predicts(quick, parameters, X):
    clf = LECClassifier(**quick | parameters)

    with pytest.raises((ValueError, TypeError)):
        clf.fit(X, y)

    assert not clf.initialized_
    with pytest.raises(NotFittedError):
        clf.predict(np.zeros((2, 4)))


def test_standard_takes_a_criterion_that_only_gives_means(quick):
    clf = LECClassifier(TinyNet, method="standard", criterion=MeanOnly, **quick).fit(X, y)

    assert clf.predict(X).shape == (30,)


@pytest.mark.parametrize("method", METHODS)
def test_warming_up_that_never_ends_is_warned_of(quick, method, recwarn):
    LECClassifier(TinyNet, method=method, **quick | {"T_w": 3}).fit(X, y)

    messages = [str(w.message) for w in recwarn if "T_w=3 is not smaller than max_epochs=3" in str(w.message)]
    assert len(messages) == ("T_w" in METHODS[method].parameters)


@pytest.mark.parametrize(
    ("method", "given", "n_warnings"),
    [("d2l", {"W": 3}, 1), ("d2l", {"W": 2}, 0), ("co-teaching", {"T_k": 4}, 1), ("co-teaching", {"T_k": 3}, 0)],
)
def test_a_training_too_short_for_the_method_is_warned_of(quick, method, given, n_warnings, recwarn):
    LECClassifier(TinyNet, method=method, **quick | given | {"max_epochs": 3}).fit(X, y)

    warned = [w for w in recwarn if "max_epochs=3: " in str(w.message)]
    assert len(warned) == n_warnings
    assert all(w.filename == __file__ for w in warned)


def test_predict_before_fit_says_so():
    with pytest.raises(NotFittedError):
        LECClassifier().predict(X)


@pytest.mark.parametrize(
    ("X_new", "message"),
    [(X[:, :3], "3 features, but LECClassifier is expecting 4"), (with_value(np.nan), "contains NaN")],
)
def test_bad_data_is_refused_by_predict(quick, X_new, message):
    clf = LECClassifier(**quick).fit(X, y)

    with pytest.raises(ValueError, match=message):
        clf.predict(X_new)


def test_partial_fit_refuses_labels_that_the_network_has_no_output_for(quick):
    clf = LECClassifier(**quick).fit(X, y)

    with pytest.raises(ValueError, match="y holds the label 3, which is not among the classes"):
        clf.partial_fit(X, y + 1)


@pytest.mark.parametrize(("shift", "classes"), [(1, [1, 2, 3]), (0, [0, 1, 2, 3])])
def test_partial_fit_refuses_to_give_the_outputs_another_meaning(quick, shift, classes):
    clf = LECClassifier(**quick).fit(X, y)

    with pytest.raises(ValueError, match="are not those of the training under way"):
        clf.partial_fit(X, y + shift, classes=classes)

    assert clf.classes_.tolist() == [0, 1, 2]


def test_a_label_that_only_the_validation_set_has_is_named(quick):
    valid = predefined_split(SkorchDataset(X.astype(np.float32), y + 1))

    with pytest.raises(ValueError, match="y holds the label 3, which is not among the classes"):
        LECClassifier(**quick, train_split=valid).fit(X, y)


def test_partial_fit_refuses_another_method(quick):
    clf = LECClassifier(**quick).fit(X, y).set_params(method="lnec")

    with pytest.raises(ValueError, match="Call fit, or initialize first"):
        clf.partial_fit(X, y)
