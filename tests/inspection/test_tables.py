"""Tables of classes, from tables of samples written by hand."""

import numpy as np
import pandas as pd
import pytest

from sklearn_lec.inspection import class_quality_table, corruption_table, overlapping_classes_table

CLASSES = ["ant", "bee", "cow"]


@pytest.fixture
def issues():
    """Four ants, one of them a bee; four bees, one of them an ant and one a cow; no cow with the right label."""
    given = ["ant"] * 4 + ["bee"] * 4
    predicted = ["ant", "ant", "ant", "bee", "bee", "cow", "ant", "cow"]
    is_issue = [False, False, False, True, False, False, True, True]  # the sixth differs, but is no issue
    return pd.DataFrame({"is_label_issue": is_issue, "given_label": given, "predicted_label": predicted})


def test_classes_are_listed_with_their_suspected_labels_the_worst_first(issues):
    table = class_quality_table(issues)

    assert table.index.tolist() == ["bee", "ant", "cow"]
    assert table["n_samples"].tolist() == [4, 4, 0]
    assert table["label_issues"].tolist() == [2, 1, 0]
    assert table["inverse_label_issues"].tolist() == [1, 1, 1]
    np.testing.assert_allclose(table["label_noise"], [0.5, 0.25, np.nan])
    np.testing.assert_allclose(table["label_quality"], [0.5, 0.75, np.nan])
    np.testing.assert_allclose(table["inverse_label_noise"], [1 / 3, 1 / 4, 1])


def test_pairs_of_classes_are_listed_with_counts_by_direction(issues):
    table = overlapping_classes_table(issues)

    assert table[["class_a", "class_b"]].to_numpy().tolist() == [["ant", "bee"], ["bee", "cow"]]
    assert table["label_issues"].tolist() == [2, 1]
    assert table["a_labelled_b"].tolist() == [1, 0]
    assert table["b_labelled_a"].tolist() == [1, 1]
    assert table["share"].tolist() == [0.25, 0.125]


def test_rows_of_the_corruption_table_sum_to_one(issues):
    table = corruption_table(issues)

    assert table.index.tolist() == table.columns.tolist() == CLASSES
    np.testing.assert_allclose(table.sum(axis=1), 1)
    assert table.loc["ant", "bee"] == 0.25
    assert table.loc["cow", "bee"] == 1


@pytest.mark.parametrize("labels", [[3, 7], [True, False], [0.5, 1.5]])
def test_labels_keep_their_type(labels):
    issues = pd.DataFrame({"is_label_issue": False, "given_label": labels, "predicted_label": labels})

    assert class_quality_table(issues).index.sort_values().tolist() == sorted(labels)
    assert overlapping_classes_table(issues).empty


def test_a_prediction_that_is_missing_is_no_class():
    issues = pd.DataFrame(
        {"is_label_issue": [False, False], "given_label": [3, 7], "predicted_label": pd.array([3, None], dtype="Int64")}
    )

    assert class_quality_table(issues).index.tolist() == [3, 7]
