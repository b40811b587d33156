"""The paper's figures as PNG files: curves over epochs, corruption matrices and examples."""

import io
from pathlib import Path

import numpy as np

from benchmarks.experiments import Column, Experiment, Row
from benchmarks.extras import read_examples, read_matrices
from benchmarks.files import write_whole
from benchmarks.results import Results
from benchmarks.tables import data_title, noise_title
from sklearn_lec.methods import METHODS

__all__ = ["curves_figure", "examples_figure", "matrices_figure"]

DPI = 110
PANEL = (3.1, 2.3)
"""Width and height of a panel, in inches."""

# Okabe's and Ito's colours, and some of Tol's: safe for the colour-blind. Dashes tell lines apart in print.
STYLES = {
    "standard": ("#000000", (0, (1, 1))),
    "d2l": ("#E69F00", (0, (5, 1.5))),
    "forward": ("#CC79A7", (0, (4, 1.2, 1, 1.2))),
    "co-teaching": ("#56B4E9", (0, (2.5, 1))),
    "ltec": ("#D55E00", "-"),
    "ltec-full": ("#0072B2", (0, (7, 1))),
    "cleanlab": ("#888888", "-"),
    "self-training": ("#009E73", (0, (3, 1, 1, 1, 1, 1))),
    "lnec": ("#332288", (0, (5, 1.5))),
    "lsec": ("#999933", (0, (4, 1.2, 1, 1.2))),
}
# For methods that the paper does not have, and for further columns of one method: Tol's colours that are left.
OTHER_STYLES = [
    ("#117733", "-"),
    ("#AA4499", (0, (5, 1.5))),
    ("#44AA99", (0, (2.5, 1))),
    ("#661100", (0, (4, 1.2, 1, 1.2))),
    ("#DDCC77", "-"),
    ("#6699CC", (0, (7, 1))),
    ("#AA4466", (0, (1, 1))),
    ("#4477AA", (0, (3, 1, 1, 1, 1, 1))),
]
# LTEC with another M than the paper's 5: LTEC's hue from light to dark, and one apart for all epochs.
STYLES_BY_M = {
    3: ("#F5B183", (0, (5, 1.5))),
    7: ("#9C4300", (0, (4, 1.2, 1, 1.2))),
    9: ("#5E2800", (0, (2.5, 1))),
    "inf": ("#882255", (0, (1, 1))),
}
SMALL_LOSS = ("#009E73", (0, (5, 1.5)))
INTERSECTION = ("#D55E00", "-")
KEEP_EVERY_ROW = ("d2l", "forward")
"""Methods whose label precision is that of the data, as Standard's."""

N_NAMED_CLASSES = 10
"""The names of more classes do not fit beside a matrix."""

AXES = {
    "accuracy": "test accuracy (%)",
    "precision": "label precision (%)",
    "small-loss precision": "label precision (%)",
    "recall": "label recall (%)",
}


def curves_figure(experiment: Experiment, results: Results, path: Path) -> Path:
    """Draw a figure of curves: a panel per noise, a row of panels per data set, mean and one standard deviation.

    Parameters
    ----------
    experiment : Experiment
    results : Results
    path : Path
        The PNG file that is written.

    Returns
    -------
    path : Path
    """
    rows = experiment.rows_at(results.scale)
    datasets, noises = (list(dict.fromkeys(names)) for names in zip(*((r.data, r.noise) for r in rows), strict=True))
    size = (PANEL[0] * len(noises) + 0.4, PANEL[1] * len(datasets) + 0.75)
    figure, axes = _panels(len(datasets), len(noises), size=size)
    for ax in axes.flat:
        ax.set_visible(False)
    for row in rows:
        ax = axes[datasets.index(row.data), noises.index(row.noise)]
        ax.set_visible(True)
        _draw_panel(ax, experiment, row, results)
    for line in axes:
        next(ax for ax in line if ax.get_visible()).set_ylabel(AXES[experiment.shows])
    for line in axes.T:
        [ax for ax in line if ax.get_visible()][-1].set_xlabel("epoch")
    handles = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    # Panels may lack lines, so the order is that of the experiment and not of the first panel.
    order = [label for label, *_ in _lines(experiment, results) if label in handles]
    if order:
        widest = 0.7 + 0.085 * max(map(len, order))  # inches, about
        ncols = max(1, min(len(order), int(size[0] / widest)))
        figure.legend([handles[o] for o in order], order, loc="outside upper center", ncols=ncols, handlelength=3)
    return _save(figure, path)


def matrices_figure(source: Path, path: Path) -> Path:
    """Draw corruption matrices side by side; where there are few classes, with their names and the numbers.

    Parameters
    ----------
    source : Path
        The file that `benchmarks.extras` keeps of them.
    path : Path
        The PNG file that is written.

    Returns
    -------
    path : Path
    """
    panels = read_matrices(source)["panels"]
    figure, axes = _panels(1, len(panels), size=(3.5 * len(panels) + 1.6, 4.4), layout="compressed")
    for ax, panel in zip(axes.flat, panels, strict=True):
        image = ax.imshow(100 * panel["matrix"], cmap="Blues", vmin=0, vmax=100)
        ax.set_title(f"{data_title(panel['data'])}, {noise_title(panel['noise'])}", size=11)
        ax.set(xlabel="given label", xticks=[], yticks=[])
        if len(panel["class_names"]) <= N_NAMED_CLASSES:
            _name_classes(ax, panel)
    axes[0, 0].set_ylabel("true label")
    figure.colorbar(image, ax=axes, label="% of the true label", shrink=0.7, pad=0.01)
    return _save(figure, path, colours=None)


def examples_figure(source: Path, path: Path) -> Path:
    """Draw clean examples above noisy ones, with their given labels.

    Parameters
    ----------
    source : Path
        The file that `benchmarks.extras` keeps of them.
    path : Path
        The PNG file that is written.

    Returns
    -------
    path : Path
    """
    examples = read_examples(source)
    names = examples["class_names"]
    given, true = names[examples["y_noisy"]], names[examples["y_true"]]
    n_columns = given.shape[1]
    figure, axes = _panels(2, n_columns, size=(1.25 * n_columns + 0.4, 3.5), layout="compressed")
    for place, ax in np.ndenumerate(axes):
        image = np.moveaxis(examples["images"][place], 0, -1)
        ax.imshow(image, cmap="gray", vmin=0, vmax=1)  # the map is for one channel; three are colours already
        ax.set_title(given[place] if given[place] == true[place] else f"{given[place]}\n(is {true[place]})", size=9)
        ax.set(xticks=[], yticks=[], frame_on=False)
    for ax, kind in zip(axes[:, 0], ("clean", "noisy"), strict=True):
        ax.set_ylabel(kind, size=11)
    return _save(figure, path, colours=None)


def _name_classes(ax, panel: dict) -> None:
    """Write the names of classes beside a corruption matrix, and its numbers into it."""
    names, shares = panel["class_names"], 100 * panel["matrix"]
    turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if max(map(len, names)) > 2 else {}
    ax.set_xticks(range(len(names)), names, **turned)
    if ax.get_subplotspec().is_first_col():
        ax.set_yticks(range(len(names)), names)
    for i, j in zip(*np.nonzero(shares >= 0.5), strict=True):
        color = "white" if shares[i, j] > 50 else "black"
        ax.text(j, i, f"{shares[i, j]:.0f}", ha="center", va="center", size=7, color=color)


def _lines(experiment: Experiment, results: Results) -> list[tuple[str, Column, str, tuple]]:
    """Return what a panel shows: label, column, measure and style of each line."""
    columns = experiment.columns_at(results.scale)
    if experiment.shows == "small-loss precision":
        (column,) = columns
        return [
            ("small-loss rows of the current network", column, "small_loss_precision", SMALL_LOSS),
            ("intersection with those of the preceding networks", column, "precision", INTERSECTION),
        ]
    left_out = KEEP_EVERY_ROW if experiment.shows == "precision" else ()
    shown = [column for column in columns if column.method not in left_out]
    return [
        (column.title, column, experiment.shows, style) for column, style in zip(shown, _styles(shown), strict=True)
    ]


def _styles(columns: list[Column]) -> list[tuple]:
    """Return the colour and the dashes of each line: those of its method, or others if an earlier line has them."""
    styles = []
    for column in columns:
        style = _style_of(column)
        if style in styles:
            style = next((other for other in OTHER_STYLES if other not in styles), style)
        styles.append(style)
    return styles


def _style_of(column: Column) -> tuple:
    """Return the style that a column has in all figures."""
    if column.method == "ltec" and column.M in STYLES_BY_M:
        return STYLES_BY_M[column.M]
    if column.method in STYLES:
        return STYLES[column.method]
    others = [method for method in METHODS if method not in STYLES]
    return OTHER_STYLES[others.index(column.method) % len(OTHER_STYLES)]


def _draw_panel(ax, experiment: Experiment, row: Row, results: Results) -> None:
    for label, column, measure, (color, dashes) in _lines(experiment, results):
        mean, std = results.curve(experiment, row, column, measure)
        if len(mean):
            epochs = np.arange(1, len(mean) + 1)
            shown = epochs > _first_epochs_left_out(experiment, row, column, results)
            ax.plot(epochs[shown], mean[shown], color=color, linestyle=dashes, linewidth=1.4, label=label)
            ax.fill_between(
                epochs[shown], (mean - std)[shown], (mean + std)[shown], color=color, alpha=0.2, linewidth=0
            )
    ax.set_title(f"{data_title(row.data)}, {noise_title(row.noise)}", size=10)
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.tick_params(labelsize=8)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if not ax.lines:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "not run", transform=ax.transAxes, ha="center", va="center", color="gray")


def _first_epochs_left_out(experiment: Experiment, row: Row, column: Column, results: Results) -> int:
    """Return the length of the warm-up where only the filtering is of interest."""
    if experiment.shows != "small-loss precision":
        return 0
    return results.of(experiment, row, column)[0]["settings"]["T_w"]


def _panels(n_rows: int, n_columns: int, *, size: tuple[float, float], layout: str = "constrained"):
    """Return a figure and its panels; it belongs to no window and no notebook. Square panels look best compressed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("figures need matplotlib: pip install 'sklearn-lec[plot]'") from error
    figure = Figure(figsize=size, layout=layout)
    FigureCanvasAgg(figure)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _save(figure, path: Path, *, colours: int | None = 128) -> Path:
    """Write a figure; a palette of few colours makes a drawing's file a third as large, but bands what is shaded."""
    from PIL import Image

    figure.set_dpi(DPI)
    figure.canvas.draw()
    picture = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert("RGB")
    if colours is not None:
        picture = picture.quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    picture.save(buffer, format="png", optimize=True)
    write_whole(path, buffer.getvalue())
    return path
