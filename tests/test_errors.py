"""What bad input gets: an error before any training that names the parameter, the value and the fix."""

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import TinyNet
from scipy import sparse
from sklearn.exceptions import NotFittedError
from skorch.dataset import Dataset as SkorchDataset
from skorch.helper import predefined_split
from torch import nn
from torch.utils.data import IterableDataset, TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality, LinearDecay
from sklearn_lec.methods import METHODS

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
    ("parameters", "error", "message"),
    [
        (
            {"method": "letc"},
            ValueError,
            r"unknown method 'letc'; did you mean 'ltec'\? Methods: standard, self-training",
        ),
        ({"method": None}, ValueError, "unknown method None; Methods: standard"),
        ({"eps": 20}, ValueError, r"eps must lie in \[0, 1\), got 20. .* for 20 % wrong labels write eps=0.2"),
        ({"eps": 1.0}, ValueError, r"eps must lie in \[0, 1\), got 1.0"),
        ({"eps": -0.1}, ValueError, r"eps must lie in \[0, 1\), got -0.1"),
        ({"eps": float("nan")}, TypeError, r"eps must be a number in \[0, 1\), got nan"),
        ({"eps": "0.2"}, TypeError, r"eps must be a number in \[0, 1\), got '0.2'"),
        ({"M": 0}, ValueError, "M must be a whole number of at least 1, or inf, got 0"),
        ({"M": 2.5}, ValueError, "M must be a whole number of at least 1, or inf, got 2.5"),
        ({"M": -np.inf}, ValueError, "M must be a whole number of at least 1, or inf, got -inf"),
        ({"M": "5"}, TypeError, "M must be a whole number or inf, got '5'"),
        ({"M": np.inf, "method": "lnec"}, ValueError, "M=inf does not fit method='lnec'"),
        ({"M": np.inf, "method": "lsec"}, ValueError, "M=inf does not fit method='lsec'"),
        ({"T_w": -1}, ValueError, "T_w must be at least 0, got -1"),
        ({"T_w": 1.5}, TypeError, "T_w must be a whole number of epochs, got 1.5"),
        ({"random_state": "seed"}, ValueError, "'seed' cannot be used to seed"),
        ({"criterion": MeanOnly}, TypeError, "criterion MeanOnly cannot give one loss per row.*CrossEntropyLoss"),
        (
            {"criterion": nn.MSELoss},
            ValueError,
            "criterion MSELoss cannot compare logits of shape .2, 3. with 2 labels",
        ),
        ({"criterion__reduction": "none"}, ValueError, "criterion__reduction must not be 'none'"),
        ({"criterion": PerOutput}, ValueError, r"PerOutput with reduction='none' returned shape \(2, 3\) for 2 rows"),
        ({"module": Pair}, TypeError, "the module returned a tuple; it must return one tensor of logits"),
        ({"module": Flat}, ValueError, r"returned outputs of shape \(.*\) for .* rows and 3 classes"),
        ({"module": TinyNet, "module__num_classes": 7}, ValueError, "argument num_classes.*parameter classes"),
        (
            {"module": TinyNet(4, 3), "method": "lnec"},
            TypeError,
            "instance of TinyNet. Pass what makes a new one: the class",
        ),
        ({"classes": [0, 1]}, ValueError, r"y holds the label 2, which is not among the classes \[0, 1\]"),
        ({"classes": [2, 1, 0]}, ValueError, "classes must be unique and in ascending order"),
        ({"train_split": lambda d, y, **k: (TensorDataset(torch.ones(2, 4)), None)}, TypeError, "train_split returned"),
        ({"callbacks": [LabelQuality([0, 1])]}, ValueError, "y_true has 2 labels, but y has 30"),
        ({"callbacks__linear_decay": LinearDecay(start=60)}, ValueError, r"start must lie in \[0, 1\), got 60"),
    ],
)
def test_bad_parameters_are_refused_by_fit(quick, parameters, error, message):
    with pytest.raises(error, match=message):
        LECClassifier(**quick | parameters).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (X, y[:20], ValueError, "inconsistent numbers of samples: X has 30, y has 20"),
        (X[:0], y[:0], ValueError, "0 sample"),
        (TensorDataset(torch.ones(0, 4), torch.ones(0)), None, ValueError, "the Dataset passed as X is empty"),
        (with_value(np.nan), y, ValueError, "contains NaN"),
        (with_value(np.inf), y, ValueError, "contains infinity"),
        (with_value(1e300), y, ValueError, "too large for dtype.'float32'"),
        (torch.from_numpy(with_value(np.nan)), y, ValueError, "contains NaN"),
        (pd.DataFrame(with_value(np.nan)), y, ValueError, "contains NaN"),
        ({"x": with_value(np.nan)}, y, ValueError, "contains NaN"),
        ({}, y, ValueError, "empty dict"),
        ({"x": X, "z": X[:5]}, y, ValueError, "inconsistent numbers of samples"),
        (X[:, 0], y, ValueError, "Expected 2D array, got 1D array"),
        (X.astype(complex), y, ValueError, "Complex data not supported"),
        (pd.DataFrame({"a": pd.Categorical(["u", "v", "w"] * 10)}), y, ValueError, "could not convert string to float"),
        (np.full((30, 2), "word"), y, ValueError, "not compatible with arrays of bytes/strings"),
        (sparse.csr_array(X), y, TypeError, "Sparse data was passed"),
        (Endless(), None, TypeError, "pass a map-style Dataset"),
        (X, None, ValueError, "requires y to be passed, but the target y is None"),
        (X, np.zeros(30), ValueError, r"one class only, \[0.0\]"),
        (X, np.linspace(0, 1, 30), ValueError, "Unknown label type"),
        (X, np.where(y, y, np.nan), ValueError, "y contains NaN"),
        (X, np.array([None, "a", 3] * 10, dtype=object), (TypeError, ValueError), "Unknown label type|mixes labels"),
        (X, np.stack([y, y], axis=1), ValueError, "y should be a 1d array"),
    ],
)
def test_bad_data_is_refused_by_fit(quick, X, y, error, message):
    with pytest.raises(error, match=message):
        LECClassifier(**quick).fit(X, y)


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
