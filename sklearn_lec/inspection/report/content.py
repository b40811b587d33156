"""What a person is shown of each sample: an image, unusual values of a table, a text, or nothing."""

from collections.abc import Mapping

import numpy as np
from scipy.sparse import issparse
from torch import Tensor
from torch.utils.data import Dataset

from sklearn_lec.inspection.report.features import unusual_entries, unusual_values
from sklearn_lec.inspection.report.images import array_images, check_image_shape, image_sheets, pixels_of, sides_of

__all__ = ["content_of"]

LONGEST_TEXT = 1000


def content_of(data, *, n_samples: int, codes: np.ndarray, shown: np.ndarray, image_shape=None) -> dict:
    """Return what is shown of some samples, as plain data.

    Parameters
    ----------
    data : the inputs, or what is to be shown in place of them
        Array, tensor, DataFrame, sparse matrix, list or Series of texts, images or paths of images, or Dataset.
    n_samples : int
    codes : int64 ndarray of shape (n_samples,)
        The class numbers of the given labels.
    shown : int64 ndarray of shape (n_shown,)
        The samples to show, in their order.
    image_shape : tuple of ints or None
        The shape of flattened images.

    Returns
    -------
    content : dict
        With the key "kind", one of "image", "table", "text" and "none".
    """
    if data is None or isinstance(data, Mapping):
        return {"kind": "none"}
    length = data.shape[0] if hasattr(data, "shape") else len(data)
    if length != n_samples:
        raise ValueError(f"there are {n_samples} labels, but {length} samples to show. Pass one for each label.")
    if isinstance(data, Dataset):
        return _of_dataset(data, codes, shown, image_shape)
    if issparse(data):
        matrix = data.tocsr()
        return {"kind": "table", "names": None, "values": unusual_entries(matrix, codes, shown)}
    if isinstance(data, Tensor):
        data = data.detach().cpu().numpy()
    if hasattr(data, "iloc") and hasattr(data, "columns") and image_shape is None:
        return _of_table(data, codes, shown)
    if not isinstance(data, np.ndarray):
        data = list(data) if isinstance(data, list | tuple) or getattr(data, "ndim", 2) == 1 else np.asarray(data)
    if isinstance(data, list) or data.ndim == 1:
        return _of_items(data, codes, shown, image_shape)
    return _of_array(data, codes, shown, image_shape)


def _of_array(array: np.ndarray, codes: np.ndarray, shown: np.ndarray, image_shape) -> dict:
    """Return what is shown of numbers: images, or a table without names."""
    if image_shape is not None:
        n_values = int(np.prod(array.shape[1:]))
        array = array.reshape(len(array), *check_image_shape(image_shape, n_values))
    if array.ndim in (3, 4):
        pixels = array_images(array)
        sides = pixels(shown[:1])[0].shape[:2]
        return {"kind": "image"} | image_sheets(lambda positions: pixels(shown[positions]), len(shown), sides)
    if array.ndim == 2:
        import pandas as pd

        return _of_table(pd.DataFrame(array), codes, shown) | {"names": None}
    return {"kind": "none"}


def _of_table(table, codes: np.ndarray, shown: np.ndarray) -> dict:
    """Return the unusual values of a DataFrame."""
    names, values = unusual_values(table, codes, shown)
    return {"kind": "table", "names": names, "values": values}


def _of_items(items, codes: np.ndarray, shown: np.ndarray, image_shape) -> dict:
    """Return what is shown of a list: texts, images or paths of images, or rows of numbers."""
    first = items[int(shown[0])]
    if hasattr(first, "convert") or (hasattr(first, "__fspath__") and not isinstance(first, str)):
        return _of_images(lambda sample: items[sample], shown)
    if isinstance(first, str) or np.ndim(first) == 0:
        texts = [str(items[int(sample)]) for sample in shown]
        return {"kind": "text", "texts": [_cut(text) for text in texts]}
    if np.ndim(first) in (2, 3):
        return _of_images(lambda sample: items[sample], shown)
    return _of_array(np.asarray(items), codes, shown, image_shape)


def _of_images(image_of, shown: np.ndarray) -> dict:
    """Return thumbnails of images that are loaded one by one."""
    sides = sides_of([pixels_of(image_of(int(sample))) for sample in shown[:100]])

    def pixels(positions):
        return [pixels_of(image_of(int(sample))) for sample in shown[positions]]

    return {"kind": "image"} | image_sheets(pixels, len(shown), sides)


def _of_dataset(dataset: Dataset, codes: np.ndarray, shown: np.ndarray, image_shape) -> dict:
    """Return what is shown of a data set: only the samples that are shown are loaded."""

    def inputs(sample):
        item = dataset[sample]
        item = item[0] if isinstance(item, list | tuple) else item
        return item.numpy() if isinstance(item, Tensor) else item

    first = inputs(int(shown[0]))
    if hasattr(first, "convert") or (image_shape is None and np.ndim(first) in (2, 3)):
        return _of_images(inputs, shown)
    if isinstance(first, str):
        return {"kind": "text", "texts": [_cut(inputs(int(sample))) for sample in shown]}
    if np.ndim(first) == 1 or image_shape is not None:
        array = np.stack([inputs(int(sample)) for sample in shown])
        return _of_array(array, codes[shown], np.arange(len(shown)), image_shape)
    return {"kind": "none"}


def _cut(text: str) -> str:
    """Return a text, without its end if it is very long."""
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
