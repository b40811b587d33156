"""Folds: networks that are trained on part of the samples, and predict the rest."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold, check_cv
from skorch.callbacks import Callback
from torch.utils.data import Subset

from sklearn_lec._training.build import batch_size_of
from sklearn_lec._training.copies import trained_copy
from sklearn_lec._training.labels import LabelCodes
from sklearn_lec.methods.contract import softmax
from sklearn_lec.progress import running_progress

__all__ = [
    "FoldPlan",
    "HeldOutMean",
    "checked_folds",
    "held_out_probabilities",
    "out_of_fold_predictions",
    "plan_folds",
    "planned_folds",
    "stratified_folds",
]

LARGEST_COST = 0.25
"""The share of the epochs of a training that its folds may take together."""
FEW_SAMPLES = 5000
"""Below that, a network that sees half of the samples is much worse than one that sees all, and folds are smaller."""
ENOUGH_UPDATES = 300
"""As many updates as it takes to learn what is common; see `plan_folds`."""
SMALLEST_BATCH = 32
SMOOTHING = 0.7
"""The weight of earlier epochs in the running mean of predictions."""

_OF_THE_WHOLE_SET = ("sampler", "batch_sampler", "drop_last", "shuffle", "batch_size")
"""Arguments of loaders that count on the whole training set, or fix what folds have to choose."""


@dataclass(frozen=True)
class FoldPlan:
    """How many folds are trained, for how long, and in batches of which size."""

    n_folds: int
    n_epochs: int
    batch_size: int


def plan_folds(
    n_samples: int, *, max_epochs: int, batch_size: int, n_folds: int | None = None, largest_class: int = 5
) -> FoldPlan | None:
    """Return how to train in folds at no more than a quarter of the epochs of a whole training.

    An epoch of K folds costs K - 1 epochs of the whole training set. Batches of small data are smaller than those of
    the training, so that a network is not judged before it has learned anything.

    Parameters
    ----------
    n_samples : int
    max_epochs, batch_size : int
        Those of the training.
    n_folds : int or None, default=None
        None chooses: five for few samples, as long as there are epochs enough, and else three or two.
    largest_class : int, default=5
        How many samples the largest class has: there can be no more folds.

    Returns
    -------
    plan : FoldPlan or None
        None if there are too few epochs for any.

    Examples
    --------
    >>> plan_folds(1500, max_epochs=200, batch_size=128)
    FoldPlan(n_folds=5, n_epochs=12, batch_size=48)
    >>> plan_folds(60_000, max_epochs=200, batch_size=128)
    FoldPlan(n_folds=2, n_epochs=10, batch_size=128)
    >>> plan_folds(1500, max_epochs=20, batch_size=128)
    FoldPlan(n_folds=2, n_epochs=5, batch_size=32)
    """
    affordable = math.floor(LARGEST_COST * max_epochs)
    if n_folds is None:
        candidates = (5, 3, 2) if n_samples < FEW_SAMPLES else (2,)
        n_folds = next((k for k in candidates if affordable // (k - 1) >= 8 and k <= largest_class), 2)
    n_training = n_samples - n_samples // n_folds
    n_epochs = min(affordable // (n_folds - 1), max(10, math.ceil(ENOUGH_UPDATES * batch_size / n_training)))
    if n_epochs < 1:
        return None
    fitting = n_training * n_epochs // ENOUGH_UPDATES
    return FoldPlan(n_folds, n_epochs, min(max(fitting, SMALLEST_BATCH), batch_size))


def stratified_folds(labels: np.ndarray, n_folds: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the positions to train on and to predict for each fold, in which all classes have like shares.

    Random numbers are torch's, which a net with a `random_state` has for itself.
    """
    seed = int(torch.randint(2**31 - 1, ()))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # some folds do without it
        return list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels))


def checked_folds(folds: Iterable[tuple[np.ndarray, np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return folds of the user's own as a list, or raise an error if predictions would say nothing."""
    folds = list(folds)
    if any(len(training) == 0 or len(held_out) == 0 for training, held_out in folds):
        raise ValueError("cv has a fold that trains on no sample, or holds out none.")
    if any(np.intersect1d(training, held_out).size for training, held_out in folds):
        raise ValueError("cv holds out samples that it trains on; their labels would be known to the model.")
    return folds


def held_out_probabilities(
    net,
    X,
    y,
    *,
    labels: np.ndarray,
    classes: np.ndarray,
    folds: list[tuple[np.ndarray, np.ndarray]],
    plan: FoldPlan,
    checkpoint_dir: Callable[[], object] = lambda: None,
    **fit_arguments,
) -> np.ndarray:
    """Return, for each sample, what a copy of the net predicts that was not trained on it, by ordinary training.

    Parameters
    ----------
    net : LECClassifier
    X, y : the data, checked
    labels : int64 ndarray of shape (n_samples,)
        The class numbers of the labels.
    classes : ndarray of shape (n_classes,)
    folds : list of (training, held out)
        Numbers of samples of X.
    plan : FoldPlan
    checkpoint_dir : callable, default=None for each
        Called before each fold for the folder of its checkpoints.
    **fit_arguments : as for `trained_copy`

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_classes)
        NaN for samples that no fold holds out, or for which the network returns NaN.
    """
    of_loaders = [
        name
        for name in net.get_params(deep=False)
        if name.startswith(("iterator_train__", "iterator_valid__")) and name.rpartition("__")[2] in _OF_THE_WHOLE_SET
    ]
    probabilities = np.full((len(labels), len(classes)), np.nan, dtype=np.float32)
    phases = _phases(net, folds, n_samples=len(labels), n_epochs=plan.n_epochs)
    for (training, held_out), phase in zip(folds, phases, strict=True):
        recorder = HeldOutMean(held_out, labels[held_out])
        trained_copy(
            net,
            X,
            y,
            phase=phase,
            callbacks=[("held_out_mean", recorder)],
            method="standard",
            classes=classes,
            max_epochs=plan.n_epochs,
            batch_size=plan.batch_size,
            train_split=Fold(training, held_out),
            checkpoint_dir=checkpoint_dir(),
            verbose=0,
            callbacks__linear_decay=None,
            callbacks__print_log=None,
            predict_nonlinearity=net.predict_nonlinearity,
            **{name: _plain(name, plan) for name in of_loaders},
            **fit_arguments,
        )
        probabilities[held_out] = recorder.best_
    return probabilities


def _phases(net, folds, *, n_samples: int, n_epochs: int) -> list[Callback | None]:
    """Return a phase of the net's bar for each fold, before the first of them begins; None if it shows no bar."""
    progress = running_progress(net)
    if progress is None:
        return [None] * len(folds)
    return [
        progress.phase(
            f"estimating noise, fold {number}/{len(folds)}", n_epochs=n_epochs, weight=len(training) / n_samples
        )
        for number, (training, _) in enumerate(folds, start=1)
    ]


def out_of_fold_predictions(net, X, y, cv) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what `LECClassifier.out_of_fold_predictions` promises; the net is one that may be written to."""
    with net._random_numbers(restart=True):
        X, y, classes = net._validate_fit_data(X, y, from_scratch=True)
        labels = LabelCodes(classes)(y).numpy()
        if cv is None or isinstance(cv, Integral):
            plan = _plan(net, len(labels), n_folds=cv, largest_class=np.bincount(labels).max())
            folds = stratified_folds(labels, plan.n_folds)
        else:
            folds = checked_folds(check_cv(cv, labels, classifier=True).split(np.zeros(len(labels)), labels))
            plan = _plan(net, len(labels), n_folds=max(2, round(len(labels) / len(folds[0][1]))))
        probabilities = held_out_probabilities(net, X, y, labels=labels, classes=classes, folds=folds, plan=plan)
    return probabilities, y, classes


def planned_folds(net, y) -> int:
    """Return how many folds `out_of_fold_predictions` takes for labels y."""
    return _plan(net, len(y), n_folds=None, largest_class=int(np.unique(y, return_counts=True)[1].max())).n_folds


def _plan(net, n_samples: int, *, n_folds: int | None, largest_class: int = 5) -> FoldPlan:
    """Return the plan of the folds, or raise an error if there are too few epochs for one."""
    if n_folds is not None and n_folds < 2:
        raise ValueError(f"cv must be at least 2, got {n_folds}: networks predict samples that they have not seen.")
    batch_size = batch_size_of(net, n_samples)
    plan = plan_folds(
        n_samples, max_epochs=net.max_epochs, batch_size=batch_size, n_folds=n_folds, largest_class=largest_class
    )
    if plan is None:
        n_folds = n_folds or 2
        raise ValueError(
            f"max_epochs={net.max_epochs} leaves no epoch for each of {n_folds} folds, which may take a quarter of "
            f"them in all. Raise max_epochs to {4 * (n_folds - 1)} at least, or use fewer folds."
        )
    return plan


class Fold:
    """A `train_split` that trains on some samples, and holds out others."""

    def __init__(self, training: np.ndarray, held_out: np.ndarray):
        self.training = training
        self.held_out = held_out

    def __call__(self, dataset, y=None, **fit_params):
        """Return both parts of a data set."""
        return Subset(dataset, self.training), Subset(dataset, self.held_out)


class HeldOutMean(Callback):
    """Keep the running mean, over the epochs, of the predictions for samples that are held out: the best one.

    The best is that of the epoch in which most predictions agree with the labels. After it, the network memorizes
    wrong labels.

    Parameters
    ----------
    samples : int64 ndarray of shape (n_held_out,)
        Their numbers in X.
    labels : int64 ndarray of shape (n_held_out,)

    Attributes
    ----------
    best_ : float32 ndarray of shape (n_held_out, n_classes)
    best_epoch_ : int
        Counted from 1.
    """

    def __init__(self, samples, labels):
        self.samples = samples
        self.labels = labels

    def on_train_begin(self, net, **kwargs):
        """Begin anew; a training that goes on from a checkpoint gets its attributes back after that."""
        self.sum_, self.best_, self.best_epoch_, self.most_ = None, None, 0, -1.0

    def on_epoch_begin(self, net, **kwargs):
        """Begin with the predictions of an epoch."""
        self.batches_ = []

    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        """Take the predictions for a batch that is held out."""
        if not training:
            probabilities = net._get_predict_nonlinearity()(y_pred.detach())
            if not _are_probabilities(probabilities):  # skorch knows no nonlinearity for a criterion of the user's own
                probabilities = softmax(y_pred.detach())
            self.batches_.append((batch.samples.cpu().numpy(), probabilities.cpu().numpy()))

    def on_epoch_end(self, net, **kwargs):
        """Add the epoch to the mean."""
        samples, probabilities = (np.concatenate(parts) for parts in zip(*self.batches_, strict=True))
        self.batches_ = []
        current = np.empty((len(self.samples), probabilities.shape[1]), dtype=np.float32)
        current[np.argsort(self.samples, kind="stable")] = probabilities[np.argsort(samples, kind="stable")]
        current *= 1 - SMOOTHING
        self.sum_ = current if self.sum_ is None else SMOOTHING * self.sum_ + current
        agreement = float((self.sum_.argmax(axis=1) == self.labels).mean())
        if agreement > self.most_:
            self.most_, self.best_epoch_ = agreement, len(net.history)
            self.best_ = self.sum_ / (1 - SMOOTHING**self.best_epoch_)


def _are_probabilities(outputs: torch.Tensor) -> bool:
    """Return whether rows are not negative and sum to 1, as far as they are finite."""
    finite = outputs[outputs.isfinite().all(dim=1)].float()
    return bool((finite >= 0).all() and ((finite.sum(dim=1) - 1).abs() < 1e-2).all())


def _plain(name: str, plan: FoldPlan):
    """Return the value of an argument of a loader that goes through part of the samples in the ordinary way."""
    of_training = name.startswith("iterator_train")
    plain = {"shuffle": of_training, "batch_size": plan.batch_size, "drop_last": False}
    return plain.get(name.rpartition("__")[2])
