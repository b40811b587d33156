"""The parameter classes: its order is that of everything that has one entry per class."""

import numpy as np
import pytest
import torch

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from tests.helpers import TinyNet, weights

pytestmark = pytest.mark.filterwarnings("ignore:classes=.* are not in ascending order")
ORDER = ["eel", "cat", "dog"]


def test_an_order_that_some_scores_do_not_know_is_warned_of(table, quick):
    with pytest.warns(UserWarning, match=r"not in ascending order.*'roc_auc' and 'neg_log_loss'.*will be wrong"):
        LECClassifier(TinyNet, classes=[2, 0, 1], **quick).fit(*table)


@pytest.mark.parametrize("method", METHODS)
def test_labels_in_an_order_of_the_users_train_as_their_numbers_do(table, quick, method):
    X, y = table
    settings = {"method": method, "eps": 0.3, "criterion__weight": torch.tensor([1.0, 2.0, 5.0]), **quick}
    expected = LECClassifier(TinyNet, **settings).fit(X, y)

    clf = LECClassifier(TinyNet, classes=ORDER, **settings).fit(X, np.array(ORDER)[y])

    assert clf.classes_.tolist() == ORDER
    assert torch.equal(weights(clf), weights(expected))
    assert np.array_equal(clf.clean_mask_, expected.clean_mask_)
    assert np.array_equal(clf.predict_proba(X), expected.predict_proba(X))
    assert np.array_equal(clf.predict(X), np.array(ORDER)[expected.predict(X)])


def test_the_corruption_matrix_has_the_order_of_the_classes(table, quick):
    X, y = table
    matrix = [[0.5, 0.5, 0.0], [0.0, 0.7, 0.3], [0.0, 0.0, 1.0]]
    settings = {"method": "forward", "corruption_matrix": matrix, **quick}
    expected = LECClassifier(TinyNet, **settings).fit(X, y)

    clf = LECClassifier(TinyNet, classes=ORDER, **settings).fit(X, np.array(ORDER)[y])

    assert torch.equal(weights(clf), weights(expected))


def test_numbers_may_have_an_order_of_the_users_too(table, quick):
    X, y = table

    clf = LECClassifier(TinyNet, classes=[2, 0, 1], **quick | {"lr": 0.05, "max_epochs": 20}).fit(X, y)

    assert clf.classes_.tolist() == [2, 0, 1]
    assert clf.score(X, y) > 0.8
    assert (clf.classes_[clf.predict_proba(X).argmax(axis=1)] == clf.predict(X)).all()


def test_partial_fit_names_classes_in_any_order(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick).partial_fit(X[y < 2], y[y < 2], classes=[2, 1, 0])

    clf.partial_fit(X, y, classes=[1, 0, 2])

    assert clf.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("classes", [[], np.array([])])
def test_empty_classes_hide_the_attribute_as_in_skorch(table, quick, classes):
    X, y = table

    clf = LECClassifier(TinyNet, classes=classes, **quick).fit(X, y).partial_fit(X, y)

    assert not hasattr(clf, "classes_")
    assert set(clf.predict(X)) <= {0, 1, 2}


def test_empty_classes_of_a_net_that_was_never_fitted_leave_numbers(table, quick):
    clf = LECClassifier(TinyNet, classes=[], **quick).initialize()

    assert set(clf.predict(table[0])) <= {0, 1, 2}


def test_classes_that_are_changed_after_a_fit_are_not_mixed_up(table, quick):
    clf = LECClassifier(TinyNet, **quick).fit(*table).set_params(classes=[2, 1, 0])

    with pytest.raises(ValueError, match="are not those of the training under way"):
        clf.predict(table[0])
