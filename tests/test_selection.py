import math
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_lec._selection import SampleRecord, TemporalConsensus, small_loss_count, small_loss_mask


def literal_a3(small_loss_sets, t, M):
    """The rows that Algorithm A3 lets pass at epoch t, written as in the paper: sets and intersections."""
    if t == 1:
        return small_loss_sets[1]
    first = 1 if t < M else t - (M - 1)
    return set.intersection(*(small_loss_sets[epoch] for epoch in range(int(first), t + 1)))


def literal_a4(small_loss_sets, t, M):
    """The same for Algorithm A4, whose sets begin at epoch 2."""
    first = 2 if t < M + 1 else t - (M - 1)
    return set.intersection(*(small_loss_sets[epoch] for epoch in range(int(first), t + 1)))


def passing_rows(small_loss_sets, n_rows, M):
    consensus, rows, passing = TemporalConsensus(n_rows), torch.arange(n_rows), {}
    for epoch, small_set in small_loss_sets.items():
        small = torch.tensor([row in small_set for row in range(n_rows)])
        passing[epoch] = set(rows[consensus.update(small, rows, epoch=epoch, M=M)].tolist())
    return passing


some_m = st.sampled_from([1, 2, 3, 4, 5, 6, 7, math.inf])
some_sets = st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=15)


@given(some_sets, some_m)
def test_streaks_equal_the_literal_sets_of_algorithm_a3(sets, M):
    small_loss_sets = dict(enumerate(sets, start=1))

    passing = passing_rows(small_loss_sets, 10, M)

    assert passing == {t: literal_a3(small_loss_sets, t, M) for t in small_loss_sets}


@given(some_sets, some_m)
def test_streaks_equal_the_literal_sets_of_algorithm_a4(sets, M):
    small_loss_sets = dict(enumerate(sets, start=2))

    passing = passing_rows(small_loss_sets, 10, M)

    assert passing == {t: literal_a4(small_loss_sets, t, M) for t in small_loss_sets}


def test_a_row_that_an_epoch_did_not_show_keeps_its_streak():
    consensus = TemporalConsensus(2)
    consensus.update(torch.tensor([True, True]), torch.tensor([0, 1]), epoch=1, M=3)
    consensus.update(torch.tensor([False]), torch.tensor([1]), epoch=2, M=3)

    agreed = consensus.update(torch.tensor([True, True]), torch.tensor([0, 1]), epoch=3, M=3)

    assert agreed.tolist() == [True, False]


@pytest.mark.parametrize("percent", range(100))
def test_small_loss_count_is_the_exact_floor_for_every_percent(percent):
    for n_rows in (1, 7, 50, 100, 128, 1347, 60_000):
        assert small_loss_count(n_rows, eps=percent / 100) == (100 - percent) * n_rows // 100


@given(st.integers(0, 99), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_small_loss_mask_marks_exactly_the_smallest_with_ties_to_the_earlier_row(percent, values):
    losses = torch.tensor(values, dtype=torch.float64)

    mask = small_loss_mask(losses, eps=percent / 100)

    expected = np.argsort(losses.numpy(), kind="stable")[: (100 - percent) * len(values) // 100]
    assert set(mask.nonzero().flatten().tolist()) == set(expected.tolist())


def test_small_loss_mask_ranks_each_voter_on_its_own():
    losses = torch.tensor([[3.0, 1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 4.0]])

    mask = small_loss_mask(losses, eps=0.5)

    assert mask.tolist() == [[False, True, True, False], [True, True, False, False]]


@given(st.lists(st.sampled_from([0.5, 2.0, math.nan, math.inf, -math.inf]), min_size=1, max_size=20))
def test_small_loss_mask_never_marks_a_loss_that_is_not_finite(values):
    losses = torch.tensor(values)

    mask = small_loss_mask(losses, eps=0.0)

    assert torch.equal(mask, losses.isfinite())


def test_kept_rows_scores_the_share_of_filtering_epochs():
    kept = SampleRecord(3, training_rows=torch.tensor([0, 1]))
    for filtering, rows in [(False, [0, 1]), (True, [0]), (True, [0, 1])]:
        kept.add(torch.tensor(rows), True)
        kept.close_epoch(filtering=filtering)

    assert kept.last.tolist() == [True, True, False]
    assert np.allclose(kept.score, [1.0, 0.5, math.nan], equal_nan=True)


def test_kept_rows_outgrow_int16_without_an_error():
    kept = SampleRecord(1)
    kept.n_epochs = torch.iinfo(torch.int16).max
    kept.counts.fill_(kept.n_epochs)
    kept.add(torch.tensor([0]), True)

    kept.close_epoch(filtering=True)

    assert kept.score.tolist() == [1.0]


def test_memory_per_row_is_eight_bytes():
    kept, consensus = SampleRecord(1000), TemporalConsensus(1000)

    tensors = [kept.current, kept.last, kept.counts, record.memory["last_miss"]]

    assert sum(tensor.nbytes for tensor in tensors) == 8 * 1000


@given(
    st.integers(0, 99),
    st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0, math.inf, math.nan]), min_size=1, max_size=60),
)
def test_rows_are_ranked_alike_on_the_cpu_and_on_a_device(percent, values):
    losses = torch.tensor([values, values[::-1]])

    on_cpu = small_loss_mask(losses, eps=percent / 100)
    with patch("sklearn_lec._selection.on_host", lambda tensor: False):
        on_device = small_loss_mask(losses, eps=percent / 100)

    assert torch.equal(on_cpu, on_device)


def test_losses_of_low_precision_are_ranked():
    losses = torch.tensor([0.5, 0.25, 2.0, 1.0], dtype=torch.bfloat16)

    assert small_loss_mask(losses, eps=0.5).tolist() == [True, True, False, False]


def test_an_update_can_be_taken_back():
    consensus, rows = TemporalConsensus(3), torch.arange(3)
    consensus.update(torch.tensor([True, False, True]), rows, epoch=1, M=2)
    consensus.update(torch.tensor([False, True, False]), rows, epoch=2, M=2, can_be_taken_back=True)

    consensus.take_back()

    assert record.memory["last_miss"].tolist() == [0, 1, 0]
