"""What is refused or warned of before training, and what a refusal leaves behind; the cases are in error_cases.py."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from skorch.dataset import Dataset as SkorchDataset
from skorch.exceptions import SkorchException
from skorch.helper import predefined_split

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from tests.bad_inputs import MeanOnly, X, Y, with_value
from tests.error_cases import CASES, PAGE, render
from tests.helpers import TinyNet


@pytest.mark.parametrize("case", [case for cases in CASES.values() for case in cases], ids=lambda case: case.given)
@pytest.mark.filterwarnings("ignore")
def test_bad_input_gets_the_error_of_the_page(case):
    with pytest.raises((ValueError, TypeError, OSError, AttributeError, RuntimeError, SkorchException)) as caught:
        case.call()

    assert type(caught.value).__name__ == case.error
    assert case.says in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


AFTER_A_TRAINING = ("After fit", "checkpoint_dir and saved parameters")


@pytest.mark.parametrize(
    "case",
    [case for section, cases in CASES.items() if section not in AFTER_A_TRAINING for case in cases],
    ids=lambda case: case.given,
)
@pytest.mark.filterwarnings("ignore")
def test_bad_input_is_refused_before_any_weight_is_changed(case, monkeypatch):
    def step(optimizer, closure):
        closure()  # runs the network, on whose outputs some errors depend
        pytest.fail("a weight was changed")

    monkeypatch.setattr(torch.optim.Adam, "step", step)

    with pytest.raises((ValueError, TypeError, OSError, RuntimeError)):
        case.call()


def test_the_page_of_errors_is_the_one_that_the_cases_make():
    assert PAGE.read_text() == render(), "run python -m tests.error_cases"


@pytest.mark.parametrize(
    ("parameters", "X"), [({}, with_value(np.nan)), ({"criterion": MeanOnly}, X), ({"eps": 2}, X), ({"M": 0}, X)]
)
def test_a_failed_fit_leaves_no_net_that_predicts(quick, parameters, X):
    clf = LECClassifier(**quick | parameters)

    with pytest.raises((ValueError, TypeError)):
        clf.fit(X, Y)

    assert not clf.initialized_
    with pytest.raises(NotFittedError):
        clf.predict(np.zeros((2, 4)))


def test_standard_takes_a_criterion_that_only_gives_means(quick):
    clf = LECClassifier(TinyNet, method="standard", criterion=MeanOnly, **quick).fit(X, Y)

    assert clf.predict(X).shape == (30,)


@pytest.mark.parametrize(("shift", "classes"), [(1, [1, 2, 3]), (0, [0, 1, 2, 3])])
def test_partial_fit_refuses_to_give_the_outputs_another_meaning(quick, shift, classes):
    clf = LECClassifier(**quick).fit(X, Y)

    with pytest.raises(ValueError, match="are not those of the training under way"):
        clf.partial_fit(X, Y + shift, classes=classes)

    assert clf.classes_.tolist() == [0, 1, 2]


def test_a_label_that_only_the_validation_set_has_is_named(quick):
    valid = predefined_split(SkorchDataset(X.astype(np.float32), Y + 1))

    with pytest.raises(ValueError, match="y holds the label 3, which is not among the classes"):
        LECClassifier(**quick, train_split=valid).fit(X, Y)


@pytest.mark.parametrize("method", METHODS)
def test_a_warm_up_that_never_ends_is_warned_of(quick, method, recwarn):
    LECClassifier(TinyNet, method=method, **quick | {"T_w": 3}).fit(X, Y)

    messages = [str(w.message) for w in recwarn if "T_w=3 is not smaller than max_epochs=3" in str(w.message)]
    assert len(messages) == ("T_w" in METHODS[method]._get_param_names())


def test_a_single_epoch_that_is_all_warm_up_is_warned_of(quick):
    with pytest.warns(UserWarning, match="T_w='auto' is not smaller than max_epochs=1: the whole training is warm-up"):
        LECClassifier(TinyNet, **quick | {"T_w": "auto", "max_epochs": 1}).fit(X, Y)


@pytest.mark.parametrize(
    ("method", "given", "n_warnings"),
    [("d2l", {"W": 3}, 1), ("d2l", {"W": 2}, 0), ("co-teaching", {"T_k": 4}, 1), ("co-teaching", {"T_k": 3}, 0)],
)
def test_a_training_too_short_for_the_method_is_warned_of(quick, method, given, n_warnings, recwarn):
    LECClassifier(TinyNet, method=method, **quick | given | {"max_epochs": 3}).fit(X, Y)

    warned = [w for w in recwarn if "max_epochs=3: " in str(w.message)]
    assert len(warned) == n_warnings
    assert all(w.filename == __file__ for w in warned)
