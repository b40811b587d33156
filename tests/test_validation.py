"""Walks the table in docs/errors.md: what is checked, and what the error says."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from torch import nn
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality, LinearDecay
from sklearn_lec.datasets import fetch_cifar10, fetch_mnist
from sklearn_lec.metrics import label_precision_score
from sklearn_lec.modules import Conv9, ResNet20
from sklearn_lec.noise import (
    AsymmetricNoise,
    MatrixNoise,
    NoisyLabelClassifier,
    OpenSetNoise,
    SemanticNoise,
    SymmetricNoise,
)
from sklearn_lec.preprocessing import ZCAWhitening
from tests.helpers import TinyNet

X = np.random.RandomState(0).normal(size=(30, 4))
Y = np.arange(30) % 3
QUICK = {"max_epochs": 1, "T_w": 0, "batch_size": 16, "verbose": 0, "device": "cpu"}


class MeanOnly(nn.Module):
    def forward(self, outputs, labels):
        return nn.functional.cross_entropy(outputs, labels)


class Pair(TinyNet):
    def forward(self, x):
        return super().forward(x), x


class PerOutput(nn.Module):
    reduction = "mean"

    def forward(self, outputs, labels):
        losses = (outputs - nn.functional.one_hot(labels, 3)) ** 2
        return losses if self.reduction == "none" else losses.mean()


class Flat(TinyNet):
    def forward(self, x):
        return super().forward(x)[:, 0]


class LoadsRows(Dataset):
    def __len__(self):
        return 30

    def __getitem__(self, row):
        return X[row], int(Y[row])


class Endless(IterableDataset):
    def __iter__(self):
        yield X[0], 0


def with_value(value):
    changed = X.copy()
    changed[3, 2] = value
    return changed


def fit(X=X, y=Y, **parameters):
    return lambda: LECClassifier(**QUICK | parameters).fit(X, y)


def fitted():
    return LECClassifier(**QUICK, random_state=0).fit(X, Y)


def corrupt(noise, y=Y):
    return lambda: noise.corrupt(np.zeros((len(y), 1)), y)


CASES = [
    ("LECClassifier", 'method="letc"', fit(method="letc"), "ValueError", "did you mean 'ltec'?"),
    ("LECClassifier", "method=None", fit(method=None), "ValueError", "unknown method None; Methods: standard"),
    ("LECClassifier", "eps=1.0", fit(eps=1.0), "ValueError", "eps must lie in [0, 1), got 1.0"),
    ("LECClassifier", "eps=nan", fit(eps=np.nan), "TypeError", "eps must be a number in [0, 1), got nan"),
    ("LECClassifier", "eps=20", fit(eps=20), "ValueError", "for 20 % wrong labels write eps=0.2"),
    ("LECClassifier", "eps=-0.1", fit(eps=-0.1), "ValueError", "eps must lie in [0, 1), got -0.1"),
    ("LECClassifier", 'eps="0.2"', fit(eps="0.2"), "TypeError", "eps must be a number in [0, 1), got '0.2'"),
    ("LECClassifier", "M=0", fit(M=0), "ValueError", "M must be a whole number of at least 1, or inf, got 0"),
    ("LECClassifier", "M=2.5", fit(M=2.5), "ValueError", "M must be a whole number of at least 1, or inf, got 2.5"),
    ("LECClassifier", 'M="5"', fit(M="5"), "TypeError", "M must be a whole number or inf, got '5'"),
    ("LECClassifier", 'M=inf, method="lnec"', fit(M=np.inf, method="lnec"), "ValueError", "M=inf does not fit"),
    ("LECClassifier", 'M=inf, method="lsec"', fit(M=np.inf, method="lsec"), "ValueError", "M=inf does not fit"),
    (
        "LECClassifier",
        "M=-inf",
        fit(M=-np.inf),
        "ValueError",
        "M must be a whole number of at least 1, or inf, got -inf",
    ),
    ("LECClassifier", "T_w=-1", fit(T_w=-1), "ValueError", "T_w must be at least 0, got -1"),
    ("LECClassifier", "T_w=1.5", fit(T_w=1.5), "TypeError", "T_w must be a whole number of epochs, got 1.5"),
    ("LECClassifier", "T_k=0", fit(method="co-teaching", T_k=0), "ValueError", "T_k must be at least 1, got 0"),
    ("LECClassifier", "W=1", fit(method="d2l", W=1), "ValueError", "W must be at least 2, got 1"),
    ("LECClassifier", "percentile=101", fit(method="forward", percentile=101), "ValueError", "percentile must lie in"),
    (
        "LECClassifier",
        "corruption_matrix of another size",
        fit(method="forward", corruption_matrix=np.eye(2)),
        "ValueError",
        "corruption_matrix is for 2 classes, but y has 3",
    ),
    (
        "LECClassifier",
        "lid_layer that does not exist",
        fit(method="d2l", lid_layer="top"),
        "ValueError",
        "lid_layer='top' is not a layer of the module",
    ),
    ("LECClassifier", 'random_state="x"', fit(random_state="x"), "ValueError", "'x' cannot be used to seed"),
    (
        "LECClassifier",
        "criterion that only gives means",
        fit(criterion=MeanOnly),
        "TypeError",
        "cannot give one loss per row",
    ),
    ("LECClassifier", "criterion for numbers", fit(criterion=nn.MSELoss), "ValueError", "cannot compare logits"),
    (
        "LECClassifier",
        'criterion__reduction="none"',
        fit(criterion__reduction="none"),
        "ValueError",
        "criterion__reduction must not be 'none'",
    ),
    (
        "LECClassifier",
        "criterion with a loss per output",
        fit(criterion=PerOutput),
        "ValueError",
        "returned shape (2, 3) for 2 rows",
    ),
    ("LECClassifier", "module that returns a vector", fit(module=Flat), "ValueError", "the module returned outputs of"),
    ("LECClassifier", "module that returns a tuple", fit(module=Pair), "TypeError", "the module returned a tuple"),
    (
        "LECClassifier",
        "module with too many outputs",
        fit(module=TinyNet, module__num_classes=7),
        "ValueError",
        "it must return logits of shape",
    ),
    (
        "LECClassifier",
        "module instance, several networks",
        fit(module=TinyNet(4, 3), method="lnec"),
        "TypeError",
        "Pass what makes a new one",
    ),
    ("LECClassifier", "classes not in order", fit(classes=[2, 1, 0]), "ValueError", "in ascending order"),
    ("LECClassifier", "classes without a label of y", fit(classes=[0, 1]), "ValueError", "y holds the label 2"),
    (
        "LECClassifier",
        "train_split that makes a new data set",
        fit(train_split=lambda dataset, y, **k: (TensorDataset(torch.ones(2, 4)), None)),
        "TypeError",
        "cannot be traced back to X",
    ),
    (
        "LECClassifier",
        'data_on_device="no"',
        fit(data_on_device="no"),
        "TypeError",
        "data_on_device must be True or False, got 'no'",
    ),
    (
        "LECClassifier",
        "data_on_device=True, a Dataset that loads its rows",
        fit(X=LoadsRows(), y=None, data_on_device=True),
        "ValueError",
        "X is a Dataset that loads its rows",
    ),
    (
        "LECClassifier",
        "data_on_device=True, worker processes",
        fit(data_on_device=True, iterator_train__num_workers=1),
        "ValueError",
        "iterator_train__num_workers is set",
    ),
    ("LECClassifier", "X and y of different length", fit(y=Y[:20]), "ValueError", "X has 30, y has 20"),
    ("LECClassifier", "empty X", fit(X=X[:0], y=Y[:0]), "ValueError", "0 sample(s)"),
    (
        "LECClassifier",
        "empty Dataset",
        fit(X=TensorDataset(torch.ones(0, 4), torch.ones(0)), y=None),
        "ValueError",
        "the Dataset passed as X is empty",
    ),
    ("LECClassifier", "empty dict", fit(X={}), "ValueError", "X is an empty dict"),
    ("LECClassifier", "NaN in a dict", fit(X={"x": with_value(np.nan)}), "ValueError", "contains NaN"),
    ("LECClassifier", "NaN in X", fit(X=with_value(np.nan)), "ValueError", "contains NaN"),
    ("LECClassifier", "infinity in X", fit(X=with_value(np.inf)), "ValueError", "contains infinity"),
    ("LECClassifier", "1e300 in X", fit(X=with_value(1e300)), "ValueError", "too large for dtype('float32')"),
    ("LECClassifier", "NaN in a tensor", fit(X=torch.from_numpy(with_value(np.nan))), "ValueError", "contains NaN"),
    ("LECClassifier", "NaN in a frame", fit(X=pd.DataFrame(with_value(np.nan))), "ValueError", "contains NaN"),
    ("LECClassifier", "1-D X", fit(X=X[:, 0]), "ValueError", "Expected 2D array, got 1D array"),
    ("LECClassifier", "complex X", fit(X=X.astype(complex)), "ValueError", "Complex data not supported"),
    ("LECClassifier", "words as X", fit(X=np.full((30, 2), "w")), "ValueError", "not compatible with arrays of"),
    (
        "LECClassifier",
        "categories as X",
        fit(X=pd.DataFrame({"a": pd.Categorical(["u", "v", "w"] * 10)})),
        "ValueError",
        "could not convert string to float",
    ),
    ("LECClassifier", "dates as X", fit(X=X.astype("datetime64[s]")), "TypeError", "Convert it to numbers"),
    ("LECClassifier", "sparse X", fit(X=sparse.csr_array(X)), "TypeError", "dense data is required"),
    ("LECClassifier", "IterableDataset as X", fit(X=Endless(), y=None), "TypeError", "pass a map-style Dataset"),
    ("LECClassifier", "dict with parts of different length", fit(X={"a": X, "b": X[:5]}), "ValueError", "inconsistent"),
    ("LECClassifier", "y=None", fit(y=None), "ValueError", "the target y is None"),
    ("LECClassifier", "one class only", fit(y=np.zeros(30)), "ValueError", "y holds one class only"),
    ("LECClassifier", "numbers as y", fit(y=np.linspace(0, 1, 30)), "ValueError", "Unknown label type"),
    ("LECClassifier", "NaN in y", fit(y=np.where(Y, Y, np.nan)), "ValueError", "y contains NaN"),
    ("LECClassifier", "2-D y", fit(y=np.stack([Y, Y], axis=1)), "ValueError", "y should be a 1d array"),
    (
        "LECClassifier",
        "predict before fit",
        lambda: LECClassifier().predict(X),
        "NotInitializedError",
        "not initialized",
    ),
    ("LECClassifier", "predict with fewer columns", lambda: fitted().predict(X[:, :3]), "ValueError", "expecting 4"),
    (
        "LECClassifier",
        "partial_fit with a new label",
        lambda: fitted().partial_fit(X, Y + 1),
        "ValueError",
        "y holds the label 3",
    ),
    (
        "LECClassifier",
        "partial_fit with another method",
        lambda: fitted().set_params(method="lnec").partial_fit(X, Y),
        "ValueError",
        "Call fit, or initialize first",
    ),
    (
        "LECClassifier",
        "sample_weight of another length",
        lambda: LECClassifier(**QUICK).fit(X, Y, sample_weight=np.ones(5)),
        "ValueError",
        "expected (30,): one weight per row of X",
    ),
    (
        "LECClassifier",
        "negative sample_weight",
        lambda: LECClassifier(**QUICK).fit(X, Y, sample_weight=-np.ones(30)),
        "ValueError",
        "sample_weight must not be negative",
    ),
    ("LinearDecay", "start=60", fit(callbacks__linear_decay=LinearDecay(start=60)), "ValueError", "start must lie in"),
    ("LabelQuality", "y_true too short", fit(callbacks=[LabelQuality([0])]), "ValueError", "y_true has 1 labels"),
    ("Conv9", "image of 24x24", lambda: Conv9(1)(torch.zeros(2, 1, 24, 24)), "ValueError", "at least 25x25 pixels"),
    ("Conv9", "table", lambda: Conv9()(torch.zeros(2, 64)), "ValueError", "use module=MLP for a table"),
    ("ResNet20", "image of 2 channels", lambda: ResNet20()(torch.zeros(2, 2, 32, 32)), "ValueError", "takes images of"),
    ("SymmetricNoise", "eps=1", corrupt(SymmetricNoise(eps=1)), "ValueError", "eps must lie in [0, 1), got 1"),
    ("SymmetricNoise", "one class only", corrupt(SymmetricNoise(), [1, 1]), "ValueError", "y holds one class only"),
    ("AsymmetricNoise", "mapping to no class", corrupt(AsymmetricNoise(mapping={0: 7})), "ValueError", "the label 7"),
    ("AsymmetricNoise", "mapping that is a list", corrupt(AsymmetricNoise(mapping=[1])), "TypeError", "must be a dict"),
    ("MatrixNoise", "matrix not square", corrupt(MatrixNoise([[0.5, 0.5]])), "ValueError", "must be square"),
    ("MatrixNoise", "rows that do not sum to 1", corrupt(MatrixNoise(np.ones((3, 3)))), "ValueError", "sum to 1 in"),
    ("MatrixNoise", "matrix of another size", corrupt(MatrixNoise(np.eye(2))), "ValueError", "is for 2 classes"),
    ("OpenSetNoise", "X_ood too small", corrupt(OpenSetNoise(np.ones((1, 1)))), "ValueError", "X_ood has 1 rows, but"),
    (
        "OpenSetNoise",
        "X_ood of another shape",
        corrupt(OpenSetNoise(np.ones((9, 3)))),
        "ValueError",
        "rows of X_ood have",
    ),
    (
        "SemanticNoise",
        "estimator without probabilities",
        corrupt(SemanticNoise(LinearSVC())),
        "TypeError",
        "predict_proba",
    ),
    ("SemanticNoise", "n_estimators=0", corrupt(SemanticNoise(n_estimators=0)), "ValueError", "n_estimators must be"),
    (
        "NoisyLabelClassifier",
        "noise that is none",
        lambda: NoisyLabelClassifier(LogisticRegression(), 7).fit(X, Y),
        "TypeError",
        "noise must have a method corrupt(X, y)",
    ),
    ("ZCAWhitening", "regularization=-1", lambda: ZCAWhitening(regularization=-1).fit(X), "ValueError", "at least 0"),
    ("ZCAWhitening", "another size", lambda: ZCAWhitening().fit(X).transform(X[:, :3]), "ValueError", "expecting 4"),
    ("label_precision_score", "row numbers", lambda: label_precision_score([3], [True]), "ValueError", "hold booleans"),
    ("fetch_mnist", 'subset="valid"', lambda: fetch_mnist(subset="valid"), "ValueError", "subset must be 'train' or"),
    (
        "fetch_cifar10",
        "no files, downloads off",
        lambda: fetch_cifar10("/nonexistent", download_if_missing=False),
        "OSError",
        "put these files there by hand",
    ),
]


@pytest.mark.parametrize(("call", "error", "says"), [case[2:] for case in CASES], ids=[f"{c[0]}-{c[1]}" for c in CASES])
@pytest.mark.filterwarnings("ignore")
def test_bad_input_gets_the_error_of_the_table(call, error, says):
    with pytest.raises((ValueError, TypeError, OSError, AttributeError)) as caught:
        call()

    assert type(caught.value).__name__ == error
    assert says in str(caught.value)


def test_the_table_in_the_docs_is_the_one_that_is_walked():
    lines = (Path(__file__).parents[1] / "docs" / "errors.md").read_text().splitlines()
    table = [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines if line.startswith("| `")]

    expected = [(f"`{where}`", given, f"`{error}`", f"… {says} …") for where, given, _, error, says in CASES]
    assert table == expected
    assert len(table) >= 60
