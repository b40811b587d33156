"""Open-set noise replaces samples and changes no label."""

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_lec.noise import OpenSetNoise


@given(st.integers(1, 40), st.integers(0, 99), st.integers(0, 1000))
def test_open_set_noise_replaces_exactly_the_requested_fraction_by_different_samples(n_samples, percent, seed):
    X, X_ood = np.zeros((n_samples, 2)), np.arange(1, 2 * n_samples + 1).reshape(n_samples, 2)
    noise = OpenSetNoise(X_ood, eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(X)

    replaced = noisy.any(axis=1)
    assert replaced.sum() == percent * n_samples // 100
    assert np.array_equal(noise.noise_mask_, replaced)
    assert len(np.unique(noisy[replaced], axis=0)) == replaced.sum()
    assert set(map(tuple, noisy[replaced])) <= set(map(tuple, X_ood))
    assert not X.any()


def test_open_set_noise_changes_no_label(table):
    X, y = table
    noise = OpenSetNoise(X + 100, random_state=0)

    _, y_noisy = noise.corrupt(X, y)

    assert np.array_equal(noise.corruption_matrix_, np.eye(3))
    assert np.array_equal(y_noisy, y)
    assert not hasattr(noise.fit(X), "corruption_matrix_")


def test_open_set_noise_matches_columns_by_name():
    X = pd.DataFrame({"a": [1.0, 1.0], "b": [2.0, 2.0]})

    noisy = OpenSetNoise(10 * X[["b", "a"]], eps=0.5, random_state=0).fit_transform(X)

    assert sorted(noisy["a"]) == [1.0, 10.0]
    assert sorted(noisy["b"]) == [2.0, 20.0]


def test_open_set_noise_keeps_column_names_in_a_pipeline():
    X = pd.DataFrame({"a": [1.0, 1.0], "b": [2.0, 2.0]})
    pipeline = make_pipeline(OpenSetNoise(X, random_state=0), StandardScaler()).set_output(transform="pandas")

    assert pipeline.fit_transform(X).columns.tolist() == ["a", "b"]


def test_columns_keep_their_types_if_the_values_fit():
    X = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": pd.Categorical(["u", "v"])})
    X_ood = pd.DataFrame({"a": [3], "b": ["longer"], "c": ["u"]})

    noisy = OpenSetNoise(X_ood, eps=0.5, random_state=0).fit_transform(X)

    assert noisy.dtypes.equals(X.dtypes)
    assert [3, "longer", "u"] in noisy.values.tolist()


def test_longer_strings_from_another_data_set_are_not_cut():
    noisy = OpenSetNoise(np.array(["longer"] * 4), eps=0.5, random_state=0).fit_transform(np.array(["ab"] * 4))

    assert sorted(noisy) == ["ab", "ab", "longer", "longer"]


def test_open_set_noise_does_not_change_data_in_transform():
    noise = OpenSetNoise(np.ones((5, 2)), eps=0.5, random_state=0)
    noise.fit_transform(np.zeros((4, 2)))

    assert not noise.transform(np.zeros((4, 2))).any()


@pytest.mark.parametrize(
    ("X", "X_ood"),
    [
        (np.zeros((4, 2), dtype=np.uint8), np.full((4, 2), 0.5)),
        (np.zeros((4, 2), dtype=np.uint8), np.full((4, 2), 300)),
        (np.zeros((4, 2), dtype=int), np.full((4, 2), np.nan)),
        (torch.zeros(4, 2, dtype=torch.uint8), torch.full((4, 2), 0.5)),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), pd.DataFrame({"a": [0.5, 0.5], "b": [0.5, 0.5]})),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), pd.DataFrame({"a": [0.5, 0.5], "b": ["x", "y"]})),
        (pd.DataFrame({"a": [1, 2]}, dtype=np.uint8), np.full((2, 1), 300)),
        (pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"b": [0.5, 0.5]})),
    ],
)
@pytest.mark.filterwarnings("error")
def test_replacements_whose_values_do_not_fit_are_refused(X, X_ood):
    with pytest.raises(ValueError, match="X_ood"):
        OpenSetNoise(X_ood, eps=0.5, random_state=0).fit_transform(X)
