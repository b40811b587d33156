"""Forward: the corruption matrix, the corrected loss, and the training before the training."""

import threading
from unittest.mock import patch

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch.callbacks import Callback, GradientNormClipping, LRScheduler
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS, Selected
from sklearn_lec.methods.forward import estimate_corruption_matrix
from sklearn_lec.noise import AsymmetricNoise
from tests._training.interruption import interrupted, power_cut, settings
from tests.helpers import TinyNet, weights, without


def test_the_matrix_is_read_from_the_sample_at_the_percentile_of_each_class():
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

    loss = method.loss(nn.CrossEntropyLoss(), Selected(outputs, labels, torch.arange(5)))

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
    with pytest.raises(KeyboardInterrupt):
        LECClassifier(Interrupting, method="forward", **without(quick, "M", "T_w")).fit(*table)

    assert Interrupting.n_steps == 8


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


def test_going_on_does_not_estimate_the_matrix_again_but_other_samples_do(table, quick):
    X, y = table
    trained = []

    class Watched(LECClassifier):
        def partial_fit(self, X, y=None, classes=None, **fit_params):
            trained.append(self.method)
            return super().partial_fit(X, y, classes, **fit_params)

    clf = Watched(TinyNet, method="forward", **without(quick, "M", "T_w"))
    clf.partial_fit(X, y).partial_fit(X, y).partial_fit(X[:60], y[:60])

    assert trained == ["forward", "standard", "forward", "forward", "standard"]


def test_the_two_networks_of_forward_start_from_different_weights(table, quick):
    starts = []

    class Watched(LECClassifier):
        def initialize_optimizer(self, *args, **kwargs):
            starts.append(weights(self).clone())
            return super().initialize_optimizer(*args, **kwargs)

    Watched(TinyNet, method="forward", **without(quick, "M", "T_w")).fit(*table)

    assert not torch.equal(*starts)


def test_a_network_that_is_sure_of_itself_still_learns_from_the_corrected_loss():
    method = METHODS["forward"](corruption_matrix=None, percentile=97)
    method.matrix = torch.eye(2)
    outputs = torch.tensor([[120.0, 0.0]], requires_grad=True)

    method.loss(nn.CrossEntropyLoss(), Selected(outputs, torch.tensor([1]), torch.tensor([0]))).backward()

    assert outputs.grad.abs().max() > 0.5


@pytest.mark.parametrize("scale", [1, 20, 200])
@pytest.mark.parametrize(
    "matrix",
    [np.eye(3), [[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]], [[0.5, 0.5, 0.0]] * 3, np.full((3, 3), 1 / 3)],
    ids=["identity", "zeros", "a label that no class gets", "uniform"],
)
def test_the_corrected_loss_and_its_gradient_are_exact_however_sure_the_network_is(matrix, scale):
    method = METHODS["forward"]()
    method.matrix = torch.as_tensor(np.asarray(matrix), dtype=torch.float32)
    outputs = scale * torch.tensor([[a, b, c] for a in (-1.0, 0, 1) for b in (-1.0, 0, 1) for c in (-1.0, 0, 1)])
    outputs, labels = outputs.repeat_interleave(3, dim=0).requires_grad_(), torch.arange(81) % 3
    exact_outputs = outputs.detach().double().requires_grad_()

    loss = method.loss(nn.CrossEntropyLoss(reduction="none"), Selected(outputs, labels, torch.arange(81)))
    loss.sum().backward()

    log_matrix = method.matrix.double().log().clamp(min=-1e4)
    noisy = (exact_outputs.log_softmax(dim=1).unsqueeze(2) + log_matrix).logsumexp(dim=1)
    exact = nn.functional.cross_entropy(noisy, labels, reduction="none")
    exact.sum().backward()
    assert torch.allclose(loss.double(), exact, rtol=1e-5, atol=1e-5)
    assert torch.allclose(outputs.grad.double(), exact_outputs.grad, atol=1e-3)


def test_the_corrected_loss_takes_no_memory_for_each_pair_of_classes_and_sample():
    sizes = []

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **kwargs or {})
            sizes.extend(tensor.numel() for tensor in tree_leaves(result) if isinstance(tensor, torch.Tensor))
            return result

    method = METHODS["forward"]()
    method.matrix = torch.eye(50)
    outputs = torch.randn(40, 50, requires_grad=True)

    with Sizes():
        method.loss(nn.CrossEntropyLoss(), Selected(outputs, torch.arange(40), torch.arange(40))).backward()

    assert max(sizes) <= 50 * 50


def test_half_precision_around_the_step_does_not_reach_the_corrected_loss():
    method = METHODS["forward"]()
    method.matrix = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    batch = Selected(torch.randn(40, 3), torch.arange(40) % 3, torch.arange(40))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.5)
    plain = method.loss(criterion, batch)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        within = method.loss(criterion, batch)

    assert within.dtype == torch.float32
    assert torch.equal(within, plain)


def test_autocast_is_left_alone_where_it_is_off():
    method = METHODS["forward"]()
    method.matrix = torch.eye(3)
    batch = Selected(torch.randn(4, 3), torch.arange(4) % 3, torch.arange(4))

    with patch("torch.autocast", side_effect=RuntimeError("unsupported autocast device_type 'mps'")):
        loss = method.loss(nn.CrossEntropyLoss(), batch)

    assert loss.isfinite()


def test_a_device_that_has_no_autocast_needs_none_to_be_turned_off():
    method = METHODS["forward"]()
    method.matrix = torch.eye(3, device="meta")
    batch = Selected(*(torch.empty(4, 3, device="meta"), *torch.zeros(2, 4, dtype=torch.int64, device="meta")))

    assert method.loss(nn.CrossEntropyLoss(), batch).device.type == "meta"


def test_a_standard_network_that_predicts_nothing_is_an_error_that_says_so():
    with pytest.raises(ValueError, match=r"predicts NaN for every sample. Lower lr, scale X"):
        estimate_corruption_matrix(np.full((5, 2), np.nan), percentile=97)


def test_the_matrix_is_estimated_at_the_percentile_of_the_parameter(table, quick, monkeypatch):
    percentiles = []

    def record(probabilities, *, percentile):
        percentiles.append(percentile)
        return np.eye(3)

    monkeypatch.setattr("sklearn_lec.methods.forward.estimate_corruption_matrix", record)
    LECClassifier(TinyNet, method="forward", percentile=81, **without(quick, "M", "T_w")).fit(*table)

    assert percentiles == [81]


def test_another_percentile_is_estimated_anew(table, quick):
    clf = LECClassifier(TinyNet, method="forward", warm_start=True, **without(quick, "M", "T_w")).fit(*table)
    before = clf.corruption_matrix_

    clf.set_params(percentile=10).fit(*table)

    assert not np.allclose(clf.corruption_matrix_, before)


# --- a power cut in the training before the training ------------------------------------------------------------------

QUICK = {"method": "forward", "max_epochs": 7, "batch_size": 16, "verbose": 0}


@pytest.fixture
def cut_in_first_training(table, tmp_path):
    """A function that cuts Forward off in the training that comes first, and returns a net that can go on with it."""

    def cut(**parameters):
        parameters = QUICK | parameters | {"checkpoint_dir": tmp_path, "callbacks": [GradientNormClipping()]}
        with power_cut(epoch=4, method="standard"):
            LECClassifier(**parameters).fit(*table)
        return LECClassifier(**parameters)

    return cut


@pytest.mark.parametrize("random_state", [0, None])
def test_the_training_that_comes_before_forwards_is_resumed_too(table, cut_in_first_training, random_state):
    parameters = QUICK | {"random_state": random_state, "callbacks": [GradientNormClipping()]}
    epochs = []
    with torch.random.fork_rng():
        torch.manual_seed(7)
        expected = LECClassifier(**parameters).fit(*table)
        torch.manual_seed(7)
        resumed = cut_in_first_training(random_state=random_state)
        torch.manual_seed(8)
        with patch.object(LECClassifier, "on_epoch_end", lambda net, *args, **kwargs: epochs.append(net.method)):
            resumed.fit(*table)

    assert epochs == 4 * ["standard"] + 7 * ["forward"]
    assert torch.equal(resumed.method_.matrix, expected.method_.matrix)
    assert torch.equal(weights(resumed), weights(expected))


def test_a_cut_between_the_two_trainings_makes_no_difference(table, tmp_path):
    expected = LECClassifier(**settings("forward")).fit(*table)

    resumed = interrupted(table, tmp_path, epochs=(1,), **settings("forward"))

    assert torch.equal(weights(resumed), weights(expected))


def test_another_training_is_refused_already_in_the_one_that_comes_first(table, cut_in_first_training):
    resumed = cut_in_first_training(random_state=0)

    with pytest.raises(ValueError, match="holds a run that differs in random_state"):
        resumed.set_params(random_state=1).fit(*table)
