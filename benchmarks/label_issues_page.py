"""The page of `benchmarks.label_issues`: how well wrong labels are found, by us and by others."""

import numpy as np

from benchmarks.tables import NOTHING, markdown_table

__all__ = ["CLEANLAB", "CONTENDERS", "LAST_LOSS", "LOGISTIC", "OURS", "page_of"]

OURS, CLEANLAB = "ours", "CleanLearning"
LOGISTIC, LAST_LOSS = "CleanLearning, logistic", "last loss"
CONTENDERS = [OURS, CLEANLAB, LOGISTIC, LAST_LOSS]

PAGE = """# Which labels are wrong

{n_runs} runs, seeds {seeds}. Made by `python -m benchmarks.label_issues --data-home DIR`. All samples of a data set are
given labels of which a known share is wrong; nothing else is known. "ours" is `LECClassifier()` as it comes and
`find_label_issues()`. "CleanLearning" is cleanlab's around ordinary training of the same network, and "CleanLearning,
logistic" its own around a logistic regression; "last loss" is the loss after ordinary training, where labels that
differ from the prediction are flagged. Networks are trained for 200 epochs (MNIST, 10,000 images: 30, for all alike).
What the quality of a label is made of, and when it is flagged, was chosen with the seeds 100 and 101 on the same data
sets (MNIST: 100).

## Goals

{goals}

A cell is a data set with a noise, and its figures are means over the seeds; those of a data set are means over its
cells.

## Ranking: average precision of `label_quality`

{ranking}

## Decision: F1 of `is_label_issue`

{decision}

## Precision and recall of ours, and the time

Time: seconds of the processor, and the ratio to CleanLearning around the same network.

{details}
"""


def page_of(records: list[dict]) -> str:
    """Return the page.

    Parameters
    ----------
    records : list of dict
        As `benchmarks.label_issues.measure` returns them.

    Returns
    -------
    page : str
    """
    names = list(dict.fromkeys((r["data"], r["noise"]) for r in records))
    problems = [_Problem([r for r in records if (r["data"], r["noise"]) == name]) for name in names]
    header = ["data", "noise", *CONTENDERS]
    return PAGE.format(
        n_runs=len(records),
        seeds=", ".join(map(str, sorted({r["seed"] for r in records}))),
        goals=markdown_table(["", "goal", "reached", "met"], list(_goals(problems))),
        ranking=markdown_table(header, [p.line("average_precision") for p in problems], n_names=2),
        decision=markdown_table(header, [p.line("f1") for p in problems], n_names=2),
        details=markdown_table(
            ["data", "noise", "precision", "recall", "wrong", "flagged", "seconds", "ratio"],
            [p.details() for p in problems],
            n_names=2,
        ),
    )


class _Problem:
    """All seeds and contenders of one data set with one noise."""

    def __init__(self, records):
        self.data, self.noise = records[0]["data"], records[0]["noise"]
        self._records = {name: [r for r in records if r["contender"] == name] for name in CONTENDERS}

    def mean(self, contender: str, part: str) -> float:
        """Return the mean over the seeds of a part of the records; NaN if there are none."""
        values = [_f1(r) if part == "f1" else r[part] for r in self._records[contender]]
        return float(np.mean(values)) if values else np.nan

    def is_ahead(self, other: str, part: str) -> bool:
        """Return whether ours is better than another contender."""
        return self.mean(OURS, part) > self.mean(other, part)

    @property
    def time_ratio(self) -> float:
        """The time of ours to that of cleanlab around the same network."""
        return self.mean(OURS, "seconds") / self.mean(CLEANLAB, "seconds")

    def line(self, part: str) -> list[str]:
        """Return a line with all contenders, the best in bold."""
        values = [self.mean(name, part) for name in CONTENDERS]
        shown = [NOTHING if np.isnan(value) else f"{value:.3f}" for value in values]
        best = f"{np.nanmax(values):.3f}"
        return [self.data, self.noise, *(f"**{text}**" if text == best else text for text in shown)]

    def details(self) -> list[str]:
        """Return a line of figures of ours."""
        parts = [f"{self.mean(OURS, part):.3f}" for part in ("precision", "recall")]
        parts += [f"{self.mean(OURS, part):.0f}" for part in ("n_wrong", "n_flagged", "seconds")]
        return [self.data, self.noise, *parts, f"{self.time_ratio:.2f}"]


def _f1(record: dict) -> float:
    total = record["precision"] + record["recall"]
    return 2 * record["precision"] * record["recall"] / total if total else 0.0


def _goals(problems: list[_Problem]):
    """Yield the lines of the table of goals."""
    data = list(dict.fromkeys(problem.data for problem in problems))
    for other, needed in ((CLEANLAB, len(data)), (LOGISTIC, len(data) - 1), (LAST_LOSS, len(data))):
        behind = [name for name in data if not _mean_ahead([p for p in problems if p.data == name], other)]
        reached = f"{len(data) - len(behind)} of {len(data)}" + (f" (not {', '.join(behind)})" if behind else "")
        title = f"average precision ahead of {other}, data sets"
        yield [title, f"{needed} of {len(data)}", reached, _met(len(data) - len(behind) >= needed)]
    for other in (CLEANLAB, LOGISTIC, LAST_LOSS):
        share = np.mean([problem.is_ahead(other, "f1") for problem in problems])
        yield [f"F1 ahead of {other}, cells", "≥ 80 %", f"{share:.0%}", _met(share >= 0.8)]
    ratios = [problem.time_ratio for problem in problems]
    title = f"time to that of {CLEANLAB}, mean over the cells (largest)"
    yield [title, "≤ 0.33", f"{np.mean(ratios):.2f} ({max(ratios):.2f})", _met(np.mean(ratios) <= 1 / 3)]


def _mean_ahead(problems: list[_Problem], other: str) -> bool:
    """Return whether ours ranks better on one data set, over its noises."""
    ours, others = (np.mean([p.mean(name, "average_precision") for p in problems]) for name in (OURS, other))
    return ours > others


def _met(is_met: bool) -> str:
    return "yes" if is_met else "no"
