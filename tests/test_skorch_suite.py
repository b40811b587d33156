"""skorch's own tests, with LECClassifier in the place of NeuralNetClassifier."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import skorch_suite


@pytest.mark.slow
@pytest.mark.parametrize("method", ["standard", "ltec"])
def test_exactly_the_listed_tests_of_skorch_fail(method):
    if (reason := skorch_suite.why_not()) is not None:
        pytest.skip(reason)

    # In a process of its own: the class is replaced in skorch.
    command = [sys.executable, "-m", "tests.skorch_suite", method]
    result = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr


def test_the_tests_of_another_skorch_are_not_run(monkeypatch):
    monkeypatch.setattr(skorch_suite, "version", lambda package: "1.5.0")

    assert skorch_suite.main() == "the lists are about the tests of skorch 1.4, and skorch 1.5.0 is installed"


def test_a_skorch_without_tests_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(skorch_suite, "version", lambda package: "1.4.0")
    monkeypatch.setattr(skorch_suite, "FOLDER", tmp_path)

    assert skorch_suite.main().startswith("the installed skorch has no tests: no test_net, test_classifier in")
