"""The benchmarks keep what is finished and do what is missing, whoever does the work and whatever happens to it."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import MappingProxyType

import numpy as np
import psutil
import pytest
from skorch.callbacks import Callback

from benchmarks import pictures, running, sources
from benchmarks.__main__ import main
from benchmarks.cells import CLEANLAB, Cell
from benchmarks.classifiers import classifier, fit_whole
from benchmarks.experiments import EXPERIMENTS, Column, Experiment, Row
from benchmarks.files import FolderInUseError, sole_use
from benchmarks.progress import Progress
from benchmarks.records import cell_of, read_records
from benchmarks.running import Workers, cells_of, run
from benchmarks.scales import load_scale
from benchmarks.training import train

SMOKE = load_scale("smoke")
FEW = Experiment(
    "few",
    "Three cells",
    (Row("digits", "sym-60"),),
    (Column("LTEC", "ltec", M=2), Column("LSEC", "lsec", M=2), Column("cleanlab", CLEANLAB)),
)


def comparable(records):
    """Return records by cell, without what may differ between two runs."""
    return {cell_of(r): {name: value for name, value in r.items() if name != "seconds"} for r in records}


def scale_with(**changes):
    """Return the smoke scale with other entries."""
    return dataclasses.replace(SMOKE, table=MappingProxyType(dict(SMOKE.table) | changes))


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The folder of a run of all experiments; made once, even if the tests of this module are run by two processes."""
    base = tmp_path_factory.getbasetemp()
    out = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "everything"
    while True:
        try:
            assert run(list(EXPERIMENTS.values()), SMOKE, out=out, workers=Workers(jobs=2)) == []
        except FolderInUseError:
            continue
        return out


@pytest.fixture
def few(tmp_path):
    """A folder with the three cells of FEW."""
    assert run([FEW], SMOKE, out=tmp_path) == []
    return tmp_path


# --- what a run leaves behind -----------------------------------------------------------------------------------------


def test_a_run_of_everything_makes_every_cell_once(everything):
    lines = (everything / "cells.jsonl").read_text().splitlines()

    cells = [cell_of(json.loads(line)) for line in lines]

    assert len(cells) == len(set(cells))
    assert set(cells) == {cell for e in EXPERIMENTS.values() for cell in e.cells(SMOKE)}
    assert not [path for path in (everything / "checkpoints").rglob("*") if path.is_file()]


def test_a_second_run_does_nothing(few, monkeypatch):
    monkeypatch.setattr(running, "train", None)
    before = (few / "cells.jsonl").read_bytes()

    assert run([FEW], SMOKE, out=few) == []

    assert (few / "cells.jsonl").read_bytes() == before


def test_a_record_says_what_was_run_and_how_every_epoch_went(everything):
    for record in read_records(everything):
        cell = cell_of(record)
        assert record["settings"] == SMOKE.settings(cell)
        for name in ("accuracy", "precision", "recall", "kept"):
            assert len(record[name]) == record["settings"]["epochs"]
        has_temporal_consensus = cell.method in ("ltec", "ltec-full")
        assert (record["small_loss_precision"] is not None) == has_temporal_consensus
        assert record["seconds"] > 0
        assert set(record["versions"]) == {"sklearn-lec", "torch", "skorch", "scikit-learn", "numpy", "python"}


def test_foreign_images_count_as_wrong_labels(everything):
    standard = next(r for r in read_records(everything) if (r["noise"], r["method"]) == ("open-40", "standard"))

    assert standard["precision"][-1] == 0.6


def test_small_losses_are_less_pure_than_their_intersection(everything):
    record = next(r for r in read_records(everything) if cell_of(r).name == "smoke_digits_sym-20_ltec_M5_seed0")

    assert record["small_loss_precision"][-1] < record["precision"][-1]


def test_the_pictures_of_the_noise_are_kept(everything):
    matrices = pictures.read_matrices(pictures.picture_file(EXPERIMENTS["figureA1"], SMOKE, everything))
    examples = pictures.read_examples(pictures.picture_file(EXPERIMENTS["figureA2"], SMOKE, everything))

    assert [panel["noise"] for panel in matrices] == ["sym-20", "asym-20", "semantic-20"]
    assert all(np.allclose(panel["matrix"].sum(axis=1), 1, atol=1e-4) for panel in matrices)
    assert examples["images"].shape == (2, 10, 1, 8, 8)
    assert (examples["y_true"][0] == examples["y_noisy"][0]).all()
    assert (examples["y_true"][1] != examples["y_noisy"][1]).all()


def test_cells_go_in_the_order_of_the_experiments_with_cleanlab_last():
    cells = cells_of([EXPERIMENTS["table2"], EXPERIMENTS["tableA2"]], SMOKE)

    assert [cell.method == CLEANLAB for cell in cells] == [False] * 24 + [True] * 4 + [False]
    assert cells[-1].noise == "clean"


# --- what a run survives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bytes", [1, 200])
def test_a_line_that_was_cut_off_is_done_again(few, n_bytes):
    file, before = few / "cells.jsonl", comparable(read_records(few))
    file.write_bytes(file.read_bytes()[:-n_bytes])

    assert len(read_records(few)) == 2
    assert run([FEW], SMOKE, out=few) == []

    assert comparable(read_records(few)) == before
    assert len(file.read_text().splitlines()) == 3


def test_a_damaged_line_in_the_middle_is_named(few):
    file = few / "cells.jsonl"
    file.write_text("not json\n" + file.read_text())

    with pytest.raises(ValueError, match=r"line 1 of .* is damaged"):
        run([FEW], SMOKE, out=few)


def test_other_settings_make_a_cell_run_again(few):
    longer = scale_with(settings=SMOKE.table["settings"] | {"epochs": 5})

    assert run([FEW], longer, out=few) == []

    assert [len(record["accuracy"]) for record in read_records(few)] == [5, 5, 5]


def test_a_cell_that_fails_is_reported_and_the_others_are_kept(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab.classification", None)

    problems = run([FEW], SMOKE, out=tmp_path)

    assert [problem.what for problem in problems] == ["smoke_digits_sym-60_cleanlab_seed0"]
    assert 'pip install "sklearn-lec[benchmarks]"' in problems[0].why
    assert [record["method"] for record in read_records(tmp_path)] == ["ltec", "lsec"]


def test_data_that_cannot_be_had_is_skipped(tmp_path, monkeypatch):
    def no_internet(*args, **kwargs):
        raise OSError("put it there")

    monkeypatch.setattr(sources.datasets, "fetch_cifar100", no_internet)
    scale = scale_with(rows={"few": ["cifar-100/sym-20", "digits/sym-20"]})

    problems = run([FEW], scale, out=tmp_path)

    assert problems == [("cifar-100 is missing; cells skipped: 3", "put it there")]
    assert {record["data"] for record in read_records(tmp_path)} == {"digits"}


def test_two_runs_in_one_folder_do_not_mix(tmp_path):
    with (
        sole_use(tmp_path),
        pytest.raises(FolderInUseError, match="use another --out"),
        sole_use(tmp_path, patience=0.1),
    ):
        pass


def test_an_interrupted_training_is_not_taken_for_a_finished_one(table):
    class Interrupt(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt

    settings = SMOKE.settings(Cell("smoke", "digits", "sym-20", "standard", 0))
    net = classifier(settings, callbacks=[("interrupt", Interrupt())])

    with pytest.raises(KeyboardInterrupt):
        fit_whole(net, *table)


def stopped(out, number, *, when):
    """Run Table 7, send a signal when `when` says so, and return the exit code once all children are gone."""
    command = [sys.executable, "-m", "benchmarks", "run", "table7", "--scale", "smoke", "--jobs", "2"]
    process = subprocess.Popen([*command, "--out", out], cwd=Path(__file__).parents[1], stdout=subprocess.DEVNULL)
    family = psutil.Process(process.pid)
    while process.poll() is None and not when(family):
        time.sleep(0.01)
    children = family.children(recursive=True)
    process.send_signal(number)
    process.wait(timeout=30)
    _, lingering = psutil.wait_procs(children, timeout=30)
    assert len(children) >= 2
    assert lingering == []
    return process.returncode


def test_a_run_that_was_stopped_loses_nothing_and_does_nothing_twice(tmp_path, everything):
    code = stopped(tmp_path, signal.SIGKILL, when=lambda family: len(read_records(tmp_path)) >= 2)
    assert code == -signal.SIGKILL
    code = stopped(tmp_path, signal.SIGTERM, when=lambda family: len(family.children(recursive=True)) >= 2)
    assert code == 128 + signal.SIGTERM
    assert 2 <= len(read_records(tmp_path)) < 8

    assert run([EXPERIMENTS["table7"]], SMOKE, out=tmp_path) == []

    expected = [record for record in read_records(everything) if record["network"] == "resnet20"]
    assert comparable(read_records(tmp_path)) == comparable(expected)
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 8


# --- who does the work ------------------------------------------------------------------------------------------------


def test_processes_and_a_dask_cluster_give_the_same_records(tmp_path, everything):
    distributed = pytest.importorskip("distributed")
    cells = {c for c in cells_of([EXPERIMENTS["figure5"]], SMOKE) if c.noise == "sym-60"}
    experiment = dataclasses.replace(EXPERIMENTS["figure5"], rows=(Row("digits", "sym-60"),))

    # Two threads each: trainings in one process must still not get at each other's random numbers.
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        workers = Workers(backend="dask", scheduler=cluster.scheduler_address)
        assert run([experiment], SMOKE, out=tmp_path, seeds=2, workers=workers) == []

    by_dask = comparable(read_records(tmp_path))
    assert len(by_dask) == 4
    in_processes = comparable(read_records(everything))
    assert {cell: by_dask[cell] for cell in cells} == {cell: in_processes[cell] for cell in cells}


def test_progress_counts_cells_and_epochs_under_way(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    cells = {cell: SMOKE.settings(cell) for cell in FEW.cells(SMOKE)}

    with Progress(cells, out=tmp_path, n_workers=2) as progress:
        train(list(cells)[1], list(cells.values())[1], None, tmp_path)
        progress.finished(next(iter(cells)), "done")

    assert "1/3 cells, 2 under way" in capsys.readouterr().err


def test_a_run_with_problems_ends_with_an_error(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(running, "train", lambda *args, **kwargs: 1 / 0)

    code = main(["run", "tableA2", "--scale", "smoke", "--jobs", "1", "--out", str(tmp_path)])

    assert code == 1
    said = capsys.readouterr().err
    assert "smoke_digits_clean_standard_seed0\n" in said
    assert "ZeroDivisionError" in said
