"""TrainingCurvesDisplay: how a training went, epoch by epoch."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sklearn_lec.inspection.displays._drawing import Palette, axes_grid, legend_beside, with_defaults
from sklearn_lec.inspection.displays._fitted import (
    fitted_classifier,
    noise_mask,
    selection_history,
    training_samples,
    warmup_epochs,
)
from sklearn_lec.metrics import label_precision_score, label_recall_score

__all__ = ["TrainingCurvesDisplay"]

SCORES = ("train_acc", "valid_acc")
"""Columns of the history that are accuracies, where they are there."""


class TrainingCurvesDisplay:
    """Loss, accuracy and selection of each epoch, one panel each, with the warm-up shaded.

    It is recommended to use `from_estimator`. All parameters are stored as attributes.

    Parameters
    ----------
    curves : mapping from str to array-like of shape (n_epochs,)
        "train_loss", "valid_loss", "selected" (the share of the samples), "label_precision" and "label_recall", any of
        them. All others are scores, such as "valid_acc". NaN where there is no value.
    T_w : int or None, default=None
        The epochs of warm-up; None if there were none.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes, shape (n_panels,)
        A panel without any curve is left out.
    lines_ : dict from str to matplotlib Line2D
        By the names of the curves.
    warmup_ : list of matplotlib Rectangle
        The shaded warm-up of each panel; empty if there was none.
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_lec.callbacks.LabelQuality : Label precision and recall of each epoch.
    SelectionFlowDisplay : Which samples were selected when.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn_lec import LECClassifier
    >>> from sklearn_lec.inspection import TrainingCurvesDisplay
    >>> X, y = make_blobs(60, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> clf = LECClassifier(eps=0.1, T_w=1, max_epochs=3, verbose=0, random_state=0).fit(X, y)
    >>> display = TrainingCurvesDisplay.from_estimator(clf)
    >>> list(display.lines_)
    ['train_loss', 'selected']
    """

    def __init__(self, curves: Mapping[str, ArrayLike], *, T_w: int | None = None):
        self.curves = curves
        self.T_w = T_w

    def plot(self, *, ax=None, line_kw: dict | None = None, warmup_kw: dict | None = None):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, array-like of Axes or None, default=None
            One is divided into panels; several are used as they are, one for each panel. None makes a new figure.
        line_kw : dict or None, default=None
            Passed to ``Axes.plot`` for all curves.
        warmup_kw : dict or None, default=None
            Passed to ``Axes.axvspan`` for the warm-up.

        Returns
        -------
        display : TrainingCurvesDisplay
        """
        curves = {name: np.asarray(values, dtype=float) for name, values in self.curves.items()}
        panels = _panels(curves)
        if not panels:
            raise ValueError("curves is empty: there is nothing to draw. Pass at least one curve, such as train_loss.")
        self.axes_ = axes_grid(ax, len(panels), 1, "TrainingCurvesDisplay.plot", sharex=True).ravel()
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle

        self.figure_ = self.axes_[0].figure
        self.lines_, self.warmup_ = {}, []
        palette = Palette(self.axes_[0])
        for panel, (title, styles) in zip(self.axes_, panels.items(), strict=True):
            for name, (label, color, line_style) in styles.items():
                style = {"color": getattr(palette, color), "linestyle": line_style, "label": label}
                lone = _lone_points(curves[name])
                style |= {"marker": "o", "markersize": 4, "markevery": lone} if lone else {}
                epochs = np.arange(1, len(curves[name]) + 1)
                (self.lines_[name],) = panel.plot(epochs, curves[name], **with_defaults(line_kw, Line2D, **style))
            if self.T_w:
                label = None if self.warmup_ else "warm-up"  # one legend is enough
                shade = {"color": palette.neutral, "alpha": 0.2, "linewidth": 0, "label": label}
                # An epoch is as wide as from half an epoch before to half an epoch behind its point.
                shade = with_defaults(warmup_kw, Rectangle, **shade)
                self.warmup_.append(panel.axvspan(0.5, self.T_w + 0.5, **shade))
            panel.set_ylabel(title)
            panel.grid(alpha=0.25)
            legend_beside(panel)
        n_epochs = max(map(len, curves.values()))
        self.axes_[-1].set(xlabel="Epoch", xlim=(0.5, n_epochs + 0.5))
        self.axes_[-1].xaxis.get_major_locator().set_params(integer=True)
        self.figure_.align_ylabels(self.axes_)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator,
        *,
        y_true: ArrayLike | None = None,
        y: ArrayLike | None = None,
        scores: Sequence[str] | None = None,
        ax=None,
        line_kw: dict | None = None,
        warmup_kw: dict | None = None,
    ):
        """Draw the curves of a fitted classifier.

        Parameters
        ----------
        estimator : fitted LECClassifier
            Or a pipeline, a search or a `NoisyLabelClassifier` with a fitted one.
        y_true : array-like of shape (n_samples,) or None, default=None
            The right labels, for label precision and recall. They are not needed with the callback `LabelQuality`.
            Without it and without `SelectionHistory` only epochs whose selection is known have a point: the last one,
            and those that selected all samples.
        y : array-like of shape (n_samples,) or None, default=None
            The labels passed to ``fit``, to compare `y_true` with; None takes what the estimator remembers.
        scores : sequence of str or None, default=None
            Columns of the history for the panel of scores. None takes "train_acc" and "valid_acc", where they are.
        ax, line_kw, warmup_kw : as for `plot`

        Returns
        -------
        display : TrainingCurvesDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        clf = fitted_classifier(estimator, caller)
        history = clf.history.to_list()
        missing = [name for name in scores or () if not any(name in epoch for epoch in history)]
        if missing:
            known = sorted({name for epoch in history for name in epoch} - {"batches"})
            raise ValueError(f"{caller}: the history has no column {missing[0]!r}. It has: {', '.join(known)}.")
        names = ("train_loss", "valid_loss", *(SCORES if scores is None else scores), "label_precision", "label_recall")
        curves = {name: _column(history, name) for name in names}
        curves["selected"] = _column(history, "n_selected") / training_samples(clf).sum()
        if np.isnan(curves["label_precision"]).all():
            curves |= _label_quality(clf, noise_mask(clf, y_true, y), curves["selected"])
        curves = {name: values for name, values in curves.items() if not np.isnan(values).all()}
        display = cls(curves, T_w=warmup_epochs(clf))
        return display.plot(ax=ax, line_kw=line_kw, warmup_kw=warmup_kw)


def _panels(curves: dict) -> dict[str, dict[str, tuple[str, str, str]]]:
    """Return for each panel the label, the color and the line style of each curve that there is."""
    of_loss = {"train_loss": ("training", "right", "-"), "valid_loss": ("validation", "wrong", "--")}
    of_selection = {
        "selected": ("share of samples", "neutral", "-"),
        "label_precision": ("label precision", "right", "-"),
        "label_recall": ("label recall", "third", "--"),
    }
    styles = [("right", "-"), ("wrong", "--"), ("third", "-."), ("fourth", ":")]
    known = {"train_acc": ("training", "right", "-"), "valid_acc": ("validation", "wrong", "--")}
    others = [name for name in curves if name not in of_loss | of_selection]
    of_scores = {name: known.get(name, (name, *styles[k % len(styles)])) for k, name in enumerate(others)}
    title = "Accuracy" if set(others) <= set(known) else "Score"
    panels = {"Loss": of_loss, title: of_scores, "Selected": of_selection}
    panels = {name: {curve: panel[curve] for curve in panel if curve in curves} for name, panel in panels.items()}
    return {name: panel for name, panel in panels.items() if panel}


def _column(history: list[dict], name: str) -> np.ndarray:
    """Return a column of the history, with NaN in epochs that do not have it."""
    values = [epoch.get(name) for epoch in history]
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _lone_points(values: np.ndarray) -> list[int]:
    """Return the positions of points that no line shows, because there is none beside them."""
    is_known = np.isfinite(np.concatenate([[np.nan], values, [np.nan]]))
    return np.flatnonzero(is_known[1:-1] & ~is_known[:-2] & ~is_known[2:]).tolist()


def _label_quality(clf, is_wrong: np.ndarray | None, selected: np.ndarray) -> dict[str, np.ndarray]:
    """Return label precision and recall of the epochs whose selection is known."""
    if is_wrong is None:
        return {}
    in_training = training_samples(clf)
    masks = dict.fromkeys(np.flatnonzero(selected == 1) + 1, in_training) | {len(selected): clf.clean_mask_}
    kept = selection_history(clf)
    if kept is not None:
        masks |= dict(zip(kept.epochs_, kept.masks_, strict=True))
    curves = {"label_precision": np.full(len(selected), np.nan), "label_recall": np.full(len(selected), np.nan)}
    for epoch, mask in masks.items():
        compared = mask[in_training], is_wrong[in_training]
        curves["label_precision"][epoch - 1] = label_precision_score(*compared)
        curves["label_recall"][epoch - 1] = label_recall_score(*compared)
    return curves
