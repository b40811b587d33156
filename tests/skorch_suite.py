"""skorch's own tests, with LECClassifier in the place of NeuralNetClassifier.

``python -m tests.skorch_suite [method]`` runs the tests of the installed skorch, and says which of them fail, and why
that is as it should be. It ends with an error if another test fails, or if one that is expected to fail passes.

The class that stands in has skorch's name and skorch's defaults: a test that counts epochs or batches is about those,
and not about the networks that are trained first for eps="auto".
"""

import contextlib
import importlib.util
import os
import sys
from functools import wraps
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import skorch
import torch
from skorch.dataset import ValidSplit

from sklearn_lec import LECClassifier

VERSION = "1.4"
"""The skorch whose tests the lists below are about."""
FOLDER = Path(skorch.__file__).parent / "tests"
FILES = ("test_net", "test_classifier")
VALID_SPLIT = ValidSplit(5, stratified=True)
OWN_CALLBACKS = ("linear_decay", "progress")

_NOT_IN_THE_WHEEL = "fails with skorch's own class, too: the file that it reads is not in the wheel"
_NAN_IS_RUN_AGAIN = (
    "the module returns negative numbers where NLLLoss takes probabilities: the loss is NaN, and the samples with a "
    "finite loss go through the module once more, which the test counts"
)
_ONE_LABEL = "y has several labels, or targets that are no labels, for each sample; a record needs one label of each"
EXPECTED_FAILURES = {
    "test_pickle_load[False]": _NOT_IN_THE_WHEEL,
    "test_load_cuda_params_to_cpu[f_params-net_cuda.pt]": _NOT_IN_THE_WHEEL,
    "test_load_cuda_params_to_cpu[f_optimizer-optimizer_cuda.pt]": _NOT_IN_THE_WHEEL,
    "test_fit_params_passed_to_module": _NAN_IS_RUN_AGAIN,
    "test_fit_params_passed_to_module_in_pipeline": _NAN_IS_RUN_AGAIN,
    "test_fit_with_extra_params_and_routing": _NAN_IS_RUN_AGAIN,
    "test_partial_fit_with_extra_params_and_routing": _NAN_IS_RUN_AGAIN,
    "test_fit_with_dataset_stratified_without_explicit_y_raises": "labels are found in a Dataset, so that it works",
    "test_error_when_classes_could_not_be_inferred": "labels are found in a Dataset, so that classes_ are known",
    "test_net_variable_prediction_lengths": _ONE_LABEL,
    "test_net_variable_label_lengths": _ONE_LABEL,
    "test_predefined_split": "the DataLoader gets the data set in a wrapper that adds the numbers of the samples",
    "test_pass_classes_explicitly_overrides": "classes=['foo', 'bar'] with y of 0 and 1: predict returns labels of y, "
    "and not numbers, so that classes must be labels of y",
}
_ONE_LOSS_PER_SAMPLE = "the criterion only gives means, and samples are selected by one loss for each"
_LOSS_PASSES_BY = "get_loss does not call super().get_loss, where samples are selected"
EXPECTED_FAILURES_WHEN_SELECTING = EXPECTED_FAILURES | {
    "test_criterion_non_module": _ONE_LOSS_PER_SAMPLE,
    "test_criterion_is_not_a_torch_module": _ONE_LOSS_PER_SAMPLE,
    "test_save_load_state_dict_file_with_history_optimizer_criterion": _ONE_LOSS_PER_SAMPLE,
    "test_criterion_params_passed_to_optimizer_if_any": _ONE_LOSS_PER_SAMPLE,
    "test_change_get_loss": _LOSS_PASSES_BY,
    "test_predict_nonlinearity_is_identity_with_multiple_criteria": _LOSS_PASSES_BY,
    "test_custom_criterion_attribute_name_predict_works": _LOSS_PASSES_BY,
    "test_criterion_training_set_correctly": "the test counts the calls of the criterion, which votes call, too",
}


def expected_failures(method):
    """Return the tests that fail by design with a method, with the reason."""
    return EXPECTED_FAILURES if method == "standard" else EXPECTED_FAILURES_WHEN_SELECTING


def why_not():
    """Return why the tests cannot be run here; None if they can."""
    if not version("skorch").startswith(VERSION + "."):
        return f"the lists are about the tests of skorch {VERSION}, and skorch {version('skorch')} is installed"
    missing = [name for name in FILES if not (FOLDER / f"{name}.py").exists()]
    return f"the installed skorch has no tests: no {', '.join(missing)} in {FOLDER}" if missing else None


class NeuralNetClassifier(LECClassifier):
    """LECClassifier with the name and the defaults of skorch's class."""

    def __init__(
        self,
        module,
        *,
        method="standard",
        eps=0.2,
        T_w=10,
        criterion=torch.nn.NLLLoss,
        optimizer=torch.optim.SGD,
        lr=0.01,
        max_epochs=10,
        train_split=VALID_SPLIT,
        device="cpu",
        **kwargs,
    ):
        super().__init__(
            module,
            method=method,
            eps=eps,
            T_w=T_w,
            criterion=criterion,
            optimizer=optimizer,
            lr=lr,
            max_epochs=max_epochs,
            train_split=train_split,
            device=device,
            **kwargs,
        )

    @property
    def _default_callbacks(self):
        return [(name, callback) for name, callback in super()._default_callbacks if name not in OWN_CALLBACKS]

    def __repr__(self):
        # The tests are about skorch's part, without the method; where the class comes from cannot be the same.
        return super(LECClassifier, self).__repr__().replace(f"{__name__}.Neural", "skorch.classifier.Neural", 1)


class Outcomes:
    """A pytest plugin that notes how each test ended."""

    def __init__(self):
        self.by_test = {}

    def pytest_runtest_logreport(self, report):
        # Of set-up, call and tear-down the worst counts; "skipped" are those, too, that skorch expects to fail.
        outcomes = ("passed", "skipped", "failed")
        before = self.by_test.get(report.nodeid, "passed")
        self.by_test[report.nodeid] = max(before, report.outcome, key=outcomes.index)

    def names(self, outcome):
        """Return the names of the tests that ended so."""
        return [test.rpartition("::")[2] for test, its in self.by_test.items() if its == outcome]


def run(method="standard"):
    """Run the tests, with `method` in place of "ltec"; return how each ended."""
    NeuralNetClassifier.__init__.__kwdefaults__["method"] = method
    skorch.NeuralNetClassifier = NeuralNetClassifier
    os.environ["CUDA_VISIBLE_DEVICES"] = ""  # on a GPU other tests are run, and skipped
    if importlib.util.find_spec("flaky") is None:
        sys.modules["flaky"] = ModuleType("flaky")
        sys.modules["flaky"].flaky = _flaky
    outcomes = Outcomes()
    options = ["-q", "--tb=short", "-W", "ignore", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:xdist"]
    pytest.main([*(str(FOLDER / f"{name}.py") for name in FILES), *options], plugins=[outcomes])
    return outcomes


def _flaky(*, max_runs):
    """Stand in for the package flaky, which runs a test again that failed."""

    def decorate(test):
        @wraps(test)
        def run_again(*args, **kwargs):
            for _ in range(max_runs - 1):
                with contextlib.suppress(AssertionError):
                    return test(*args, **kwargs)
            return test(*args, **kwargs)

        return run_again

    return decorate


def main(method="standard"):
    """Run the tests, print the outcome, and return the exit status: 0 if exactly those fail that are expected to."""
    if (reason := why_not()) is not None:
        return reason
    outcomes, expected = run(method), expected_failures(method)
    failed, passed = outcomes.names("failed"), outcomes.names("passed")
    surprises = [f"FAILED, although not expected to: {name}" for name in failed if name not in expected]
    surprises += [f"did not fail, although expected to: {name}" for name in expected if name not in failed]
    print(f"\nWith method={method!r} {len(passed)} of {len(passed) + len(failed)} tests of skorch pass.")
    print("Expected to fail:")
    print(*(f"- {name}: {reason}" for name, reason in expected.items()), sep="\n")
    return "\n".join(["", *surprises]) if surprises else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
