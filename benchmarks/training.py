"""The work of one cell: train, measure, and return the record."""

import importlib.metadata
import math
import platform
import shutil
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

import sklearn_lec
from benchmarks.callbacks import measurements
from benchmarks.cells import Cell
from benchmarks.classifiers import classifier, fit_whole
from benchmarks.data import clean_data, noisy_data
from benchmarks.files import digest
from benchmarks.methods import CLEANLAB
from sklearn_lec.metrics import label_precision_score, label_recall_score

__all__ = ["finished_share", "forget_checkpoints", "train"]

DIGITS = 5
"""To which the numbers of a record are rounded."""


def train(cell: Cell, settings: dict, data_home: str | None, out: Path, device: str = "cpu") -> dict:
    """Train a cell, or go on with it, and return its record.

    Parameters
    ----------
    cell : Cell
    settings : dict
        As `Scale.settings` returns it.
    data_home : str or None
        Where the data sets are; None for the default of `sklearn_lec.datasets`.
    out : Path
        The run folder, for checkpoints and semantic noise.
    device : str, default="cpu"

    Returns
    -------
    record : dict
        What there is to keep, ready for JSON. ``seconds`` counts from the last interruption.
    """
    with warnings.catch_warnings():
        # Some methods are meant to fail on some noises; the curves say so.
        warnings.filterwarnings("ignore", "no sample labelled|nothing was learned in epoch", UserWarning)
        warnings.filterwarnings("ignore", "When X and pred_probs are both provided", UserWarning)
        clean = clean_data(cell.data, settings, data_home)
        noisy = noisy_data(cell, settings, data_home, out=out, device=device)
        start = time.perf_counter()
        curves = (_train_cleanlab if cell.method == CLEANLAB else _train_method)(
            cell,
            settings,
            noisy,
            test=(clean.X_test, clean.y_test),
            device=device,
            checkpoints=_checkpoint_folder(out, cell, settings),
        )
        seconds = time.perf_counter() - start
    return {
        **cell.as_dict(),
        "settings": settings,
        "noise_fingerprint": noisy.fingerprint,
        **{name: _rounded(values) for name, values in curves.items()},
        "seconds": round(seconds, 2),
        "device": device,
        "versions": _versions(cell),
    }


def finished_share(out: Path, cell: Cell, settings: dict) -> float:
    """Return how much of an unfinished cell is done, by its checkpoints."""
    newest = {}
    for file in _checkpoint_folder(out, cell, settings).rglob(f"epoch-{'[0-9]' * 6}.ckpt"):
        newest[file.parent] = max(newest.get(file.parent, 0), int(file.stem.partition("-")[2]))
    # Forward trains a standard network first; cleanlab one per fold.
    n_trainings = {"forward": 2, CLEANLAB: 1 + settings.get("cleanlab_folds", 0)}.get(cell.method, 1)
    return sum(newest.values()) / (n_trainings * settings["epochs"])


def forget_checkpoints(out: Path, cell: Cell) -> None:
    """Remove what a cell has kept, with whatever settings."""
    shutil.rmtree(out / "checkpoints" / cell.name, ignore_errors=True)


def _checkpoint_folder(out, cell, settings):
    # Other settings have another folder: LECClassifier refuses to go on with them.
    return out / "checkpoints" / cell.name / digest(settings)


def _train_method(cell, settings, noisy, *, test, device, checkpoints):
    net = classifier(
        settings,
        method=cell.method,
        eps=round(cell.noise_ratio * cell.eps_factor, 10),
        M=math.inf if cell.M == "inf" else cell.M,
        **measurements(*test, y_true=noisy.y_clean),
        random_state=cell.seed,
        device=device,
        checkpoint_dir=checkpoints,
    )
    history = fit_whole(net, noisy.X, noisy.y_noisy).history
    small_loss = history[:, "small_loss_precision"]
    return {
        "accuracy": history[:, "accuracy"],
        "precision": history[:, "label_precision"],
        "recall": history[:, "label_recall"],
        "small_loss_precision": None if np.isnan(small_loss).all() else small_loss,
        "kept": history[:, "n_selected"],
    }


def _train_cleanlab(cell, settings, noisy, *, test, device, checkpoints):
    try:
        from cleanlab.classification import CleanLearning
    except ImportError as error:
        raise ImportError('cleanlab is not installed; pip install "sklearn-lec[benchmarks]" brings it.') from error
    X, y = noisy.X, noisy.y_noisy
    common = {"random_state": cell.seed, "device": device}
    # The folds that CleanLearning would make, trained here so that each has a checkpoint of its own.
    folds = StratifiedKFold(settings["cleanlab_folds"], shuffle=True, random_state=cell.seed)
    held_out = np.empty((len(y), len(np.unique(y))), dtype=np.float32)
    for number, (training, rest) in enumerate(folds.split(X, y)):
        net = classifier(settings, checkpoint_dir=checkpoints / f"fold-{number}", **common)
        held_out[rest] = fit_whole(net, X[training], y[training]).predict_proba(X[rest])
    final = classifier(settings, checkpoint_dir=checkpoints / "final", **measurements(*test), **common)
    learning = CleanLearning(final, seed=cell.seed, find_label_issues_kwargs={"n_jobs": 1})
    learning.fit(X, y, pred_probs=held_out)
    history = learning.clf.history
    if len(history) < settings["epochs"]:
        raise KeyboardInterrupt
    kept, epochs = ~learning.label_issues_mask, len(history)
    return {
        "accuracy": history[:, "accuracy"],
        "precision": [label_precision_score(kept, noisy.noise_mask)] * epochs,
        "recall": [label_recall_score(kept, noisy.noise_mask)] * epochs,
        "small_loss_precision": None,
        "kept": [int(kept.sum())] * epochs,
    }


def _rounded(values):
    """Return numbers as JSON takes them."""
    if values is None:
        return None
    return [v if isinstance(v, int) else round(float(v), DIGITS) if math.isfinite(v) else None for v in values]


def _versions(cell):
    names = ("torch", "skorch", "scikit-learn", "numpy", *(["cleanlab"] if cell.method == CLEANLAB else []))
    versions = {name: importlib.metadata.version(name) for name in names}
    return {"sklearn-lec": sklearn_lec.__version__} | versions | {"python": platform.python_version()}
