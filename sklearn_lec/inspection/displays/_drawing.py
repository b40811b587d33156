"""What all displays draw with: axes, colors that read well on light and dark backgrounds, and short texts."""

import numpy as np

__all__ = [
    "Palette",
    "axes_grid",
    "check_matplotlib",
    "fading_colormap",
    "legend_beside",
    "readable_on",
    "shortened",
    "single_axes",
    "with_defaults",
]


def check_matplotlib(caller: str) -> None:
    """Raise an error that says what to install if there is no matplotlib.

    Parameters
    ----------
    caller : str
        What needs it, such as "SelectionFlowDisplay.plot".
    """
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib. You can install matplotlib with `pip install matplotlib`."
        ) from error


class Palette:
    """The colors of Okabe and Ito, by what they stand for: people who are color-blind can tell them apart, too.

    Parameters
    ----------
    ax : matplotlib Axes
        On a dark background the blue is the lighter one of the two.

    Attributes
    ----------
    right, wrong, third, fourth, neutral : str
        For right labels or samples that are not flagged, for wrong or flagged ones, and for whatever else there is.
    """

    wrong, third, fourth, neutral = "#D55E00", "#009E73", "#CC79A7", "0.5"

    def __init__(self, ax):
        self.right = "#56B4E9" if _luminance(_background(ax)) < 0.2 else "#0072B2"


def single_axes(ax, caller: str):
    """Return `ax`, or the axes of a new figure if it is None.

    Parameters
    ----------
    ax : matplotlib Axes or None
    caller : str
        For the error if there is no matplotlib.

    Returns
    -------
    ax : matplotlib Axes
    """
    check_matplotlib(caller)
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained")[1] if ax is None else ax


def axes_grid(ax, n_rows: int, n_columns: int, caller: str, **kwargs) -> np.ndarray:
    """Return a grid of axes: in a new figure, in the place of one that is given, or those that are given.

    Parameters
    ----------
    ax : matplotlib Axes, array-like of n_rows * n_columns Axes, or None
    n_rows, n_columns : int
    caller : str
        For errors.
    **kwargs : dict
        Passed to ``Figure.subplots`` or ``GridSpec.subplots``, such as ``sharex=True``.

    Returns
    -------
    axes : ndarray of shape (n_rows, n_columns)
    """
    check_matplotlib(caller)
    import matplotlib.pyplot as plt
    from matplotlib.gridspec import GridSpec, GridSpecFromSubplotSpec

    if ax is None:
        return plt.subplots(n_rows, n_columns, layout="constrained", squeeze=False, **kwargs)[1]
    if np.ndim(ax):
        given = np.asarray(ax, dtype=object).ravel()
        if len(given) != n_rows * n_columns:
            raise ValueError(
                f"{caller}: ax holds {len(given)} axes, but {n_rows * n_columns} are drawn. Pass as many, a single one "
                "to be divided, or None."
            )
        return given.reshape(n_rows, n_columns)
    ax.set_axis_off()
    place = ax.get_subplotspec()
    if place is not None:
        grid = GridSpecFromSubplotSpec(n_rows, n_columns, subplot_spec=place)
    else:
        box = ax.get_position()
        edges = {"left": box.x0, "right": box.x1, "bottom": box.y0, "top": box.y1}
        grid = GridSpec(n_rows, n_columns, figure=ax.figure, **edges)
    return grid.subplots(squeeze=False, **kwargs)


def with_defaults(of_user: dict | None, artist_class, **defaults) -> dict:
    """Return the keyword arguments of an artist: those of the user, and defaults for the others.

    Parameters
    ----------
    of_user : dict or None
    artist_class : matplotlib Artist class
        It knows that ``lw`` is another name for ``linewidth``.
    **defaults : dict

    Returns
    -------
    arguments : dict
    """
    from matplotlib.cbook import normalize_kwargs

    return defaults | normalize_kwargs(of_user or {}, artist_class)


def fading_colormap(color: str):
    """Return a colormap that fades from nothing at all to `color`, so that it begins with any background.

    Parameters
    ----------
    color : matplotlib color

    Returns
    -------
    colormap : LinearSegmentedColormap
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgba

    return LinearSegmentedColormap.from_list(f"fade to {color}", [to_rgba(color, 0.0), to_rgba(color, 1.0)])


def readable_on(color, ax):
    """Return the color of texts or that of the background: the one with more contrast on `color`.

    Parameters
    ----------
    color : matplotlib color
        May be transparent; then the background of `ax` shines through.
    ax : matplotlib Axes

    Returns
    -------
    color : matplotlib color
    """
    from matplotlib import rcParams

    background = _background(ax)
    on = _luminance(_composed(color, background))
    light, dark = sorted((rcParams["text.color"], background), key=_luminance, reverse=True)
    # The contrast of the Web Content Accessibility Guidelines.
    return light if (_luminance(light) + 0.05) / (on + 0.05) > (on + 0.05) / (_luminance(dark) + 0.05) else dark


def _background(ax) -> tuple[float, ...]:
    """Return the color that is seen behind what is drawn into `ax`, which may itself be transparent."""
    figure = ax.figure.get_facecolor()
    return _composed(ax.get_facecolor(), _composed(figure, "white" if _luminance(figure) > 0.2 else "black"))


def _composed(over, under) -> tuple[float, ...]:
    """Return the color of one that may be transparent on one that is not."""
    from matplotlib.colors import to_rgb, to_rgba

    *color, alpha = to_rgba(over)
    return tuple(alpha * np.array(color) + (1 - alpha) * np.array(to_rgb(under)))


def _luminance(color) -> float:
    """Return the relative luminance of a color, from 0 for black to 1 for white."""
    from matplotlib.colors import to_rgb

    values = np.array(to_rgb(color))
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def legend_beside(ax, **kwargs):
    """Draw the legend of `ax` to the right of it, where it covers no data."""
    defaults = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "frameon": False, "fontsize": "small"}
    return ax.legend(**defaults | kwargs)


def shortened(text, length: int) -> str:
    """Return a text as one line of `length` characters at most, in which dollar signs are just that.

    Examples
    --------
    >>> shortened("a rather long label", 10)
    'a rather …'
    """
    text = " ".join(str(text).split())
    text = text if len(text) <= length else text[: length - 1] + "…"
    return text.replace("$", r"\$")  # two of them would be the bounds of a formula
