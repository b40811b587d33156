"""Hooks of skorch that users override: samples are selected as usual, or an error says what to do."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.exceptions import NotFittedError
from skorch.callbacks import Callback
from torch import nn
from torch.utils.data import DataLoader, Dataset

from sklearn_lec import LECClassifier
from sklearn_lec._selection import SampleRecord
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import NetworkEnsemble
from tests.helpers import TinyConv, TinyNet, weights


class GradientAccumulation(LECClassifier):
    """skorch's own recipe, from its FAQ."""

    def __init__(self, *args, acc_steps=2, **kwargs):
        super().__init__(*args, **kwargs)
        self.acc_steps = acc_steps

    def get_loss(self, *args, **kwargs):
        loss = super().get_loss(*args, **kwargs)
        return loss / self.acc_steps

    def train_step(self, batch, **fit_params):
        n_train_batches = len(self.history[-1, "batches"])
        step = self.train_step_single(batch, **fit_params)
        if n_train_batches % self.acc_steps == 0:
            self.optimizer_.step()
            self.optimizer_.zero_grad()
        return step


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("module", [TinyNet, TinyConv])
def test_gradient_accumulation_of_one_step_selects_and_trains_as_usual(table, quick, method, module):
    settings = {"method": method, "eps": 0.6, **quick}

    ours = GradientAccumulation(module, acc_steps=1, **settings).fit(*table)
    usual = LECClassifier(module, **settings).fit(*table)

    assert np.array_equal(ours.clean_mask_, usual.clean_mask_)
    assert torch.allclose(weights(ours), weights(usual), atol=1e-6)


def test_gradient_accumulation_is_as_robust_as_usual(noisy_digits):
    X, y_true, y_noisy, X_test, y_test = noisy_digits
    settings = {"eps": 0.6, "max_epochs": 40, "batch_size": 64, "verbose": 0, "random_state": 0}

    clf = GradientAccumulation(**settings).fit(X, y_noisy)

    assert clf.score(X_test, y_test) > 0.85
    assert (y_true == y_noisy)[clf.clean_mask_].mean() > 0.9


class LosesTheFlag(LECClassifier):
    def get_loss(self, y_pred, y_true, *args, **kwargs):
        return super().get_loss(y_pred, y_true)


class PassesOn(LECClassifier):
    def infer(self, x, **fit_params):
        return super().infer(x, **fit_params)

    def train_step_single(self, batch, **fit_params):
        return super().train_step_single(batch, **fit_params)

    def run_single_epoch(self, *args, **kwargs):
        return super().run_single_epoch(*args, **kwargs)


class OwnInfer(LECClassifier):
    def infer(self, x, **fit_params):
        return self.module_(torch.as_tensor(x))


class OwnModule(LECClassifier):
    def initialize_module(self):
        if self.method_.n_networks == 1:
            self.module_ = TinyNet(4, 3)
        else:
            self.module_ = NetworkEnsemble([TinyNet(4, 3) for _ in range(self.method_.n_networks)])
        return self


class OwnStep(LECClassifier):
    def train_step(self, batch, **fit_params):
        self.module_.train()
        self.optimizer_.zero_grad()
        X, y = batch
        y_pred = self.infer(X, **fit_params)
        loss = self.get_loss(y_pred, y, training=True)
        loss.backward()
        self.optimizer_.step()
        return {"loss": loss, "y_pred": y_pred}


@pytest.mark.parametrize("method", ["ltec", "lsec", "lnec", "ltec-full", "co-teaching", "elr"])
@pytest.mark.parametrize("estimator", [LosesTheFlag, PassesOn, OwnInfer, OwnModule, OwnStep])
def test_an_override_selects_and_trains_as_usual(table, quick, method, estimator):
    settings = {"method": method, "eps": 0.4, **quick}

    ours = estimator(TinyNet, **settings).fit(*table)
    usual = LECClassifier(TinyNet, **settings).fit(*table)

    assert np.array_equal(ours.clean_mask_, usual.clean_mask_)
    assert torch.equal(weights(ours), weights(usual))


@pytest.mark.parametrize("estimator", [LosesTheFlag, PassesOn, OwnInfer, OwnStep])
def test_an_override_goes_with_a_separate_vote(table, quick, estimator):
    ours = estimator(TinyConv, **quick | {"eps": 0.6}).fit(*table)
    usual = LECClassifier(TinyConv, **quick | {"eps": 0.6}).fit(*table)

    assert np.array_equal(ours.clean_mask_, usual.clean_mask_)
    assert torch.equal(weights(ours), weights(usual))


@pytest.mark.parametrize("separate_vote", [True, False])
def test_a_term_that_users_add_to_the_loss_has_its_gradient(table, quick, separate_vote):
    class Regularized(LECClassifier):
        def get_loss(self, y_pred, y_true, X=None, training=False):
            return super().get_loss(y_pred, y_true, X, training) + 100 * y_pred.pow(2).mean()

    settings = quick | {"eps": 0.6, "lr": 0.05, "separate_vote": separate_vote, "max_epochs": 10}
    plain = LECClassifier(TinyNet, **settings).fit(*table)
    regularized = Regularized(TinyNet, **settings).fit(*table)

    assert regularized.forward(table[0]).abs().mean() < 0.2 * plain.forward(table[0]).abs().mean()


def test_a_loss_that_is_changed_in_place_is_reported_as_it_was_changed(table, quick):
    class OwnLoss(LECClassifier):
        def get_loss(self, y_pred, y_true, X=None, training=False):
            loss = super().get_loss(y_pred, y_true, X, training)
            loss += 100.0
            return loss

    clf = OwnLoss(TinyNet, **quick).fit(*table)

    assert min(clf.history[:, "train_loss"]) > 100


# --- where samples cannot be selected -----------------------------------------------------------------------------


class ForeignLoss(LECClassifier):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        return F.cross_entropy(y_pred, torch.as_tensor(y_true))


class ForeignStep(LECClassifier):
    def train_step(self, batch, **fit_params):
        X, y = batch
        loss = F.cross_entropy(self.module_(X), y)
        loss.backward()
        self.optimizer_.step()
        return {"loss": loss, "y_pred": None}


class HalfBatches(LECClassifier):
    def train_step(self, batch, **fit_params):
        X, y = batch
        self.train_step_single((X[:8], y[:8]), **fit_params)
        return self.train_step_single((X[8:], y[8:]), **fit_params)


class OwnBatches(LECClassifier):
    def get_iterator(self, dataset, training=False):
        return DataLoader(dataset, batch_size=16)


class Wrapped(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, position):
        return self.dataset[position]


class WrappedBatches(LECClassifier):
    def get_iterator(self, dataset, training=False):
        return super().get_iterator(Wrapped(dataset) if training else dataset, training)


class Shuffled(LECClassifier):
    def train_step_single(self, batch, **fit_params):
        X, y = batch
        return super().train_step_single((X.flip(0), y.flip(0)), **fit_params)


class PseudoLabels(LECClassifier):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        return super().get_loss(y_pred, y_pred.argmax(dim=-1), X, training)


class OwnEpoch(LECClassifier):
    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        for batch in iterator or ():
            step_fn(batch)


class OneNetwork(LECClassifier):
    def initialize_module(self):
        self.module_ = TinyNet(4, 3)
        return self


@pytest.mark.parametrize(
    ("estimator", "method", "error", "message"),
    [
        (ForeignLoss, "ltec", RuntimeError, r"Call super\(\).get_loss in get_loss"),
        (ForeignLoss, "forward", RuntimeError, r"Call super\(\).get_loss in get_loss"),
        (ForeignStep, "ltec", RuntimeError, "did not call LECClassifier.get_loss"),
        (HalfBatches, "ltec", ValueError, "get_loss got 8 samples of a batch of 16"),
        (OwnBatches, "ltec", TypeError, r"as super\(\).get_iterator"),
        (WrappedBatches, "ltec", TypeError, "a transformation belongs in the Dataset passed to fit"),
        (WrappedBatches, "ltec-full", TypeError, "a transformation belongs in the Dataset passed to fit"),
        (Shuffled, "ltec", ValueError, "other labels than those of the batch, or the same in another order"),
        (PseudoLabels, "ltec", ValueError, "other labels than those of the batch"),
        (OwnEpoch, "ltec", RuntimeError, r"must call super\(\).run_single_epoch"),
        (OneNetwork, "co-teaching", ValueError, "trains 2 networks, but module_ returned the outputs of one"),
    ],
)
def test_a_step_in_which_samples_cannot_be_selected_says_what_to_do(table, quick, estimator, method, error, message):
    settings = quick | {"corruption_matrix": np.eye(3)}

    with pytest.raises(error, match=message):
        estimator(TinyNet, method=method, **settings).fit(*table)


@pytest.mark.parametrize("estimator", [ForeignLoss, ForeignStep])
def test_ordinary_training_may_compute_its_loss_as_it_likes(table, quick, estimator):
    clf = estimator(TinyNet, method="standard", **quick).fit(*table)

    assert clf.clean_mask_.all()


def test_a_second_loss_of_another_batch_does_not_count_as_training(table, quick):
    X, y = torch.tensor(table[0][:16]), torch.tensor(table[1][:16])

    class Trusted(LECClassifier):
        def get_loss(self, y_pred, y_true, X=None, training=False):
            loss = super().get_loss(y_pred, y_true, X, training)
            return loss + 0 * super().get_loss(self.infer(self.trusted[0]), self.trusted[1]) if training else loss

    Trusted.trusted = X, y
    ours = Trusted(TinyNet, **quick | {"eps": 0.4}).fit(*table)
    usual = LECClassifier(TinyNet, **quick | {"eps": 0.4}).fit(*table)

    assert np.array_equal(ours.clean_mask_, usual.clean_mask_)


def test_callbacks_with_the_exact_signature_of_skorch_work(table, quick):
    class Exact(Callback):
        def on_batch_end(self, net, batch, training, loss, y_pred):
            pass

    assert LECClassifier(TinyNet, callbacks=[Exact()], **quick).fit(*table).clean_mask_.any()


@pytest.mark.parametrize("method", ["ltec", "elr", "d2l"])
def test_a_training_step_outside_of_fit_is_refused_for_methods_that_do_more(table, quick, method):
    clf = LECClassifier(TinyNet, method=method, **quick).fit(*table)
    batch = next(iter(clf.get_iterator(clf.get_dataset(*table), training=True)))

    with pytest.raises(RuntimeError, match="Call partial_fit"):
        clf.train_step(batch)


def test_a_training_of_several_processes_is_refused(table, quick):
    class Accelerator:
        num_processes = 2

    class Distributed(LECClassifier):
        accelerator = Accelerator()

    with pytest.raises(RuntimeError, match="started with 2 processes, but the samples are not divided among them"):
        Distributed(TinyNet, **quick).fit(*table)


# --- one training, one run ----------------------------------------------------------------------------------------


def test_nothing_of_a_run_outlives_it(table, quick):
    clf = LECClassifier(TinyNet, **quick).fit(*table)

    assert clf._run is None
    assert [name for name in vars(clf) if name.startswith("_") and name not in SKORCHS_OWN] == ["_run"]


SKORCHS_OWN = set(vars(LECClassifier(TinyNet).initialize()))
"""Private attributes that a net has before it is trained: all are skorch's."""


def test_nothing_of_a_run_outlives_an_error(table, quick):
    class Fails(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyError("full disk")

    clf = LECClassifier(TinyNet, callbacks=[Fails()], **quick)
    with pytest.raises(KeyError, match="full disk"):
        clf.fit(*table, sample_weight=np.ones(90))

    assert clf._run is None


def test_splitting_only_splits(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick | {"eps": 0.4}).fit(X, y)
    before = clf.clean_mask_, clf.clean_score_, clf.method_.data_identity

    train, valid = clf.get_split_datasets(X[:30], y[:30])

    assert (len(train), valid) == (30, None)
    assert all(np.array_equal(*pair) for pair in zip(before[:2], (clf.clean_mask_, clf.clean_score_), strict=True))
    assert clf.method_.data_identity == before[2]


def test_the_loop_can_be_called_directly(table, quick):
    clf = LECClassifier(TinyNet, **quick | {"eps": 0.4}).fit(*table)

    clf.fit_loop(*table, epochs=2)

    assert len(clf.history) == clf.method_.epoch == 5
    assert clf._run is None


def test_an_nll_loss_on_probabilities_selects_as_cross_entropy_on_logits(table, quick):
    class Probabilities(TinyNet):
        def forward(self, x):
            return super().forward(x).softmax(dim=-1)

    nll = LECClassifier(Probabilities, criterion=nn.NLLLoss, **quick | {"eps": 0.4}).fit(*table)
    usual = LECClassifier(TinyNet, **quick | {"eps": 0.4}).fit(*table)

    assert np.array_equal(nll.clean_mask_, usual.clean_mask_)


def test_a_fit_that_is_refused_leaves_the_classes_alone(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick).fit(X, np.array(["a", "b", "c"])[y])

    with pytest.raises(ValueError, match="sample_weight"):
        clf.fit(X, y, sample_weight=np.ones(3))

    assert set(clf.predict(X)) <= {"a", "b", "c"}


@pytest.mark.parametrize("name", ["clean_mask_", "clean_score_"])
def test_what_is_not_fitted_says_so(name):
    with pytest.raises(NotFittedError, match="no record of samples yet; call fit first"):
        getattr(LECClassifier(TinyNet), name)


def test_class_weights_are_left_out_of_votes_by_a_compiled_network_too(table, quick):
    settings = {"eps": 0.4, "criterion__weight": torch.tensor([1.0, 50.0, 1.0]), **quick}

    compiled = LECClassifier(TinyNet, compile=True, compile__backend="eager", **settings).fit(*table)
    usual = LECClassifier(TinyNet, **settings).fit(*table)

    assert np.array_equal(compiled.clean_mask_, usual.clean_mask_)


@pytest.mark.parametrize("method", ["ltec", "ltec-full", "elr", "standard"])
@pytest.mark.parametrize("separate_vote", [True, False])
def test_a_network_may_rule_out_a_class_by_an_output_of_minus_infinity(table, quick, method, separate_vote):
    class Masked(TinyNet):
        def forward(self, x):
            outputs = super().forward(x)
            return torch.cat([outputs, torch.full_like(outputs[:, :1], -torch.inf)], dim=1)

    settings = {"method": method, "eps": 0.2, "separate_vote": separate_vote, "classes": [0, 1, 2, 3], **quick}
    clf = LECClassifier(Masked, module__num_classes=3, **settings).fit(*table)

    assert clf.clean_mask_.sum() > 40
    assert weights(clf).isfinite().all()


def test_a_sample_that_is_drawn_twice_is_selected_if_it_is_once():
    record = SampleRecord(3)

    record.add(torch.tensor([1, 1, 2]), torch.tensor([True, False, False]))

    assert record.current.tolist() == [False, True, False]
