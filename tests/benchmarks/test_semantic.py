"""The predictions behind semantic noise are read again if they are those of the training set."""

import io

import numpy as np
import pytest

from benchmarks import semantic
from benchmarks.cells import Cell
from benchmarks.scales import load_scale
from benchmarks.semantic import clean_predictions

SMOKE = load_scale("smoke")
SETTINGS = SMOKE.settings(Cell("smoke", "digits", "semantic-20", "standard", 0)) | {"epochs": 1}
X = np.random.RandomState(0).rand(30, 64).astype(np.float32)
y = np.arange(30) % 3


def predictions_in(out):
    return clean_predictions(X, y, number=0, name="toy", settings=SETTINGS, out=out, device="cpu")


def as_file(array, *, save=np.save):
    buffer = io.BytesIO()
    save(buffer, array)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What the network predicts."""
    return predictions_in(tmp_path_factory.mktemp("trained"))


def test_what_was_predicted_is_read_again(tmp_path, trained, monkeypatch):
    first = predictions_in(tmp_path)
    monkeypatch.setattr(semantic, "classifier", None)

    np.testing.assert_array_equal(predictions_in(tmp_path), first)
    np.testing.assert_array_equal(first, trained)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\x93NUMPY",
        b"PK\3\4",
        as_file(np.zeros((30, 2), dtype=np.float32)),
        as_file(np.zeros((30, 3))),
        as_file(np.full((30, 3), np.nan, dtype=np.float32)),
        as_file(np.zeros((30, 3), dtype=np.float32))[:-1],
        as_file(np.zeros((30, 3), dtype=np.float32), save=np.savez),
    ],
)
def test_damaged_predictions_are_made_again(tmp_path, trained, content):
    predictions_in(tmp_path)
    (file,) = (tmp_path / "semantic").rglob("0.npy")
    file.write_bytes(content)

    np.testing.assert_array_equal(predictions_in(tmp_path), trained)
    np.testing.assert_array_equal(np.load(file), trained)
