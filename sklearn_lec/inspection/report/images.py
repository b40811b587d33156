"""Thumbnails: many small images on few large ones, as the page carries them, in no more space than they may take."""

import base64
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["array_images", "check_image_shape", "image_sheets", "pixels_of", "sides_of"]

LARGEST_SIZE = 9_000_000
"""Bytes that all thumbnails may take, before they grow by a third as text."""
ACROSS = 10
"""Thumbnails beside each other on a sheet, and below each other."""


@dataclass(frozen=True)
class _Encoding:
    """How thumbnails are written: exactly, or as JPEG of some quality; their longer side, and the grid they lie on."""

    kind: str
    largest_side: int
    quality: int = 0

    @property
    def grid(self) -> int:
        """Blocks of JPEG have 16 pixels: one that had a part of two thumbnails would mix them."""
        return 16 if self.kind == "JPEG" else 1


ENCODINGS = (
    _Encoding("PNG", 96),
    _Encoding("JPEG", 96, 90),
    _Encoding("JPEG", 96, 75),
    _Encoding("JPEG", 64, 75),
    _Encoding("JPEG", 64, 60),
    _Encoding("JPEG", 48, 60),
    _Encoding("JPEG", 32, 50),
)
"""From the best to the smallest; the first one that fits is taken."""


def check_image_shape(image_shape: Sequence[int], n_features: int) -> tuple[int, ...]:
    """Return the shape of flattened images, or raise an error that says what is wrong with it."""
    shape = tuple(image_shape)
    if len(shape) not in (2, 3) or math.prod(shape) != n_features:
        raise ValueError(
            f"image_shape={shape} does not fit samples of {n_features} values. Give (height, width), (channels, "
            "height, width) or (height, width, channels), whose product is the number of values."
        )
    return shape


def array_images(images: np.ndarray) -> Callable[[Sequence[int]], np.ndarray]:
    """Return a function from sample numbers to bytes of shape (n, height, width, 1 or 3).

    Parameters
    ----------
    images : ndarray of shape (n_samples, height, width), or with channels (1, 3 or 4 are shown as such) in front of
        the height or behind the width
        Bytes, or numbers of any range: floats between 0 and 1 count as such, others are stretched from the smallest
        to the largest.
    """
    if images.ndim == 4 and _has_channels_last(images.shape):
        images = np.moveaxis(images, -1, 1)
    if images.ndim == 3:
        images = images[:, None]
    if images.shape[1] == 4:  # the fourth channel is how opaque a pixel is
        images = images[:, :3]
    if images.dtype == bool:
        images = images.astype(np.uint8) * np.uint8(255)
    low, high = 0.0, 255.0
    if images.dtype != np.uint8:
        finite = images[np.isfinite(images)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if np.issubdtype(images.dtype, np.floating) and 0 <= low and high <= 1:
            low, high = 0.0, 1.0

    def pixels(samples) -> np.ndarray:
        part = images[np.asarray(samples, dtype=np.int64)]
        if part.dtype != np.uint8:
            part = (np.nan_to_num(part.astype(np.float64), nan=low) - low) / max(high - low, 1e-300)
            part = np.round(part.clip(0, 1) * 255).astype(np.uint8)
        if part.shape[1] not in (1, 3):
            part = part.mean(axis=1, keepdims=True).astype(np.uint8)
        return np.moveaxis(part, 1, -1)

    return pixels


def _has_channels_last(shape: tuple[int, ...]) -> bool:
    """Return whether the channels of images are behind their width; in front, where both could be."""
    first, last = shape[1], shape[-1]
    return last in (1, 3, 4) and first not in (1, 3) and not (first == last == 4)


def pixels_of(image) -> np.ndarray:
    """Return one image of any kind as bytes of shape (height, width, 1 or 3): a file, one of Pillow, an array."""
    from PIL import Image

    if not hasattr(image, "convert") and hasattr(image, "__fspath__"):
        image = Image.open(image)
    if hasattr(image, "convert"):
        return np.asarray(image.convert("RGB"))
    array = np.asarray(image)
    return array_images(array[None])([0])[0]


def image_sheets(
    pixels: Callable[[Sequence[int]], Sequence[np.ndarray]], n_images: int, sides: tuple[int, int]
) -> dict:
    """Return sheets with all thumbnails, and what it takes to find one of them.

    Parameters
    ----------
    pixels : callable
        Returns bytes of shape (height, width, 1 or 3) for each of some positions below `n_images`.
    n_images : int
    sides : tuple of two ints
        The largest height and width.

    Returns
    -------
    sheets : dict
        - mime: the type of the images
        - width, height: of a thumbnail
        - cell_width, cell_height: of the place that each one has
        - across: how many there are in a row, and in a column
        - sheets: list of str, each an image in base64
    """
    step = max(1, n_images // ACROSS**2)
    probe = list(range(0, n_images, step))[: ACROSS**2]
    for encoding in ENCODINGS:
        size = len(_sheet(pixels(probe), encoding, sides)) * math.ceil(n_images / ACROSS**2)
        if size <= LARGEST_SIZE or encoding is ENCODINGS[-1]:
            break
    height, width = _fitted(sides, encoding.largest_side)
    sheets = []
    for first in range(0, n_images, ACROSS**2):
        positions = range(first, min(first + ACROSS**2, n_images))
        sheets.append(base64.b64encode(_sheet(pixels(positions), encoding, sides)).decode("ascii"))
    return {
        "mime": f"image/{encoding.kind.lower()}",
        "width": width,
        "height": height,
        "cell_width": _on_grid(width, encoding.grid),
        "cell_height": _on_grid(height, encoding.grid),
        "across": ACROSS,
        "sheets": sheets,
    }


def _sheet(images: Sequence[np.ndarray], encoding: _Encoding, sides: tuple[int, int]) -> bytes:
    """Return an image file with up to ``ACROSS ** 2`` thumbnails."""
    from PIL import Image

    height, width = _fitted(sides, encoding.largest_side)
    cell_height, cell_width = _on_grid(height, encoding.grid), _on_grid(width, encoding.grid)
    n_channels = max(image.shape[-1] for image in images)
    sheet = np.zeros((ACROSS * cell_height, ACROSS * cell_width, n_channels), dtype=np.uint8)
    for position, image in enumerate(images):
        if image.shape[:2] != (height, width):
            image = _resized(image, height, width)
        padding = (cell_height - height, cell_width - width)
        if any(padding):  # with what is at the edge: a sharp one would be seen in the thumbnail
            image = np.pad(image, ((0, padding[0]), (0, padding[1]), (0, 0)), mode="edge")
        row, column = divmod(position, ACROSS)
        sheet[row * cell_height :, column * cell_width :][:cell_height, :cell_width] = image
    file = io.BytesIO()
    options = {"optimize": True} if encoding.kind == "PNG" else {"quality": encoding.quality, "optimize": True}
    Image.fromarray(sheet[..., 0] if n_channels == 1 else sheet).save(file, encoding.kind, **options)
    return file.getvalue()


def _resized(image: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return an image made smaller, in the middle of an area of this size, without a change of its proportions."""
    from PIL import Image

    picture = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    picture.thumbnail((width, height))
    area = Image.new(picture.mode, (width, height))
    area.paste(picture, ((width - picture.width) // 2, (height - picture.height) // 2))
    return np.asarray(area).reshape(height, width, -1)


def _fitted(sides: tuple[int, int], largest: int) -> tuple[int, int]:
    """Return a height and width of the same proportions, neither above `largest`."""
    shrink = min(1.0, largest / max(sides))
    return max(1, round(sides[0] * shrink)), max(1, round(sides[1] * shrink))


def _on_grid(length: int, grid: int) -> int:
    """Return a length rounded up to a multiple of `grid`."""
    return math.ceil(length / grid) * grid


def sides_of(images: Sequence[np.ndarray]) -> tuple[int, int]:
    """Return the largest height and width of some images."""
    return max(image.shape[0] for image in images), max(image.shape[1] for image in images)
