"""Figures are drawn without a screen and closed; a table of issues, and a stand-in for what finds them."""

import sys
from types import ModuleType

import matplotlib.pyplot as plt
import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def figures():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture
def issues():
    """Six samples, of which the numbers 4, 1 and 3 are suspect, in this order; for number 3 nothing is suggested."""
    return pd.DataFrame(
        {
            "is_label_issue": [False, True, False, True, True, False],
            "label_quality": [0.9, 0.2, 0.8, 0.3, 0.1, 0.7],
            "given_label": ["cat", "cat", "dog", "dog", "cat", "dog"],
            "predicted_label": ["cat", "dog", "dog", "cat", "dog", "dog"],
            "suggested_label": [None, "dog", None, None, "dog", None],
        }
    )


@pytest.fixture
def find_issues(monkeypatch, issues):
    """Let displays find `issues` in whatever they are given, and return the calls."""
    calls = []

    def find_label_issues(*args):
        calls.append(args)
        return issues

    stand_in = ModuleType("label_issues")
    stand_in.find_label_issues = find_label_issues
    monkeypatch.setitem(sys.modules, "sklearn_lec.inspection.label_issues", stand_in)
    return calls
