"""How well the share of wrong labels is estimated: problems, other estimators, records and the page."""

import json

import numpy as np
import pytest

from benchmarks import noise_problems, noise_ratio
from benchmarks.lines import DamagedRecordError
from benchmarks.noise_candidates import OTHERS, Evidence
from benchmarks.noise_page import page_of
from benchmarks.noise_problems import CLEAN, LIMITS, MAIN, PROBLEMS, SPECIAL, Problem, load
from benchmarks.noise_records import ESTIMATORS, OURS, check_record
from benchmarks.tables import NOTHING

WINE = Problem("wine", "clean")
CLEAN_FASHION = Problem("Fashion-MNIST", "clean")


def record_of(problem, *, seed=0, truth=0.2, error=0.01, other_error=0.03, **changes):
    """Return a record in which our estimate is too high by `error`, and all others by `other_error`."""
    return {
        "data": problem.data,
        "noise": problem.noise,
        "model": problem.model,
        "seed": seed,
        "n_samples": 100,
        "truth": truth,
        "model_error": 0.05,
        "cost": 0.24,
        "interval": [0.1, 0.3],
        "is_trustworthy": True,
        "estimates": {name: truth + (error if name == OURS else other_error) for name in ESTIMATORS},
    } | changes


def lines_of(records):
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def measured(monkeypatch):
    """Return the list of what was measured, which is nothing but written down."""
    cells = []

    def measure(cell, *, data_home):
        cells.append(cell)
        return record_of(cell[0], seed=cell[1])

    monkeypatch.setattr(noise_ratio, "measure", measure)
    return cells


# --- runs ------------------------------------------------------------------------------------------------------------


def test_a_second_run_does_only_what_is_missing(tmp_path, measured):
    out = tmp_path / "new" / "runs.jsonl"
    noise_ratio.run(out, seeds=1, problems=CLEAN)
    measured.clear()

    noise_ratio.run(out, seeds=2, problems=CLEAN)

    assert measured == [(problem, 1) for problem in CLEAN]
    assert len(out.read_text().splitlines()) == 2 * len(CLEAN)


def test_the_page_is_beside_the_records_and_has_only_what_was_asked_for(tmp_path, measured):
    out = tmp_path / "runs.jsonl"
    out.write_text(lines_of([record_of(WINE, seed=7)]))

    page = noise_ratio.run(out, seeds=1, problems=CLEAN)

    assert (tmp_path / "runs.md").read_text() == page
    assert "3 runs, seeds 0." in page


def test_a_line_that_was_cut_off_is_run_again(tmp_path, measured):
    out = tmp_path / "runs.jsonl"
    out.write_text(lines_of([record_of(WINE)]) + lines_of([record_of(WINE, seed=1)])[:40])

    noise_ratio.run(out, seeds=2, problems=[WINE])

    assert measured == [(WINE, 1)]
    assert [json.loads(line)["seed"] for line in out.read_text().splitlines()] == [0, 1]


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ({"truth": 1.5}, "truth must be a number between 0 and 1, got 1.5"),
        ({"seed": True}, "seed must be a whole number of at least 0"),
        ({"interval": [0.1]}, "interval must be two numbers between 0 and 1"),
        ({"estimates": {OURS: 0.1}}, "estimates must be an object with a number between 0 and 1 for each of plateau"),
        ({"estimates": dict.fromkeys(ESTIMATORS, float("nan"))}, "estimates must be an object with a number"),
        ({"added": 1}, r"missing or unknown: \['added'\]"),
    ],
)
def test_a_damaged_line_is_named_and_the_file_left_as_it_is(tmp_path, measured, damage, rule):
    out = tmp_path / "runs.jsonl"
    content = lines_of([record_of(WINE), record_of(WINE, seed=1) | damage])
    out.write_text(content)

    with pytest.raises(DamagedRecordError, match=f"line 2 of .*runs.jsonl is damaged, or of another version: .*{rule}"):
        noise_ratio.run(out, seeds=1, problems=[WINE])

    assert (measured, out.read_text()) == ([], content)


def test_a_problem_is_measured_with_all_estimators():
    record = noise_ratio.measure((Problem("iris", "sym-20"), 100))

    check_record(json.loads(json.dumps(record)))
    low, high = record["interval"]
    assert (record["n_samples"], record["truth"]) == (150, 0.2)
    assert low < record["estimates"][OURS] < high
    assert record["model_error"] < 0.15
    assert record["cost"] == 0.24


def test_logistic_regression_has_no_epochs_to_count():
    record = noise_ratio.measure((Problem("iris", "clean", "logistic regression"), 100))

    assert record["cost"] is None
    assert record["estimates"]["disagreement"] == record["model_error"] < 0.1


# --- problems --------------------------------------------------------------------------------------------------------


def test_no_problem_is_there_twice():
    assert len({*MAIN, *CLEAN, *SPECIAL, *LIMITS}) == len(PROBLEMS) == 12 * 3 + 3 + 5 + 12


@pytest.mark.parametrize(
    "problem", [p for p in PROBLEMS if "MNIST" not in p.data and p.data != "CIFAR-10"], ids=lambda p: p.title
)
def test_as_many_labels_are_wrong_as_the_name_says(problem):
    percent = int(problem.noise.split()[0].partition("-")[2] or 0)
    labels = load(problem, seed=0)

    concerned = labels.right < 5 if "0-4" in problem.noise else np.full(len(labels.right), True)

    assert (labels.given != labels.right)[concerned].sum() == percent * concerned.sum() // 100
    np.testing.assert_array_equal(labels.given[~concerned], labels.right[~concerned])


def test_labels_of_people_are_those_of_the_images_drawn(shared_data, monkeypatch):
    monkeypatch.setattr(noise_problems, "patch_features", lambda images, seed: images[:, :1, 0, 0])

    labels = [load(Problem("CIFAR-10", noise), seed=3, data_home=shared_data) for noise in ("clean", "human-worst")]

    np.testing.assert_array_equal(labels[0].right, labels[1].right)
    assert labels[0].share_wrong == 0
    assert labels[1].share_wrong == pytest.approx(0.402, abs=0.03)


def test_noise_within_some_classes_gives_labels_among_these():
    labels = load(Problem("digits", "sym-40 within 0-4"), seed=0)

    assert set(labels.given[labels.right < 5]) == {0, 1, 2, 3, 4}


def test_classes_of_the_long_tail_get_rarer_by_the_same_factor():
    _, counts = np.unique(load(Problem("digits, long tail", "sym-20"), seed=0).right, return_counts=True)

    assert (counts[0], counts[9]) == (178, 18)
    np.testing.assert_allclose(counts[1:] / counts[:-1], 0.1 ** (1 / 9), atol=0.07)


def test_one_of_two_classes_is_rare_and_the_seed_decides_which_samples_it_has():
    first, second = (load(Problem("digits, 8 or not", "sym-15"), seed=seed) for seed in (0, 1))

    assert first.right.mean() == second.right.mean() == pytest.approx(0.05, abs=0.001)
    assert not np.array_equal(first.X[first.right == 1], second.X[second.right == 1])


# --- other estimators ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_an_estimator_finds_the_share_where_predictions_are_right(name, share):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1200)
    wrong = rng.random(1200) < share
    labels = np.where(wrong, (truth + rng.integers(1, 4, 1200)) % 4, truth)
    features = 5 * np.eye(4)[truth] + rng.normal(size=(1200, 4)) / 2
    logits = features + rng.normal(size=(1200, 4)) / 2
    pred_probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    estimate = OTHERS[name](Evidence(labels, pred_probs, features))

    assert estimate == pytest.approx(wrong.mean(), abs=0.03)


def test_hoc_needs_only_neighbors_also_where_one_of_unbalanced_classes_has_all_the_noise():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 900, p=[0.6, 0.3, 0.1])
    labels = np.where((truth == 0) & (rng.random(900) < 0.4), 1, truth)
    features = np.eye(3)[truth] + rng.normal(size=(900, 3)) / 20
    no_help = np.full((900, 3), 1 / 3)

    estimate = OTHERS["HOC"](Evidence(labels, no_help, features))

    assert estimate == pytest.approx((labels != truth).mean(), abs=0.02)


# --- page ------------------------------------------------------------------------------------------------------------


def test_the_page_states_goals_and_what_came_out():
    records = [
        record_of(Problem("digits", "sym-20"), error=-0.01),
        record_of(Problem("digits", "sym-20"), error=0.02, seed=1),
        record_of(Problem("digits", "asym-40"), error=0.08),
        record_of(CLEAN_FASHION, truth=0.0, error=0.025),
        record_of(WINE, truth=0.0, error=0.025),
        record_of(SPECIAL[0], error=0.04, is_trustworthy=False),
    ]

    page = page_of(records)

    for line in [
        "6 runs, seeds 0, 1.",
        "| digits: mean error | ≤ 0.02 | 0.037 | **no** |",
        "| digits: worst cell | ≤ 0.06 | 0.080 (asym-40) | **no** |",
        "| digits: error of cleanlab's joint to ours | ≥ 1.5 | 0.8 | **no** |",
        "| Fashion-MNIST: clean labels | ≤ 0.03 | 0.025 | yes |",
        "| wine: clean labels | ≤ 0.02 | 0.025 | **no** |",
        "| digits, long tail, sym-20 | ≤ 0.03 | 0.040 | **no** |",
        "| coverage of the 90 % interval, all of these | 85% to 97% | 66.7% | **no** |",
        f"| plateau (ours) | 0.037 / 0.080 (asym-40) / 0.080 | {NOTHING} | 0.025 / 0.025 (clean) / 0.025 |",
        f"| HOC | 0.030 / 0.030 (sym-20) / 0.030 | {NOTHING} | 0.030 / 0.030 (clean) / 0.030 |",
        f"| sym-20 | 0.015 (+0.005) | {NOTHING} | {NOTHING} |",
        "| wine | 0.025 | 0.030 | 0.030 | 0.030 | 0.030 | 0.030 |",
        "| unbalanced, partial | 1 | 100.0% | 0.100 | 0% | 24% |",
        "Runs that are not covered: Fashion-MNIST, clean (1 of 1); wine, clean (1 of 1).",
    ]:
        assert line in page, line


def test_the_page_keeps_what_fails_out_of_the_means():
    weak = record_of(
        Problem("Fashion-MNIST", "sym-40", "logistic regression"), truth=0.4, error=0.06, cost=None, model_error=0.27
    )

    page = page_of([record_of(WINE, truth=0.0, interval=[0.0, 0.02]), weak])

    assert "| all of these | 1 | 100.0% |" in page
    assert "| Fashion-MNIST, sym-40, logistic regression | 0.40 | 0.270 | 0.460 | 0% | 100% | 0.060 | 0.030 |" in page


def test_a_page_without_records_says_that_there_is_nothing():
    assert f"0 runs, seeds {NOTHING}." in page_of([])
