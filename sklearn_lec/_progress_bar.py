"""One bar of tqdm for work that is known part by part; the only place that writes to a terminal."""

import os
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["WholeBar", "bars_aside", "in_notebook", "on_terminal"]

FORMAT = "{desc} |{bar}| {percentage:3.0f}% {elapsed}<{remaining}{postfix}"
DELAY = 0.5
"""Seconds before a bar appears: what is over by then needs none."""

INTERVAL = 0.1
"""Seconds between two pictures of a bar."""

_shown: weakref.WeakSet = weakref.WeakSet()
"""The bars of this process: there is one screen, and whoever writes on it has to know of them."""


def on_terminal() -> bool:
    """Return whether stderr is a terminal with room for a bar; those of some build servers say that they have none."""
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    try:
        return os.get_terminal_size(sys.stderr.fileno()).lines > 0
    except OSError:  # it does not say
        return True


def in_notebook() -> bool:
    """Return whether this is a notebook, which shows what a bar writes."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and "IPKernelApp" in shell.config


class WholeBar:
    """A bar for work whose parts become known one after the other.

    Parameters
    ----------
    planned : float
        The work that is known from the beginning.
    """

    def __init__(self, *, planned: float):
        self.planned = planned
        self._bar = None
        self._is_aside = False

    def extend(self, work: float) -> None:
        """Add work to what is planned."""
        self.planned += work
        if self._bar is not None:
            self._bar.total = self.planned

    def show(self, position: float, text: str | None = None, figures: str | None = None) -> None:
        """Move to a position, with another text before the bar and behind it if they are given."""
        if self._bar is None:
            # Not before it is known where the work begins: the time that remains is estimated from there.
            self._bar = _new_bar(total=self.planned, initial=position, desc=text)
            _shown.add(self)
        if text is not None:
            self._bar.set_description_str(text, refresh=False)
        if figures is not None:
            self._bar.set_postfix_str(figures, refresh=False)
        self._bar.update(position - self._bar.n)
        if self._is_aside:
            self.put_back()

    def put_aside(self) -> None:
        """Take the bar off the screen, so that others can write there, until it is put back or moves."""
        if self._is_drawn and not self._is_aside:
            self._bar.clear()
            self._is_aside = True

    def put_back(self) -> None:
        """Draw the bar again."""
        if self._is_aside:
            self._bar.refresh()
            self._is_aside = False

    def say(self, text: str) -> None:
        """Write a line that stays, above the bar."""
        with bars_aside():
            print(text, file=sys.stderr)

    def close(self) -> None:
        """Take the bar away for good."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
            _shown.discard(self)

    @property
    def _is_drawn(self) -> bool:
        """Whether the bar has appeared, which it does after a moment."""
        return self._bar is not None and self._bar.last_print_t >= self._bar.start_t + DELAY


@contextmanager
def bars_aside() -> Iterator[None]:
    """Take the bars off the screen for the length of a block, which can write there."""
    bars = [bar for bar in _shown if bar._is_drawn]
    for bar in bars:
        bar.put_aside()
    try:
        yield
    finally:
        for bar in bars:
            bar.put_back()


def _new_bar(**arguments):
    """Return a bar of tqdm, of the kind that fits the place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a notebook without ipywidgets, where a line of text does as well
        from tqdm.auto import tqdm

    # A thread that watches over slow bars is more than one training needs, and is in the way of forks.
    kind = type("Bar", (tqdm,), {"monitor_interval": 0})
    times = {"delay": DELAY, "mininterval": INTERVAL, "miniters": 0}
    return kind(bar_format=FORMAT, file=sys.stderr, leave=False, dynamic_ncols=True, **times, **arguments)
