"""From the columns of a table to what a network learns from: scikit-learn's transformers, put together."""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_lec._cli.columns import ColumnKinds

__all__ = ["DateParts", "column_transformer"]

MOST_CATEGORIES = 50
MOST_WORDS = 2000
RARE = 0.005
"""The share of rows below which categories are put together as one."""


def column_transformer(kinds: ColumnKinds, *, n_samples: int) -> ColumnTransformer:
    """Return a transformer for the columns of a table.

    Numbers are scaled, missing ones become the median, and a column of its own says so. Categories are one-hot, rare
    ones together; a missing one is a category. Dates become numbers and their parts. Text becomes TF-IDF.

    Parameters
    ----------
    kinds : ColumnKinds
    n_samples : int
    """
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    categories = OneHotEncoder(
        min_frequency=max(2, round(RARE * n_samples)),
        max_categories=MOST_CATEGORIES,
        handle_unknown="infrequent_if_exist",
    )
    transformers = [
        ("numbers", numbers, kinds.numbers),
        ("categories", make_pipeline(FunctionTransformer(_named_missing), categories), kinds.categories),
        ("dates", make_pipeline(DateParts(), *(step for _, step in numbers.steps)), kinds.dates),
    ]
    for name in kinds.texts:
        words = TfidfVectorizer(
            min_df=1 if n_samples < 100 else 2,
            max_features=MOST_WORDS,
            sublinear_tf=True,
            token_pattern=r"(?u)\b\w+\b",
        )
        # A list of one name would make a table of it.
        transformers.append(
            (f"text: {name}".replace("__", "_"), make_pipeline(FunctionTransformer(_filled), words), name)
        )
    return ColumnTransformer([one for one in transformers if len(one[2])])


class DateParts(TransformerMixin, BaseEstimator):
    """Make numbers of dates: days, and where they stand in the year, in the week and in the day.

    Examples
    --------
    >>> import pandas as pd
    >>> DateParts().fit_transform(pd.DataFrame({"day": pd.to_datetime(["1970-01-03"])})).round(1)[0, :2]
    array([2., 0.])
    """

    def fit(self, X, y=None):
        """Do nothing but note the number of columns."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        """Return seven numbers for each date; NaN for missing ones."""
        import pandas as pd

        parts = []
        for name in X.columns:
            dates = X[name].dt
            days = (X[name] - pd.Timestamp(0)) / pd.Timedelta(days=1)
            parts.append(days.to_numpy(dtype=float))
            hours = dates.hour + dates.minute / 60
            for phase in ((dates.day_of_year - 1) / 366, dates.day_of_week / 7, hours / 24):
                angle = 2 * np.pi * phase.to_numpy(dtype=float)
                parts += [np.sin(angle), np.cos(angle)]
        return np.column_stack(parts)


def _named_missing(frame):
    """Give missing categories a name of their own."""
    return frame.astype(object).where(frame.notna(), "(missing)")


def _filled(texts):
    """Put an empty text where there is none."""
    return texts.astype(object).where(texts.notna(), "")
