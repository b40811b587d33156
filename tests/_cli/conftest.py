"""Small tables and folders, and stand-ins for what comes after the training."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sklearn_lec import inspection


@pytest.fixture
def flowers(tmp_path):
    """A CSV file of 60 flowers of two kinds, every kind of column in it, and two labels missing."""
    rng = np.random.RandomState(0)
    kind = np.arange(60) % 2
    frame = pd.DataFrame(
        {
            "id": np.arange(60) + 100,
            "petal": 3 * kind + rng.normal(size=60).round(2),
            "site": np.where(kind, "north", "south"),
            "seen": pd.date_range("2024-01-01", periods=60).strftime("%Y-%m-%d"),
            "note": [f"flower {n} was seen {'by the blue lake' if k else 'on a red hill'}" for n, k in enumerate(kind)],
            "constant": 1,
            "species": np.where(kind, "iris", "=rose"),
        }
    )
    frame.loc[[3, 10], "species"] = None
    frame.to_csv(tmp_path / "flowers.csv", index=False)
    return tmp_path / "flowers.csv"


@pytest.fixture
def photos(tmp_path):
    """A folder of 24 small images in two classes, dark and bright."""
    rng = np.random.RandomState(0)
    for number in range(24):
        name = ("night", "day")[number % 2]
        pixels = rng.randint(0, 100, size=(12, 10, 3)) + 150 * (number % 2)
        (tmp_path / "photos" / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / name / f"{number:02}.png")
    return tmp_path / "photos"


@pytest.fixture
def stand_ins(monkeypatch):
    """The calls of `find_label_issues` and `report`; every fifth label is said to be wrong."""
    calls = {}

    def find_label_issues(estimator, X=None, y=None):
        calls["found"] = {"estimator": estimator, "X": X, "y": y}
        n_samples = len(y)
        is_issue = np.arange(n_samples) % 5 == 0
        return pd.DataFrame(
            {
                "is_label_issue": is_issue,
                "label_quality": np.where(is_issue, 0.01, 0.9) + np.arange(n_samples) / 1e4,
                "given_label": y,
                "predicted_label": y,
                "predicted_probability": 0.5,
                "clean_score": 1.0,
                "suggested_label": pd.Series([None] * n_samples, dtype=object),
            }
        )

    def report(clf, X, path, **arguments):
        calls["report"] = {"clf": clf, "X": X, "path": path} | arguments
        path.write_text("<html></html>", encoding="utf-8")

    monkeypatch.setattr(inspection, "find_label_issues", find_label_issues, raising=False)
    monkeypatch.setattr(inspection, "report", report, raising=False)
    return calls
