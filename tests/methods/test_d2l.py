"""D2L: dimensionality, turning point and mixed targets, by hand and inside a training."""

import math
import warnings
from unittest.mock import patch

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from torch import nn
from torch.utils.data import TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import D2L, METHODS, Method, Selected
from sklearn_lec.methods.d2l import is_turning_point, local_intrinsic_dimensionality, weight_of_labels
from sklearn_lec.modules import MLP
from tests.helpers import TinyNet, weights, without


def test_lid_is_near_the_dimension_of_a_sheet_and_of_a_ball():
    generator = torch.Generator().manual_seed(0)
    embed = torch.linalg.qr(torch.randn(20, 20, generator=generator))[0]
    sheet = torch.rand(1280, 2, generator=generator) @ embed[:2]
    ball = torch.randn(1280, 8, generator=generator)
    ball = ball / ball.norm(dim=1, keepdim=True) * torch.rand(1280, 1, generator=generator) ** (1 / 8)

    flat, round_ = (local_intrinsic_dimensionality(points).mean().item() for points in (sheet, ball @ embed[:8]))

    assert flat == pytest.approx(2, rel=0.2)
    assert round_ == pytest.approx(8, rel=0.3)


def test_lid_is_the_formula_written_out():
    points = torch.rand(30, 4, generator=torch.Generator().manual_seed(0))

    lid = local_intrinsic_dimensionality(points, n_neighbors=5)

    for row in range(30):
        r = sorted(torch.dist(points[row], other).item() for other in points)[1:6]
        assert lid[row].item() == pytest.approx(-5 / sum(math.log(distance / r[-1]) for distance in r), rel=1e-4)


@pytest.mark.parametrize("n_rows", [2, 30])
def test_points_that_coincide_have_no_lid(n_rows):
    assert local_intrinsic_dimensionality(torch.zeros(n_rows, 4)).isnan().all()


def test_epochs_without_a_lid_are_passed_over():
    nan = math.nan

    assert not is_turning_point([5.0, 4.0, 3.0, 2.0, nan], window=4)
    assert not is_turning_point([5.0, nan, 3.0, 2.0, 90.0], window=4)
    assert weight_of_labels([4.0, nan, 2.0, nan], progress=0.5) == pytest.approx(math.exp(-0.5))


@pytest.mark.parametrize("X", [np.random.RandomState(0).randint(0, 2, (90, 2)), None])
def test_samples_that_coincide_or_are_not_finite_do_not_decide_the_lid(table, quick, X):
    rows = table[0].copy() if X is None else X.astype(np.float32)
    if X is None:
        rows[3] = math.nan
    dataset = TensorDataset(torch.from_numpy(rows), torch.from_numpy(table[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf = LECClassifier(TinyNet, method="d2l", **without(quick, "M", "T_w")).fit(dataset)

    lids = np.array(clf.lid_history_)
    assert (lids[~np.isnan(lids)] < 100).all()
    assert X is not None or np.isfinite(lids).all()


@pytest.mark.parametrize(
    ("lids", "expected"),
    [
        ([9.0, 8.0, 7.0, 6.0, 9.7], False),
        ([9.0, 8.0, 7.0, 6.0, 9.8], True),
        ([1.0, 9.0, 8.0, 7.0, 6.0, 9.8], True),
        ([99.0, 9.0, 8.0, 7.0, 6.0, 9.7], False),
        ([9.0, 8.0, 7.0, 20.0], False),
    ],
)
def test_the_turning_point_is_two_deviations_above_the_mean_of_the_window(lids, expected):
    # Mean and deviation of (9, 8, 7, 6) are 7.5 and 1.118: the bound is 9.736.
    assert is_turning_point(lids, window=4) == expected


def test_the_weight_of_the_labels_is_the_formula_of_the_paper():
    assert weight_of_labels([4.0, 2.0, 3.0], progress=0.5) == pytest.approx(math.exp(-0.5 * 3 / 2))


def test_the_mixed_target_weighs_label_and_prediction():
    method = METHODS["d2l"](W=12)
    method.label_weight = 0.3
    outputs, labels = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 3.0]]), torch.tensor([1, 2])

    loss = method.loss(nn.CrossEntropyLoss(), Selected(outputs, labels, torch.arange(2)))

    target = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.0, 1.0]])
    assert torch.allclose(loss, nn.CrossEntropyLoss()(outputs, target))


class FakeContext:
    """Serves made-up features to D2L, and remembers what it is asked for."""

    last_epoch, n_classes = 10, 3

    def __init__(self, features):
        self.restored, self.epoch, self.features = None, 0, features

    def check_head(self, layer):
        pass

    def hidden_features(self, n_samples, *, layer):
        yield self.features[self.epoch - 1]

    def weights(self):
        return {"weights after": torch.tensor(self.epoch)}

    def restore(self, weights):
        self.restored = weights["weights after"].item()

    def record(self, name, value):
        pass


def points_of_dimension(dimension):
    """Return points whose local intrinsic dimensionality is about `dimension`."""
    return torch.rand(300, dimension, generator=torch.Generator().manual_seed(dimension))


def test_at_the_turning_point_the_network_goes_back_to_the_epoch_before():
    method, context = METHODS["d2l"](W=4), FakeContext([points_of_dimension(d) for d in (8, 6, 4, 3, 12, 14)])
    method.reset(3, n_classes=3)
    method.before_training(context)
    label_weights = []
    for epoch in range(1, 7):
        context.epoch = epoch
        method.begin_epoch()
        label_weights.append(method.label_weight)
        method.after_epoch(context)

    lids = method.lid_history_
    assert (method.turning_epoch_, context.restored) == (5, 4)
    assert label_weights == pytest.approx([1.0] * 5 + [math.exp(-0.5 * lids[4] / lids[3])])
    assert lids[:4] == sorted(lids[:4], reverse=True)


class Replayed(D2L):
    """D2L on a series of dimensionalities instead of those of the network."""

    def __init__(self, *, W=None, lid_layer=None, series=()):
        super().__init__(W=W, lid_layer=lid_layer)
        self.series = series

    def after_epoch(self, context):
        with patch("sklearn_lec.methods.d2l.local_intrinsic_dimensionality", self._next):
            super().after_epoch(context)

    def _next(self, features):
        return torch.tensor([self.series[self.epoch - 1]])


def test_a_network_that_turned_has_the_weights_of_the_epoch_before(table, quick):
    states = []

    class Record(Callback):
        def on_epoch_end(self, net, **kwargs):
            states.append(weights(net).clone())

    method, settings = Replayed(W=3, series=[5.0, 4.0, 3.0, 9.0]), without(quick, "M", "T_w") | {"max_epochs": 4}
    clf = LECClassifier(MLP, method=method, callbacks=[Record()], **settings).fit(*table)

    assert clf.turning_epoch_ == 4
    assert torch.equal(states[3], states[2])
    assert not torch.equal(states[2], states[1])


def test_d2l_goes_on_from_a_saved_state_on_both_sides_of_the_turning_point(table, quick, tmp_path):
    method = Replayed(W=3, series=[5.0, 4.0, 3.0, 9.0, 4.0, 5.0, 6.0, 7.0])
    settings = without(quick, "M", "T_w", "random_state", "max_epochs") | {"iterator_train__shuffle": False}
    settings |= {"callbacks__linear_decay": None, "module__num_classes": 3}
    for first in (3, 5):
        clf = LECClassifier(TinyNet, method=method, max_epochs=first, **settings).fit(*table)
        files = {f"f_{part}": tmp_path / part for part in ("params", "optimizer", "history", "method")}
        clf.save_params(**files)
        other = LECClassifier(TinyNet, method=method, max_epochs=3, **settings).initialize()
        other.load_params(**files)

        clf.set_params(max_epochs=3).partial_fit(*table)
        other.partial_fit(*table)

        assert torch.equal(weights(other), weights(clf))
        assert other.method_.label_weight == clf.method_.label_weight < 1
        assert other.lid_history_ == clf.lid_history_


def test_features_are_measured_in_evaluation_mode_for_the_samples_asked_for(table, quick):
    X, y, measured = np.tile(table[0], (20, 1)), np.tile(table[1], 20), []

    class Measuring(Method):
        def after_epoch(self, context):
            for seed in (0, 0, 1):
                with torch.random.fork_rng():
                    torch.manual_seed(seed)
                    measured.append(list(context.hidden_features(1280, layer=None)))

    LECClassifier(MLP, method=Measuring, **without(quick, "M", "T_w") | {"max_epochs": 1}).fit(X, y)

    first, second, third = measured
    assert [batch.shape for batch in first] == [(128, 256)] * 10
    assert torch.equal(torch.cat(first), torch.cat(second))
    assert not torch.equal(torch.cat(second), torch.cat(third))


def test_d2l_measures_every_epoch_and_finds_the_turning_point_on_noisy_digits(noisy_digits):
    X, _, y_noisy, X_test, y_test = noisy_digits
    settings = {"max_epochs": 60, "verbose": 0, "random_state": 0}

    clf = LECClassifier(method="d2l", **settings).fit(X, y_noisy)

    assert len(clf.lid_history_) == 60
    assert clf.history[:, "lid"] == clf.lid_history_
    assert 12 < clf.turning_epoch_ < 60
    assert clf.method_.label_weight < 1
    assert clf.score(X_test, y_test) > LECClassifier(method="standard", **settings).fit(X, y_noisy).score(
        X_test, y_test
    )


def test_a_layer_can_be_named_for_the_measurement(table, quick):
    settings = without(quick, "M", "T_w")
    named = LECClassifier(TinyNet, method="d2l", lid_layer="layers.2", **settings).fit(*table)
    found = LECClassifier(TinyNet, method="d2l", **settings).fit(*table)
    other = LECClassifier(TinyNet, method="d2l", lid_layer="layers.0", **settings).fit(*table)

    assert named.lid_history_ == found.lid_history_ != other.lid_history_


def test_the_weight_of_labels_goes_by_all_epochs_up_to_the_end_of_the_call(table, quick):
    method = Replayed(W=2, series=[5.0, 4.0, 9.0, 4.0, 4.0, 4.0])
    clf = LECClassifier(TinyNet, method=method, **without(quick, "M", "T_w")).fit(*table)
    assert clf.method_.label_weight == pytest.approx(math.exp(-(3 / 3) * 9 / 4))

    clf.partial_fit(*table)
    assert clf.method_.label_weight == pytest.approx(math.exp(-(6 / 6) * 4 / 4))
