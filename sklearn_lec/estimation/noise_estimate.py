"""NoiseEstimate: how many labels are wrong, which, and whether the figure can be trusted."""

import textwrap
from dataclasses import dataclass, field, fields

import numpy as np
import torch

from sklearn_lec.estimation.plateau import agreement_curve, fit_plateau, noise_model

__all__ = ["NoEstimateError", "NoiseEstimate"]

Z_90 = 1.645
"""Half the width of a 90 % interval, in standard deviations."""
MODEL_ERROR = 0.05
"""How well the network's own errors are told from wrong labels: the part of them that the interval allows for."""
SURE = 0.95
FEWEST_SURE = 0.15
"""The share of predictions that have to be right with a probability of `SURE`; below it there is no plateau to see."""
LEAST_SKILL = 0.15
"""Agreement beyond chance below which predictions say nothing about labels."""
WIDEST = 0.12
"""Half the width of an interval from which on an estimate says too little."""
LINE_LENGTH = 88
LONGEST_TABLE = 20
"""Classes in the summary."""


class NoEstimateError(ValueError):
    """There is nothing from which the share of wrong labels could be estimated; the message says why."""


@dataclass(frozen=True, repr=False, eq=False)
class NoiseEstimate:
    """How many labels are wrong, as `estimate_noise` found it.

    Attributes
    ----------
    eps : float
        The share of wrong labels.
    interval : tuple of two floats
        Where the share lies with a probability of 90 %, if noise depends on the class alone.
    per_class : ndarray of shape (n_classes,)
        The share of wrong labels among the samples *given* each label, in the order of `classes_`.
    corruption_matrix : ndarray of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row).
    wrong_probability : ndarray of shape (n_samples,)
        The probability that the label of each sample is wrong; NaN for samples without a prediction.
    is_trustworthy : bool
        Whether there are no `doubts`.
    doubts : tuple of str
        Why the estimate cannot be trusted.
    classes_ : ndarray of shape (n_classes,)
    counts : int64 ndarray of shape (n_classes,)
        How many samples were given each label.
    disagreement : float
        The share of samples whose label is not what was predicted for them: wrong labels and errors of the network.
    curve : ndarray of shape (n_points, 4)
        What `plot` shows, for groups of rising confidence: confidence, agreement, the same as fitted, and the plateau.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_lec.estimation import estimate_noise
    >>> X, y = make_blobs(1000, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> y = np.array(["cat", "dog"])[y]
    >>> y[:200] = "dog"  # also half of these, which are cats
    >>> print(estimate_noise(LogisticRegression(), X, y, random_state=0))
    10.2% of 1000 labels are wrong (90 % interval: 8.6% to 11.8%).
    Predictions disagree with 12.1% of the labels, errors of the model included.
    <BLANKLINE>
    label    given            wrong  most should be
      dog      609      101 (16.5%)  cat
      cat      391         1 (0.3%)  dog
    """

    eps: float
    interval: tuple[float, float]
    per_class: np.ndarray
    corruption_matrix: np.ndarray
    wrong_probability: np.ndarray
    classes_: np.ndarray
    counts: np.ndarray
    disagreement: float
    curve: np.ndarray
    doubts: tuple[str, ...] = field(default=())

    @classmethod
    def from_predictions(cls, labels: np.ndarray, pred_probs: np.ndarray, *, classes: np.ndarray) -> "NoiseEstimate":
        """Estimate from predictions of models that have not seen the samples.

        Parameters
        ----------
        labels : int64 ndarray of shape (n_samples,)
            Class numbers: positions in `classes`.
        pred_probs : ndarray of shape (n_samples, n_classes)
            Samples whose probabilities are not finite take no part.
        classes : ndarray of shape (n_classes,)

        Returns
        -------
        estimate : NoiseEstimate
        """
        known = np.isfinite(pred_probs).all(axis=1)
        if not known.any():
            raise NoEstimateError("no sample has predictions that are finite. Lower lr, or scale X.")
        given, probabilities = labels[known], pred_probs[known]
        plateau = fit_plateau(given, probabilities)
        model = noise_model(given, probabilities, plateau)
        disagreement = float((given != plateau.predicted).mean())
        half = float(Z_90 * np.hypot(model.standard_error, MODEL_ERROR * max(disagreement - model.eps, 0)))
        wrong_probability = np.full(len(labels), np.nan)
        wrong_probability[known] = model.wrong_probability
        return cls(
            eps=model.eps,
            interval=(max(model.eps - half, 0.0), min(model.eps + half, 1.0)),
            per_class=model.per_label,
            corruption_matrix=model.corruption_matrix,
            wrong_probability=wrong_probability,
            classes_=np.asarray(classes),
            counts=np.bincount(given, minlength=len(classes)),
            disagreement=disagreement,
            curve=agreement_curve(given, plateau),
            doubts=_doubts(
                share_sure=float((plateau.p_right > SURE).mean()),
                skill=_skill(given, plateau.predicted),
                half=half,
                n_samples=len(given),
                n_without=len(labels) - len(given),
            ),
        )

    @property
    def is_trustworthy(self) -> bool:
        """Whether there are no doubts."""
        return not self.doubts

    def __repr__(self):
        low, high = self.interval
        trust = "" if self.is_trustworthy else ", not trustworthy"
        return f"<NoiseEstimate: eps={self.eps:.3f}, 90 % interval {low:.3f} to {high:.3f}{trust}>"

    def __str__(self):
        low, high = self.interval
        lines = [
            f"{self.eps:.1%} of {self.counts.sum()} labels are wrong (90 % interval: {low:.1%} to {high:.1%}).",
            f"Predictions disagree with {self.disagreement:.1%} of the labels, errors of the model included.",
            *(textwrap.fill(f"Not to be trusted: {doubt}", LINE_LENGTH) for doubt in self.doubts),
            "",
            *self._table(),
        ]
        return "\n".join(lines)

    def _table(self):
        """Yield the lines of a table of the classes, those with the most wrong labels first."""
        joint = self.counts * (1 - self.per_class)  # right labels; the true class has as many more as it lost
        joint = joint / np.maximum(self.corruption_matrix.diagonal(), 1e-12)
        wrong = joint[:, None] * self.corruption_matrix * (1 - np.eye(len(self.counts)))
        n_wrong = self.counts * self.per_class
        shown = np.argsort(-n_wrong, kind="stable")[:LONGEST_TABLE]
        width = max(len("label"), *(len(str(label)) for label in self.classes_[shown]))
        yield f"{'label':>{width}}  {'given':>7}  {'wrong':>15}  most should be"
        for k in shown:
            source = "-" if n_wrong[k] < 0.5 else "various"
            if wrong[:, k].max() > 0.5 * wrong[:, k].sum() and n_wrong[k] >= 0.5:
                source = self.classes_[wrong[:, k].argmax()]
            share = f"{n_wrong[k]:.0f} ({self.per_class[k]:.1%})"
            yield f"{self.classes_[k]!s:>{width}}  {self.counts[k]:>7}  {share:>15}  {source}"
        if len(shown) < len(self.classes_):
            yield f"and {len(self.classes_) - len(shown)} more classes, with fewer wrong labels"

    def plot(self, ax=None):
        """Show the agreement of predictions with labels against their confidence, with the fitted plateau.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None draws into a new figure.

        Returns
        -------
        ax : matplotlib Axes
        """
        import matplotlib.pyplot as plt

        ax = plt.subplots(layout="constrained")[1] if ax is None else ax
        _, agreement, fitted, plateau = self.curve.T
        rank = 100 * (np.arange(len(agreement)) + 0.5) / len(agreement)
        low, high = self.interval
        color = "C1" if self.is_trustworthy else "0.5"
        ax.axhspan(1 - high, 1 - low, color=color, alpha=0.2, linewidth=0, label="90 % interval")
        ax.plot(rank, plateau, color=color, linestyle="--", label=f"plateau: {self.eps:.1%} of labels wrong")
        ax.plot(rank, fitted, color="C0", label="fit")
        ax.plot(rank, agreement, "o", color="C0", label=f"predictions, in {len(rank)} groups")
        ax.set(
            xlabel="predictions of each class, from the least to the most confident (%)",
            ylabel="share that agrees with the label",
            xlim=(0, 100),
            ylim=(min(agreement.min(), fitted.min(), 1 - high) - 0.05, 1.02),
        )
        if not self.is_trustworthy:
            ax.set_title("not to be trusted")
        ax.legend(loc="best")
        return ax

    def state(self) -> dict:
        """Return all fields but the classes, as tensors and plain values, which checkpoints can hold."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "classes_"}
        return {name: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for name, v in values.items()}

    @classmethod
    def from_state(cls, state: dict, *, classes: np.ndarray) -> "NoiseEstimate":
        """Return the estimate whose `state` that is."""
        values = {name: v.cpu().numpy().copy() if isinstance(v, torch.Tensor) else v for name, v in state.items()}
        return cls(
            **values | {"interval": tuple(values["interval"]), "doubts": tuple(values["doubts"])}, classes_=classes
        )


def _skill(labels: np.ndarray, predicted: np.ndarray) -> float:
    """Return how far predictions surely agree with labels beyond chance: 0 for none, 1 if always.

    Cohen's kappa, less two of the standard errors that it has where there is no agreement beyond chance.
    """
    n_classes = max(labels.max(), predicted.max()) + 1
    shares = [np.bincount(codes, minlength=n_classes) / len(codes) for codes in (labels, predicted)]
    by_chance = shares[0] @ shares[1]
    beyond_chance = (labels == predicted).mean() - by_chance - 2 * np.sqrt(by_chance * (1 - by_chance) / len(labels))
    return float(beyond_chance / max(1 - by_chance, 1e-9))


def _doubts(*, share_sure: float, skill: float, half: float, n_samples: int, n_without: int) -> tuple[str, ...]:
    """Return why an estimate cannot be trusted."""
    doubts = []
    if n_without > n_samples:
        doubts.append(
            f"{n_without} of {n_samples + n_without} samples have no finite prediction, and nothing is known of them. "
            "Use folds that hold out each sample once."
        )
    if skill < LEAST_SKILL:
        doubts.append(
            "the predictions agree with the labels hardly more often than by chance: the labels may be wrong, or the "
            "model may not have learned anything. Scale the columns of X, or use a stronger model or more epochs."
        )
    if share_sure < FEWEST_SURE:
        doubts.append(
            f"only {share_sure:.0%} of the predictions are sure to be right, so that errors of the model cannot be "
            "told from wrong labels. Scale the columns of X, or use a stronger model, more epochs or more samples."
        )
    if half > WIDEST:
        doubts.append(f"{n_samples} samples leave it open by ±{half:.2f}. Use more samples, or give eps.")
    return tuple(doubts)
