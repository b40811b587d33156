"""The benchmark of methods at equal numbers of networks: what is trained, what is run again, what the page says."""

import numpy as np
import pytest

from benchmarks import choice
from benchmarks.choice_page import CONTENDERS, LTEC, OURS, OURS_2, RIGHT_ONLY, Contender, page_of
from benchmarks.choice_problems import CONV9, KEPT_BACK, MLP, PROBLEMS, Problem, load
from benchmarks.tables import NOTHING

DIGITS = Problem("digits", "sym-60")


def record(problem, contender, score, *, seed=0, seconds=1.0):
    values = {"seed": seed, "score": score, "precision": 0.9, "recall": 0.8, "seconds": seconds}
    return {**problem._asdict(), **contender._asdict(), **values}


def test_the_best_of_each_number_of_networks_is_bold_but_not_what_knows_the_wrong_labels():
    scores = {LTEC: 0.91, OURS: 0.93, OURS_2: 0.95, RIGHT_ONLY: 0.97}

    page = page_of([record(DIGITS, contender, score) for contender, score in scores.items()])

    line = ["digits", "sym-60", *2 * [NOTHING], "91.0", NOTHING, "**93.0**", *2 * [NOTHING], "**95.0**", "97.0"]
    assert f"| {' | '.join(line)} |" in page


def test_an_entry_is_the_mean_with_its_standard_error():
    page = page_of([record(DIGITS, LTEC, score, seed=seed) for seed, score in enumerate((0.90, 0.92))])

    assert "**91.0** (1.0)" in page


def test_a_goal_is_met_if_the_lead_is_large_enough_on_every_problem():
    problems = [p for p in PROBLEMS if p.data == "CIFAR-10 features" and p.noise in ("human-random1", "human-worst")]
    records = [record(p, LTEC, 0.50) for p in problems]

    met = page_of([*records, *(record(p, OURS, 0.53) for p in problems)])
    missed = page_of([*records, *(record(p, OURS, score) for p, score in zip(problems, (0.53, 0.51), strict=True))])

    assert "| labels of people, features: Relabel to LTEC | +2.0 | +3.0, +3.0 | yes |" in met
    assert "| labels of people, features: Relabel to LTEC | +2.0 | +3.0, +1.0 | **no** |" in missed
    assert f"| labels of people, Conv9: Relabel to LTEC | +2.0 | not run yet | {NOTHING} |" in met


def test_what_a_wrong_share_costs_is_the_larger_loss():
    scores = {"eps": 0.95, "0.8 eps": 0.94, "1.2 eps": 0.93}

    page = page_of([record(DIGITS._replace(told=told), OURS, score) for told, score in scores.items()])

    assert "| digits, sym-60: lost if told 0.8 or 1.2 of the share | 1.5 | 2.0 | **no** |" in page


def test_seeds_and_problems_kept_back_are_not_those_of_the_tuning():
    kept_back = [problem for problem in PROBLEMS if problem.group == KEPT_BACK]

    assert {seed for problem in kept_back for seed in problem.seeds} == {100, 101, 102, 103, 104}
    assert not {p[:3] for p in kept_back} & {p[:3] for p in PROBLEMS if p.group != KEPT_BACK}


def test_few_contenders_are_trained_where_a_training_takes_long():
    cells = choice.all_cells()

    assert {cell.contender for cell in cells if cell.problem.network == MLP} == set(CONTENDERS)
    assert len({cell.contender for cell in cells if cell.problem.network == CONV9}) == 5
    assert [cell.seed % 100 for cell in cells] == sorted(cell.seed % 100 for cell in cells)


@pytest.mark.parametrize(("told", "eps"), [("eps", 0.4), ("0.8 eps", 0.32), ("auto", "auto")])
def test_methods_are_told_what_the_problem_says(told, eps):
    clf = choice.classifier(DIGITS._replace(told=told), OURS, true_eps=0.4, seed=3)

    assert (clf.method, clf.eps, clf.random_state) == ("relabel", eps, 3)


def test_two_networks_are_trained_where_the_title_says_so():
    assert choice.classifier(DIGITS, OURS_2, true_eps=0.4, seed=0).n_networks == 2
    assert Contender("co-teaching", 2).title == "Co-teaching x2"


def test_what_knows_the_wrong_labels_learns_from_the_others_only(monkeypatch):
    seen = []
    monkeypatch.setattr(choice.LECClassifier, "fit", lambda net, X, y: seen.append((X, y)) or stop())

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        choice.measure(choice.Cell(DIGITS, RIGHT_ONLY, 0))

    split = load(DIGITS, seed=0)
    right = split.given == split.right
    np.testing.assert_array_equal(seen[0][1], split.right[right])
    assert len(seen[0][0]) == right.sum() < len(right)


def test_a_second_run_does_only_what_is_missing(tmp_path, monkeypatch):
    measured = []

    def measure(cell, data_home):
        measured.append(cell)
        return record(cell.problem, cell.contender, 0.9, seed=cell.seed)

    monkeypatch.setattr(choice, "measure", measure)
    cells = [cell for cell in choice.all_cells() if cell.problem == DIGITS and cell.contender == OURS]
    for n_cells in (2, 5):
        page = choice.run(tmp_path / "choice.jsonl", cells[:n_cells])

    assert measured == cells
    assert page == (tmp_path / "choice.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("data", ["digits", "made table"])
def test_samples_that_test_have_right_labels_and_are_held_out(data):
    split = load(Problem(data, "sym-40"), seed=1)

    assert (split.given != split.right).mean() == pytest.approx(0.4, abs=0.01)
    assert len(split.X_test) == len(split.y_test) == pytest.approx(len(split.X) / 3, abs=1)


@pytest.mark.slow
def test_a_training_gives_a_whole_record(monkeypatch):
    monkeypatch.setattr(choice, "EPOCHS", {"digits": 12})

    found = choice.measure(choice.Cell(DIGITS, OURS_2, 0))

    assert choice.cell_of(found) == choice.Cell(DIGITS, OURS_2, 0)
    assert 0 <= found["precision"] <= 1
    assert 0.3 < found["score"] < 1
