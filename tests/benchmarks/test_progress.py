"""How far a run is, as it is shown: cells, the epochs of those under way, failures."""

import sys

import pytest

from benchmarks.cells import Cell
from benchmarks.complexity import operations
from benchmarks.methods import CLEANLAB
from benchmarks.progress import Progress
from benchmarks.scales import load_scale
from benchmarks.training import finished_share, train

SMOKE = load_scale("smoke")
CELLS = {
    cell: SMOKE.settings(cell)
    for cell in (Cell("smoke", "digits", "sym-60", method, 0, 2) for method in ("ltec", "lsec", CLEANLAB))
}


def test_progress_counts_cells_and_epochs_under_way(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    first, second, _ = CELLS
    with Progress(CELLS, out=tmp_path, n_workers=2) as progress:
        progress.finished(first, "done")
        before = progress._bar.n
        train(second, CELLS[second], None, tmp_path)
        progress._look()

        # Its checkpoints are there, and nobody has called it finished yet.
        assert progress._bar.n - before == pytest.approx(operations(second, CELLS[second]))

    assert "1/3 cells, 2 under way" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["standard", "forward", CLEANLAB])
def test_all_trainings_of_a_cell_count_as_its_progress(tmp_path, method):
    cell = Cell("smoke", "digits", "sym-20", method, 0)
    train(cell, SMOKE.settings(cell), None, tmp_path)

    assert finished_share(tmp_path, cell, SMOKE.settings(cell)) == 1


def test_files_that_are_no_checkpoints_do_not_count(tmp_path):
    cell = Cell("smoke", "digits", "sym-20", "standard", 0)
    train(cell, SMOKE.settings(cell), None, tmp_path)
    for folder in [path for path in tmp_path.rglob("*") if path.is_dir()]:
        (folder / "epoch-last.ckpt").touch()

    assert finished_share(tmp_path, cell, SMOKE.settings(cell)) == 1


@pytest.mark.parametrize("at_a_terminal", [True, False])
def test_why_a_cell_failed_is_said_at_once(tmp_path, monkeypatch, capsys, at_a_terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: at_a_terminal, raising=False)
    first = next(iter(CELLS))

    with Progress(CELLS, out=tmp_path, n_workers=2) as progress:
        progress.failed(first, "ZeroDivisionError")

        said = capsys.readouterr()
        assert f"{first.name}{'' if at_a_terminal else ':'} failed:\nZeroDivisionError" in said.out + said.err
