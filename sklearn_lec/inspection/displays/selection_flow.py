"""SelectionFlowDisplay: when each sample was selected."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sklearn_lec.inspection.displays._drawing import Palette, fading_colormap, legend_beside, single_axes, with_defaults
from sklearn_lec.inspection.displays._fitted import (
    fitted_classifier,
    noise_mask,
    selection_history,
    training_samples,
    warmup_epochs,
)

__all__ = ["SelectionFlowDisplay"]

MOST_LINES = 500
"""Lines of the picture: more than there are pixels on the screen would only be thrown away in drawing."""


class SelectionFlowDisplay:
    """When each sample was selected: samples from top to bottom, epochs from left to right.

    Samples that were selected most often come first; right and wrong labels apart, where they are known. Use
    `from_estimator` or `from_masks`. All parameters are stored as attributes.

    Parameters
    ----------
    masks : array-like of bool, shape (n_epochs, n_samples)
        The samples that each epoch selected.
    epochs : sequence of int or None, default=None
        The numbers of the epochs, ascending and without gaps; None counts from 1.
    is_wrong : array-like of bool, shape (n_samples,), or None, default=None
        The samples whose label is wrong, if that is known.
    T_w : int or None, default=None
        The epochs of warm-up.

    Attributes
    ----------
    order_ : int ndarray of shape (n_samples,)
        The samples from top to bottom.
    images_ : list of matplotlib AxesImage
        One of all samples, or one of those with a right label and one of the others. A line stands for one sample, or
        for several neighbors if there are more than fit, and a value for the share of them that was selected.
    line_ : matplotlib Line2D or None
        The end of the warm-up.
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure

    See Also
    --------
    sklearn_lec.callbacks.SelectionHistory : Keeps the selection of each epoch.

    Examples
    --------
    >>> from sklearn_lec.inspection import SelectionFlowDisplay
    >>> masks = [[True, True, True], [True, False, True], [False, False, True]]
    >>> display = SelectionFlowDisplay.from_masks(masks, T_w=1)
    >>> display.order_.tolist()
    [2, 0, 1]
    """

    def __init__(
        self,
        masks: ArrayLike,
        *,
        epochs: Sequence[int] | None = None,
        is_wrong: ArrayLike | None = None,
        T_w: int | None = None,
    ):
        self.masks = masks
        self.epochs = epochs
        self.is_wrong = is_wrong
        self.T_w = T_w

    def plot(self, *, ax=None, im_kw: dict | None = None, line_kw: dict | None = None):
        """Draw the selection.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            None makes a new figure.
        im_kw : dict or None, default=None
            Passed to ``Axes.imshow``.
        line_kw : dict or None, default=None
            Passed to ``Axes.axvline`` for the end of the warm-up.

        Returns
        -------
        display : SelectionFlowDisplay
        """
        masks = np.asarray(self.masks, dtype=bool)
        if masks.ndim != 2 or not masks.size:
            raise ValueError(
                f"masks must have the shape (n_epochs, n_samples), with at least one of each, got {masks.shape}. Pass "
                "a list of clean_mask_, one per epoch."
            )
        self.ax_ = ax = single_axes(ax, "SelectionFlowDisplay.plot")
        self.figure_ = ax.figure
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        first = 1 if self.epochs is None else self.epochs[0]
        last = first + len(masks) - 1
        palette = Palette(ax)
        groups = self._groups(masks.shape[1], palette)
        self.order_, self.images_, handles, top = np.empty(0, dtype=int), [], [], 0
        for name, color, members in groups:
            members = members[_most_selected_first(masks[:, members])]
            self.order_ = np.concatenate([self.order_, members])
            if not len(members):
                continue
            extent = (first - 0.5, last + 0.5, top + len(members), top)
            style = {"cmap": fading_colormap(color), "vmin": 0, "vmax": 1, "interpolation": "nearest"}
            style |= {"extent": extent, "aspect": "auto"} | (im_kw or {})
            self.images_.append(ax.imshow(_in_lines(masks[:, members], MOST_LINES), **style))
            handles.append(Patch(color=self.images_[-1].cmap(1.0), label=f"{name}: {len(members):,}"))
            top += len(members)
        self.line_ = None
        if self.T_w and first <= self.T_w < last:
            style = {"color": palette.neutral, "linestyle": "--", "label": "end of warm-up"}
            self.line_ = ax.axvline(self.T_w + 0.5, **with_defaults(line_kw, Line2D, **style))
            handles.append(self.line_)
        ax.set(xlim=(first - 0.5, last + 0.5), ylim=(top, 0), xlabel="Epoch", ylabel="Samples, sorted")
        ax.xaxis.get_major_locator().set_params(integer=True)
        legend_beside(ax, handles=handles, title="Selected", alignment="left")
        return self

    def _groups(self, n_samples: int, palette: Palette) -> list[tuple[str, str, np.ndarray]]:
        """Return what is drawn in one color: its name, the color, and the numbers of the samples."""
        if self.is_wrong is None:
            return [("samples", palette.right, np.arange(n_samples))]
        is_wrong = np.asarray(self.is_wrong, dtype=bool)
        if is_wrong.shape != (n_samples,):
            raise ValueError(
                f"is_wrong has shape {is_wrong.shape}, but masks are about {n_samples} samples. Pass one boolean each."
            )
        right, wrong = np.flatnonzero(~is_wrong), np.flatnonzero(is_wrong)
        return [("right labels", palette.right, right), ("wrong labels", palette.wrong, wrong)]

    @classmethod
    def from_estimator(cls, estimator, *, y_true: ArrayLike | None = None, y: ArrayLike | None = None, **kwargs):
        """Draw when a fitted classifier has selected its training samples.

        Parameters
        ----------
        estimator : LECClassifier, fitted with the callback `SelectionHistory`
            Or a pipeline, a search or a `NoisyLabelClassifier` with a fitted one.
        y_true : array-like of shape (n_samples,) or None, default=None
            The right labels; not needed with the callback `LabelQuality`.
        y : array-like of shape (n_samples,) or None, default=None
            The labels passed to ``fit``, to compare `y_true` with; None takes what the estimator remembers.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : SelectionFlowDisplay
            Samples held out by `train_split` are not in it.
        """
        caller = f"{cls.__name__}.from_estimator"
        clf = fitted_classifier(estimator, caller)
        kept = selection_history(clf)
        if kept is None:
            raise ValueError(
                f"{caller} needs the selection of each epoch, which is not kept by default. Fit with "
                "callbacks=[SelectionHistory()], from sklearn_lec.callbacks, or pass the masks to from_masks."
            )
        in_training = training_samples(clf)
        is_wrong = noise_mask(clf, y_true, y)
        return cls.from_masks(
            kept.masks_[:, in_training],
            epochs=kept.epochs_,
            is_wrong=None if is_wrong is None else is_wrong[in_training],
            T_w=warmup_epochs(clf),
            **kwargs,
        )

    @classmethod
    def from_masks(
        cls,
        masks: ArrayLike,
        *,
        epochs: Sequence[int] | None = None,
        is_wrong: ArrayLike | None = None,
        T_w: int | None = None,
        **kwargs,
    ):
        """Draw masks that were kept by other means.

        Parameters
        ----------
        masks, epochs, is_wrong, T_w : as for the class
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        display : SelectionFlowDisplay
        """
        return cls(masks, epochs=epochs, is_wrong=is_wrong, T_w=T_w).plot(**kwargs)


def _most_selected_first(masks: np.ndarray) -> np.ndarray:
    """Return an order of samples: by how often they were selected, then by when they were selected last."""
    epochs = np.arange(1, len(masks) + 1)
    last = (masks * epochs[:, None]).max(axis=0)
    return np.lexsort((-last, -masks.sum(axis=0)))


def _in_lines(masks: np.ndarray, n_lines: int) -> np.ndarray:
    """Return the share of selected samples, for lines of one sample or of several, and epochs."""
    n_samples = masks.shape[1]
    starts = np.arange(n_samples) if n_samples <= n_lines else np.arange(n_lines) * n_samples // n_lines
    sizes = np.diff(np.append(starts, n_samples))
    return np.add.reduceat(masks.T.astype(np.float32), starts, axis=0) / sizes[:, None]
