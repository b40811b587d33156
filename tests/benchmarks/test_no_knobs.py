"""The benchmark of the defaults: what is run again, and what the page says."""

import json
from pathlib import Path

import pytest

from benchmarks import no_knobs
from benchmarks.lines import DamagedRecordError
from benchmarks.no_knobs_page import page_of

RESULTS = Path(no_knobs.__file__).parent / "results" / "no_knobs.jsonl"
AUTO_AND_OTHERS = ("ltec", "ltec-full", "standard", "CleanLearning")


def record(noise, seed, scores, *, part="as it comes", true_eps=0.4):
    seconds = dict.fromkeys(scores, 1.0) | {"CleanLearning": 4.0}
    of_auto = {f"{what} {method}": 1 for what in ("eps", "T_w") for method in ("ltec", "ltec-full")}
    problem = {"data": "wine", "noise": noise, "seed": seed, "part": part, "true_eps": true_eps}
    return problem | {"scores": scores, "seconds": seconds} | of_auto


def as_it_comes(auto, auto_full, *, standard=0.5, cleanlab=0.6):
    return dict(zip(AUTO_AND_OTHERS, (auto, auto_full, standard, cleanlab), strict=True))


def test_losses_are_those_against_the_best_mean_over_the_seeds():
    of_five, of_two = (0.91, 0.95), (0.95, 0.90)
    known = [
        {"ltec, T_w=5": five, "ltec, T_w=2": two, "ltec-full, T_w=5": 0.85, "ltec-full, T_w=2": 0.80}
        for five, two in zip(of_five, of_two, strict=True)
    ]

    page = page_of(
        [
            record("sym-40", 0, as_it_comes(0.90, 0.80)),
            record("sym-40", 1, as_it_comes(0.92, 0.80)),
            *(record("sym-40", seed, scores, part="known") for seed, scores in enumerate(known)),
        ]
    )

    assert "| mean loss against the best known | ≤ 0.7 | **2.00** | **5.00** |" in page
    assert "| as it comes | 2.00 | 2.00 | 5.00 | 5.00 |" in page
    assert "| true share, T_w=2 | 0.50 | 0.50 | 5.00 | 5.00 |" in page
    assert "| true share, T_w=5 | 0.00 | 0.00 | 0.00 | 0.00 |" in page
    assert "| largest loss | ≤ 2.5 | 2.00 (wine, sym-40) | **5.00 (wine, sym-40)** |" in page
    assert "| noisy problems ahead of CleanLearning | ≥ 80 % | 100% | 100% |" in page
    assert "| time to that of CleanLearning, median | ≤ 1/3 | 0.25 | 0.25 |" in page
    assert "| wine | sym-40 | 91.0 | 93.0 | 80.0 | 85.0 | 50.0 | 60.0 |" in page


def test_clean_labels_are_held_against_ordinary_training():
    page = page_of([record("clean", 0, as_it_comes(0.97, 0.99, standard=0.98), true_eps=0.0)])

    assert "| clean labels, below ordinary training by at most | ≤ 0.5 | **1.00** | -1.00 |" in page
    assert "| wine | clean | 97.0 | 98.0 | 99.0 | 98.0 | 98.0 | 60.0 |" in page


def test_a_second_run_does_only_what_is_missing(tmp_path, monkeypatch):
    measured = []

    def measure(cell, data_home):
        measured.append(cell)
        scores = as_it_comes(0.9, 0.9) if cell.part == "as it comes" else {f"{m}, T_w=2": 0.9 for m in AUTO_AND_OTHERS}
        return record(cell.noise, cell.seed, scores, part=cell.part)

    monkeypatch.setattr(no_knobs, "measure", measure)
    monkeypatch.setattr(no_knobs, "PROBLEMS", [("wine", "clean"), ("wine", "sym-40")])
    out = tmp_path / "no_knobs.jsonl"
    for seeds in (1, 2):
        no_knobs.run(out, no_knobs.all_cells(seeds=seeds))

    assert measured == no_knobs.all_cells(seeds=2)
    assert [cell.part for cell in measured] == ["as it comes", "as it comes", "known"] * 2
    assert "seeds 0, 1" in out.with_suffix(".md").read_text()


def test_a_damaged_line_is_named(tmp_path):
    out = tmp_path / "no_knobs.jsonl"
    out.write_text(json.dumps({"data": "wine"}) + "\n")

    with pytest.raises(DamagedRecordError, match="line 1"):
        no_knobs.run(out, [])


def test_the_page_in_the_repository_is_that_of_its_records(tmp_path, monkeypatch):
    copy = tmp_path / RESULTS.name
    copy.write_bytes(RESULTS.read_bytes())
    monkeypatch.setattr(no_knobs, "measure", lambda cell, data_home: pytest.fail(f"there is no record of {cell}"))

    page = no_knobs.run(copy, no_knobs.all_cells(seeds=5))

    assert page == RESULTS.with_suffix(".md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("part, n_contenders", [("as it comes", 4), ("known", 8)])
def test_everything_is_trained_on_a_problem(part, n_contenders, monkeypatch):
    monkeypatch.setattr(no_knobs, "EPOCHS", {"wine": 4})

    found = no_knobs.measure(no_knobs.Cell("wine", "sym-40", 0, part))

    assert found.keys() >= set(no_knobs.PARTS)
    assert found["scores"].keys() == found["seconds"].keys()
    assert len(found["scores"]) == n_contenders
    assert 0.3 < found["true_eps"] < 0.5


def test_text_has_more_columns_than_samples():
    X, y = no_knobs.text(seed=0)

    assert X.shape == (800, 3000)
    assert sorted(set(y)) == [0, 1, 2, 3]
