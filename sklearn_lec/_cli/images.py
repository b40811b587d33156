"""Read images from one folder for each class, all made the same size."""

import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from sklearn_lec._cli.errors import UnusableDataError
from sklearn_lec._cli.labels import check_learnable
from sklearn_lec._cli.network import SmallConv
from sklearn_lec._cli.samples import Samples
from sklearn_lec._training.device import fastest_device
from sklearn_lec.modules import Conv9

__all__ = ["image_files", "read_image", "samples_of_folder"]

SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".jfif"))
MOST_NAMED = 5


def samples_of_folder(folder: Path, classifier, *, size: int) -> Samples:
    """Read the images of a folder.

    Parameters
    ----------
    folder : Path
    classifier : LECClassifier
        Not fitted; it gets a network that fits the images and the device.
    size : int
        The height and the width that they are made.

    Returns
    -------
    samples : Samples
        X are floats of shape (n_samples, channels, size, size), with one channel if no image has colors.
    """
    files, notes = image_files(folder)
    images, unreadable = [], []
    for path, _ in files:
        image = read_image(path, size=size)
        if image is None:
            unreadable.append(path)
        images.append(image)
    places = np.array([place for place, image in enumerate(images) if image is not None], dtype=np.int64)
    y = np.array([files[place][1] for place in places])
    if unreadable:
        named = ", ".join(str(path.relative_to(folder)) for path in unreadable[:MOST_NAMED])
        more = f" and {len(unreadable) - MOST_NAMED} more" if len(unreadable) > MOST_NAMED else ""
        notes.append(f"{len(unreadable)} images are left out, they cannot be read: {named}{more}")
    check_learnable(y, name=f"the folder {folder}")
    X = _stacked([images[place] for place in places])
    on_gpu = (fastest_device() if classifier.device == "auto" else str(classifier.device)) != "cpu"
    classifier.set_params(module=Conv9 if on_gpu and size >= Conv9.smallest_image else SmallConv)
    shape = "grey" if X.shape[1] == 1 else "color"
    summary = f"{folder}: {len(files):,} images in {len(np.unique(y))} classes, read as {size}x{size} pixels, {shape}"
    return Samples(
        X=X,
        y=y,
        estimator=classifier,
        places=places,
        names=[path.relative_to(folder).as_posix() for path, _ in files],
        names_of="file",
        display=[files[place][0] for place in places],
        notes=[summary, *notes],
    )


def image_files(folder: Path) -> tuple[list[tuple[Path, str]], list[str]]:
    """Return the images in the folders of the classes, sorted, each with its class; and what there is to say.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    files : list of (Path, str)
    notes : list of str
    """
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    classes = [path for path in entries if path.is_dir()]
    files, others, notes = [], [], []
    for of_class in classes:
        inside = sorted(path for path in of_class.rglob("*") if path.is_file() and not path.name.startswith("."))
        found = [path for path in inside if path.suffix.lower() in SUFFIXES]
        others += [path for path in inside if path.suffix.lower() not in SUFFIXES]
        files += [(path, of_class.name) for path in found]
        if not found:
            notes.append(f"folder {of_class.name!r} has no images, and is left out")
    loose = [path for path in entries if path.is_file() and path.suffix.lower() in SUFFIXES]
    if not files:
        raise UnusableDataError(
            f"no images in the folders in {folder}. There must be a folder for each class, with its images in it: "
            f"{folder / 'cat' / '1.jpg'}, {folder / 'dog' / '2.jpg'}."
            + (f" {len(loose)} images are in {folder} itself, where they have no class." if loose else "")
        )
    if loose:
        notes.append(f"{len(loose)} images are left out: they are in {folder.name} itself, where they have no class")
    if others:
        notes.append(f"{len(others)} files are left out: they are no images ({others[0].relative_to(folder)}, ...)")
    return files, notes


def read_image(path: Path, *, size: int) -> np.ndarray | None:
    """Return an image as uint8 of shape (size, size) if it is grey, or (size, size, 3); None if it cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of broken metadata
            with Image.open(path) as image:
                upright = _opaque(ImageOps.exif_transpose(image))
                # Of a larger image all pixels count, so that fine structures do not flicker.
                is_larger = min(upright.size) > size
                resampling = Image.Resampling.BOX if is_larger else Image.Resampling.BILINEAR
                return np.asarray(upright.resize((size, size), resampling))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # whatever broken files lead to
        return None


def _opaque(image):
    """Return an image in grey or in colors, on white where it can be seen through."""
    if image.mode.startswith(("I", "F")):  # 16 bits or more
        values = np.asarray(image, dtype=np.float64)
        low, high = values.min(), values.max()
        return Image.fromarray((255 * (values - low) / max(high - low, 1e-9)).astype(np.uint8))
    if "transparency" in image.info or image.mode in ("RGBA", "LA", "PA"):
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image if image.mode == "L" else image.convert("L" if image.mode == "1" else "RGB")


def _stacked(images: list[np.ndarray]) -> np.ndarray:
    """Return images as floats of mean 0 and variance 1 in each channel, the channels first."""
    has_colors = any(image.ndim == 3 and np.ptp(image, axis=2).any() for image in images)
    if has_colors:
        images = [image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2) for image in images]
    else:
        images = [image[..., :1] if image.ndim == 3 else image[..., None] for image in images]
    X = np.stack(images).transpose(0, 3, 1, 2).astype(np.float32)
    X -= X.mean(axis=(0, 2, 3), keepdims=True)
    X /= X.std(axis=(0, 2, 3), keepdims=True) + 1e-6
    return X
