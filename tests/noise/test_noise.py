"""What all noises promise, and the noises that do not look at X."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_lec.noise import (
    AsymmetricNoise,
    MatrixNoise,
    NoisyLabelClassifier,
    OpenSetNoise,
    SemanticNoise,
    SymmetricNoise,
)
from sklearn_lec.noise.base import LabelNoise

labels = st.lists(st.integers(-2, 3), min_size=2, max_size=60).filter(lambda y: len(set(y)) > 1)
percents = st.integers(0, 99)
seeds = st.integers(0, 1000)

SEESAW = [[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.1, 0.2, 0.7]]
EVERY_NOISE = [
    SymmetricNoise(random_state=3),
    AsymmetricNoise(random_state=3),
    MatrixNoise(SEESAW, random_state=3),
    OpenSetNoise(np.full((60, 4), 100.0), random_state=3),
    SemanticNoise(make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1, max_depth=2)), random_state=3),
]
every_noise = pytest.mark.parametrize("noise", EVERY_NOISE, ids=lambda noise: type(noise).__name__)


@given(labels, percents, seeds)
def test_symmetric_noise_changes_exactly_the_requested_fraction_and_always_to_another_label(y, percent, seed):
    y = np.array(y)
    noise = SymmetricNoise(eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(y)

    assert (noisy != y).sum() == percent * len(y) // 100
    assert np.array_equal(noise.noise_mask_, noisy != y)
    assert set(noisy) <= set(y)


@pytest.mark.parametrize("noise", [SymmetricNoise(eps=0.3), OpenSetNoise(np.ones((300, 1)), eps=0.3)])
def test_noise_with_the_seed_of_a_split_is_on_both_sides_of_it(noise):
    X, y = np.zeros((1000, 1)), np.arange(1000) % 4
    noise.set_params(random_state=0).corrupt(X, y)

    sides = train_test_split(noise.noise_mask_, test_size=0.3, random_state=0)

    assert [side.mean() for side in sides] == pytest.approx([0.3, 0.3], abs=0.05)


@given(labels, percents, seeds)
def test_asymmetric_noise_changes_the_same_fraction_of_each_class_to_the_next_class(y, percent, seed):
    y = np.array(y)
    classes = np.unique(y)
    following = dict(zip(classes, np.roll(classes, -1), strict=True))
    noise = AsymmetricNoise(eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(y)

    changed = noisy != y
    assert changed.sum() == percent * len(y) // 100
    assert all(noisy[index] == following[y[index]] for index in np.flatnonzero(changed))
    for label in classes:
        assert abs(changed[y == label].sum() - percent / 100 * (y == label).sum()) < 1


def test_symmetric_noise_reaches_every_other_class():
    noise = SymmetricNoise(eps=0.6, random_state=0)

    noise.fit_transform(np.arange(3000) % 3)

    assert np.allclose(noise.corruption_matrix_, 0.3 + 0.1 * np.eye(3), atol=0.05)


def test_the_empirical_matrix_converges_to_the_given_matrix():
    distances = []
    for n_samples in (300, 30_000):
        noise = MatrixNoise(SEESAW, random_state=0)
        noise.fit_transform(np.arange(n_samples) % 3)
        distances.append(np.abs(noise.corruption_matrix_ - SEESAW).max())

    assert distances[1] < 0.01 < distances[0]
    assert (noise.corruption_matrix_[np.array(SEESAW) == 0] == 0).all()


def test_mapping_names_the_classes_that_change():
    y = np.array(["car", "truck"] * 50)
    noise = AsymmetricNoise(eps=0.4, mapping={"truck": "car"}, random_state=0)

    noisy = noise.fit_transform(y)

    assert (noisy[y == "car"] == "car").all()
    assert noise.corruption_matrix_.tolist() == [[1.0, 0.0], [0.4, 0.6]]


@every_noise
def test_the_same_random_state_gives_the_same_noise_and_the_input_is_not_changed(noise, table):
    X, y = table
    X_before, y_before = X.copy(), y.copy()

    X_first, y_first = noise.corrupt(X, y)
    X_second, y_second = clone(noise).corrupt(X, y)

    assert np.array_equal(X_first, X_second)
    assert np.array_equal(y_first, y_second)
    assert np.array_equal(X, X_before)
    assert np.array_equal(y, y_before)
    assert noise.noise_mask_.any()
    assert np.allclose(noise.corruption_matrix_.sum(axis=1), 1)


CONTAINERS = {
    "array": np.array,
    "tensor": torch.tensor,
    "frame": lambda X: pd.DataFrame(X.copy()),
    "list": np.ndarray.tolist,
}


@every_noise
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_every_container_of_inputs_gives_the_same_noise_and_is_not_changed(noise, table, container):
    X, y = table
    X_expected, y_expected = clone(noise).corrupt(X.copy(), y)
    given = container(X)

    X_noisy, y_noisy = clone(noise).corrupt(given, y)

    assert np.array_equal(np.asarray(X_noisy, dtype=np.float32), X_expected)
    assert np.array_equal(y_noisy, y_expected)
    assert np.array_equal(np.asarray(given, dtype=np.float32), X)
    assert isinstance(X_noisy, (type(given), np.ndarray))


@every_noise
@pytest.mark.parametrize("kind", [list, torch.tensor, lambda y: pd.Series(y, index=range(100, 190)), pd.Categorical])
def test_every_container_of_labels_gives_the_same_noise(noise, table, kind):
    X, y = table

    _, y_noisy = clone(noise).corrupt(X, kind(y))

    assert np.array_equal(np.asarray(y_noisy), clone(noise).corrupt(X, y)[1])


@every_noise
def test_strings_and_integers_as_labels_give_the_same_noise(noise, table):
    X, y = table
    words = np.array(["ant", "bee", "cat"])

    _, y_noisy = clone(noise).corrupt(X, words[y])

    assert np.array_equal(y_noisy, words[clone(noise).corrupt(X, y)[1]])


@every_noise
def test_the_repr_shows_the_parameters(noise):
    assert "random_state=3" in repr(noise)


def test_label_noises_transform_the_target_as_label_encoder_does():
    y = np.arange(20) % 4
    noise = SymmetricNoise(eps=0.5, random_state=0).fit(y)

    assert noise.classes_.tolist() == [0, 1, 2, 3]
    assert np.array_equal(noise.transform(y), clone(noise).fit_transform(y))


def test_a_noise_that_depends_on_the_inputs_is_one_subclass(table):
    class NoiseOnLargeInputs(LabelNoise):
        def __init__(self, *, eps=0.2, random_state=None):
            self.eps = eps
            self.random_state = random_state

        def _flip(self, X, codes, rng):
            return np.where(X[:, 0] > np.quantile(X[:, 0], 1 - self.eps), (codes + 1) % len(self.classes_), codes)

    X, y = table
    noise = NoiseOnLargeInputs(eps=0.1)

    _, y_noisy = noise.corrupt(X, y)

    assert np.array_equal(np.flatnonzero(noise.noise_mask_), np.sort(np.argsort(X[:, 0])[-9:]))
    assert np.array_equal(y_noisy != y, noise.noise_mask_)
    assert np.array_equal(NoisyLabelClassifier(LogisticRegression(), noise).fit(X, y).y_noisy_, y_noisy)


@pytest.mark.parametrize(
    ("noise", "y", "message"),
    [
        (SymmetricNoise(eps=1.0), [0, 1], r"eps must lie in \[0, 1\)"),
        (SymmetricNoise(eps=20), [0, 1], r"for 20 % wrong labels write eps=0\.2"),
        (AsymmetricNoise(eps=-0.1), [0, 1], r"eps must lie in \[0, 1\)"),
        (OpenSetNoise(np.ones((5, 1)), eps=1), [0, 1], r"eps must lie in \[0, 1\)"),
        (SemanticNoise(LogisticRegression(), eps=1), [0, 1], r"eps must lie in \[0, 1\)"),
        (SymmetricNoise(), [1, 1], "one class only"),
        (AsymmetricNoise(), [1, 1], "one class only"),
        (MatrixNoise(np.eye(2)), [1, 1], "one class only"),
        (SemanticNoise(LogisticRegression()), [1, 1], "one class only"),
        (AsymmetricNoise(mapping={0: 7}), [0, 1], "mapping names the label 7"),
        (MatrixNoise([[0.5, 0.5]]), [0, 1], r"corruption_matrix must be square.*got shape \(1, 2\)"),
        (MatrixNoise([[0.5, 0.6], [0, 1]]), [0, 1], r"sum to 1 in each row.*got row sums \[1.1, 1.0\]"),
        (MatrixNoise([[1.5, -0.5], [0, 1]]), [0, 1], "some of its entries are negative or not finite"),
        (MatrixNoise(np.eye(3)), [0, 1], "corruption_matrix is for 3 classes, but y has 2"),
        (OpenSetNoise(np.ones((1, 1)), eps=0.9), [0, 1] * 2, "X_ood has 1 rows, but eps=0.9 of 4 rows needs 3"),
        (OpenSetNoise(np.ones((9, 3)), eps=0.5), [0, 1], r"rows of X_ood have shape \(3,\), but rows of X have shape"),
    ],
)
def test_bad_input_is_refused(noise, y, message):
    with pytest.raises(ValueError, match=message):
        noise.corrupt(np.zeros((len(y), 1)), y)


def test_a_class_without_samples_has_an_uncorrupted_row_in_the_matrix():
    noise = SymmetricNoise(eps=0.5, random_state=0).fit([0, 1, 2])
    noise.transform([0, 0, 1, 1])

    assert noise.corruption_matrix_[2].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("n_samples", "eps", "n_changed"), [(50, 0.58, 29), (1000, 0.999999999, 999), (10, 0.1 + 0.2, 3)]
)
def test_the_number_of_changed_labels_has_no_floating_point_error(n_samples, eps, n_changed):
    noise = SymmetricNoise(eps=eps, random_state=0)
    noise.fit_transform(np.arange(n_samples) % 2)

    assert noise.noise_mask_.sum() == n_changed


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([0, 1, 7], ValueError, "y holds the label 7, which is not among the classes"),
        ([0.0, np.nan], ValueError, "y contains NaN"),
        ([], ValueError, "y is empty"),
    ],
)
def test_labels_that_a_noise_was_not_fitted_on_are_refused(y, error, message):
    with pytest.raises(error, match=message):
        SymmetricNoise(random_state=0).fit([0, 1]).transform(y)


def test_transform_before_fit_raises_not_fitted_error():
    with pytest.raises(NotFittedError):
        SymmetricNoise().transform([0, 1])


def test_x_and_y_of_different_length_are_refused():
    for noise in (SymmetricNoise(), OpenSetNoise(np.zeros((9, 1)))):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            noise.corrupt(np.zeros((5, 1)), [0, 1, 0, 1])


def test_a_mapping_that_is_not_a_dict_is_refused():
    with pytest.raises(TypeError, match=r"mapping must be a dict from label to label, got \[1, 0\]"):
        AsymmetricNoise(mapping=[1, 0]).fit([0, 1])


def test_a_matrix_that_is_not_numeric_is_refused():
    with pytest.raises(TypeError, match="corruption_matrix must be a square array of numbers"):
        MatrixNoise([["a"]]).fit([0, 1])
