"""When should the warm-up of "ltec" end? Signals that cost nothing, side by side with fixed numbers of epochs.

Run ``python -m benchmarks.warmup_signals`` from the root of the project. All signals are read off one pass of ordinary
training on noisy labels. Then "ltec" is trained with the true share of wrong labels and each `T_w` that a rule asks
for. Balanced accuracy is that on clean labels that were held out. Every problem and seed is one line of the file given
by ``--out``; a second run does only what is missing. The page is written beside it.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score
from torch import Tensor

from benchmarks.no_knobs import SOURCES
from benchmarks.pages import Cell, held_out, run_script
from benchmarks.warmup_signals_page import AGREEMENT, CONSTANTS, ELBOW, LABEL_WAVE, OURS, page_of
from sklearn_lec import LECClassifier
from sklearn_lec.estimation.warmup import is_memorizing, longest_warmup
from sklearn_lec.methods import Batch, Method, Selection

OUT = Path("benchmarks/results/warmup_signals.jsonl")
PROBLEMS = [
    *(("digits", noise) for noise in ("sym-20", "sym-40", "asym-40")),
    *((data, "sym-40") for data in ("wine", "breast cancer", "TF-IDF text", "digits, long tail")),
]
EPOCHS = 200
WATCHED = 25
"""Epochs of the pass that is watched: more than the longest warm-up, as a minimum is seen only after it has passed."""
SMOOTHING = 3
"""Epochs in the moving average of LabelWave."""
ELBOW_SHARE = 0.1
"""The growth of agreement, as a share of its first value, that is an elbow."""


# --- what is watched -------------------------------------------------------------------------------------------------


class Watched(Method):
    """Ordinary training that counts, from the outputs it has anyway, what the rules need.

    Attributes
    ----------
    agreement : list of float
        For each epoch, the share of samples that the network predicts as they are labelled.
    changes : list of int
        From the second epoch on, the number of samples whose predicted class is another than in the epoch before.
    """

    selects_samples = False

    def sample_memory(self, n_classes: int) -> dict[str, Tensor]:
        """Remember the predicted class."""
        return {"predicted": torch.tensor(-1)}

    def select(self, batch: Batch) -> Selection:
        """Select every sample, and remember what is predicted."""
        return Selection(memory={"predicted": batch.outputs[0].argmax(dim=-1)})

    def before_training(self, context) -> None:
        """Begin anew."""
        self.agreement, self.changes, self.last_predicted = [], [], None

    def after_epoch(self, context) -> None:
        """Compare the predictions with the labels, and with those of the epoch before."""
        predicted = self.record.memory["predicted"].clone()
        self.agreement.append(float((predicted == context.labels.to(predicted)).float().mean()))
        if self.last_predicted is not None:
            self.changes.append(int((predicted != self.last_predicted).sum()))
        self.last_predicted = predicted


class Signals(NamedTuple):
    """What is known at the end of the pass that is watched."""

    agreement: Sequence[float]
    changes: Sequence[int]


def watch(X: np.ndarray, y: np.ndarray, *, seed: int, n_epochs: int = WATCHED) -> Signals:
    """Return the signals of the first epochs of a training on labels `y`; as in a long one, the rate does not decay."""
    common = {"random_state": seed, "device": "cpu", "verbose": 0}
    classifier = LECClassifier(method=Watched(), max_epochs=n_epochs, callbacks__linear_decay=None, **common)
    method = classifier.fit(X, y).method_
    return Signals([round(share, 5) for share in method.agreement], method.changes)


# --- rules -----------------------------------------------------------------------------------------------------------


def first_epoch(holds: Sequence[bool], *, bound: int) -> int:
    """Return the first epoch, counted from 1, for which something holds; the bound if there is none before.

    Examples
    --------
    >>> first_epoch([False, True, True], bound=20), first_epoch([False], bound=20), first_epoch([False, True], bound=1)
    (2, 20, 1)
    """
    return min(bound, next((epoch for epoch, it_does in enumerate(holds, 1) if it_does), bound))


def label_wave(changes: Sequence[int], *, bound: int) -> int:
    """Return the epoch of the first local minimum of the smoothed number of changes.

    The average is that over an epoch and the two before, so that the first one is known in the fourth epoch.

    Parameters
    ----------
    changes : sequence of int
        From the second epoch on.
    bound : int
        Returned if there is no minimum before.

    Returns
    -------
    epoch : int

    References
    ----------
    S. Yuan, L. Feng and T. Liu, "Early stopping against label noise without validation data", ICLR 2024.

    Examples
    --------
    >>> label_wave([90, 60, 30, 20, 30, 90], bound=20)  # averages of epochs 4 to 7: 60, 37, 27, 47
    6
    """
    smoothed = np.convolve(changes, np.ones(SMOOTHING), mode="valid")  # sums have their minima where averages have
    return first_epoch([False] * SMOOTHING + list(np.diff(smoothed) > 0), bound=bound)


def elbow(agreement: Sequence[float], *, bound: int) -> int:
    """Return the first epoch in which agreement grows by less than a tenth of what it grew by in the second epoch.

    Examples
    --------
    >>> elbow([0.2, 0.5, 0.6, 0.61, 0.7], bound=20)
    4
    """
    growth = np.diff(agreement)
    return first_epoch([False, *(growth < ELBOW_SHARE * growth[0])], bound=bound)


RULES: dict[str, Callable[[Signals, float, int], int]] = {
    OURS: lambda s, eps, bound: first_epoch([is_memorizing(share, eps=eps) for share in s.agreement], bound=bound),
    LABEL_WAVE: lambda s, eps, bound: label_wave(s.changes, bound=bound),
    ELBOW: lambda s, eps, bound: elbow(s.agreement, bound=bound),
    AGREEMENT: lambda s, eps, bound: first_epoch([share >= 1 - eps for share in s.agreement], bound=bound),
    **{name: lambda s, eps, bound, T_w=T_w: min(T_w, bound) for name, T_w in CONSTANTS.items()},
}
"""By name, what returns a `T_w`, given signals, the share of wrong labels and the longest warm-up."""


# --- records ---------------------------------------------------------------------------------------------------------


def measure(cell: Cell) -> dict:
    """Watch a training, train "ltec" with every `T_w` that a rule asks for, and return the record."""
    torch.set_num_threads(1)
    X, y = SOURCES[cell.data](seed=cell.seed, data_home=None)
    data = held_out(X, y, noise=cell.noise, seed=cell.seed)
    true_eps = float((data.given != data.right).mean())
    signals, bound = watch(data.X, data.given, seed=cell.seed), longest_warmup(EPOCHS)
    T_w = {name: rule(signals, true_eps, bound) for name, rule in RULES.items()}
    scores = {}
    for epochs in sorted(set(T_w.values())):
        classifier = LECClassifier(
            method="ltec",
            eps=true_eps,
            T_w=epochs,
            max_epochs=EPOCHS,
            random_state=cell.seed,
            device="cpu",
            verbose=0,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warm-up that has memorized everything is meant to be bad
            classifier.fit(data.X, data.given)
        scores[str(epochs)] = round(balanced_accuracy_score(data.y_test, classifier.predict(data.X_test)), 5)
    return cell._asdict() | {"true_eps": true_eps, **signals._asdict(), "T_w": T_w, "scores": scores}


PARTS = ("true_eps", *Signals._fields, "T_w", "scores")
"""What a record has besides the fields of its cell."""


def main(arguments=None):
    run_script(__doc__, arguments, out=OUT, problems=PROBLEMS, measure=measure, parts=PARTS, page_of=page_of)


if __name__ == "__main__":
    main()
