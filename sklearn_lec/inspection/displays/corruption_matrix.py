"""CorruptionMatrixDisplay: which classes are mislabelled as which."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix
from sklearn.utils.multiclass import unique_labels

from sklearn_lec.estimation import NoiseEstimate
from sklearn_lec.inspection.displays._drawing import (
    Palette,
    fading_colormap,
    readable_on,
    shortened,
    single_axes,
    with_defaults,
)
from sklearn_lec.inspection.displays._fitted import fitted_classifier

__all__ = ["CorruptionMatrixDisplay"]

MOST_WITH_ZEROS = 12
"""Classes up to which there is room for the zero of 0.25."""
MOST_WITH_VALUES = 20
"""Classes up to which there is room for a value in each cell."""
MOST_NAMES = 30
"""Classes up to which there is room for the name of each."""
LONGEST_LABEL = 18
WIDTH = 55
"""Characters for which there is room below the matrix."""
SMALLEST_SCALE = 0.01
"""The end of the color scale at the least, so that a matrix without noise does not look like one full of it."""
MEANING = {
    "true": "share of the true class",
    "pred": "share of the given label",
    "all": "share of all samples",
    None: "number of samples",
}


class CorruptionMatrixDisplay:
    """The share of each true class (row) that has each label (column).

    Only wrong labels are colored: the diagonal, which has most of the samples, would take up the whole scale. Of more
    than 30 classes those are named that are confused most. Use `from_estimator`, `from_estimate` or
    `from_predictions`. All parameters are stored as attributes.

    Parameters
    ----------
    corruption_matrix : array-like of shape (n_classes, n_classes)
    display_labels : array-like of shape (n_classes,) or None, default=None
        None numbers the classes from 0.
    true_label : str, default="True label"
        What the rows are.
    meaning : str, default="share of the true class"
        What the values are.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        Its array is masked on the diagonal.
    text_ : ndarray of matplotlib Text, shape (n_classes, n_classes), or None
        None if there are no values. Shares that would be shown as zero are left empty.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn.metrics.ConfusionMatrixDisplay : The same for the errors of a classifier.
    sklearn_lec.estimation.estimate_noise : Estimates the matrix.

    Examples
    --------
    >>> from sklearn_lec.inspection import CorruptionMatrixDisplay
    >>> y_true, y_given = ["cat", "cat", "dog", "dog"], ["cat", "dog", "dog", "dog"]
    >>> display = CorruptionMatrixDisplay.from_predictions(y_true, y_given)
    >>> display.corruption_matrix.tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    def __init__(
        self,
        corruption_matrix: ArrayLike,
        *,
        display_labels: ArrayLike | None = None,
        true_label: str = "True label",
        meaning: str = MEANING["true"],
    ):
        self.corruption_matrix = corruption_matrix
        self.display_labels = display_labels
        self.true_label = true_label
        self.meaning = meaning

    def plot(
        self,
        *,
        include_values: bool | str = "auto",
        cmap=None,
        xticks_rotation: str | float = "auto",
        values_format: str | None = None,
        ax=None,
        colorbar: bool = True,
        im_kw: dict | None = None,
        text_kw: dict | None = None,
    ):
        """Draw the matrix.

        Parameters
        ----------
        include_values : bool or "auto", default="auto"
            Whether to write the values into the cells; "auto" does for 20 classes at most.
        cmap : str, matplotlib Colormap or None, default=None
            None fades from the background to red.
        xticks_rotation : {"auto", "vertical", "horizontal"} or float, default="auto"
            "auto" is horizontal where the labels are short enough.
        values_format : str or None, default=None
            Format of the values. None takes "d" for counts and ".2f" for shares, and leaves zeros empty.
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        colorbar : bool, default=True
        im_kw : dict or None, default=None
            Passed to ``Axes.imshow``.
        text_kw : dict or None, default=None
            Passed to ``Axes.text``.

        Returns
        -------
        display : CorruptionMatrixDisplay
        """
        self.ax_ = ax = single_axes(ax, "CorruptionMatrixDisplay.plot")
        self.figure_ = ax.figure
        matrix = np.asarray(self.corruption_matrix)
        n_classes = len(matrix)
        wrong = np.ma.masked_array(matrix, mask=np.eye(n_classes, dtype=bool))
        is_count = matrix.dtype.kind in "iu"
        largest = float(wrong.max()) if n_classes > 1 else 0.0
        im_kw = {
            "interpolation": "nearest",
            "cmap": fading_colormap(Palette(ax).wrong) if cmap is None else cmap,
            "vmin": 0,
            "vmax": max(largest, 1 if is_count else SMALLEST_SCALE),
        } | (im_kw or {})
        if "norm" in im_kw:
            del im_kw["vmin"], im_kw["vmax"]
        self.im_ = ax.imshow(wrong, **im_kw)
        if include_values == "auto":
            include_values = n_classes <= MOST_WITH_VALUES
        self.text_ = self._write_values(matrix, values_format, text_kw) if include_values else None
        if colorbar:
            self.figure_.colorbar(self.im_, ax=ax, label=f"Wrong labels ({self.meaning})")
        self._name_classes(wrong.filled(0), xticks_rotation)
        ax.set(xlabel="Given label", ylabel=self.true_label)
        return self

    def _write_values(self, matrix: np.ndarray, values_format: str | None, text_kw: dict | None) -> np.ndarray:
        """Write the values into the cells, in a color that can be read there."""
        from matplotlib.text import Text

        texts = np.empty(matrix.shape, dtype=object)
        is_count = matrix.dtype.kind in "iu"
        size = min(10.0, 140 / len(matrix))
        for (row, column), value in np.ndenumerate(matrix):
            shown = format(value, values_format or ("d" if is_count else ".2f"))
            if values_format is None and float(shown) == 0:
                shown = ""
            elif values_format is None and len(matrix) > MOST_WITH_ZEROS:
                shown = shown.removeprefix("0")
            cell = self.im_.to_rgba(value) if row != column else "none"
            style = {"color": readable_on(cell, self.ax_), "ha": "center", "va": "center", "fontsize": size}
            texts[row, column] = self.ax_.text(column, row, shown, **with_defaults(text_kw, Text, **style))
        return texts

    def _name_classes(self, wrong: np.ndarray, rotation: str | float) -> None:
        """Label the ticks: of all classes, or of those whose row or column has the largest values."""
        labels = np.arange(len(wrong)) if self.display_labels is None else self.display_labels
        labels = np.array([shortened(label, LONGEST_LABEL) for label in labels], dtype=object)
        rows, columns = (_with_room(wrong.max(axis=axis, initial=0)) for axis in (1, 0))
        if rotation == "auto":
            is_short = sum(len(label) + 1 for label in labels[columns]) <= WIDTH
            rotation = "horizontal" if is_short else "vertical"
        size = "medium" if len(wrong) <= MOST_WITH_VALUES else "small"
        self.ax_.set_xticks(columns, labels[columns], rotation=rotation, fontsize=size)
        self.ax_.set_yticks(rows, labels[rows], fontsize=size)

    @classmethod
    def from_estimator(cls, estimator, **kwargs):
        """Draw the matrix that a fitted classifier has used or estimated.

        Parameters
        ----------
        estimator : fitted LECClassifier
            With ``method="forward"`` it is ``corruption_matrix_``, and else that of ``noise_estimate_``, which
            ``eps="auto"`` makes. A pipeline, a search or a `NoisyLabelClassifier` with a fitted one is taken, too.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CorruptionMatrixDisplay
        """
        clf = fitted_classifier(estimator, f"{cls.__name__}.from_estimator")
        if hasattr(clf, "corruption_matrix_"):
            display = cls(clf.corruption_matrix_, display_labels=clf.classes_, true_label="True label (in the model)")
            return display.plot(**kwargs)
        return cls.from_estimate(clf.noise_estimate_, **kwargs)

    @classmethod
    def from_estimate(cls, estimate: NoiseEstimate, **kwargs):
        """Draw the matrix of an estimate.

        Parameters
        ----------
        estimate : NoiseEstimate
            What `estimate_noise` returns.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CorruptionMatrixDisplay
        """
        labels = {"display_labels": estimate.classes_, "true_label": "True label (estimated)"}
        return cls(estimate.corruption_matrix, **labels).plot(**kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_given: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        normalize: str | None = "true",
        display_labels: ArrayLike | None = None,
        **kwargs,
    ):
        """Draw how labels were given, where the right ones are known.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            The right labels.
        y_given : array-like of shape (n_samples,)
            The labels that were given.
        labels : array-like of shape (n_classes,) or None, default=None
            The classes to show, in their order; None takes all in `y_true` and `y_given`.
        normalize : {"true", "pred", "all"} or None, default="true"
            As in `sklearn.metrics.confusion_matrix`: shares of each true class, of each given label, of all samples, or
            counts.
        display_labels : array-like of shape (n_classes,) or None, default=None
            Names of the classes.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : CorruptionMatrixDisplay
        """
        matrix = confusion_matrix(y_true, y_given, labels=labels, normalize=normalize)
        if display_labels is None:
            display_labels = unique_labels(y_true, y_given) if labels is None else labels
        return cls(matrix, display_labels=display_labels, meaning=MEANING[normalize]).plot(**kwargs)


def _with_room(values: np.ndarray) -> np.ndarray:
    """Return the positions of the largest values, so many and so far apart that there is room for their names."""
    gap = len(values) / MOST_NAMES
    if gap <= 1:
        return np.arange(len(values))
    chosen = []
    for position in np.argsort(-values, kind="stable"):
        if all(abs(position - other) >= gap for other in chosen):
            chosen.append(position)
    return np.sort(chosen)
