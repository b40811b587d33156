"""When the warm-up should end: the signals, the rules, what is trained, and what the page says."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import warmup_signals
from benchmarks.pages import Cell, cells_of
from benchmarks.warmup_signals import PROBLEMS, RULES, Signals, label_wave, measure, watch
from benchmarks.warmup_signals_page import AGREEMENT, CONSTANTS, ELBOW, LABEL_WAVE, OURS, page_of
from sklearn_lec import LECClassifier

RESULTS = Path(warmup_signals.__file__).parent / "results" / "warmup_signals.jsonl"
SIGNALS = Signals(agreement=[0.2, 0.5, 0.6, 0.62, 0.85], changes=[90, 60, 30, 20])


@pytest.fixture
def small_data():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    return rng.normal(y[:, None], 1.0, size=(150, 4)).astype(np.float32), y


def record(noise, seed, T_w, scores):
    return {"data": "wine", "noise": noise, "seed": seed, "T_w": dict.fromkeys(RULES, 2) | T_w, "scores": scores}


def test_the_signals_are_those_of_the_warm_up_of_ltec(small_data):
    X, y = small_data
    parameters = {"method": "ltec", "eps": 0.2, "T_w": "auto", "max_epochs": 30, "random_state": 0}
    ltec = LECClassifier(**parameters, device="cpu", verbose=0).fit(X, y)

    signals = watch(X, y, seed=0, n_epochs=6)

    assert ltec.T_w_ == 6
    assert signals.agreement == pytest.approx(ltec.history[:6, "agreement"], abs=1e-5)


def test_changes_are_counted_from_the_second_epoch_on(small_data):
    signals = watch(*small_data, seed=0, n_epochs=4)

    assert len(signals.changes) == len(signals.agreement) - 1
    assert 0 < max(signals.changes) <= 150


@pytest.mark.parametrize("rule, T_w", [(OURS, 5), (LABEL_WAVE, 20), (ELBOW, 4), (AGREEMENT, 3), *CONSTANTS.items()])
def test_each_rule_ends_the_warm_up_where_it_says(rule, T_w):
    assert RULES[rule](SIGNALS, 0.4, 20) == T_w


@pytest.mark.parametrize("rule", RULES)
def test_no_rule_goes_beyond_the_bound(rule):
    assert RULES[rule](SIGNALS, 0.4, 1) == 1


def test_a_single_rise_is_not_a_minimum_of_the_smoothed_changes():
    changes = [90, 60, 30, 35, 20, 20, 30, 40]  # averages of epochs 4 to 9: 60, 42, 28, 25, 23, 30

    assert label_wave(changes, bound=20) == 8


def test_the_same_number_of_epochs_is_trained_once(small_data, monkeypatch):
    monkeypatch.setitem(warmup_signals.SOURCES, "wine", lambda **_: small_data)
    monkeypatch.setattr(warmup_signals, "EPOCHS", 5)

    found = measure(Cell("wine", "sym-40", 0))

    assert set(found) == {*Cell._fields, *warmup_signals.PARTS}
    assert found["true_eps"] == pytest.approx(0.4, abs=0.02)
    assert found["T_w"] == dict.fromkeys(RULES, 1)
    assert list(found["scores"]) == ["1"]


def test_losses_are_those_against_the_constant_with_the_best_mean_over_the_seeds():
    ours = {OURS: 7, "T_w=20": 20}
    records = [
        record("sym-40", 0, ours, {"2": 0.90, "7": 0.88, "20": 0.80}),
        record("sym-40", 1, ours, {"2": 0.90, "7": 0.88, "20": 0.94}),
        record("asym-40", 0, ours | {OURS: 20}, {"2": 0.70, "20": 0.75}),
    ]

    page = page_of(records)

    assert "3 runs; the mean over the seeds 0, 1" in page
    assert "| wine | sym-40 | 88.0 (7) | 90.0 (2) |" in page
    assert f"| {OURS} | 1.00 | 2.00 | wine, sym-40 |" in page
    assert f"| {LABEL_WAVE} | 2.50 | 5.00 | wine, asym-40 |" in page
    assert "| T_w=20 | 1.50 | 3.00 | wine, sym-40 |" in page
    assert f"| {OURS} or {LABEL_WAVE} | 2.50 | 5.00 | wine, asym-40 |" in page


def test_the_range_of_epochs_is_shown_where_seeds_differ():
    scores = {"2": 0.5, "7": 0.5}

    page = page_of([record("sym-40", 0, {OURS: 7}, scores), record("sym-40", 1, {}, scores)])

    assert "| wine | sym-40 | 50.0 (2 to 7) |" in page


def test_a_second_run_does_only_what_is_missing(tmp_path, monkeypatch, capsys):
    measured = []

    def measure(cell):
        measured.append(cell)
        signals = {"true_eps": 0.4, "agreement": [0.5], "changes": []}
        return cell._asdict() | signals | {"T_w": dict.fromkeys(RULES, 2), "scores": {"2": 0.9}}

    monkeypatch.setattr(warmup_signals, "measure", measure)
    for seeds in (1, 2, 2):
        warmup_signals.main(["--out", str(tmp_path / "records.jsonl"), "--seeds", str(seeds)])

    assert measured == cells_of(PROBLEMS, seeds=2)
    assert "seeds 0, 1" in (tmp_path / "records.md").read_text(encoding="utf-8")


def test_the_page_in_the_repository_is_that_of_its_records(page_again):
    assert page_again(warmup_signals, RESULTS) == RESULTS.with_suffix(".md").read_text(encoding="utf-8")
