"""What is kept beside the records is what was written, or is made again."""

import io
import json

import numpy as np
import pytest

from benchmarks import extras
from benchmarks.experiments import EXPERIMENTS
from benchmarks.files import DamagedFileError
from benchmarks.scales import load_scale

SMOKE = load_scale("smoke")
MATRICES, EXAMPLES = EXPERIMENTS["figureA1"], EXPERIMENTS["figureA2"]
PANEL = {"data": "digits", "noise": "sym-20", "class_names": ["cat", "dog"], "matrix": [[0.8, 0.2], [0.2, 0.8]]}
ARRAYS = {
    "images": np.zeros((2, 10, 1, 8, 8), dtype=np.float32),
    "y_true": np.zeros((2, 10), dtype=np.int64),
    "y_noisy": np.ones((2, 10), dtype=np.int64),
    "class_names": np.array(["cat", "dog"]),
}


def matrices_with(**changes):
    content = {"settings": extras._settings(MATRICES, SMOKE), "panels": [PANEL | changes]}
    return json.dumps(content).encode()


def examples_with(**changes):
    buffer = io.BytesIO()
    np.savez(buffer, **ARRAYS | changes, settings=extras._settings(EXAMPLES, SMOKE))
    return buffer.getvalue()


def write(experiment, content, out):
    file = extras.extra_file(experiment, SMOKE, out)
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(("experiment", "content"), [(MATRICES, matrices_with()), (EXAMPLES, examples_with())])
def test_a_file_with_the_settings_of_the_scale_is_current(tmp_path, experiment, content):
    assert not extras.has_current_file(experiment, SMOKE, tmp_path)

    write(experiment, content, tmp_path)

    assert extras.has_current_file(experiment, SMOKE, tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"3",
        b'{"a": ' * 10**5,
        json.dumps({"settings": extras._settings(MATRICES, SMOKE), "panels": []}).encode(),
        json.dumps({"settings": extras._settings(MATRICES, SMOKE), "panels": "none"}).encode(),
        matrices_with(data=["digits"]),
        matrices_with(noise="$x^$"),
        matrices_with(class_names=["cat", "$x^$"]),
        matrices_with(class_names="cd"),
        matrices_with(matrix=[[0.8, 0.2], [0.2]]),
        matrices_with(matrix=[[0.8, 0.2, 0.0], [0.2, 0.8, 0.0]]),
        matrices_with(matrix=[[0.8, 0.2], [0.2, float("nan")]]),
    ],
)
def test_damaged_matrices_are_named_and_not_current(tmp_path, content):
    file = write(MATRICES, content, tmp_path)

    assert not extras.has_current_file(MATRICES, SMOKE, tmp_path)
    with pytest.raises(DamagedFileError, match=r"figureA1-smoke.json is damaged: .* Delete it to have it made again"):
        extras.read_matrices(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\3\4",
        examples_with()[:-100],
        examples_with(images=np.zeros((2, 9, 1, 8, 8), dtype=np.float32)),
        examples_with(images=np.full((2, 10, 1, 8, 8), np.nan)),
        examples_with(images=np.full((2, 10, 1, 8, 8), "a")),
        examples_with(y_true=np.full((2, 10), 2)),
        examples_with(y_noisy=np.zeros((2, 10))),
        examples_with(class_names=np.array(["cat", "$x^$"])),
        examples_with(class_names=np.array([1, 2])),
    ],
)
def test_damaged_examples_are_named_and_not_current(tmp_path, content):
    file = write(EXAMPLES, content, tmp_path)

    assert not extras.has_current_file(EXAMPLES, SMOKE, tmp_path)
    with pytest.raises(DamagedFileError, match=r"figureA2-smoke.npz is damaged: "):
        extras.read_examples(file)


def test_an_array_in_the_place_of_an_archive_is_damage(tmp_path):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))

    write(EXAMPLES, buffer.getvalue(), tmp_path)

    assert not extras.has_current_file(EXAMPLES, SMOKE, tmp_path)
