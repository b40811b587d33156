"""Which method for which noise: final accuracy on clean labels, at equal numbers of networks.

Run ``python -m benchmarks.choice --data-home DIR`` from the root of the project; ``--only MLP`` leaves out the
convolutional network, which takes hours. "relabel" was tuned on some of the problems; the others were kept back until
its parameters were fixed. Every finished training is one line of the file given by ``--out``; a second run does only
what is missing. The page is written beside it.
"""

import argparse
import time
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from sklearn.metrics import balanced_accuracy_score

from benchmarks.choice_page import CONTENDERS, OF_CONV9, Contender, page_of
from benchmarks.choice_problems import AUTO, CONV9, MLP, PROBLEMS, Problem, load
from benchmarks.methods import parameters_of
from benchmarks.pages import completed_page
from sklearn_lec import LECClassifier
from sklearn_lec.metrics import label_precision_score, label_recall_score
from sklearn_lec.modules import Conv9

OUT = Path("benchmarks/results/choice.jsonl")
EPOCHS = {"digits": 100, "MNIST": 30, "Fashion-MNIST": 30, "CIFAR-10 features": 60, "CIFAR-10": 30}
"""Digits and tables have those of digits."""
WARMUPS = {MLP: 10, CONV9: 8}
LEARNS_BY_ITSELF = {MLP: {}, CONV9: {"module": Conv9, "module__width": 1 / 8, "lr": 0.002}}


class Cell(NamedTuple):
    """One training."""

    problem: Problem
    contender: Contender
    seed: int


def all_cells(networks: Sequence[str] = (MLP, CONV9)) -> list[Cell]:
    """Return all trainings that the page is made of, the first seed of everything before the second."""
    cells = [
        Cell(problem, contender, seed)
        for problem in PROBLEMS
        if problem.network in networks
        for seed in problem.seeds
        for contender in CONTENDERS
        if problem.network == MLP or contender in OF_CONV9
    ]
    return sorted(cells, key=lambda cell: cell.seed % 100)


def classifier(problem: Problem, contender: Contender, *, true_eps: float, seed: int) -> LECClassifier:
    """Return what is trained."""
    own = parameters_of(contender.method)
    told = {"eps": AUTO, "T_w": AUTO}
    if problem.told != AUTO:
        factor = float(problem.told.removesuffix("eps").strip() or 1)
        told = {"eps": round(factor * true_eps, 6), "T_w": WARMUPS[problem.network]}
    return LECClassifier(
        **LEARNS_BY_ITSELF[problem.network],
        method=contender.method,
        n_networks=None if contender.method == "co-teaching" else contender.n_networks,
        **{name: value for name, value in told.items() if name in own},
        max_epochs=EPOCHS.get(problem.data, EPOCHS["digits"]),
        random_state=seed,
        device="cpu",
        verbose=0,
    )


def measure(cell: Cell, *, data_home=None) -> dict:
    """Train and return the record."""
    torch.set_num_threads(1)
    problem, contender, seed = cell
    data = load(problem, seed=seed, data_home=data_home)
    is_wrong = data.given != data.right
    net = classifier(problem, contender, true_eps=float(is_wrong.mean()), seed=seed)
    if contender.knows_wrong_labels:
        data, is_wrong = data._replace(X=data.X[~is_wrong], given=data.given[~is_wrong]), is_wrong[~is_wrong]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net.fit(data.X, data.given)
    return {
        **problem._asdict(),
        **contender._asdict(),
        "seed": seed,
        "score": round(balanced_accuracy_score(data.y_test, net.predict(data.X_test)), 5),
        "precision": round(float(label_precision_score(net.clean_mask_, is_wrong)), 5),
        "recall": round(float(label_recall_score(net.clean_mask_, is_wrong)), 5),
        "seconds": round(time.perf_counter() - start, 2),
    }


def cell_of(record: dict) -> Cell:
    """Return the training that a record is of."""
    problem = Problem(*(record[field] for field in Problem._fields))
    return Cell(problem, Contender(*(record[field] for field in Contender._fields)), record["seed"])


def run(out: Path, cells: Sequence[Cell], *, data_home=None, jobs: int = 1) -> str:
    """Do what is missing in a file of records, write the page of all that is there beside it, and return it."""
    what, parts = (
        partial(measure, data_home=data_home),
        (*Problem._fields, *Contender._fields, "seed", "score", "seconds"),
    )
    return completed_page(
        out, cells, cell_of=cell_of, measure=what, parts=parts, page_of=page_of, jobs=jobs, is_of_all=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side, one core each; default: 1")
    parser.add_argument("--data-home", help="where the images are; default: scikit-learn's folder")
    parser.add_argument("--only", nargs="+", choices=[MLP, CONV9], default=[MLP, CONV9], help="networks; default: both")
    parser.add_argument("--out", type=Path, default=OUT, help=f"the file of finished trainings; default: {OUT}")
    options = parser.parse_args()
    print(run(options.out, all_cells(options.only), data_home=options.data_home, jobs=options.jobs))


if __name__ == "__main__":
    main()
