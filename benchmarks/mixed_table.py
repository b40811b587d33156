"""A table as people have it: numeric and categorical columns on different scales, and missing values."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

__all__ = ["mixed_table", "prepared_mixed_table"]

N_SAMPLES = 1500
N_CATEGORICAL = 4
SHARE_MISSING = 0.08


def mixed_table(*, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return 1,500 samples of three classes: ten numeric columns and four of words, 8 % of the values missing."""
    X, y = make_classification(
        N_SAMPLES,
        n_features=14,
        n_informative=9,
        n_redundant=2,
        n_classes=3,
        n_clusters_per_class=1,
        class_sep=1.8,
        flip_y=0,
        random_state=seed,
    )
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(X, columns=[f"column {number}" for number in range(X.shape[1])])
    scales = 10.0 ** rng.integers(-2, 4, X.shape[1])
    for number, name in enumerate(table.columns):
        values = table[name] * scales[number]
        if number < N_CATEGORICAL:
            values = pd.qcut(values, 5, labels=["very low", "low", "medium", "high", "very high"]).astype(object)
        table[name] = values.mask(rng.random(N_SAMPLES) < SHARE_MISSING)
    return table, y


def prepared_mixed_table(*, seed: int, **_) -> tuple[np.ndarray, np.ndarray]:
    """Return the table as numbers: the median for what is missing, zero mean and unit variance, one column a word."""
    table, y = mixed_table(seed=seed)
    numeric = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(sparse_output=False))
    columns = make_column_transformer(
        (numeric, make_column_selector(dtype_include="number")), (words, make_column_selector(dtype_exclude="number"))
    )
    return columns.fit_transform(table).astype(np.float32), y
