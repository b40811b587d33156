"""Other estimators of the share of wrong labels, for `benchmarks.noise_ratio`: each a function from arrays to it."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from cleanlab.count import estimate_joint, num_label_issues
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler, normalize

__all__ = ["CLEANLAB_JOINT", "OTHERS", "Evidence"]

CLEANLAB_JOINT = "cleanlab, joint"

HOC_STEPS, HOC_LR = 1500, 0.1


@dataclass(frozen=True)
class Evidence:
    """What all candidates are given alike.

    Parameters
    ----------
    labels : int64 ndarray of shape (n_samples,)
        Class numbers, some of them wrong.
    pred_probs : ndarray of shape (n_samples, n_classes)
        Of models that have not seen the sample in training.
    features : ndarray of shape (n_samples, n_features)
        In which samples of the same class are near each other.
    """

    labels: np.ndarray
    pred_probs: np.ndarray
    features: np.ndarray


def cleanlab_joint(evidence: Evidence) -> float:
    """Return what lies off the diagonal of the joint distribution of labels and true classes (confident learning)."""
    return float(1 - np.trace(estimate_joint(evidence.labels, evidence.pred_probs)))


def cleanlab_issues(evidence: Evidence) -> float:
    """Return the share of labels that cleanlab counts as issues."""
    return num_label_issues(evidence.labels, evidence.pred_probs) / len(evidence.labels)


def disagreement(evidence: Evidence) -> float:
    """Return the share of labels that are not what was predicted: wrong labels and errors of the model."""
    return float((evidence.pred_probs.argmax(axis=1) != evidence.labels).mean())


def loss_mixture(evidence: Evidence) -> float:
    """Return the weight of the component with the larger mean, of two normal distributions of the losses.

    With the settings of DivideMix (Li et al., 2020), but losses of samples that were held out.
    """
    p = evidence.pred_probs[np.arange(len(evidence.labels)), evidence.labels].astype(np.float64)
    losses = MinMaxScaler().fit_transform(-np.log(np.maximum(p, 1e-12))[:, None])
    mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten steps are part of the settings
        mixture.fit(losses)
    return float(mixture.weights_[mixture.means_.argmax()])


def consensus(evidence: Evidence) -> float:
    """Return what high-order consensus (HOC) says: a sample and its two nearest neighbors have the same true class.

    How often each three labels meet there is then a polynomial of the shares of the true classes and of the corruption
    matrix, both of which are fitted by gradient descent, to first, second and third order alike.

    References
    ----------
    Zhu et al., "Clusterability as an Alternative to Anchor Points When Learning with Noisy Labels", ICML 2021.
    """
    n_samples, n_classes = evidence.pred_probs.shape
    # Neighbors by the cosine, as in the paper; of a sample among its own duplicates, any three of them will do.
    features = normalize(evidence.features)
    near = NearestNeighbors(n_neighbors=3).fit(features).kneighbors(features, return_distance=False)
    seen = np.zeros((n_classes,) * 3)
    np.add.at(seen, tuple(evidence.labels[near].T), 1 / n_samples)
    seen = torch.from_numpy(seen)
    orders = [seen.sum(dim=(1, 2)), seen.sum(dim=2), seen]
    shares = torch.zeros(n_classes, dtype=torch.float64, requires_grad=True)
    matrix = (5 * torch.eye(n_classes, dtype=torch.float64)).requires_grad_()  # classes keep most of their labels
    optimizer = torch.optim.Adam([shares, matrix], lr=HOC_LR)
    best, eps = np.inf, np.nan
    for _ in range(HOC_STEPS):
        p, T = shares.softmax(dim=0), matrix.softmax(dim=1)
        joint = p[:, None] * T
        fitted = [joint.sum(dim=0), joint.T @ T, torch.einsum("ka,kb,kc->abc", joint, T, T)]
        loss = sum(torch.linalg.vector_norm(a - b) for a, b in zip(fitted, orders, strict=True))
        if loss.item() < best:
            best, eps = loss.item(), 1 - joint.trace().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return eps


OTHERS: dict[str, Callable[[Evidence], float]] = {
    CLEANLAB_JOINT: cleanlab_joint,
    "cleanlab, issues": cleanlab_issues,
    "disagreement": disagreement,
    "HOC": consensus,
    "Gaussian mixture": loss_mixture,
}
"""What the package's own estimator is compared to, by the name that the page shows."""
