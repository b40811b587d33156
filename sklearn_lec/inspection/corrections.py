"""apply_corrections: from the decisions that a person has made on the page of `report` to labels and masks."""

import csv
import io
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sklearn_lec._validation import did_you_mean
from sklearn_lec.estimation import NoiseEstimate
from sklearn_lec.inspection.cells import label_of_cell, to_cell

__all__ = ["COLUMNS", "DECISIONS", "Corrections", "apply_corrections"]

COLUMNS = ("sample", "n_samples", "given_label", "decision", "new_label")
"""The columns of the file, one line for each sample that was decided on."""
DECISIONS = ("keep", "change", "drop")


class Corrections(NamedTuple):
    """What a person has decided on the labels.

    Attributes
    ----------
    labels : same type as y
        The labels after the changes.
    dropped : bool ndarray of shape (n_samples,)
        The samples that are to be left out of the data.
    trusted : bool ndarray of shape (n_samples,)
        The samples whose label was kept or changed: a person has looked at it, so that it is right now.
    """

    labels: object
    dropped: np.ndarray
    trusted: np.ndarray

    def eps_left(self, estimate: NoiseEstimate) -> float:
        """Return the share of wrong labels to expect among the samples that stay: the `eps` to fit with again.

        Do not estimate it anew. Where the most suspect labels have been corrected, those that are left are among hard
        samples, and an estimate takes them for errors of the network.

        Parameters
        ----------
        estimate : NoiseEstimate
            ``noise_estimate_`` of the classifier that found the suspect labels, or of `estimate_noise`.

        Returns
        -------
        eps : float
        """
        probability = np.asarray(estimate.wrong_probability)
        if len(probability) != len(self.dropped):
            raise ValueError(
                f"the estimate is about {len(probability)} samples, but the decisions are about {len(self.dropped)}. "
                "Pass noise_estimate_ of the classifier that was fitted on the labels before they were corrected."
            )
        unseen = np.isfinite(probability) & ~self.dropped & ~self.trusted
        n_others, n_staying = (~self.dropped & ~self.trusted).sum(), (~self.dropped).sum()
        return float(probability[unseen].mean() * n_others / n_staying) if unseen.any() else 0.0


def apply_corrections(y, path, *, classes=None) -> Corrections:
    """Apply the decisions that were downloaded from the page of `report` to the labels that it was made from.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The labels that the classifier was fitted on, in the same order.
    path : str, Path or DataFrame
        The file. It may have been opened and saved in a spreadsheet, and its lines may be in any order. A DataFrame
        has the same columns.
    classes : array-like or None, default=None
        Labels that do not occur in y and may be changed to.

    Returns
    -------
    corrections : Corrections
        The named tuple ``(labels, dropped, trusted)``; labels have the type, dtype and index of y.

    See Also
    --------
    sklearn_lec.inspection.report : Write the page.

    Examples
    --------
    >>> import pandas as pd
    >>> decisions = pd.DataFrame({
    ...     "sample": [2, 0, 3], "n_samples": 4, "given_label": ["dog", "cat", "cat"],
    ...     "decision": ["change", "keep", "drop"], "new_label": ["cat", "", ""],
    ... })
    >>> labels, dropped, trusted = apply_corrections(["cat", "dog", "dog", "cat"], decisions)
    >>> labels, dropped, trusted
    (['cat', 'dog', 'cat', 'cat'], array([False, False, False,  True]), array([ True, False,  True, False]))

    With what a classifier has estimated before, the loop is closed with::

        corrections = apply_corrections(y, "decisions.csv")
        labels, dropped, trusted = corrections
        clf.set_params(eps=corrections.eps_left(clf.noise_estimate_))
        clf.fit(X[~dropped], labels[~dropped], trusted=trusted[~dropped])
    """
    name = "the DataFrame" if hasattr(path, "columns") else str(path)
    values = _values(y)
    known = {to_cell(label): label for label in values}
    known_to_change_to = {to_cell(label): label for label in ([] if classes is None else _values(classes))} | known
    dropped, trusted = np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool)
    changes: dict[int, object] = {}
    decided: dict[int, tuple[str, str]] = {}
    for where, line in _lines(path, name):
        sample = _whole_number(line["sample"], "sample", where)
        n_samples = _whole_number(line["n_samples"], "n_samples", where)
        if n_samples != len(values):
            raise ValueError(
                f"{name} is about {n_samples} samples, but y has {len(values)}. Pass the labels that report was given, "
                "all of them and in the same order."
            )
        if not 0 <= sample < n_samples:
            raise ValueError(f"{where}: there is no sample {sample}; samples are counted from 0 to {n_samples - 1}.")
        _check_given(line["given_label"], values[sample], known, f"{where}: sample {sample}")
        decision = line["decision"].strip().lower()
        if decision not in DECISIONS:
            hint = did_you_mean(decision, DECISIONS)
            raise ValueError(
                f"{where}: decision must be one of {', '.join(DECISIONS)}, got {decision!r}. {hint}".rstrip()
            )
        if decided.setdefault(sample, (decision, line["new_label"])) != (decision, line["new_label"]):
            raise ValueError(f"{where}: sample {sample} has another decision further up. Leave only one of them.")
        if decision == "change":
            changes[sample] = _new_label(line["new_label"], known_to_change_to, where)
        elif line["new_label"] != "":
            raise ValueError(
                f"{where}: new_label is {line['new_label']!r}, but the decision is {decision!r}. Write 'change', or "
                "leave new_label empty."
            )
        (dropped if decision == "drop" else trusted)[sample] = True
    return Corrections(_changed(y, changes), dropped, trusted)


def _check_given(cell: str, label, known: dict[str, object], where: str) -> None:
    """Raise an error if a cell with a given label is not about the label that y has there."""
    try:
        is_same = cell == to_cell(label) or to_cell(label_of_cell(cell, known)) == to_cell(label)
    except KeyError:
        is_same = False
    if not is_same:
        raise ValueError(
            f"{where} is labelled {cell!r} in the file, but {label!r} in y. Pass the labels that report was given, in "
            "the same order, and apply a file only once."
        )


def _new_label(cell: str, known: dict[str, object], where: str):
    """Return the label to change to."""
    if cell == "":
        raise ValueError(f"{where}: the decision is 'change', but new_label is empty. Write the label, or 'keep'.")
    try:
        return label_of_cell(cell, known)
    except KeyError:
        raise ValueError(
            f"{where}: new_label {cell!r} is not among the labels of y. {did_you_mean(cell, known)}If it is meant as a "
            "new class, pass it with classes=[...]."
        ) from None


def _whole_number(cell: str, column: str, where: str) -> int:
    """Return the number in a cell; a spreadsheet may have given it decimals."""
    try:
        number = float(cell.replace(",", "."))
        if number != int(number):
            raise ValueError
    except (ValueError, OverflowError):
        raise ValueError(f"{where}: {column} must be a whole number, got {cell!r}.") from None
    return int(number)


# --- labels of any kind -----------------------------------------------------------------------------------------------


def _values(y) -> list:
    """Return the labels one by one."""
    if isinstance(y, str | bytes) or np.ndim(y) != 1:
        raise ValueError(f"y must hold one label for each sample, got {'text' if isinstance(y, str) else np.shape(y)}.")
    return y.tolist() if hasattr(y, "detach") else list(y)


def _changed(y, changes: dict[int, object]):
    """Return a copy of the labels, of the same kind, with some of them changed."""
    samples, new = list(changes), list(changes.values())
    if hasattr(y, "iloc"):
        labels = y.copy()
        if new:
            labels.iloc[samples] = new
        return labels
    if isinstance(y, list | tuple):
        labels = list(y)
    elif hasattr(y, "detach"):
        labels = y.clone()
    else:
        labels = np.array(y)
        if new and labels.dtype.kind in "US":  # text of a fixed length must not be cut
            labels = labels.astype(np.promote_types(labels.dtype, np.asarray(new).dtype))
    for sample, label in changes.items():
        labels[sample] = label
    return tuple(labels) if isinstance(y, tuple) else labels


# --- the file ---------------------------------------------------------------------------------------------------------


def _lines(path, name: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield where each line is, for errors, and its cells by their columns."""
    if hasattr(path, "columns"):
        header = [str(column) for column in path.columns]
        _check_columns(header, name)
        cells = ([_text(value) for value in line] for line in path.itertuples(index=False, name=None))
        yield from ((f"{name}, line {n}", dict(zip(header, line, strict=True))) for n, line in enumerate(cells))
        return
    text = _read(path, name)
    first = text.partition("\n")[0]
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    try:
        header = [column.strip() for column in next(reader, [])]
        while header and header[-1] == "":
            header.pop()
        _check_columns(header, name)
        for cells in reader:
            while len(cells) > len(header) and cells[-1] == "":
                cells.pop()
            where = f"{name}, line {reader.line_num}"
            if not any(cells):
                continue
            if len(cells) != len(header):
                raise ValueError(f"{where} has {len(cells)} cells in place of {len(header)}. The file is damaged.")
            yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ValueError(f"{name} is damaged at line {reader.line_num}: {error}. Download it again.") from error


def _read(path: str | PathLike, name: str) -> str:
    """Return the text of a file, whatever a spreadsheet has saved it as."""
    content = Path(path).read_bytes()
    encodings = ["utf-16"] if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ["utf-8-sig", "cp1252"]
    for encoding in encodings:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise ValueError(f"{name} is not a text file. Save it as CSV in UTF-8, or download it from the page again.")


def _check_columns(header: list[str], name: str) -> None:
    """Raise an error if the columns are not those of the page."""
    if not header:
        raise ValueError(f"{name} is empty: it has no columns. Download it from the page again.")
    missing = [column for column in COLUMNS if column not in header]
    unknown = [column for column in header if column not in COLUMNS]
    if missing or unknown or len(set(header)) < len(header):
        raise ValueError(
            f"{name} must have the columns {', '.join(COLUMNS)}, each one once, got {', '.join(header)}. Delete "
            "columns that were added, or download the file from the page again."
        )


def _text(value) -> str:
    """Return a value of a DataFrame as it would be written into a file."""
    if value is None or (not isinstance(value, str) and value != value) or str(value) == "<NA>":
        return ""
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_whole else str(value)
