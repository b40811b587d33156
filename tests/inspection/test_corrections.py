"""apply_corrections: a file of decisions becomes labels and masks, whatever a spreadsheet has made of it."""

import csv
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_lec.inspection import apply_corrections
from sklearn_lec.inspection.cells import label_of_cell, to_cell
from sklearn_lec.inspection.corrections import COLUMNS

Y = ["cat", "dog", "dog", "cat", "bird"]
DECISIONS = [(1, "keep", ""), (2, "change", "bird"), (4, "drop", "")]

HOSTILE = [
    '=HYPERLINK("http://x","y")',
    "+1",
    "-1+2",
    "@SUM(A1)",
    "a,b",
    'say "no"',
    "<script>alert(1)</script>",
    "two\nlines",
    "tab\tbed",
    "carriage\r\nreturn",
    "\u202eright to left",
    "שלום, עולם",
    "01",
    "1e5",
    "MARCH1",
    "TRUE",
    "",
    " spaces ",
    "'quoted",
    "back\\slash\\u0041",
    "nul\0",
    "😀",
    "None",
    "\uff1dfull width",
]


def lines_of(y, decisions):
    labels = list(y)
    return [[k, len(labels), to_cell(labels[k]), d, to_cell(new) if d == "change" else ""] for k, d, new in decisions]


def write(path, lines, *, header=COLUMNS, encoding="utf-8-sig", **dialect):
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, **{"quoting": csv.QUOTE_ALL, "lineterminator": "\r\n"} | dialect)
        writer.writerows([header, *lines])
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "decisions.csv", lines_of(Y, DECISIONS))


def test_labels_are_changed_and_masks_tell_what_was_dropped_and_what_was_looked_at(file):
    corrections = apply_corrections(Y, file)

    assert corrections.labels == ["cat", "dog", "bird", "cat", "bird"]
    assert corrections.dropped.tolist() == [False, False, False, False, True]
    assert corrections.trusted.tolist() == [False, True, True, False, False]


def test_labels_that_were_passed_are_not_written_to(file):
    y = np.array(Y)

    apply_corrections(y, file)

    assert y.tolist() == Y


def test_a_file_without_decisions_changes_nothing(tmp_path):
    labels, dropped, trusted = apply_corrections(Y, write(tmp_path / "none.csv", []))

    assert labels == Y
    assert not dropped.any()
    assert not trusted.any()


@pytest.mark.parametrize(
    ("probability", "expected"),
    [
        ([0.1, 0.9, 0.9, 0.3, 0.9], (0.1 + 0.3) / 4),
        ([np.nan, 0.9, 0.9, 0.3, 0.9], 2 * 0.3 / 4),
        ([np.nan] * 5, 0.0),
    ],
)
def test_what_is_left_of_an_estimate_counts_only_samples_that_nobody_looked_at(file, probability, expected):
    estimate = SimpleNamespace(wrong_probability=np.array(probability))

    assert apply_corrections(Y, file).eps_left(estimate) == pytest.approx(expected)


def test_an_estimate_of_other_samples_is_refused(file):
    with pytest.raises(ValueError, match="is about 4 samples, but the decisions are about 5"):
        apply_corrections(Y, file).eps_left(SimpleNamespace(wrong_probability=np.zeros(4)))


# --- labels of any kind -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        Y,
        tuple(Y),
        np.array(Y),
        np.array(Y, dtype=object),
        pd.Series(Y, index=[10, 7, 7, 3, 0], name="animal"),
        pd.Series(Y, dtype="category"),
        pd.Series(Y, dtype="string"),
        np.array([1, 2, 2, 1, 3], dtype=np.int8),
        np.array([-1.5, 2.0, 2.0, -1.5, np.pi]),
        pd.Series([1, 2, 2, 1, 3], dtype="Int64"),
        torch.tensor([1, 2, 2, 1, 3]),
        np.array([False, True, True, False, False]),
    ],
    ids=lambda y: f"{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_labels_keep_their_type_dtype_index_and_name(tmp_path, y):
    values = y.tolist() if hasattr(y, "tolist") else list(y)
    path = write(tmp_path / "decisions.csv", lines_of(values, [(1, "keep", ""), (2, "change", values[4])]))

    labels = apply_corrections(y, path).labels

    assert type(labels) is type(y)
    assert getattr(labels, "dtype", None) == getattr(y, "dtype", None)
    assert list(labels) == [*values[:2], values[4], *values[3:]]
    if isinstance(y, pd.Series):
        assert labels.index.equals(y.index)
        assert labels.name == y.name


def test_a_longer_label_is_not_cut(tmp_path):
    path = write(tmp_path / "decisions.csv", lines_of(["a", "b"], [(0, "change", "elephant")]))

    labels = apply_corrections(np.array(["a", "b"]), path, classes=["elephant"]).labels

    assert labels.tolist() == ["elephant", "b"]


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_come_back_unchanged(tmp_path, label):
    y = [label, "cat", "cat"]
    path = write(tmp_path / "decisions.csv", lines_of(y, [(0, "keep", ""), (1, "change", label)]))

    assert apply_corrections(y, path).labels == [label, label, "cat"]


@given(st.text(st.characters()))
def test_every_text_comes_back_from_its_cell_alone(label):
    cell = to_cell(label)

    assert label_of_cell(cell, {to_cell(other): other for other in (label, "another", 1)}) == label
    assert cell.isprintable() or any(ord(character) > 127 for character in cell)


@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans()), unique_by=repr))
def test_different_labels_have_different_cells(labels):
    texts = {(isinstance(label, str), str(label)) for label in labels}

    assert len({to_cell(label) for label in labels}) == len(texts)


@given(st.text())
def test_no_cell_begins_a_formula(label):
    assert not to_cell(label).startswith(("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"))


# --- what spreadsheets do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dialect",
    [
        {"encoding": "utf-8"},
        {"encoding": "utf-16"},
        {"encoding": "cp1252"},
        {"delimiter": ";"},
        {"delimiter": "\t"},
        {"lineterminator": "\n"},
        {"quoting": csv.QUOTE_MINIMAL},
    ],
    ids=str,
)
def test_a_file_that_a_spreadsheet_has_saved_again_says_the_same(tmp_path, dialect):
    y = ["Löwe", 'it\'s; 5, "x"', "dog"]
    path = write(tmp_path / "decisions.csv", lines_of(y, [(0, "keep", ""), (2, "change", y[1])]), **dialect)

    assert apply_corrections(y, path).labels == [y[0], y[1], y[1]]


def test_lines_and_columns_may_be_in_any_order_with_empty_ones_between(tmp_path):
    header = [*COLUMNS[::-1], "", ""]
    lines = [[*line[::-1], "", ""] for line in lines_of(Y, DECISIONS)[::-1]]
    path = write(tmp_path / "decisions.csv", [lines[0], [""] * 7, *lines[1:]], header=header)

    assert apply_corrections(Y, path).labels == ["cat", "dog", "bird", "cat", "bird"]


@pytest.mark.parametrize(
    ("y", "written"),
    [([1.0, 2.0], "1"), ([0.5, 2.0], "0,5"), ([True, False], "TRUE"), ([1, 2], "1.0"), (["=a", "b"], "=a")],
)
def test_values_that_a_spreadsheet_writes_in_its_own_way_are_recognized(tmp_path, y, written):
    path = write(
        tmp_path / "decisions.csv", [["0.0", "2.0", written, "Keep ", ""], ["1", "2", y[1], "change", written]]
    )

    assert apply_corrections(y, path).labels == [y[0], y[0]]


def test_a_frame_that_pandas_has_read_says_the_same(tmp_path):
    y = [3, 7, 7]
    path = write(tmp_path / "decisions.csv", lines_of(y, [(0, "keep", ""), (1, "change", 3)]))

    assert apply_corrections(y, pd.read_csv(path)).labels == [3, 3, 7]


# --- files that do not fit --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([1, 9, "dog", "keep", ""], r"is about 9 samples, but y has 5\. Pass the labels that report was given"),
        ([9, 5, "dog", "keep", ""], r"line 2: there is no sample 9; samples are counted from 0 to 4"),
        ([-1, 5, "dog", "keep", ""], "there is no sample -1"),
        (["x", 5, "dog", "keep", ""], "sample must be a whole number, got 'x'"),
        (
            [1, 5, "cat", "keep", ""],
            r"sample 1 is labelled 'cat' in the file, but 'dog' in y\. .* apply a file only once",
        ),
        ([1, 5, "dgo", "keep", ""], "sample 1 is labelled 'dgo' in the file"),
        ([1, 5, "dog", "kep", ""], "decision must be one of keep, change, drop, got 'kep'. did you mean 'keep'?"),
        ([1, 5, "dog", "change", ""], "the decision is 'change', but new_label is empty"),
        ([1, 5, "dog", "change", "brid"], r"new_label 'brid' is not among the labels of y\. did you mean 'bird'\?"),
        ([1, 5, "dog", "keep", "cat"], "new_label is 'cat', but the decision is 'keep'"),
        ([1, 5, "dog"], r"line 2 has 3 cells in place of 5\. The file is damaged"),
    ],
)
def test_a_line_that_does_not_fit_is_named(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        apply_corrections(Y, write(tmp_path / "decisions.csv", [line]))


def test_two_decisions_on_one_sample_are_refused_unless_they_are_the_same(tmp_path):
    one, other = lines_of(Y, [(1, "keep", ""), (1, "drop", "")])

    assert apply_corrections(Y, write(tmp_path / "twice.csv", [one, one])).trusted.sum() == 1
    with pytest.raises(ValueError, match="line 3: sample 1 has another decision further up"):
        apply_corrections(Y, write(tmp_path / "both.csv", [one, other]))


def test_a_file_is_refused_as_a_whole_once_it_has_been_applied(file):
    labels = apply_corrections(Y, file).labels

    with pytest.raises(ValueError, match="apply a file only once"):
        apply_corrections(labels, file)


@pytest.mark.parametrize("header", [COLUMNS[:4], [*COLUMNS, "comment"], [*COLUMNS[:4], "decision"], ["a"]])
def test_missing_and_unknown_columns_are_named(tmp_path, header):
    with pytest.raises(ValueError, match="must have the columns sample, n_samples, given_label, decision, new_label"):
        apply_corrections(Y, write(tmp_path / "decisions.csv", [], header=header))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: it has no columns"),
        (b"PK\x03\x04\0\0\x81\x8d", "is not a text file"),
        (",".join(COLUMNS).encode() + b'\n1,5,"dog', "is damaged at line 2"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path, content, message):
    (tmp_path / "decisions.csv").write_bytes(content)

    with pytest.raises(ValueError, match=message):
        apply_corrections(Y, tmp_path / "decisions.csv")


@pytest.mark.parametrize("y", ["cat", [["cat"], ["dog"]]])
def test_labels_must_be_one_for_each_sample(file, y):
    with pytest.raises(ValueError, match="y must hold one label for each sample"):
        apply_corrections(y, file)
