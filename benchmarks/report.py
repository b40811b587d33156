"""The page that shows what a run of the benchmarks found, beside what the paper says."""

import math
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from benchmarks import extras
from benchmarks.complexity import EPS, GPU, N_ROWS, STEP, M, hours
from benchmarks.experiments import EXPERIMENTS, Experiment
from benchmarks.figures import curves_figure, examples_figure, matrices_figure
from benchmarks.files import DamagedFileError, write_whole
from benchmarks.records import RECORDS, read_records
from benchmarks.results import Results
from benchmarks.running import cells_of
from benchmarks.scales import SCALES, load_scale
from benchmarks.tables import (
    NOTHING,
    PAPER,
    accuracy_table,
    complexity_table,
    data_title,
    markdown_table,
    noise_title,
    paper_rows,
)

__all__ = ["check_page", "write_report"]

PAGE = "README.md"
TITLE = "# Benchmarks\n"
INTRODUCTION = f"""{TITLE}
The tables and figures of Lee and Chung, *Robust Training with Ensemble Consensus* (ICLR 2020), run again. Entries are
the accuracy in % on clean test labels, final / peak over the epochs, averaged over a method's networks; mean ±
standard deviation (divisor n) over seeds, without ± where there is one seed. The best final and the best peak of a row
are bold. A number in brackets says of how many rows a training set was, if not of all. Lines marked *paper* are the
paper's own numbers, with its networks, its epochs and all rows; the settings of what was run here stand below. As in
the paper, the methods that leave rows out are told the true share of wrong labels (Table 6 tells them another);
Standard, D2L, Forward and cleanlab are not. Among the settings, "{NOTHING}" stands for methods that do not have them.
"""
NOTES = "notes.md"
CAPTIONS = {
    "figure2": "From the first epoch after the warm-up on, when filtering starts.",
    "figureA2": "Above each image its label, and in brackets what it shows where that is something else.",
    "figure4": "D2L and Forward keep every row: their line is that of Standard, and they are left out.",
}
COUNTED = f"""Counted with M = {M} and a noise ratio of {EPS:.0%}: parameters as a multiple of one network's (m), and
the rows that went forward and backward in one epoch of filtering as a multiple of all {N_ROWS:,}
rows (n). LTEC-full looks at all rows before each epoch, and goes through those that it keeps a second time. The small
network here has no convolutions: all rows go backward, the loss being taken of those that are kept. D2L looks at
1,280 rows more in each epoch, which are few in a real training set.
"""
COST = f"""The operations of one pass, counted, times passes, rows and epochs, at {GPU / 1e12:.0f} TFLOP/s sustained
(about half the single-precision peak of a V100) and {1000 * STEP["GPU"]:.0f} ms more per batch. Trainings that tables
share are counted in each of them; figures use those of the tables."""
MIXED = f"""the trainings of this row had different noise in their labels and do not compare. Delete its lines from
{RECORDS} to run them again on the same."""
DRAWN = {"matrices": matrices_figure, "examples": examples_figure}


def write_report(out: Path, *, seeds: int | None = None) -> Path:
    """Write the report on the cells that are finished: a page and its figures.

    Parameters
    ----------
    out : Path
        The folder of the run, with ``cells.jsonl`` and, where they were run, the files of `benchmarks.extras`. The
        page and the figures go there too. What one has to say about the run is put into ``notes.md`` there, which
        becomes part of the page.
    seeds : int or None, default=None
        How many seeds a complete run has; None for as many as the scale says. Seeds beyond it are shown as well.

    Returns
    -------
    page : Path
        ``README.md`` in that folder.

    Raises
    ------
    FileNotFoundError
        If nothing was ever run in that folder.
    FileExistsError
        If the page is not one that this function wrote.
    DamagedFileError
        If the records or the notes cannot be read.
    """
    out = Path(out)
    if not os.path.lexists(out / RECORDS):
        raise FileNotFoundError(
            f"there is no {out / RECORDS}, so there is nothing to report. `python -m benchmarks run all "
            f"--out {out}` makes it; if it is elsewhere, name its folder."
        )
    check_page(out)
    records = read_records(out)
    sections = [INTRODUCTION, *_notes(out)]
    for name in SCALES:
        sections += _scale_section(Results(load_scale(name), records, seeds=seeds), out)
    sections += [*_section_of_no_scale(out), *_cost_section(records)]
    page = out / PAGE
    write_whole(page, "\n".join(sections).encode())
    return page


def check_page(out: Path) -> None:
    """Raise an error if no report can be written there: a run would end with it.

    Raises
    ------
    FileExistsError
        If it would take the place of a page that is not one.
    DamagedFileError
        If there are notes that cannot be read.
    """
    page = Path(out) / PAGE
    if page.exists() and not (page.is_file() and page.read_text(encoding="utf-8", errors="replace").startswith(TITLE)):
        raise FileExistsError(f"{page} is not a report and would be overwritten. Move it, or use another folder.")
    _notes(Path(out))


def _notes(out: Path) -> list[str]:
    """Return the paragraphs that were written by hand; none if there is no such file."""
    file = out / NOTES
    if not file.exists():
        return []
    try:
        if file.is_file():  # to read from a pipe is to wait
            return [file.read_text(encoding="utf-8")]
    except UnicodeDecodeError as error:
        raise DamagedFileError(f"{file} is not in UTF-8: {error}. Save it as UTF-8, or move it away.") from error
    raise DamagedFileError(f"{file} is not a file. Move it away, or put a text in UTF-8 there.")


def _scale_section(results: Results, out: Path) -> list[str]:
    """Return the paragraphs on one scale; none if there is nothing of it."""
    experiments = [experiment for experiment in EXPERIMENTS.values() if experiment.has_scale]
    begun = [experiment for experiment in experiments if _is_begun(experiment, results, out)]
    if not begun and not results.n_outdated:
        return []
    absent = [experiment for experiment in experiments if experiment not in begun]
    paragraphs = [f"## Scale: {results.scale.name}\n"]
    if absent:
        paragraphs.append(_not_run(absent, _command(absent, out, scale=results.scale.name, seeds=results.seeds)))
    if results.n_outdated:
        outdated = _count(results.n_outdated, "record")
        paragraphs.append(f"Left out: {outdated} of trainings with other settings than the scale has now.\n")
    for experiment in begun:
        paragraphs += _experiment_section(experiment, results, out)
    return [*paragraphs, *_circumstances(results)]


def _is_begun(experiment: Experiment, results: Results, out: Path) -> bool:
    if experiment.has_cells:
        return results.progress(experiment)[0] > 0
    return extras.has_current_file(experiment, results.scale, out)


def _experiment_section(experiment: Experiment, results: Results, out: Path) -> list[str]:
    """Return the paragraphs on one table or figure."""
    paragraphs = [f"### {_heading(experiment)}: {experiment.title}\n"]
    done, total = results.progress(experiment)
    if done < total:
        command = _command([experiment], out, scale=results.scale.name, seeds=results.seeds)
        paragraphs.append(f"{total - done} of {_count(total, 'cell')} missing. To run: `{command}`\n")
    for row in results.rows_of_mixed_noise(experiment):
        title = f"{data_title(row.data)}, {noise_title(row.noise)}"
        paragraphs.append(f"{title}: {MIXED}\n")
    if not experiment.is_table:
        name = f"{experiment.name}-{results.scale.name}.png"
        if experiment.has_cells:
            curves_figure(experiment, results, out / name)
        else:
            DRAWN[experiment.shows](extras.extra_file(experiment, results.scale, out), out / name)
        caption = CAPTIONS.get(experiment.name)
        return [*paragraphs, f"![{experiment.title}]({name})\n", *([f"{caption}\n"] if caption else [])]
    paragraphs.append(accuracy_table(experiment, results) + "\n")
    if others := paper_rows(experiment, results):
        summary = "<details><summary>The paper's rows on other data or noise than was run here</summary>"
        paragraphs.append(f"{summary}\n\n{others}\n\n</details>\n")
    return paragraphs


def _section_of_no_scale(out: Path) -> list[str]:
    """Return the paragraphs on what is the same at every scale."""
    paragraphs = []
    for experiment in EXPERIMENTS.values():
        if not experiment.has_scale:
            paragraphs.append(f"## {_heading(experiment)}: {experiment.title}\n")
            try:
                counts = extras.read_counts(extras.extra_file(experiment, None, out))
            except (FileNotFoundError, DamagedFileError):
                paragraphs.append(_not_run([experiment], _command([experiment], out)))
            else:
                paragraphs += [COUNTED, complexity_table(counts) + "\n"]
    return paragraphs


def _cost_section(records: list[dict]) -> list[str]:
    """Return the paragraphs on what the paper's own setting takes."""
    scale = load_scale("paper")
    tables = [e for e in EXPERIMENTS.values() if e.name in PAPER and e.has_cells]
    parts = {_heading(table): [table] for table in tables} | {"All, each training once": tables}
    cells = {name: cells_of(experiments, scale) for name, experiments in parts.items()}
    lines = [[name, str(len(chosen)), f"{hours(chosen, scale):,.0f}"] for name, chosen in cells.items()]
    n_run = sum(record["scale"] == scale.name for record in records)
    run = f"{n_run} of its trainings were run here." if n_run else "It was not run here."
    return [
        "## What the paper's scale costs\n",
        f"{COST} {run}\n",
        markdown_table(["", "trainings", "GPU hours"], lines) + "\n",
    ]


def _circumstances(results: Results) -> list[str]:
    """Return the paragraphs on settings, versions and time."""
    records = list(results.records.values())
    if not records:
        return []
    by_data: dict[str, list[dict]] = {}
    for record in records:
        network = f" ({record['network']})" if record["network"] else ""
        by_data.setdefault(data_title(record["data"]) + network, []).append(record)
    datasets = sorted(by_data)
    names = sorted({name for record in records for name in record["settings"]})
    lines = [[name, *(_values(r["settings"].get(name) for r in by_data[data]) for data in datasets)] for name in names]
    lines.append(["M", *(_values(r["M"] for r in by_data[data]) for data in datasets)])
    lines.append(["seeds", *(str(len({r["seed"] for r in by_data[data]})) for data in datasets)])
    lines.append(["device", *(_values(r["device"] for r in by_data[data]) for data in datasets)])
    packages = sorted({package for record in records for package in record["versions"]})
    versions = [
        f"{package} {_values(r['versions'][package] for r in records if package in r['versions'])}"
        for package in packages
    ]
    seconds = math.fsum(record["seconds"] for record in records)
    return [
        "### Settings, versions and time\n",
        markdown_table(["setting", *datasets], lines) + "\n",
        f"Versions: {', '.join(versions)}.\n",
        f"Time spent: {seconds / 3600:.2f} hours of training in {_count(len(records), 'cell')}, each counted from its "
        "last interruption, without the networks that semantic noise rests on.\n",
    ]


def _values(values: Iterable) -> str:
    """Return the different values, of which there is mostly one."""
    return " or ".join(sorted({_value(value) for value in values}, key=_in_order))


def _in_order(text: str) -> tuple:
    """Return a key that puts numbers first, by size."""
    return (0, float(text), "") if text.replace(".", "", 1).isdigit() else (1, 0.0, text)


def _value(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={_value(part)}" for name, part in sorted(value.items())) or NOTHING
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    if value is None:
        return NOTHING
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _heading(experiment: Experiment) -> str:
    """Return "Table 2" for "table2"."""
    kind = "table" if experiment.is_table else "figure"
    return f"{kind.capitalize()} {experiment.name.removeprefix(kind)}"


def _not_run(experiments: list[Experiment], command: str) -> str:
    return f"Not run: {', '.join(map(_heading, experiments))}. To run: `{command}`\n"


def _command(experiments: list[Experiment], out: Path, *, scale: str | None = None, seeds: int | None = None) -> str:
    """Return the command that runs what is missing."""
    names = " ".join(experiment.name for experiment in experiments)
    needs_data = scale is not None and not load_scale(scale).has_stand_in
    options = {"scale": scale, "seeds": seeds, "data-home": "DIR" if needs_data else None, "out": _shown(out)}
    given = " ".join(f"--{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None)
    return f"python -m benchmarks run {names} {given}"


def _shown(out: Path) -> str:
    """Return the folder as one would write it from here."""
    inside = out.resolve().is_relative_to(Path.cwd())
    return (out.resolve().relative_to(Path.cwd()) if inside else out).as_posix()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
