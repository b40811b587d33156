"""Warnings of a training under way: one for each kind of trouble, at the user's own line."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec._training.warn import RunWarnings
from sklearn_lec.methods import LTEC, LTECFull
from tests.helpers import TinyNet


@pytest.fixture
def lost():
    """A function that tells of the classes that lost all of their samples in an epoch, and returns the warnings."""
    codes, classes = torch.arange(60) % 30, np.array([f"c{number}" for number in range(30)])
    run_warnings = RunWarnings()

    def after_epoch(epoch, lost_classes, *, method=LTEC, is_last=False):
        method = method(eps=0.2, M=2, T_w=0)
        method.reset(60, n_classes=30)
        method.epoch = epoch
        method.record.last = ~torch.isin(codes, torch.as_tensor(lost_classes))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run_warnings.of_lost_classes(method, codes=codes, classes=classes, is_last=is_last)
        return [str(warning.message) for warning in caught]

    return after_epoch


def test_many_lost_classes_are_one_warning(lost):
    message = lost(3, list(range(20)))

    assert len(message) == 1
    assert message[0].startswith("no sample labelled 'c0', 'c1', 'c2', 'c3', 'c4', ... was selected in epoch 3: the")
    assert "forget 20 of 30 classes. Lower eps or M, raise T_w, or use method='ltec-full'" in message[0]


def test_ltec_full_is_not_told_to_use_itself(lost):
    assert "ltec-full" not in lost(3, [1], method=LTECFull)[0]


def test_classes_that_are_lost_later_are_told_at_the_end(lost):
    first = lost(3, [1])

    later = [lost(4, [1, 2]), lost(5, [1, 2, 3])]
    end = lost(6, [2, 3], is_last=True)

    assert len(first) == 1
    assert later == [[], []]
    assert len(end) == 1
    assert "'c2', 'c3' was selected in epoch 6" in end[0]


def test_classes_that_were_named_are_not_named_again_at_the_end(lost):
    lost(3, [1, 2])

    assert lost(6, [2], is_last=True) == []


def test_a_fit_that_loses_many_classes_warns_once_or_twice():
    X = np.random.RandomState(0).normal(size=(200, 5)).astype(np.float32)
    y = np.arange(200) % 50

    with pytest.warns(UserWarning, match="no sample labelled") as warned:
        LECClassifier(TinyNet, eps=0.8, max_epochs=6, T_w=1, verbose=0, random_state=0).fit(X, y)

    assert sum("no sample labelled" in str(warning.message) for warning in warned) <= 2


def test_warnings_of_a_training_point_at_the_line_that_started_it(table, quick):
    X, y = table
    X = X.copy()
    X[7, 2] = 1e20

    with pytest.warns(UserWarning, match="ten million") as warned:
        LECClassifier(TinyNet, **quick).fit(X, y)

    assert {warning.filename for warning in warned} == {__file__}


class Stochastic(TinyNet):
    """A network whose passes differ, in a way that no layer's type tells."""

    def forward(self, x):
        return super().forward(nn.functional.dropout(x, 0.2, training=self.training))


@pytest.mark.parametrize("separate_vote", [False, True])
@pytest.mark.parametrize(("module", "n_warnings"), [(TinyNet, 1), (Stochastic, 0)])
def test_lsec_warns_once_if_nothing_in_the_network_is_random(table, quick, module, n_warnings, separate_vote, recwarn):
    LECClassifier(module, method="lsec", separate_vote=separate_vote, **quick).fit(*table)

    messages = [str(warning.message) for warning in recwarn if "passes" in str(warning.message)]
    assert len(messages) == n_warnings
    assert all("Add nn.Dropout or sklearn_lec.modules.GaussianNoise" in message for message in messages)


@pytest.mark.parametrize("parameters", [{"method": "lsec", "M": 1}, {"method": "lsec", "T_w": 3}, {"method": "lnec"}])
def test_a_single_pass_is_nothing_to_warn_of(table, quick, parameters, recwarn):
    LECClassifier(TinyNet, **quick | parameters).fit(*table)

    assert not [warning for warning in recwarn if "passes" in str(warning.message)]


@pytest.mark.parametrize("dtype", [str, object])  # labels of a DataFrame are objects
@pytest.mark.parametrize(("n_kept", "is_warned_of"), [(0, False), (3, True), (9, False)])
def test_a_rare_class_that_loses_most_of_its_samples_is_told_at_the_end(n_kept, is_warned_of, dtype):
    codes = (torch.arange(220) >= 200).long()
    method = LTEC(eps=0.2, M=2, T_w=0)
    method.reset(220, n_classes=2)
    method.epoch = 1
    method.record.last = (codes == 0) | (torch.arange(220) < 200 + n_kept)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RunWarnings().of_rare_classes(method, codes=codes, classes=np.array(["often", "rarely"], dtype=dtype))

    told = [str(warning.message) for warning in caught]
    assert len(told) == is_warned_of
    assert all("are selected: 3 of 20 labelled 'rarely'." in m and "method='ltec-full'" in m for m in told)


def test_a_class_whose_labels_are_mostly_wrong_may_lose_them():
    codes = (torch.arange(220) >= 200).long()
    method = LTEC(eps=0.2, M=2, T_w=0)
    method.reset(220, n_classes=2)
    method.epoch, method.noise_estimate = 1, {"per_class": torch.tensor([0.1, 0.8])}
    method.record.last = torch.arange(220) < 203

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RunWarnings().of_rare_classes(method, codes=codes, classes=np.arange(2))


def test_a_class_that_is_not_rare_has_other_reasons_to_lose_samples():
    codes = torch.arange(220) % 2
    method = LTEC(eps=0.2, M=2, T_w=0)
    method.reset(220, n_classes=2)
    method.epoch, method.record.last = 1, (codes == 0) | (torch.arange(220) < 10)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RunWarnings().of_rare_classes(method, codes=codes, classes=np.arange(2))
