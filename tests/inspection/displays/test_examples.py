"""The examples on displays find what they say."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"


def run(name, folder):
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](folder)


def numbers(text):
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_wrong_labels_are_left_out_for_good_after_the_warmup(capsys, tmp_path):
    run("plot_when_are_samples_selected", tmp_path)

    right, wrong = map(numbers, capsys.readouterr().out.splitlines())
    assert right == pytest.approx([67, 2], abs=5)
    assert wrong == pytest.approx([0, 97], abs=3)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["selection-flow.png", "training-curves.png"]


def test_mislabelled_images_are_found(capsys, tmp_path):

    suspects, _ = run("plot_which_images_are_mislabelled", None)

    flagged, found, n_wrong = numbers(capsys.readouterr().out.split("\n\n")[1].splitlines()[0])
    assert n_wrong == 269
    assert (flagged, found) == pytest.approx((273, 262), rel=0.1)
    assert len(suspects.images_) == 12
    assert list(tmp_path.iterdir()) == []
