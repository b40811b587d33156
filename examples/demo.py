"""
Can a network learn digits when 60 % of the labels are wrong?
=============================================================

Yes. Standard training memorizes the wrong labels and ends at about 60 % accuracy. LTEC (temporal-ensemble consensus,
https://arxiv.org/abs/1910.09792) selects samples whose labels are almost all right, and ends at about 94 %.

Three methods train the same network on scikit-learn's digits with 60 % symmetric noise. All are tested on clean labels.
The script prints a table, and writes two pictures into the folder ``demo-output``.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch.callbacks import Callback
from skorch.dataset import Dataset
from skorch.helper import predefined_split
from tqdm import tqdm

from sklearn_lec import LECClassifier
from sklearn_lec.callbacks import LabelQuality
from sklearn_lec.noise import SymmetricNoise

METHODS = {"standard": "Standard", "self-training": "Self-training", "ltec": "LTEC"}
COLORS = {"standard": "tab:gray", "self-training": "tab:orange", "ltec": "tab:blue"}
NOISE, EPOCHS = 0.6, 100
OUTPUT = Path("demo-output")


class EpochBar(Callback):
    """Update a progress bar at the end of each epoch."""

    def __init__(self, bar):
        self.bar = bar

    def on_epoch_end(self, net, **kwargs):
        """Show the accuracy on the test set."""
        self.bar.update()
        self.bar.set_postfix_str(f"{net.method}: test accuracy {net.history[-1, 'valid_acc']:.3f}")


def train_all(X_train, y_true, y_noisy, X_test, y_test):
    """Return the fitted classifiers and their training times in seconds, by method."""
    classifiers, seconds = {}, {}
    with tqdm(total=EPOCHS * len(METHODS), desc="training", unit="epoch", mininterval=0.5) as bar:
        for method in METHODS:
            start = time.perf_counter()
            classifiers[method] = LECClassifier(
                method=method,
                eps=NOISE,
                max_epochs=EPOCHS,
                random_state=0,
                verbose=0,
                train_split=predefined_split(
                    Dataset(X_test, y_test)
                ),  # for the accuracy of each epoch, not for training
                callbacks=[LabelQuality(y_true), EpochBar(bar)],
            ).fit(X_train, y_noisy)
            seconds[method] = time.perf_counter() - start
    return classifiers, seconds


def print_table(classifiers, seconds):
    print(f"\nDigits, {NOISE:.0%} of the training labels wrong, tested on clean labels (in %)\n")
    print(f"{'method':<14}{'final':>8}{'peak':>8}{'label precision':>17}{'label recall':>14}{'seconds':>9}")
    for method, classifier in classifiers.items():
        accuracy = classifier.history[:, "valid_acc"]
        last = classifier.history[-1]
        print(
            f"{METHODS[method]:<14}{100 * accuracy[-1]:8.1f}{100 * max(accuracy):8.1f}"
            f"{100 * last['label_precision']:17.1f}{100 * last['label_recall']:14.1f}{seconds[method]:9.1f}"
        )


def plot_curves(classifiers, path):
    """Draw the test accuracy and the label precision of each epoch."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for method, classifier in classifiers.items():
        epochs = classifier.history[:, "epoch"]
        color, name = COLORS[method], METHODS[method]
        left.plot(epochs, 100 * np.array(classifier.history[:, "valid_acc"]), color=color, label=name)
        precision = 100 * np.array(classifier.history[:, "label_precision"])
        right.plot(epochs, precision, color=color, label=f"{name}: {precision[-1]:.1f} % at the end")
    for axes in (left, right):
        axes.axvline(classifier.T_w_, color="black", linewidth=0.8, linestyle=":")
        axes.set(xlabel="epoch", xlim=(1, EPOCHS))
        axes.grid(alpha=0.3)
    left.annotate("warm-up ends", (classifier.T_w_, left.get_ylim()[0]), (4, 5), textcoords="offset points")
    left.set(title="Accuracy on clean test labels", ylabel="%")
    right.set(title="Right labels among the selected samples", ylabel="%", ylim=(30, 101))
    left.legend(loc="center right")
    right.legend(loc="center right")
    figure.savefig(path, dpi=110)


def plot_suspects(classifier, X_train, y_noisy, path):
    """Draw the 24 samples that were selected least often and whose given label is least probable."""
    probability = classifier.predict_proba(X_train)
    given = probability[np.arange(len(y_noisy)), np.searchsorted(classifier.classes_, y_noisy)]
    suspects = np.lexsort((given, classifier.clean_score_))[:24]
    predicted = classifier.classes_[probability.argmax(axis=1)]

    figure, grid = plt.subplots(3, 8, figsize=(10, 4.8), layout="constrained")
    figure.suptitle("The 24 labels that are most likely wrong, according to LTEC")
    for axes, index in zip(grid.flat, suspects, strict=True):
        axes.imshow(X_train[index].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"given {y_noisy[index]}\npredicted {predicted[index]}", fontsize=9)
        axes.axis("off")
    figure.savefig(path, dpi=110)


def main():
    torch.set_num_threads(1)  # the network is so small that a second thread makes it slower
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_true, y_test = train_test_split(
        X.astype("float32") / 16, y, test_size=0.25, stratify=y, random_state=0
    )
    y_noisy = SymmetricNoise(eps=NOISE, random_state=0).fit_transform(y_true)

    classifiers, seconds = train_all(X_train, y_true, y_noisy, X_test, y_test)

    print_table(classifiers, seconds)
    OUTPUT.mkdir(exist_ok=True)
    plot_curves(classifiers, OUTPUT / "curves.png")
    plot_suspects(classifiers["ltec"], X_train, y_noisy, OUTPUT / "suspects.png")
    print(f"\nPictures: {OUTPUT / 'curves.png'}, {OUTPUT / 'suspects.png'}")


if __name__ == "__main__":
    main()
