import numpy as np
import pytest

from sklearn_lec.inspection import LabelQualityDisplay


def counts(display):
    return [step.get_data().values.tolist() for step in display.steps_]


def legend(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_the_bars_count_flagged_samples_and_the_others(issues):
    display = LabelQualityDisplay.from_issues(issues, bins=[0, 0.25, 0.5, 1])

    assert counts(display) == [[0, 0, 3], [2, 1, 0]]
    assert display.steps_[0].get_data().edges.tolist() == [0, 0.25, 0.5, 1]
    assert legend(display) == ["not flagged: 3", "flagged: 3", "flagged below 0.5"]


def test_the_bars_count_right_and_wrong_labels_where_the_truth_is_known(issues):
    display = LabelQualityDisplay.from_issues(issues, ["cat", "dog", "dog", "dog", "dog", "dog"], bins=2)

    assert counts(display) == [[1, 3], [2, 0]]
    assert legend(display)[:2] == ["right labels: 4", "wrong labels: 2"]


def test_the_threshold_lies_between_flagged_samples_and_the_others(issues):
    display = LabelQualityDisplay.from_issues(issues)

    assert (display.threshold_, display.n_exceptions_) == (0.5, 0)
    assert display.line_.get_xdata() == [0.5, 0.5]


@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_has_fewer_exceptions(seed):
    rng = np.random.RandomState(seed)
    quality = rng.uniform(size=30)
    flagged = quality + rng.normal(scale=0.3, size=30) < 0.4

    display = LabelQualityDisplay(quality, flagged).plot()

    wrong_side = [(flagged != (quality < threshold)).sum() for threshold in [0, *quality, 1]]
    assert display.n_exceptions_ == min(wrong_side) > 0
    assert display.n_exceptions_ == (flagged != (quality < display.threshold_)).sum()
    assert f"with {display.n_exceptions_} exceptions" in legend(display)[-1]


def test_there_is_no_threshold_if_all_samples_are_flagged_or_none(issues):
    for is_flagged in (True, False):
        display = LabelQualityDisplay.from_issues(issues[issues["is_label_issue"] == is_flagged])

        assert display.threshold_ is None
        assert display.line_ is None


def test_few_samples_can_be_seen_beside_many(issues):
    quality, flagged = np.append(np.full(10_000, 0.9), 0.1), np.append(np.zeros(10_000, dtype=bool), True)

    display = LabelQualityDisplay(quality, flagged).plot()

    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylim()[0] < 1
    assert LabelQualityDisplay(quality, flagged).plot(log=False).ax_.get_yscale() == "linear"


def test_the_estimator_is_asked_for_the_issues(find_issues, issues):
    estimator, X, y = object(), [[0]] * 6, issues["given_label"]

    display = LabelQualityDisplay.from_estimator(estimator, X, y, y_true=y, line_kw={"lw": 7})

    assert find_issues == [(estimator, X, y)]
    assert counts(display)[1] == [0] * 40
    assert display.line_.get_linewidth() == 7


def test_a_truth_of_another_length_is_refused(issues):
    with pytest.raises(ValueError, match=r"there are 6 given labels\. Pass one true label per sample"):
        LabelQualityDisplay.from_issues(issues, ["cat"])
