"""What is measured of searches and early stopping on noisy labels, and the page about it."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks import model_selection
from benchmarks.model_selection import RULES, Piece, add_noise, all_pieces, candidates, filtered_accuracy, load, measure
from benchmarks.model_selection_page import page_of, verdict
from sklearn_lec import LECClassifier

RESULTS = Path(model_selection.__file__).parent / "results" / "model_selection.jsonl"


def search_record(choice, *, noisy, log_loss, clean, seed=0):
    piece = Piece("search", "digits", "sym-40", seed, choice)
    return piece._asdict() | {"noisy_accuracy": noisy, "noisy_neg_log_loss": log_loss, "clean_accuracy": clean}


def stopping_record(rule, *, accuracy, restored, seed=0):
    piece = Piece("stopping", "digits", "sym-40", seed, rule)
    return piece._asdict() | {"accuracy": accuracy, "restored": restored, "trained": 100}


SEARCHES = [
    search_record("standard", noisy=0.5, log_loss=-1.0, clean=0.8),
    search_record("ltec", noisy=0.6, log_loss=-3.0, clean=0.95),
    search_record("co-teaching", noisy=0.55, log_loss=-2.0, clean=0.9),
]


def test_a_candidate_is_scored_as_a_search_on_noisy_labels_scores_it(monkeypatch):
    monkeypatch.setitem(model_selection.LENGTHS, "breast cancer", {"max_epochs": 3, "T_w": 1})
    X, y = load("breast cancer", seed=0)
    given, share = add_noise(y, "sym-30", seed=0)
    classifier = LECClassifier(**candidates(share, 1)["ltec"], max_epochs=3, random_state=0, device="cpu", verbose=0)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    grid = GridSearchCV(classifier, {"M": [5]}, cv=folds, refit=False).fit(X, given)

    record = measure(Piece("search", "breast cancer", "sym-30", 0, "ltec"))

    assert record["noisy_accuracy"] == pytest.approx(grid.cv_results_["mean_test_score"][0], abs=1e-5)
    assert record["clean_accuracy"] > 0.75 > record["noisy_accuracy"]
    assert record["noisy_neg_log_loss"] < 0


def test_the_share_of_wrong_labels_is_that_of_the_noise():
    y = np.arange(1000) % 10

    given, share = add_noise(y, "asym-30", seed=0)

    assert share == 0.3
    np.testing.assert_array_equal(given[given != y], (y[given != y] + 1) % 10)


def test_no_two_candidates_are_the_same():
    parameters = [json.dumps(candidate, sort_keys=True) for candidate in candidates(0.4, 10).values()]

    assert len(set(parameters)) == len(parameters)


@pytest.mark.parametrize("is_past_warmup, accuracy", [(False, 0.0), (True, 0.75)])
def test_accuracy_counts_only_after_the_warm_up(is_past_warmup, accuracy):
    net = SimpleNamespace(method_=SimpleNamespace(is_past_warmup=is_past_warmup), predict=lambda X: X)

    assert filtered_accuracy(net, [0, 1, 2, 3], [0, 1, 2, 2]) == accuracy


@pytest.mark.parametrize("rule", [rule for rule in RULES if "after the warm-up" in rule])
def test_the_recipes_restore_an_epoch_after_the_warm_up(rule, monkeypatch):
    # With this learning rate the network memorizes at once, so that an early epoch has the best accuracy of all.
    monkeypatch.setattr(model_selection, "STOPPING_LENGTH", {"max_epochs": 6, "T_w": 5, "lr": 0.05})

    of_all, of_recipe = (measure(Piece("stopping", "digits", "sym-40", 2, name)) for name in ("best accuracy", rule))

    assert of_all["restored"] <= 5
    assert of_recipe["restored"] == of_recipe["trained"] == 6


def test_the_epoch_is_that_of_the_weights_that_a_rule_restores(monkeypatch):
    monkeypatch.setattr(model_selection, "STOPPING_LENGTH", {"max_epochs": 8, "T_w": 7, "lr": 0.05})

    by_checkpoint, by_stopping = (
        measure(Piece("stopping", "digits", "sym-40", 0, rule)) for rule in ("best loss", "stop by loss, patience 5")
    )

    assert by_checkpoint["restored"] == by_stopping["restored"] < 8
    assert by_checkpoint["accuracy"] == by_stopping["accuracy"]
    assert (by_checkpoint["trained"], by_stopping["trained"]) == (8, min(8, by_stopping["restored"] + 5))


@pytest.mark.parametrize(
    "score, choice, regret, spearman", [("noisy_accuracy", "ltec", 0, 1), ("noisy_neg_log_loss", "standard", 15, -1)]
)
def test_the_regret_is_what_a_choice_loses_on_clean_labels(score, choice, regret, spearman):
    found = verdict(SEARCHES, score)

    assert found["choice"] == choice
    assert found["regret"] == pytest.approx(regret)
    assert found["spearman"] == pytest.approx(spearman)


def test_the_page_tells_regrets_choices_and_epochs():
    stopping = [
        stopping_record("best loss", accuracy=0.9, restored=4, seed=0),
        stopping_record("best loss", accuracy=0.8, restored=30, seed=1),
    ]
    length = {"max_epochs": 100, "T_w": 10}

    page = page_of([*SEARCHES, *stopping], lengths={"digits": length}, stopping_length=length)

    assert "| digits | sym-40 | 95.0 | 0.0 | 15.0 | 6.7 | 15.0 | 1.00 | -1.00 |" in page
    assert "| digits | sym-40 | ltec | ltec | standard |" in page
    assert "| co-teaching | 90.0 / 55.0 |" in page
    assert "| sym-40 | best loss | 85.0 ± 5.0 | 4 to 30 | 1 of 2 | 100 |" in page


def test_a_second_run_does_only_what_is_missing(tmp_path, monkeypatch):
    measured = []

    def interrupted(piece, data_home):
        if len(measured) == 3:
            raise KeyboardInterrupt
        return finished(piece, data_home)

    def finished(piece, data_home):
        measured.append(piece)
        make = search_record if piece.part == "search" else stopping_record
        scores = dict.fromkeys(["noisy", "log_loss", "clean"], len(measured) / 1000)
        figures = scores if piece.part == "search" else {"accuracy": 0.9, "restored": 4}
        return make(piece.choice, **figures) | piece._asdict()

    arguments = ["--out", str(tmp_path / "records.jsonl")]
    monkeypatch.setattr(model_selection, "measure", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model_selection.main(arguments)
    monkeypatch.setattr(model_selection, "measure", finished)
    model_selection.main(arguments)
    model_selection.main(arguments)

    assert measured == all_pieces()
    assert len((tmp_path / "records.jsonl").read_text().splitlines()) == len(measured)
    assert (tmp_path / "records.md").read_text(encoding="utf-8").startswith("# Choosing parameters")


def test_the_page_in_the_repository_is_that_of_its_records(tmp_path, monkeypatch):
    copy = tmp_path / RESULTS.name
    copy.write_bytes(RESULTS.read_bytes())
    monkeypatch.setattr(model_selection, "measure", lambda *piece: pytest.fail(f"there is no record of {piece}"))

    model_selection.main(["--out", str(copy)])

    assert copy.with_suffix(".md").read_bytes() == RESULTS.with_suffix(".md").read_bytes()
