"""Times taken side by side, and what may be said of them: ratios with their spread."""

from collections.abc import Callable

import numpy as np

__all__ = ["alternate", "ratio", "shown"]


def alternate(contenders: dict[str, Callable[[], float]], *, rounds: int) -> dict[str, list[float]]:
    """Let contenders run in turns, so that whatever slows the machine down slows down all of them.

    Parameters
    ----------
    contenders : dict of name to callable
        Each does its work once and returns the seconds that count.
    rounds : int
        Every round begins with another contender.

    Returns
    -------
    seconds : dict of name to list of float
        One per round.
    """
    names, seconds = list(contenders), {name: [] for name in contenders}
    for number in range(rounds):
        start = number % len(names)
        for name in names[start:] + names[:start]:
            seconds[name].append(contenders[name]())
    return seconds


def ratio(seconds: dict[str, list[float]], name: str, base: str) -> dict[str, float]:
    """Return the median over rounds of the ratio to `base`, and its quartiles."""
    low, median, high = np.percentile(np.array(seconds[name]) / np.array(seconds[base]), [25, 50, 75])
    return {"median": float(median), "low": float(low), "high": float(high)}


def shown(value: dict[str, float]) -> str:
    """Return a ratio as it is shown in a table: the median, and the quartiles in brackets."""
    return f"{value['median']:.2f} ({value['low']:.2f}-{value['high']:.2f})"
