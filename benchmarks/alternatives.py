"""What a user could do instead: cleanlab's ``CleanLearning`` around the same network."""

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch import NeuralNetClassifier
from torch import nn, optim

from sklearn_lec import LECClassifier
from sklearn_lec.modules import MLP
from sklearn_lec.noise import AsymmetricNoise, SymmetricNoise

__all__ = ["against_cleanlab"]

NOISES = {"sym-60": SymmetricNoise(eps=0.6), "asym-40": AsymmetricNoise(eps=0.4)}


def against_cleanlab(noise_name: str, *, epochs: int, seeds: int) -> dict:
    """Train LTEC and ``CleanLearning`` on noisy digits, same network and epochs, one after the other.

    Parameters
    ----------
    noise_name : {"sym-60", "asym-40"}
    epochs : int
    seeds : int
        How many; each has its own noise and its own quarter of the digits to test on.

    Returns
    -------
    line : dict
        ``noise``, ``ratio`` of LTEC's time to cleanlab's (one per seed), and the accuracies ``ltec`` and ``cleanlab``
        on clean test labels (one per seed).
    """
    from cleanlab.classification import CleanLearning

    X, y = load_digits(return_X_y=True)
    line = {"noise": noise_name, "ratio": [], "ltec": [], "cleanlab": []}
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(
            X.astype(np.float32) / 16, y, test_size=0.25, stratify=y, random_state=seed
        )
        noise = NOISES[noise_name].set_params(random_state=seed)
        _, y_noisy = noise.corrupt(X_train, y_train)
        common = {"max_epochs": epochs, "batch_size": 128, "train_split": None, "verbose": 0, "device": "cpu"}
        ours = LECClassifier(MLP, method="ltec", eps=noise.eps, random_state=seed, **common)
        network = NeuralNetClassifier(
            MLP,
            module__in_features=64,
            module__num_classes=10,
            criterion=nn.CrossEntropyLoss,
            optimizer=optim.Adam,
            lr=0.001,
            iterator_train__shuffle=True,
            **common,
        )
        theirs = CleanLearning(network, seed=seed, find_label_issues_kwargs={"n_jobs": 1})
        seconds = []
        for name, classifier in (("ltec", ours), ("cleanlab", theirs)):
            start = time.perf_counter()
            classifier.fit(X_train, y_noisy)
            seconds.append(time.perf_counter() - start)
            line[name].append(float((classifier.predict(X_test) == y_test).mean()))
        line["ratio"].append(seconds[0] / seconds[1])
    return line
