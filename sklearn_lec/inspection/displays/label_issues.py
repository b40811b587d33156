"""LabelIssuesDisplay: the most suspect samples, with the labels that they were given and those that are suggested."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sklearn_lec.inspection.displays._drawing import (
    Palette,
    axes_grid,
    fading_colormap,
    readable_on,
    shortened,
    with_defaults,
)
from sklearn_lec.inspection.displays._neighbors import ComparableTable
from sklearn_lec.inspection.displays._samples import as_images, is_table, positions_in, samples_at

__all__ = ["LabelIssuesDisplay"]

N_IMAGES, N_ROWS = 12, 4
"""How many images, or rows of a table, are shown by default."""
COLUMNS_OF_IMAGES, COLUMNS_OF_ROWS = 4, 2
"""How many of them are side by side by default."""
LABELS = ("given_label", "predicted_label", "suggested_label")
FAR = 3.0
"""The difference in standard deviations at which the color of a cell is full."""


class LabelIssuesDisplay:
    r"""The most suspect samples: images, or rows of a table beside the trusted rows that are most like them.

    A panel of a table shows a sample, the trusted sample most like it among those with its given label, and the same
    for the suggested label. Its features are those in which the sample is closer to the suggested label; the color
    grows with the difference. Use `from_estimator` or `from_issues`. All parameters are stored as attributes.

    Parameters
    ----------
    issues : DataFrame
        What `find_label_issues` returns. For images those that are flagged will do, for tables it takes all samples.
    X : array-like, DataFrame, sparse matrix, Tensor or Dataset
        The samples, of which `issues` tells. Images have the shape (H, W), (C, H, W) or (H, W, C); a Dataset yields
        images, which may be of PIL.
    image_shape : tuple of int or None, default=None
        The shape of an image, such as (28, 28), if X has them flat.
    feature_names : sequence of str or None, default=None
        For a table; None takes the names of a DataFrame's columns.
    y_true : array-like of shape (n_samples,) or None, default=None
        The right labels, in the order of X, to be written beside the others.

    Attributes
    ----------
    shown_ : int ndarray of shape (n_shown,)
        The positions in X of the samples, the most suspect first.
    axes_ : ndarray of matplotlib Axes, shape (n_rows, n_columns)
    images_ : list of matplotlib AxesImage
        The images, or the colored cells of a table: differences in standard deviations.
    neighbors_ : list of tuples (int or None, int or None)
        For a table: the trusted neighbors of each sample with the given and the suggested label.
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_lec.inspection.find_label_issues : The table behind it.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn_lec.inspection import LabelIssuesDisplay
    >>> issues = pd.DataFrame({"is_label_issue": [False, True], "label_quality": [0.9, 0.1]})
    >>> issues["given_label"], issues["predicted_label"], issues["suggested_label"] = "cat", "dog", "dog"
    >>> display = LabelIssuesDisplay.from_issues(issues, np.zeros((2, 8, 8)))
    >>> display.axes_[0, 0].get_title()
    'given cat\nsuggested dog'
    """

    def __init__(
        self,
        issues,
        X,
        *,
        image_shape: tuple[int, ...] | None = None,
        feature_names: Sequence[str] | None = None,
        y_true: ArrayLike | None = None,
    ):
        self.issues = issues
        self.X = X
        self.image_shape = image_shape
        self.feature_names = feature_names
        self.y_true = y_true

    def plot(
        self,
        *,
        n_issues: int | None = None,
        n_columns: int | None = None,
        n_features: int = 5,
        ax=None,
        cmap=None,
        im_kw: dict | None = None,
        text_kw: dict | None = None,
    ):
        """Draw the most suspect of the flagged samples.

        Parameters
        ----------
        n_issues : int or None, default=None
            How many at most; None takes 12 images, or 4 samples of a table.
        n_columns : int or None, default=None
            Panels in a line; None takes 4 for images, and 2 for a table.
        n_features : int, default=5
            Features in a panel of a table.
        ax : matplotlib Axes, array-like of Axes or None, default=None
            One is divided; several are used as they are, one for each sample. None makes a new figure.
        cmap : str, matplotlib Colormap or None, default=None
            None takes "gray" for images without colors, and fades from the background to red for tables.
        im_kw : dict or None, default=None
            Passed to ``Axes.imshow``.
        text_kw : dict or None, default=None
            Passed to ``Axes.set_title``.

        Returns
        -------
        display : LabelIssuesDisplay
        """
        of_table = is_table(self.X, self.image_shape)
        if n_issues is None:
            n_issues = N_ROWS if of_table else N_IMAGES
        if n_issues < 1:
            raise ValueError(f"n_issues must be at least 1, got {n_issues}. Pass how many samples to show at most.")
        suspects = self._most_suspect(n_issues)
        if n_columns is None:
            n_columns = COLUMNS_OF_ROWS if of_table else COLUMNS_OF_IMAGES
        n_columns = min(n_columns, max(1, len(suspects)))
        if np.ndim(ax):
            n_columns = len(suspects)
        n_lines = max(1, -(-len(suspects) // n_columns))
        self.axes_ = axes_grid(ax, n_lines, n_columns, "LabelIssuesDisplay.plot")
        self.figure_ = self.axes_[0, 0].figure
        self.shown_ = np.array([suspect.position for suspect in suspects], dtype=int)
        self.neighbors_ = []
        if of_table:
            self.images_ = self._draw_rows(suspects, n_features, cmap, im_kw, text_kw)
        else:
            self.images_ = self._draw_images(suspects, cmap, im_kw, text_kw)
        for spare in self.axes_.ravel()[len(suspects) :]:
            spare.set_axis_off()
        if not suspects:
            self.axes_[0, 0].text(0.5, 0.5, "No label is flagged.", ha="center", va="center")
        return self

    def _most_suspect(self, n_issues: int) -> list["_Suspect"]:
        """Return the flagged samples with the lowest label quality, the lowest first."""
        import pandas as pd

        positions = positions_in(self.X, self.issues)
        flagged = np.flatnonzero(self.issues["is_label_issue"].to_numpy(dtype=bool))
        order = np.argsort(self.issues["label_quality"].to_numpy(dtype=float)[flagged], kind="stable")
        suspects = []
        for line in flagged[order][:n_issues]:
            # Column by column: a row of integers and floats would be one of floats.
            issue = {name: self.issues[name].iloc[line] for name in LABELS}
            issue = {name: None if pd.isna(label) else label for name, label in issue.items()}
            source = "predicted" if issue["suggested_label"] is None else "suggested"
            suspects.append(
                _Suspect(
                    position=int(positions[line]),
                    name=f"#{shortened(self.issues.index[line], 12)}",
                    given=issue["given_label"],
                    better=issue[f"{source}_label"],
                    source=source,
                    true=None if self.y_true is None else np.asarray(self.y_true)[positions[line]],
                )
            )
        return suspects

    def _draw_images(self, suspects, cmap, im_kw, text_kw) -> list:
        """Draw one image into each panel, and return what was drawn."""
        from matplotlib.text import Text

        drawn = []
        images = as_images(samples_at(self.X, self.shown_), self.image_shape)
        gray = [image for image in images if image.ndim == 2]
        scale = {"vmin": min(image.min() for image in gray), "vmax": max(image.max() for image in gray)} if gray else {}
        style = {"cmap": cmap or "gray"} | scale | (im_kw or {})
        for panel, image, suspect in zip(self.axes_.ravel(), images, suspects, strict=False):
            drawn.append(panel.imshow(image, **style))
            panel.set(xticks=[], yticks=[])
            panel.set_xlabel(suspect.name, fontsize="x-small", labelpad=2, alpha=0.7)
            title = with_defaults(text_kw, Text, fontsize="small")
            panel.set_title("\n".join(suspect.labels(longest=20)), **title)
        return drawn

    def _draw_rows(self, suspects, n_features, cmap, im_kw, text_kw) -> list:
        """Draw a sample beside its trusted neighbors into each panel, and return the colored cells."""
        from matplotlib.text import Text

        table = ComparableTable(self.X, feature_names=self.feature_names)
        trusted = self._trusted()
        cmap = fading_colormap(Palette(self.axes_[0, 0]).wrong) if cmap is None else cmap
        style = {"cmap": cmap, "vmin": 0, "vmax": FAR, "aspect": "auto"} | (im_kw or {})
        drawn = []
        for panel, suspect in zip(self.axes_.ravel(), suspects, strict=False):
            labels = suspect.given, suspect.better
            neighbors = [table.nearest(suspect.position, trusted(label)) for label in labels]
            self.neighbors_.append(tuple(neighbors))
            apart = np.zeros((3, len(table.feature_names)))
            for of_column, neighbor in zip(apart[1:], neighbors, strict=True):
                if neighbor is not None:
                    of_column[:] = table.differences(suspect.position, neighbor)
            # What speaks for the better label: far from the samples with the given one, close to those with the other.
            features = np.argsort(apart[2] - apart[1], kind="stable")[:n_features]
            columns = [suspect.position, *neighbors]
            cells = apart[:, features].T
            drawn.append(panel.imshow(cells, **style))
            for (row, column), value in np.ndenumerate(cells):
                text = "" if columns[column] is None else shortened(table.text(columns[column], features[row]), 10)
                color = readable_on(drawn[-1].to_rgba(value), panel)
                panel.text(column, row, text, color=color, ha="center", va="center", fontsize="small")
            heads = [suspect.name, *(f"nearest\n{shortened(label, 12)}" for label in labels if label is not None)]
            names = [shortened(table.feature_names[k], 22) for k in features]
            panel.set_xticks(range(len(heads)), heads, fontsize="small")
            panel.set_yticks(range(len(names)), names, fontsize="small")
            panel.tick_params(length=0, labeltop=True, labelbottom=False)
            panel.spines[:].set_visible(False)
            panel.set_title(", ".join(suspect.labels(longest=24)), **with_defaults(text_kw, Text, fontsize="small"))
        return drawn

    def _trusted(self):
        """Return a function from a label to the positions of the samples that have it and are to be trusted."""
        positions = positions_in(self.X, self.issues)
        given, predicted = (self.issues[name] for name in ("given_label", "predicted_label"))
        is_known = predicted.notna().to_numpy()
        given, predicted = given.to_numpy(dtype=object), predicted.to_numpy(dtype=object)
        is_trusted = is_known & ~self.issues["is_label_issue"].to_numpy(dtype=bool)
        is_trusted[is_known] &= given[is_known] == predicted[is_known]
        if not is_trusted.any():
            raise ValueError(
                "issues has no sample that can be trusted: not flagged, and predicted as labelled. A table is compared "
                "with such samples: pass the issues of all samples (ranked=False)."
            )
        return lambda label: positions[is_trusted & (given == label)]

    @classmethod
    def from_issues(
        cls,
        issues,
        X,
        *,
        image_shape: tuple[int, ...] | None = None,
        feature_names: Sequence[str] | None = None,
        y_true: ArrayLike | None = None,
        **kwargs,
    ):
        """Draw the samples of a table of label issues.

        Parameters
        ----------
        issues, X, image_shape, feature_names, y_true : as for the class
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : LabelIssuesDisplay
        """
        display = cls(issues, X, image_shape=image_shape, feature_names=feature_names, y_true=y_true)
        return display.plot(**kwargs)

    @classmethod
    def from_estimator(cls, estimator, X, y: ArrayLike | None = None, **kwargs):
        """Find label issues, and draw the most suspect samples.

        Parameters
        ----------
        estimator : fitted LECClassifier, or what else `find_label_issues` takes
        X : array-like, DataFrame, sparse matrix, Tensor or Dataset
            The samples, as the estimator takes them.
        y : array-like of shape (n_samples,) or None, default=None
            Their labels; may be None for the samples that a `LECClassifier` was fitted on.
        **kwargs : dict
            Passed to `from_issues`.

        Returns
        -------
        display : LabelIssuesDisplay
        """
        from sklearn_lec.inspection.label_issues import find_label_issues

        return cls.from_issues(find_label_issues(estimator, X, y), X, **kwargs)


@dataclass(frozen=True)
class _Suspect:
    """A sample that is shown: where it is in X, what it is called, and the labels that are told of it."""

    position: int
    name: str
    given: object
    better: object
    source: str
    true: object

    def labels(self, *, longest: int) -> list[str]:
        """Return the texts about its labels, of so many characters at most."""
        told = {"given": self.given, self.source: self.better, "true": self.true}
        return [shortened(f"{word} {label}", longest) for word, label in told.items() if label is not None]
