"""LabelQualityDisplay: how far the suspect labels stand apart from the others."""

import numpy as np
from numpy.typing import ArrayLike

from sklearn_lec.inspection.displays._drawing import Palette, single_axes, with_defaults
from sklearn_lec.inspection.displays._fitted import wrong_labels

__all__ = ["LabelQualityDisplay"]


class LabelQualityDisplay:
    """The distribution of label quality, with the threshold between labels that are flagged and those that are not.

    The color says whether a label is right or wrong, where that is known, and else whether it is flagged. Use
    `from_estimator` or `from_issues`. All parameters are stored as attributes.

    Parameters
    ----------
    label_quality : array-like of shape (n_samples,)
        From 0 for a label that is certainly wrong to 1.
    is_label_issue : array-like of bool, shape (n_samples,)
        The flagged labels.
    is_wrong : array-like of bool, shape (n_samples,), or None, default=None
        The labels that are wrong, if that is known.

    Attributes
    ----------
    threshold_ : float or None
        Labels below it are flagged, with as few exceptions as possible; None if all are flagged, or none.
    n_exceptions_ : int
        How many labels are flagged above it, or not flagged below it: flags need not depend on label quality alone.
    steps_ : list of two matplotlib StepPatch
        Right and wrong labels, or those that are flagged and those that are not.
    line_ : matplotlib Line2D or None
        The threshold.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_lec.inspection.find_label_issues : The table with the label quality of each sample.

    Examples
    --------
    >>> from sklearn_lec.inspection import LabelQualityDisplay
    >>> display = LabelQualityDisplay([0.1, 0.2, 0.8, 0.9], [True, True, False, False]).plot()
    >>> display.threshold_
    0.5
    """

    def __init__(self, label_quality: ArrayLike, is_label_issue: ArrayLike, *, is_wrong: ArrayLike | None = None):
        self.label_quality = label_quality
        self.is_label_issue = is_label_issue
        self.is_wrong = is_wrong

    def plot(
        self,
        *,
        bins: int | ArrayLike = 40,
        log: bool = True,
        ax=None,
        hist_kw: dict | None = None,
        line_kw: dict | None = None,
    ):
        """Draw the distribution.

        Parameters
        ----------
        bins : int or array-like of edges, default=40
        log : bool, default=True
            Whether counts are on a logarithmic scale, on which few wrong labels can be seen beside many right ones.
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        hist_kw : dict or None, default=None
            Passed to ``Axes.stairs`` for both kinds of labels.
        line_kw : dict or None, default=None
            Passed to ``Axes.axvline`` for the threshold.

        Returns
        -------
        display : LabelQualityDisplay
        """
        self.ax_ = ax = single_axes(ax, "LabelQualityDisplay.plot")
        self.figure_ = ax.figure
        from matplotlib.lines import Line2D
        from matplotlib.patches import StepPatch

        quality = np.asarray(self.label_quality, dtype=float)
        flagged = np.asarray(self.is_label_issue, dtype=bool)
        self.threshold_, self.n_exceptions_ = _threshold(quality, flagged)
        palette = Palette(ax)
        edges = np.histogram_bin_edges(quality, bins, range=(0, 1)) if np.ndim(bins) == 0 else np.asarray(bins)
        self.steps_ = []
        for (name, members), color in zip(self._groups(flagged).items(), (palette.right, palette.wrong), strict=True):
            counts = np.histogram(quality[members], edges)[0]
            style = {"edgecolor": color, "facecolor": (color, 0.35), "linewidth": 1.5}
            style = with_defaults(hist_kw, StepPatch, **style, label=f"{name}: {members.sum():,}")
            # Outlined, because the one that is drawn first would else be lost behind the other.
            self.steps_.append(ax.stairs(counts, edges, fill=True, **style))
        self.line_ = None
        if self.threshold_ is not None:
            exceptions = f", with {self.n_exceptions_:,} exceptions" if self.n_exceptions_ else ""
            style = {"color": palette.neutral, "linestyle": "--", "label": f"flagged below {self.threshold_:.2g}"}
            style["label"] += exceptions
            self.line_ = ax.axvline(self.threshold_, **with_defaults(line_kw, Line2D, **style))
        if log:
            ax.set_yscale("log")
            ax.set_ylim(bottom=0.7)  # a bar of one sample can be seen
        ax.set(xlabel="Label quality", ylabel="Number of samples", xlim=(edges[0], edges[-1]))
        # Above, because the tallest bars are on both sides.
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, frameon=False, fontsize="small")
        return self

    def _groups(self, flagged: np.ndarray) -> dict[str, np.ndarray]:
        """Return masks of the labels of each color, by what the legend says of them."""
        if self.is_wrong is None:
            return {"not flagged": ~flagged, "flagged": flagged}
        is_wrong = np.asarray(self.is_wrong, dtype=bool)
        return {"right labels": ~is_wrong, "wrong labels": is_wrong}

    @classmethod
    def from_issues(cls, issues, y_true: ArrayLike | None = None, **kwargs):
        """Draw the distribution of a table of label issues.

        Parameters
        ----------
        issues : DataFrame
            What `find_label_issues` returns.
        y_true : array-like of shape (n_samples,) or None, default=None
            The right labels, in the order of `issues`, if they are known.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : LabelQualityDisplay
        """
        is_wrong = None if y_true is None else wrong_labels(issues["given_label"], y_true)
        return cls(issues["label_quality"], issues["is_label_issue"], is_wrong=is_wrong).plot(**kwargs)

    @classmethod
    def from_estimator(cls, estimator, X=None, y=None, *, y_true: ArrayLike | None = None, **kwargs):
        """Find label issues, and draw the distribution of label quality.

        Parameters
        ----------
        estimator, X, y : as for `find_label_issues`
        y_true : array-like of shape (n_samples,) or None, default=None
            The right labels, if they are known.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : LabelQualityDisplay
        """
        from sklearn_lec.inspection.label_issues import find_label_issues

        return cls.from_issues(find_label_issues(estimator, X, y), y_true, **kwargs)


def _threshold(quality: np.ndarray, flagged: np.ndarray) -> tuple[float | None, int]:
    """Return the value that separates flagged labels from the others best, and how many are on its wrong side."""
    if flagged.all() or not flagged.any():
        return None, 0
    order = np.argsort(quality, kind="stable")
    # Between the k-th and the next: what is flagged should lie before it, and the rest behind.
    n_before = np.concatenate([[0], np.cumsum(flagged[order])])
    exceptions = (np.arange(len(order) + 1) - n_before) + (flagged.sum() - n_before)
    best = int(exceptions.argmin())
    bounds = np.concatenate([[0.0], quality[order], [1.0]])
    return float((bounds[best] + bounds[best + 1]) / 2), int(exceptions[best])
