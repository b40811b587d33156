"""report: one HTML page on which people look at suspect labels and decide on them, without a line of code."""

from pathlib import Path

from sklearn_lec._validation import is_number
from sklearn_lec.inspection.report.build import page_data
from sklearn_lec.inspection.report.page import page_html

__all__ = ["report"]


def report(
    clf,
    X,
    path,
    *,
    y=None,
    issues=None,
    display=None,
    image_shape: tuple[int, ...] | None = None,
    max_samples: int = 10_000,
    title: str = "Which labels are wrong?",
) -> Path:
    """Write a page on which people who do not program look at suspect labels, and decide what to do with them.

    It is one file that needs no network: it can be sent by mail, and opened in any browser. Decisions are kept in the
    browser, and downloaded as a CSV file for `apply_corrections`.

    Parameters
    ----------
    clf : fitted classifier, or None if `issues` is given
        A `LECClassifier`, or another one that `find_label_issues` takes. Training curves and the estimated share of
        wrong labels are shown if it has them.
    X : array-like, DataFrame, sparse matrix, Tensor, Dataset, list, or None if `display` is given
        The samples. Arrays of shape (n_samples, height, width), with channels in front of the height or behind the
        width, are shown as images. Of tables the values are shown that stand out most among samples of the same
        label.
    path : str or Path
        The file to write. One that is there is replaced; decisions made on it stay in the browser.
    y : array-like of shape (n_samples,), default=None
        The labels to judge, as for `find_label_issues`.
    issues : DataFrame or None, default=None
        What `find_label_issues` returns for all samples; None calls it.
    display : list, Series, array, DataFrame or Dataset of length n_samples, default=None
        What people are shown in place of X, such as the texts that X was made of, images, paths of images, or columns
        before they were scaled.
    image_shape : tuple of ints or None, default=None
        The shape of images whose pixels are the columns of X: (height, width), (channels, height, width) or (height,
        width, channels).
    max_samples : int, default=10_000
        The most suspect ones are on the page.
    title : str, default="Which labels are wrong?"

    Returns
    -------
    path : Path

    See Also
    --------
    apply_corrections : Apply the decisions to the labels.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> issues = pd.DataFrame({
    ...     "is_label_issue": [True, False], "label_quality": [0.1, 0.9], "given_label": ["cat", "dog"],
    ...     "predicted_label": ["dog", "dog"], "predicted_probability": [0.8, 0.9], "clean_score": [0.0, 1.0],
    ...     "suggested_label": ["dog", None],
    ... })
    >>> report(None, None, Path(tempfile.mkdtemp(), "report.html"), issues=issues, display=["woof", "woof, woof"]).name
    'report.html'
    """
    if clf is None and issues is None:
        raise TypeError("report needs a fitted classifier, or issues=find_label_issues(...). Pass one of them.")
    if not is_number(max_samples) or max_samples != int(max_samples) or max_samples < 1:
        raise ValueError(f"max_samples must be a whole number of at least 1, got {max_samples!r}.")
    data = page_data(clf, X, y=y, issues=issues, display=display, image_shape=image_shape, max_samples=int(max_samples))
    path = Path(path)
    path.write_bytes(page_html(data, title=str(title)).encode("utf-8", "xmlcharrefreplace"))
    return path
