"""Read a table, CSV or Parquet, and get it ready for training."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_lec._cli.columns import ColumnKinds, kinds_of_columns
from sklearn_lec._cli.errors import UnusableDataError
from sklearn_lec._cli.labels import check_learnable, labels_from_cells
from sklearn_lec._cli.preprocessing import column_transformer
from sklearn_lec._cli.samples import Samples
from sklearn_lec._validation import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_table", "samples_of_table"]

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".tsv", ".tab", ".txt")
DELIMITERS = ",;\t|"
MISSING = ["", "#N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "-nan", "-NaN", "null"]
"""Cells without a value, in all columns but that of the labels."""


def samples_of_table(path: Path, classifier, *, label, delimiter=None, text_columns=(), drop_columns=()) -> Samples:
    """Read the samples of a table.

    Parameters
    ----------
    path : Path
    classifier : LECClassifier
        Not fitted; it comes after the preprocessing.
    label : str or None
        The column with the labels.
    delimiter : str or None, default=None
        None finds it.
    text_columns, drop_columns : sequence of str

    Returns
    -------
    samples : Samples
    """
    frame = read_table(path, label=label, delimiter=delimiter)
    _check_columns(frame, [label], option="--label")
    _check_columns(frame, text_columns, option="--text-columns")
    _check_columns(frame, drop_columns, option="--drop-columns")
    labels = labels_from_cells(frame[label])
    is_labelled = labels.notna().to_numpy()
    y = np.array(labels[is_labelled].tolist())
    check_learnable(y, name=f"column {label!r}")
    features = frame[is_labelled].drop(columns=[label, *(name for name in drop_columns if name != label)])
    features = features.reset_index(drop=True)
    X, kinds = kinds_of_columns(features, as_text=text_columns)
    if X.shape[1] == 0:
        raise UnusableDataError(
            "no column is left to judge the labels by: "
            + ("; ".join(f"{name!r} has {why}" for name, why in kinds.dropped.items()) or "there is none beside them")
            + "."
        )
    return Samples(
        X=X,
        y=y,
        estimator=make_pipeline(column_transformer(kinds, n_samples=len(X)), classifier),
        places=np.flatnonzero(is_labelled),
        names=list(range(1, len(frame) + 1)),
        names_of="row",
        display=_shown(features, X, kinds),
        notes=_notes(path, kinds, label=label, y=y, n_rows=len(frame)),
    )


def read_table(path: Path, *, label: str | None = None, delimiter: str | None = None) -> pd.DataFrame:
    """Read a file as it is; the labels of a CSV file stay text, so that "NA" and "007" can be told apart from others.

    Parameters
    ----------
    path : Path
    label : str or None
    delimiter : str or None, default=None
    """
    import pandas as pd

    suffix = Path(path.stem).suffix if path.suffix.lower() in (".gz", ".bz2", ".xz", ".zip", ".zst") else path.suffix
    if suffix.lower() in PARQUET:
        try:
            frame = pd.read_parquet(path)
        except ImportError as error:
            raise UnusableDataError(
                f"reading {path.name} needs the package pyarrow: pip install pyarrow. Or save the table as CSV."
            ) from error
        except (ValueError, OSError) as error:  # pyarrow's errors are ValueErrors
            raise UnusableDataError(f"{path} is no Parquet file: {error}") from error
        return frame.rename(columns=str)
    if suffix.lower() not in CSV:
        raise UnusableDataError(
            f"{path.name} is neither CSV ({', '.join(CSV)}) nor Parquet ({', '.join(PARQUET)}). In a spreadsheet, "
            "choose Save as, and there CSV UTF-8."
        )
    try:
        separator = delimiter or _delimiter(path, suffix.lower())
        separator = {"\\t": "\t", "tab": "\t"}.get(separator, separator)  # as it can be written in a shell
        how = {"sep": separator, "skipinitialspace": True, "encoding": "utf-8-sig"}
        others = [name for name in pd.read_csv(path, nrows=0, **how).columns if str(name) != label]
        return pd.read_csv(
            path,
            low_memory=False,
            keep_default_na=False,
            na_values=dict.fromkeys(others, MISSING),
            dtype={label: str},
            **how,
        ).rename(columns=str)
    except UnicodeDecodeError as error:
        raise UnusableDataError(
            f"{path.name} is not in UTF-8 ({error.reason} at byte {error.start}). In a spreadsheet, save it as CSV "
            "UTF-8; elsewhere: iconv -f latin1 -t utf-8."
        ) from error
    except pd.errors.EmptyDataError as error:
        raise UnusableDataError(f"{path.name} is empty. The first line has to name the columns.") from error
    except (pd.errors.ParserError, csv.Error, ValueError) as error:
        raise UnusableDataError(
            f"{path.name} cannot be read: {str(error).strip()}. If the columns are separated in another way, say so "
            "with --delimiter."
        ) from error


def _delimiter(path: Path, suffix: str) -> str:
    """Return what separates the columns: the character that splits the header, and the next lines just as often."""
    import pandas as pd

    if suffix in (".tsv", ".tab"):
        return "\t"
    with pd.io.common.get_handle(path, "r", encoding="utf-8-sig", compression="infer") as handles:
        lines = [line for _, line in zip(range(20), csv.reader(handles.handle, delimiter="\0"), strict=False)]
    rows = ["".join(line) for line in lines if line]
    if not rows:
        raise pd.errors.EmptyDataError
    counts = {mark: [len(next(csv.reader([row], delimiter=mark))) for row in rows] for mark in DELIMITERS}
    even = [mark for mark, of_rows in counts.items() if of_rows[0] > 1 and len(set(of_rows)) == 1]
    return max(even or DELIMITERS, key=lambda mark: counts[mark][0])


def _check_columns(frame: pd.DataFrame, names, *, option: str) -> None:
    """Raise an error if a column is not there."""
    columns = list(frame.columns)
    for name in names:
        if name is None:
            raise UnusableDataError(f"say which column has the labels: --label COLUMN. Columns: {_listed(columns)}.")
        if name not in columns:
            of_one = len(columns) == 1 and any(mark in columns[0] for mark in DELIMITERS)
            raise UnusableDataError(
                f"{option}: there is no column {name!r}; {did_you_mean(name, columns)}Columns: {_listed(columns)}."
                + (" The columns may be separated in another way: say so with --delimiter." if of_one else "")
            )


def _shown(features: pd.DataFrame, X: pd.DataFrame, kinds: ColumnKinds) -> pd.DataFrame | pd.Series:
    """Return what people look at: the columns that are used, as they stand in the file; a text alone if it is all."""
    if list(X.columns) == kinds.texts[:1]:
        return X[kinds.texts[0]]
    # Text that stands for numbers would be compared letter by letter; yes and no are more than 1 and 0.
    as_floats = [name for name in kinds.numbers if features[name].dtype.kind not in "biuf"]
    return features[list(X.columns)].assign(**{name: X[name] for name in as_floats})


def _notes(path: Path, kinds: ColumnKinds, *, label: str, y: np.ndarray, n_rows: int) -> list[str]:
    """Return what there is to know of a table before the training."""
    n_classes = len(np.unique(y))
    notes = [f"{path.name}: {n_rows:,} rows; column {label!r} has {n_classes} classes"]
    kinds_of = {"numbers": kinds.numbers, "categories": kinds.categories, "dates": kinds.dates, "text": kinds.texts}
    parts = [f"{kind} ({_listed(names)})" for kind, names in kinds_of.items() if names]
    notes.append(f"judged by {', '.join(parts)}")
    notes += [f"column {name!r} is left out: {why}" for name, why in kinds.dropped.items()]
    if len(y) < n_rows:
        notes.append(f"{n_rows - len(y):,} rows are left out: they have no label")
    return notes


def _listed(columns: list[str]) -> str:
    """Return the names of columns, not more than a screen holds."""
    return ", ".join(map(repr, columns[:12])) + (", ..." if len(columns) > 12 else "")
