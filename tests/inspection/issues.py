"""A table of issues as `find_label_issues` returns it, made up: these tests are not about how it is found."""

import numpy as np
import pandas as pd

HOSTILE_LABELS = [
    "<img src=x onerror=\"document.title='hacked'\">",
    "</script><script>document.title='hacked'</script>",
    '=HYPERLINK("http://example.com","a, b")',
    "+1",
    "-1",
    "@SUM(A1)",
    "two\nlines",
    "\u202eright to left",
    "שלום, עולם",
    "{{ data }}",
    "01",
    "plain",
]


def made_up_issues(labels, *, n_samples=60, index=None, seed=0):
    """Return a table in which every third label is suspect, and the quality rises with the number of the sample."""
    rng = np.random.RandomState(seed)
    given, other = rng.randint(len(labels), size=n_samples), rng.randint(1, len(labels), size=n_samples)
    suspect = np.arange(n_samples) % 3 == 0
    labels = np.array(labels, dtype=object)
    predicted = labels[np.where(suspect, (given + other) % len(labels), given)]
    return pd.DataFrame(
        {
            "is_label_issue": suspect,
            "label_quality": (np.arange(n_samples) + 0.5) / n_samples,
            "given_label": pd.Series(labels[given], dtype=object),  # pyarrow takes no text that is not valid
            "predicted_label": pd.Series(predicted, dtype=object),
            "predicted_probability": rng.uniform(0.5, 1, size=n_samples),
            "clean_score": np.where(suspect, 0.0, 1.0),
            "suggested_label": pd.Series(np.where(suspect, predicted, None), dtype=object),
        }
    ).set_axis(pd.RangeIndex(n_samples) if index is None else index)
