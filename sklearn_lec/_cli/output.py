"""What the command writes and prints when it has found the issues."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sklearn_lec._cli.errors import UnusableDataError
from sklearn_lec._cli.samples import Samples

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["check_writable", "lines_of_input", "summary", "visible"]

N_SHOWN = 10
WIDEST = 30


def check_writable(path: Path, *, of_input: Path, option: str) -> None:
    """Raise an error before the training if a file could not be written after it."""
    if path.is_dir():
        raise UnusableDataError(f"{option} {path} is a folder. Name a file.")
    if not path.parent.is_dir():
        raise UnusableDataError(f"{option} {path}: there is no folder {path.parent}. Make it first.")
    if of_input.is_file() and path.exists() and path.samefile(of_input):
        raise UnusableDataError(f"{option} {path} is the input, which is not overwritten. Name another file.")


def lines_of_input(issues: pd.DataFrame, samples: Samples) -> pd.DataFrame:
    """Return a line for each entry of the input, in its order; empty but for its name where it was left out.

    Parameters
    ----------
    issues : DataFrame of `find_label_issues`, one line for each sample
    samples : Samples
    """
    lines = issues.set_axis(samples.places, axis=0).reindex(range(len(samples.names)))
    lines["is_label_issue"] = [bool(flag) if flag == flag else False for flag in lines["is_label_issue"].tolist()]
    lines.insert(0, samples.names_of, samples.names)
    return lines


def summary(lines: pd.DataFrame, *, n_judged: int, names_of: str) -> str:
    """Return what was found, in a few lines.

    Parameters
    ----------
    lines : DataFrame of `lines_of_input`
    n_judged : int
        How many of them have a label.
    names_of : str
        The column with the names of the samples.
    """
    worst = lines[lines["is_label_issue"]].sort_values("label_quality", kind="stable")
    if len(worst) == 0:
        return f"None of {n_judged:,} labels seems to be wrong."
    head = f"{len(worst):,} of {n_judged:,} labels are probably wrong ({len(worst) / n_judged:.1%})."
    shown = worst.head(N_SHOWN)
    which = "They are" if len(worst) <= N_SHOWN else f"The {N_SHOWN} most suspect"
    cells = [[names_of, "given label", "more likely", "label quality"]]
    for name, given, predicted, quality in zip(
        shown[names_of], shown["given_label"], shown["predicted_label"], shown["label_quality"], strict=True
    ):
        cells.append([visible(name), visible(given), visible(predicted), f"{quality:.3f}"])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([f"{head} {which}:", "", *(f"  {row}" for row in rows)])


def visible(value) -> str:
    r"""Return a value as text of one line that moves no cursor and changes no color.

    Examples
    --------
    >>> visible("a" * 50), visible("red \x1b[31m")
    ('aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…', 'red \\x1b[31m')
    """
    text = "".join(mark if mark.isprintable() else mark.encode("unicode_escape").decode("ascii") for mark in str(value))
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
