"""
Which images are mislabelled?
=============================

Train `LECClassifier` on them, and call `find_label_issues`. Here 269 labels of scikit-learn's digits are wrong, 15 %.
It flags 273 labels, among them 262 of the wrong ones, and for 249 of these it suggests the right label. It takes a few
seconds.

`LabelIssuesDisplay` shows the most suspect images with the labels that they were given and those that are suggested,
and `LabelQualityDisplay` how far the suspect labels stand apart from the others.

The script prints what it finds. With a folder as its argument it writes the pictures there.
"""

import sys
from pathlib import Path

from sklearn.datasets import load_digits

from sklearn_lec import LECClassifier
from sklearn_lec.inspection import LabelIssuesDisplay, LabelQualityDisplay
from sklearn_lec.noise import SymmetricNoise


def main(folder=None):
    X, y = load_digits(return_X_y=True)
    y_given = SymmetricNoise(eps=0.15, random_state=0).fit_transform(y)

    clf = LECClassifier(max_epochs=50, verbose=0, random_state=0).fit(X / 16, y_given)
    issues = clf.find_label_issues(X / 16, y_given)

    suspects = LabelIssuesDisplay.from_issues(issues, X, image_shape=(8, 8), y_true=y, cmap="gray_r")
    quality = LabelQualityDisplay.from_issues(issues, y_true=y)

    flagged, wrong = issues["is_label_issue"].to_numpy(), y != y_given
    is_right = issues["suggested_label"].eq(y).to_numpy(dtype=bool, na_value=False)
    columns = ["label_quality", "given_label", "suggested_label"]
    print(issues.loc[flagged, columns].sort_values("label_quality").head())
    print(f"\n{flagged.sum()} labels are flagged, among them {(flagged & wrong).sum()} of {wrong.sum()} wrong ones.")
    print(f"For {(flagged & wrong & is_right).sum()} of these the suggested label is right.")
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        suspects.figure_.savefig(Path(folder) / "label-issues.png")
        quality.figure_.savefig(Path(folder) / "label-quality.png")
    return suspects, quality


if __name__ == "__main__":
    main(*sys.argv[1:])
