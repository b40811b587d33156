"""eps and T_w left at "auto" with what users do to a skorch net: subclasses, callbacks, criteria, data that changes."""

import numpy as np
import pytest
import sklearn
import torch
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch.callbacks import Checkpoint, LRScheduler
from skorch.dataset import ValidSplit
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec._training.folds import HeldOutMean
from sklearn_lec.estimation import estimate_noise
from sklearn_lec.methods import Method, Selection
from tests.helpers import TinyNet, weights, without

COMMON = {"module__hidden": (8,), "max_epochs": 8, "lr": 0.01, "verbose": 0, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def blobs():
    """120 samples in three classes, a fifth of the labels wrong."""
    X, y = make_blobs(120, centers=[[-4, 0], [4, 0], [0, 5]], random_state=0)
    y[::5] = (y[::5] + 1) % 3
    return X.astype(np.float32), y


def test_a_network_that_is_not_trained_settles_nothing(blobs):
    with pytest.warns(UserWarning, match="max_epochs=0"):
        clf = LECClassifier(**COMMON | {"max_epochs": 0}).fit(*blobs)

    assert not hasattr(clf, "T_w_")


def test_an_interruption_of_the_folds_ends_the_training(blobs, monkeypatch):
    def interrupted(self, net, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(HeldOutMean, "on_epoch_end", interrupted)

    with pytest.raises(KeyboardInterrupt):
        LECClassifier(**COMMON).fit(*blobs)


def test_a_training_killed_within_a_fold_goes_on_there(blobs, tmp_path, monkeypatch):
    whole = LECClassifier(**COMMON).fit(*blobs)
    ends, on_epoch_end = [], HeldOutMean.on_epoch_end

    def killed(self, net, **kwargs):
        ends.append(1)
        if len(ends) == 4:
            raise RuntimeError("killed")
        on_epoch_end(self, net, **kwargs)

    monkeypatch.setattr(HeldOutMean, "on_epoch_end", killed)
    with pytest.raises(RuntimeError, match="killed"):
        LECClassifier(**COMMON, checkpoint_dir=tmp_path).fit(*blobs)
    clf = LECClassifier(**COMMON, checkpoint_dir=tmp_path).fit(*blobs)

    assert len(ends) == 5  # two folds of two epochs, one of them again
    assert clf.eps_ == whole.eps_
    assert torch.equal(weights(clf), weights(whole))


def test_files_of_the_method_can_be_loaded(blobs, tmp_path):
    clf = LECClassifier(**COMMON).fit(*blobs)
    clf.save_params(f_params=tmp_path / "params.pt", f_method=tmp_path / "method.pt")

    loaded = LECClassifier(**COMMON)
    loaded.load_params(f_params=tmp_path / "params.pt", f_method=tmp_path / "method.pt")

    assert (loaded.eps_, loaded.T_w_) == (clf.eps_, clf.T_w_)
    assert loaded.noise_estimate_.interval == clf.noise_estimate_.interval
    assert all(type(end) is float for end in clf.noise_estimate_.interval)


def test_a_checkpoint_with_the_method_is_restored(blobs, tmp_path):
    checkpoint = Checkpoint(monitor="train_loss_best", f_method="method.pt", load_best=True, dirname=tmp_path)
    plain = LECClassifier(**COMMON).fit(*blobs)

    clf = LECClassifier(**COMMON, callbacks=[checkpoint]).fit(*blobs)

    assert (clf.eps_, clf.T_w_) == (plain.eps_, plain.T_w_)
    assert clf.method_.settled == plain.method_.settled
    assert clf.partial_fit(*blobs).T_w_ == plain.T_w_


def test_a_method_that_is_loaded_into_a_fitted_net_keeps_what_was_settled(blobs, tmp_path):
    clf = LECClassifier(**COMMON | {"eps": [0.1, 0.3, 0.2]}, method="ltec-full").fit(*blobs)
    settled, shares = dict(clf.method_.settled), clf.eps_per_class_

    clf.save_params(f_method=tmp_path / "method.pt")
    clf.load_params(f_method=tmp_path / "method.pt")

    assert clf.method_.settled == settled
    assert clf.eps_per_class_.tolist() == shares.tolist()
    assert clf.partial_fit(*blobs).T_w_ == settled["T_w"]


def test_attributes_are_copies(blobs):
    clf = LECClassifier(**COMMON | {"eps": [0.1, 0.3, 0.2]}, method="ltec-full").fit(*blobs)

    clf.eps_per_class_[:] = 0

    assert clf.eps_per_class_.tolist() == [0.1, 0.3, 0.2]


def test_a_method_with_a_warm_up_needs_no_share(blobs):
    class Everything(Method):
        def __init__(self, T_w=None):
            self.T_w = T_w

        def select(self, batch):
            return Selection(batch.losses[0] < np.inf)

    clf = LECClassifier(method=Everything(), **COMMON | {"max_epochs": 20}).fit(*blobs)

    assert clf.T_w_ == 4


def test_what_a_fit_of_ones_own_does_to_the_data_is_done_once(blobs):
    largest = []

    class Scaled(LECClassifier):
        def fit(self, X, y=None):
            return super().fit(X / 100, y)

        def infer(self, x, **fit_params):
            largest.append(float(x.abs().max()))
            return super().infer(x, **fit_params)

    Scaled(**COMMON).fit(*blobs)

    assert min(largest) > 0.01


def test_a_subclass_that_cannot_be_copied_is_told_what_to_do(blobs):
    class Fixed(LECClassifier):
        def __init__(self, eps="auto"):
            super().__init__(eps=eps, **COMMON)

    assert Fixed(eps=0.2).fit(*blobs).eps_ == 0.2
    with pytest.raises(TypeError, match=r"a copy of the Fixed has to be trained first.*with a number for eps no copy"):
        Fixed().fit(*blobs)


@pytest.mark.parametrize(
    "settings",
    [
        {"callbacks__linear_decay__start": 0.5},
        {"callbacks__valid_acc__name": "accuracy"},
        {"callbacks": [LRScheduler("ReduceLROnPlateau", monitor="valid_acc")], "train_split": ValidSplit(3)},
        {"callbacks": [LRScheduler("ReduceLROnPlateau", monitor="n_selected")]},
    ],
)
def test_callbacks_of_the_user_are_no_obstacle(blobs, settings):
    assert LECClassifier(**COMMON | settings).fit(*blobs).eps_ >= 0


class Grouped(TinyNet):
    def forward(self, x, groups=None):
        return super().forward(x)


def test_metadata_requests_are_those_of_the_net(blobs):
    with sklearn.config_context(enable_metadata_routing=True):
        clf = LECClassifier(Grouped, **without(COMMON, "module__hidden")).set_fit_request(groups=True)

        assert clf.fit(*blobs, groups=None).eps_ > 0


def test_outputs_for_a_criterion_of_ones_own_become_probabilities(blobs):
    class OwnLoss(nn.Module):
        def __init__(self, reduction="mean"):
            super().__init__()
            self.reduction = reduction

        def forward(self, outputs, labels):
            return nn.functional.cross_entropy(outputs, labels, reduction=self.reduction)

    for nonlinearity in ("auto", lambda outputs: outputs.softmax(dim=-1)):
        clf = LECClassifier(criterion=OwnLoss, predict_nonlinearity=nonlinearity, **COMMON)
        pred_probs = clf.out_of_fold_predictions(*blobs)[0]
        np.testing.assert_allclose(pred_probs.sum(axis=1), 1, rtol=1e-5)
        assert pred_probs.min() >= 0


def test_other_shares_take_the_place_of_those_before(blobs):
    settings = COMMON | {"method": "ltec-full", "M": 1, "T_w": 1}
    clf = LECClassifier(**settings | {"eps": [0.0, 0.5, 0.1]}).fit(*blobs)
    y = blobs[1]

    clf.set_params(eps=[0.5, 0.0, 0.0]).partial_fit(*blobs)
    assert clf.eps_per_class_.tolist() == [0.5, 0, 0]
    assert [(~clf.clean_mask_)[y == k].sum() for k in range(3)] == [np.ceil((y == 0).sum() / 2), 0, 0]

    clf.set_params(eps=0.3).partial_fit(*blobs)
    assert clf.eps_ == 0.3
    assert (~clf.clean_mask_).sum() == 36
    assert not hasattr(clf, "eps_per_class_")

    auto = LECClassifier(**settings).fit(*blobs)
    assert auto.set_params(eps=[0.5, 0.5, 0.5]).partial_fit(*blobs).eps_ == 0.5


def test_an_estimate_does_not_outlive_its_data(blobs):
    X, y = blobs
    clf = LECClassifier(**COMMON, warm_start=True).fit(X, y)
    eps = clf.eps_

    clf.fit(X[:60], y[:60])

    assert clf.eps_ == eps
    with pytest.raises(AttributeError, match="that of eps_ was made for the data of an earlier call"):
        clf.noise_estimate_  # noqa: B018


def test_an_overall_share_follows_the_labels_that_shares_are_given_for(blobs):
    X, y = blobs
    clf = LECClassifier(**COMMON, method="ltec-full").set_params(eps={0: 0.4, 1: 0.0, 2: 0.0}, classes=[0, 1, 2])
    before = clf.partial_fit(X, y).eps_

    after = clf.partial_fit(X, np.zeros_like(y)).eps_

    assert before == pytest.approx(0.4 * (y == 0).mean())
    assert after == pytest.approx(0.4)


def test_shares_of_labels_that_a_fold_lacks_are_no_obstacle(blobs):
    clf = LECClassifier(**COMMON, eps={0: 0.2, 1: 0.2, 2: 0.2, 3: 0.5}).fit(*blobs)

    assert clf.eps_ == pytest.approx(0.2)


def test_an_estimate_that_was_made_is_forgotten_when_the_share_is_given(blobs):
    clf = LECClassifier(**COMMON).fit(*blobs)

    clf.set_params(eps=0.3).partial_fit(*blobs)

    assert clf.eps_ == 0.3
    assert not hasattr(clf, "eps_per_class_")


def test_that_there_was_no_estimate_is_known_from_saved_parameters(blobs, tmp_path):
    settings = COMMON | {"max_epochs": 2, "module__in_features": 2, "module__num_classes": 3}
    clf = LECClassifier(**settings).fit(*blobs)
    clf.save_params(f_params=tmp_path / "params.pt", f_method=tmp_path / "method.pt")

    loaded = LECClassifier(**settings).initialize()
    loaded.load_params(f_params=tmp_path / "params.pt", f_method=tmp_path / "method.pt")

    assert clf.eps_ == loaded.eps_ == 0


@pytest.mark.parametrize("epoch", [1, 2])
@pytest.mark.parametrize("method", ["ltec", "forward"])
def test_a_user_who_stops_what_comes_before_the_training_gets_no_untrained_network(blobs, monkeypatch, method, epoch):
    def interrupted(net, prefix_epoch=epoch):
        if len(net.history) == prefix_epoch and net.method == "standard":
            raise KeyboardInterrupt

    original = LECClassifier.validation_step if method == "ltec" else LECClassifier.train_step

    def step(net, *args, **kwargs):
        interrupted(net)
        return original(net, *args, **kwargs)

    monkeypatch.setattr(LECClassifier, original.__name__, step)
    settings = {"max_epochs": 8} if method == "ltec" else {"max_epochs": 2, "percentile": 90}

    with pytest.raises(KeyboardInterrupt):
        LECClassifier(**COMMON | settings, method=method).fit(*blobs)


def test_forward_tells_that_its_matrix_cannot_be_trusted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)).astype(np.float32), np.arange(90) % 3

    with pytest.warns(UserWarning, match="cannot be trusted: .* set eps, or corruption_matrix for 'forward'"):
        LECClassifier(**COMMON, method="forward", corruption_matrix="auto").fit(X, y)


def test_a_training_that_goes_on_epoch_by_epoch_is_told_that_its_warm_up_is_short(blobs):
    clf = LECClassifier(**COMMON | {"max_epochs": 1}, eps=0.2)

    with pytest.warns(
        UserWarning, match="T_w='auto' is a fifth of max_epochs=1, at least 1, whatever comes after it"
    ) as told:
        clf.partial_fit(*blobs)
    assert all(warning.filename == __file__ for warning in told)
    clf.partial_fit(*blobs)  # a warning would be an error here


def test_each_call_without_an_estimate_tries_again(blobs):
    clf = LECClassifier(**COMMON | {"max_epochs": 1})
    with pytest.warns(UserWarning, match="eps='auto' cannot be settled: max_epochs=1 leaves no epoch"):
        clf.partial_fit(*blobs)
    assert clf.eps_ == 0

    assert clf.set_params(max_epochs=8).partial_fit(*blobs).eps_ > 0


@pytest.mark.parametrize("max_epochs", [8, 200])
def test_there_are_no_more_folds_than_samples_of_a_class(blobs, max_epochs):
    X, y = blobs[0][:12], np.arange(12) % 4

    estimate = estimate_noise(LECClassifier(**COMMON | {"max_epochs": max_epochs}), X, y)

    assert estimate.counts.tolist() == [3, 3, 3, 3]


def test_a_network_that_predicts_nan_is_named(blobs):
    with pytest.warns(UserWarning) as warned:
        LECClassifier(**COMMON | {"lr": 1e30}).fit(*blobs)

    assert any("no sample has predictions that are finite. Lower lr" in str(w.message) for w in warned)


def test_pipelines_take_as_many_folds_as_their_epochs_allow(blobs):
    for steps in ([StandardScaler()], []):
        pipeline = make_pipeline(*steps, LECClassifier(**COMMON))
        assert estimate_noise(pipeline, *blobs).counts.sum() == 120


def test_shares_may_be_any_kind_of_array(blobs):
    pandas = pytest.importorskip("pandas")

    for shares in (pandas.Series([0.3, 0.1, 0.2], index=[2, 0, 1]), torch.tensor([0.1, 0.2, 0.3]), (0.1, 0.2, 0.3)):
        clf = LECClassifier(eps=shares, **COMMON).fit(*blobs)
        np.testing.assert_allclose(clf.eps_per_class_, [0.1, 0.2, 0.3], rtol=1e-6)
