"""Tables of classes, made of the table of samples: in which classes labels are wrong, and which are confused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["class_quality_table", "corruption_table", "overlapping_classes_table"]


def class_quality_table(issues: pd.DataFrame) -> pd.DataFrame:
    """Return how many labels are suspected to be wrong in each class, the worst class first.

    Parameters
    ----------
    issues : DataFrame
        All that `find_label_issues` returns, not only what ``ranked=True`` leaves of it.

    Returns
    -------
    table : DataFrame with a line for each class, and the classes as index
        - n_samples: how many samples were given the label.
        - label_issues: for how many of these it is suspected to be wrong.
        - label_noise: the share of these; NaN if no sample was given the label.
        - inverse_label_issues: how many samples were given another label, but seem to be of the class.
        - inverse_label_noise: the share of these among all that seem to be of the class; NaN if there are none.
        - label_quality: 1 - `label_noise`.

    Examples
    --------
    >>> import pandas as pd
    >>> issues = pd.DataFrame({
    ...     "is_label_issue": [True, False, False, False],
    ...     "given_label": ["cat", "cat", "dog", "dog"],
    ...     "predicted_label": ["dog", "cat", "dog", "cat"],
    ... })
    >>> class_quality_table(issues)[["n_samples", "label_issues", "label_noise", "inverse_label_issues"]]
           n_samples  label_issues  label_noise  inverse_label_issues
    label
    cat            2             1          0.5                     0
    dog            2             0          0.0                     1
    """
    import pandas as pd

    labels, counts = _seeming_by_given(issues)
    n_given, n_seeming, n_right = counts.sum(axis=0), counts.sum(axis=1), counts.diagonal()
    with np.errstate(invalid="ignore"):
        columns = {
            "n_samples": n_given,
            "label_issues": n_given - n_right,
            "label_noise": (n_given - n_right) / n_given,
            "inverse_label_issues": n_seeming - n_right,
            "inverse_label_noise": (n_seeming - n_right) / n_seeming,
            "label_quality": n_right / n_given,
        }
    return pd.DataFrame(columns, index=labels).sort_values("label_noise", ascending=False, kind="stable")


def overlapping_classes_table(issues: pd.DataFrame) -> pd.DataFrame:
    """Return which classes are taken for one another, the pair with the most suspected labels first.

    Parameters
    ----------
    issues : DataFrame
        As for `class_quality_table`.

    Returns
    -------
    table : DataFrame with a line for each pair of classes that are confused at all
        - class_a, class_b: the classes.
        - label_issues: how many samples seem to be of one of them, and were given the label of the other.
        - a_labelled_b, b_labelled_a: the same, by direction.
        - share: of `label_issues` among all samples.

    Examples
    --------
    >>> import pandas as pd
    >>> issues = pd.DataFrame({
    ...     "is_label_issue": [True, True, False, False],
    ...     "given_label": ["cat", "dog", "dog", "cow"],
    ...     "predicted_label": ["dog", "cat", "dog", "cow"],
    ... })
    >>> overlapping_classes_table(issues)
      class_a class_b  label_issues  a_labelled_b  b_labelled_a  share
    0     cat     dog             2             1             1    0.5
    """
    import pandas as pd

    labels, counts = _seeming_by_given(issues)
    first, second = np.triu_indices(len(labels), k=1)
    columns = {
        "class_a": labels[first],
        "class_b": labels[second],
        "label_issues": counts[first, second] + counts[second, first],
        "a_labelled_b": counts[first, second],
        "b_labelled_a": counts[second, first],
    }
    table = pd.DataFrame(columns)
    table["share"] = table["label_issues"] / max(len(issues), 1)
    table = table[table["label_issues"] > 0]
    return table.sort_values("label_issues", ascending=False, kind="stable", ignore_index=True)


def corruption_table(issues: pd.DataFrame) -> pd.DataFrame:
    """Return how often samples that seem to be of a class were given each label.

    This counts suspected labels. ``noise_estimate_.corruption_matrix`` estimates the same without a decision on
    single samples, and is closer to the truth as a whole.

    Parameters
    ----------
    issues : DataFrame
        As for `class_quality_table`.

    Returns
    -------
    table : DataFrame of shape (n_classes, n_classes)
        The share of each given label (column) among the samples that seem to be of a class (row); NaN for a class that
        no sample seems to be of.

    Examples
    --------
    >>> import pandas as pd
    >>> issues = pd.DataFrame({
    ...     "is_label_issue": [True, False, False],
    ...     "given_label": ["cat", "cat", "dog"],
    ...     "predicted_label": ["dog", "cat", "dog"],
    ... })
    >>> corruption_table(issues)
    given  cat  dog
    class
    cat    1.0  0.0
    dog    0.5  0.5
    """
    import pandas as pd

    labels, counts = _seeming_by_given(issues)
    with np.errstate(invalid="ignore"):
        shares = counts / counts.sum(axis=1, keepdims=True)
    return pd.DataFrame(shares, index=labels.rename("class"), columns=labels.rename("given"))


def _seeming_by_given(issues: pd.DataFrame) -> tuple[pd.Index, np.ndarray]:
    """Return the classes, and how many samples seem to be of each class (row) and were given each label (column).

    A sample seems to be of the class that it was given, unless it is an issue: then of the one that is predicted.
    """
    import pandas as pd

    given = issues["given_label"].astype(object)
    seeming = given.mask(issues["is_label_issue"].astype(bool), issues["predicted_label"].astype(object))
    labels = pd.Index(pd.concat([given, seeming]).unique(), name="label", dtype=object).sort_values()
    if not any(isinstance(label, str) for label in labels):  # pandas' own type of text takes no text that is not valid
        labels = labels.infer_objects()
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(counts, (labels.get_indexer(seeming), labels.get_indexer(given)), 1)
    return labels, counts
