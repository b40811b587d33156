"""Where the rows of a cell come from: data sets as the scale wants them, and the noise put into them."""

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import get_data_home, load_digits
from sklearn.model_selection import train_test_split

from benchmarks.cells import Cell, data_parts
from benchmarks.files import digest
from benchmarks.semantic import clean_predictions, semantic_noise
from sklearn_lec import datasets
from sklearn_lec.noise import AsymmetricNoise, OpenSetNoise, SymmetricNoise
from sklearn_lec.preprocessing import ZCAWhitening

__all__ = [
    "NO_CLASS",
    "CleanData",
    "DataMissingError",
    "NoisyData",
    "check_available",
    "clean_data",
    "noisy_data",
    "prepare_noise",
]

NO_CLASS = -1
"""The right label of an image that belongs to no class of the data set."""

IMAGENET_32 = """ImageNet-32 cannot be downloaded by a program. Get "Train (32x32), npz format" of the Downsampled
ImageNet from https://image-net.org and put these files into {folder}:
  train_data_batch_1.npz to train_data_batch_10.npz
  like_cifar10.txt: the labels (1 to 1000, as in these files, separated by white space) of the classes that resemble
  those of CIFAR-10 and are left out; the paper refers to Oliver et al. (2018), who leave out 252."""

N_IMAGENET_32 = 50_000
"""Images drawn from ImageNet-32, which has 1.3 million; the paper replaces 20,000 at most."""


class DataMissingError(Exception):
    """A data set is not there and cannot be fetched; the message says what to put where."""


class CleanData(NamedTuple):
    """A data set with right labels, images of shape (n_rows, channels, height, width)."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    class_names: list[str]
    whitening: ZCAWhitening | None
    """What the images went through."""


class NoisyData(NamedTuple):
    """A training set with noise."""

    X: np.ndarray
    y_noisy: np.ndarray
    y_clean: np.ndarray
    """The right labels, `NO_CLASS` for images from another data set."""
    noise_mask: np.ndarray
    """Rows whose label is wrong: ``y_noisy != y_clean``."""

    @property
    def fingerprint(self) -> str:
        """Eight letters that tell this noise from other noise in the same rows."""
        labels = np.stack([self.y_noisy, self.y_clean]).astype(np.int64)
        return digest(labels.tobytes())


def clean_data(data: str, settings: dict, data_home: str | None) -> CleanData:
    """Return a data set with as many rows as the settings say, whitened if they say so.

    Parameters
    ----------
    data : str
        As in a cell; only the name of the data set matters here.
    settings : dict
        ``train_rows``, ``test_rows`` and ``whitening`` are used.
    data_home : str or None
        Where the data sets are; None for the default of `sklearn_lec.datasets`.

    Returns
    -------
    clean : CleanData
        Shared by all who ask; not to be written into.
    """
    name = data_parts(data).name
    return _load(name, data_home, settings["train_rows"], settings["test_rows"], settings["whitening"])


def noisy_data(cell: Cell, settings: dict, data_home: str | None, *, out: Path, device: str = "cpu") -> NoisyData:
    """Return the training set of a cell, the same for all methods.

    Random label noise and open-set noise depend on the seed; semantic noise and the labels of people do not.

    Parameters
    ----------
    cell : Cell
    settings : dict
    data_home : str or None
    out : Path
        The run folder, where semantic noise keeps its networks' predictions.
    device : str, default="cpu"
        On which these networks are trained if they are not there.

    Returns
    -------
    noisy : NoisyData
    """
    clean = clean_data(cell.data, settings, data_home)
    X, y = clean.X_train, clean.y_train
    if cell.noise_kind == "clean":
        return NoisyData(X, y, y, np.zeros(len(y), dtype=bool))
    if cell.noise_kind == "human":
        y_noisy = _labels_of_people(cell.noise.removeprefix("human-"), data_home, settings["train_rows"])
        return NoisyData(X, y_noisy, y, y_noisy != y)
    if cell.noise_kind == "semantic":
        noise = semantic_noise(X, y, eps=cell.noise_ratio, settings=settings, **_place(cell, out, device))
    elif cell.noise_kind == "open":
        foreign = _foreign(cell.data, data_home, settings["train_rows"], settings["test_rows"], settings["whitening"])
        noise = OpenSetNoise(foreign, eps=cell.noise_ratio, random_state=cell.noise_seed)
    else:
        kind = {"sym": SymmetricNoise, "asym": AsymmetricNoise}[cell.noise_kind]
        noise = kind(eps=cell.noise_ratio, random_state=cell.noise_seed)
    X_noisy, y_noisy = noise.corrupt(X, y)
    y_clean = np.where(noise.noise_mask_, NO_CLASS, y) if cell.noise_kind == "open" else y
    return NoisyData(X_noisy, y_noisy, y_clean, noise.noise_mask_)


def prepare_noise(cell: Cell, settings: dict, data_home: str | None, *, number: int, out: Path, device: str) -> None:
    """Train one of the networks that make the semantic noise of a cell, if it is not there.

    Parameters
    ----------
    cell, settings, data_home, out, device
        As for `noisy_data`.
    number : int
        Which of the ``settings["semantic_networks"]`` networks.
    """
    clean = clean_data(cell.data, settings, data_home)
    place = _place(cell, out, device)
    clean_predictions(clean.X_train, clean.y_train, number=number, settings=settings, **place)


def check_available(data: str, data_home: str | None) -> None:
    """Fetch what is missing of a data set, ``"data+external"`` too.

    Raises
    ------
    DataMissingError
        If it is not there and cannot be fetched.
    """
    name, _, external = data_parts(data)
    _fetch(name, data_home, "train", dtype="uint8")
    if external:
        _external_images(external, data_home)


def _place(cell, out, device):
    return {"name": f"{cell.scale}_{cell.data}", "out": out, "device": device}


@lru_cache(maxsize=2)
def _load(name, data_home, train_rows, test_rows, whiten):
    X_train, y_train, class_names = _fetch(name, data_home, "train")
    X_test, y_test, _ = _fetch(name, data_home, "test")
    # Of all rows, also for a part of them: 10,000 images do not tell the variances of 3,072 pixels well enough, and
    # those of the test set come out larger. For all of CIFAR-10, fit and transform take about 10 s each on two cores,
    # and the process stays below 2.5 GB; the covariance is then within 2e-4 of what the regularizer leaves.
    whitening = ZCAWhitening().fit(X_train) if whiten else None
    X_train, y_train = _stratified(X_train, y_train, train_rows)
    X_test, y_test = _stratified(X_test, y_test, test_rows)
    if whitening is not None:
        X_train, X_test = whitening.transform(X_train), whitening.transform(X_test)
    return CleanData(X_train, y_train, X_test, y_test, class_names, whitening)


@lru_cache(maxsize=1)
def _foreign(data, data_home, train_rows, test_rows, whiten):
    name, _, external = data_parts(data)
    clean = _load(name, data_home, train_rows, test_rows, whiten)
    shape = clean.X_train.shape[1:]
    if external == "uniform":
        return np.random.RandomState(0).random_sample(clean.X_train.shape).astype(np.float32)
    images = _in_shape(_external_images(external, data_home), shape)
    return images if clean.whitening is None else clean.whitening.transform(images)


def _fetch(name, data_home, subset, *, dtype="float32"):
    """Return images, labels and names of classes."""
    if name == "digits":
        return _fetch_digits(subset)
    fetch = {
        "mnist": datasets.fetch_mnist,
        "cifar-10": datasets.fetch_cifar10,
        "cifar-100": datasets.fetch_cifar100,
        "svhn": datasets.fetch_svhn,
    }[name]
    try:
        bunch = fetch(data_home, subset=subset, dtype=dtype)
    except OSError as error:
        raise DataMissingError(str(error)) from error
    return bunch.data, bunch.target, bunch.target_names


def _labels_of_people(noise, data_home, n_rows):
    """Return the labels that people gave to the images of CIFAR-10 that `_load` returns."""
    try:
        people = datasets.fetch_cifar10n(data_home, noise=noise, dtype="uint8")
    except OSError as error:
        raise DataMissingError(str(error)) from error
    return people.target[_stratified(np.arange(len(people.target)), people.target_clean, n_rows)[0]]


def _fetch_digits(subset):
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    names = [str(digit) for digit in range(10)]
    return (X_train, y_train, names) if subset == "train" else (X_test, y_test, names)


def _external_images(name, data_home):
    """Return the images of a data set that take the place of others in open-set noise."""
    if name == "uniform":
        return np.empty((0, 1, 1, 1))
    if name == "imagenet-32":
        return _fetch_imagenet_32(data_home)
    X, y, class_names = _fetch(name, data_home, "train")
    if name == "cifar-100":
        alike = np.isin(class_names, sum(datasets.CIFAR100_CLASSES_LIKE_CIFAR10.values(), ()))
        X = X[~alike[y]]
    return X


def _fetch_imagenet_32(data_home):
    folder = Path(get_data_home() if data_home is None else data_home).expanduser() / "imagenet-32"
    batches = [folder / f"train_data_batch_{number}.npz" for number in range(1, 11)]
    if not all(file.exists() for file in [*batches, folder / "like_cifar10.txt"]):
        raise DataMissingError(IMAGENET_32.format(folder=folder))
    rng, images = np.random.RandomState(0), []
    try:
        left_out = [int(label) for label in (folder / "like_cifar10.txt").read_text().split()]
        for file in batches:
            with np.load(file) as batch:
                allowed = np.flatnonzero(~np.isin(batch["labels"], left_out))
                drawn = np.sort(rng.choice(allowed, N_IMAGENET_32 // len(batches), replace=False))
                images.append(batch["data"][drawn].reshape(-1, 3, 32, 32))
    except Exception as error:  # zipfile and numpy raise whatever they stumble over
        why = f"What is there is damaged: {error!r}."
        raise DataMissingError(f"{IMAGENET_32.format(folder=folder)}\n{why}") from error
    return np.concatenate(images).astype(np.float32) / 255


def _in_shape(images, shape):
    """Cut the middle out of images, and make them grey, as the shape (channels, height, width) asks for."""
    channels, height, width = shape
    top, left = (images.shape[2] - height) // 2, (images.shape[3] - width) // 2
    images = images[:, :, top : top + height, left : left + width]
    return images if images.shape[1] == channels else images.mean(axis=1, keepdims=True)


def _stratified(X, y, n_rows):
    if n_rows == len(y):
        return X, y
    rows, _ = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=0)
    return X[rows], y[rows]
