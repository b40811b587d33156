"""The command: what it writes and prints, its exit codes, and that it finds wrong labels."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from skorch.callbacks import Callback

from sklearn_lec import LECClassifier
from sklearn_lec.__main__ import main


@pytest.fixture
def find(flowers, tmp_path):
    """Run the command on the flowers, quickly; return its exit code."""

    def run(*arguments, path=flowers, label="species"):
        named = [] if label is None else ["--label", label]
        out = ["--output", str(tmp_path / "issues.csv")]
        return main(["find", str(path), *named, *out, "--epochs", "2", "--eps", "0.1", *map(str, arguments)])

    return run


def test_one_line_for_each_row_in_the_order_of_the_table(find, flowers, stand_ins, tmp_path):
    assert find() == 0

    issues, table = pd.read_csv(tmp_path / "issues.csv"), pd.read_csv(flowers)
    assert issues["row"].tolist() == list(range(1, 61))
    assert issues["given_label"].equals(table["species"])
    assert issues["is_label_issue"].dtype == bool
    left_out = issues[issues["given_label"].isna()]
    assert left_out.index.tolist() == [3, 10]
    assert left_out["label_quality"].isna().all()
    assert not left_out["is_label_issue"].any()


def test_images_are_named_by_their_paths(find, photos, stand_ins, tmp_path):
    (photos / "day" / "11.png").write_bytes(b"no image")

    assert find(path=photos, label=None) == 0

    issues = pd.read_csv(tmp_path / "issues.csv")
    assert issues["file"].tolist()[:2] == ["day/01.png", "day/03.png"]
    assert issues.set_index("file")["given_label"].isna().to_dict()["day/11.png"]
    assert issues["given_label"].count() == 23


def test_the_summary_counts_and_names_the_most_suspect(find, stand_ins, capsys):
    find()

    out = capsys.readouterr().out
    assert "12 of 58 labels are probably wrong (20.7%). The 10 most suspect:" in out
    rows = [line.split() for line in out.splitlines() if line.startswith("  ")][1:]
    assert [row[0] for row in rows][:3] == ["1", "7", "13"]  # two rows have no label
    assert len(rows) == 10


def test_what_was_read_and_left_out_is_said_before_the_training(find, stand_ins, capsys):
    find("--drop-columns", "seen")

    err = capsys.readouterr().err
    assert "flowers.csv: 60 rows; column 'species' has 2 classes" in err
    assert "judged by numbers ('petal'), categories ('site'), text ('note')" in err
    assert "column 'id' is left out: a number or name of each row" in err
    assert "column 'constant' is left out: always the same value" in err
    assert "2 rows are left out: they have no label" in err


def test_quiet_says_nothing(find, stand_ins, capsys):
    assert find("--quiet") == 0

    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_table_of_epochs_never_comes_between(find, stand_ins, capsys):
    find()

    assert "train_loss" not in capsys.readouterr().out


def test_options_reach_the_classifier(find, stand_ins):
    find("--method", "elr", "--seed", "7", "--device", "cpu")

    clf = stand_ins["found"]["estimator"][-1]
    assert isinstance(clf, LECClassifier)
    assert (clf.method, clf.eps, clf.max_epochs, clf.random_state, clf.device) == ("elr", 0.1, 2, 7, "cpu")


def test_the_report_shows_the_columns_as_they_were_and_names_the_rows(find, stand_ins, tmp_path, capsys):
    find("--report", tmp_path / "report.html")

    report = stand_ins["report"]
    assert report["issues"].index.tolist()[:5] == [1, 2, 3, 5, 6]
    assert report["display"]["site"].tolist()[:2] == ["south", "north"]
    assert report["display"]["seen"].tolist()[:2] == ["2024-01-01", "2024-01-02"]
    assert "flowers.csv" in report["title"]
    assert (tmp_path / "report.html").exists()
    assert "report.html (open it in a browser)" in capsys.readouterr().out


def test_the_report_shows_texts_and_images_themselves(find, photos, stand_ins, tmp_path):
    find("--report", tmp_path / "report.html", "--drop-columns", "petal", "site", "seen")
    assert stand_ins["report"]["display"][0] == "flower 0 was seen on a red hill"

    find("--report", tmp_path / "report.html", path=photos, label=None)
    assert stand_ins["report"]["display"][0] == photos / "day" / "01.png"


def test_the_same_seed_gives_the_same_result(find, stand_ins):
    find()
    first = stand_ins["found"]["estimator"].predict_proba(stand_ins["found"]["X"])
    find()

    assert np.array_equal(first, stand_ins["found"]["estimator"].predict_proba(stand_ins["found"]["X"]))


# --- what goes wrong ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--output", "."], "is a folder. Name a file."),
        (["--output", "nowhere/issues.csv"], "there is no folder nowhere. Make it first."),
        (["--report", "nowhere/report.html"], "--report nowhere/report.html: there is no folder"),
        (["--drop-columns", "petals"], "--drop-columns: there is no column 'petals'; did you mean 'petal'?"),
        (["--text-columns", "notes"], "--text-columns: there is no column 'notes'; did you mean 'note'?"),
    ],
)
def test_arguments_that_do_not_fit_end_with_2_before_the_training(find, arguments, message, capsys):
    assert find(*arguments) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert captured.out == ""


def test_the_input_is_never_overwritten(find, flowers, capsys):
    before = flowers.read_bytes()

    assert find("--output", flowers) == 2

    assert "is the input, which is not overwritten" in capsys.readouterr().err
    assert flowers.read_bytes() == before


def test_a_path_that_is_not_there_and_a_label_for_images_are_refused(find, photos, tmp_path, capsys):
    assert find(path=tmp_path / "nothing.csv") == 2
    assert "there is no file or folder" in capsys.readouterr().err

    assert find(path=photos) == 2
    assert "--label is for tables. The labels of images are the names of their folders." in capsys.readouterr().err


@pytest.mark.parametrize(
    "option, value, message",
    [
        ("--eps", "20", "must be 'auto' or a fraction from 0 to 1, such as 0.1 or 10%, got '20'"),
        ("--eps", "many", "got 'many'"),
        ("--epochs", "0", "must be a whole number of at least 1, got '0'"),
        ("--image-size", "4", "must be a whole number of at least 8, got '4'"),
        ("--method", "letc", "invalid choice: 'letc'"),
    ],
)
def test_values_out_of_bounds_are_refused(find, option, value, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        find(option, value)

    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_shares_may_be_percentages(find, stand_ins):
    find("--eps", "20%")

    assert stand_ins["found"]["estimator"][-1].eps == 0.2


def test_an_error_in_the_training_ends_with_1(find, stand_ins, capsys):
    assert find("--device", "toaster") == 1

    assert capsys.readouterr().err.splitlines()[-1].startswith("error: ")


def test_ctrl_c_ends_with_130_and_writes_nothing(find, stand_ins, tmp_path, monkeypatch, capsys):
    class Stop(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt

    defaults = LECClassifier._default_callbacks.fget
    monkeypatch.setattr(LECClassifier, "_default_callbacks", property(lambda net: [*defaults(net), ("stop", Stop())]))

    assert find() == 130

    assert capsys.readouterr().err.endswith("stopped\n")
    assert not (tmp_path / "issues.csv").exists()


def test_warnings_are_lines_without_the_place_in_the_code(find, stand_ins, capsys):
    find("--eps", "auto")

    warnings = [line for line in capsys.readouterr().err.splitlines() if "eps='auto' cannot be settled" in line]
    assert len(warnings) == 1
    assert warnings[0].startswith("warning: eps='auto'")


# --- as people call it --------------------------------------------------------------------------------------------


def test_help_explains_itself(capsys):
    for arguments in (["--help"], ["find", "--help"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0

    text = capsys.readouterr().out
    assert "usage: sklearn-lec find PATH [--label COLUMN] [options]" in text
    for option in (
        *("--label", "--report", "--output", "--epochs", "--method", "--eps", "--seed", "--device", "--image-size"),
        *("--delimiter", "--text-columns", "--drop-columns", "--quiet", "exit codes"),
    ):
        assert option in text


def test_python_m_runs_the_command(tmp_path):
    command = [sys.executable, "-m", "sklearn_lec", "find", str(tmp_path / "nothing.csv"), "--label", "x"]

    ended = subprocess.run(command, capture_output=True, text=True)

    assert ended.returncode == 2
    assert ended.stderr.startswith("error: there is no file or folder")


def test_wrong_labels_of_a_table_are_found(tmp_path):
    rng = np.random.RandomState(0)
    kind = np.arange(300) % 3
    labels = np.array(["low", "mid", "high"])[np.where(np.arange(300) < 30, (kind + 1) % 3, kind)]
    frame = pd.DataFrame({"x": 4.0 * kind + rng.normal(size=300), "letter": np.array(["a", "b", "c"])[kind]})
    frame.assign(label=labels).to_csv(tmp_path / "table.csv", index=False)
    arguments = ["--label", "label", "--output", str(tmp_path / "issues.csv"), "--epochs", "30", "--quiet"]

    assert main(["find", str(tmp_path / "table.csv"), *arguments]) == 0

    found = pd.read_csv(tmp_path / "issues.csv")["is_label_issue"].to_numpy()
    assert found[:30].mean() > 0.9
    assert found[30:].mean() < 0.05
