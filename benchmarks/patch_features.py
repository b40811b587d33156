"""Features of images that a small network can learn from in seconds: how close their patches are to typical ones."""

import numpy as np
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import PCA

__all__ = ["patch_features"]

SIZE = 6
"""Of a patch, in pixels."""
N_CENTROIDS = 100
N_TRAINING_PATCHES = 50_000
BATCH = 200
"""Images at a time, whose patches take about 60 MB."""


def patch_features(images: np.ndarray, *, seed: int) -> np.ndarray:
    """Return the features of Coates, Lee and Ng (2011): soft assignments of patches to centroids, summed by quadrant.

    Parameters
    ----------
    images : ndarray of shape (n_images, channels, height, width)
        Values from 0 to 1.
    seed : int
        For the patches that centroids are learned from.

    Returns
    -------
    features : float32 ndarray of shape (n_images, 4 * N_CENTROIDS)
        Each with mean 0 and variance 1.

    References
    ----------
    A. Coates, H. Lee and A. Y. Ng, "An analysis of single-layer networks in unsupervised feature learning", AISTATS
    2011.

    Examples
    --------
    >>> patch_features(np.random.default_rng(0).random((80, 3, 12, 12)), seed=0).shape
    (80, 400)
    """
    rng = np.random.RandomState(seed)
    n_of_image = (images.shape[2] - SIZE + 1) * (images.shape[3] - SIZE + 1)
    drawn = rng.choice(len(images), min(len(images), 10 * N_TRAINING_PATCHES // n_of_image), replace=False)
    patches = _patches(images[drawn]).reshape(-1, images.shape[1] * SIZE**2)
    patches = patches[rng.permutation(len(patches))[:N_TRAINING_PATCHES]]
    whitening = PCA(0.99, whiten=True, random_state=rng).fit(patches)
    kmeans = MiniBatchKMeans(N_CENTROIDS, n_init=1, batch_size=2048, random_state=rng).fit(whitening.transform(patches))
    parts = [images[start : start + BATCH] for start in range(0, len(images), BATCH)]
    features = np.concatenate([_pooled(part, whitening, kmeans.cluster_centers_) for part in parts])
    return ((features - features.mean(axis=0)) / (features.std(axis=0) + 1e-6)).astype(np.float32)


def _patches(images: np.ndarray) -> np.ndarray:
    """Return all patches, their brightness and contrast made equal; shape (n_images, rows, columns, n_values)."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (SIZE, SIZE), axis=(2, 3))
    patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(*windows.shape[:1], *windows.shape[2:4], -1)
    centered = patches - patches.mean(axis=-1, keepdims=True)
    return (centered / np.sqrt(centered.var(axis=-1, keepdims=True) + 1e-3)).astype(np.float32)


def _pooled(images, whitening, centroids) -> np.ndarray:
    """Return, for each centroid and quadrant, how much closer patches are to it than to a centroid on average."""
    patches = _patches(images)
    n_images, n_rows, n_columns, _ = patches.shape
    white = whitening.transform(patches.reshape(-1, patches.shape[-1]))
    squared = (white**2).sum(axis=1)[:, None] - 2 * white @ centroids.T + (centroids**2).sum(axis=1)
    distance = np.sqrt(np.maximum(squared, 0)).reshape(n_images, n_rows, n_columns, -1)
    closeness = np.maximum(distance.mean(axis=-1, keepdims=True) - distance, 0)
    row, column = n_rows // 2, n_columns // 2
    quadrants = (
        closeness[:, rows, columns].sum(axis=(1, 2))
        for rows in (slice(None, row), slice(row, None))
        for columns in (slice(None, column), slice(column, None))
    )
    return np.concatenate(list(quadrants), axis=1)
