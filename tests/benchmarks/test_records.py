"""The file of finished cells: what is in it is a record or is named, and nothing else is touched."""

import copy
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.lines import DamagedRecordError
from benchmarks.records import RecordsFile, read_records
from benchmarks.report import write_report
from tests.benchmarks.synthetic_records import synthetic_records

FIRST, SECOND = synthetic_records("smoke", "tableA2")
LTEC = synthetic_records("smoke", "figure2", seeds=1)[0]
DEEP = '{"a": ' * 10**5


def line_of(record):
    return json.dumps(record).encode() + b"\n"


def refused(folder, content):
    """Return what is said of the content of a file, by those who read it and by those who would add to it."""
    file = folder / "cells.jsonl"
    file.write_bytes(content)
    messages = []
    for read in (read_records, RecordsFile):
        with pytest.raises(DamagedRecordError) as raised:
            read(folder)
        messages.append(str(raised.value))
    assert file.read_bytes() == content
    assert messages[0] == messages[1]
    return messages[0]


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        ({"scale": "huge"}, "scale must be one of smoke, cpu, paper, got 'huge'"),
        ({"scale": ["smoke"]}, "scale must be one of"),
        ({"data": "Digits!"}, "data must be data, data@rows"),
        ({"data": "digits@9" + "9" * 5000}, "data must be data, data@rows"),
        ({"data": "digits+uniform"}, "open-set noise, and no other, needs external data"),
        ({"noise": 3}, "noise must be clean, or sym"),
        ({"noise": "sym-twenty"}, "noise must be clean, or sym"),
        ({"noise": "sym-100"}, "noise must be clean, or sym"),
        ({"noise": "open-20"}, "open-set noise, and no other, needs external data"),
        ({"method": ["standard"]}, "method must be a method of this version, got ['standard']"),
        ({"seed": None}, "seed must be a whole number of at least 0"),
        ({"seed": True}, "seed must be a whole number of at least 0"),
        ({"M": 5}, "M must be None, as standard does not use it, got 5"),
        ({"M": {}}, "M must be a whole number of at least 1"),
        ({"eps_factor": "1"}, "eps_factor must be a number between 0.01 and 100"),
        ({"eps_factor": 2.0}, "eps_factor must be 1.0, as standard does not use it"),
        ({"network": "a | b"}, "network must be the name of a network or null"),
        ({"settings": None}, "settings must be an object of settings"),
        ({"settings": {"epochs": 4}}, "settings must be an object of settings, among them epochs and train_rows"),
        ({"settings": {**FIRST["settings"], "lr": [[[[[1]]]]]}}, "settings must be an object of settings"),
        ({"settings": {**FIRST["settings"], "lr": float("inf")}}, "settings must be an object of settings"),
        ({"noise_fingerprint": []}, "noise_fingerprint must be 8 hexadecimal digits"),
        ({"accuracy": 0.5}, "accuracy must be a list of 4 values, one per epoch, got 0.5"),
        ({"accuracy": []}, "accuracy must be a list of 4 values"),
        ({"accuracy": [0.5, 0.5, None, 0.5]}, "accuracy in epoch 3 must be a number between 0 and 1, got None"),
        ({"accuracy": [0.5, 0.5, 0.5, [0.5]]}, "accuracy in epoch 4 must be a number"),
        ({"precision": "none"}, "precision must be a list of 4 values"),
        ({"precision": [0.5] * 5}, "precision must be a list of 4 values"),
        ({"recall": [0.5, float("nan"), 0.5, 0.5]}, "recall in epoch 2 must be a number between 0 and 1 or null"),
        ({"recall": None}, "recall must be a list of 4 values"),
        ({"small_loss_precision": ["a"] * 4}, "small_loss_precision in epoch 1 must be a number"),
        ({"kept": [1, 2, 3, 201]}, "kept in epoch 4 must be a whole number between 0 and train_rows, got 201"),
        ({"kept": [1, 2, 3, 4.5]}, "kept in epoch 4 must be a whole number"),
        ({"seconds": [1]}, "seconds must be a number between 0"),
        ({"seconds": 1e308}, "seconds must be a number between 0"),
        ({"seconds": 10**400}, "seconds must be a number between 0"),
        ({"device": "\ud800"}, "device must be the name of a device"),
        ({"versions": 3}, "versions must be an object of names and versions"),
        ({"versions": {"torch": ["2"]}}, "versions must be an object of names and versions"),
        ({"versions": {"torch": "2\n# Title"}}, "versions must be an object of names and versions"),
        ({"added": 1}, "missing or unknown: ['added']"),
    ],
)
def test_what_is_wrong_in_a_record_is_named(tmp_path, damage, rule):
    message = refused(tmp_path, line_of(SECOND) + line_of(FIRST | damage) + line_of(SECOND))

    assert message.startswith(f"line 2 of {tmp_path / 'cells.jsonl'} is damaged, or of another version: ")
    assert rule in message
    assert message.endswith(". Delete that line to run its cell again, or use another place for the results.")
    assert "\n" not in message


@pytest.mark.parametrize("name", FIRST)
def test_a_part_that_is_missing_is_named(tmp_path, name):
    record = {part: value for part, value in FIRST.items() if part != name}

    assert f"missing or unknown: ['{name}']" in refused(tmp_path, line_of(record))


@pytest.mark.parametrize(
    "content", ["3", "[]", '"text"', "null", "", "{", "[" * 10**5, DEEP, "9" * 5000, "NaN", "\ufeff"]
)
def test_a_line_that_is_no_record_is_named_wherever_it_stands(tmp_path, content):
    line = content.encode() + b"\n"

    assert "line 1 of" in refused(tmp_path, line + line_of(FIRST))
    assert "line 2 of" in refused(tmp_path, line_of(FIRST) + line)


def test_a_line_that_is_not_in_utf_8_is_named(tmp_path):
    assert "can't decode byte 0xff" in refused(tmp_path, line_of(FIRST).replace(b"smoke", b"\xff"))


def test_records_behind_a_carriage_return_are_not_thrown_away(tmp_path):
    content = line_of(FIRST).replace(b", ", b",\r", 1) + line_of(SECOND)
    (tmp_path / "cells.jsonl").write_bytes(content)

    RecordsFile(tmp_path)

    assert read_records(tmp_path) == [FIRST, SECOND]
    assert (tmp_path / "cells.jsonl").read_bytes() == content


@pytest.mark.parametrize("content", [b"My notes", b"My notes\n", b"\0\0\0", b"[1, 2"])
def test_a_file_that_was_never_ours_is_left_as_it_is(tmp_path, content):
    assert "line 1 of" in refused(tmp_path, content)


@pytest.mark.parametrize("n_bytes", [1, 5, 300])
def test_only_the_beginning_of_a_record_is_dropped(tmp_path, n_bytes):
    (tmp_path / "cells.jsonl").write_bytes(line_of(FIRST) + line_of(SECOND)[:n_bytes])

    records = RecordsFile(tmp_path)
    records.append(SECOND)

    assert read_records(tmp_path) == [FIRST, SECOND]


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_link_in_the_place_of_the_file_is_refused_and_not_followed(tmp_path, target):
    (tmp_path / "elsewhere").write_bytes(line_of(FIRST)[:-5])
    (tmp_path / "cells.jsonl").symlink_to(target)

    for read in (read_records, RecordsFile, write_report):
        with pytest.raises(OSError, match=rf"cells.jsonl is a link to {target}, which is not followed"):
            read(tmp_path)

    assert (tmp_path / "elsewhere").read_bytes() == line_of(FIRST)[:-5]
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize(("make", "what"), [("mkdir", "a folder"), ("mkfifo", "a device, a pipe or a socket")])
def test_something_else_in_the_place_of_the_file_is_refused(tmp_path, make, what):
    getattr(os, make)(tmp_path / "cells.jsonl")

    for read in (read_records, RecordsFile, write_report):
        with pytest.raises(OSError, match=f"cells.jsonl is {what}, not a file"):
            read(tmp_path)


def places_in(value, place=()):
    """Return the ways to all parts of a record."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(*place, name) for name, _ in parts] + [p for name, part in parts for p in places_in(part, (*place, name))]


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8)
anything = plain | st.sampled_from(["inf", "sym-20", "clean", "ltec", "paper", 10**400, 1e308, "digits@60"])
anything |= st.recursive(
    plain, lambda parts: st.lists(parts) | st.dictionaries(st.text(max_size=3), parts), max_leaves=5
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_a_line_says_a_report_is_written_or_the_line_is_named(tmp_path, monkeypatch, data):
    monkeypatch.setattr("benchmarks.report.curves_figure", lambda experiment, results, path: None)
    monkeypatch.setattr("benchmarks.report._cost_section", lambda records: [])  # slow, and not about the line
    record = copy.deepcopy(data.draw(st.sampled_from([FIRST, LTEC])))
    *way, name = data.draw(st.sampled_from(places_in(record)))
    part = record
    for step in way:
        part = part[step]
    part[name] = data.draw(anything)
    (tmp_path / "cells.jsonl").write_bytes(line_of(SECOND) + line_of(record))

    try:
        page = write_report(tmp_path)
    except DamagedRecordError as error:
        assert str(error).startswith("line 2 of ")
    else:
        assert page.read_text(encoding="utf-8")
