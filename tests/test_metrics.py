import math

import pytest

from sklearn_lec.metrics import label_precision_score, label_recall_score


def test_precision_is_the_fraction_of_right_labels_among_the_selected_samples():
    assert label_precision_score([True, True, True, False], [False, False, True, True]) == pytest.approx(2 / 3)


def test_recall_is_the_fraction_of_selected_samples_among_the_right_labels():
    assert label_recall_score([True, False, False, True], [False, False, False, True]) == pytest.approx(1 / 3)


def test_an_estimator_can_be_passed_instead_of_its_masks():
    class Fitted:
        clean_mask_ = [True, True, False]
        noise_mask_ = [False, True, False]

    assert label_precision_score(Fitted()) == 0.5
    assert label_recall_score(Fitted(), [False, False, False]) == pytest.approx(2 / 3)
    with pytest.raises(TypeError, match="an estimator with clean_mask_ and noise_mask_"):
        label_precision_score([True, False])


def test_division_by_zero_gives_nan():
    assert math.isnan(label_precision_score([False, False], [True, False]))
    assert math.isnan(label_recall_score([True, False], [True, True]))


def test_sample_indices_instead_of_a_mask_are_refused_with_the_fix():
    with pytest.raises(ValueError, match=r"clean_mask must hold booleans.*mask\[indices\] = True"):
        label_precision_score([0, 3], [True, False])


def test_masks_of_different_length_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        label_recall_score([True], [True, False])
