"""What each method decides, on losses written by hand; training is in tests/_training."""

import math

import pytest
import torch

from sklearn_lec import LECClassifier
from sklearn_lec._training.build import method_defaults
from sklearn_lec.methods import METHODS, Batch, Selection

SAMPLES = torch.arange(4)
FIRST_TWO_SMALL = [0.1, 0.2, 8.0, 9.0]
MIDDLE_TWO_SMALL = [8.0, 0.2, 0.1, 9.0]


def started(name, **parameters):
    """Return a method in its first epoch, on four samples of two classes."""
    defaults = method_defaults(LECClassifier) | {"eps": 0.5, "M": 2, "T_w": 0} | parameters
    method = METHODS[name]()
    method.set_params(**{n: defaults[n] for n, value in method.get_params().items() if value is None})
    method.reset(4, n_classes=2, identity="these samples")
    method.begin_epoch()
    return method


def batch_of(*losses):
    outputs = [torch.zeros(4, 2)] * len(losses)
    return Batch(outputs, torch.tensor([0, 1, 0, 1]), SAMPLES, losses=torch.tensor(losses))


def decide(method, *losses):
    """Let a method decide on a batch and remember what it wants to, as the engine does."""
    selection = method.select(batch_of(*losses))
    method.record.remember(SAMPLES, selection.memory)
    return [True] * 4 if selection.mask is None else selection.mask[0].tolist()


def test_standard_holds_no_vote():
    assert started("standard").n_passes == 0


def test_self_training_selects_the_small_losses_of_the_moment():
    method = started("self-training")

    assert decide(method, FIRST_TWO_SMALL) == [True, True, False, False]
    method.begin_epoch()
    assert decide(method, MIDDLE_TWO_SMALL) == [False, True, True, False]


@pytest.mark.parametrize(("name", "n_networks", "n_passes"), [("lnec", 2, 1), ("lsec", 1, 2)])
def test_lnec_and_lsec_select_what_all_voters_agree_on(name, n_networks, n_passes):
    method = started(name)

    selected = decide(method, FIRST_TWO_SMALL, MIDDLE_TWO_SMALL)

    assert (method.n_networks, method.n_passes) == (n_networks, n_passes)
    assert selected == [False, True, False, False]


@pytest.mark.parametrize("name", ["ltec", "ltec-full"])
def test_ltec_selects_only_samples_with_an_unbroken_streak(name):
    method = started(name)
    method.begin_epoch()
    decide(method, FIRST_TWO_SMALL)
    method.begin_epoch()

    assert decide(method, MIDDLE_TWO_SMALL) == [False, True, False, False]


@pytest.mark.parametrize("name", ["ltec", "ltec-full"])
def test_ltec_collects_small_losses_during_the_warm_up_but_selects_every_sample(name):
    method = started(name, T_w=2)
    method.begin_epoch()

    during = decide(method, FIRST_TWO_SMALL)
    method.begin_epoch()
    after = decide(method, MIDDLE_TWO_SMALL)

    assert during == [True] * 4
    assert after == [False, True, False, False]


def test_ltec_votes_from_the_first_epoch_and_ltec_full_from_the_second():
    ltec, ltec_full = started("ltec"), started("ltec-full")

    assert (ltec.n_passes, ltec_full.n_passes) == (1, 0)
    ltec_full.begin_epoch()
    assert ltec_full.n_passes == 1
    assert (ltec.scope, ltec_full.scope) == ("batch", "epoch")


def test_an_infinite_m_never_forgives_a_miss():
    method = started("ltec", M=math.inf)
    decide(method, FIRST_TWO_SMALL)
    for _ in range(50):
        method.begin_epoch()
        selected = decide(method, MIDDLE_TWO_SMALL)

    assert selected == [False, True, False, False]


def test_a_sample_that_an_epoch_did_not_show_keeps_its_streak():
    method = started("ltec", M=3, eps=0.0)
    decide(method, FIRST_TWO_SMALL)
    method.begin_epoch()
    method.record.remember(SAMPLES[1:2], method.memory_of_nonfinite(SAMPLES[1:2]))  # the others are not seen
    method.begin_epoch()

    assert decide(method, FIRST_TWO_SMALL) == [True, False, True, True]


@pytest.mark.parametrize("name", ["self-training", "lnec", "lsec"])
def test_methods_without_a_memory_hold_no_vote_during_the_warm_up(name):
    method = started(name, T_w=1)

    assert method.n_passes == 0
    method.begin_epoch()
    assert method.n_passes > 0


@pytest.mark.parametrize("name", METHODS)
def test_a_decision_changes_nothing(name):
    method = started(name)
    method.begin_epoch()
    before = str(method.state_dict())
    batch = batch_of(*[FIRST_TWO_SMALL] * max(1, method.n_passes) * method.n_networks)

    first, second = method.select(batch), method.select(batch)

    assert str(method.state_dict()) == before
    assert str(first) == str(second)


@pytest.mark.parametrize("name", METHODS)
def test_state_dict_carries_everything_that_the_method_remembers(name):
    method = started(name)
    method.begin_epoch()
    decide(method, *[FIRST_TWO_SMALL] * max(1, method.n_passes) * method.n_networks)
    method.record.add(SAMPLES[:2], None)
    method.end_epoch()
    state = method.state_dict()

    other = METHODS[name]()
    other.load_state_dict(state)

    assert (other.epoch, other.data_identity) == (2, "these samples")
    assert other.record.last.tolist() == [True, True, False, False]
    assert other.record.score.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert str(other.state_dict()) == str(state)


def test_a_state_replaces_what_was_there_before():
    method = started("d2l")
    method.turning_epoch_ = 7

    method.load_state_dict(started("d2l").state_dict())

    assert method.turning_epoch_ is None


def test_losses_are_computed_when_a_method_asks_for_them_and_once():
    calls = []
    batch = Batch([torch.zeros(1, 2)], SAMPLES[:1], SAMPLES[:1], losses=lambda: calls.append(1) or torch.zeros(1, 1))

    assert calls == []
    assert batch.losses is batch.losses
    assert calls == [1]


def test_the_mask_of_a_selection_is_a_matrix_of_booleans():
    assert Selection(torch.tensor([True, False])).mask.shape == (1, 2)
    with pytest.raises(TypeError, match="must hold booleans"):
        Selection(torch.ones(2))
