"""When the warm-up has to end."""

import pytest

from sklearn_lec.estimation.warmup import is_memorizing, longest_warmup, memorized_share


def test_the_warm_up_takes_a_fifth_of_a_short_training_and_never_more_than_twenty_epochs():
    assert [longest_warmup(n) for n in (1, 4, 10, 50, 100, 1000)] == [1, 1, 2, 10, 20, 20]


def test_agreement_beyond_the_share_of_right_labels_is_memorization():
    assert memorized_share(0.6, eps=0.4) == pytest.approx(0)
    assert memorized_share(0.8, eps=0.4) == pytest.approx(0.5)
    assert memorized_share(1.0, eps=0.4) == pytest.approx(1)
    assert memorized_share(0.3, eps=0.4) == 0


def test_without_wrong_labels_nothing_can_be_memorized():
    assert memorized_share(1.0, eps=0.0) == 0
    assert not is_memorizing(1.0, eps=0.0)
