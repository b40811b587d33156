"""The commands of the benchmarks say what is wrong in a line, and what they print can be run."""

import dataclasses
import re
import shlex

import pytest

from benchmarks import extras, running
from benchmarks.__main__ import main
from benchmarks.experiments import EXPERIMENTS, Row
from benchmarks.report import write_report
from benchmarks.running import run
from benchmarks.scales import load_scale

SMOKE = load_scale("smoke")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "tabel2"], "unknown experiment 'tabel2'; did you mean 'table2'? Tables and figures: table1, "),
        (["run", "table2", "--scale", "huge"], "invalid choice: 'huge'"),
        (["run", "table2", "--jobs", "0"], "must be a whole number between 1 and 9999, got '0'"),
        (["run", "table2", "--seeds", "10000"], "must be a whole number between 1 and 9999, got '10000'"),
        (["run", "table2", "--device", "gpu"], "unknown device 'gpu'; use cpu, cuda or cuda:1"),
        (["run", "table2", "--device", "cuda:77"], "--device cuda:77 cannot be used here: "),
        (["run", "table2", "--device", "meta"], "--device meta cannot be used here: "),
    ],
)
def test_what_is_not_understood_is_said(arguments, message, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(arguments)

    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_a_cluster_may_have_a_device_that_is_not_here(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("benchmarks.__main__.run", lambda *args, workers, **kwargs: seen.append(workers.device) or [])
    (tmp_path / "cells.jsonl").touch()

    cluster = ["--backend", "dask", "--scheduler", "tcp://127.0.0.1:1"]
    assert main(["run", "tableA2", *cluster, "--device", "cuda:77", "--out", str(tmp_path)]) == 0

    assert seen == ["cuda:77"]


@pytest.fixture
def signals(monkeypatch):
    """Let the tests keep their own ways with signals."""
    monkeypatch.setattr("benchmarks.__main__.leave_on_signals", lambda: None)


def test_a_run_with_problems_ends_with_an_error_and_a_report(tmp_path, monkeypatch, capsys, signals):
    monkeypatch.setattr(running, "train", lambda *args, **kwargs: 1 / 0)
    monkeypatch.setattr(extras, "count_all", lambda: {"standard": [1, 1, 1], "self-training": [1, 1, 0.8]})

    code = main(["run", "tableA2", "tableA3", "--scale", "smoke", "--jobs", "1", "--out", str(tmp_path)])

    assert code == 1
    said = capsys.readouterr().err
    assert "smoke_digits_clean_standard_seed0\n" in said
    assert "ZeroDivisionError" in said
    assert "| Standard | Self-training |" in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_commands_of_the_report_run_what_is_missing(tmp_path, monkeypatch, signals):
    out = tmp_path / "with spaces"
    assert run([dataclasses.replace(EXPERIMENTS["figure2"], rows=(Row("digits", "sym-20"),))], SMOKE, out=out) == []
    commands = re.findall("`python -m benchmarks (run .*)`", write_report(out, seeds=2).read_text(encoding="utf-8"))
    asked = []
    monkeypatch.setattr("benchmarks.__main__.write_report", lambda *args, **options: None)
    monkeypatch.setattr("benchmarks.__main__.run", lambda *args, **options: asked.append((*args, options)) or [])

    assert [main(shlex.split(command)) for command in commands] == [0] * len(commands)

    assert {experiment.name for experiments, *_ in asked for experiment in experiments} == set(EXPERIMENTS)
    for experiments, scale, options in asked:
        assert options["out"] == out
        assert not experiments[0].has_scale or (scale.name, options["seeds"]) == ("smoke", 2)


@pytest.mark.parametrize("name", ["absent", "."])
def test_report_on_a_folder_without_a_run_says_so(tmp_path, name, capsys):
    assert main(["report", str(tmp_path / name)]) == 1

    assert "nothing to report" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["report"], ["run", "tableA2", "--scale", "smoke", "--out"]])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file", "must be a folder, .*file' is a file"),
        ("file/below", "must be a folder, .* cannot be one: .*Not a directory"),
        ("loop", "must be a folder, .* cannot be one: .*symbolic links"),
        ("x" * 300, "must be a folder, .* cannot be one: .*name too long"),
        ("\udcff", "must be a folder, .* cannot be one: 'utf-8' codec can't encode"),
    ],
)
def test_an_out_that_cannot_be_a_folder_is_refused(tmp_path, command, name, message, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(SystemExit) as exit_:
        main([*command, str(tmp_path / name)])

    assert exit_.value.code == 2
    assert re.search(message, capsys.readouterr().err)


def test_an_empty_out_is_not_taken_for_the_working_directory(capsys):
    with pytest.raises(SystemExit):
        main(["report", ""])

    assert "must name a folder, got ''" in capsys.readouterr().err


def test_an_out_that_cannot_be_written_to_is_told_in_a_line(tmp_path, monkeypatch, capsys, signals):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", "there")

    monkeypatch.setattr("benchmarks.files.os.open", refuse)  # chmod does not keep root out

    assert main(["run", "tableA2", "--scale", "smoke", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"{tmp_path} cannot be a run folder: [Errno 13] Permission denied: 'there'\n"


@pytest.mark.parametrize("name", ["semantic", "checkpoints"])
def test_a_file_in_the_place_of_a_folder_is_told_before_anything_is_trained(tmp_path, capsys, signals, name):
    (tmp_path / name).touch()

    assert main(["run", "tableA2", "--scale", "smoke", "--out", str(tmp_path)]) == 1

    assert (
        capsys.readouterr().err == f"{tmp_path / name} must be a folder, and something else is there. Move it away.\n"
    )


def test_what_a_worker_cannot_read_or_write_is_told_in_a_line(tmp_path, capsys, signals):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "smoke_digits_clean_standard_seed0").touch()

    assert main(["run", "tableA2", "--scale", "smoke", "--jobs", "1", "--out", str(tmp_path)]) == 1

    said = capsys.readouterr().err
    assert "OSError: checkpoint_dir=" in said
    assert 'File "' not in said


@pytest.mark.parametrize("name", ["absent", "file", "x" * 300, "loop"])
def test_a_data_home_that_is_no_folder_is_refused(tmp_path, name, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(SystemExit):
        main(["run", "tableA2", "--data-home", str(tmp_path / name)])

    assert "--data-home: must be a folder that exists, got '" in capsys.readouterr().err


def test_a_page_of_someone_else_is_noticed_before_anything_is_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "README.md").write_text("# My project\n")
    monkeypatch.setattr("benchmarks.__main__.run", None)

    assert main(["run", "tableA2", "--out", str(tmp_path)]) == 1

    assert "is not a report and would be overwritten" in capsys.readouterr().err


def test_a_scheduler_that_is_not_there_is_told_in_a_line(tmp_path, capsys, signals):
    nowhere = ["--backend", "dask", "--scheduler", "nonsense"]

    assert main(["run", "tableA2", "--scale", "smoke", *nowhere, "--out", str(tmp_path)]) == 1

    assert capsys.readouterr().err.startswith("there is no Dask scheduler at nonsense: ")


def test_a_scheduler_without_dask_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["run", "tableA2", "--scheduler", "tcp://127.0.0.1:1", "--out", str(tmp_path)])

    assert "--scheduler is for --backend dask" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["[]", '{"scale": "smoke"}', '{"cut', "[" * 10**5])
@pytest.mark.parametrize("command", [["report"], ["run", "tableA2", "--scale", "smoke", "--out"]])
def test_a_damaged_line_is_named(tmp_path, capsys, signals, command, line):
    (tmp_path / "cells.jsonl").write_text(f"{line}\n{line}\n")

    assert main([*command, str(tmp_path)]) == 1

    said = capsys.readouterr().err
    assert said.startswith(f"line 1 of {tmp_path / 'cells.jsonl'} is damaged")
    assert said.count("\n") == 1
