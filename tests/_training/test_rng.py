import multiprocessing
import os
import pickle
import random
import threading

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed, parallel_config

from sklearn_lec import LECClassifier
from sklearn_lec._training import rng
from sklearn_lec._training.rng import RandomStream, global_state
from tests.helpers import weights


def draw():
    return torch.rand(1).item(), np.random.rand(), random.random()


def test_a_stream_gives_the_same_numbers_again():
    with RandomStream(5).active():
        first = draw()
    draw()
    with RandomStream(5).active():
        second = draw()

    assert first == second


def test_a_stream_leaves_the_global_state_alone():
    before = torch.get_rng_state(), np.random.get_state()[1], random.getstate()

    with RandomStream(5).active():
        draw()

    assert torch.equal(torch.get_rng_state(), before[0])
    assert np.array_equal(np.random.get_state()[1], before[1])
    assert random.getstate() == before[2]


def test_a_second_block_goes_on_where_the_first_one_ended():
    stream = RandomStream(5)
    with stream.active():
        first = draw()
    with stream.active():
        second = draw()
    with RandomStream(5).active():
        assert (draw(), draw()) == (first, second)


def test_a_block_within_a_block_changes_nothing():
    stream = RandomStream(5)
    with stream.active(), stream.active():
        first = draw()
    with RandomStream(5).active():
        assert draw() == first


def test_the_global_state_comes_back_after_an_error():
    before = torch.get_rng_state()

    with pytest.raises(KeyError), RandomStream(5).active():
        draw()
        raise KeyError

    assert torch.equal(torch.get_rng_state(), before)


def test_a_copy_made_inside_a_block_goes_on_from_there():
    stream = RandomStream(5)
    with stream.active():
        draw()
        copy = pickle.loads(pickle.dumps(stream))
        expected = draw()
    with copy.active():
        assert draw() == expected


def test_numpys_global_generator_gives_another_seed_each_time():
    np.random.seed(3)

    with RandomStream(np.random).active():
        first = draw()
    with RandomStream(np.random).active():
        assert draw() != first


def test_a_generator_of_numpys_gives_another_seed_each_time():
    generator = np.random.RandomState(0)
    with RandomStream(generator).active():
        first = draw()
    with RandomStream(generator).active():
        assert draw() != first


def test_trainings_in_two_threads_give_what_they_give_alone(table):
    def fit(seed):
        return weights(LECClassifier(max_epochs=3, T_w=1, M=2, batch_size=16, random_state=seed, verbose=0).fit(*table))

    alone = [fit(seed) for seed in range(4)]
    before = global_state()

    with parallel_config("threading", n_jobs=2):
        together = Parallel()(delayed(fit)(seed) for seed in range(4))

    assert all(torch.equal(one, other) for one, other in zip(alone, together, strict=True))
    assert torch.equal(global_state()["torch"], before["torch"])
    assert np.array_equal(global_state()["numpy"][1], before["numpy"][1])
    assert global_state()["python"] == before["python"]


@pytest.mark.parametrize("n_workers", [0, 1])
def test_predicting_leaves_the_global_random_state_alone(table, quick, n_workers):
    clf = LECClassifier(**quick, iterator_valid__num_workers=n_workers).fit(*table)
    before = torch.get_rng_state()

    clf.predict(table[0])
    clf.predict_proba(table[0])
    clf.score(*table)

    assert torch.equal(torch.get_rng_state(), before)


def test_a_training_that_waits_long_for_another_says_so(monkeypatch):
    monkeypatch.setattr(rng, "PATIENCE", 0.01)
    is_open, may_close = threading.Event(), threading.Event()

    def hold():
        with RandomStream(0).active():
            is_open.set()
            may_close.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    is_open.wait(60)
    monkeypatch.setattr(rng, "warn_caller", lambda message: (said.append(message), may_close.set()))
    said = []

    with RandomStream(1).active():
        thread.join()

    assert "has waited for 0 s for another one in this process" in said[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_that_is_forked_while_a_thread_trains_does_not_wait_for_it():
    is_open, may_close = threading.Event(), threading.Event()

    def hold():
        with RandomStream(0).active():
            is_open.set()
            may_close.wait(60)

    def draw_in_child():
        with RandomStream(1).active():
            torch.rand(1)

    thread = threading.Thread(target=hold)
    thread.start()
    is_open.wait(60)
    child = multiprocessing.get_context("fork").Process(target=draw_in_child)
    child.start()
    child.join(30)

    assert child.exitcode == 0
    may_close.set()
    thread.join()
