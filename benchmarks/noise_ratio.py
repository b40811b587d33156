"""How well the share of wrong labels is estimated: the package's own estimator beside others.

Run ``python -m benchmarks.noise_ratio --data-home DIR`` from the root of the project. All estimators get the same
predictions for held-out samples. Every finished run is one line of the file given by ``--out``; a second run does only
what is missing. The page is written beside that file, as Markdown.
"""

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.files import write_whole
from benchmarks.lines import LinesFile, complete
from benchmarks.noise_candidates import OTHERS, Evidence
from benchmarks.noise_page import page_of
from benchmarks.noise_problems import MLP, PROBLEMS, Problem, load
from benchmarks.noise_records import BEGINNING, OURS, check_record, key_of
from sklearn_lec import LECClassifier
from sklearn_lec._training.folds import FoldPlan, plan_folds
from sklearn_lec.estimation import NoiseEstimate

OUT = Path("benchmarks/results/noise_ratio.jsonl")


def measure(cell: tuple[Problem, int], *, data_home=None) -> dict:
    """Return what all estimators say about a problem with a seed, as a record."""
    torch.set_num_threads(1)
    problem, seed = cell
    labels = load(problem, seed=seed, data_home=data_home)
    X, y = labels.X, labels.given
    net = LECClassifier(random_state=seed, device="cpu", verbose=0)
    plan = plan_folds(len(y), max_epochs=net.max_epochs, batch_size=net.batch_size)
    pred_probs = _mlp_predictions(net, X, y) if problem.model == MLP else _logistic_predictions(X, y, seed)
    evidence = Evidence(y, pred_probs, features=_hidden_layer(net, plan, X, y))
    ours = NoiseEstimate.from_predictions(y, pred_probs, classes=np.unique(y))
    return {
        "data": problem.data,
        "noise": problem.noise,
        "model": problem.model,
        "seed": seed,
        "n_samples": len(y),
        "truth": labels.share_wrong,
        "model_error": float((pred_probs.argmax(axis=1) != labels.right).mean()),
        "cost": (plan.n_folds - 1) * plan.n_epochs / net.max_epochs if problem.model == MLP else None,
        "interval": list(ours.interval),
        "is_trustworthy": ours.is_trustworthy,
        "estimates": {OURS: ours.eps} | {name: estimate(evidence) for name, estimate in OTHERS.items()},
    }


def _mlp_predictions(net: LECClassifier, X, y):
    return net.out_of_fold_predictions(X, y)[0]


def _logistic_predictions(X, y, seed):
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as most people would use it
        return cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")


def _hidden_layer(net: LECClassifier, plan: FoldPlan, X, y) -> np.ndarray:
    """Return the last hidden layer of a network that was trained on all samples, for as long as those of the folds."""
    training = {"max_epochs": plan.n_epochs, "batch_size": plan.batch_size, "callbacks__linear_decay": None}
    trained = LECClassifier(**net.get_params(deep=False) | {"method": "standard"} | training).fit(X, y)
    with torch.no_grad():
        return trained.module_.eval().body(torch.from_numpy(X)).numpy()


def run(out: Path, *, seeds: int, data_home=None, jobs: int = 1, problems: Sequence[Problem] = PROBLEMS) -> str:
    """Do what is missing in a file of records, and write the page beside it.

    Parameters
    ----------
    out : Path
        The file.
    seeds : int
        How many, from 0 on.
    data_home : str or None, default=None
    jobs : int, default=1
        Runs side by side, one core each.
    problems : sequence of Problem, default=PROBLEMS

    Returns
    -------
    page : str
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    file = LinesFile(out, beginning=BEGINNING, check=check_record)
    cells = [(problem, seed) for seed in range(seeds) for problem in problems]
    page = page_of(complete(file, cells, cell_of=key_of, measure=partial(measure, data_home=data_home), jobs=jobs))
    write_whole(out.with_suffix(".md"), page.encode())
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, one core each; default: 1")
    parser.add_argument("--data-home", help="where MNIST and Fashion-MNIST are; default: scikit-learn's folder")
    parser.add_argument("--out", type=Path, default=OUT, help=f"the file of finished runs; default: {OUT}")
    options = parser.parse_args()
    print(run(options.out, seeds=options.seeds, data_home=options.data_home, jobs=options.jobs))


if __name__ == "__main__":
    main()
