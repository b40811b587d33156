"""D2L: dimensionality, turning point and mixed targets, by hand and inside a training."""

import math
import warnings

import numpy as np
import pytest
import torch
from sklearn_lec.trainer import NetTrainer
from skorch.callbacks import Callback
from skorch.dataset import Dataset as SkorchDataset
from torch import nn
from torch.utils.data import TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
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
def test_rows_that_coincide_or_are_not_finite_do_not_decide_the_lid(table, quick, X):
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
    method = METHODS["d2l"](W=12, lid_layer=None)
    method.label_weight = 0.3
    outputs, labels = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 3.0]]), torch.tensor([1, 2])

    loss = method.loss(nn.CrossEntropyLoss(), outputs, labels)

    target = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.0, 1.0]])
    assert torch.allclose(loss, nn.CrossEntropyLoss()(outputs, target))


class FakeTrainer:
    """Serves a made-up series of dimensionalities to D2L, and remembers what it is asked for."""

    last_epoch, n_classes = 10, 3

    def __init__(self):
        self.restored, self.epoch = None, 0

    def hidden_features(self, n_rows, *, layer):
        yield torch.rand(30, 2, generator=torch.Generator().manual_seed(self.epoch))

    def weights(self):
        return {"weights after": torch.tensor(self.epoch)}

    def restore(self, weights):
        self.restored = weights["weights after"].item()

    def record(self, name, value):
        pass


def test_at_the_turning_point_the_network_goes_back_to_the_epoch_before(monkeypatch):
    series = [5.0, 4.0, 3.0, 2.5, 6.0, 7.0]
    monkeypatch.setattr(
        "sklearn_lec.methods.d2l.local_intrinsic_dimensionality",
        lambda features: torch.tensor([series[method.epoch - 1]]),
    )
    method, trainer = METHODS["d2l"](W=4, lid_layer=None), FakeTrainer()
    method.start(3)
    label_weights = []
    for epoch in range(1, 7):
        trainer.epoch = epoch
        method.begin_epoch()
        label_weights.append(method.label_weight)
        method.after_epoch(trainer)

    assert (method.turning_epoch, trainer.restored) == (5, 4)
    assert label_weights == pytest.approx([1.0] * 5 + [math.exp(-0.5 * 6.0 / 2.5)])
    assert method.lids == series


def test_a_network_that_turned_has_the_weights_of_the_epoch_before(table, quick, monkeypatch):
    series = [5.0, 4.0, 3.0, 9.0]
    monkeypatch.setattr(METHODS["d2l"], "after_epoch", made_up(series))
    states = []

    class Record(Callback):
        def on_epoch_end(self, net, **kwargs):
            states.append(weights(net).clone())

    settings = without(quick, "M", "T_w") | {"max_epochs": 4, "W": 3}
    clf = LECClassifier(MLP, method="d2l", callbacks=[Record()], **settings).fit(*table)

    assert clf.turning_epoch_ == 4
    assert torch.equal(states[3], states[2])
    assert not torch.equal(states[2], states[1])


def made_up(series):
    original = METHODS["d2l"].after_epoch

    def after_epoch(self, trainer):
        with pytest.MonkeyPatch.context() as patch:
            lid = series[self.epoch - 1]
            patch.setattr(
                "sklearn_lec.methods.d2l.local_intrinsic_dimensionality", lambda features: torch.tensor([lid])
            )
            original(self, trainer)

    return after_epoch


def test_d2l_goes_on_from_a_saved_state_on_both_sides_of_the_turning_point(table, quick, monkeypatch, tmp_path):
    monkeypatch.setattr(METHODS["d2l"], "after_epoch", made_up([5.0, 4.0, 3.0, 9.0, 4.0, 5.0, 6.0, 7.0]))
    settings = without(quick, "M", "T_w", "random_state") | {"W": 3, "iterator_train__shuffle": False}
    settings |= {"callbacks__linear_decay": None, "module__num_classes": 3}
    for first in (3, 5):
        clf = LECClassifier(TinyNet, method="d2l", max_epochs=first, **without(settings, "max_epochs")).fit(*table)
        files = {f"f_{part}": tmp_path / part for part in ("params", "optimizer", "history", "method")}
        clf.save_params(**files)
        other = LECClassifier(TinyNet, method="d2l", max_epochs=3, **without(settings, "max_epochs")).initialize()
        other.load_params(**files)

        clf.set_params(max_epochs=3).partial_fit(*table)
        other.partial_fit(*table)

        assert torch.equal(weights(other), weights(clf))
        assert other.method_.label_weight == clf.method_.label_weight < 1
        assert other.lid_history_ == clf.lid_history_


def test_features_are_measured_in_evaluation_mode_for_the_rows_asked_for(table, quick):
    X, y = np.tile(table[0], (20, 1)), np.tile(table[1], 20)
    clf = LECClassifier(MLP, method="d2l", **without(quick, "M", "T_w")).fit(X, y)
    trainer = NetTrainer(clf, SkorchDataset(X, y))

    torch.manual_seed(0)
    first = list(trainer.hidden_features(1280, layer=None))
    torch.manual_seed(0)
    second = list(trainer.hidden_features(1280, layer=None))
    third = list(trainer.hidden_features(1280, layer=None))

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


def test_the_weight_of_labels_goes_by_all_epochs_of_a_call(table, quick):
    clf = LECClassifier(TinyNet, method="d2l", **without(quick, "M", "T_w")).fit(*table)

    clf.partial_fit(*table)

    assert clf.last_epoch_ == 6
