"""From predictions to the quality of labels, and to decisions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_lec.inspection.ranking import (
    Evidence,
    quality_by_corruption,
    quality_in_training,
    suggestions,
    threshold_in_training,
    without_ties,
)


def evidence(*rows, labels=None):
    probabilities = np.array(rows, dtype=float)
    return Evidence.of_predictions(np.zeros(len(rows), dtype=int) if labels is None else labels, probabilities)


def test_quality_falls_with_the_probability_of_another_class():
    quality = quality_in_training(evidence([0.5, 0.3, 0.2], [0.5, 0.5, 0.0], [0.2, 0.8, 0.0]))

    assert quality[0] > 0.5 == quality[1] > quality[2]


def test_predictions_for_held_out_samples_have_a_say():
    same = evidence([0.6, 0.4], [0.6, 0.4], [0.6, 0.4])

    quality = quality_in_training(same, wrong_probability=np.array([0.05, np.nan, 0.95]))

    assert quality[0] > quality[1] > quality[2]
    assert quality[1] == pytest.approx(0.6)


def test_as_many_labels_are_issues_as_are_estimated_to_be_wrong():
    quality = np.random.default_rng(0).uniform(0.3, 0.9, 1000)

    assert (quality < threshold_in_training(quality, eps=0.2)).sum() == 200


@pytest.mark.parametrize(("quality", "eps", "n_issues"), [(0.1, 0.0, 10), (0.99, 0.4, 0)])
def test_clear_cases_are_decided_whatever_the_estimate(quality, eps, n_issues):
    ten = without_ties(np.full(10, quality), evidence(*[[quality, 1 - quality]] * 10))

    assert (ten < threshold_in_training(ten, eps=eps)).sum() == n_issues


def test_without_an_estimate_predictions_have_to_contradict_the_label():
    assert threshold_in_training(np.array([0.1, 0.9]), eps=None) == 0.5


def test_a_label_that_a_class_is_often_given_is_no_surprise():
    probabilities = np.array([[0.8, 0.2, 0.0], [0.8, 0.0, 0.2]])
    matrix = np.array([[0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])  # the first class is often called the second

    often, never = quality_by_corruption(np.array([1, 2]), probabilities, matrix)

    assert often < 0.5 < never


@given(arrays(float, st.integers(1, 40), elements=st.sampled_from([0.0, 0.25, 1.0, np.nan])))
def test_there_are_no_ties_and_the_order_stays(quality):
    of_two = np.column_stack([np.nan_to_num(quality), 1 - np.nan_to_num(quality)])

    moved = without_ties(quality, Evidence.of_predictions(np.zeros(len(quality), dtype=int), of_two))

    assert len(np.unique(moved)) == len(quality)
    assert ((moved >= 0) & (moved <= 1)).all()
    np.testing.assert_allclose(moved, np.nan_to_num(quality, nan=0.5), atol=1e-6)


def test_nothing_is_suggested_where_predictions_disagree_about_the_right_label():
    sure, torn = [0.1, 0.85, 0.05], [0.1, 0.5, 0.4]

    suggested = suggestions(evidence(sure, torn, sure), np.array([True, True, False]))

    assert suggested.tolist() == [1, -1, -1]


def test_samples_without_a_prediction_take_part_in_no_decision():
    some = evidence([0.2, 0.8], [np.nan, np.nan])

    assert some.other.tolist() == [1, -1]
    assert np.isnan(quality_in_training(some)[1])
    assert suggestions(some, np.array([True, True])).tolist() == [1, -1]


def test_what_is_missing_is_taken_from_other_evidence():
    first, second = evidence([0.2, 0.8], [np.nan, np.nan]), evidence([0.9, 0.1], [0.3, 0.7])

    both = first.completed_by(second)

    assert both.label_probability.tolist() == [0.2, 0.3]
    assert both.is_known.all()
