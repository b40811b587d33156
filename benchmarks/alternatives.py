"""What a user could do instead: cleanlab's ``CleanLearning`` around the same network."""

import time

from benchmarks.digits import noisy_digits
from sklearn_lec import LECClassifier

__all__ = ["against_cleanlab"]


def against_cleanlab(noise_name: str, *, epochs: int, seeds: int) -> dict:
    """Train LTEC and ``CleanLearning`` on noisy digits one after the other, with the same network and epochs.

    Parameters
    ----------
    noise_name : str
        One of `benchmarks.digits.NOISES`.
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

    line = {"noise": noise_name, "ratio": [], "ltec": [], "cleanlab": []}
    for seed in range(seeds):
        digits = noisy_digits(noise_name, seed=seed)
        common = {"max_epochs": epochs, "random_state": seed, "verbose": 0, "device": "cpu"}
        # The same schedule and optimizer for both; CleanLearning trains the ordinary way, in five folds and once more.
        ours = LECClassifier(method="ltec", eps=digits.noise.eps, T_w=10, **common)
        ordinary = LECClassifier(method="standard", **common)
        theirs = CleanLearning(ordinary, seed=seed, find_label_issues_kwargs={"n_jobs": 1})
        seconds = []
        for name, classifier in (("ltec", ours), ("cleanlab", theirs)):
            start = time.perf_counter()
            classifier.fit(digits.X_train, digits.y_noisy)
            seconds.append(time.perf_counter() - start)
            line[name].append(float((classifier.predict(digits.X_test) == digits.y_test).mean()))
        line["ratio"].append(seconds[0] / seconds[1])
    return line
