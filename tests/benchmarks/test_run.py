"""The benchmarks keep what is finished and do what is missing, whoever does the work and whatever happens to it."""

import dataclasses
import json
import shutil
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

from benchmarks import data, extras, running
from benchmarks.cells import Cell
from benchmarks.classifiers import classifier, fit_whole
from benchmarks.experiments import EXPERIMENTS, Column, Experiment, Row
from benchmarks.methods import CLEANLAB
from benchmarks.records import cell_of, read_records
from benchmarks.report import write_report
from benchmarks.running import Workers, cells_of, leave_on_signals, run
from benchmarks.scales import load_scale
from sklearn_lec.methods import METHODS

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
def three_cells(tmp_path_factory):
    out = tmp_path_factory.mktemp("few")
    assert run([FEW], SMOKE, out=out) == []
    return out


@pytest.fixture
def few(three_cells, tmp_path):
    """A folder with the three cells of FEW, to do with what one likes."""
    return shutil.copytree(three_cells, tmp_path, dirs_exist_ok=True)


# --- what a run leaves behind -----------------------------------------------------------------------------------------


def test_a_run_of_everything_makes_every_cell_once(smoke_run):
    lines = (smoke_run / "cells.jsonl").read_text().splitlines()

    cells = [cell_of(json.loads(line)) for line in lines]

    assert len(cells) == len(set(cells))
    assert set(cells) == {cell for e in EXPERIMENTS.values() for cell in e.cells(SMOKE)}
    assert not [path for path in (smoke_run / "checkpoints").rglob("*") if path.is_file()]


def test_a_second_run_does_nothing(few, monkeypatch):
    monkeypatch.setattr(running, "train", None)
    before = (few / "cells.jsonl").read_bytes()

    assert run([FEW], SMOKE, out=few) == []

    assert (few / "cells.jsonl").read_bytes() == before


def test_a_record_says_what_was_run_and_how_every_epoch_went(smoke_run):
    for record in read_records(smoke_run):
        cell = cell_of(record)
        assert record["settings"] == SMOKE.settings(cell)
        for name in ("accuracy", "precision", "recall", "kept"):
            assert len(record[name]) == record["settings"]["epochs"]
        has_temporal_consensus = cell.method in ("ltec", "ltec-full")
        assert (record["small_loss_precision"] is not None) == has_temporal_consensus
        assert record["seconds"] > 0
        assert record["device"] == "cpu"
        packages = {"sklearn-lec", "torch", "skorch", "scikit-learn", "numpy", "python"}
        assert set(record["versions"]) == packages | ({"cleanlab"} if cell.method == CLEANLAB else set())


def test_foreign_images_count_as_wrong_labels(smoke_run):
    standard = next(r for r in read_records(smoke_run) if (r["noise"], r["method"]) == ("open-40", "standard"))

    assert standard["precision"][-1] == 0.6


def test_small_losses_are_less_pure_than_their_intersection(smoke_run):
    record = next(r for r in read_records(smoke_run) if cell_of(r).name == "smoke_digits_sym-20_ltec_M5_seed0")

    assert record["small_loss_precision"][-1] < record["precision"][-1]


def test_what_else_is_shown_is_kept(smoke_run):
    matrices = extras.read_matrices(extras.extra_file(EXPERIMENTS["figureA1"], SMOKE, smoke_run))["panels"]
    examples = extras.read_examples(extras.extra_file(EXPERIMENTS["figureA2"], SMOKE, smoke_run))
    counts = extras.read_counts(extras.extra_file(EXPERIMENTS["tableA3"], None, smoke_run))

    assert set(counts) == set(METHODS)
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


def test_a_whole_line_of_another_version_is_not_thrown_away(few):
    file = few / "cells.jsonl"
    file.write_text(file.read_text() + json.dumps(read_records(few)[0] | {"method": "newer"}) + "\n")

    with pytest.raises(ValueError, match=r"line 4 of .* of another version: method must be .* got 'newer'"):
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

    monkeypatch.setattr(data.datasets, "fetch_cifar100", no_internet)
    scale = scale_with(rows={"few": ["cifar-100/sym-20", "digits/sym-20"]})

    problems = run([FEW], scale, out=tmp_path)

    assert problems == [("cifar-100 is missing; skipped: 3 cell(s)", "put it there")]
    assert {record["data"] for record in read_records(tmp_path)} == {"digits"}


def test_figures_that_cannot_be_drawn_because_data_is_missing_are_named(tmp_path, monkeypatch):
    def not_there(*args):
        raise data.DataMissingError("put it there")

    monkeypatch.setattr(running, "check_available", not_there)

    problems = run([EXPERIMENTS["figureA2"]], SMOKE, out=tmp_path)

    assert problems == [("digits is missing; skipped: figureA2", "put it there")]


def test_cells_do_not_train_the_networks_of_semantic_noise_that_failed(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(running, "prepare_noise", fail)
    semantic = [EXPERIMENTS["table4"], EXPERIMENTS["figureA2"]]

    problems = run(semantic, SMOKE, out=tmp_path)

    assert [what for what, _ in problems] == [f"semantic noise of digits, network {number}" for number in range(5)]
    assert read_records(tmp_path) == []
    assert not (tmp_path / "semantic").exists()


def test_damaged_files_beside_the_cells_are_made_again(smoke_run, tmp_path):
    out = shutil.copytree(smoke_run, tmp_path, dirs_exist_ok=True)
    network = next((out / "semantic").rglob("0.npy"))
    before = network.read_bytes()
    for file in (out / "figureA1-smoke.json", out / "figureA2-smoke.npz", network):
        file.write_bytes(b"{")

    assert "Not run: Figure A1, Figure A2." in write_report(out).read_text(encoding="utf-8")
    assert run([EXPERIMENTS["figureA1"], EXPERIMENTS["figureA2"]], SMOKE, out=out) == []

    assert network.read_bytes() == before
    assert "Not run" not in write_report(out).read_text(encoding="utf-8")


def test_what_lost_workers_have_left_is_reported(tmp_path):
    class KilledWorkerError(Exception):
        """What a backend raises that has lost a worker."""

    calls = iter([1, 1, 0])  # how many jobs are done before the next loss

    def parallel(tasks):
        for function, args, kwargs in tasks[: next(calls)]:
            yield function(*args, **kwargs)
        raise KilledWorkerError

    jobs = {name: lambda name=name: name.upper() for name in "abcd"}
    outcomes = list(running._run_jobs(parallel, jobs, out=tmp_path))

    assert outcomes[:2] == [("a", "A", None), ("b", "B", None)]
    assert [(key, result) for key, result, _ in outcomes[2:]] == [("c", None), ("d", None)]
    assert all("lost (KilledWorkerError)" in error for _, _, error in outcomes[2:])


def test_a_cluster_that_cannot_do_the_work_is_refused(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        workers = Workers(backend="dask", scheduler=cluster.scheduler_address)

        with pytest.raises(ConnectionError, match=r"has 1 worker thread\(s\).*one with --nthreads 2"):
            run([FEW], SMOKE, out=tmp_path, workers=workers)


def test_a_cluster_without_this_code_is_refused():
    class Client:
        def nthreads(self):
            return {"one": 1, "other": 1}

        def run_on_scheduler(self, function, name):
            return function(name)

        def run(self, function, name):
            return function(f"not_there_{name}")

    with pytest.raises(ConnectionError, match=r"does not find this code .*not_there_benchmarks.* PYTHONPATH"):
        running._check_cluster(Client(), "tcp://127.0.0.1:1")


def test_an_interrupted_training_is_not_taken_for_a_finished_one(table):
    class Interrupt(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt

    settings = SMOKE.settings(Cell("smoke", "digits", "sym-20", "standard", 0))
    net = classifier(settings, callbacks=[("interrupt", Interrupt())])

    with pytest.raises(KeyboardInterrupt):
        fit_whole(net, *table)


def killed(command, *, when):
    """Run a command, kill it when `when` says so, and return how many children it had once none is left."""
    process = subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.DEVNULL)
    while process.poll() is None and not when():
        time.sleep(0.01)
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait(timeout=30)
    _, lingering = psutil.wait_procs(children, timeout=30)
    assert lingering == []
    return len(children)


def timeless_page(out):
    """Return the report on a folder, without its name and the time that was spent."""
    page = write_report(out).read_text(encoding="utf-8").replace(str(out), "OUT")
    return [line for line in page.splitlines() if not line.startswith("Time spent")]


@pytest.mark.slow
def test_a_run_that_was_killed_loses_nothing_and_does_nothing_twice(tmp_path, smoke_run):
    out, uninterrupted = tmp_path / "killed", tmp_path / "uninterrupted"
    uninterrupted.mkdir()
    lines = [line for line in (smoke_run / "cells.jsonl").open() if json.loads(line)["network"] == "resnet20"]
    (uninterrupted / "cells.jsonl").write_text("".join(lines))

    command = [sys.executable, "-m", "benchmarks", "run", "table7", "--scale", "smoke", "--jobs", "2", "--out", out]
    assert killed(command, when=lambda: len(read_records(out)) >= 3) >= 2
    assert 3 <= len(read_records(out)) < 8
    assert "cells missing" in "\n".join(timeless_page(out))
    assert run([EXPERIMENTS["table7"]], SMOKE, out=out) == []

    assert comparable(read_records(out)) == comparable(read_records(uninterrupted))
    assert len((out / "cells.jsonl").read_text().splitlines()) == 8
    assert timeless_page(out) == timeless_page(uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_run_at_once(number, monkeypatch):
    exits, before = [], signal.getsignal(number)
    monkeypatch.setattr(running.os, "_exit", exits.append)

    try:
        leave_on_signals()
        signal.raise_signal(number)
    finally:
        signal.signal(number, before)

    assert exits == [128 + number]


# --- who does the work ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_processes_and_a_dask_cluster_give_the_same_records(tmp_path):
    distributed = pytest.importorskip("distributed")
    experiment = dataclasses.replace(EXPERIMENTS["figure5"], rows=(Row("digits", "sym-60"),))

    # Two threads per worker: trainings in one process must still not get at each other's random numbers.
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster:
        places = {
            "dask": Workers(backend="dask", scheduler=cluster.scheduler_address),
            "loky": Workers(jobs=2, backend="loky"),
        }
        for name, workers in places.items():
            assert run([experiment], SMOKE, out=tmp_path / name, seeds=4, workers=workers) == []

    by_dask, by_loky = (comparable(read_records(tmp_path / name)) for name in places)
    assert len(by_dask) == 8
    assert by_dask == by_loky
