"""Co-teaching, Forward and D2L: their rules on small cases computed by hand, and inside a training."""

import math
import threading
import warnings

import numpy as np
import pytest
import torch
from conftest import TinyNet
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch.callbacks import Callback, LRScheduler
from torch import nn
from torch.utils.data import TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.methods.d2l import is_turning_point, local_intrinsic_dimensionality, weight_of_labels
from sklearn_lec.methods.forward import estimate_corruption_matrix
from sklearn_lec.noise import AsymmetricNoise

ROWS = torch.arange(4)


def co_teaching(epoch, *, eps=0.5, T_k=10):
    method = METHODS["co-teaching"](eps=eps, T_k=T_k)
    method.start(4)
    method.epoch = epoch
    return method


def weights(clf):
    return torch.cat([p.detach().flatten() for p in clf.module_.parameters()])


def test_networks_learn_from_the_rows_that_the_other_one_picks():
    losses = torch.tensor([[0.1, 0.2, 8.0, 9.0], [8.0, 0.2, 0.1, 9.0]])

    first, second = co_teaching(10).keep(losses, ROWS)

    assert first.tolist() == [False, True, True, False]
    assert second.tolist() == [True, True, False, False]


def test_no_network_ever_learns_from_a_row_that_it_alone_picked(table, quick):
    picked = {0: set(), 1: set()}

    class Watching(METHODS["co-teaching"]):
        def keep(self, losses, rows):
            keep = super().keep(losses, rows)
            small = keep.flip(0)
            for network in (0, 1):
                alone = small[network] & ~small[1 - network]
                assert not (keep[network] & alone).any()
                picked[network] |= set(rows[alone].tolist())
            return keep

    original = METHODS["co-teaching"]
    METHODS["co-teaching"] = Watching
    try:
        LECClassifier(TinyNet, method="co-teaching", eps=0.4, T_k=1, **without(quick, "M", "T_w")).fit(*table)
    finally:
        METHODS["co-teaching"] = original

    assert picked[0] and picked[1]


def without(settings, *names):
    return {name: value for name, value in settings.items() if name not in names}


def test_the_kept_share_falls_linearly_over_the_first_epochs():
    shares = [1 - co_teaching(epoch, eps=0.45).share_left_out for epoch in range(1, 13)]

    assert shares == pytest.approx([1 - 0.05 * step for step in range(10)] + [0.55, 0.55])
    assert co_teaching(1, T_k=1).share_left_out == 0.5


def test_co_teaching_records_what_both_networks_learned_from(table, quick):
    kept = []

    class Watching(METHODS["co-teaching"]):
        def keep(self, losses, rows):
            keep = super().keep(losses, rows)
            if self.epoch == 3:
                kept.extend(rows[keep[0] & keep[1]].tolist())
            return keep

    original = METHODS["co-teaching"]
    METHODS["co-teaching"] = Watching
    try:
        clf = LECClassifier(TinyNet, method="co-teaching", eps=0.4, **without(quick, "M", "T_w")).fit(*table)
    finally:
        METHODS["co-teaching"] = original

    assert set(np.flatnonzero(clf.clean_mask_)) == set(kept)


def test_the_matrix_is_read_off_the_row_at_the_percentile_of_each_class():
    first = np.linspace(0, 1, 101)
    probabilities = np.stack([first, (1 - first) * 0.25, (1 - first) * 0.75], axis=1)

    at_97, at_100 = (estimate_corruption_matrix(probabilities, percentile=p) for p in (97, 100))

    assert np.allclose(at_97[0], [0.97, 0.0075, 0.0225])
    assert np.allclose(at_97[1], [0.03, 0.2425, 0.7275])
    assert np.allclose(at_100, [[1, 0, 0], [0, 0.25, 0.75], [0, 0.25, 0.75]])
    assert np.allclose(at_97.sum(axis=1), 1)


def test_the_corrected_loss_is_that_of_the_matrix_formula():
    C = torch.tensor([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.0, 0.2, 0.8]])
    method = METHODS["forward"](corruption_matrix=None, percentile=97)
    method.matrix = C
    outputs, labels = torch.randn(5, 3), torch.tensor([0, 1, 2, 0, 1])

    loss = method.loss(nn.CrossEntropyLoss(), outputs, labels)

    p = outputs.softmax(dim=1)
    expected = -torch.stack([torch.log((C.T @ p[row])[labels[row]]) for row in range(5)]).mean()
    assert torch.allclose(loss, expected, atol=1e-6)


def test_with_the_identity_forward_trains_as_standard(table, quick):
    settings = without(quick, "M", "T_w")
    forward = LECClassifier(TinyNet, method="forward", corruption_matrix=np.eye(3), **settings).fit(*table)
    standard = LECClassifier(TinyNet, method="standard", **settings).fit(*table)

    assert torch.allclose(weights(forward), weights(standard), atol=1e-4)


def test_forward_trains_a_standard_network_first_unless_the_matrix_is_known(table, quick):
    epochs = []

    class Counting(Callback):
        def on_epoch_end(self, net, **kwargs):
            epochs.append(net.method)

    class Watched(LECClassifier):
        def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
            if training:
                epochs.append(self.method)
            super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)

    settings = without(quick, "M", "T_w")
    estimated = Watched(TinyNet, method="forward", **settings).fit(*table)
    assert epochs == ["standard"] * 3 + ["forward"] * 3
    epochs.clear()
    Watched(TinyNet, method="forward", corruption_matrix=np.eye(3), **settings).fit(*table)
    assert epochs == ["forward"] * 3

    assert estimated.corruption_matrix_.shape == (3, 3)
    assert np.allclose(estimated.corruption_matrix_.sum(axis=1), 1, atol=1e-5)
    assert len(estimated.history) == 3


def test_forward_with_the_true_matrix_recovers_what_standard_loses():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=0)
    noise = AsymmetricNoise(eps=0.4, random_state=0)
    y_noisy = noise.fit_transform(y_train)
    settings = {"max_epochs": 40, "verbose": 0, "random_state": 0}

    standard = LECClassifier(method="standard", **settings).fit(X_train, y_noisy)
    forward = LECClassifier(method="forward", corruption_matrix=noise.corruption_matrix_, **settings)
    forward.fit(X_train, y_noisy)

    assert forward.score(X_test, y_test) > standard.score(X_test, y_test) + 0.1


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
        ([9.0, 8.0, 7.0, 6.0, 9.4], True),
        ([9.0, 8.0, 7.0, 6.0, 9.7], True),
        ([9.0, 8.0, 7.0, 6.0, 9.0], False),
        ([1.0, 9.0, 8.0, 7.0, 6.0, 9.8], True),
        ([9.0, 8.0, 7.0, 20.0], False),
    ],
)
def test_the_turning_point_is_two_deviations_above_the_mean_of_the_window(lids, expected):
    # Mean and deviation of (9, 8, 7, 6) are 7.5 and 1.118: the bound is 9.736.
    expected = len(lids) > 4 and lids[-1] > 7.5 + 2 * math.sqrt(1.25)

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


def test_forward_knows_classes_that_come_later(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, method="forward", **without(quick, "M", "T_w"))

    clf.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])

    assert clf.corruption_matrix_.shape == (3, 3)


def test_forward_reads_probabilities_even_if_predictions_are_logits(table, quick):
    settings = without(quick, "M", "T_w")

    clf = LECClassifier(TinyNet, method="forward", predict_nonlinearity=None, **settings).fit(*table)

    assert np.allclose(clf.corruption_matrix_.sum(axis=1), 1, atol=1e-5)


class Interrupting(TinyNet):
    n_steps = 0

    def forward(self, x):
        Interrupting.n_steps += self.training
        if self.training and Interrupting.n_steps == 8:
            raise KeyboardInterrupt
        return super().forward(x)


def test_an_interrupt_of_the_first_training_of_forward_ends_the_second_too(table, quick):
    clf = LECClassifier(Interrupting, method="forward", **without(quick, "M", "T_w")).fit(*table)

    assert Interrupting.n_steps == 8
    assert len(clf.history) == 0
    assert clf.predict(table[0]).shape == (90,)


class Locked(Callback):
    def __init__(self, lock):
        self.lock = lock


@pytest.mark.parametrize("callbacks", ["disable", [Locked(threading.Lock())]])
def test_callbacks_that_cannot_be_copied_do_not_stop_forward(table, quick, callbacks):
    clf = LECClassifier(TinyNet, method="forward", callbacks=callbacks, **without(quick, "M", "T_w")).fit(*table)

    assert clf.corruption_matrix_.shape == (3, 3)


def test_a_scheduler_counts_in_both_trainings_of_forward(table, quick):
    seen = []

    class Watched(LECClassifier):
        def train_step(self, batch, **fit_params):
            seen.append(self.optimizer_.param_groups[0]["lr"])
            return super().train_step(batch, **fit_params)

    scheduler = LRScheduler(policy="StepLR", step_size=1, gamma=0.1)
    settings = without(quick, "M", "T_w") | {"batch_size": -1}
    Watched(TinyNet, method="forward", callbacks=[scheduler], **settings).fit(*table)

    assert seen == pytest.approx([1e-3, 1e-4, 1e-5] * 2)


def test_another_percentile_is_estimated_anew(table, quick):
    clf = LECClassifier(TinyNet, method="forward", warm_start=True, **without(quick, "M", "T_w")).fit(*table)
    before = clf.corruption_matrix_

    clf.set_params(percentile=10).fit(*table)

    assert not np.allclose(clf.corruption_matrix_, before)


def test_defaults_of_a_subclass_are_not_warned_of(table, quick):
    class Patient(LECClassifier):
        def __init__(self, module=TinyNet, *, T_w=3, **kwargs):
            super().__init__(module, T_w=T_w, **kwargs)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Patient(method="standard", **without(quick, "M", "T_w")).fit(*table)


def test_a_loaded_state_is_a_copy():
    method, other = METHODS["d2l"](W=4, lid_layer=None), METHODS["d2l"](W=4, lid_layer=None)
    method.lids = [1.0]
    other.load_state_dict(method.state_dict())

    other.lids.append(2.0)

    assert method.lids == [1.0]


class Auxiliary(TinyNet):
    def __init__(self, in_features=4, num_classes=3):
        super().__init__(in_features, num_classes)
        self.unused = nn.Linear(8, 2)


class NoLinear(nn.Module):
    def __init__(self, in_features, num_classes):
        super().__init__()
        self.conv = nn.Conv1d(1, num_classes, in_features)

    def forward(self, x):
        return self.conv(x.unsqueeze(1)).squeeze(2)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (
            {"method": "d2l", "module": NoLinear},
            ValueError,
            "NoLinear has none. Name the layer with lid_layer; layers: conv",
        ),
        (
            {"method": "d2l", "lid_layer": "top"},
            ValueError,
            "lid_layer='top' is not a layer of the module. Its layers: ",
        ),
        ({"method": "d2l", "module": Auxiliary}, ValueError, "takes no part in the network. Name the classifier head"),
        ({"method": "d2l", "criterion__reduction": "none"}, ValueError, "criterion__reduction must not be 'none'"),
        ({"method": "d2l", "W": 1}, ValueError, "W must be at least 2, got 1"),
        ({"method": "d2l", "W": 2.5}, TypeError, "W must be a whole number of epochs, got 2.5"),
        ({"method": "co-teaching", "T_k": 0}, ValueError, "T_k must be at least 1, got 0"),
        ({"method": "forward", "percentile": 101}, ValueError, r"percentile must lie in \[0, 100\], got 101"),
        ({"method": "forward", "percentile": "97"}, TypeError, "percentile must be a number from 0 to 100, got '97'"),
        ({"method": "forward", "corruption_matrix": np.eye(2)}, ValueError, "is for 2 classes, but y has 3"),
        ({"method": "forward", "corruption_matrix": np.ones((3, 3))}, ValueError, "sum to 1 in each row"),
        ({"method": "forward", "criterion": nn.MultiMarginLoss}, TypeError, "corrects the cross-entropy of logits"),
        ({"method": "co-teaching", "module": TinyNet(4, 3)}, TypeError, "trains 2 networks"),
    ],
)
def test_bad_parameters_are_refused_before_training(table, quick, parameters, error, message):
    with pytest.raises(error, match=message):
        LECClassifier(**without(quick, "M", "T_w") | parameters).fit(*table)


@pytest.mark.parametrize(
    ("method", "parameters", "unused"),
    [
        ("ltec", {"T_k": 5}, ["T_k=5"]),
        ("ltec", {"M": 3, "T_w": 2}, []),
        ("standard", {"eps": 0.6}, []),
        ("standard", {"M": 3, "percentile": 100}, ["M=3", "percentile=100"]),
        ("co-teaching", {"T_k": 5}, []),
        ("co-teaching", {"T_w": 2}, ["T_w=2"]),
        ("self-training", {"M": 3, "T_w": 2}, ["M=3"]),
        ("d2l", {"corruption_matrix": np.eye(3), "W": 5}, ["corruption_matrix=array"]),
    ],
)
def test_parameters_that_the_method_does_not_use_are_warned_of(table, quick, method, parameters, unused):
    settings = without(quick, "M", "T_w") | {"T_w": 10, "max_epochs": 11} | parameters
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LECClassifier(TinyNet, method=method, **settings).fit(*table)

    messages = sorted(str(w.message) for w in caught if "has no effect" in str(w.message))
    assert len(messages) == len(unused)
    assert all(message.startswith(name) for message, name in zip(messages, sorted(unused), strict=True))


@pytest.mark.parametrize("name", ["corruption_matrix_", "lid_history_", "turning_epoch_"])
def test_attributes_of_one_method_are_not_there_for_another(table, quick, name):
    assert not hasattr(LECClassifier(TinyNet, **quick).fit(*table), name)
