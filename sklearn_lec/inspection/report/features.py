"""Unusual values: what stands out in a sample, among the samples that were given the same label."""

import numpy as np
from scipy.sparse import csr_matrix

__all__ = ["unusual_entries", "unusual_values"]

N_SHOWN = 10
"""Values that are shown of each sample."""
LONGEST_VALUE = 80
SMALLEST_SCALE = 1e-12
CHUNK = 1000


def unusual_values(table, codes: np.ndarray, shown: np.ndarray) -> tuple[list[str], list[list]]:
    """Return the columns, and for some samples the values that stand out most.

    Numbers are compared with the middle half of the samples of the same label. Values of categories stand out if they
    are rarer among these than most.

    Parameters
    ----------
    table : DataFrame of shape (n_samples, n_columns)
    codes : int64 ndarray of shape (n_samples,)
        The class numbers of the given labels.
    shown : int64 ndarray of shape (n_shown,)
        The samples that are asked for.

    Returns
    -------
    names : list of str
    values : list of lists
        For each sample ``[column, value, what is usual]`` of the values that stand out, the most unusual first.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"height": [1.0, 1.1, 1.2, 1.3, 9.0], "color": ["red", "red", "red", "blue", "red"]})
    >>> names, values = unusual_values(table, np.zeros(5, dtype=int), np.array([4]))
    >>> values[0]
    [[0, '9', '1.1 to 1.3'], [1, 'red', 'red (80 %)']]
    """
    columns = [_Column(table.iloc[:, position], codes) for position in range(table.shape[1])]
    values = []
    for first in range(0, len(shown), CHUNK):
        samples = shown[first : first + CHUNK]
        scores = np.stack([column.scores(samples) for column in columns], axis=1)
        n_shown = min(N_SHOWN, len(columns))
        for sample, order in zip(samples, np.argsort(-scores, axis=1, kind="stable")[:, :n_shown], strict=True):
            values.append([[int(k), columns[k].text(sample), columns[k].usual(codes[sample])] for k in order])
    return [str(name) for name in table.columns], values


class _Column:
    """A column, and what is usual in it for each label."""

    def __init__(self, column, codes: np.ndarray):
        import pandas as pd

        self.codes = codes
        self.n_classes = int(codes.max()) + 1
        self.values = column.to_numpy()
        is_number = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
        self.numbers = column.to_numpy(dtype=np.float64, na_value=np.nan) if is_number else None
        if self.numbers is None:
            self.categories, values = np.unique([_text(value) for value in self.values], return_inverse=True)
            counts = np.zeros((self.n_classes, len(self.categories)))
            np.add.at(counts, (codes, values), 1)
            self.shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            surprise = -np.log(np.maximum(self.shares[codes, values], SMALLEST_SCALE))
            # In a column of names, each one is rare, and none stands out.
            typical = [
                np.median(surprise[codes == code]) if (codes == code).any() else 0 for code in range(self.n_classes)
            ]
            self.surprise = surprise - np.array(typical)[codes]
        else:
            finite = np.where(np.isfinite(self.numbers), self.numbers, np.nan)
            self.quartiles = np.full((self.n_classes, 3), np.nan)
            for code in range(self.n_classes):
                of_class = finite[(codes == code) & ~np.isnan(finite)]
                if of_class.size:
                    self.quartiles[code] = np.percentile(of_class, [25, 50, 75])
            spread = np.nanstd(finite) if not np.isnan(finite).all() else 0.0
            self.scale = self.quartiles[:, 2] - self.quartiles[:, 0]
            # Where half of the samples have the same value, as in counts, the spread of all has to do.
            self.scale = np.where(self.scale > SMALLEST_SCALE, self.scale, max(spread, SMALLEST_SCALE))

    def scores(self, samples: np.ndarray) -> np.ndarray:
        """Return how much the values of some samples stand out."""
        if self.numbers is None:
            return self.surprise[samples]
        codes = self.codes[samples]
        scores = np.abs(self.numbers[samples] - self.quartiles[codes, 1]) / self.scale[codes]
        return np.nan_to_num(scores, nan=1.0, posinf=np.inf)  # a missing value is worth a look

    def text(self, sample: int) -> str:
        """Return the value of a sample, as it is shown."""
        return _text(self.values[sample]) if self.numbers is None else _number(self.numbers[sample])

    def usual(self, code: int) -> str:
        """Return what is usual among the samples of a label."""
        if self.numbers is None:
            most = self.shares[code].argmax()
            return f"{self.categories[most]} ({self.shares[code, most]:.0%})".replace("%", " %")
        low, _, high = self.quartiles[code]
        if np.isnan(low):
            return ""
        return _number(low) if low == high else f"{_number(low)} to {_number(high)}"


def unusual_entries(matrix: csr_matrix, codes: np.ndarray, shown: np.ndarray) -> list[list]:
    """Return the largest entries of some rows of a sparse matrix, and how many samples of the label have them.

    Parameters
    ----------
    matrix : csr_matrix of shape (n_samples, n_columns)
    codes, shown : as for `unusual_values`

    Returns
    -------
    values : as of `unusual_values`
    """
    counts = {}
    for code in np.unique(codes[shown]):
        of_class = matrix[codes == code]
        counts[code] = np.asarray((of_class != 0).mean(axis=0)).ravel()
    values = []
    for sample in shown:
        row = matrix[sample]
        order = np.argsort(-np.abs(row.data), kind="stable")[:N_SHOWN]
        share = counts[codes[sample]]
        values.append(
            [[int(row.indices[k]), _number(row.data[k]), f"in {100 * share[row.indices[k]]:.0f} %"] for k in order]
        )
    return values


def _number(value: float) -> str:
    """Return a number, as it is shown."""
    return "missing" if np.isnan(value) else f"{value:.10g}" if float(value).is_integer() else f"{value:.4g}"


def _text(value) -> str:
    """Return a value of a category, as it is shown."""
    is_missing = value is None or (not isinstance(value, str) and value != value) or str(value) == "<NA>"
    text = "missing" if is_missing else str(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
