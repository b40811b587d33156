"""
What does it gain to correct the most suspect labels?
=====================================================

Here 20 % of the labels of scikit-learn's digits are wrong. A person who looks at the 10 % that `find_label_issues`
finds most suspect corrects 135 labels: all of these are wrong. Trained again, `LECClassifier` goes from 96.9 % to
97.8 % accuracy, and to 98.0 % if the person looks at 20 %. Ordinary training stays at 92.7 % until nearly all labels
are right.

The loop takes three steps. `report` writes a page on which people look at suspect labels and download their decisions;
`apply_corrections` applies them; and ``fit(..., trusted=...)`` learns from every label that a person has looked at. The
share of wrong labels that are left is the one that was estimated before, less those that have been corrected.

It takes about 20 seconds. With a folder as its argument, the script writes the page and the picture there.
"""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_lec import LECClassifier
from sklearn_lec.inspection import apply_corrections, find_label_issues, report
from sklearn_lec.noise import AsymmetricNoise

SETTINGS = {"max_epochs": 40, "verbose": 0, "random_state": 0}
SHARES = (0.05, 0.1, 0.2)


def decisions_of_a_person(issues, y_right, *, share):
    """Return what a person decides who looks at the most suspect labels, in place of the file from the page."""
    samples = issues["label_quality"].to_numpy().argsort()[: round(share * len(issues))]
    given, right = issues["given_label"].to_numpy()[samples], y_right[samples]
    decision = np.where(given == right, "keep", "change")
    lines = {"sample": samples, "n_samples": len(issues), "given_label": given, "decision": decision}
    return pd.DataFrame(lines | {"new_label": np.where(given == right, "", right.astype(str))})


def main(folder=None):
    X, y = load_digits(return_X_y=True)
    X, X_test, y_right, y_test = train_test_split(X / 16, y, test_size=0.25, stratify=y, random_state=0)
    y_given = AsymmetricNoise(eps=0.2, random_state=0).fit_transform(y_right)

    # Find: the page is for people who do not program.
    clf = LECClassifier(**SETTINGS).fit(X, y_given)
    issues = find_label_issues(clf, X, y_given)
    page = Path(tempfile.mkdtemp() if folder is None else folder) / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    print(f"Page: {report(clf, X, page, issues=issues, image_shape=(8, 8))}")

    ordinary = LECClassifier(method="standard", **SETTINGS)
    scores = [(clf.score(X_test, y_test), ordinary.fit(X, y_given).score(X_test, y_test))]
    for share in SHARES:
        # Fix: with the file that the page offers for download, apply_corrections(y_given, "decisions.csv").
        corrections = apply_corrections(y_given, decisions_of_a_person(issues, y_right, share=share))
        labels, dropped, trusted = corrections

        # Refit: labels that were looked at are trusted, and fewer of the others are wrong than before.
        refitted = LECClassifier(**SETTINGS, eps=corrections.eps_left(clf.noise_estimate_))
        refitted.fit(X[~dropped], labels[~dropped], trusted=trusted[~dropped])

        ordinary.fit(X[~dropped], labels[~dropped])
        scores.append((refitted.score(X_test, y_test), ordinary.score(X_test, y_test)))
        n_changed, n_left = (labels != y_given).sum(), (labels != y_right).sum()
        print(f"{trusted.sum()} labels looked at: {n_changed} were wrong, and {n_left} wrong ones are left", end=" ")
        print(f"({n_left / len(labels):.1%}; expected: {refitted.eps_:.1%}).")

    figure, ax = plt.subplots(layout="constrained")
    for name, accuracy in zip(("LECClassifier", "ordinary training"), 100 * np.array(scores).T, strict=True):
        ax.plot([0, *(100 * share for share in SHARES)], accuracy, "o-", label=name)
        print(f"{name}: accuracy {', '.join(f'{value:.1f} %' for value in accuracy)}")
    ax.set(xlabel="labels that were looked at, the most suspect first (%)", ylabel="accuracy on clean test data (%)")
    ax.legend()
    if folder is not None:
        figure.savefig(page.with_name("find-fix-refit.png"))
    return figure


if __name__ == "__main__":
    main(*sys.argv[1:])
