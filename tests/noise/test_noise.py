"""Label noise alone; inside pipelines and searches it is in test_noise_in_pipelines.py."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_lec import LECClassifier
from sklearn_lec.noise import AsymmetricNoise, MatrixNoise, OpenSetNoise, SemanticNoise, SymmetricNoise
from sklearn_lec.noise.semantic import uncertainty

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
def test_symmetric_noise_changes_exactly_the_share_asked_for_and_never_to_the_same_label(y, percent, seed):
    y = np.array(y)
    noise = SymmetricNoise(eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(y)

    assert (noisy != y).sum() == percent * len(y) // 100
    assert np.array_equal(noise.noise_mask_, noisy != y)
    assert set(noisy) <= set(y)


@given(labels, percents, seeds)
def test_asymmetric_noise_changes_each_class_to_the_next_and_the_same_share_of_each(y, percent, seed):
    y = np.array(y)
    classes = np.unique(y)
    following = dict(zip(classes, np.roll(classes, -1), strict=True))
    noise = AsymmetricNoise(eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(y)

    changed = noisy != y
    assert changed.sum() == percent * len(y) // 100
    assert all(noisy[row] == following[y[row]] for row in np.flatnonzero(changed))
    for label in classes:
        assert abs(changed[y == label].sum() - percent / 100 * (y == label).sum()) < 1


@given(st.integers(1, 40), percents, seeds)
def test_open_set_noise_replaces_exactly_the_share_asked_for_each_foreign_row_once(n_rows, percent, seed):
    X, X_ood = np.zeros((n_rows, 2)), np.arange(1, 2 * n_rows + 1).reshape(n_rows, 2)
    noise = OpenSetNoise(X_ood, eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(X)

    replaced = noisy.any(axis=1)
    assert replaced.sum() == percent * n_rows // 100
    assert np.array_equal(noise.noise_mask_, replaced)
    assert len(np.unique(noisy[replaced], axis=0)) == replaced.sum()
    assert set(map(tuple, noisy[replaced])) <= set(map(tuple, X_ood))
    assert not X.any()


@settings(max_examples=30, deadline=None)
@given(percents, seeds)
def test_semantic_noise_changes_exactly_the_most_uncertain_rows_to_the_runner_up(percent, seed):
    rng = np.random.RandomState(seed)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    networks = [LogisticRegression().fit(X[rows], y[rows]) for rows in (slice(0, 20), slice(10, 30), slice(5, 25))]
    noise = SemanticNoise([FrozenEstimator(network) for network in networks], eps=percent / 100)

    _, noisy = noise.corrupt(X, y)

    probabilities = np.stack([network.predict_proba(X) for network in networks])
    order = np.argsort(-uncertainty(probabilities).round(9), kind="stable")
    expected = set(order[: percent * 30 // 100])
    assert set(np.flatnonzero(noisy != y)) == expected == set(np.flatnonzero(noise.noise_mask_))
    for row in expected:
        others = [label for label in range(3) if label != y[row]]
        assert noisy[row] == max(others, key=lambda label: probabilities.mean(axis=0)[row, label])


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


def test_symmetric_noise_reaches_every_other_class():
    noise = SymmetricNoise(eps=0.6, random_state=0)

    noise.fit_transform(np.arange(3000) % 3)

    assert np.allclose(noise.corruption_matrix_, 0.3 + 0.1 * np.eye(3), atol=0.05)


def test_the_empirical_matrix_converges_to_the_one_asked_for():
    distances = []
    for n_rows in (300, 30_000):
        noise = MatrixNoise(SEESAW, random_state=0)
        noise.fit_transform(np.arange(n_rows) % 3)
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
def test_the_same_random_state_gives_the_same_noise_and_leaves_the_input_alone(noise, table):
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
def test_inputs_of_any_kind_give_the_same_noise_and_are_left_alone(noise, table, container):
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
def test_labels_of_any_container_give_the_same_noise(noise, table, kind):
    X, y = table

    _, y_noisy = clone(noise).corrupt(X, kind(y))

    assert np.array_equal(np.asarray(y_noisy), clone(noise).corrupt(X, y)[1])


@every_noise
def test_words_and_numbers_give_the_same_noise(noise, table):
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


def test_open_set_noise_changes_no_label(table):
    X, y = table
    noise = OpenSetNoise(X + 100, random_state=0)

    _, y_noisy = noise.corrupt(X, y)

    assert np.array_equal(noise.corruption_matrix_, np.eye(3))
    assert np.array_equal(y_noisy, y)
    assert not hasattr(noise.fit(X), "corruption_matrix_")


def test_open_set_noise_goes_by_the_names_of_columns():
    X = pd.DataFrame({"a": [1.0, 1.0], "b": [2.0, 2.0]})

    noisy = OpenSetNoise(10 * X[["b", "a"]], eps=0.5, random_state=0).fit_transform(X)

    assert sorted(noisy["a"]) == [1.0, 10.0]
    assert sorted(noisy["b"]) == [2.0, 20.0]


def test_open_set_noise_passes_names_on_in_a_pipeline():
    X = pd.DataFrame({"a": [1.0, 1.0], "b": [2.0, 2.0]})
    pipeline = make_pipeline(OpenSetNoise(X, random_state=0), StandardScaler()).set_output(transform="pandas")

    assert pipeline.fit_transform(X).columns.tolist() == ["a", "b"]


def test_rows_of_words_are_not_cut_to_the_length_of_those_before():
    noisy = OpenSetNoise(np.array(["longer"] * 4), eps=0.5, random_state=0).fit_transform(np.array(["ab"] * 4))

    assert sorted(noisy) == ["ab", "ab", "longer", "longer"]


def test_open_set_noise_leaves_alone_what_is_only_transformed():
    noise = OpenSetNoise(np.ones((5, 2)), eps=0.5, random_state=0)
    noise.fit_transform(np.zeros((4, 2)))

    assert not noise.transform(np.zeros((4, 2))).any()


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


@pytest.mark.parametrize(
    ("X", "X_ood"),
    [
        (np.zeros((4, 2), dtype=np.uint8), np.full((4, 2), 0.5)),
        (np.zeros((4, 2), dtype=np.uint8), np.full((4, 2), 300)),
        (np.zeros((4, 2), dtype=int), np.full((4, 2), np.nan)),
        (torch.zeros(4, 2, dtype=torch.uint8), torch.full((4, 2), 0.5)),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]})),
        (pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"b": [0.5, 0.5]})),
    ],
)
def test_foreign_rows_that_would_be_cut_off_are_refused(X, X_ood):
    with pytest.raises(ValueError, match="X_ood"):
        OpenSetNoise(X_ood, eps=0.5, random_state=0).fit_transform(X)


def test_classifiers_that_cannot_disagree_are_warned_of():
    X, y = load_iris(return_X_y=True)

    with pytest.warns(UserWarning, match="all estimators predict the same"):
        _, noisy = SemanticNoise(LogisticRegression(max_iter=1000), eps=0.1, random_state=0).corrupt(X, y)

    assert (noisy[y == 0] == 0).all()  # setosa is never hard to tell


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
def test_classifiers_that_do_not_fit_are_refused(noise, message):
    with pytest.raises(ValueError, match=message):
        noise.corrupt(np.zeros((4, 1)), [0, 1, 0, 1])


def test_the_default_classifiers_are_networks_trained_on_every_row():
    (network, *others) = SemanticNoise(random_state=0)._estimators()

    assert isinstance(network, LECClassifier)
    assert network.method == "standard"
    assert len(others) == 4


def test_a_class_without_rows_has_an_uncorrupted_row_in_the_matrix():
    noise = SymmetricNoise(eps=0.5, random_state=0).fit([0, 1, 2])
    noise.transform([0, 0, 1, 1])

    assert noise.corruption_matrix_[2].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(("n_rows", "eps", "n_changed"), [(50, 0.58, 29), (1000, 0.999999999, 999), (10, 0.1 + 0.2, 3)])
def test_shares_are_counted_as_they_are_written(n_rows, eps, n_changed):
    noise = SymmetricNoise(eps=eps, random_state=0)
    noise.fit_transform(np.arange(n_rows) % 2)

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


def test_a_noise_that_was_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        SymmetricNoise().transform([0, 1])


def test_x_and_y_of_different_length_are_refused():
    for noise in (SymmetricNoise(), OpenSetNoise(np.zeros((9, 1)))):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            noise.corrupt(np.zeros((5, 1)), [0, 1, 0, 1])


def test_a_mapping_that_is_none_is_refused():
    with pytest.raises(TypeError, match=r"mapping must be a dict from label to label, got \[1, 0\]"):
        AsymmetricNoise(mapping=[1, 0]).fit([0, 1])


def test_a_matrix_that_is_none_is_refused():
    with pytest.raises(TypeError, match="corruption_matrix must be a square array of numbers"):
        MatrixNoise([["a"]]).fit([0, 1])


def test_an_estimator_without_probabilities_is_refused_with_the_fix():
    with pytest.raises(TypeError, match=r"LinearSVC has no predict_proba.*CalibratedClassifierCV"):
        SemanticNoise(LinearSVC()).corrupt(np.zeros((4, 1)), [0, 1, 0, 1])
