"""The benchmark of finding wrong labels: what is run again, and what the page says."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from benchmarks import label_issues
from benchmarks.label_issues_page import CLEANLAB, CONTENDERS, LAST_LOSS, LOGISTIC, OURS, page_of
from benchmarks.mixed_table import mixed_table, prepared_mixed_table

RESULTS = Path(label_issues.__file__).parent / "results" / "label_issues.jsonl"


def records(data, *, seed=0, **average_precision):
    """Return the records of one problem; contenders are named by their first letters."""
    names = {"ours": OURS, "network": CLEANLAB, "logistic": LOGISTIC, "loss": LAST_LOSS}
    return [
        {
            "data": data,
            "noise": "sym-10",
            "seed": seed,
            "contender": names[name],
            "average_precision": value,
            "precision": value,
            "recall": 1.0,
            "n_wrong": 10,
            "n_flagged": 11,
            "seconds": 1.0 if name == "ours" else 4.0,
        }
        for name, value in average_precision.items()
    ]


def test_the_goals_are_held_against_means_over_seeds_and_noises():
    page = page_of(
        [
            *records("wine", ours=0.9, network=0.8, logistic=0.95, loss=0.5),
            *records("wine", seed=1, ours=0.9, network=0.95, logistic=0.80, loss=0.5),
            *records("digits", ours=0.7, network=0.8, logistic=0.6, loss=0.5),
        ]
    )

    assert "| average precision ahead of CleanLearning, data sets | 2 of 2 | 1 of 2 (not digits) | no |" in page
    assert "| average precision ahead of CleanLearning, logistic, data sets | 1 of 2 | 2 of 2 | yes |" in page
    assert "| average precision ahead of last loss, data sets | 2 of 2 | 2 of 2 | yes |" in page
    assert "| F1 ahead of CleanLearning, cells | ≥ 80 % | 50% | no |" in page
    assert "| time to that of CleanLearning, mean over the cells (largest) | ≤ 0.33 | 0.25 (0.25) | yes |" in page
    assert "| wine | sym-10 | **0.900** | 0.875 | 0.875 | 0.500 |" in page


def test_a_second_run_does_only_what_is_missing(tmp_path, monkeypatch):
    measure = Mock(side_effect=lambda cell, data_home: records(cell.data, ours=0.9)[0] | cell._asdict())
    monkeypatch.setattr(label_issues, "measure", measure)
    cells = label_issues.all_cells(seeds=2, data=["wine"])

    label_issues.run(tmp_path / "lines.jsonl", cells[:5])
    label_issues.run(tmp_path / "lines.jsonl", cells)

    assert [call.args[0] for call in measure.call_args_list] == cells
    assert len(cells) == 2 * 3 * len(CONTENDERS)


def test_the_page_in_the_repository_is_that_of_its_records():
    found = [json.loads(line) for line in RESULTS.read_text().splitlines()]

    assert page_of(found) == RESULTS.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.parametrize("contender", CONTENDERS)
def test_every_contender_judges_all_labels(contender, monkeypatch):
    monkeypatch.setattr(label_issues, "EPOCHS", {"wine": 4})

    found = label_issues.measure(label_issues.Cell("wine", "sym-20", 0, contender))

    assert found["n_wrong"] == 35
    assert found["average_precision"] > 0.2  # that of chance
    assert 0 <= found["recall"] <= 1


def test_the_mixed_table_has_words_numbers_and_gaps():
    table, y = mixed_table(seed=0)
    X, same = prepared_mixed_table(seed=0)

    assert {"number", "object"} == {"object" if values.dtype == object else "number" for _, values in table.items()}
    assert 0.07 < table.isna().to_numpy().mean() < 0.09
    assert X.shape[0] == 1500
    assert (same == y).all()
