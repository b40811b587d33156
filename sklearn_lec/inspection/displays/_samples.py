"""Samples as displays show them: where those of a table of issues are in X, and their images."""

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from skorch.helper import SliceDataset
from torch.utils.data import Dataset

__all__ = ["as_images", "is_table", "positions_in", "samples_at"]

CHANNELS = (1, 3, 4)


def positions_in(X, issues) -> np.ndarray:
    """Return where in X the samples of a table of label issues are.

    Parameters
    ----------
    X : array-like, DataFrame, sparse matrix, Tensor or Dataset
        n_samples samples.
    issues : DataFrame
        Of all samples of X in their order, or of some of them: these are found by the index, which is that of X, or
        the numbers of the samples if X has none.

    Returns
    -------
    positions : int ndarray of shape (len(issues),)
    """
    import pandas as pd

    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    is_named = isinstance(X, pd.DataFrame) and X.index.is_unique
    # Without names the order comes first: the index may be that of a shuffled DataFrame whose values X is.
    if len(issues) == n_samples and not is_named:
        return np.arange(n_samples)
    index = X.index if is_named else pd.RangeIndex(n_samples)
    if issues.index.isin(index).all():
        return index.get_indexer(issues.index)
    if len(issues) == n_samples:
        return np.arange(n_samples)
    raise ValueError(
        f"issues are about {len(issues)} samples, X has {n_samples}, and the index of issues does not say which of "
        "them these are. Pass the X that the issues were found in, or all of its issues, in the order of X."
    )


def is_table(X, image_shape: tuple[int, ...] | None) -> bool:
    """Return whether samples are rows of features, and not images."""
    if image_shape is not None or isinstance(X, Dataset | SliceDataset):
        return False
    return issparse(X) or np.ndim(X) == 2


def samples_at(X, positions: np.ndarray) -> list[np.ndarray]:
    """Return the samples at some positions as arrays, without loading any other sample of a Dataset."""
    if isinstance(X, Dataset | SliceDataset):
        items = [X[int(position)] for position in positions]
        items = [item[0] if isinstance(item, tuple | list) else item for item in items]
    elif isinstance(X, torch.Tensor):
        items = list(X[torch.as_tensor(positions, device=X.device)])
    else:
        items = _safe_indexing(X, positions)
        items = list(items.to_numpy() if hasattr(items, "to_numpy") else items)
    return [np.asarray(item.detach().cpu() if isinstance(item, torch.Tensor) else item) for item in items]


def as_images(samples: list[np.ndarray], image_shape: tuple[int, ...] | None) -> list[np.ndarray]:
    """Return samples as images that ``Axes.imshow`` takes.

    Parameters
    ----------
    samples : list of ndarray
        Each of shape (H, W), (C, H, W) or (H, W, C) with one, three or four channels, or flat with `image_shape`.
    image_shape : tuple of int or None

    Returns
    -------
    images : list of ndarray of shape (H, W), (H, W, 3) or (H, W, 4)
        Colors are integers up to 255, or lie in [0, 1]: values in other ranges, such as standardized ones, are scaled,
        all images alike.

    Examples
    --------
    >>> as_images([np.zeros((3, 8, 6)), np.ones((3, 8, 6))], None)[1].shape
    (8, 6, 3)
    """
    images = [_channels_last(sample, image_shape) for sample in samples]
    if not images or images[0].ndim == 2 or images[0].dtype == np.uint8:
        return images
    low, high = min(image.min() for image in images), max(image.max() for image in images)
    if low >= 0 and high <= 1:
        return images
    low, high = (0, 255) if low >= 0 and high <= 255 else (low, high)
    return [(image - low) / max(high - low, 1e-12) for image in images]


def _channels_last(sample: np.ndarray, image_shape: tuple[int, ...] | None) -> np.ndarray:
    """Return one image with its channels in the last axis, and without that axis if there is but one channel."""
    if image_shape is not None:
        if sample.size != np.prod(image_shape):
            raise ValueError(
                f"image_shape={image_shape} stands for {np.prod(image_shape)} values, but a sample has {sample.size}. "
                "Pass the shape of one image, such as (28, 28) or (3, 32, 32)."
            )
        sample = sample.reshape(image_shape)
    if sample.ndim == 3 and sample.shape[0] in CHANNELS:
        sample = np.moveaxis(sample, 0, -1)
    if sample.ndim == 3 and sample.shape[-1] == 1:
        sample = sample[..., 0]
    if sample.ndim != 2 and not (sample.ndim == 3 and sample.shape[-1] in CHANNELS):
        raise ValueError(
            f"a sample of shape {sample.shape} is no image: (H, W), (C, H, W) or (H, W, C), with one, three or four "
            "channels C. Pass image_shape=... if images are flat."
        )
    return sample
