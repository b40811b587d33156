"""Semantic noise changes the labels of the samples that classifiers disagree on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from sklearn_lec import LECClassifier
from sklearn_lec.noise import SemanticNoise
from sklearn_lec.noise.semantic import uncertainty


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 99), st.integers(0, 1000))
def test_semantic_noise_changes_exactly_the_most_uncertain_samples_to_the_best_wrong_class(percent, seed):
    rng = np.random.RandomState(seed)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    networks = [LogisticRegression().fit(X[part], y[part]) for part in (slice(0, 20), slice(10, 30), slice(5, 25))]
    noise = SemanticNoise([FrozenEstimator(network) for network in networks], eps=percent / 100)

    _, noisy = noise.corrupt(X, y)

    probabilities = np.stack([network.predict_proba(X) for network in networks])
    order = np.argsort(-uncertainty(probabilities).round(9), kind="stable")
    expected = set(order[: percent * 30 // 100])
    assert set(np.flatnonzero(noisy != y)) == expected == set(np.flatnonzero(noise.noise_mask_))
    for index in expected:
        others = [label for label in range(3) if label != y[index]]
        assert noisy[index] == max(others, key=lambda label: probabilities.mean(axis=0)[index, label])


def test_uncertainty_is_the_sum_of_divergences_from_the_mean():
    p = np.array([[[0.9, 0.1]], [[0.5, 0.5]], [[0.2, 0.8]]])
    mean = p.mean(axis=0)[0]

    expected = sum((f * np.log(f / mean)).sum() for f in p[:, 0])

    assert uncertainty(p) == pytest.approx([expected])


def test_semantic_noise_trains_its_networks_from_different_random_states(table):
    X, y = table
    networks = LECClassifier(method="standard", max_epochs=2, verbose=0)
    noise = SemanticNoise(networks, eps=0.2, random_state=0)

    _, noisy = noise.corrupt(X, y)

    assert len(noise.estimators_) == 5
    assert len({network.random_state for network in noise.estimators_}) == 5
    assert (noisy != y).sum() == 18


def test_semantic_noise_warns_if_all_classifiers_predict_the_same():
    X, y = load_iris(return_X_y=True)

    with pytest.warns(UserWarning, match="all estimators predict the same") as warned:
        _, noisy = SemanticNoise(LogisticRegression(max_iter=1000), eps=0.1, random_state=0).corrupt(X, y)

    assert warned[0].filename == __file__
    assert (noisy[y == 0] == 0).all()  # setosa is easy to classify


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (SemanticNoise([]), "estimator is an empty list"),
        (
            SemanticNoise(LogisticRegression(), n_estimators=0),
            "n_estimators must be a whole number of at least 1, got 0",
        ),
        (
            SemanticNoise([FrozenEstimator(LogisticRegression().fit([[0.0], [1.0]], ["x", "z"]))]),
            r"was trained on the classes \['x', 'z'\], but y has \[0, 1\]",
        ),
    ],
)
def test_wrong_lists_of_classifiers_are_refused(noise, message):
    with pytest.raises(ValueError, match=message):
        noise.corrupt(np.zeros((4, 1)), [0, 1, 0, 1])


def test_the_default_classifiers_are_networks_with_standard_training():
    (network, *others) = SemanticNoise(random_state=0)._estimators()

    assert isinstance(network, LECClassifier)
    assert network.method == "standard"
    assert len(others) == 4


def test_an_estimator_without_probabilities_is_refused_with_the_fix():
    with pytest.raises(TypeError, match=r"LinearSVC has no predict_proba.*CalibratedClassifierCV"):
        SemanticNoise(LinearSVC()).corrupt(np.zeros((4, 1)), [0, 1, 0, 1])
