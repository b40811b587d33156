"""Tables: reading files as people have them, what columns are, and what a network gets to see of them."""

import gzip

import numpy as np
import pandas as pd
import pytest

from sklearn_lec._cli.columns import kinds_of_columns
from sklearn_lec._cli.errors import UnusableDataError
from sklearn_lec._cli.labels import check_learnable, labels_from_cells
from sklearn_lec._cli.preprocessing import DateParts, column_transformer
from sklearn_lec._cli.tables import read_table, samples_of_table


def transformed(frame, **arguments):
    """Return what a network would get of a table, as a dense array."""
    columns, kinds = kinds_of_columns(frame, **arguments)
    X = column_transformer(kinds, n_samples=len(frame)).fit_transform(columns)
    return X.toarray() if hasattr(X, "toarray") else X


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    rows = [["a", "note", "label"], *(["1", '"x, y; z"', "cat"] for _ in range(3))]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(delimiter.join(row) for row in rows), encoding="utf-8")

    frame = read_table(path, label="label")

    assert list(frame.columns) == ["a", "note", "label"]
    assert frame["note"].tolist() == ["x, y; z"] * 3


def test_a_delimiter_that_is_said_counts(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a#b\n1,5#2\n", encoding="utf-8")

    assert read_table(path, delimiter="#").iloc[0].tolist() == ["1,5", 2]


def test_files_of_spreadsheets_are_read(tmp_path):
    with_mark, packed = tmp_path / "table.csv", tmp_path / "table.csv.gz"
    with_mark.write_bytes("größe, label\r\n1, café\r\n".encode("utf-8-sig"))
    packed.write_bytes(gzip.compress(b"a\tlabel\n1\tx\n"))

    assert read_table(with_mark, label="label").to_dict("list") == {"größe": [1], "label": ["café"]}
    assert read_table(packed, label="label").to_dict("list") == {"a": [1], "label": ["x"]}


def test_a_file_in_another_encoding_an_empty_one_and_a_workbook_say_what_to_do(tmp_path):
    latin, empty, workbook = tmp_path / "latin.csv", tmp_path / "empty.csv", tmp_path / "table.xlsx"
    latin.write_bytes("a,b\n1,café\n".encode("latin-1"))
    empty.write_bytes(b"")
    workbook.write_bytes(b"PK")

    with pytest.raises(UnusableDataError, match=r"is not in UTF-8 .*save it as CSV UTF-8"):
        read_table(latin)
    with pytest.raises(UnusableDataError, match=r"empty.csv is empty. The first line has to name the columns"):
        read_table(empty)
    with pytest.raises(UnusableDataError, match=r"neither CSV .* nor Parquet .*Save as, and there CSV UTF-8"):
        read_table(workbook)


def test_lines_of_different_length_are_an_error(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n1,2,3\n", encoding="utf-8")

    with pytest.raises(UnusableDataError, match=r"cannot be read: .*line 3.*--delimiter"):
        read_table(path, delimiter=",")


def test_parquet_is_read_and_a_missing_package_is_named(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [0.5, None], "label": ["x", "y"]}).to_parquet(path)
    assert read_table(path, label="label")["label"].tolist() == ["x", "y"]

    def without_pyarrow(path):
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", without_pyarrow)
    with pytest.raises(UnusableDataError, match=r"needs the package pyarrow: pip install pyarrow. Or save .* as CSV"):
        read_table(path)


def test_a_wrong_delimiter_is_suspected(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,label\n1,x\n", encoding="utf-8")

    with pytest.raises(UnusableDataError, match="separated in another way: say so with --delimiter"):
        samples_of_table(path, None, label="label", delimiter=";")


def test_a_table_without_a_column_to_judge_by_says_why(tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"n": range(30), "label": ["a", "b"] * 15}).to_csv(path, index=False)

    with pytest.raises(UnusableDataError, match=r"no column is left .*'n' has a number or name of each row"):
        samples_of_table(path, None, label="label")


def test_people_see_numbers_as_numbers_and_yes_or_no_as_it_is(tmp_path):
    path = tmp_path / "table.csv"
    frame = {"a": ["1,5", "2,5"] * 15, "yes": [True, False] * 15, "label": ["x", "y"] * 15}
    pd.DataFrame(frame).to_csv(path, index=False)

    shown = samples_of_table(path, None, label="label").display

    assert shown["a"].tolist()[:2] == [1.5, 2.5]
    assert shown["yes"].tolist()[:2] == [True, False]


# --- labels -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cells, labels",
    [
        (["cat", "", "  ", "NaN", "N/A", None], ["cat", None, None, None, None, None]),
        (["none", "mild"], ["none", "mild"]),
        (["1", "2"], [1, 2]),
        (["1.0", "", "2.0"], [1, None, 2]),
        (["01", "1"], ["01", "1"]),
        (["0", "1"], [0, 1]),
        (["0.5", "1"], [0.5, 1.0]),
        ([True, False], [True, False]),
        ([3, 4], [3, 4]),
        (["1", "x"], ["1", "x"]),
    ],
)
def test_labels_are_what_people_mean_by_the_cells(cells, labels):
    found = labels_from_cells(pd.Series(cells)).tolist()

    assert found == labels
    assert [type(label) for label in found] == [type(label) for label in labels]


def test_na_is_a_missing_label_in_a_csv_file_but_none_is_not(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,label\n1,NA\n2,None\n3,007\n", encoding="utf-8")

    assert labels_from_cells(read_table(path, label="label")["label"]).tolist() == [None, "None", "007"]


@pytest.mark.parametrize(
    "labels, message",
    [
        (["a", "b"] * 3, "too few samples: 6 with a label, and at least 10 are needed"),
        (["a"] * 30, "only one class: every label in it is 'a'"),
        ([n / 10 for n in range(30)], "30 different numbers with decimals: a quantity, and not classes"),
        (list(range(30)), "30 different values in 30 samples: a number or a name of each sample"),
    ],
)
def test_what_cannot_be_learned_is_refused(labels, message):
    with pytest.raises(UnusableDataError, match=message):
        check_learnable(np.array(labels), name="it")


# --- columns ------------------------------------------------------------------------------------------------------


def test_columns_are_recognized():
    n, rng = 40, np.random.RandomState(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "with marks": ["?" if k % 3 == 0 else str(k % 7) for k in range(n)],
            "with commas": [f"{k},5" for k in range(n)],
            "infinite": [np.inf, *rng.normal(size=n - 1)],
            "yes or no": np.arange(n) % 2 == 0,
            "category": np.arange(n) % 3,
            "word": ["red", "green", None, "blue"] * (n // 4),
            "day": pd.date_range("2024-01-01", periods=n),
            "day as text": [f"{k % 28 + 1}/3/2024" for k in range(n)],
            "text": [f"the cat number {k} sat on a mat" for k in range(n)],
            "empty": None,
            "constant": "x",
            "Unnamed: 0": range(n),
            "customer_id": rng.permutation(10 * n)[:n],
            "uuid": [f"{k:x}-{7919 * k:x}" for k in range(n)],
            "lists": [[1]] * n,
        }
    ).astype({"category": "category"})

    kinds = kinds_of_columns(frame)[1]

    assert kinds.numbers == ["number", "with marks", "with commas", "infinite", "yes or no"]
    assert kinds.categories == ["category", "word"]
    assert kinds.dates == ["day", "day as text"]
    assert kinds.texts == ["text"]
    assert set(kinds.dropped) == {"empty", "constant", "Unnamed: 0", "customer_id", "uuid", "lists"}


def test_whole_numbers_that_differ_are_no_id_unless_they_are_called_so():
    values = np.random.RandomState(0).permutation(10_000)[:40]

    assert kinds_of_columns(pd.DataFrame({"income": values}))[1].numbers == ["income"]
    assert kinds_of_columns(pd.DataFrame({"Customer ID": values}))[1].dropped


def test_columns_that_are_said_to_be_text_are_text():
    kinds = kinds_of_columns(pd.DataFrame({"word": ["red", "green"] * 10}), as_text=["word"])[1]

    assert kinds.texts == ["word"]


def test_a_missing_number_becomes_the_median_and_is_marked():
    X = transformed(pd.DataFrame({"x": [1.0, np.nan, 3.0, 8.0]}))

    assert X.shape == (4, 2)
    assert X[1, 0] == X[2, 0]
    assert np.array_equal(X[:, 1] > 0, [False, True, False, False])


def test_rare_categories_are_put_together_and_a_missing_one_is_a_category():
    words = ["red"] * 20 + ["green"] * 20 + [None] * 5 + ["pink", "beige", "grey"]
    X = transformed(pd.DataFrame({"color": words}))

    assert X.shape[1] == 4
    assert (X.sum(axis=1) == 1).all()
    assert len(np.unique(X[-3:], axis=0)) == 1
    assert not np.array_equal(X[40], X[-1])


def test_dates_that_are_close_in_the_year_are_close():
    dates = pd.DataFrame({"day": pd.to_datetime(["2023-12-31", "2024-01-01", "2024-07-01"])})

    of_year = DateParts().fit_transform(dates)[:, 1:3]

    assert np.linalg.norm(of_year[0] - of_year[1]) < 0.1
    assert np.linalg.norm(of_year[1] - of_year[2]) > 1.9


def test_a_missing_date_is_marked():
    X = transformed(pd.DataFrame({"day": pd.to_datetime(["2023-12-31", "2024-07-01", None])}))

    assert np.isfinite(X).all()
    assert np.array_equal(X[:, -1] > 0, [False, False, True])


def test_texts_become_words():
    X = transformed(pd.DataFrame({"a__text": ["one red cat", "two red cats", None] * 10}), as_text=["a__text"])

    assert X.shape == (30, 5)
    assert (X[2] == 0).all()


def test_categories_that_only_new_data_have_are_no_error():
    columns, kinds = kinds_of_columns(pd.DataFrame({"color": ["red", "green"] * 20}))
    transformer = column_transformer(kinds, n_samples=40).fit(columns)

    assert transformer.transform(pd.DataFrame({"color": ["blue"]})).shape == (1, 2)
