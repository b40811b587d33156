"""
When are samples selected?
==========================

Wrong labels are left out as soon as the warm-up ends, and hardly ever come back: 97 % of them are never selected again.
Of the right labels 67 % are selected in every epoch, and nearly all others come and go. Here 30 % of the labels of
scikit-learn's digits are wrong. It takes a few seconds.

`SelectionFlowDisplay` shows which samples were selected in which epoch, which the callback `SelectionHistory` keeps.
`TrainingCurvesDisplay` shows the same as curves: label precision is the share of right labels among the selected
samples, and label recall the share of the right labels that were selected.

The script prints what the pictures show. With a folder as its argument it writes them there.
"""

import sys
from pathlib import Path

from sklearn.datasets import load_digits

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import SelectionHistory
from sklearn_lec.inspection import SelectionFlowDisplay, TrainingCurvesDisplay
from sklearn_lec.noise import SymmetricNoise


def main(folder=None):
    X, y = load_digits(return_X_y=True)
    y_given = SymmetricNoise(eps=0.3, random_state=0).fit_transform(y)

    selection = SelectionHistory()
    clf = LECClassifier(max_epochs=50, verbose=0, random_state=0, callbacks=[selection]).fit(X / 16, y_given)

    flow = SelectionFlowDisplay.from_estimator(clf, y_true=y, y=y_given)
    curves = TrainingCurvesDisplay.from_estimator(clf, y_true=y, y=y_given)

    after_warmup = selection.masks_[clf.T_w_ :]
    for name, samples in [("right", y == y_given), ("wrong", y != y_given)]:
        always, never = after_warmup[:, samples].all(axis=0).mean(), 1 - after_warmup[:, samples].any(axis=0).mean()
        print(f"{name} labels: {always:.1%} selected in every epoch after the warm-up, {never:.1%} in none")
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        flow.figure_.savefig(Path(folder) / "selection-flow.png")
        curves.figure_.savefig(Path(folder) / "training-curves.png")
    return flow, curves


if __name__ == "__main__":
    main(*sys.argv[1:])
