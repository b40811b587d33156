import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from sklearn_lec.datasets import fetch_cifar10
from sklearn_lec.preprocessing import ZCAWhitening


def test_whitened_data_has_the_expected_covariance(shared_data):
    X, _ = fetch_cifar10(shared_data, subset="test", return_X_y=True, download_if_missing=False)
    X = X[:2000, :, ::4, ::4].copy()
    table = X.reshape(2000, -1).astype(np.float64)

    white = ZCAWhitening(regularization=1e-3).fit_transform(X)

    variances, axes = np.linalg.eigh(np.cov(table, rowvar=False, bias=True))
    expected = (axes * (variances / (variances + 1e-3))) @ axes.T
    assert np.allclose(np.cov(white.reshape(2000, -1), rowvar=False, bias=True), expected, atol=1e-3)
    assert white.shape == X.shape
    assert white.dtype == np.float32


def test_without_regularization_the_covariance_is_the_identity_where_there_is_variance():
    X = np.random.RandomState(0).normal(size=(400, 3)) @ np.diag([1.0, 5.0, 0.0])

    white = ZCAWhitening(regularization=0).fit_transform(X)

    assert np.allclose(np.cov(white, rowvar=False, bias=True), np.diag([1.0, 1.0, 0.0]), atol=1e-3)


def test_the_whitening_matrix_is_symmetric_and_positive_definite():
    X, _ = load_digits(return_X_y=True)
    whitening = ZCAWhitening(regularization=0.1).fit(X / 16)

    assert np.allclose(whitening.whitening_, whitening.whitening_.T, atol=1e-5)
    assert (np.linalg.eigvalsh(whitening.whitening_) > 0).all()


def test_inverse_transform_undoes_the_whitening():
    X = np.random.RandomState(0).rand(50, 2, 3, 3)
    whitening = ZCAWhitening().fit(X)

    assert np.allclose(whitening.inverse_transform(whitening.transform(X)), X, atol=1e-4)


def test_the_batch_size_does_not_change_the_result_and_a_large_mean_costs_no_precision():
    X = np.random.RandomState(0).normal(size=(500, 5)) + 1e4

    whole, parts = ZCAWhitening(batch_size=500).fit(X), ZCAWhitening(batch_size=7).fit(X)

    assert np.allclose(whole.whitening_, parts.whitening_, rtol=1e-3, atol=1e-4)
    assert np.allclose(whole.mean_, X.mean(axis=0))
    expected = np.linalg.inv(np.cov(X, rowvar=False, bias=True))
    assert np.allclose(parts.whitening_ @ parts.whitening_, expected, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("offset", [1e6, 1.7e9])
def test_a_column_far_from_zero_is_whitened_correctly(offset):
    X = np.random.RandomState(0).normal(size=(500, 2)) @ [[2.0, 1.0], [0.0, 1.0]] + [offset, 0]

    white = ZCAWhitening(regularization=0).fit_transform(X)

    assert np.allclose(np.cov(white, rowvar=False, bias=True), np.eye(2), atol=1e-3)


def test_sorted_samples_are_whitened_correctly():
    X = np.random.RandomState(0).normal(size=(4000, 3))
    X[2000:, :2] += 1e4

    white = ZCAWhitening(regularization=0, batch_size=512).fit_transform(X)

    assert np.allclose(np.cov(white, rowvar=False, bias=True), np.eye(3), atol=1e-2)


def test_duplicate_columns_are_not_amplified():
    X = np.random.RandomState(0).normal(size=(300, 5)) @ np.random.RandomState(1).normal(size=(5, 5))

    white = ZCAWhitening(regularization=0).fit_transform(np.hstack([X, X]))

    assert np.allclose(np.linalg.eigvalsh(np.cov(white, rowvar=False, bias=True)), [0] * 5 + [1] * 5, atol=1e-2)


def test_fitting_images_after_a_table_removes_its_column_names():
    whitening = ZCAWhitening().fit(pd.DataFrame(np.random.RandomState(0).rand(9, 4), columns=list("abcd")))

    whitening.fit(np.random.RandomState(0).rand(9, 1, 2, 2))

    assert not hasattr(whitening, "feature_names_in_")


def test_inverse_transform_refuses_another_number_of_features():
    with pytest.raises(ValueError, match="X has 3 features"):
        ZCAWhitening().fit(np.random.RandomState(0).rand(9, 4)).inverse_transform(np.zeros((2, 3)))


def test_set_output_gives_a_frame_for_a_table():
    frame = pd.DataFrame(np.random.RandomState(0).rand(20, 2), columns=["a", "b"])

    white = ZCAWhitening().set_output(transform="pandas").fit_transform(frame)

    assert white.columns.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("X", "message"),
    [(np.zeros((4, 3, 2)), "X has 6 features"), (np.zeros((4, 5)), "5 features"), (np.full((4, 4), np.nan), "NaN")],
)
def test_another_number_of_features_and_nan_are_refused(X, message):
    whitening = ZCAWhitening().fit(np.random.RandomState(0).rand(10, 2, 2))

    with pytest.raises(ValueError, match=message):
        whitening.transform(X)


def test_negative_regularization_is_refused():
    with pytest.raises(ValueError, match="regularization must be at least 0, got -1"):
        ZCAWhitening(regularization=-1).fit(np.zeros((4, 2)))
