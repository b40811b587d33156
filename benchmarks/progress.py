"""How far a run is: a bar on a terminal, a line per finished cell elsewhere."""

import sys
import threading
from pathlib import Path

from tqdm import tqdm

from benchmarks.cells import Cell
from benchmarks.complexity import operations
from benchmarks.training import finished_share

__all__ = ["Progress"]

FORMAT = "{desc} {percentage:3.0f}%|{bar:30}| {elapsed} so far, {remaining} left"
REFRESH = 1.0
"""Seconds after which the bar looks again at the cells under way."""


class Progress:
    """Show cells done, cells under way and the time left, weighed by what each cell costs.

    The epochs of cells under way are read off their checkpoints, wherever the workers are.

    Parameters
    ----------
    cells : dict from Cell to settings
        What there is to do.
    out : Path
        The run folder.
    n_workers : int
    """

    def __init__(self, cells: dict[Cell, dict], *, out: Path, n_workers: int):
        self._left = {cell: operations(cell, settings) for cell, settings in cells.items()}
        self._cells, self._out, self._n_workers = cells, out, n_workers
        self._done, self._total = 0.0, sum(self._left.values())
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._bar = None

    def __enter__(self):
        if sys.stderr.isatty():
            # smoothing=0: the time left follows from all of the run so far, as cells differ too much from each other.
            self._bar = tqdm(total=self._total, initial=self._under_way(), bar_format=FORMAT, smoothing=0)
            self._look()
            self._thread = threading.Thread(target=self._keep_looking, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *exception):
        self._closing.set()
        if self._bar is not None:
            self._thread.join()
            self._bar.close()

    def finished(self, cell: Cell, what: str) -> None:
        """Count a cell as finished; `what` tells how it ended."""
        with self._lock:
            self._done += self._left.pop(cell)
        if self._bar is not None:
            self._look()
        else:
            print(f"[{len(self._cells) - len(self._left)}/{len(self._cells)}] {cell.name}: {what}", flush=True)

    def failed(self, cell: Cell, error: str) -> None:
        """Count a cell as finished, and tell why it failed: whoever is at the terminal may want to stop the run."""
        if self._bar is not None:
            self._bar.write(f"{cell.name} failed:\n{error}", file=sys.stderr)
        self.finished(cell, f"failed:\n{error}")

    def _under_way(self):
        return sum(work * finished_share(self._out, cell, self._cells[cell]) for cell, work in self._left.items())

    def _keep_looking(self):
        while not self._closing.wait(REFRESH):
            self._look()

    def _look(self):
        with self._lock:
            n_left = len(self._left)
            self._bar.n = min(self._total, self._done + self._under_way())
            counts = f"{len(self._cells) - n_left}/{len(self._cells)} cells, {min(n_left, self._n_workers)} under way"
            self._bar.set_description_str(counts, refresh=False)
            self._bar.refresh()
