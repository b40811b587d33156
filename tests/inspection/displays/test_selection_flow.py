import numpy as np
import pytest

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality, SelectionHistory
from sklearn_lec.inspection import SelectionFlowDisplay
from tests.helpers import TinyNet, first_sixty

MASKS = np.array([[1, 1, 1, 1], [1, 0, 1, 0], [1, 0, 1, 1], [0, 0, 1, 0]], dtype=bool)


def shares(display):
    return [image.get_array().tolist() for image in display.images_]


def test_samples_selected_most_often_come_first():
    display = SelectionFlowDisplay.from_masks(MASKS)

    assert display.order_.tolist() == [2, 0, 3, 1]
    assert shares(display) == [[[1, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0]]]
    assert display.images_[0].get_extent() == [0.5, 4.5, 4, 0]
    assert (display.ax_.get_xlim(), display.ax_.get_ylim()) == ((0.5, 4.5), (4, 0))


def test_of_samples_selected_equally_often_those_selected_last_come_first():
    display = SelectionFlowDisplay.from_masks(np.array([[1, 0], [0, 1]], dtype=bool))

    assert display.order_.tolist() == [1, 0]


def test_right_and_wrong_labels_are_apart():
    display = SelectionFlowDisplay.from_masks(MASKS, is_wrong=[True, False, False, True])

    assert display.order_.tolist() == [2, 1, 0, 3]
    assert shares(display) == [[[1, 1, 1, 1], [1, 0, 0, 0]], [[1, 1, 1, 0], [1, 0, 1, 0]]]
    assert [image.get_extent() for image in display.images_] == [[0.5, 4.5, 2, 0], [0.5, 4.5, 4, 2]]
    assert display.images_[0].cmap(1.0) != display.images_[1].cmap(1.0)
    assert [image.cmap(0.0)[3] for image in display.images_] == [0, 0], "what is not selected shows the background"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["right labels: 2", "wrong labels: 2"]


def test_more_samples_than_lines_are_averaged():
    masks = np.zeros((2, 1001), dtype=bool)
    masks[0] = True
    masks[1, :500] = True

    (image,) = SelectionFlowDisplay.from_masks(masks).images_

    drawn = image.get_array()
    assert drawn.shape == (500, 2)
    assert (drawn[:, 0] == 1).all()
    assert drawn[:, 1].mean() == pytest.approx(0.5, abs=0.01)
    assert (np.diff(drawn[:, 1]) <= 0).all()


def test_the_end_of_the_warmup_is_marked_between_two_epochs():
    marked = SelectionFlowDisplay.from_masks(MASKS, T_w=2, line_kw={"lw": 3})

    assert marked.line_.get_xdata() == [2.5, 2.5]
    assert marked.line_.get_linewidth() == 3
    assert SelectionFlowDisplay.from_masks(MASKS).line_ is None
    assert SelectionFlowDisplay.from_masks(MASKS, epochs=[3, 4, 5, 6], T_w=2).line_ is None


def test_an_estimator_shows_the_samples_of_its_training(table, quick):
    X, y = table
    y_true = np.arange(90) % 3
    selection = SelectionHistory()
    clf = LECClassifier(TinyNet, **quick, train_split=first_sixty, callbacks=[selection]).fit(X, y)

    display = SelectionFlowDisplay.from_estimator(clf, y_true=y_true, y=y)

    assert sorted(display.order_) == list(range(60))
    drawn = np.concatenate([image.get_array() for image in display.images_])
    assert np.array_equal(drawn, selection.masks_[:, :60][:, display.order_].T)
    assert len(display.images_[1].get_array()) == 6
    assert display.line_.get_xdata() == [1.5, 1.5]


def test_the_truth_is_taken_of_the_callback_that_knows_it(table, quick):
    y_true = np.arange(90) % 3
    clf = LECClassifier(TinyNet, **quick, callbacks=[SelectionHistory(), LabelQuality(y_true)]).fit(*table)

    display = SelectionFlowDisplay.from_estimator(clf)

    assert [len(image.get_array()) for image in display.images_] == [81, 9]


def test_the_error_names_the_callback_that_is_missing(table, quick):
    clf = LECClassifier(TinyNet, **quick).fit(*table)

    with pytest.raises(ValueError, match=r"callbacks=\[SelectionHistory\(\)\], from sklearn_lec.callbacks"):
        SelectionFlowDisplay.from_estimator(clf)


def test_masks_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"shape \(n_epochs, n_samples\).*got \(2,\)"):
        SelectionFlowDisplay.from_masks([True, False])
    with pytest.raises(ValueError, match=r"is_wrong has shape \(1,\), but masks are about 4 samples"):
        SelectionFlowDisplay.from_masks(MASKS, is_wrong=[True])
