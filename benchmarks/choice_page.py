"""The page of `benchmarks.choice`: accuracies by problem and contender, and what was asked of "relabel"."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.choice_problems import AUTO, CONV9, KEPT_BACK, MLP, PROBLEMS, TUNED, Problem
from benchmarks.methods import method_title
from benchmarks.tables import NOTHING, markdown_table

__all__ = ["CONTENDERS", "OF_CONV9", "Contender", "page_of"]


class Contender(NamedTuple):
    """What is trained."""

    method: str
    n_networks: int = 1
    knows_wrong_labels: bool = False
    """Whether samples with wrong labels are taken away beforehand: a limit, and no method."""

    @property
    def title(self) -> str:
        """The head of its column."""
        if self.knows_wrong_labels:
            return "right labels only"
        return method_title(self.method) + (f" x{self.n_networks}" if self.n_networks > 1 else "")


STANDARD, ELR, LTEC, FULL, OURS = map(Contender, ("standard", "elr", "ltec", "ltec-full", "relabel"))
CO_TEACHING, LTEC_2, OURS_2 = (Contender(method, 2) for method in ("co-teaching", "ltec", "relabel"))
RIGHT_ONLY = Contender("standard", knows_wrong_labels=True)
CONTENDERS = [STANDARD, ELR, LTEC, FULL, OURS, CO_TEACHING, LTEC_2, OURS_2, RIGHT_ONLY]
OF_CONV9 = [LTEC, FULL, OURS, CO_TEACHING, OURS_2]
"""The others are left out where a training takes ten minutes."""

PAGE = """# Which method for which noise

Balanced accuracy on clean labels that were held out, in %, at the end of the training; the mean over the seeds and, in
brackets, its standard error. {n_runs} trainings, made by `python -m benchmarks.choice --data-home DIR`. "x2" trains two
networks and averages their predictions. Best of those with one network, and of those with two, in bold. "Right labels
only" is ordinary training without the samples whose labels are wrong: a limit, and no method.

Methods are told the true share of wrong labels and `T_w`, where nothing else is said; "auto" leaves both to the
training. Digits and breast cancer: 100 epochs; MNIST and Fashion-MNIST: 10,000 images, 30 epochs; CIFAR-10 features:
400 features (Coates, Lee and Ng, 2011) of 5,000 images, 60 epochs. All with the default MLP and `T_w` = 10. Conv9 with
an eighth of its channels: 10,000 images of CIFAR-10, 30 epochs, `T_w` = 8, lr 0.002. "human" are the labels of
CIFAR-10N: 9 % ("aggregate"), 17 to 18 % ("random1", "random2") and 40 % ("worst") of them are wrong. `M` = 5. "Made
table": scikit-learn's `make_classification`, 2,000 samples of 5 classes, 30 features.

## Tuned on

The rule and the parameters of "relabel" were chosen on these problems, with other draws of the images.

{tuned}

## Kept back

No method of this page was tuned on these problems, with these seeds or others, and they were run once, with the rule
and the parameters of "relabel" fixed; but for one seed of Fashion-MNIST with sym-20, which had been run before the last
change of the rule, made on digits. The estimate of the share of wrong labels, which "auto" uses, was developed on
breast cancer and Fashion-MNIST, among others, with other seeds.

{kept_back}

## Convolutional network

{conv9}

## What the labels selected are worth

Precision and recall of `clean_mask_` in %: how many of the labels in it are right, and how many of the right labels are
in it.

{labels}

## Goals

Leads in points on each problem, in the order of the tables, and what else was asked of "relabel".

{goals}
"""


def page_of(records: Sequence[dict]) -> str:
    """Return the page of the records that `benchmarks.choice.measure` returns."""
    scores = _by_problem(records, "score")
    parts = {
        "tuned": [p for p in PROBLEMS if (p.group, p.network) == (TUNED, MLP)],
        "kept_back": [p for p in PROBLEMS if p.group == KEPT_BACK],
        "conv9": [p for p in PROBLEMS if p.network == CONV9],
    }
    tables = {
        name: _table(problems, OF_CONV9 if name == "conv9" else CONTENDERS, scores) for name, problems in parts.items()
    }
    precision, recall = (_by_problem(records, what) for what in ("precision", "recall"))
    return PAGE.format(
        n_runs=len(records),
        **tables,
        labels=markdown_table(
            ["data", "noise", *(contender.title for contender in (LTEC, FULL, OURS))],
            (
                [problem.data, _noise(problem), *(_pair(problem, c, precision, recall) for c in (LTEC, FULL, OURS))]
                for problem in PROBLEMS
            ),
            n_names=2,
        ),
        goals=markdown_table(
            ["", "goal", "found", "met"],
            [*(goal.line(scores) for goal in _goals()), *_other_goals(scores, _by_problem(records, "seconds"))],
        ),
    )


def _by_problem(records, what) -> dict[tuple[Problem, Contender], np.ndarray]:
    """Return all values of a measurement, in %, by problem and contender, in the order of the seeds."""
    found = {}
    for record in sorted(records, key=lambda record: record["seed"]):
        key = Problem(*(record[f] for f in Problem._fields)), Contender(*(record[f] for f in Contender._fields))
        found.setdefault(key, []).append(100 * record[what])
    return {key: np.array(values) for key, values in found.items()}


def _noise(problem: Problem) -> str:
    return problem.noise + ("" if problem.told == "eps" else f", told {problem.told}")


def _table(problems, contenders, scores) -> str:
    """Return the table of some problems, a column for each contender."""
    lines = []
    for problem in problems:
        means = {c: scores[problem, c].mean() for c in contenders if (problem, c) in scores}
        # What knows the wrong labels is no competitor.
        best = {n: max((m for c, m in means.items() if c[1:] == (n, False)), default=None) for n in (1, 2)}
        entries = [
            NOTHING if c not in means else _entry(scores[problem, c], None if c == RIGHT_ONLY else best[c.n_networks])
            for c in contenders
        ]
        lines.append([problem.data, _noise(problem), *entries])
    return markdown_table(["data", "noise", *(c.title for c in contenders)], lines, n_names=2)


def _entry(values, best) -> str:
    shown, error = f"{values.mean():.1f}", values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    shown = f"**{shown}**" if best is not None and shown == f"{best:.1f}" else shown
    return shown if np.isnan(error) else f"{shown} ({error:.1f})"


def _pair(problem, contender, precision, recall) -> str:
    key = problem, contender
    return NOTHING if key not in precision else f"{precision[key].mean():.1f} / {recall[key].mean():.1f}"


class _Goal(NamedTuple):
    """How far one contender has to be ahead of the best of some others, on each of some problems."""

    title: str
    problems: Sequence[Problem]
    ours: Contender
    others: Sequence[Contender]
    lead: float = 0.0

    def line(self, scores) -> list[str]:
        """Return the line of the table; open if a training is missing."""
        if not all((problem, c) in scores for problem in self.problems for c in (self.ours, *self.others)):
            return [self.title, f"{self.lead:+.1f}", "not run yet", NOTHING]
        leads = [
            scores[problem, self.ours].mean() - max(scores[problem, other].mean() for other in self.others)
            for problem in self.problems
        ]
        found = ", ".join(f"{lead:+.1f}" for lead in leads)
        return [self.title, f"{self.lead:+.1f}", found, "yes" if min(leads) >= self.lead else "**no**"]


PIXELS = [p for p in PROBLEMS if p.data in ("digits", "MNIST", "Fashion-MNIST") and p.told == "eps"]


def _goals() -> list[_Goal]:
    features, conv9 = (
        [p for p in PROBLEMS if p.noise in ("human-random1", "human-worst") and p.network == network]
        for network in (MLP, CONV9)
    )
    synthetic = [p for p in PROBLEMS if p.network == CONV9 and p not in conv9]
    rare = [p for p in PROBLEMS if p.told == AUTO and p.group == TUNED]
    return [
        _Goal(
            "digits, MNIST, Fashion-MNIST: Relabel to the better of LTEC and LTEC-full",
            PIXELS,
            OURS,
            [LTEC, FULL],
            -0.3,
        ),
        _Goal("labels of people, features: Relabel x2 to Co-teaching", features, OURS_2, [CO_TEACHING], 0.5),
        _Goal("labels of people, features: Relabel to LTEC", features, OURS, [LTEC], 2.0),
        _Goal("labels of people, features: Relabel x2 to LTEC x2", features, OURS_2, [LTEC_2], 2.0),
        _Goal("labels of people, Conv9: Relabel x2 to Co-teaching", conv9, OURS_2, [CO_TEACHING], 0.5),
        _Goal("labels of people, Conv9: Relabel to LTEC", conv9, OURS, [LTEC], 2.0),
        _Goal("sym-60 and asym-40, Conv9: Relabel x2 to Co-teaching", synthetic, OURS_2, [CO_TEACHING]),
        _Goal("sym-60 and asym-40, Conv9: Relabel to LTEC", synthetic, OURS, [LTEC]),
        _Goal("rare classes: Relabel to LTEC-full", rare, OURS, [FULL]),
        _Goal("human-worst, Conv9: LTEC-full to LTEC", [p for p in conv9 if "worst" in p.noise], FULL, [LTEC]),
    ]


def _other_goals(scores, seconds) -> list[list[str]]:
    """Return the lines of the table of goals that are not about a lead."""
    means = {problem: values.mean() for (problem, contender), values in scores.items() if contender == OURS}
    best = {
        p: max(scores[p, c].mean() for c in (LTEC, FULL))
        for p in PIXELS
        if {(p, LTEC), (p, FULL), (p, OURS)} <= scores.keys()
    }
    told = {p.told: means[p] for p in means if (p.data, p.noise) == ("digits", "sym-60")}
    long_tail = next((means[p] for p in means if (p.data, p.noise) == ("digits, long tail", "sym-40")), None)
    ratios = [
        np.median(seconds[problem, OURS] / seconds[problem, STANDARD])
        for problem in means
        if len(seconds.get((problem, STANDARD), ())) == len(seconds[problem, OURS])
    ]
    rows = []
    if best:
        n_ahead = sum(means[p] > best[p] for p in best)
        rows.append(
            ["of these, problems on which it is ahead", "half", f"{n_ahead} of {len(best)}", 2 * n_ahead >= len(best)]
        )
    if long_tail is not None:
        rows.append(["long-tailed digits, sym-40: Relabel", "91.0", f"{long_tail:.1f}", long_tail >= 91])
    if len(told) == 3:
        loss = told["eps"] - min(told["0.8 eps"], told["1.2 eps"])
        rows.append(["digits, sym-60: lost if told 0.8 or 1.2 of the share", "1.5", f"{loss:.1f}", loss <= 1.5])
    if ratios:
        cost = np.median(ratios)
        rows.append(["time to that of ordinary training, median", "1.5", f"{cost:.2f}", cost <= 1.5])
    return [[*row, "yes" if met else "**no**"] for *row, met in rows]
