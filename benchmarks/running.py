"""Run cells through joblib, here or on a Dask cluster; keep what is finished, whatever happens to the rest."""

import contextlib
import importlib
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import torch
from joblib.externals.loky import get_reusable_executor
from threadpoolctl import threadpool_limits

from benchmarks import extras
from benchmarks.cells import Cell
from benchmarks.data import DataMissingError, check_available, prepare_noise
from benchmarks.experiments import Experiment
from benchmarks.files import check_folder, sole_use, taking_part
from benchmarks.methods import CLEANLAB
from benchmarks.progress import Progress
from benchmarks.records import RecordsFile
from benchmarks.scales import Scale
from benchmarks.training import forget_checkpoints, train

__all__ = ["Problem", "Workers", "cells_of", "leave_on_signals", "run"]

N_LINES = 12
"""Lines of a traceback that are shown."""

_one_at_a_time = threading.Lock()


class Problem(NamedTuple):
    """What could not be done, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Workers:
    """Where the trainings run.

    Parameters
    ----------
    jobs : int, default=1
        How many processes side by side; not used with `scheduler`.
    backend : {"loky", "dask"}, default="loky"
    scheduler : str or None, default=None
        Address of a Dask scheduler, whose workers see the run folder and the data under the same paths as this
        process; further threads of a worker would wait for the first. None starts `jobs` workers here.
    device : str, default="cpu"
    """

    jobs: int = 1
    backend: str = "loky"
    scheduler: str | None = None
    device: str = "cpu"

    @contextlib.contextmanager
    def started(self):
        """Start the workers; yield a `joblib.Parallel` and their number."""
        # One task at a time and no batches of them: what is finished is handed over at once.
        parallel = partial(joblib.Parallel, batch_size=1, return_as="generator_unordered")
        if self.backend == "loky":
            try:
                # A process that has come to hold much data is replaced, which is no cause for alarm; one that was
                # killed is reported otherwise.
                warnings.filterwarnings("ignore", "A worker stopped while some jobs were given", UserWarning)
                with joblib.parallel_config("loky", initializer=_follow, initargs=(os.getpid(),)):
                    yield parallel(n_jobs=self.jobs), self.jobs
            finally:
                # reuse=True: whatever its settings, the one that is there; another would be waited for.
                get_reusable_executor(reuse=True).shutdown(kill_workers=True)
            return
        try:
            from distributed import Client
        except ImportError as error:
            raise ImportError('Dask is not installed; pip install "sklearn-lec[dask]" brings it.') from error
        local = {"n_workers": self.jobs, "threads_per_worker": 1, "dashboard_address": None}
        try:
            started = Client(self.scheduler) if self.scheduler else Client(**local)
        except (OSError, ValueError) as error:
            raise ConnectionError(f"there is no Dask scheduler at {self.scheduler}: {error}") from error
        with started as client:
            if self.scheduler:
                _check_cluster(client, self.scheduler)
            n_workers = len(client.nthreads())
            with joblib.parallel_config(backend="dask"):
                yield parallel(n_jobs=-1), n_workers


def _check_cluster(client, address):
    """Raise an error where trainings would otherwise silently not be done, or be done here."""
    n_threads = sum(client.nthreads().values())
    if n_threads < 2:
        raise ConnectionError(
            f"the cluster at {address} has {n_threads} worker thread(s), and joblib hands work to no fewer than 2. "
            "Start two workers, or one with --nthreads 2."
        )
    for run_there in (client.run_on_scheduler, client.run):
        try:
            run_there(importlib.import_module, "benchmarks")
        except ImportError as error:
            raise ConnectionError(
                f"the scheduler or a worker at {address} does not find this code ({error}). Start both with PYTHONPATH "
                "set to the root of the project."
            ) from error


class Outcome(NamedTuple):
    """How a job ended: with a result, or with the end of a traceback."""

    key: Any
    result: Any
    error: str | None


def cells_of(experiments: list[Experiment], scale: Scale, seeds: int | None = None) -> list[Cell]:
    """Return the cells of experiments, each once, in the order of the experiments; within one, cleanlab's last."""
    cells = [
        cell
        for experiment in experiments
        for cell in sorted(experiment.cells(scale, seeds), key=lambda cell: cell.method == CLEANLAB)
    ]
    return list(dict.fromkeys(cells))


def run(
    experiments: list[Experiment],
    scale: Scale,
    *,
    out: Path,
    seeds: int | None = None,
    data_home: str | None = None,
    workers: Workers | None = None,
) -> list[Problem]:
    """Do what is missing of experiments.

    Parameters
    ----------
    experiments : list of Experiment
    scale : Scale
    out : Path
        The run folder: finished cells, what else is shown, checkpoints.
    seeds : int or None, default=None
        How many seeds; None for as many as the scale says.
    data_home : str or None, default=None
        Where the data sets are; None for the default of `sklearn_lec.datasets`.
    workers : Workers or None, default=None
        None for one process, this one.

    Returns
    -------
    problems : list of Problem
        Empty if all is done.

    Raises
    ------
    OSError
        If nothing can be written into the run folder, or something else has the name of one of its files.
    DamagedRecordError
        If a line of the finished cells is damaged.
    """
    workers = workers or Workers()
    out = Path(out).absolute()  # workers may have another working directory
    data_home = None if data_home is None else str(Path(data_home).absolute())
    with sole_use(out):
        for name in ("checkpoints", "semantic"):
            check_folder(out / name)
        records = RecordsFile(out)
        wanted = {cell: scale.settings(cell) for cell in cells_of(experiments, scale, seeds)}
        missing = {cell: settings for cell, settings in wanted.items() if not records.has(cell, settings)}
        for cell in wanted.keys() - missing.keys():
            forget_checkpoints(out, cell)  # of a run that was killed just after it had written the record
        drawn = [e for e in experiments if not e.has_cells and not extras.has_current_file(e, scale, out)]
        todo = _Todo(missing, {e: extras.cells_behind(e, scale) for e in drawn})
        unavailable = _unavailable(todo.data, data_home)
        problems = [Problem(f"{data} is missing; {todo.skipped(data)}", why) for data, why in unavailable.items()]
        todo = todo.where(lambda cell: cell.data not in unavailable)
        if todo.cells or todo.extras:
            problems += _Job(scale, out, data_home, workers).do(todo, records)
        return problems


def leave_on_signals() -> None:
    """Let SIGINT and SIGTERM end this process at once; its workers follow, and the next run goes on from there.

    Workers of a cluster that was there before finish what they have begun.
    """
    # Not by an exception, which could strike joblib or skorch anywhere: a run has to survive being killed anyway.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(number, frame):
    os.write(sys.stderr.fileno(), b"\nStopped; run again to go on. Workers of a cluster finish their cell first.\n")
    os._exit(128 + number)


class _Todo(NamedTuple):
    """What is left to do: cells with their settings; extras with the cells whose data they show."""

    cells: dict[Cell, dict]
    extras: dict[Experiment, list[Cell]]

    @property
    def data(self):
        return {cell.data for cell in chain(self.cells, *self.extras.values())}

    def where(self, possible):
        return _Todo(
            {cell: settings for cell, settings in self.cells.items() if possible(cell)},
            {extra: cells for extra, cells in self.extras.items() if all(map(possible, cells))},
        )

    def skipped(self, data):
        """Return what is said of all that needs the data."""
        n_cells = sum(cell.data == data for cell in self.cells)
        named = [extra.name for extra, cells in self.extras.items() if any(cell.data == data for cell in cells)]
        return "skipped: " + ", ".join(([f"{n_cells} cell(s)"] if n_cells else []) + named)


@dataclass(frozen=True)
class _Job:
    scale: Scale
    out: Path
    data_home: str | None
    workers: Workers

    def do(self, todo, records):
        with self.workers.started() as (parallel, n_workers):
            failures = self._prepare(parallel, todo)
            problems = [Problem(f"semantic noise of {data}, network {number}", why) for data, number, why in failures]
            failed = {data for data, _, _ in failures}
            todo = todo.where(lambda cell: cell.noise_kind != "semantic" or cell.data not in failed)
            problems += self._train(parallel, todo.cells, records, n_workers)
            return problems + self._draw(parallel, todo.extras)

    def _prepare(self, parallel, todo):
        """Train the networks that make semantic noise before the cells that share them need them."""
        where = {"out": self.out, "device": self.workers.device}
        jobs = {}
        for cell in chain(todo.cells, *todo.extras.values()):
            settings = self.scale.settings(cell)
            for number in range(settings.get("semantic_networks", 0)):
                job = partial(prepare_noise, cell, settings, self.data_home, number=number, **where)
                jobs[cell.data, number] = job
        failures = []
        for (data, number), _, error in _run_jobs(parallel, jobs, out=self.out):
            if error:
                failures.append((data, number, error))
            else:
                print(f"semantic noise of {data}: network {number} is there", file=sys.stderr, flush=True)
        return failures

    def _train(self, parallel, missing, records, n_workers):
        where = {"data_home": self.data_home, "out": self.out, "device": self.workers.device}
        jobs = {cell: partial(train, cell, settings, **where) for cell, settings in missing.items()}
        problems = []
        with Progress(missing, out=self.out, n_workers=n_workers) as progress:
            for cell, record, error in _run_jobs(parallel, jobs, out=self.out):
                if error:
                    problems.append(Problem(cell.name, error))
                    progress.failed(cell, error)
                else:
                    records.append(record)
                    forget_checkpoints(self.out, cell)
                    progress.finished(cell, f"accuracy {record['accuracy'][-1]:.3f} in {record['seconds']:.0f} s")
        return problems

    def _draw(self, parallel, drawn):
        where = {"data_home": self.data_home, "out": self.out, "device": self.workers.device}
        jobs = {e.name: partial(extras.write_extra, e, self.scale, **where) for e in drawn}
        return [Problem(o.key, o.error) for o in _run_jobs(parallel, jobs, out=self.out) if o.error]


def _unavailable(names, data_home):
    """Return, by name, why data sets are not available."""
    reasons = {}
    for name in sorted(names):
        try:
            check_available(name, data_home)
        except DataMissingError as error:
            reasons[name] = str(error)
    return reasons


def _run_jobs(parallel, jobs: dict[Any, Callable], *, out: Path) -> Iterator[Outcome]:
    left = dict(jobs)
    while left:
        n_before = len(left)
        tasks = [joblib.delayed(_attempt)(key, job, out=out) for key, job in left.items()]
        try:
            with contextlib.closing(parallel(tasks)) as outcomes:
                for outcome in outcomes:
                    del left[outcome.key]
                    yield outcome
        # Errors of the jobs themselves are part of their outcomes; what comes here is the end of those who do them,
        # for which every backend has exceptions of its own. New ones go on as long as something gets done.
        except Exception as error:
            if len(left) == n_before:
                why = (
                    f"a worker or the scheduler was lost ({type(error).__name__}), perhaps because memory ran out. Run "
                    "again, with fewer workers, to go on."
                )
                yield from (Outcome(key, None, why) for key in left)
                return


def _attempt(key, job, *, out):
    """Do a job in a worker, on one core; an exception is part of the outcome."""
    torch.set_num_threads(1)
    # Random numbers come from the generators of the process, so that two trainings must not share it.
    with _one_at_a_time, taking_part(out), threadpool_limits(1):
        try:
            return Outcome(key, job(), None)
        except OSError as error:  # a full disk, a folder in the way: the message says all
            return Outcome(key, None, f"{type(error).__name__}: {error}")
        except Exception:
            return Outcome(key, None, "\n".join(traceback.format_exc().splitlines()[-N_LINES:]))


def _follow(parent):
    """Leave signals from the terminal to the process that started this one, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_without, args=(parent,), daemon=True).start()


def _exit_without(parent):
    while os.getppid() == parent:
        time.sleep(0.1)
    os._exit(1)
