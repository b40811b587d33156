"""The page on the share of wrong labels: goals, tables and limits, made of the records of `benchmarks.noise_ratio`."""

from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.noise_candidates import CLEANLAB_JOINT
from benchmarks.noise_problems import CLEAN, LIMITS, MAIN, SPECIAL, Problem
from benchmarks.noise_records import ESTIMATORS, OURS, key_of
from benchmarks.tables import NOTHING, markdown_table

__all__ = ["page_of"]

DATA_SETS = list(dict.fromkeys(problem.data for problem in MAIN))
CLEAN_CELLS = [*(problem for problem in MAIN if problem.noise == "clean"), *CLEAN]

LARGEST_MEAN, LARGEST_CELL, LARGEST_SPECIAL = 0.02, 0.06, 0.03
LARGEST_CLEAN, LARGEST_CLEAN_FASHION = 0.02, 0.03
SMALLEST_RATIO = 1.5
COVERAGE = (0.85, 0.97)

INTRODUCTION = """# How many labels are wrong

How far the estimated share of wrong labels is from the true one. Made by `python -m benchmarks.noise_ratio --data-home
DIR`; {n_runs} runs, seeds {seeds}. Errors are absolute: 0.01 is one label in a hundred. A cell is a data set with one
noise, its error the mean over the seeds of the absolute error.

All estimators get the same predictions for held-out samples: those of
`LECClassifier(random_state=seed, device="cpu").out_of_fold_predictions(X, y)`, an MLP with two hidden layers of 256.
Data: digits (1,797 samples), and 10,000 images of MNIST and of Fashion-MNIST, drawn by the seed. Noise: symmetric
("sym") and asymmetric ("asym", each class to the next), in % of the labels.

- **plateau (ours)**: `sklearn_lec.estimation.NoiseEstimate.from_predictions`, which `estimate_noise` uses.
- **cleanlab, joint**: what lies off the diagonal of `cleanlab.count.estimate_joint`; **cleanlab, issues**:
  `num_label_issues`, per sample.
- **disagreement**: labels that are not what was predicted.
- **HOC** (Zhu et al., 2021), written anew: the labels of a sample and its two nearest neighbors in the last hidden
  layer of an MLP that was trained on all samples, for as many epochs as those of the folds.
- **Gaussian mixture**: two components on the losses of the predictions, with the settings of DivideMix.

The settings of our estimator were chosen on digits, MNIST and Fashion-MNIST with seeds 100 to 102. Seeds 0 to 4 took no
part in that: noise, networks and drawn images are others, but the data sets are the same. Breast cancer, wine and iris
(seeds 100 to 102), and digits with unbalanced classes or with noise in some classes, were looked at as well, so these
are no untouched data either. cleanlab has its defaults.
"""

SPECIAL_TEXT = """## Unbalanced classes, and noise in some classes only

Mean absolute error. Long tail: class 0 keeps all samples, class 9 a tenth, 735 in all. "sym-40 within 0-4": 40 % of the
labels of these five classes are another one of the five. "asym-40 of 0-4": these go to the next class. "8 or not": two
classes; 5 % of 574 samples are the digit 8, the others are 3, 5 and 9.
"""

INTERVALS_TEXT = """## Interval, trust and cost of our estimator

Share of runs whose 90 % interval has the truth in it, mean of half its width, share of runs with `is_trustworthy`, and
what the folds cost, in epochs of the whole training set as a share of the 200 epochs of a training.
"""

LIMITS_TEXT = """## Where it fails

Not in the means above. Few samples: 569, 178 and 150 of them, with a fifth of the labels wrong. A weak model: logistic
regression in five folds, on pixels; digits for comparison (HOC has the MLP's hidden layer here too). People: CIFAR-10N,
5,000 images, of which the MLP sees k-means features (Coates, Lee and Ng, 2011), with which it is weak, too; clean and
sym-40 for comparison. People mislabel hard images, which the estimator does not assume. The model's error is the share
of its predictions that are not the right label.
"""


class Runs:
    """Records of runs, and what is computed from them."""

    def __init__(self, records: Iterable[dict]):
        self.records = list(records)

    def of(self, *problems: Problem) -> "Runs":
        """Return the runs of some problems."""
        return Runs(record for record in self.records if key_of(record)[0] in problems)

    def __bool__(self):
        return bool(self.records)

    def mean(self, part: str) -> float:
        """Return the mean of a part of the records."""
        return float(np.mean([record[part] for record in self.records]))

    def estimate(self, name: str) -> float:
        """Return the mean estimate."""
        return float(np.mean([record["estimates"][name] for record in self.records]))

    def errors(self, name: str) -> np.ndarray:
        """Return how far the estimate of each run is from the truth, with its sign."""
        return np.array([record["estimates"][name] - record["truth"] for record in self.records])

    def mean_error(self, name: str) -> float:
        """Return the mean absolute error."""
        return float(np.abs(self.errors(name)).mean())

    def n_covered(self) -> int:
        """Return the number of runs whose interval has the truth in it."""
        return sum(r["interval"][0] <= r["truth"] <= r["interval"][1] for r in self.records)

    def coverage(self) -> float:
        """Return the share of such runs."""
        return self.n_covered() / len(self.records)

    def cells(self) -> dict[Problem, "Runs"]:
        """Return the runs of each problem."""
        return {problem: self.of(problem) for problem in dict.fromkeys(key_of(r)[0] for r in self.records)}

    def worst_cell(self, name: str) -> tuple[Problem, float]:
        """Return the problem with the largest mean absolute error, and that error."""
        errors = {problem: runs.mean_error(name) for problem, runs in self.cells().items()}
        worst = max(errors, key=errors.get)
        return worst, errors[worst]


def page_of(records: Sequence[dict]) -> str:
    """Return the page.

    Parameters
    ----------
    records : sequence of dict
        As `benchmarks.noise_ratio.measure` returns them; tables have an entry for what is there.

    Returns
    -------
    page : str
    """
    runs = Runs(records)
    by_data = {data: runs.of(*(problem for problem in MAIN if problem.data == data)) for data in DATA_SETS}
    seeds = ", ".join(map(str, sorted({record["seed"] for record in records})))
    sections = [
        INTRODUCTION.format(n_runs=len(records), seeds=seeds or NOTHING),
        _goals(runs, by_data),
        _errors(by_data),
        _cells(runs),
        _clean(runs),
        _special(runs),
        _intervals(runs, by_data),
        _limits(runs),
    ]
    return "\n".join(sections)


# --- goals -----------------------------------------------------------------------------------------------------------


def _goals(runs: Runs, by_data: dict[str, Runs]) -> str:
    """Return what was aimed at, and what came out."""
    lines = []
    for data, part in by_data.items():
        if part:
            error = part.mean_error(OURS)
            lines.append([f"{data}: mean error", f"≤ {LARGEST_MEAN}", f"{error:.3f}", error <= LARGEST_MEAN])
            worst, error = part.worst_cell(OURS)
            found = f"{error:.3f} ({worst.noise})"
            lines.append([f"{data}: worst cell", f"≤ {LARGEST_CELL}", found, error <= LARGEST_CELL])
            ratio = _ratio(part)
            what = f"{data}: error of cleanlab's joint to ours"
            lines.append([what, f"≥ {SMALLEST_RATIO}", f"{ratio:.1f}", ratio >= SMALLEST_RATIO])
    for problem, part in runs.of(*CLEAN_CELLS).cells().items():
        largest = LARGEST_CLEAN_FASHION if problem.data == "Fashion-MNIST" else LARGEST_CLEAN
        error = part.mean_error(OURS)
        lines.append([f"{problem.data}: clean labels", f"≤ {largest}", f"{error:.3f}", error <= largest])
    for problem, part in runs.of(*SPECIAL).cells().items():
        error = part.mean_error(OURS)
        lines.append([problem.title, f"≤ {LARGEST_SPECIAL}", f"{error:.3f}", error <= LARGEST_SPECIAL])
    if counted := runs.of(*MAIN, *CLEAN, *SPECIAL):
        low, high = COVERAGE
        covered = counted.coverage()
        goal = f"{low:.0%} to {high:.0%}"
        lines.append(["coverage of the 90 % interval, all of these", goal, f"{covered:.1%}", low <= covered <= high])
    shown = [[what, goal, found, "yes" if met else "**no**"] for what, goal, found, met in lines]
    return "## Goals\n\n" + markdown_table(["", "goal", "found", "met"], shown) + "\n"


def _ratio(runs: Runs) -> float:
    """Return the error of cleanlab's joint divided by ours."""
    return runs.mean_error(CLEANLAB_JOINT) / runs.mean_error(OURS)


# --- tables ----------------------------------------------------------------------------------------------------------


def _errors(by_data: dict[str, Runs]) -> str:
    """Return the errors of all estimators on the three data sets."""
    lines = []
    for name in ESTIMATORS:
        entries = []
        for runs in by_data.values():
            if runs:
                worst, error = runs.worst_cell(name)
                worst_run = np.abs(runs.errors(name)).max()
                entries.append(f"{runs.mean_error(name):.3f} / {error:.3f} ({worst.noise}) / {worst_run:.3f}")
            else:
                entries.append(NOTHING)
        lines.append([name, *entries])
    ratios = [f"{_ratio(runs):.1f}" if runs else NOTHING for runs in by_data.values()]
    lines.append(["*cleanlab's joint to ours, ratio of the means*", *ratios])
    return (
        "## Error\n\nMean error over all noises and seeds / worst cell / worst single run.\n\n"
        + markdown_table(["", *by_data], lines)
        + "\n"
    )


def _cells(runs: Runs) -> str:
    """Return the errors of our estimator, noise by noise."""
    lines = []
    for noise in dict.fromkeys(problem.noise for problem in MAIN):
        cells = [runs.of(Problem(data, noise)) for data in DATA_SETS]
        shown = [
            f"{cell.mean_error(OURS):.3f} ({cell.errors(OURS).mean():+.3f})" if cell else NOTHING for cell in cells
        ]
        lines.append([noise, *shown])
    return (
        "## Our estimator, cell by cell\n\nMean absolute error, and in brackets the mean error with its sign.\n\n"
        + markdown_table(["noise", *DATA_SETS], lines)
        + "\n"
    )


def _with_sign(cell: Runs) -> str:
    return f"{cell.mean_error(OURS):.3f} ({cell.errors(OURS).mean():+.3f})"


def _clean(runs: Runs) -> str:
    """Return what all estimators say where no label is wrong."""
    lines = [
        [problem.data, *(f"{cell.estimate(name):.3f}" for name in ESTIMATORS)]
        for problem, cell in runs.of(*CLEAN_CELLS).cells().items()
    ]
    return (
        "## Clean labels\n\nThe mean estimate; 0 would be right.\n\n" + markdown_table(["", *ESTIMATORS], lines) + "\n"
    )


def _special(runs: Runs) -> str:
    """Return the errors where classes are unbalanced, or noise is in some of them."""
    part = runs.of(*SPECIAL)
    lines = [
        [problem.title, f"{cell.mean('truth'):.2f}", *(f"{cell.mean_error(name):.3f}" for name in ESTIMATORS)]
        for problem, cell in part.cells().items()
    ]
    if part:
        lines.append(["*mean*", "", *(f"{part.mean_error(name):.3f}" for name in ESTIMATORS)])
    table = markdown_table(["", "truth", *ESTIMATORS], lines, n_names=2)
    return f"{SPECIAL_TEXT}\n{table}\n"


def _intervals(runs: Runs, by_data: dict[str, Runs]) -> str:
    """Return how often the interval covers the truth, and what the folds cost."""
    parts = {
        **by_data,
        "breast cancer, wine, iris (clean)": runs.of(*CLEAN),
        "unbalanced, partial": runs.of(*SPECIAL),
        "all of these": runs.of(*MAIN, *CLEAN, *SPECIAL),
    }
    lines = [
        [
            name,
            len(part.records),
            f"{part.coverage():.1%}",
            f"{np.mean([r['interval'][1] - r['interval'][0] for r in part.records]) / 2:.3f}",
            f"{part.mean('is_trustworthy'):.0%}",
            f"{part.mean('cost'):.0%}",
        ]
        for name, part in parts.items()
        if part
    ]
    table = markdown_table(["", "runs", "covered", "± (mean)", "trustworthy", "cost"], lines)
    missed = [
        f"{problem.title} ({len(cell.records) - cell.n_covered()} of {len(cell.records)})"
        for problem, cell in parts["all of these"].cells().items()
        if cell.n_covered() < len(cell.records)
    ]
    return f"{INTERVALS_TEXT}\n{table}\n\nRuns that are not covered: {'; '.join(missed) or NOTHING}.\n"


def _limits(runs: Runs) -> str:
    """Return the problems that the estimator is not made for."""
    lines = [
        [
            problem.title,
            f"{cell.mean('truth'):.2f}",
            f"{cell.mean('model_error'):.3f}",
            f"{cell.estimate(OURS):.3f}",
            f"{cell.coverage():.0%}",
            f"{cell.mean('is_trustworthy'):.0%}",
            *(f"{cell.mean_error(name):.3f}" for name in ESTIMATORS),
        ]
        for problem, cell in runs.of(*LIMITS).cells().items()
    ]
    head = ["", "truth", "model's error", "our estimate", "covered", "trustworthy"]
    table = markdown_table([*head, *(f"error: {name}" for name in ESTIMATORS)], lines)
    return f"{LIMITS_TEXT}\n{table}\n"
