"""Sparse X: the result is that of X.toarray(), bit for bit, but only batches are made dense."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from skorch.callbacks import EpochScoring
from skorch.dataset import ValidSplit
from torch import nn
from torch.utils.data import default_collate

from sklearn_lec import LECClassifier
from sklearn_lec._validation import check_inputs
from sklearn_lec.methods import METHODS
from sklearn_lec.noise import NoisyLabelClassifier, SymmetricNoise
from tests._training.interruption import history_of, interrupted, settings
from tests.helpers import weights

FORMATS = ["csr", "csc", "coo", "dok", "lil", "bsr", "dia"]


@pytest.fixture
def counts(table):
    """A sparse table of 90 samples, and their labels as words."""
    X, y = table
    X = np.where(abs(X) > 0.8, X, 0) * 3
    return sparse.csr_array(X), np.array(["ant", "bee", "cat"])[y]


def assert_same_fit(one, other, X):
    assert torch.equal(weights(one), weights(other))
    assert np.array_equal(one.clean_mask_, other.clean_mask_)
    assert np.array_equal(one.clean_score_, other.clean_score_, equal_nan=True)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X.toarray()))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("method", METHODS)
def test_sparse_x_gives_what_dense_x_gives_bit_for_bit(counts, quick, method, dtype):
    X, y = counts[0].astype(dtype), counts[1]
    parameters = {"method": method, "eps": 0.2, "train_split": ValidSplit(3, stratified=True), **quick}
    sample_weight = np.linspace(1, 2, 90)

    on_dense = LECClassifier(**parameters).fit(X.toarray(), y, sample_weight=sample_weight)
    on_sparse = LECClassifier(**parameters).fit(X, y, sample_weight=sample_weight)

    assert_same_fit(on_sparse, on_dense, X)
    assert on_sparse.history[:, "valid_loss"] == on_dense.history[:, "valid_loss"]


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_of_scipy_is_taken(counts, quick, container, format):
    X, y = container(counts[0]).asformat(format), counts[1]
    on_dense = LECClassifier(**quick).fit(X.toarray(), y)

    clf = LECClassifier(**quick).fit(X, y)

    assert clf.n_features_in_ == 4
    assert_same_fit(clf, on_dense, X)


def test_a_frame_of_sparse_columns_is_taken(counts, quick):
    X, y = counts
    frame = pd.DataFrame.sparse.from_spmatrix(X, columns=list("abcd"))

    clf = LECClassifier(**quick).fit(frame, y)

    assert clf.feature_names_in_.tolist() == list("abcd")
    assert torch.equal(weights(clf), weights(LECClassifier(**quick).fit(X, y)))


@pytest.mark.skipif(sparse.coo_array(np.ones(3)).ndim == 2, reason="this scipy makes a matrix of one row of it")
def test_a_sparse_array_of_one_dimension_is_refused(counts, quick):
    X = sparse.coo_array(counts[0].toarray()[:, 0])

    for data in (X, {"part": X}):
        with pytest.raises(ValueError, match="Expected 2D"):
            LECClassifier(**quick).fit(data, counts[1])


def test_only_batches_are_made_dense(quick):
    X = sparse.random(2000, 50_000, density=1e-4, dtype=np.float32, format="csr", random_state=0)
    y = np.arange(2000) % 2
    one_batch = 50 * 50_000 * 4
    clf = LECClassifier(module__hidden=(2,), **quick | {"batch_size": 50, "max_epochs": 1, "T_w": 0})
    clf.fit(X[:50], y[:50])  # the first training of a process imports large parts of torch

    tracemalloc.start()
    clf.fit(X, y).predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert one_batch < peak < 4 * one_batch


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_a_csr_x_is_not_copied(counts, container, dtype):
    X = container(counts[0].astype(dtype))

    checked = check_inputs(LECClassifier(), X, reset=True)

    for part in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(checked, part), getattr(X, part))


def test_values_that_are_stored_in_parts_are_summed_in_batches_alone(counts, quick):
    X = sparse.vstack([sparse.csr_array(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 4)), counts[0][1:]], format="csr")
    n_stored = X.nnz

    clf = LECClassifier(**quick).fit(X, counts[1])

    assert_same_fit(clf, LECClassifier(**quick).fit(X.toarray(), counts[1]), X)
    assert X.nnz == n_stored


def test_partial_fit_goes_on_with_sparse_x(counts, quick):
    X, y = counts
    on_dense = LECClassifier(**quick).partial_fit(X[:50].toarray(), y[:50]).partial_fit(X[50:].toarray(), y[50:])

    clf = LECClassifier(**quick).partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])

    assert_same_fit(clf, on_dense, X)


@pytest.mark.parametrize(
    "parameters",
    [
        {"iterator_train__num_workers": 2},
        {"iterator_train__collate_fn": default_collate},
        {"train_split": ValidSplit(3), "callbacks": [EpochScoring("accuracy", use_caching=False, name="again")]},
    ],
    ids=["workers", "collate_fn", "scoring"],
)
def test_sparse_x_goes_with_what_skorch_offers(counts, quick, parameters):
    X, y = counts
    on_dense = LECClassifier(**quick, **parameters).fit(X.toarray(), y)

    clf = LECClassifier(**quick, **parameters).fit(X, y)

    assert_same_fit(clf, on_dense, X)


@pytest.mark.parametrize("format", ["csr", "coo"])
def test_a_training_on_sparse_x_is_resumed(counts, tmp_path, format):
    X, y = counts
    expected = LECClassifier(**settings()).fit(X, y)

    resumed = interrupted((X.asformat(format), y), tmp_path, **settings())

    assert torch.equal(weights(resumed), weights(expected))
    assert history_of(resumed) == history_of(expected)


def test_a_run_on_another_sparse_x_is_not_resumed(counts, tmp_path):
    X, y = counts
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(X, y)
    X.data[0] += 1

    with pytest.raises(ValueError, match="differs in X"):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(X, y)


class TwoInputs(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.head = nn.Linear(4, num_classes)

    def forward(self, left, right):
        return self.head(torch.cat([left, right], dim=1))


def test_a_part_of_a_dict_may_be_sparse(counts, quick):
    X, y = counts
    parts = {"left": X[:, :2].tocsc(), "right": X[:, 2:].toarray()}
    on_dense = LECClassifier(TwoInputs, **quick).fit({"left": X[:, :2].toarray(), "right": X[:, 2:].toarray()}, y)

    clf = LECClassifier(TwoInputs, **quick).fit(parts, y)

    assert torch.equal(weights(clf), weights(on_dense))
    assert np.array_equal(clf.predict(parts), on_dense.predict(parts))


def test_texts_are_learned_in_a_pipeline(quick):
    y = np.arange(60) % 3
    texts = np.array(["red apple", "green pear tree", "blue sky and sea"])[y]
    clf = LECClassifier(**quick | {"max_epochs": 10, "eps": 0.1})
    pipeline = make_pipeline(TfidfVectorizer(), clf)

    scores = cross_val_score(pipeline, texts, y, cv=3)
    search = GridSearchCV(pipeline, {"lecclassifier__eps": [0.0, 0.1]}, cv=3).fit(texts, y)

    assert scores.min() == search.score(texts, y) == 1
    assert search.best_estimator_[-1].n_features_in_ == 9


def test_categories_are_learned_in_a_pipeline(quick):
    y = np.arange(60) % 3
    frame = pd.DataFrame({"color": np.array(["red", "green", "blue"])[y], "size": np.arange(60.0) % 2})
    columns = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough", sparse_threshold=1)

    pipeline = make_pipeline(columns, LECClassifier(**quick | {"max_epochs": 20, "eps": 0.1})).fit(frame, y)

    assert sparse.issparse(columns.fit_transform(frame))
    assert pipeline.score(frame, y) == 1


def test_noise_is_put_into_the_labels_of_sparse_x(counts, quick):
    X, y = counts
    noisy = NoisyLabelClassifier(LECClassifier(**quick), SymmetricNoise(eps=0.2, random_state=0))

    on_dense = noisy.fit(X.toarray(), y).predict(X.toarray())
    on_sparse = noisy.fit(X, y).predict(X)

    assert np.array_equal(on_sparse, on_dense)
