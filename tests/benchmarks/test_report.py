"""The report on a run: its numbers, what it says of missing cells."""

import json
import os
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report
from benchmarks.experiments import EXPERIMENTS, Row
from benchmarks.files import DamagedFileError, digest
from benchmarks.records import read_records
from benchmarks.report import write_report
from benchmarks.results import Results
from benchmarks.scales import load_scale
from benchmarks.tables import NOTHING, PAPER, accuracy_table, complexity_table, data_title, paper_rows
from tests.benchmarks.synthetic_records import results_of, synthetic_records


def write_records(folder, records):
    folder.mkdir(exist_ok=True)
    (folder / "cells.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def report_on(folder, records, **options):
    return write_report(write_records(folder, records), **options).read_text(encoding="utf-8")


def with_accuracy(record, *accuracies):
    return {**record, "accuracy": list(accuracies)}


def lines_of(table):
    """Return the cells of the lines below the head of a table."""
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def first_row(name, records, scale="smoke", **options):
    return lines_of(accuracy_table(EXPERIMENTS[name], results_of(records, scale, **options)))[0]


@pytest.fixture(scope="module")
def page(smoke_run):
    """The report on a complete run at the smallest scale."""
    return (smoke_run / "README.md").read_text(encoding="utf-8")


def test_entries_are_mean_and_standard_deviation_of_final_and_peak_over_seeds():
    records, scale = synthetic_records("smoke", "table2", seeds=3), load_scale("smoke")
    table = lines_of(accuracy_table(EXPERIMENTS["table2"], results_of(records)))
    columns = EXPERIMENTS["table2"].columns_at(scale)

    for row, line in zip(EXPERIMENTS["table2"].rows_at(scale), table, strict=True):
        for column, entry in zip(columns, line[2:], strict=True):
            curves = 100 * np.array(
                [r["accuracy"] for r in records if (r["noise"], r["method"]) == (row.noise, column.method)]
            )
            values = curves[:, -1], curves.max(axis=1)
            expected = " / ".join(f"{np.mean(value):.1f} ± {np.std(value):.1f}" for value in values)
            assert len(curves) == 3
            assert entry.replace("**", "") == expected


def test_one_seed_has_no_standard_deviation():
    entries = first_row("table1", synthetic_records("smoke", "table1", seeds=1), seeds=1)[2:]

    assert all(re.fullmatch(r"(\*\*)?\d+\.\d(\*\*)? / (\*\*)?\d+\.\d(\*\*)?", entry) for entry in entries)


def test_best_final_and_best_peak_are_bold_each_for_itself():
    records = synthetic_records("smoke", "table1", seeds=1)
    accuracies = {"self-training": (0.9, 0.6), "lnec": (0.5, 0.7), "lsec": (0.2, 0.1), "ltec": (0.1, 0.65)}
    records = [with_accuracy(record, *accuracies[record["method"]]) for record in records]

    assert first_row("table1", records, seeds=1)[2:] == [
        "60.0 / **90.0**",
        "**70.0** / 70.0",
        "10.0 / 20.0",
        "65.0 / 65.0",
    ]


def test_entries_that_look_equal_are_bold_together():
    records = synthetic_records("smoke", "table1", seeds=1)
    finals = {"self-training": 0.80001, "lnec": 0.80004, "lsec": 0.79, "ltec": 0.8009}
    records = [with_accuracy(record, 0.5, finals[record["method"]]) for record in records]
    without_best = [record for record in records if record["method"] != "ltec"]

    assert [entry.startswith("**") for entry in first_row("table1", without_best, seeds=1)[2:5]] == [True, True, False]
    assert [entry.startswith("**") for entry in first_row("table1", records, seeds=1)[2:]] == [
        False,
        False,
        False,
        True,
    ]


def test_missing_entries_are_dashes_and_missing_seeds_are_told():
    records = synthetic_records("smoke", "table1")
    records = [r for r in records if r["method"] != "lnec" and (r["method"], r["seed"]) != ("lsec", 1)]

    entries = first_row("table1", records, seeds=2)[2:]

    assert entries[1] == NOTHING
    assert [entry.endswith("(1 of 2 seeds)") for entry in entries] == [False, False, True, False]


def test_entries_with_fewer_seeds_than_others_of_their_row_say_so():
    records = [r for r in synthetic_records("smoke", "table1") if (r["method"], r["seed"]) != ("lsec", 1)]

    entries = first_row("table1", records, seeds=1)[2:]

    assert [entry.endswith("(1 of 2 seeds)") for entry in entries] == [False, False, True, False]


def test_page_says_how_many_cells_are_missing_and_how_to_run_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = synthetic_records("smoke", "table7")

    page = report_on(tmp_path / "results", records[:-3], seeds=2)

    assert f"\n3 of {len(records)} cells missing. " in page
    assert "`python -m benchmarks run table7 --scale smoke --seeds 2 --out results`" in page


def test_complete_run_misses_nothing(page):
    assert "missing" not in page
    assert "Not run" not in page
    assert not [line for line in page.splitlines() if "sym-" in line and f"| {NOTHING} |" in line]


def test_folder_without_finished_cells_gives_a_page(tmp_path):
    page = report_on(tmp_path, [])

    assert "## Scale" not in page
    assert "Not run: Table A3. To run: `python -m benchmarks run tableA3 --out" in page


def test_page_ends_with_what_the_papers_scale_costs(page, tmp_path):
    of_paper = [e for e in EXPERIMENTS.values() if e.name in PAPER or not e.is_table]
    cells = {cell for experiment in of_paper for cell in experiment.cells(load_scale("paper"))}

    text, table = page.split("## What the paper's scale costs\n\n")[1].split("\n\n")

    assert text.endswith("It was not run here.")
    assert lines_of(table)[0][0] == "Table 1"
    assert lines_of(table)[-1][:2] == ["All, each training once", str(len(cells))]
    assert "12 of its trainings were run here." in report_on(tmp_path, synthetic_records("paper", "tableA2", seeds=4))


def test_notes_are_part_of_the_page(tmp_path):
    (tmp_path / "notes.md").write_text("## What was found\n\nNothing — yet.\n", encoding="utf-8")

    page = report_on(tmp_path, synthetic_records("smoke", "tableA2"))

    assert page.index("\n## What was found\n\nNothing — yet.\n") < page.index("\n## Scale: smoke")


def test_notes_that_are_not_in_utf_8_are_named(tmp_path):
    (tmp_path / "notes.md").write_bytes("Größe".encode("latin-1"))

    with pytest.raises(DamagedFileError, match=r"notes.md is not in UTF-8: .* Save it as UTF-8, or move it away"):
        report_on(tmp_path, [])


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_in_the_place_of_pages_are_named_and_not_waited_for(tmp_path):
    write_records(tmp_path, [])
    os.mkfifo(tmp_path / "notes.md")

    with pytest.raises(DamagedFileError, match=r"notes.md is not a file"):
        write_report(tmp_path)
    os.mkfifo(tmp_path / "README.md")
    with pytest.raises(FileExistsError, match=r"README.md is not a report"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    "content", [b"{", b"\xff", b"[]", b'{"ltec": 3}', b'{"ltec": ["a", 1, 1]}', b'{"a|b": [1, 1, 1]}', b"[" * 10**5]
)
def test_damaged_counts_are_to_be_made_again(tmp_path, content):
    (tmp_path / "tableA3.json").write_bytes(content)

    assert "Not run: Table A3. To run: `python -m benchmarks run tableA3" in report_on(tmp_path, [])


def test_a_page_of_someone_else_is_not_overwritten(tmp_path):
    (tmp_path / "README.md").write_text("# My project\n")

    with pytest.raises(FileExistsError, match=r"README.md is not a report and would be overwritten"):
        report_on(tmp_path, [])

    assert (tmp_path / "README.md").read_text() == "# My project\n"


def test_a_network_that_the_scale_no_longer_has_is_out_of_date(tmp_path):
    records = [record | {"network": "vgg"} for record in synthetic_records("smoke", "table7", seeds=1)]

    assert f"Left out: {len(records)} records of trainings with other settings" in report_on(tmp_path, records)


def test_commands_name_the_data_where_there_is_no_stand_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    page = report_on(tmp_path / "results", synthetic_records("cpu", "table7")[:1], seeds=2)

    assert "`python -m benchmarks run table7 --scale cpu --seeds 2 --data-home DIR --out results`" in page


def test_line_that_was_cut_off_is_left_out(tmp_path):
    records = synthetic_records("smoke", "tableA2")
    write_records(tmp_path, records)
    with (tmp_path / "cells.jsonl").open("a") as file:
        file.write(json.dumps(records[0])[:50])

    assert f"in {len(records)} cells" in write_report(tmp_path).read_text(encoding="utf-8")


def test_records_with_other_settings_do_not_count():
    current = synthetic_records("smoke", "tableA2", seeds=1)
    outdated = [{**with_accuracy(record, 0.0), "settings": {"epochs": -1}} for record in current]

    results = results_of([*outdated, *current], seeds=1)

    assert results.n_outdated == len(outdated)
    assert list(results.records.values()) == current


def test_page_depends_neither_on_the_order_of_records_nor_on_their_time(tmp_path):
    records = synthetic_records("smoke", "table7", "tableA2")
    shuffled = [{**record, "seconds": 2 * record["seconds"]} for record in records]
    random.Random(0).shuffle(shuffled)

    pages = [report_on(tmp_path / name, chosen) for name, chosen in (("a", records), ("b", shuffled))]

    first, second = (
        [line for line in page.replace(str(tmp_path / name), "").splitlines() if not line.startswith("Time spent")]
        for name, page in zip("ab", pages, strict=True)
    )
    assert first == second
    assert pages[0].count("Time spent") == 1


@pytest.mark.parametrize("name", [name for name in PAPER if name not in ("tableA2", "tableA3")])
def test_papers_line_stands_beneath_every_row_at_the_papers_scale(name):
    experiment = EXPERIMENTS[name]
    lines = lines_of(accuracy_table(experiment, results_of([], "paper")))

    assert len(lines) == 2 * len(experiment.rows)
    for row, line, ours in zip(experiment.rows, lines[1::2], lines[::2], strict=True):
        published = PAPER[name][f"{row.data}/{row.noise}"].values()
        assert ours[1] == f"{row.noise}%"
        assert line[:2] == ["", "*paper*"]
        assert [entry.replace("**", "") for entry in line[2:]] == [
            f"{n['final']:.2f} / {n['peak']:.2f}" for n in published
        ]
        assert sum("**" in entry.split(" / ")[1] for entry in line[2:]) >= 1


def test_papers_clean_accuracies_have_their_standard_deviation():
    table = accuracy_table(EXPERIMENTS["tableA2"], results_of(synthetic_records("paper", "tableA2"), "paper"))

    assert "|  | *paper* | 90.59 ± 0.15 |" in table
    assert re.fullmatch(r"\d+\.\d ± \d\.\d \(2 of 4 seeds\)", lines_of(table)[0][2])


def test_rows_whose_trainings_had_different_noise_are_named(tmp_path):
    first, *others = synthetic_records("smoke", "table7", "tableA2")

    page = report_on(tmp_path, [first | {"noise_fingerprint": digest("another")}, *others])

    warning = "digits, sym-20%: the trainings of this row had different noise"
    assert page.count("had different noise") == 1
    assert warning in page.split("### Table 7")[1].split("### Table A2")[0]


def test_semantic_noise_has_to_be_the_same_for_all_seeds():
    once = synthetic_records("smoke", "table4")
    by_seed = [record | {"noise_fingerprint": digest(record["seed"])} for record in once]

    assert results_of(once).rows_of_mixed_noise(EXPERIMENTS["table4"]) == []
    assert len(results_of(by_seed).rows_of_mixed_noise(EXPERIMENTS["table4"])) == 2


def test_papers_rows_on_other_data_stand_apart(page):
    above, _, below = page.split("### Table 2")[1].split("### Table 3")[0].partition("<details>")

    assert Row("digits", "sym-20") in EXPERIMENTS["table2"].rows_at(load_scale("smoke"))
    assert "*paper*" not in above
    assert "| MNIST | sym-20% | 95.21 / 99.36 |" in below
    assert below.count("\n| ") == 2 + len(EXPERIMENTS["table2"].rows)


def test_a_part_of_the_rows_has_its_number_and_the_papers_line():
    results = results_of(synthetic_records("cpu", "table2"), scale="cpu")

    lines = lines_of(accuracy_table(EXPERIMENTS["table2"], results))

    place = [line[:2] for line in lines].index(["CIFAR-10 (10,000)", "sym-60%"])
    assert lines[place + 1][1:3] == ["*paper*", "41.91 / 65.06"]
    assert ["CIFAR-10", "sym-60%"] not in [line[:2] for line in lines_of(paper_rows(EXPERIMENTS["table2"], results))]


def test_scales_have_sections_of_their_own(tmp_path):
    page = report_on(tmp_path, synthetic_records("paper", "table7") + synthetic_records("smoke", "table7"))
    sections = page.split("\n## ")[1:]

    assert [section.splitlines()[0] for section in sections[:2]] == ["Scale: smoke", "Scale: paper"]
    assert "| digits | sym-20% |" in sections[0]
    assert "| CIFAR-10 | sym-20% |" in sections[1]


def test_settings_versions_and_time_are_told(tmp_path):
    records = synthetic_records("smoke", "tableA2")
    page = report_on(tmp_path, records)

    assert "| batch_size | 32 |" in page
    assert f"| M | {NOTHING} |" in page
    assert "T_w" not in page  # ordinary training has none
    assert "Versions: python 3.11, sklearn-lec 0.1, torch 2.4." in page
    assert "| seeds | 2 |" in page
    assert "| device | cpu |" in page
    hours = sum(record["seconds"] for record in records) / 3600
    assert f"Time spent: {hours:.2f} hours of training in {len(records)} cells, each counted from" in page


def test_a_version_is_told_of_those_who_used_it(tmp_path):
    records = synthetic_records("smoke", "tableA2")
    records[0]["versions"]["cleanlab"] = "2.7"

    assert "Versions: cleanlab 2.7, python" in report_on(tmp_path, records)


def test_the_page_of_the_project_shows_the_records_of_the_project(tmp_path, monkeypatch):
    committed = Path(__file__).parents[2] / "benchmarks" / "results"
    out = tmp_path / "benchmarks" / "results"
    shutil.copytree(committed, out, ignore=shutil.ignore_patterns("README.md", "checkpoints", "semantic"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "curves_figure", lambda *args: None)
    monkeypatch.setattr(report, "DRAWN", dict.fromkeys(report.DRAWN, lambda *args: None))

    page = write_report(out).read_text(encoding="utf-8")

    assert page == (committed / "README.md").read_text(encoding="utf-8")


def test_the_page_on_the_paper_shows_table_2_of_the_records():
    root, scale, experiment = Path(__file__).parents[2], load_scale("cpu"), EXPERIMENTS["table2"]
    results = Results(scale, read_records(root / "benchmarks" / "results"))
    lines = (root / "docs" / "paper.md").read_text(encoding="utf-8").splitlines()
    kinds = {"sym": "any other class", "asym": "the next class"}

    for row in experiment.rows_at(scale):
        finals = [results.accuracies(experiment, row, column)[:, 0] for column in experiment.columns_at(scale)]
        shown = [f"{values.mean():.1f}" if len(values) else "" for values in finals]
        best = max(filter(None, shown), key=float)
        kind, share = row.noise.split("-")
        entries = [f"**{entry}**" if entry == best else entry for entry in shown]
        assert "| " + " | ".join([data_title(row.data), f"{share} %, {kinds[kind]}", *entries]) + " |" in lines


def test_complexities_stand_above_the_papers():
    lines = lines_of(complexity_table({"ltec": (1, 1, 0.75), "lnec": (5, 5, 3), "d2l": (1, 1, 1)}))

    assert lines == [
        ["parameters", "5.00 m", "1.00 m", "1.00 m"],
        ["*paper*", "Mm", "m", ""],
        ["forward passes", "5.00 n", "1.00 n", "1.00 n"],
        ["*paper*", "Mn", "n", ""],
        ["backward passes", "3.00 n", "0.75 n", "1.00 n"],
        ["*paper*", "≤ Mn", "≤ n", ""],
    ]
