"""ELR: the term in the loss and the running mean of predictions, against a direct computation."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sklearn_lec import LECClassifier
from sklearn_lec.methods import ELR
from tests.helpers import TinyNet, weights


def elr_written_out(X, y, *, beta, lambda_, epochs, batch_size):
    """Train as Equation 6 says, sample by sample, in the order of X; return the network and the running means."""
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
                terms.append(F.cross_entropy(logit, y[sample]) + lambda_ * torch.log(1 - p @ t[sample].clone()))
            optimizer.zero_grad()
            torch.stack(terms).mean().backward()
            optimizer.step()
    return network, t


@pytest.mark.parametrize(("beta", "lambda_"), [(0.7, 3.0), (0.9, 1.0)])
def test_elr_trains_as_its_formula_written_out(table, quick, beta, lambda_):
    X, y = table
    settings = {"max_epochs": 3, "batch_size": 16, "verbose": 0, "random_state": 0, "device": "cpu"}
    clf = LECClassifier(TinyNet, method=ELR(beta=beta, lambda_=lambda_), iterator_train__shuffle=False, **settings)

    clf.set_params(callbacks__linear_decay=None).fit(X, y)

    network, means = elr_written_out(
        torch.tensor(X), torch.tensor(y), beta=beta, lambda_=lambda_, epochs=3, batch_size=16
    )
    assert torch.allclose(weights(clf), torch.cat([p.flatten() for p in network.parameters()]), atol=1e-5)
    assert torch.allclose(clf.method_.record.memory["mean_prediction"], means, atol=1e-5)
    assert clf.clean_mask_.all()


def test_without_its_term_elr_is_ordinary_training(table, quick):
    settings = {"max_epochs": 3, "batch_size": 16, "verbose": 0, "random_state": 0, "device": "cpu"}

    elr = LECClassifier(TinyNet, method=ELR(lambda_=0.0), **settings).fit(*table)
    standard = LECClassifier(TinyNet, method="standard", **settings).fit(*table)

    assert torch.equal(weights(elr), weights(standard))


def test_a_network_that_is_sure_of_itself_has_a_finite_loss():
    method = ELR()
    method.reset(1, n_classes=2)
    method.record.memory["mean_prediction"][:] = torch.tensor([1.0, 0.0])
    outputs = torch.tensor([[300.0, -300.0]], requires_grad=True)

    loss = method.loss(nn.CrossEntropyLoss(), outputs, torch.tensor([0]), torch.tensor([0]))

    assert loss.isfinite()


@pytest.mark.parametrize(("parameters", "message"), [({"beta": 1.0}, "beta must lie in"), ({"lambda_": -1}, "lambda_")])
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


def test_a_sample_that_is_not_finite_leaves_no_trace_in_the_running_means(table, quick):
    X = table[0].copy()
    X[7] = np.nan
    dataset = torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(table[1]))

    with pytest.warns(UserWarning, match="NaN or infinite in epoch 1, at sample.s. 7 of X"):
        clf = LECClassifier(TinyNet, method="elr", max_epochs=2, verbose=0, random_state=0).fit(dataset)

    means = clf.method_.record.memory["mean_prediction"]
    assert means.isfinite().all()
    assert (means.sum(dim=1) > 0).tolist() == [sample != 7 for sample in range(90)]
