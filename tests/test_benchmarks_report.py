"""The report on a run: its numbers, what it says of missing cells, and its figures."""

import json
import random
import re
import zlib

import numpy as np
import pytest

from benchmarks import figures
from benchmarks.experiments import EXPERIMENTS, Row
from benchmarks.figures import curves_figure, examples_figure, matrices_figure
from benchmarks.report import write_report
from benchmarks.results import Results
from benchmarks.scales import load_scale
from benchmarks.tables import NOTHING, PAPER, accuracy_table, complexity_table

ENDS = {"standard": 0.6, "d2l": 0.65, "forward": 0.7, "self-training": 0.8, "co-teaching": 0.82, "lsec": 0.84}


def synthetic_record(cell, scale):
    """Return a record of a training that never was, always the same for a cell, with curves of a plausible shape."""
    rng = np.random.default_rng(zlib.crc32(cell.name.encode()))
    settings = json.loads(json.dumps(scale.settings(cell)))
    progress = np.linspace(0, 1, settings["warm_up"] + 12)
    end = ENDS.get(cell.method, 0.9) - 0.001 * (cell.M if isinstance(cell.M, int) else 0)

    def curve(begin, end):
        return np.clip(end + (begin - end) * np.exp(-6 * progress) + rng.normal(0, 0.01, progress.shape), 0, 1)

    temporal = cell.method.startswith("ltec")
    return {
        **cell.as_dict(),
        "settings": settings,
        "accuracy": curve(0.1, end).round(5).tolist(),
        "precision": [None, *curve(0.5, end).round(5).tolist()[1:]],
        "recall": curve(0.2, end).round(5).tolist(),
        "small_loss_precision": curve(0.4, end - 0.05).round(5).tolist() if temporal else None,
        "kept": [100] * len(progress),
        "seconds": float(rng.uniform(1, 9)),
        "versions": {"sklearn-lec": "0.1", "torch": "2.4", "python": "3.11"},
    }


def synthetic_records(scale_name, *names, seeds=2):
    scale = load_scale(scale_name)
    cells = dict.fromkeys(cell for name in names for cell in EXPERIMENTS[name].cells(scale, seeds))
    return [synthetic_record(cell, scale) for cell in cells]


def write_records(folder, records):
    folder.mkdir(exist_ok=True)
    (folder / "cells.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def report_on(folder, records, **options):
    return write_report(write_records(folder, records), **options).read_text(encoding="utf-8")


def results_of(records, scale="smoke", **options):
    return Results(load_scale(scale), records, **options)


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
    cells = {cell for experiment in EXPERIMENTS.values() for cell in experiment.cells(load_scale("paper"))}

    text, table = page.split("## What the paper's scale costs\n\n")[1].split("\n\n")

    assert text.endswith("It was not run here.")
    assert lines_of(table)[0][0] == "Table 1"
    assert lines_of(table)[-1][:2] == ["All, each training once", str(len(cells))]
    assert "12 of its trainings were run here." in report_on(tmp_path, synthetic_records("paper", "tableA2", seeds=4))


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


def test_papers_rows_on_other_data_stand_apart(page):
    above, _, below = page.split("### Table 2")[1].split("### Table 3")[0].partition("<details>")

    assert Row("digits", "sym-20") in EXPERIMENTS["table2"].rows_at(load_scale("smoke"))
    assert "*paper*" not in above
    assert "| MNIST | sym-20% | 95.21 / 99.36 |" in below
    assert below.count("\n| ") == 2 + len(EXPERIMENTS["table2"].rows)


def test_scales_have_sections_of_their_own(tmp_path):
    page = report_on(tmp_path, synthetic_records("paper", "table7") + synthetic_records("smoke", "table7"))
    sections = page.split("\n## ")[1:]

    assert [section.splitlines()[0] for section in sections[:2]] == ["Scale: smoke", "Scale: paper"]
    assert "| digits | sym-20% |" in sections[0]
    assert "| CIFAR-10 | sym-20% |" in sections[1]


def test_settings_versions_and_time_are_told(tmp_path):
    records = synthetic_records("smoke", "tableA2")
    page = report_on(tmp_path, records)

    assert "| warm_up |" in page
    assert "Versions: python 3.11, sklearn-lec 0.1, torch 2.4." in page
    hours = sum(record["seconds"] for record in records) / 3600
    assert f"Time spent: {hours:.2f} hours of training in {len(records)} cells." in page


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


@pytest.fixture
def drawn(monkeypatch):
    """A function that draws a figure of a complete run and returns it instead of writing it."""
    monkeypatch.setattr(figures, "_save", lambda figure, path, **kwargs: figure)
    return lambda name: curves_figure(EXPERIMENTS[name], results_of(synthetic_records("smoke", name)), None)


def legend_of(figure):
    (legend,) = figure.legends
    return {text.get_text(): line.get_color() for text, line in zip(legend.texts, legend.legend_handles, strict=True)}


def test_lines_are_means_over_seeds_in_percent(drawn):
    records = synthetic_records("smoke", "figure3")
    ltec = [r["accuracy"] for r in records if (r["noise"], r["method"]) == ("sym-20", "ltec")]

    (line,) = [line for line in drawn("figure3").axes[0].lines if line.get_label() == "LTEC"]

    np.testing.assert_array_equal(line.get_xdata(), 1 + np.arange(len(ltec[0])))
    np.testing.assert_allclose(line.get_ydata(), 100 * np.mean(ltec, axis=0))


def test_small_loss_precision_is_shown_from_the_first_epoch_of_filtering(drawn):
    settings = synthetic_records("smoke", "figure2")[0]["settings"]

    for panel in drawn("figure2").axes:
        assert [line.get_xdata()[0] for line in panel.lines] == [settings["warm_up"] + 1] * 2


def test_methods_that_keep_every_row_have_no_precision_of_their_own(drawn):
    assert list(legend_of(drawn("figure4"))) == ["Standard", "Co-teaching", "LTEC", "LTEC-full"]


def test_method_has_one_colour_in_all_figures(drawn):
    legends = [legend_of(drawn(name)) for name in ("figure1", "figure3", "figure5")]

    for method in ("LTEC", "LTEC-full"):
        assert len({legend[method] for legend in legends if method in legend}) == 1
    assert legends[0]["LTEC"] == legend_of(drawn("figureA3"))["M=5"]
    assert all(len(set(legend.values())) == len(legend) for legend in legends)


@pytest.mark.parametrize("name", [name for name, experiment in EXPERIMENTS.items() if not experiment.is_table])
def test_every_figure_is_a_small_picture_that_the_page_shows(smoke_run, page, name):
    from matplotlib.image import imread

    path = smoke_run / f"{name}-smoke.png"
    height, width, _ = imread(path).shape

    assert f"]({path.name})" in page
    assert width > 500
    assert height > 200
    assert imread(path)[..., :3].std() > 0.05
    assert path.stat().st_size < 150_000


def test_matrices_of_few_classes_have_names_and_numbers(drawn, tmp_path):
    def panel_with(n_classes):
        names, matrix = [f"class {i}" for i in range(n_classes)], 0.8 * np.eye(n_classes) + 0.2 / n_classes
        panel = {"data": "cifar-10", "noise": "sym-20", "class_names": names, "matrix": matrix.tolist()}
        (tmp_path / "panels.json").write_text(json.dumps({"settings": "", "panels": [panel]}))
        return matrices_figure(tmp_path / "panels.json", None).axes[0]

    few, many = panel_with(10), panel_with(100)

    assert [label.get_text() for label in few.get_yticklabels()] == [f"class {i}" for i in range(10)]
    assert few.texts[0].get_text() == "82"
    assert len(few.texts) == 100
    assert not [*many.get_xticks(), *many.get_yticks(), *many.texts]


@pytest.mark.parametrize("channels", [1, 3])
def test_examples_are_shown_in_grey_or_in_colour_with_their_labels(drawn, tmp_path, channels):
    images = np.random.default_rng(0).random((2, 10, channels, 8, 8), dtype=np.float32)
    y_true = np.arange(20).reshape(2, 10) % 2
    y_noisy = np.stack([y_true[0], 1 - y_true[1]])
    np.savez(tmp_path / "a.npz", images=images, y_true=y_true, y_noisy=y_noisy, class_names=["cat", "dog"])

    panels = examples_figure(tmp_path / "a.npz", None).axes

    assert [panel.get_title() for panel in (panels[1], panels[10])] == ["dog", "dog\n(is cat)"]
    np.testing.assert_array_equal(
        panels[10].images[0].get_array().reshape(8, 8, channels), images[1, 0].transpose(1, 2, 0)
    )


def test_panel_without_finished_cells_says_so(drawn):
    records = [record for record in synthetic_records("smoke", "figure5") if record["noise"] == "sym-20"]

    figure = curves_figure(EXPERIMENTS["figure5"], results_of(records), None)

    assert [[text.get_text() for text in panel.texts] for panel in figure.axes] == [[], *[["not run"]] * 3]


def test_figure_depends_on_no_order_and_does_without_missing_lines(tmp_path):
    records = [record for record in synthetic_records("smoke", "figure3") if record["method"] == "ltec"]
    figure3 = EXPERIMENTS["figure3"]

    first = curves_figure(figure3, results_of(records), tmp_path / "a.png")
    second = curves_figure(figure3, results_of(records[::-1]), tmp_path / "b.png")

    assert first.read_bytes() == second.read_bytes()
