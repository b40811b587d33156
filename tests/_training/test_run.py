"""Whole trainings: which samples are learned from, and what is left as it was."""

import copy
import math

import numpy as np
import pytest
import torch
from skorch import NeuralNetClassifier
from skorch.callbacks import Callback
from torch import nn
from torch.utils.data import Dataset, Subset, TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import MLP
from tests.helpers import TinyNet, weights


def plain_skorch(X, y, module, **kwargs):
    """Train plain skorch as `quick` tells our classifier to."""
    torch.manual_seed(0)
    return NeuralNetClassifier(
        module,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.001,
        max_epochs=3,
        batch_size=16,
        train_split=None,
        module__in_features=4,
        module__num_classes=3,
        optimizer__fused=True,  # as is our default for Adam
        iterator_train__shuffle=True,
        verbose=0,
        **kwargs,
    ).fit(X, y.astype(np.int64))


def with_sample_7(value, table):
    X = torch.tensor(table[0])
    X[7] = value
    return TensorDataset(X, torch.from_numpy(table[1]))


@pytest.mark.parametrize("module", [TinyNet, MLP])
def test_standard_ends_with_the_weights_of_plain_skorch(table, quick, module):
    X, y = table

    ours = LECClassifier(module, method="standard", **quick, callbacks__linear_decay=None).fit(X, y)
    theirs = plain_skorch(X, y, module)

    assert torch.equal(weights(ours), weights(theirs))


@pytest.mark.parametrize("method", ["self-training", "ltec"])
def test_without_noise_to_expect_the_weights_are_those_of_standard(table, quick, method):
    ours = LECClassifier(method=method, **quick | {"eps": 0}).fit(*table)
    standard = LECClassifier(method="standard", **quick).fit(*table)

    assert torch.equal(weights(ours), weights(standard))


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_to_expect_every_sample_is_selected(table, quick, method):
    clf = LECClassifier(method=method, **quick | {"eps": 0}).fit(*table)

    assert clf.clean_mask_.all()
    assert (clf.clean_score_ == 1).all()
    assert clf.history[:, "n_selected"] == [90, 90, 90]


def test_lnec_with_one_optimizer_equals_separately_trained_networks(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, method="lnec", **quick | {"M": 3}, callbacks__linear_decay=None)
    clf.set_params(iterator_train__shuffle=False).fit(X, y)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        networks = [TinyNet(4, 3) for _ in range(3)]
    optimizers = [torch.optim.Adam(network.parameters(), lr=0.001) for network in networks]
    for epoch in (1, 2, 3):
        for X_batch, y_batch in zip(torch.tensor(X).split(16), torch.tensor(y).split(16), strict=True):
            losses = [nn.functional.cross_entropy(network(X_batch), y_batch, reduction="none") for network in networks]
            selected = set(range(len(y_batch)))
            for loss in losses if epoch > quick["T_w"] else []:
                selected &= set(loss.argsort(stable=True)[: math.floor(0.8 * len(y_batch))].tolist())
            for loss, optimizer in zip(losses, optimizers, strict=True):
                optimizer.zero_grad()
                loss[sorted(selected)].mean().backward()
                optimizer.step()

    for ours, theirs in zip(clf.module_.networks, networks, strict=True):
        for p, q in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.allclose(p, q, atol=1e-6)


@pytest.mark.parametrize("M", [1, 2, 3, math.inf])
def test_ltec_trains_on_what_algorithm_a3_says_written_with_sets(table, quick, M):
    X, y = table
    clf = LECClassifier(TinyNet, **quick | {"M": M, "max_epochs": 6, "eps": 0.3}, callbacks__linear_decay=None)
    clf.set_params(iterator_train__shuffle=False).fit(X, y)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyNet(4, 3)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    P = {}
    for t in range(1, 7):
        P[t], trained_on = set(), set()
        for batch in torch.arange(90).split(16):
            outputs, labels = network(torch.tensor(X[batch])), torch.tensor(y[batch])
            loss = nn.functional.cross_entropy(outputs, labels, reduction="none")
            S = set(batch[loss.argsort(stable=True)[: math.floor(0.7 * len(batch))]].tolist())
            P[t] |= S
            B = set(batch.tolist())
            if t > quick["T_w"]:
                B = S.intersection(*(P[s] for s in range(int(max(1, t - (M - 1))), t)))
            trained_on |= B
            if B:
                optimizer.zero_grad()
                loss[[sample in B for sample in batch.tolist()]].mean().backward()
                optimizer.step()

    assert set(np.flatnonzero(clf.clean_mask_)) == trained_on
    assert torch.allclose(weights(clf), torch.cat([p.flatten() for p in network.parameters()]), atol=1e-6)


def test_ltec_full_runs_its_epoch_over_the_selected_samples_alone(table, quick):
    X, y = table
    seen = []

    class Recording(LECClassifier):
        def train_step(self, batch, **fit_params):
            seen.append((self.method_.epoch, set(batch.samples.tolist())))
            return super().train_step(batch, **fit_params)

    clf = Recording(method="ltec-full", **quick | {"max_epochs": 4, "eps": 0.3}).fit(X, y)

    last = [samples for epoch, samples in seen if epoch == 4]
    assert set.union(*last) == set(np.flatnonzero(clf.clean_mask_))
    assert [len(samples) for samples in last[:-1]] == [16] * (len(last) - 1)
    assert 0 < clf.clean_mask_.sum() <= 63


def test_ltec_full_is_not_misled_by_samples_that_are_sorted_by_class(noisy_digits):
    X, y_true, y_noisy, _, _ = noisy_digits
    order = np.argsort(y_true, kind="stable")
    settings = {"eps": 0.6, "max_epochs": 40, "verbose": 0, "random_state": 0}

    clf = LECClassifier(method="ltec-full", **settings).fit(X[order], y_noisy[order])

    assert (y_true == y_noisy)[order][clf.clean_mask_].mean() > 0.9


def test_a_criterion_that_only_gives_means_skips_a_batch_that_is_not_finite(table, quick):
    class MeanOnly(nn.Module):
        def forward(self, outputs, labels):
            return nn.functional.cross_entropy(outputs, labels)

    with pytest.warns(UserWarning, match="NaN or infinite"):
        clf = LECClassifier(TinyNet, method="standard", criterion=MeanOnly, **quick).fit(with_sample_7(math.nan, table))

    assert weights(clf).isfinite().all()
    assert clf.clean_mask_.sum() == 89


@pytest.mark.parametrize("M", [1, 2, 3, math.inf])
def test_ltec_full_trains_on_what_algorithm_a4_says_written_with_sets(table, quick, M):
    X, y = torch.from_numpy(table[0]), torch.from_numpy(table[1])
    training = np.random.RandomState(1).permutation(90)[:70]

    def hold_out(dataset, y=None, **kwargs):
        return Subset(dataset, training.tolist()), None

    settings = quick | {"M": M, "max_epochs": 6, "train_split": hold_out, "callbacks__linear_decay": None}
    clf = LECClassifier(TinyNet, method="ltec-full", iterator_train__shuffle=False, **settings | {"eps": 0.3}).fit(
        *table
    )

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyNet(4, 3)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    P = {}
    for t in range(1, 7):
        if t >= 2:
            losses = nn.functional.cross_entropy(network(X[training]), y[training], reduction="none")
            P[t] = set(training[losses.argsort(stable=True)[: math.floor(0.7 * 70)].numpy()])
        D = set(training)
        if t > quick["T_w"]:
            D = set.intersection(*(P[s] for s in range(int(max(2, t - (M - 1))), t + 1)))
        for batch in torch.tensor([sample for sample in training if sample in D]).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()

    assert set(np.flatnonzero(clf.clean_mask_)) == D
    assert torch.allclose(weights(clf), torch.cat([p.flatten() for p in network.parameters()]), atol=1e-6)


def test_a_loss_that_is_not_finite_breaks_the_streak_of_its_sample(table, quick):
    class Flickering(Dataset):
        epoch = 0

        def __len__(self):
            return 90

        def __getitem__(self, index):
            x = table[0][index]
            return (np.full_like(x, np.nan) if index == 4 and self.epoch == 3 else x), table[1][index]

    dataset = Flickering()

    class Flick(Callback):
        def on_epoch_begin(self, net, **kwargs):
            dataset.epoch = len(net.history)

    # eps = 0.02 of 90 samples in one batch leaves out two: those with the largest losses.
    settings = quick | {"M": 4, "max_epochs": 6, "batch_size": 90, "callbacks": [Flick()]}
    with pytest.warns(UserWarning, match="NaN or infinite in epoch 3, at sample.s. 4 of X"):
        clf = LECClassifier(TinyNet, **settings | {"eps": 0.02}).fit(dataset)

    assert clf.method_.record.memory["last_miss"][4] == 3
    assert not clf.clean_mask_[4]


def test_an_epoch_that_selected_nothing_does_not_leak_into_the_next_fit(table, quick):
    clf = LECClassifier(TinyNet, method="ltec-full", **quick | {"eps": 0.995})
    with pytest.warns(UserWarning, match="no sample was selected"):
        clf.fit(*table)

    clf.set_params(eps=0.0).fit(*table)

    assert clf.clean_mask_.all()


@pytest.mark.parametrize("n_samples", [20, 90])
def test_ltec_full_learns_even_if_the_selected_samples_do_not_fill_a_batch(table, quick, n_samples):
    X, y = table[0][:n_samples], table[1][:n_samples]
    settings = quick | {"batch_size": n_samples - 2, "iterator_train__drop_last": True}

    clf = LECClassifier(TinyNet, method="ltec-full", **settings | {"eps": 0.3}).fit(X, y)

    assert clf.clean_mask_.any()


def test_losses_in_the_history_are_means_over_the_networks(table, quick):
    X, y = table
    settings = quick | {"lr": 0.0, "max_epochs": 1, "T_w": 0, "batch_size": -1}

    clf = LECClassifier(TinyNet, method="lnec", **settings | {"M": 4, "eps": 0.0}).fit(X, y)

    losses = [nn.functional.cross_entropy(n(torch.from_numpy(X)), torch.from_numpy(y)) for n in clf.module_.networks]
    assert clf.history[-1, "train_loss"] == pytest.approx(torch.stack(losses).mean().item(), abs=1e-6)


def test_lsec_counts_each_batch_once_in_the_running_statistics(table, quick):
    clf = LECClassifier(method="lsec", **quick).fit(*table)

    assert clf.module_.body[2].num_batches_tracked == 3 * 6


@pytest.mark.parametrize("method", [m for m in METHODS if METHODS[m]().selects_samples])
def test_a_batch_without_a_selected_sample_changes_no_weight(table, quick, method):
    # floor(0.005 * n) of n samples have a small loss: none, in every epoch after the warm-up.
    quick |= {"max_epochs": 1, "batch_size": 16, "T_k": 2}
    clf = LECClassifier(TinyNet, method=method, optimizer__weight_decay=0.1, **quick | {"eps": 0.995}).partial_fit(
        *table
    )
    before, loss_before = weights(clf), clf.history[-1, "train_loss"]

    with pytest.warns(UserWarning, match="nothing was learned in epoch 2: no sample was selected"):
        clf.partial_fit(*table)

    assert torch.equal(weights(clf), before)
    assert not clf.clean_mask_.any()
    assert clf.history[-1, "train_loss"] == pytest.approx(loss_before, rel=0.5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("batch_size", "eps"), [(32, 0.2), (1, 0.0)])
def test_a_batch_of_one_sample_does_not_stop_a_network_with_batch_norm(table, quick, method, batch_size, eps):
    X, y = table

    clf = LECClassifier(method=method, **quick | {"batch_size": batch_size, "eps": eps}).fit(X[:33], y[:33])

    assert np.isfinite(clf.predict_proba(X)).all()


def test_an_error_of_the_module_is_not_taken_for_one_of_batch_norm(table, quick):
    class Refusing(TinyNet):
        calls = 0

        def forward(self, x):
            Refusing.calls += 1
            raise ValueError("not my day")

    with pytest.raises(ValueError, match="not my day"):
        LECClassifier(Refusing, **quick).fit(*table)

    assert Refusing.calls == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("module", [TinyNet, MLP])
@pytest.mark.parametrize("bad_value", [math.nan, math.inf])
def test_a_sample_whose_loss_is_not_finite_is_named_once(table, quick, method, module, bad_value):
    with pytest.warns(UserWarning, match=r"the loss is NaN or infinite in epoch 1, at sample\(s\) 7 of X") as warned:
        LECClassifier(module, method=method, **quick).fit(with_sample_7(bad_value, table))

    assert sum("NaN or infinite" in str(w.message) for w in warned) == 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("module", [TinyNet, MLP])
@pytest.mark.parametrize("bad_value", [math.nan, math.inf])
@pytest.mark.filterwarnings("ignore:the loss is NaN")
def test_a_sample_whose_loss_is_not_finite_is_never_selected(table, quick, method, module, bad_value):
    clf = LECClassifier(module, method=method, **quick).fit(with_sample_7(bad_value, table))

    assert not clf.clean_mask_[7]
    assert clf.clean_mask_.any()
    assert weights(clf).isfinite().all()
    assert np.isfinite(clf.predict_proba(table[0])).all()


def test_class_weights_of_the_criterion_count_as_in_plain_skorch(table, quick):
    X, y = table
    weight = torch.tensor([1.0, 5.0, 1.0])

    ours = LECClassifier(TinyNet, **quick | {"eps": 0}, criterion__weight=weight, callbacks__linear_decay=None).fit(
        X, y
    )
    theirs = plain_skorch(X, y, TinyNet, criterion__weight=weight)

    assert torch.equal(weights(ours), weights(theirs))


def test_predict_proba_averages_the_networks(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, method="lnec", **quick).fit(X, y)

    with torch.no_grad():
        outputs = [network(torch.from_numpy(X)).softmax(dim=-1) for network in clf.module_.networks]

    assert clf.forward(X).shape == (90, 2, 3)
    assert np.allclose(clf.predict_proba(X), torch.stack(outputs).mean(dim=0), atol=1e-6)


def test_networks_of_lnec_start_from_different_weights(table, quick):
    clf = LECClassifier(TinyNet, method="lnec", **quick).fit(*table)
    first, second = copy.deepcopy(clf).initialize().module_.networks

    assert not torch.equal(first.layers[0].weight, second.layers[0].weight)


def test_ltec_is_far_ahead_of_standard_on_digits_with_sixty_percent_noise(noisy_digits):
    X_train, y_true, y_noisy, X_test, y_test = noisy_digits
    settings = {"eps": 0.6, "max_epochs": 60, "verbose": 0, "random_state": 0}

    ltec = LECClassifier(method="ltec", **settings).fit(X_train, y_noisy)
    standard = LECClassifier(method="standard", **settings).fit(X_train, y_noisy)

    assert ltec.score(X_test, y_test) > standard.score(X_test, y_test) + 0.15
    assert ltec.score(X_test, y_test) > 0.9
    assert (y_true == y_noisy)[ltec.clean_mask_].mean() > 0.95
    assert (y_true == y_noisy)[ltec.clean_score_ < 0.1].mean() < 0.1
