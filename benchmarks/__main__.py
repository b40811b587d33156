"""The tables and figures of the paper: ``python -m benchmarks list``, ``run`` and ``report``."""

import argparse
import os
import stat
import sys
from pathlib import Path

import torch

from benchmarks.complexity import UNITS, UnknownCostError, hours
from benchmarks.experiments import EXPERIMENTS
from benchmarks.extras import cells_behind
from benchmarks.files import DamagedFileError, FolderInUseError
from benchmarks.report import check_page, write_report
from benchmarks.running import Workers, cells_of, leave_on_signals, run
from benchmarks.scales import SCALES, SettingsError, load_scale
from sklearn_lec._validation import did_you_mean

OUT = "results"
N_NAMED = 5
"""How many cells are named that failed for the same reason."""
MOST = 9999
"""Processes or seeds; more would only fill the memory."""


def main(arguments=None):
    parser = _parser()
    options = parser.parse_args(arguments)
    if getattr(options, "scheduler", None) is not None and options.backend != "dask":
        parser.error("--scheduler is for --backend dask.")
    if getattr(options, "device", None) is not None and options.scheduler is None:
        _check_usable(options.device, parser)
    try:
        return options.command(options)
    except (OSError, ImportError, FolderInUseError, DamagedFileError, SettingsError) as error:
        print(error, file=sys.stderr)
        return 1


def _list(options):
    print(f"{'':10}" + "".join(f"{scale:>22}" for scale in SCALES))
    for name, experiments in [(e.name, [e]) for e in EXPERIMENTS.values()] + [("all", list(EXPERIMENTS.values()))]:
        columns = []
        for scale in map(load_scale, SCALES):
            cells = cells_of(experiments, scale)
            shown = [cell for experiment in experiments for cell in cells_behind(experiment, scale)]
            columns.append(f"{len(cells):>7}, {_cost(cells, scale, shown=shown):>13}")
        title = EXPERIMENTS[name].title if name in EXPERIMENTS else "Every cell once"
        print(f"{name:10}" + "".join(columns) + f"  {title}")
    return 0


def _cost(cells, scale, *, shown):
    try:
        cost, unit = hours(cells, scale, shown=shown), UNITS[scale.name]
    except UnknownCostError:
        return "unknown"
    if cost == 0:
        return "-"
    return f"{cost:.1f} {unit} h" if cost >= 0.1 else f"{3600 * cost:.0f} {unit} s"


def _run(options):
    names = list(EXPERIMENTS) if "all" in options.experiments else list(dict.fromkeys(options.experiments))
    check_page(options.out)
    leave_on_signals()
    problems = run(
        [EXPERIMENTS[name] for name in names],
        load_scale(options.scale),
        out=options.out,
        seeds=options.seeds,
        data_home=options.data_home,
        workers=Workers(options.jobs, options.backend, options.scheduler, options.device),
    )
    for why in dict.fromkeys(problem.why for problem in problems):
        concerned = [problem.what for problem in problems if problem.why == why]
        more = [f"and {len(concerned) - N_NAMED} more"] if len(concerned) > N_NAMED else []
        print("", *concerned[:N_NAMED], *more, why, sep="\n", file=sys.stderr)
    code = _report(options)  # also after problems: what is finished is worth seeing
    if problems:
        print(f"\n{len(problems)} problem(s), see above. What is finished is in {options.out}.", file=sys.stderr)
        return 1
    return code


def _report(options):
    print(write_report(options.out, seeds=options.seeds))
    return 0


def _run_folder(text):
    """Return a folder that is there, or that a run can make."""
    if not text:
        raise argparse.ArgumentTypeError("must name a folder, got ''.")
    try:
        text.encode()  # the page says how to go on there
        is_folder = stat.S_ISDIR(Path(text).stat().st_mode)
    except FileNotFoundError:
        return Path(text)
    except (OSError, UnicodeEncodeError) as error:
        raise argparse.ArgumentTypeError(f"must be a folder, {text!r} cannot be one: {error}.") from error
    if not is_folder:
        raise argparse.ArgumentTypeError(f"must be a folder, {text!r} is a file.")
    return Path(text)


def _data_folder(text):
    if not os.path.isdir(text):  # noqa: PTH112, as it is False also for names that no folder can have
        raise argparse.ArgumentTypeError(f"must be a folder that exists, got {text!r}.")
    return text


def _experiment(name):
    if name != "all" and name not in EXPERIMENTS:
        raise argparse.ArgumentTypeError(
            f"unknown experiment {name!r}; {did_you_mean(name, EXPERIMENTS)}Tables and figures: "
            f"{', '.join(EXPERIMENTS)}, or all."
        )
    return name


def _device(text):
    try:
        torch.device(text)
    except RuntimeError as error:
        raise argparse.ArgumentTypeError(f"unknown device {text!r}; use cpu, cuda or cuda:1.") from error
    return text


def _check_usable(device, parser):
    """Leave with an error now rather than once per cell if this machine cannot train on the device."""
    try:
        torch.ones(1, device=device).item()
    except (RuntimeError, AssertionError, ImportError) as error:
        parser.error(f"--device {device} cannot be used here: {str(error).splitlines()[0]}")


def _positive(text):
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"must be a whole number between 1 and {MOST}, got {text!r}.")
    return int(text)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="The tables and figures of the paper.")
    commands = parser.add_subparsers(required=True)
    seeds = {"type": _positive, "help": "how many trainings each entry is the mean of; default: what the scale says"}

    command = commands.add_parser("list", help="tables and figures, how many trainings they are, and what they cost")
    command.set_defaults(command=_list)

    command = commands.add_parser("run", help="do what is missing, then write the report")
    command.add_argument(
        "experiments", nargs="+", type=_experiment, metavar="NAME", help="table2, figure3, ...; or all"
    )
    command.add_argument("--scale", choices=SCALES, default="cpu", help="default: cpu")
    command.add_argument("--jobs", type=_positive, default=2, help="trainings side by side, one core each; default: 2")
    command.add_argument("--seeds", **seeds)
    command.add_argument(
        "--data-home", type=_data_folder, help="where the data sets are; default: scikit-learn's folder"
    )
    command.add_argument("--out", type=_run_folder, default=OUT, help=f"the run folder; default: {OUT}")
    command.add_argument("--backend", choices=("loky", "dask"), default="loky", help="default: loky")
    command.add_argument(
        "--scheduler",
        help="address of a Dask scheduler; it and its workers need PYTHONPATH set to this folder, the data and --out "
        "under the same paths, and workers one thread each. Default: --jobs workers here",
    )
    command.add_argument("--device", type=_device, default="cpu", help="cpu or cuda; default: cpu")
    command.set_defaults(command=_run)

    command = commands.add_parser("report", help="write the report of a run folder")
    command.add_argument(
        "out",
        type=_run_folder,
        nargs="?",
        default=OUT,
        help=f"default: {OUT}; what its notes.md says is put into the report",
    )
    seeds["help"] = "how many seeds a complete run has; those beyond it are shown as well. Default: what the scale says"
    command.add_argument("--seeds", **seeds)
    command.set_defaults(command=_report)
    return parser


if __name__ == "__main__":
    sys.exit(main())
