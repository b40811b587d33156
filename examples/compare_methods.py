"""
How much label noise does each method stand?
============================================

On digits, ordinary training is as good as LTEC while every label is right, and gets almost every third digit wrong at
60 % wrong labels, where LTEC errs on every tenth. `NoisyLabelClassifier` corrupts the training folds of a plain
`GridSearchCV` and leaves the test folds clean, so that methods and noise levels can be compared like any parameters.
"""

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from sklearn_lec import LECClassifier
from sklearn_lec.noise import NoisyLabelClassifier, SymmetricNoise

METHODS = ["standard", "self-training", "ltec"]
LEVELS = [0.0, 0.2, 0.4, 0.6]


def main():
    X, y = load_digits(return_X_y=True)
    classifier = LECClassifier(max_epochs=50, verbose=0, random_state=0)
    noisy = NoisyLabelClassifier(classifier, SymmetricNoise(random_state=0))

    # One grid per level, because the classifier is told how much noise to expect.
    grid = [{"noise__eps": [eps], "estimator__eps": [eps], "estimator__method": METHODS} for eps in LEVELS]
    search = GridSearchCV(noisy, grid, cv=3, n_jobs=2, refit=False).fit(X / 16, y)

    results = zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    accuracy = {(params["estimator__method"], params["noise__eps"]): score for params, score in results}
    print("Accuracy on clean labels, three-fold cross-validation (in %)\n")
    print(f"{'wrong labels':<16}" + "".join(f"{eps:>8.0%}" for eps in LEVELS))
    for method in METHODS:
        print(f"{method:<16}" + "".join(f"{100 * accuracy[method, eps]:8.1f}" for eps in LEVELS))


if __name__ == "__main__":
    main()
