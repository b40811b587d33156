"""Semantic noise that is made once: networks trained on clean labels, their predictions kept in the run folder.

``OUT/semantic/<name>_<settings>/<number>.npy`` holds what one network predicts for all training rows, float32 of shape
(n_rows, n_classes). Every ratio of noise, every method and every seed reads the same files.
"""

import io
import shutil
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.classifiers import classifier, fit_whole
from benchmarks.files import digest, open_plain, write_whole
from benchmarks.scales import settings_of_methods
from sklearn_lec.noise import SemanticNoise

__all__ = ["clean_predictions", "semantic_noise"]

FIRST_SEED = 1000
"""Away from the seeds of the cells: the networks that choose the noise are not the ones that are tested on it."""

NOT_FOR_CLEAN_TRAINING = {"cleanlab_folds", "semantic_networks"}
"""Settings, beside those of methods, that ordinary training on clean labels does not use."""


class StoredPredictions(BaseEstimator):
    """A trained classifier of which only the predictions for the training rows are left."""

    def __init__(self, probabilities, classes):
        self.probabilities = probabilities
        self.classes = classes

    def __sklearn_clone__(self):
        return self

    @property
    def classes_(self):
        """The labels, in the order of the columns."""
        return self.classes

    def fit(self, X, y):
        """Do nothing: it has been trained."""
        return self

    def predict_proba(self, X):
        """Return the predictions for the rows that it was trained on."""
        return self.probabilities


def clean_predictions(X, y, *, number: int, name: str, settings: dict, out: Path, device: str) -> np.ndarray:
    """Return what one network, trained on the right labels, predicts for the training rows.

    Parameters
    ----------
    X, y : training rows with their right labels
    number : int
        Which of the networks.
    name : str
        Tells the data from other data.
    settings : dict
        Of any cell with this data.
    out : Path
        The run folder; trained only if the result is not there.
    device : str

    Returns
    -------
    probabilities : float32 ndarray of shape (n_rows, n_classes)
    """
    unused = NOT_FOR_CLEAN_TRAINING | settings_of_methods()
    relevant = {name: value for name, value in settings.items() if name not in unused}
    place = f"{name}_{digest(relevant)}/{number}"
    file = (out / "semantic" / place).with_suffix(".npy")
    if (stored := _stored(file, shape=(len(y), len(np.unique(y))))) is not None:
        return stored
    checkpoints = out / "checkpoints" / "semantic" / place
    net = classifier(settings, random_state=FIRST_SEED + number, device=device, checkpoint_dir=checkpoints)
    probabilities = fit_whole(net, X, y).predict_proba(X).astype(np.float32)
    buffer = io.BytesIO()
    np.save(buffer, probabilities)
    write_whole(file, buffer.getvalue())
    shutil.rmtree(checkpoints, ignore_errors=True)
    return probabilities


def _stored(file, *, shape):
    """Return the predictions that are kept in a file; None if they are not there, or damaged."""
    try:
        with open_plain(file, "rb") as handle:
            content = handle.read()
    except FileNotFoundError:
        return None
    try:
        stored = np.load(io.BytesIO(content))
        is_whole = stored.shape == shape and stored.dtype == np.float32 and bool(np.isfinite(stored).all())
    except Exception:  # numpy and zipfile raise whatever they stumble over
        return None
    return stored if is_whole else None


def semantic_noise(X, y, *, eps: float, settings: dict, **where) -> SemanticNoise:
    """Return semantic noise that is made with the networks in the run folder.

    Parameters
    ----------
    X, y : training rows with their right labels
    eps : float
    settings : dict
    **where
        ``name``, ``out`` and ``device``, as for `clean_predictions`.

    Returns
    -------
    noise : SemanticNoise
    """
    numbers = range(settings["semantic_networks"])
    predictions = [clean_predictions(X, y, number=n, settings=settings, **where) for n in numbers]
    return SemanticNoise([StoredPredictions(p, np.unique(y)) for p in predictions], eps=eps)
