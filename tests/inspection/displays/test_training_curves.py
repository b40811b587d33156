import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from skorch.callbacks import EpochScoring

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality, SelectionHistory
from sklearn_lec.inspection import TrainingCurvesDisplay
from tests.helpers import TinyNet, first_sixty, without


@pytest.fixture
def y_true():
    return np.arange(90) % 3


@pytest.fixture
def fitted(table, quick, y_true):
    callbacks = [LabelQuality(y_true), SelectionHistory()]
    return LECClassifier(TinyNet, **quick, train_split=first_sixty, callbacks=callbacks).fit(*table)


def drawn(display, name):
    return display.lines_[name].get_ydata()


def test_the_lines_are_the_columns_of_the_history(fitted):
    display = TrainingCurvesDisplay.from_estimator(fitted)

    for name in ("train_loss", "valid_loss", "valid_acc", "label_precision", "label_recall"):
        assert drawn(display, name).tolist() == fitted.history[:, name]
        assert display.lines_[name].get_xdata().tolist() == [1, 2, 3]
    assert [ax.get_ylabel() for ax in display.axes_] == ["Loss", "Accuracy", "Selected"]
    assert display.axes_[-1].get_xlabel() == "Epoch"


def test_the_share_of_selected_samples_is_one_of_those_in_training(fitted):
    display = TrainingCurvesDisplay.from_estimator(fitted)

    assert drawn(display, "selected")[0] == 1
    assert drawn(display, "selected").tolist() == [n / 60 for n in fitted.history[:, "n_selected"]]


def test_panels_without_a_curve_are_left_out(table, quick):
    display = TrainingCurvesDisplay.from_estimator(LECClassifier(TinyNet, **quick).fit(*table))

    assert list(display.lines_) == ["train_loss", "selected"]
    assert [ax.get_ylabel() for ax in display.axes_] == ["Loss", "Selected"]


def test_the_warmup_is_shaded_in_each_panel(fitted):
    display = TrainingCurvesDisplay.from_estimator(fitted.set_params(verbose=0), warmup_kw={"alpha": 0.5})

    assert len(display.warmup_) == len(display.axes_)
    for shade in display.warmup_:
        assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0.5, fitted.T_w_ + 0.5)
        assert shade.get_alpha() == 0.5


def test_nothing_is_shaded_for_a_method_without_a_warmup(table, quick):
    clf = LECClassifier(TinyNet, method="standard", **without(quick, "M", "eps")).fit(*table)

    assert TrainingCurvesDisplay.from_estimator(clf).warmup_ == []


def test_label_precision_and_recall_are_found_from_the_selection_of_each_epoch(table, quick, y_true):
    callbacks = [LabelQuality(y_true), SelectionHistory()]
    both = LECClassifier(TinyNet, **quick, train_split=first_sixty, callbacks=callbacks).fit(*table)
    clf = LECClassifier(TinyNet, **quick, train_split=first_sixty, callbacks=callbacks[1:]).fit(*table)

    display = TrainingCurvesDisplay.from_estimator(clf, y_true=y_true, y=table[1])

    for name in ("label_precision", "label_recall"):
        assert drawn(display, name).tolist() == pytest.approx(both.history[:, name])


def test_without_the_selection_of_each_epoch_the_last_one_and_the_warmup_are_known(table, quick, y_true):
    quality = LabelQuality(y_true)
    with_quality = LECClassifier(TinyNet, **quick, callbacks=[quality]).fit(*table)
    clf = LECClassifier(TinyNet, **quick).fit(*table)
    assert clf.history[1, "n_selected"] < 90

    display = TrainingCurvesDisplay.from_estimator(clf, y_true=y_true, y=table[1])

    expected = with_quality.history[:, "label_precision"]
    assert drawn(display, "label_precision").tolist() == pytest.approx([expected[0], np.nan, expected[2]], nan_ok=True)
    assert display.lines_["label_precision"].get_markevery() == [0, 2], "no line shows a point without neighbors"


def test_given_labels_are_those_that_the_estimator_remembers(table, quick, find_issues, issues):
    clf = LECClassifier(TinyNet, **quick).fit(table[0][:6], np.array([0, 0, 1, 1, 2, 2]))

    display = TrainingCurvesDisplay.from_estimator(clf, y_true=["cat", "cat", "dog", "dog", "cat", "cat"])

    assert find_issues == [(clf,)]
    assert drawn(display, "label_precision")[0] == pytest.approx(5 / 6)


def test_scores_of_the_users_own_are_drawn(table, quick):
    scoring = EpochScoring(lambda net, X, y: 0.25, name="quarter", use_caching=False, on_train=True)
    clf = LECClassifier(TinyNet, **quick, callbacks=[scoring]).fit(*table)

    display = TrainingCurvesDisplay.from_estimator(clf, scores=["quarter"])

    assert drawn(display, "quarter").tolist() == [0.25] * 3
    assert display.axes_[1].get_ylabel() == "Score"
    with pytest.raises(ValueError, match=r"no column 'quater'. It has: .*quarter"):
        TrainingCurvesDisplay.from_estimator(clf, scores=["quater"])


def test_pipelines_and_searches_are_looked_into(table, quick):
    pipeline = make_pipeline(FunctionTransformer(), LECClassifier(TinyNet, **quick))
    search = GridSearchCV(pipeline, {"lecclassifier__lr": [0.01]}, cv=2).fit(*table)

    display = TrainingCurvesDisplay.from_estimator(search)

    history = search.best_estimator_[-1].history
    assert drawn(display, "train_loss").tolist() == history[:, "train_loss"]


def test_what_is_no_fitted_classifier_is_refused(quick):
    with pytest.raises(NotFittedError, match="call fit first"):
        TrainingCurvesDisplay.from_estimator(LECClassifier(TinyNet, **quick))
    with pytest.raises(TypeError, match=r"must be a fitted LECClassifier.*got LogisticRegression"):
        TrainingCurvesDisplay.from_estimator(LogisticRegression())
    with pytest.raises(ValueError, match="nothing to draw"):
        TrainingCurvesDisplay({}).plot()


def test_labels_that_cannot_be_compared_are_refused(table, quick, y_true):
    clf = LECClassifier(TinyNet, **quick).fit(*table)

    with pytest.raises(ValueError, match=r"y_true has shape \(3,\), but there are 90 given labels"):
        TrainingCurvesDisplay.from_estimator(clf, y_true=[0, 1, 2], y=table[1])
    with pytest.raises(ValueError, match="y has 3 labels, but LECClassifier was fitted on 90"):
        TrainingCurvesDisplay.from_estimator(clf, y_true=[0, 1, 2], y=[0, 1, 2])
    with pytest.raises(ValueError, match="no label in common"):
        TrainingCurvesDisplay.from_estimator(clf, y_true=y_true.astype(str), y=table[1])


def test_one_axes_is_divided_and_several_are_used_as_they_are(fitted):
    figure, (one, other) = plt.subplots(1, 2)
    _, three = plt.subplots(3)
    free = plt.figure().add_axes((0.2, 0.2, 0.5, 0.5))

    divided = TrainingCurvesDisplay.from_estimator(fitted, ax=one)
    used = TrainingCurvesDisplay.from_estimator(fitted, ax=three)
    in_box = TrainingCurvesDisplay.from_estimator(fitted, ax=free)

    assert divided.figure_ is figure
    assert all(ax.get_position().x1 < other.get_position().x0 for ax in divided.axes_)
    assert list(used.axes_) == list(three)
    assert all(ax.get_position().x0 == pytest.approx(0.2) for ax in in_box.axes_)
    with pytest.raises(ValueError, match="ax holds 2 axes, but 3 are drawn"):
        TrainingCurvesDisplay.from_estimator(fitted, ax=[one, other])
    assert len(plt.get_fignums()) == 3


def test_lines_take_the_style_of_the_user(fitted):
    display = TrainingCurvesDisplay.from_estimator(fitted, line_kw={"lw": 5, "ls": ":"})

    assert {(line.get_linewidth(), line.get_linestyle()) for line in display.lines_.values()} == {(5, ":")}
