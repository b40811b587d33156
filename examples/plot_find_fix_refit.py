"""
What does it gain to correct the most suspect labels?
=====================================================

PLACEHOLDER
"""

import sys
import tempfile
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_lec import LECClassifier
from sklearn_lec.inspection import apply_corrections, find_label_issues, report
from sklearn_lec.noise import AsymmetricNoise


def decide(issues, y_right, n_looked_at):
    """Return the decisions of a person who looks at the most suspect labels; on the page, each takes one key."""
    looked_at = issues["label_quality"].argsort()[:n_looked_at].to_numpy()
    given, right = issues["given_label"].to_numpy()[looked_at], y_right[looked_at]
    decisions = {"sample": looked_at, "n_samples": len(issues), "given_label": given}
    return pd.DataFrame(decisions | {"decision": "change", "new_label": right})


def main(folder=None):
    X, y = load_digits(return_X_y=True)
    X, X_test, y_right, y_test = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=0)
    y_given = AsymmetricNoise(eps=0.2, random_state=0).fit_transform(y_right)
    settings = {"max_epochs": 40, "verbose": 0, "random_state": 0}

    # Find: the page shows the most suspect labels to people who do not program.
    clf = LECClassifier(**settings).fit(X, y_given)
    issues = find_label_issues(clf, X, y_given)
    folder = Path(tempfile.mkdtemp() if folder is None else folder)
    folder.mkdir(parents=True, exist_ok=True)
    page = report(clf, X, folder / "report.html", issues=issues, image_shape=(8, 8))

    # Fix: here with the right labels in place of the person, whose decisions would be in decisions.csv.
    corrections = apply_corrections(y_given, decide(issues, y_right, n_looked_at=len(y_given) // 10))
    labels, dropped, trusted = corrections

    # Refit: with the labels that were looked at, and with what is left of the estimate.
    eps = corrections.eps_left(clf.noise_estimate_)
    refitted = LECClassifier(**settings | {"eps": eps})
    refitted.fit(X[~dropped], labels[~dropped], trusted=trusted[~dropped])

    ordinary = [LECClassifier(method="standard", **settings).fit(X, y).score(X_test, y_test) for y in (y_given, labels)]
    robust = [clf.score(X_test, y_test), refitted.score(X_test, y_test)]
    wrong = [(y != y_right).sum() for y in (y_given, labels)]
    learned = [(one.clean_mask_ & (y != y_right)).sum() for one, y in ((clf, y_given), (refitted, labels))]
    print(f"page: {page}")
    print(f"wrong labels: {wrong[0]} of {len(y_given)}, and {wrong[1]} after {trusted.sum()} were looked at")
    print(f"taken to be wrong: {clf.eps_:.1%}, and {eps:.1%} after it")
    print(f"accuracy, ordinary training: {ordinary[0]:.1%} before, {ordinary[1]:.1%} after")
    print(f"accuracy, LECClassifier:     {robust[0]:.1%} before, {robust[1]:.1%} after")
    print(learned)
    return ordinary, robust


if __name__ == "__main__":
    main(*sys.argv[1:])
