import math
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_lec._selection import (
    SampleRecord,
    small_loss_count,
    small_loss_mask,
    small_loss_mask_of_labels,
    temporal_consensus,
)
from sklearn_lec.methods import LTEC


def literal_a3(small_loss_sets, t, M):
    """The samples that Algorithm A3 lets pass at epoch t, written as in the paper: sets and intersections."""
    if t == 1:
        return small_loss_sets[1]
    first = 1 if t < M else t - (M - 1)
    return set.intersection(*(small_loss_sets[epoch] for epoch in range(int(first), t + 1)))


def literal_a4(small_loss_sets, t, M):
    """The same for Algorithm A4, whose sets begin at epoch 2."""
    first = 2 if t < M + 1 else t - (M - 1)
    return set.intersection(*(small_loss_sets[epoch] for epoch in range(int(first), t + 1)))


def passing_samples(small_loss_sets, n_samples, M):
    last_miss, passing = torch.zeros(n_samples, dtype=torch.int32), {}
    for epoch, small_set in small_loss_sets.items():
        small = torch.tensor([sample in small_set for sample in range(n_samples)])
        agreed, last_miss = temporal_consensus(small, last_miss, epoch=epoch, M=M)
        passing[epoch] = set(agreed.nonzero().flatten().tolist())
    return passing


some_m = st.sampled_from([1, 2, 3, 4, 5, 6, 7, math.inf])
some_sets = st.lists(st.sets(st.integers(0, 9)), min_size=1, max_size=15)


@given(some_sets, some_m)
def test_streaks_equal_the_literal_sets_of_algorithm_a3(sets, M):
    small_loss_sets = dict(enumerate(sets, start=1))

    passing = passing_samples(small_loss_sets, 10, M)

    assert passing == {t: literal_a3(small_loss_sets, t, M) for t in small_loss_sets}


@given(some_sets, some_m)
def test_streaks_equal_the_literal_sets_of_algorithm_a4(sets, M):
    small_loss_sets = dict(enumerate(sets, start=2))

    passing = passing_samples(small_loss_sets, 10, M)

    assert passing == {t: literal_a4(small_loss_sets, t, M) for t in small_loss_sets}


def test_a_consensus_changes_nothing_that_it_is_given():
    small, last_miss = torch.tensor([True, False]), torch.tensor([1, 1], dtype=torch.int32)

    _, after = temporal_consensus(small, last_miss, epoch=3, M=2)

    assert last_miss.tolist() == [1, 1]
    assert (after.tolist(), after.dtype) == ([1, 3], torch.int32)


@pytest.mark.parametrize("percent", range(100))
def test_small_loss_count_is_the_exact_floor_for_every_percent(percent):
    for n_rows in (1, 7, 50, 100, 128, 1347, 60_000):
        assert small_loss_count(n_rows, eps=percent / 100) == (100 - percent) * n_rows // 100


@given(st.integers(0, 99), st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200))
def test_small_loss_mask_marks_exactly_the_smallest_with_ties_to_the_earlier_sample(percent, values):
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


def test_the_score_is_the_share_of_epochs_after_the_warm_up():
    record = SampleRecord(3, training_samples=torch.tensor([0, 1]))
    for is_past_warmup, samples in [(False, [0, 1]), (True, [0]), (True, [0, 1])]:
        record.add(torch.tensor(samples), None)
        record.close_epoch(is_past_warmup=is_past_warmup)

    assert record.last.tolist() == [True, True, False]
    assert np.allclose(record.score, [1.0, 0.5, math.nan], equal_nan=True)


def test_a_record_outgrows_int16_without_an_error():
    record = SampleRecord(1)
    record.n_epochs = torch.iinfo(torch.int16).max
    record.counts.fill_(record.n_epochs)
    record.add(torch.tensor([0]), None)

    record.close_epoch(is_past_warmup=True)

    assert record.score.tolist() == [1.0]


def test_memory_of_ltec_is_eight_bytes_per_sample():
    record = SampleRecord(1000, memory=LTEC().sample_memory(n_classes=10))

    tensors = [*vars(record).values(), *record.memory.values()]

    assert sum(tensor.nbytes for tensor in tensors if isinstance(tensor, torch.Tensor)) == 8 * 1000


@pytest.mark.parametrize("is_on_host", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_record_remembers_numbers_and_vectors_of_the_samples_named(is_on_host, dtype):
    start = {"number": torch.tensor(7, dtype=torch.int32), "vector": torch.zeros(2, dtype=dtype)}
    record = SampleRecord(3, memory=start)

    with patch("sklearn_lec._selection.on_host", lambda tensor: is_on_host):
        values = {"number": torch.tensor([1, 2]), "vector": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}
        record.remember(torch.tensor([2, 0]), values)

    assert record.memory["number"].tolist() == [2, 7, 1]
    assert record.memory["vector"].tolist() == [[3.0, 4.0], [0.0, 0.0], [1.0, 2.0]]
    assert record.memory["vector"].dtype == dtype


@given(
    st.integers(0, 99),
    st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 2.0, math.inf, math.nan]), min_size=1, max_size=60),
)
def test_samples_are_ranked_alike_on_the_cpu_and_on_a_device(percent, values):
    losses = torch.tensor([values, values[::-1]])

    on_cpu = small_loss_mask(losses, eps=percent / 100)
    with patch("sklearn_lec._selection.on_host", lambda tensor: False):
        on_device = small_loss_mask(losses, eps=percent / 100)

    assert torch.equal(on_cpu, on_device)


def test_losses_of_low_precision_are_ranked():
    losses = torch.tensor([0.5, 0.25, 2.0, 1.0], dtype=torch.bfloat16)

    assert small_loss_mask(losses, eps=0.5).tolist() == [True, True, False, False]


@given(st.lists(st.tuples(st.floats(0, 9), st.integers(0, 2)), min_size=1, max_size=30))
def test_losses_are_compared_among_the_samples_given_the_same_label(samples):
    losses = torch.tensor([[loss for loss, _ in samples]])
    labels = torch.tensor([label for _, label in samples])
    shares = torch.tensor([0.0, 0.25, 0.9], dtype=torch.float64)

    mask = small_loss_mask_of_labels(losses, labels, shares=shares)

    for label, share in enumerate(shares.tolist()):
        expected = small_loss_mask(losses[:, labels == label], eps=share)
        assert mask[:, labels == label].tolist() == expected.tolist()


def test_trusted_samples_have_the_first_places_among_the_small_losses():
    losses, trusted = torch.tensor([[9.0, 0.1, 0.2, 0.3], [0.4, 9.0, 8.0, 7.0]]), torch.tensor([True] + [False] * 3)

    mask = small_loss_mask(losses, eps=0.5, trusted=trusted)

    assert mask.tolist() == [[True, True, False, False], [True, False, False, True]]


def test_a_trusted_sample_whose_loss_is_not_a_number_is_not_marked():
    losses = torch.tensor([math.nan, 0.1, 0.2, 0.3])

    assert small_loss_mask(losses, eps=0.25, trusted=losses.isnan()).tolist() == [False, True, True, True]


def test_trusted_samples_have_the_first_places_among_those_with_their_label():
    losses, labels = torch.tensor([9.0, 0.1, 0.2, 0.3]), torch.tensor([0, 0, 1, 1])

    mask = small_loss_mask_of_labels(losses, labels, shares=torch.tensor([0.5, 0.5]), trusted=losses > 1)

    assert mask.tolist() == [True, False, True, False]
