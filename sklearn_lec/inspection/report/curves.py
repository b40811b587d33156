"""Training curves as vector graphics that take their colors from the page."""

import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["line_chart"]

WIDTH, HEIGHT = 460, 240
LEFT, RIGHT, TOP, BOTTOM = 52, 10, 12, 34


def line_chart(
    title: str, lines: Mapping[str, Sequence[float | None]], *, n_warmup: int = 0, percent: bool = False
) -> str:
    """Return a chart of some values per epoch, as SVG.

    Parameters
    ----------
    title : str
    lines : mapping from names to one value per epoch
        None or NaN where there is none.
    n_warmup : int, default=0
        Epochs of warm-up, which are shaded.
    percent : bool, default=False
        Whether values are shares, shown from 0 to 100 %.

    Returns
    -------
    svg : str

    Examples
    --------
    >>> svg = line_chart("Loss", {"training": [2.0, 1.0, 0.5]}, n_warmup=1)
    >>> svg.count("<polyline"), "warm-up" in svg
    (1, True)
    """
    n_epochs = max(len(values) for values in lines.values())
    known = [value for values in lines.values() for value in values if _is_number(value)]
    low, high, step = (0.0, 1.0, 0.25) if percent else _axis(min(known, default=0.0), max(known, default=1.0))

    def x(epoch: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * ((epoch - 1) / max(n_epochs - 1, 1))

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low))

    last = {name: next((v for v in reversed(values) if _is_number(v)), None) for name, values in lines.items()}
    ends = ", ".join(f"{name} {_value(value, percent)}" for name, value in last.items() if value is not None)
    parts = [
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)} over {n_epochs} '
        f'epochs; at the end: {escape(ends)}">'
    ]
    if n_warmup:
        end = x(min(n_warmup, n_epochs))
        parts.append(
            f'<rect class="warmup" x="{LEFT}" y="{TOP}" width="{end - LEFT:.1f}" height="{y(low) - TOP:.1f}"/>'
        )
        parts.append(f'<text class="tick" x="{LEFT + 4}" y="{TOP + 12}">warm-up</text>')
    for number in range(round((high - low) / step) + 1):
        value = low + number * step
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>')
        text = _value(value, percent)
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{text}</text>')
    for epoch in _epochs(n_epochs):
        anchor = "end" if epoch == n_epochs and n_epochs > 1 else "middle"
        parts.append(f'<text class="tick" x="{x(epoch):.1f}" y="{HEIGHT - 16}" text-anchor="{anchor}">{epoch}</text>')
    parts.append(f'<text class="tick" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 2}" text-anchor="middle">epoch</text>')
    for number, values in enumerate(lines.values()):
        points = [f"{x(epoch):.1f},{y(v):.1f}" for epoch, v in enumerate(values, start=1) if _is_number(v)]
        parts.append(f'<polyline class="line line-{number}" points="{" ".join(points)}"/>')
    parts.append("</svg>")
    names = "".join(f'<li class="key key-{number}">{escape(name)}</li>' for number, name in enumerate(lines))
    return f'<figure><figcaption>{escape(title)}</figcaption>{"".join(parts)}<ul class="keys">{names}</ul></figure>'


def _is_number(value) -> bool:
    return value is not None and math.isfinite(value)


def _value(value: float, percent: bool) -> str:
    return f"{value:.0%}".replace("%", " %") if percent else f"{value:.3g}"


def _axis(low: float, high: float) -> tuple[float, float, float]:
    """Return where an axis begins and ends, and the step between its marks, so that these are round numbers.

    Examples
    --------
    >>> _axis(0.03, 2.1)
    (0.0, 2.5, 0.5)
    """
    low = min(low, 0.0)
    raw = (high - low) / 5 or 1.0
    size = 10 ** math.floor(math.log10(raw))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= raw * 0.999)
    return math.floor(low / step) * step, math.ceil(high / step - 1e-9) * step or step, step


def _epochs(n_epochs: int) -> list[int]:
    """Return the epochs that are marked: round numbers, the first one and the last.

    Examples
    --------
    >>> _epochs(60)
    [1, 20, 40, 60]
    """
    size = 10 ** math.floor(math.log10(max(n_epochs / 3, 1)))
    step = next(factor * size for factor in (1, 2, 5, 10) if n_epochs / (factor * size) <= 4)
    marks = [epoch for epoch in range(step, n_epochs + 1, step) if n_epochs - epoch >= step / 2]
    return sorted({1, *(epoch for epoch in marks if epoch > step / 2), n_epochs})
