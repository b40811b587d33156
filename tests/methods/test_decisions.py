"""What each method decides, without a network; training is in test_training.py."""

import math

import pytest
import torch

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS


def started(name, *, eps=0.5, M=2, T_w=0, n_rows=4):
    method = METHODS[name](**LECClassifier.method_defaults() | {"eps": eps, "M": M, "T_w": T_w})
    method.start(n_rows, identity="these rows")
    method.begin_epoch()
    return method


ROWS = torch.arange(4)
FIRST_TWO_SMALL = [0.1, 0.2, 8.0, 9.0]
MIDDLE_TWO_SMALL = [8.0, 0.2, 0.1, 9.0]


def test_standard_holds_no_vote():
    assert started("standard").n_votes == 0


def test_self_training_keeps_the_small_losses_of_the_moment():
    method = started("self-training")

    assert method.keep(torch.tensor([FIRST_TWO_SMALL]), ROWS).tolist() == [[True, True, False, False]]
    method.begin_epoch()
    assert method.keep(torch.tensor([MIDDLE_TWO_SMALL]), ROWS).tolist() == [[False, True, True, False]]


@pytest.mark.parametrize(("name", "n_networks", "n_votes"), [("lnec", 2, 1), ("lsec", 1, 2)])
def test_lnec_and_lsec_keep_what_all_voters_agree_on(name, n_networks, n_votes):
    method = started(name)

    keep = method.keep(torch.tensor([FIRST_TWO_SMALL, MIDDLE_TWO_SMALL]), ROWS)

    assert (method.n_networks, method.n_votes) == (n_networks, n_votes)
    assert keep.tolist() == [[False, True, False, False]]


@pytest.mark.parametrize("name", ["ltec", "ltec-full"])
def test_ltec_keeps_only_rows_with_an_unbroken_streak(name):
    method = started(name)
    method.begin_epoch()
    method.keep(torch.tensor([FIRST_TWO_SMALL]), ROWS)
    method.begin_epoch()

    keep = method.keep(torch.tensor([MIDDLE_TWO_SMALL]), ROWS)

    assert keep.tolist() == [[False, True, False, False]]


@pytest.mark.parametrize("name", ["ltec", "ltec-full"])
def test_ltec_collects_small_losses_during_warming_up_but_keeps_every_row(name):
    method = started(name, T_w=2)
    method.begin_epoch()

    during = method.keep(torch.tensor([FIRST_TWO_SMALL]), ROWS)
    method.begin_epoch()
    after = method.keep(torch.tensor([MIDDLE_TWO_SMALL]), ROWS)

    assert during.tolist() == [[True] * 4]
    assert after.tolist() == [[False, True, False, False]]


def test_ltec_votes_from_the_first_epoch_and_ltec_full_from_the_second():
    ltec, ltec_full = started("ltec"), started("ltec-full")

    assert (ltec.n_votes, ltec_full.n_votes) == (1, 0)
    ltec_full.begin_epoch()
    assert ltec_full.n_votes == 1
    assert (ltec.scope, ltec_full.scope) == ("batch", "epoch")


def test_an_infinite_m_never_forgives_a_miss():
    method = started("ltec", M=math.inf)
    method.keep(torch.tensor([FIRST_TWO_SMALL]), ROWS)
    for _ in range(50):
        method.begin_epoch()
        keep = method.keep(torch.tensor([MIDDLE_TWO_SMALL]), ROWS)

    assert keep.tolist() == [[False, True, False, False]]


@pytest.mark.parametrize("name", ["self-training", "lnec", "lsec"])
def test_methods_without_a_memory_hold_no_vote_during_warming_up(name):
    method = started(name, T_w=1)

    assert method.n_votes == 0
    method.begin_epoch()
    assert method.n_votes > 0


@pytest.mark.parametrize("name", METHODS)
def test_state_dict_carries_everything_that_the_method_remembers(name):
    method = started(name)
    method.begin_epoch()
    if method.n_votes:
        method.keep(torch.tensor([FIRST_TWO_SMALL] * method.n_votes * method.n_networks), ROWS)
    method.kept.add(ROWS[:2], True)
    method.end_epoch()
    state = method.state_dict()

    other = METHODS[name](**LECClassifier.method_defaults() | {"M": 2})
    other.load_state_dict(state)

    assert other.epoch == 2
    assert other.data_identity == "these rows"
    assert other.kept.last.tolist() == [True, True, False, False]
    assert other.kept.score.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert str(other.state_dict()) == str(state)
