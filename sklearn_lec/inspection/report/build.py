"""From a fitted classifier and its samples to plain data: all that the page tells, without a word of HTML."""

from __future__ import annotations

import hashlib
import math
import reprlib
from typing import TYPE_CHECKING

import joblib
import numpy as np
from sklearn.pipeline import Pipeline

from sklearn_lec._validation import did_you_mean
from sklearn_lec.inspection.cells import label_of_cell, to_cell
from sklearn_lec.inspection.report.content import content_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ISSUE_COLUMNS", "page_data"]

ISSUE_COLUMNS = (
    "is_label_issue",
    "label_quality",
    "given_label",
    "predicted_label",
    "predicted_probability",
    "clean_score",
    "suggested_label",
)
"""The columns of what `find_label_issues` returns."""
N_PAIRS = 20
"""Pairs of classes in the table of those that are confused."""
LARGEST_MATRIX = 20
"""Classes up to which the corruption matrix is shown."""


def page_data(clf, X, *, y, issues, display, image_shape, max_samples: int) -> dict:
    """Return all that the page tells, as plain data.

    Parameters
    ----------
    clf, X, y, issues, display, image_shape, max_samples : as for `report`

    Returns
    -------
    data : dict
        - samples: one list for each column of the samples that are shown, the most suspect ones first
        - classes: the labels as text, and as cells of the file of decisions
        - content: what is shown of each sample
        - digest: tells these data from others
        - n_samples: how many samples there are in all
        - brief: the most important figures, in words
        - summary, settings: names and values
        - curves: names and lines, as of the history
        - class_table, pair_table, matrix: header and lines
    """
    issues = _checked_issues(clf, X, y, issues)
    labels, codes = _labels_and_codes(issues)
    quality = issues["label_quality"].to_numpy(dtype=np.float64)
    flagged = issues["is_label_issue"].to_numpy(dtype=bool)
    shown = np.lexsort((quality, ~flagged))[:max_samples]
    inputs = X if display is None else display
    content = content_of(
        inputs, n_samples=len(issues), codes=np.maximum(codes["given"], 0), shown=shown, image_shape=image_shape
    )
    return {
        "samples": {
            "number": shown.tolist(),
            "name": _names(issues.index, shown),
            "issue": flagged[shown].astype(int).tolist(),
            "quality": _rounded(quality[shown], 6),
            "probability": _rounded(issues["predicted_probability"].to_numpy(dtype=np.float64)[shown], 4),
            "clean": _rounded(issues["clean_score"].to_numpy(dtype=np.float64)[shown], 4),
            **{name: values[shown].tolist() for name, values in codes.items()},
        },
        "classes": [{"text": str(label), "cell": to_cell(label)} for label in labels],
        "content": content,
        "digest": _digest(issues, labels, inputs, content),
        "n_samples": len(issues),
        "brief": _brief(clf, issues),
        "summary": _summary(clf, issues, n_shown=len(shown)),
        "settings": _settings(clf),
        "curves": _curves(clf),
        **_class_tables(clf, issues),
    }


def _checked_issues(clf, X, y, issues) -> pd.DataFrame:
    """Return the table of issues, made if there is none, or raise an error if it is not one of all samples."""
    if issues is None:
        from sklearn_lec.inspection.label_issues import find_label_issues

        return find_label_issues(clf, X, y)
    if not hasattr(issues, "columns"):
        raise TypeError(f"issues must be the DataFrame that find_label_issues returns, got a {type(issues).__name__}.")
    missing = [column for column in ISSUE_COLUMNS if column not in issues.columns]
    if missing:
        hint = did_you_mean(missing[0], issues.columns)
        raise ValueError(
            f"issues has no column {', '.join(missing)}. {hint}Pass what find_label_issues returns, all of it."
        )
    if len(issues) == 0:
        raise ValueError("issues has no line: there is nothing to show. Pass what find_label_issues returns.")
    if y is not None:
        labels = np.asarray(y)
        if len(labels) != len(issues) or (labels.astype(object) != issues["given_label"].to_numpy(object)).any():
            raise ValueError(
                "issues is not about these labels: its given_label differs from y. Pass the issues of all samples, in "
                "the order of X (ranked=False), or only one of y and issues."
            )
    return issues


# --- samples ----------------------------------------------------------------------------------------------------------


def _labels_and_codes(issues: pd.DataFrame) -> tuple[list, dict[str, np.ndarray]]:
    """Return all labels that occur in the table, and the positions of those of each sample; -1 for a missing one.

    Numbers with a missing one among them may have become floats: they are the labels that were given all the same.
    """
    columns = {name: issues[f"{name}_label"] for name in ("given", "predicted", "suggested")}
    known, cell_of = {}, {}
    for column in columns.values():
        for label in column.dropna().unique():
            cell = to_cell(label)
            try:
                cell_of[label] = to_cell(label_of_cell(cell, known))
            except KeyError:
                known[cell], cell_of[label] = label, cell
    try:
        labels = sorted(known.values())
    except TypeError:
        labels = list(known.values())
    positions = {to_cell(label): code for code, label in enumerate(labels)}

    def codes(column) -> np.ndarray:
        pairs = zip(column.astype(object), column.isna(), strict=True)
        return np.array(
            [-1 if is_missing else positions[cell_of[label]] for label, is_missing in pairs], dtype=np.int64
        )

    return labels, {name: codes(column) for name, column in columns.items()}


def _names(index: pd.Index, shown: np.ndarray) -> list[str] | None:
    """Return what the samples are called, if not by their numbers."""
    if index.equals(index[:0].__class__(range(len(index)))):
        return None
    return [str(name) for name in index[shown]]


def _rounded(values: np.ndarray, digits: int) -> list[float | None]:
    """Return numbers as plain ones; None for what is missing."""
    return [round(value, digits) if math.isfinite(value) else None for value in values.tolist()]


def _digest(issues: pd.DataFrame, labels: list, inputs, content: dict) -> str:
    """Return a text by which decisions on these samples are kept apart from those on others.

    It does not depend on the classifier: what a person has decided counts for the next one, too.
    """
    given = "\n".join(to_cell(label) for label in issues["given_label"])
    arrays = hasattr(inputs, "dtype") or hasattr(inputs, "iloc") or isinstance(inputs, list)
    known = joblib.hash(inputs) if arrays else repr(sorted(content.items()))
    classes = "\n".join(map(to_cell, labels))
    return hashlib.sha256(f"{given}\n\n{classes}\n\n{known}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


# --- what is said about the whole -------------------------------------------------------------------------------------


def _network(clf):
    """Return the classifier that was trained: the last step of a pipeline, the best one of a search."""
    clf = getattr(clf, "best_estimator_", clf)
    return clf[-1] if isinstance(clf, Pipeline) else clf


def _attribute(clf, name: str, default=None):
    """Return a fitted attribute of a classifier, if it has one."""
    value = getattr(_network(clf), name, default)
    return default if value is None else value


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _brief(clf, issues: pd.DataFrame) -> list[str]:
    """Return what stands below the title."""
    brief = [f"{len(issues):,} samples", f"{issues['is_label_issue'].sum():,} suspect labels"]
    estimate = _attribute(clf, "noise_estimate_")
    return brief if estimate is None else [*brief, f"about {_percent(estimate.eps)} of all labels are wrong"]


def _summary(clf, issues: pd.DataFrame, *, n_shown: int) -> list[tuple[str, str]]:
    """Return what comes first on the page."""
    n_issues = int(issues["is_label_issue"].sum())
    share = n_issues / len(issues)
    summary = [("samples", f"{len(issues):,}"), ("labels that are probably wrong", f"{n_issues:,} ({_percent(share)})")]
    estimate = _attribute(clf, "noise_estimate_")
    if estimate is not None:
        low, high = estimate.interval
        interval = f"{100 * low:.1f} to {100 * high:.1f} %"
        summary.append(("estimated share of wrong labels", f"{_percent(estimate.eps)} (90 % interval: {interval})"))
        summary += [("not to be trusted", doubt) for doubt in estimate.doubts]
    if n_shown < len(issues):
        summary.append(("on this page", f"the {n_shown:,} most suspect samples"))
    return summary


def _settings(clf) -> list[tuple[str, str]]:
    """Return how the classifier was trained."""
    if clf is None:
        return []
    network = _network(clf)
    settings = [("classifier", type(network).__name__)]
    names = ("method", "module", "eps", "M", "T_w", "n_networks", "optimizer", "lr", "batch_size", "random_state")
    parameters = network.get_params(deep=False) if hasattr(network, "get_params") else {}
    is_network = "module" in parameters
    for name in names if is_network else parameters:
        if name in parameters and parameters[name] is not None:
            value = parameters[name]
            settings.append((name, value.__name__ if isinstance(value, type) else reprlib.repr(value)))
    for name in ("eps_", "T_w_"):
        value = _attribute(clf, name)
        if is_network and value is not None:
            settings.append((f"{name} (in use)", f"{value:.4g}"))
    history = _attribute(clf, "history", [])
    return [*settings, ("epochs", str(len(history)))] if is_network and len(history) else settings


def _curves(clf) -> dict | None:
    """Return the lines of the training curves; None for a classifier without a history."""
    history = _attribute(clf, "history", [])
    if not is_history(history) or len(history) == 0:
        return None
    columns = {name: [epoch.get(name) for epoch in history] for name in ("train_loss", "valid_loss", "valid_acc")}
    agreement = [epoch.get("agreement") for epoch in history]
    mask = _attribute(clf, "clean_mask_")
    kept = [epoch.get("n_selected") for epoch in history]
    n_training = int(np.isfinite(_attribute(clf, "clean_score_")).sum()) if mask is not None else 0
    shares = {"samples learned from": [k / n_training if k is not None else None for k in kept] if n_training else []}
    shares |= {"predictions that agree with labels": agreement, "accuracy on held-out samples": columns["valid_acc"]}
    losses = {"training": columns["train_loss"], "held-out samples": columns["valid_loss"]}
    return {
        "loss": _known(losses),
        "shares": _known(shares),
        "n_warmup": min(int(_attribute(clf, "T_w_", 0)), len(history)),
    }


def is_history(history) -> bool:
    """Return whether something is the history of a network, one dict per epoch."""
    return isinstance(history, list) and all(isinstance(epoch, dict) for epoch in history)


def _known(lines: dict[str, list]) -> dict[str, list]:
    """Return the lines that have a value."""
    return {name: values for name, values in lines.items() if any(value is not None for value in values)}


def _class_tables(clf, issues: pd.DataFrame) -> dict:
    """Return the tables of classes, of pairs that are confused, and the corruption matrix, as header and lines."""
    from sklearn_lec.inspection.tables import class_quality_table, overlapping_classes_table

    classes, pairs = class_quality_table(issues), overlapping_classes_table(issues)[:N_PAIRS]
    class_lines = [
        [str(label), int(row.n_samples), int(row.label_issues), _share(row.label_noise), int(row.inverse_label_issues)]
        for label, row in zip(classes.index, classes.itertuples(index=False), strict=True)
    ]
    pair_lines = [
        [str(row.class_a), str(row.class_b), int(row.a_labelled_b), int(row.b_labelled_a), int(row.label_issues)]
        for row in pairs.itertuples(index=False)
    ]
    estimate, matrix = _attribute(clf, "noise_estimate_"), None
    if estimate is not None and len(estimate.classes_) <= LARGEST_MATRIX:
        matrix = {
            "classes": [str(label) for label in estimate.classes_],
            "shares": np.round(estimate.corruption_matrix, 4).tolist(),
        }
    return {
        "class_table": {
            "header": ["label", "samples", "probably wrong", "share", "belong here, labelled otherwise"],
            "lines": class_lines,
        },
        "pair_table": {
            "header": ["A", "B", "A labelled as B", "B labelled as A", "both"],
            "lines": pair_lines,
        },
        "matrix": matrix,
    }


def _share(value: float) -> str:
    return "" if math.isnan(value) else _percent(value)
