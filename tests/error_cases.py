"""What is refused, and what the errors say; ``python -m tests.error_cases`` writes the cases to docs/errors.md."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from skorch.helper import SliceDataset
from torch import nn
from torch.utils.data import TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality, LinearDecay
from sklearn_lec.datasets import fetch_cifar10, fetch_mnist
from sklearn_lec.methods import ELR, LTEC
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
from tests.bad_inputs import (
    QUICK,
    CriterionElsewhere,
    Embedding,
    Endless,
    LoadsSamples,
    LossPerOutput,
    MeanOnly,
    ModuleElsewhere,
    OneOutput,
    PairOfOutputs,
    X,
    Y,
    corrupt,
    fit,
    fitted,
    in_inference_mode,
    load_other_classes,
    loaded,
    only_new_tensors,
    resume,
    rewrite,
    trimmed,
    use,
    with_label,
    with_value,
)
from tests.helpers import TinyNet

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"


class Case(NamedTuple):
    """A call that is refused."""

    given: str
    call: Callable
    error: str
    says: str  # a part of the message that does not depend on the versions of other packages


# fmt: off
CASES = {
    "Parameters of LECClassifier": [
        Case('method="letc"', fit(method="letc"), "ValueError", "unknown method 'letc'; did you mean 'ltec'?"),
        Case("method=None", fit(method=None), "ValueError", "unknown method None; Methods: standard"),
        Case("method=3", fit(method=3), "ValueError",
             "unknown method 3; Methods: standard, self-training, lnec, lsec, ltec, ltec-full, co-teaching, forward, "
             "d2l, elr, relabel, or a class or instance of sklearn_lec.methods.Method."),
        Case('method="ltec", set_params(method__M=3)', lambda: LECClassifier(method="ltec").set_params(method__M=3),
             "ValueError", "Pass an instance, such as method=LTEC(), to set method__M."),
        Case("method=ELR(beta=1.0)", fit(method=ELR(beta=1.0)), "ValueError", "beta must be a number in [0, 1), got 1"),
        Case('separate_vote="no"', fit(separate_vote="no"), "ValueError",
             "separate_vote must be True, False or 'auto', got 'no'"),
        Case("method=ELR(reg_lambda=-1)", fit(method=ELR(reg_lambda=-1)), "ValueError",
             "reg_lambda must be a number of at least 0, got -1"),
        Case("eps=1.0", fit(eps=1.0), "ValueError", "eps must lie in [0, 1), got 1.0"),
        Case("eps=nan", fit(eps=np.nan), "TypeError", "eps must be a number in [0, 1), got nan"),
        Case("eps=20", fit(eps=20), "ValueError", "for 20 % wrong labels write eps=0.2"),
        Case("eps=-0.1", fit(eps=-0.1), "ValueError", "eps must lie in [0, 1), got -0.1"),
        Case('eps="0.2"', fit(eps="0.2"), "TypeError",
             "eps must be a number in [0, 1), 'auto', or one share per class, got '0.2'"),
        Case("eps=[0.1, 0.2], three classes", fit(eps=[0.1, 0.2]), "ValueError",
             "eps has 2 shares, but there are 3 classes. Give one for each of [0, 1, 2], in this order"),
        Case("eps={0: 0.1, 1: 0.2}, three classes", fit(eps={0: 0.1, 1: 0.2}), "ValueError", "has no share for 2"),
        Case('eps={"cat": 0.1}', fit(eps={"cat": 0.1}), "ValueError", "has no share for 0"),
        Case("eps=[0.1, 20, 0.2]", fit(eps=[0.1, 20, 0.2]), "ValueError", "for 20 % wrong labels write eps=0.2"),
        Case("M=0", fit(M=0), "ValueError", "M must be a whole number of at least 1, or inf, got 0"),
        Case("M=2.5", fit(M=2.5), "ValueError", "M must be a whole number of at least 1, or inf, got 2.5"),
        Case('M="5"', fit(M="5"), "TypeError", "M must be a whole number or inf, got '5'"),
        Case('M=inf, method="lnec"', fit(M=np.inf, method="lnec"), "ValueError", "M=inf does not fit LNEC"),
        Case('M=inf, method="lsec"', fit(M=np.inf, method="lsec"), "ValueError", "M=inf does not fit LSEC"),
        Case("M=-inf", fit(M=-np.inf), "ValueError", "M must be a whole number of at least 1, or inf, got -inf"),
        Case("T_w=-1", fit(T_w=-1), "ValueError", "T_w must be at least 0, got -1"),
        Case("T_w=1.5", fit(T_w=1.5), "TypeError", "T_w must be a whole number of epochs or 'auto', got 1.5"),
        Case("T_k=0", fit(method="co-teaching", T_k=0), "ValueError", "T_k must be at least 1, got 0"),
        Case("W=1", fit(method="d2l", W=1), "ValueError", "W must be at least 2, got 1"),
        Case("percentile=101", fit(method="forward", percentile=101), "ValueError",
             "percentile must lie in [0, 100], got 101"),
        Case("corruption_matrix of another size", fit(method="forward", corruption_matrix=np.eye(2)), "ValueError",
             "corruption_matrix is for 2 classes, but y has 3"),
        Case('corruption_matrix="none"', fit(method="forward", corruption_matrix="none"), "ValueError",
             "corruption_matrix must be an array, 'auto' or None, got 'none'"),
        Case('method="relabel", criterion without soft targets',
             fit(method="relabel", T_w=1, criterion=nn.MultiMarginLoss), "TypeError",
             "Relabel learns from probabilities of the classes, which the criterion MultiMarginLoss does not take"),
        Case('corruption_matrix="auto", one epoch', fit(method="forward", corruption_matrix="auto"), "NoEstimateError",
             "max_epochs=1 leaves no epoch to train networks on part of the samples first"),
        Case("lid_layer that does not exist", fit(method="d2l", lid_layer="top"), "ValueError",
             "lid_layer='top' is not a layer of the module"),
        Case("max_epochs=-1", fit(max_epochs=-1), "ValueError", "max_epochs must be at least 0, got -1"),
        Case("max_epochs=2.5", fit(max_epochs=2.5), "TypeError",
             "max_epochs must be a whole number of epochs, got 2.5"),
        Case('max_epochs="3"', fit(max_epochs="3"), "TypeError",
             "max_epochs must be a whole number of epochs, got '3'"),
        Case("epsilon=0.2", fit(epsilon=0.2), "ValueError", "epsilon: did you mean 'eps'?"),
        Case("epochs=3", fit(epochs=3), "ValueError", "did you mean 'max_epochs'?"),
        Case("learning_rate=0.1", fit(learning_rate=0.1), "ValueError", "did you mean 'lr'?"),
        Case("optimiser=SGD", fit(optimiser=torch.optim.SGD), "ValueError", "did you mean 'optimizer'?"),
        Case("weight_decay=0.1", fit(weight_decay=0.1), "ValueError", "did you mean 'optimizer__weight_decay'?"),
        Case("an argument like no other", fit(abc=1), "ValueError",
             "got unexpected argument(s) abc. Either you made a typo"),
        Case("set_params(n_epochs=3)", lambda: LECClassifier().set_params(n_epochs=3), "ValueError",
             "did you mean 'max_epochs'?"),
        Case("method__M=3", fit(method__M=3), "ValueError", "write method=LTEC(M=...)"),
        Case('random_state="x"', fit(random_state="x"), "ValueError", "'x' cannot be used to seed"),
        Case('separate_vote=True, method="co-teaching"', fit(separate_vote=True, method="co-teaching"), "ValueError",
             "selects other samples for each. Use separate_vote='auto' or False."),
        Case('data_on_device="no"', fit(data_on_device="no"), "TypeError",
             "data_on_device must be True or False, got 'no'"),
        Case("data_on_device=True, a Dataset that loads its samples",
             fit(X=LoadsSamples(), y=None, data_on_device=True), "ValueError", "X loads its samples"),
        Case("data_on_device=True, sparse X", fit(X=sparse.csr_array(X), data_on_device=True), "ValueError",
             "X is sparse and made dense batch by batch"),
        Case("data_on_device=True, worker processes", fit(data_on_device=True, iterator_train__num_workers=1),
             "ValueError", "iterator_train__num_workers is set"),
        Case('classes="ab"', fit(classes="ab"), "TypeError", "classes must be a list or an array of labels, got 'ab'"),
        Case("classes with one named twice", fit(classes=[2, 1, 0, 1]), "ValueError",
             "classes must name each class once"),
        Case("classes without a label of y", fit(classes=[0, 1]), "ValueError",
             "y holds the label 2, which is not among"),
        Case("train_split that makes a new data set", fit(train_split=only_new_tensors), "TypeError",
             "cannot be traced back to X"),
    ],
    "Networks and criteria": [
        Case("module that returns a vector", fit(module=OneOutput), "ValueError",
             "the module returned outputs of shape"),
        Case("module that returns a tuple", fit(module=PairOfOutputs), "TypeError", "the module returned a tuple"),
        Case("module with too many outputs", fit(module=TinyNet, module__num_classes=7), "ValueError",
             "it must return logits of shape (16, 3). Set module__num_classes=3"),
        Case("images of shape (32, 32, 5), ResNet20", fit(X=np.zeros((30, 32, 32, 5)), module=ResNet20), "ValueError",
             "Set module__in_channels=32 or module__in_channels=5"),
        Case('module="ltec"', fit(module="ltec"), "TypeError",
             "got 'ltec'. A method is the argument method, as in LECClassifier(method='ltec')."),
        Case("module=LTEC", fit(module=LTEC), "TypeError", "A method is the argument method"),
        Case("module with an argument that is not set", fit(module=Embedding), "TypeError",
             "Embedding needs n_words, which this X does not tell. Set module__n_words=..."),
        Case("module instance, several networks", fit(module=TinyNet(4, 3), method="lnec"), "TypeError",
             "Pass what makes a new one"),
        Case("criterion that only gives means", fit(criterion=MeanOnly), "TypeError",
             "the criterion MeanOnly cannot give one loss per sample"),
        Case("criterion for numbers", fit(criterion=nn.MSELoss), "ValueError",
             "the criterion MSELoss cannot compare logits"),
        Case('criterion__reduction="none"', fit(criterion__reduction="none"), "ValueError",
             "criterion__reduction must not be 'none'"),
        Case("initialize_criterion that sets no criterion_", lambda: CriterionElsewhere(TinyNet, **QUICK).fit(X, Y),
             "TypeError", "sets no criterion_, which method='ltec' or sample_weight needs"),
        Case("initialize_module that sets no module_", lambda: ModuleElsewhere(TinyNet, **QUICK).fit(X, Y),
             "TypeError", "initialize_module of ModuleElsewhere sets no module_"),
        Case("criterion with a loss per output", fit(criterion=LossPerOutput), "ValueError",
             "returned shape (2, 3) for 2 samples"),
    ],
    "X": [
        Case("fit within torch.inference_mode()", in_inference_mode, "RuntimeError",
             "Call fit outside of that block; predict may stay in it."),
        Case("X and y of different length", fit(y=Y[:20]), "ValueError", "X has 30, y has 20"),
        Case("empty X", fit(X=X[:0], y=Y[:0]), "ValueError", "0 sample(s)"),
        Case("empty Dataset", fit(X=TensorDataset(torch.ones(0, 4), torch.ones(0)), y=None), "ValueError",
             "the TensorDataset passed as X is empty"),
        Case("empty dict", fit(X={}), "ValueError", "X is an empty dict"),
        Case("dict with parts of different length", fit(X={"a": X, "b": X[:5]}), "ValueError",
             "inconsistent numbers of"),
        Case("dict, module that takes other names", fit(X={"a": X, "b": X}), "TypeError",
             "MLP.forward does not take 'a'; it takes x. Pass a module with forward(self, a, b)"),
        Case("dict, module whose size depends on X", fit(X={"x": X}), "TypeError",
             "MLP needs in_features, which this X does not tell. Set module__in_features=..."),
        Case("NaN in X", fit(X=with_value(np.nan)), "ValueError", "contains NaN"),
        Case("NaN in a dict", fit(X={"x": with_value(np.nan)}), "ValueError", "contains NaN"),
        Case("NaN in a tensor", fit(X=torch.from_numpy(with_value(np.nan))), "ValueError", "contains NaN"),
        Case("NaN in a frame", fit(X=pd.DataFrame(with_value(np.nan))), "ValueError", "contains NaN"),
        Case("infinity in X", fit(X=with_value(np.inf)), "ValueError", "contains infinity"),
        Case("1e300 in X", fit(X=with_value(1e300)), "ValueError", "too large for dtype('float32')"),
        Case("1-D X", fit(X=X[:, 0]), "ValueError", "Expected 2D array, got 1D array"),
        Case("complex X", fit(X=X.astype(complex)), "ValueError", "Complex data not supported"),
        Case("words as X", fit(X=np.full((30, 2), "w")), "ValueError", "not compatible with arrays of"),
        Case("categories as X", fit(X=pd.DataFrame({"a": pd.Categorical(["u", "v", "w"] * 10)})), "ValueError",
             "could not convert string to float"),
        Case("dates as X", fit(X=X.astype("datetime64[s]")), "TypeError", "Convert it to numbers"),
        Case("sparse tensor as X", fit(X=torch.from_numpy(X).to_sparse()), "TypeError",
             "X is a sparse tensor (torch.sparse_coo), which is not supported. Pass X.to_dense()"),
        Case("sparse tensor in a dict", fit(X={"part": torch.from_numpy(X).to_sparse()}), "TypeError",
             "part is a sparse tensor (torch.sparse_coo), which is not supported. Pass part.to_dense()"),
        Case("NaN in a sparse matrix", fit(X=sparse.csr_array(with_value(np.nan))), "ValueError", "contains NaN"),
        Case("1e300 in a sparse matrix", fit(X=sparse.csc_matrix(with_value(1e300))), "ValueError",
             "too large for dtype('float32')"),
        Case("empty SliceDataset", fit(X=SliceDataset(LoadsSamples())[:0]), "ValueError",
             "the SliceDataset passed as X is empty"),
        Case("SliceDataset, y=None", fit(X=SliceDataset(LoadsSamples()), y=None), "ValueError",
             "the target y is None"),
        Case("Dataset without labels", fit(X=TensorDataset(torch.ones(30, 4))), "ValueError",
             "Dataset.__getitem__ must return exactly 2 values, X and y"),
        Case("Dataset of triples", fit(X=TensorDataset(*torch.ones(3, 30, 4)), y=None), "ValueError",
             "a non-skorch dataset that returns 3 values"),
        Case("IterableDataset as X", fit(X=Endless(), y=None), "TypeError", "pass a map-style Dataset"),
    ],
    "y, sample_weight and trusted": [
        Case("y=None", fit(y=None), "ValueError", "the target y is None"),
        Case("one class only", fit(y=np.zeros(30)), "ValueError", "y holds one class only"),
        Case("numbers as y", fit(y=np.linspace(0, 1, 30)), "ValueError", "Unknown label type"),
        Case("NaN in y", fit(y=np.where(Y, Y, np.nan)), "ValueError",
             "Input y contains NaN or None: 10 of 30 samples have no label, the first of them is sample 0 (nan)"),
        Case("None in y", fit(y=with_label(None)), "ValueError", "the first of them is sample 3 (None)"),
        Case("NaN among words in y", fit(y=with_label(np.nan)), "ValueError", "the first of them is sample 3 (nan)"),
        Case("NaT in y", fit(y=np.array(["2020", "2021", "NaT"] * 10, dtype="datetime64[Y]")), "ValueError",
             "10 of 30 samples have no label, the first of them is sample 2 (NaT)"),
        Case("masked label", fit(y=np.ma.array(Y, mask=np.arange(30) == 3)), "ValueError",
             "the first of them is sample 3 (None)"),
        Case("pandas.NA in y", fit(y=with_label(pd.NA)), "ValueError", "the first of them is sample 3 (<NA>)"),
        Case("pandas.NA in a series", fit(y=pd.Series(with_label(pd.NA), dtype="string")), "ValueError",
             "Leave them out of X and y, or give them a label."),
        Case("several labels for each sample", fit(y=np.array([[0], [1, 2]] * 15, dtype=object)), "ValueError",
             "y must hold one label for each sample, but that of sample 0 is a list of 1"),
        Case("2-D y", fit(y=np.stack([Y, Y], axis=1)), "ValueError", "y should be a 1d array"),
        Case("sample_weight of another length", fit(sample_weight=np.ones(5)), "ValueError",
             "sample_weight.shape == (5,), expected (30,): one weight per sample of X"),
        Case("negative sample_weight", fit(sample_weight=-np.ones(30)), "ValueError",
             "sample_weight must not be negative"),
        Case("sample_weight of zeros", fit(sample_weight=np.zeros(30)), "ValueError",
             "some weight must be greater than zero"),
        Case("NaN in sample_weight", fit(sample_weight=with_value(np.nan)[:, 2]), "ValueError",
             "sample_weight contains NaN"),
        Case("sample numbers as trusted", fit(trusted=np.arange(5)), "TypeError",
             "trusted must hold a boolean for each sample, got dtype int64. For sample numbers write"),
        Case("trusted of another length", fit(trusted=np.ones(5, dtype=bool)), "ValueError",
             "trusted must have shape (30,), one boolean per sample of X, got shape (5,)"),
    ],
    "checkpoint_dir and saved parameters": [
        Case("another parameter than the run in the folder", resume(eps=0.3), "ValueError",
             "holds a run that differs in eps. Use another folder for each fit, or delete this one to start anew."),
        Case("a folder that another training uses", resume(spoil=use), "OSError", "is in use by another training"),
        Case("a checkpoint of another version", resume(spoil=rewrite), "ValueError",
             "is damaged or from another version of sklearn-lec"),
        Case("checkpoint_dir=3", fit(checkpoint_dir=3), "OSError", "checkpoint_dir=3 cannot be made a folder"),
        Case("a file in place of the folder", fit(checkpoint_dir=__file__), "OSError", "cannot be made a folder"),
        Case("initialize() before there is data", lambda: LECClassifier().initialize(), "TypeError",
             "Set module__in_features=..., module__num_classes=..."),
        Case("load_params, other classes", load_other_classes, "ValueError",
             "the saved network tells [0, 1, 2] apart, but the classes here are ['a', 'b', 'c']"),
        Case("predict, weights from elsewhere, no classes", lambda: loaded().predict(X), "NotFittedError",
             "predictions would be numbers and not labels. Set classes"),
    ],
    "After fit": [
        Case("predict before fit", lambda: LECClassifier().predict(X), "NotInitializedError", "not initialized"),
        Case("predict with fewer columns", lambda: fitted().predict(X[:, :3]), "ValueError",
             "3 features, but LECClassifier is expecting 4"),
        Case("predict with NaN in X", lambda: fitted().predict(with_value(np.nan)), "ValueError", "contains NaN"),
        Case("partial_fit with a new label", lambda: fitted().partial_fit(X, Y + 1), "ValueError",
             "y holds the label 3, which is not among the classes [0, 1, 2]"),
        Case("partial_fit with other classes than the parameter",
             lambda: LECClassifier(**QUICK, classes=[2, 1, 0]).partial_fit(X, Y, classes=[0, 1, 2, 3]), "ValueError",
             "partial_fit got classes=[0, 1, 2, 3], but the parameter classes is [2, 1, 0]"),
        Case("fit after trim_for_prediction", lambda: trimmed().fit(X, Y), "SkorchTrainingImpossibleError",
             "call trim_for_prediction on a copy.deepcopy of the net"),
        Case("fit of a clone after trim_for_prediction", lambda: clone(trimmed()).fit(X, Y),
             "SkorchTrainingImpossibleError", "cannot be used for training anymore"),
        Case("partial_fit with another method", lambda: fitted().set_params(method="lnec").partial_fit(X, Y),
             "ValueError", "or call initialize first"),
    ],
    "Callbacks": [
        Case("LinearDecay(start=60)", fit(callbacks__linear_decay=LinearDecay(start=60)), "ValueError",
             "start must lie in"),
        Case("LabelQuality, y_true too short", fit(callbacks=[LabelQuality([0])]), "ValueError", "y_true has 1 labels"),
    ],
    "Modules": [
        Case("Conv9, image of 24x24", lambda: Conv9(1)(torch.zeros(2, 1, 24, 24)), "ValueError",
             "at least 25x25 pixels"),
        Case("Conv9, table", lambda: Conv9()(torch.zeros(2, 64)), "ValueError", "use module=MLP for a table"),
        Case("ResNet20, image of 2 channels", lambda: ResNet20()(torch.zeros(2, 2, 32, 32)), "ValueError",
             "takes images of"),
    ],
    "Noise": [
        Case("SymmetricNoise(eps=1)", corrupt(SymmetricNoise(eps=1)), "ValueError", "eps must lie in [0, 1), got 1"),
        Case("SymmetricNoise, one class only", corrupt(SymmetricNoise(), [1, 1]), "ValueError",
             "y holds one class only"),
        Case("AsymmetricNoise, mapping to no class", corrupt(AsymmetricNoise(mapping={0: 7})), "ValueError",
             "the label 7"),
        Case("AsymmetricNoise, mapping that is a list", corrupt(AsymmetricNoise(mapping=[1])), "TypeError",
             "must be a dict"),
        Case("MatrixNoise, matrix not square", corrupt(MatrixNoise([[0.5, 0.5]])), "ValueError", "must be square"),
        Case("MatrixNoise, rows that do not sum to 1", corrupt(MatrixNoise(np.ones((3, 3)))), "ValueError",
             "sum to 1 in each row"),
        Case("MatrixNoise, matrix of another size", corrupt(MatrixNoise(np.eye(2))), "ValueError", "is for 2 classes"),
        Case("OpenSetNoise, X_ood too small", corrupt(OpenSetNoise(np.ones((1, 1)))), "ValueError",
             "X_ood has 1 rows, but"),
        Case("OpenSetNoise, X_ood of another shape", corrupt(OpenSetNoise(np.ones((9, 3)))), "ValueError",
             "rows of X_ood have shape"),
        Case("OpenSetNoise, sparse X_ood", corrupt(OpenSetNoise(sparse.csr_array(X))), "TypeError",
             "X_ood must be a dense array, a tensor or a frame, got csr_array"),
        Case("SemanticNoise, estimator without probabilities", corrupt(SemanticNoise(LinearSVC())), "TypeError",
             "predict_proba"),
        Case("SemanticNoise(n_estimators=0)", corrupt(SemanticNoise(n_estimators=0)), "ValueError",
             "n_estimators must be"),
        Case("NoisyLabelClassifier, a noise without corrupt",
             lambda: NoisyLabelClassifier(LogisticRegression(), 7).fit(X, Y), "TypeError",
             "noise must have a method corrupt(X, y)"),
    ],
    "Preprocessing, metrics and data sets": [
        Case("ZCAWhitening(regularization=-1)", lambda: ZCAWhitening(regularization=-1).fit(X), "ValueError",
             "at least 0"),
        Case("ZCAWhitening, another number of features", lambda: ZCAWhitening().fit(X).transform(X[:, :3]),
             "ValueError", "expecting 4"),
        Case("label_precision_score, sample numbers", lambda: label_precision_score([3], [True]), "ValueError",
             "hold booleans"),
        Case('fetch_mnist(subset="valid")', lambda: fetch_mnist(subset="valid"), "ValueError",
             "subset must be 'train' or"),
        Case("fetch_cifar10, no files, downloads off", lambda: fetch_cifar10("/nonexistent", download_if_missing=False),
             "OSError", "put these files there by hand"),
    ],
}
# fmt: on


HEAD = """# What is checked, and what the errors say

Everything below is refused before any weight is changed. A message names the parameter, its value, the rule and the
fix. The last column has a part of it.

This page is made by `python -m tests.error_cases`. To change it, change the cases in `tests/error_cases.py`, and run
the command again. The tests make each of these calls, and look for the error and for its message.
"""
TAIL = """
## While training

Some problems show only while training. Each of these gives one warning in a training:

- The loss of some samples is NaN or infinite. The warning names them. They are not learned from.
- A value in a sample is more than ten million times as large as those of all other samples. The warning names the
  sample. It is not learned from.
- No sample was selected in an epoch.
- No sample of some classes was selected in an epoch. The warning names them; if others follow, a second one at the end
  of the training names those of the last epoch.
- The warm-up has ended, but nearly all wrong labels have been memorized, or `eps` is too large.
- A callback has stopped the training within the warm-up, or has put back a network from it.
- The passes of `lsec` all have the same outputs, because nothing in the network is random.

An error in a `Dataset` of your own stays as it is. A note in it names the sample.

## Warnings before training

- The training is too short for the method: `T_w` or `W` is not smaller than `max_epochs`, or `T_k` is larger.
- `eps="auto"` cannot be settled, because there are too few epochs, or the estimate cannot be trusted. The warning says
  what is used.
- You set a parameter that the method does not use.
"""


def render():
    """Return the page of all cases, in Markdown."""
    lines = []
    for section, cases in CASES.items():
        lines += ["", f"## {section}", "", "| given | error | the message says |", "|---|---|---|"]
        lines += [f"| {case.given} | `{case.error}` | … {case.says} … |" for case in cases]
    return HEAD + "\n".join(lines) + "\n" + TAIL


if __name__ == "__main__":
    PAGE.write_text(render())
