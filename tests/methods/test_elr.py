"""ELR: the term in the loss and the running mean of predictions, against a direct computation."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec._training.step import FilteredLoss
from sklearn_lec.methods import ELR, Selection
from tests.helpers import TinyNet, weights


@pytest.fixture
def settings():
    return {"max_epochs": 3, "batch_size": 16, "verbose": 0, "random_state": 0, "device": "cpu"}


def elr_written_out(X, y, *, beta, reg_lambda, epochs, batch_size):
    """Train as the formula says, sample by sample, in the order of X; return the network and the running means."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = TinyNet(4, 3)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.001)
    t = torch.zeros(len(y), 3)
    for _ in range(epochs):
        for samples in torch.arange(len(y)).split(batch_size):
            terms, logits = [], network(X[samples])
            for sample, logit in zip(samples, logits, strict=True):
                p = logit.softmax(dim=0).clamp(1e-4, 1 - 1e-4)
                t[sample] = beta * t[sample] + (1 - beta) * (p / p.sum()).detach()
                terms.append(F.cross_entropy(logit, y[sample]) + reg_lambda * torch.log(1 - p @ t[sample].clone()))
            optimizer.zero_grad()
            torch.stack(terms).mean().backward()
            optimizer.step()
    return network, t


@pytest.mark.parametrize(("beta", "reg_lambda"), [(0.7, 3.0), (0.9, 1.0)])
def test_elr_trains_as_its_formula_written_out(table, settings, beta, reg_lambda):
    X, y = table
    clf = LECClassifier(
        TinyNet, method=ELR(beta=beta, reg_lambda=reg_lambda), iterator_train__shuffle=False, **settings
    )

    clf.set_params(callbacks__linear_decay=None).fit(X, y)

    network, means = elr_written_out(
        torch.tensor(X), torch.tensor(y), beta=beta, reg_lambda=reg_lambda, epochs=3, batch_size=16
    )
    assert torch.allclose(weights(clf), torch.cat([p.flatten() for p in network.parameters()]), atol=1e-5)
    assert torch.allclose(clf.method_.record.memory["mean_prediction"], means, atol=1e-5)
    assert clf.clean_mask_.all()


def test_without_its_term_elr_is_ordinary_training(table, settings):

    elr = LECClassifier(TinyNet, method=ELR(reg_lambda=0.0), **settings).fit(*table)
    standard = LECClassifier(TinyNet, method="standard", **settings).fit(*table)

    assert torch.equal(weights(elr), weights(standard))


def test_a_network_that_is_sure_of_itself_has_a_finite_loss():
    method = ELR()
    method.reset(1, n_classes=2)
    method.begin_epoch()
    method.record.memory["mean_prediction"][:] = torch.tensor([1.0, 0.0])
    outputs, label = torch.tensor([[300.0, -300.0]], requires_grad=True), torch.tensor([0])

    step = FilteredLoss(method, nn.CrossEntropyLoss(), nn.Identity())(outputs, label, outputs, samples=label)

    assert step.loss.isfinite()
    assert step.loss.requires_grad


def test_a_separate_vote_is_nothing_for_a_method_that_selects_every_sample(table, settings):
    shared, separate = (
        LECClassifier(TinyNet, method="elr", separate_vote=v, **settings).fit(*table) for v in (False, True)
    )

    assert torch.equal(weights(separate), weights(shared))


@pytest.mark.parametrize("separate_vote", [True, False])
def test_a_loss_sees_what_was_remembered_before_its_batch(table, settings, separate_vote):
    seen = []

    class SelectingELR(ELR):
        selects_samples = True

        def select(self, batch):
            return Selection(batch.samples % 3 > 0, super().select(batch).memory)

        def loss(self, criterion, batch):
            seen.append(self.record.memory["mean_prediction"][batch.samples].sum(dim=-1))
            return super().loss(criterion, batch)

    LECClassifier(TinyNet, method=SelectingELR, separate_vote=separate_vote, **settings).fit(*table)

    sums = [1 - 0.7**epoch for epoch in range(3)]
    assert torch.allclose(
        torch.stack([torch.cat(seen[6 * e : 6 * e + 6]).mean() for e in range(3)]), torch.tensor(sums)
    )


def test_samples_of_weight_zero_do_not_count_in_the_term_either(table, settings):
    X, sample_weight = table[0].copy(), (np.arange(90) % 2).astype(float)
    first = LECClassifier(TinyNet, method="elr", **settings).fit(X, table[1], sample_weight=sample_weight)
    X[sample_weight == 0] += 1
    second = LECClassifier(TinyNet, method="elr", **settings).fit(X, table[1], sample_weight=sample_weight)

    assert torch.allclose(weights(first), weights(second), atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"), [({"beta": 1.0}, "beta must be"), ({"reg_lambda": "3"}, "reg_lambda must be")]
)
def test_bad_parameters_are_refused(table, parameters, message):
    with pytest.raises(ValueError, match=message):
        LECClassifier(TinyNet, method=ELR(**parameters)).fit(*table)


def test_elr_does_not_memorize_what_standard_does(noisy_digits):
    X, _, y_noisy, X_test, y_test = noisy_digits
    settings = {"max_epochs": 40, "verbose": 0, "random_state": 0}

    elr, standard = (
        LECClassifier(method=m, **settings).fit(X, y_noisy).score(X_test, y_test) for m in ("elr", "standard")
    )

    assert elr > standard + 0.1


def test_a_sample_that_is_not_finite_leaves_no_trace_in_the_running_means(table):
    X = table[0].copy()
    X[7] = np.nan
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(table[1]))

    with pytest.warns(UserWarning, match="NaN or infinite in epoch 1, at sample.s. 7 of X"):
        clf = LECClassifier(TinyNet, method="elr", max_epochs=2, verbose=0, random_state=0).fit(dataset)

    means = clf.method_.record.memory["mean_prediction"]
    assert means.isfinite().all()
    assert (means.sum(dim=1) > 0).tolist() == [sample != 7 for sample in range(90)]


def test_a_confident_network_in_bfloat16_goes_on_learning(table):
    class Coarse(TinyNet):
        def __init__(self, in_features, num_classes):
            super().__init__(in_features, num_classes)
            self.to(torch.bfloat16)

        def forward(self, x):
            return 50 * super().forward(x)

    clf = LECClassifier(Coarse, method="elr", max_epochs=5, verbose=0, random_state=0).fit(*table)

    assert clf.history[:, "n_selected"] == [90] * 5
