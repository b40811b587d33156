"""What ZCA whitening of all of CIFAR-10 costs, and how white the result is.

Run ``python -m benchmarks.whitening --data-home DIR`` from the root of the project; DIR holds CIFAR-10 as torchvision
lays it out. Prints seconds, the peak memory of the process, and the largest deviation of the covariance of the whitened
images from what the regularizer leaves of the identity.
"""

import argparse
import resource
import time

import numpy as np

from sklearn_lec.datasets import fetch_cifar10
from sklearn_lec.preprocessing import ZCAWhitening


def peak_gigabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-home", default=None)
    options = parser.parse_args()

    X, _ = fetch_cifar10(options.data_home, return_X_y=True)
    loaded = peak_gigabytes()
    start = time.perf_counter()
    whitening = ZCAWhitening().fit(X)
    fitted = time.perf_counter()
    print(f"fit: {fitted - start:.1f} s, peak memory {peak_gigabytes():.2f} GB ({loaded:.2f} GB after loading)")

    white = whitening.transform(X).reshape(len(X), -1)
    print(f"transform: {time.perf_counter() - fitted:.1f} s, peak memory {peak_gigabytes():.2f} GB")

    # The whitening matrix has the eigenvalues 1 / sqrt(variance + regularization).
    scale, axes = np.linalg.eigh(whitening.whitening_.astype(np.float64))
    expected = (axes * (1 - whitening.regularization * scale**2)) @ axes.T
    centred = white - white.mean(axis=0)
    covariance = centred.T @ centred / len(centred)
    deviation = np.abs(covariance - expected).max()
    print(f"covariance: at most {deviation:.1e} from what the regularizer leaves of the identity")


if __name__ == "__main__":
    main()
