"""
How many of my labels are wrong?
================================

Ask `estimate_noise`, with any classifier that has ``predict_proba``. Here 20 % of the digits 3 are labelled as 8, and
10 % of all others as any other digit; 11.8 % of all labels are wrong. A logistic regression finds 10.5 % (8.8 % to
12.2 %), and that most of the wrong labels 8 should be 3. The 100 labels that it takes to be wrong with the largest
probability are indeed all wrong. It takes a few seconds.

The script prints the summary, and draws the agreement of predictions with labels into the folder ``demo-output``. The
surer a prediction is, the more often it agrees with its label, but not beyond the share of labels that are right.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from sklearn_lec.estimation import estimate_noise
from sklearn_lec.noise import MatrixNoise

OUTPUT = Path("demo-output")


def mislabelled_digits():
    """Return digits with the labels that they were given, and with the right ones."""
    X, y = load_digits(return_X_y=True)
    matrix = np.full((10, 10), 0.1 / 9)
    np.fill_diagonal(matrix, 0.9)
    matrix[3] = 0
    matrix[3, [3, 8]] = 0.8, 0.2
    return X / 16, MatrixNoise(matrix, random_state=0).fit_transform(y), y


def main():
    X, y_given, y_right = mislabelled_digits()

    estimate = estimate_noise(LogisticRegression(max_iter=1000), X, y_given, random_state=0)

    print(estimate)
    most_suspect = np.argsort(-estimate.wrong_probability)[:100]
    n_found = (y_given != y_right)[most_suspect].sum()
    print(f"\nReally wrong: {(y_given != y_right).mean():.1%}, and {n_found} of the 100 most suspect labels.")

    OUTPUT.mkdir(exist_ok=True)
    estimate.plot().figure.savefig(OUTPUT / "plateau.png", dpi=100)
    print(f"Picture: {OUTPUT / 'plateau.png'}")


if __name__ == "__main__":
    main()
