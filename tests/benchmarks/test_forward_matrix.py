"""What "forward" gains by a better corruption matrix: what is measured, and what the page says."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks import forward_matrix
from benchmarks.forward_matrix_page import page_of
from benchmarks.pages import Cell

RESULTS = Path(forward_matrix.__file__).parent / "results" / "forward_matrix.jsonl"


def record(seed, *, own, auto, true, errors, seconds):
    cell = Cell("wine", "sym-40", seed)._asdict()
    names = ("own", "auto", "true")
    parts = {"scores": (own, auto, true), "errors": (*errors, 0.0), "seconds": (*seconds, 1.0)}
    record = cell | {part: dict(zip(names, values, strict=True)) for part, values in parts.items()}
    record["errors"]["identity"] = 0.5
    return record


def test_every_class_counts_the_same_however_rare():
    true = np.array([[0.8, 0.2], [0.4, 0.6]])
    found = np.array([[0.8, 0.2], [0.0, 1.0]])

    assert forward_matrix.matrix_error(found, true) == pytest.approx(0.2)


def test_the_true_matrix_is_that_of_the_labels_learned_from(monkeypatch):
    monkeypatch.setattr(forward_matrix, "EPOCHS", 4)

    found = forward_matrix.measure(Cell("wine", "sym-40", 0))

    assert set(found) == {*Cell._fields, *forward_matrix.PARTS}
    assert found["scores"].keys() == found["seconds"].keys() == {"own", "auto", "true"}
    assert found["errors"].pop("true") == 0 < min(found["errors"].values())
    assert found["errors"]["identity"] == pytest.approx(2 * 0.4 / 3, abs=0.01)


def test_the_page_tells_accuracies_errors_and_the_ratio_of_times_within_a_run():
    page = page_of(
        [
            record(0, own=0.5, auto=0.7, true=0.8, errors=(0.2, 0.1), seconds=(10.0, 5.0)),
            record(1, own=0.7, auto=0.9, true=1.0, errors=(0.4, 0.1), seconds=(1.0, 0.7)),
        ]
    )

    assert "2 runs of 100 epochs" in page
    assert "| wine | sym-40 | 60.0 ± 10.0 | 80.0 ± 10.0 | 90.0 ± 10.0 | 0.300 | 0.100 | 0.500 | 0.60 |" in page
    assert "| mean | \N{EN DASH} | 60.0 | 80.0 | 90.0 | 0.300 | 0.100 | 0.500 | 0.60 |" in page


def test_the_page_in_the_repository_is_that_of_its_records(page_again):
    assert page_again(forward_matrix, RESULTS) == RESULTS.with_suffix(".md").read_text(encoding="utf-8")
