import math

import pytest

from sklearn_lec.metrics import label_precision_score, label_recall_score


def test_precision_counts_right_labels_among_the_rows_used():
    assert label_precision_score([True, True, True, False], [False, False, True, True]) == pytest.approx(2 / 3)


def test_recall_counts_rows_used_among_the_right_labels():
    assert label_recall_score([True, False, False, True], [False, False, False, True]) == pytest.approx(1 / 3)


def test_an_estimator_may_stand_for_its_mask():
    class Fitted:
        clean_mask_ = [True, True, False]
        noise_mask_ = [False, True, False]

    assert label_precision_score(Fitted()) == 0.5
    assert label_recall_score(Fitted(), [False, False, False]) == pytest.approx(2 / 3)
    with pytest.raises(TypeError, match="an estimator with clean_mask_ and noise_mask_"):
        label_precision_score([True, False])


def test_nothing_to_count_gives_nan():
    assert math.isnan(label_precision_score([False, False], [True, False]))
    assert math.isnan(label_recall_score([True, False], [True, True]))


def test_row_numbers_instead_of_a_mask_are_refused_with_the_fix():
    with pytest.raises(ValueError, match=r"clean_mask must hold booleans.*mask\[row_numbers\] = True"):
        label_precision_score([0, 3], [True, False])


def test_masks_of_different_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        label_recall_score([True], [True, False])
