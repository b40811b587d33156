"""From simulated out-of-fold predictions to the share of wrong labels."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from sklearn_lec.estimation.plateau import agreement_curve, fit_plateau, noise_model


def simulated(matrix, *, n_samples=6000, class_shares=None, seed=0):
    """Labels that went through a corruption matrix, and predictions that are the better the surer they are."""
    rng = np.random.default_rng(seed)
    n_classes = len(matrix)
    truth = rng.choice(n_classes, n_samples, p=class_shares)
    labels = np.array([rng.choice(n_classes, p=matrix[k]) for k in truth])
    logits = rng.normal(size=(n_samples, n_classes)) + np.eye(n_classes)[truth] * rng.uniform(0, 8, (n_samples, 1))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return truth, labels, probabilities


def symmetric(eps, n_classes=4):
    return np.full((n_classes, n_classes), eps / (n_classes - 1)) + np.eye(n_classes) * (
        1 - eps - eps / (n_classes - 1)
    )


def to_the_next(eps, n_classes=4):
    return (1 - eps) * np.eye(n_classes) + eps * np.roll(np.eye(n_classes), 1, axis=1)


@pytest.mark.parametrize(
    "matrix", [symmetric(0), symmetric(0.2), symmetric(0.5), to_the_next(0.1), to_the_next(0.3)], ids=str
)
def test_the_share_is_found_whatever_the_errors_of_the_network(matrix):
    truth, labels, probabilities = simulated(matrix)
    share_of_errors = (probabilities.argmax(axis=1) != truth).mean()

    model = noise_model(labels, probabilities, fit_plateau(labels, probabilities))

    assert share_of_errors > 0.1
    assert model.eps == pytest.approx((labels != truth).mean(), abs=0.02)


def test_shares_of_classes_and_labels_are_those_of_the_corruption_matrix():
    matrix = np.array([[0.6, 0.4, 0.0], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]])
    truth, labels, probabilities = simulated(matrix, class_shares=[0.5, 0.3, 0.2], n_samples=12_000)

    model = noise_model(labels, probabilities, fit_plateau(labels, probabilities))

    given_and_wrong = [(labels != truth)[labels == k].mean() for k in range(3)]
    np.testing.assert_allclose(model.corruption_matrix, matrix, atol=0.05)
    np.testing.assert_allclose(model.corruption_matrix.sum(axis=1), 1)
    np.testing.assert_allclose(model.class_shares, [0.5, 0.3, 0.2], atol=0.03)
    np.testing.assert_allclose(model.per_label, given_and_wrong, atol=0.05)


def test_wrong_probability_ranks_wrong_labels_better_than_the_probability_of_the_label():
    truth, labels, probabilities = simulated(to_the_next(0.3))
    is_wrong = labels != truth

    model = noise_model(labels, probabilities, fit_plateau(labels, probabilities))

    plain = average_precision_score(is_wrong, 1 - probabilities[np.arange(len(labels)), labels])
    assert average_precision_score(is_wrong, model.wrong_probability) > plain + 0.01
    assert model.wrong_probability.mean() == pytest.approx(is_wrong.mean(), abs=0.03)
    assert model.wrong_probability.min() >= 0
    assert model.wrong_probability.max() <= 1


def test_the_standard_error_is_that_of_repeated_estimates():
    estimates, errors = [], []
    for seed in range(20):
        truth, labels, probabilities = simulated(symmetric(0.2), n_samples=600, seed=seed)
        model = noise_model(labels, probabilities, fit_plateau(labels, probabilities))
        estimates.append(model.eps - (labels != truth).mean())
        errors.append(model.standard_error)

    assert np.mean(errors) == pytest.approx(np.std(estimates), rel=0.6)


def test_a_class_that_is_never_predicted_does_no_harm():
    _, labels, probabilities = simulated(symmetric(0.2, 3))
    labels, probabilities = np.append(labels, 3), np.vstack([np.c_[probabilities, np.zeros(6000)], [[1, 0, 0, 0]]])

    model = noise_model(labels, probabilities, fit_plateau(labels, probabilities))

    assert model.eps == pytest.approx(0.2, abs=0.03)
    assert np.isfinite(model.corruption_matrix).all()
    assert np.isfinite(model.per_label).all()


def test_predictions_that_are_all_equally_sure_are_understood():
    labels = np.arange(200) % 2
    probabilities = np.eye(2)[labels]

    model = noise_model(labels, probabilities, fit_plateau(labels, probabilities))

    assert model.eps < 0.02
    assert np.isfinite(model.wrong_probability).all()


def test_the_curve_rises_to_the_plateau():
    _, labels, probabilities = simulated(symmetric(0.3))
    plateau = fit_plateau(labels, probabilities)

    confidence, seen, fitted, ceiling = agreement_curve(labels, plateau).T

    assert (np.diff(confidence) >= 0).all()
    np.testing.assert_allclose(seen, fitted, atol=0.12)
    assert (fitted <= ceiling).all()
    assert fitted[-1] == pytest.approx(0.7, abs=0.05)
    assert len(agreement_curve(labels[:5], fit_plateau(labels[:5], probabilities[:5]))) == 5
