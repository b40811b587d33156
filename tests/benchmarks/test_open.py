"""The benchmarks are open: a method needs a line in METHODS, a table one in EXPERIMENTS, and the report has them."""

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import figures
from benchmarks.__main__ import main
from benchmarks.cells import Cell
from benchmarks.classifiers import classifier
from benchmarks.experiments import EXPERIMENTS, Column, Experiment, Row
from benchmarks.methods import CLEANLAB, in_order, method_title
from benchmarks.records import read_records
from benchmarks.report import write_report
from benchmarks.running import run
from benchmarks.scales import load_scale
from benchmarks.speed_page import page_of
from benchmarks.tables import NOTHING, accuracy_table, complexity_table
from sklearn_lec.methods import METHODS, SelfTraining
from tests.benchmarks.synthetic_records import results_of, synthetic_record

SMOKE = load_scale("smoke")
NUMBERS = r"(\*\*)?\d+\.\d(\*\*)? / (\*\*)?\d+\.\d(\*\*)?"


class Toy(SelfTraining):
    """A method that nothing in the benchmarks knows."""

    title = "Toy method"


@pytest.fixture
def toy(monkeypatch):
    """The name of a method that is registered, and no more."""
    monkeypatch.setitem(METHODS, "toy", Toy)
    return "toy"


@pytest.fixture
def toy_experiments(toy, monkeypatch):
    """A table and a figure that the paper does not have, with the toy method beside one of the paper's."""
    rows, columns = (Row("digits", "sym-20"),), (Column.of("self-training"), Column.of(toy))
    table = Experiment("tableToy", "A table of our own", rows, columns)
    figure = Experiment("figureToy", "A figure of our own", rows, columns, shows="recall")
    for experiment in (table, figure):
        monkeypatch.setitem(EXPERIMENTS, experiment.name, experiment)
    return [table, figure]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were written, by the name of their file."""
    written, save = {}, figures._save

    def keep_and_save(figure, path, **options):
        written[path.name] = figure
        return save(figure, path, **options)

    monkeypatch.setattr(figures, "_save", keep_and_save)
    return written


def test_a_new_method_in_a_new_table_and_a_new_figure_is_run_and_reported(toy_experiments, drawn, tmp_path):
    assert run(toy_experiments, SMOKE, out=tmp_path) == []
    page = write_report(tmp_path).read_text(encoding="utf-8")

    table, figure = page.split("### Table Toy: A table of our own\n")[1].split("### Figure Toy: A figure of our own\n")
    assert "| data | noise | Self-training | Toy method |\n" in table
    assert re.search(rf"\| digits \| sym-20% \| {NUMBERS} \| {NUMBERS} \|\n", table)
    assert "paper" not in table
    assert "![A figure of our own](figureToy-smoke.png)" in figure
    assert (tmp_path / "figureToy-smoke.png").stat().st_size > 0
    (record,) = [record for record in read_records(tmp_path) if record["method"] == "toy"]
    (line,) = [line for line in drawn["figureToy-smoke.png"].axes[0].lines if line.get_label() == "Toy method"]
    np.testing.assert_allclose(line.get_ydata(), 100 * np.array(record["recall"]))


def test_a_new_method_is_in_the_complexity_table_of_a_run(smoke_run, toy, tmp_path):
    out = shutil.copytree(smoke_run, tmp_path, dirs_exist_ok=True)

    assert run([EXPERIMENTS["tableA3"]], SMOKE, out=out) == []
    page = write_report(out).read_text(encoding="utf-8")

    head, _, parameters, *_ = page.split("## Table A3")[1].split("\n\n")[2].splitlines()
    assert head.endswith("| D2L | Forward | ELR | Relabel | Toy method |")
    assert parameters.endswith("| 1.00 m | 1.00 m | 1.00 m | 1.00 m |")
    assert "missing" not in page


def test_a_new_table_is_listed_also_if_a_scale_cannot_run_it(toy_experiments, capsys):
    assert main(["list"]) == 0

    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("tableToy")]
    assert re.search(r"2, +\d+ core s .* unknown  A table of our own$", line)  # digits are too small for Conv9


def test_a_new_method_beside_those_of_the_paper_has_no_numbers_of_the_paper(toy):
    experiment = replace(EXPERIMENTS["table2"], beyond=(Column.of(toy),))
    records = [synthetic_record(cell, load_scale("cpu")) for cell in experiment.cells(load_scale("cpu"), 1)]

    head, _, measured, paper, *_ = accuracy_table(experiment, results_of(records, "cpu", seeds=1)).splitlines()

    assert head.endswith("| LTEC | LTEC-full | Toy method |")
    assert re.search(rf"\| {NUMBERS} \|$", measured)
    assert paper.startswith("|  | *paper* | 95.21 / 99.36 |")
    assert paper.endswith("** |  |")


def test_a_row_that_the_paper_does_not_have_is_shown_without_its_line():
    experiment = replace(EXPERIMENTS["table1"], rows=(*EXPERIMENTS["table1"].rows, Row("mnist", "sym-80")))

    *_, paper, last = accuracy_table(experiment, results_of([], "paper")).splitlines()

    assert "*paper*" in paper
    assert last == f"| MNIST | sym-80% |{f' {NOTHING} |' * 4}"


def test_methods_go_in_the_order_of_the_paper_then_in_that_of_the_package(toy):
    counts = dict.fromkeys(["of another version", "toy", "forward", "co-teaching", "standard"], (1, 1, 1))

    titles = complexity_table(counts).splitlines()[0].strip("| ").split(" | ")

    assert titles == ["Standard", "Co-teaching", "Forward", "Toy method", "of another version"]
    assert in_order(METHODS)[-1] == "toy"


def test_the_page_on_speed_has_a_line_for_a_new_method(toy):
    assert "| toy (eps 0.2) | 1 | 1.00 | 0.80 |  |  |" in page_of({"passes": {"eps 0.2": {"toy": [1, 1, 0.8]}}})


def test_a_method_goes_by_its_own_title_or_by_its_name(monkeypatch):
    for name, title in {"with": "Titled", "empty": ""}.items():
        monkeypatch.setitem(METHODS, name, type("Titled", (Toy,), {"title": title}))
    monkeypatch.setitem(METHODS, "without", type("Untitled", (Toy,), {}))

    titles = [method_title(name) for name in ("with", "empty", "without", CLEANLAB, "co-teaching")]

    assert titles == ["Titled", "empty", "without", "cleanlab", "Co-teaching"]


def test_lines_of_new_methods_can_be_told_apart_and_look_alike_in_all_figures(monkeypatch):
    new = [f"toy-{number}" for number in range(3)]
    for name in new:
        monkeypatch.setitem(METHODS, name, Toy)
    known = [Column.of(name) for name in in_order(METHODS)]
    twice = [Column(f"{name}, {factor}", name, eps_factor=factor) for name in ("ltec", "toy-0") for factor in (1, 2)]

    styles = figures._styles(known)

    assert len(set(styles)) == len(known)
    assert figures._styles(known[-1:]) == styles[-1:]
    assert len(set(figures._styles(twice))) == 4


def test_a_parameter_of_one_method_does_not_outdate_the_records_of_others(monkeypatch):
    class Greedy(Toy):
        """Has parameters that go by the names of settings of every training."""

        def __init__(self, *, eps=0.2, T_w=10, lr=0.1, batch_size=32):
            super().__init__(eps=eps, T_w=T_w)
            self.lr, self.batch_size = lr, batch_size

    cells = EXPERIMENTS["table2"].cells(SMOKE)
    before = [SMOKE.settings(cell) for cell in cells]

    monkeypatch.setitem(METHODS, "toy", Greedy)

    assert [SMOKE.settings(cell) for cell in cells] == before
    settings = SMOKE.settings(Cell("smoke", "digits", "sym-20", "toy", 0))
    assert settings == SMOKE.settings(Cell("smoke", "digits", "sym-20", "self-training", 0))
    assert classifier(settings, method="toy", eps=0.2).lr == settings["lr"]
