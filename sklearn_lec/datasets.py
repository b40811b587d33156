"""The data sets of the paper, as arrays: torchvision's loaders and checksums behind scikit-learn's ``fetch_*``."""

import tempfile
from pathlib import Path

import numpy as np
import torchvision.datasets
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch
from torchvision.datasets.utils import check_integrity, extract_archive

__all__ = [
    "CIFAR100_CLASSES_LIKE_CIFAR10",
    "fetch_cifar10",
    "fetch_cifar100",
    "fetch_fashion_mnist",
    "fetch_mnist",
    "fetch_svhn",
]

CIFAR100_CLASSES_LIKE_CIFAR10 = {
    "vehicles 1": ("bicycle", "bus", "motorcycle", "pickup_truck", "train"),
    "vehicles 2": ("lawn_mower", "rocket", "streetcar", "tank", "tractor"),
    "medium-sized mammals": ("fox", "porcupine", "possum", "raccoon", "skunk"),
    "small mammals": ("hamster", "mouse", "rabbit", "shrew", "squirrel"),
    "large carnivores": ("bear", "leopard", "lion", "tiger", "wolf"),
}
"""The 25 classes of CIFAR-100, by super-class, that resemble CIFAR-10's vehicles, cats, dogs and other mammals.

Images for open-set noise must not belong to a class of CIFAR-10: the label "truck" would be right for a pickup truck.
The paper uses the other 75 classes. It does not list them, but refers to Abbasi et al. (2018), who leave out these
five super-classes.
"""

_SOURCES = {
    "MNIST": "Y. LeCun et al., 'Gradient-based learning applied to document recognition', Proc. IEEE 86(11), 1998.",
    "FashionMNIST": "H. Xiao et al., 'Fashion-MNIST: a novel image dataset for benchmarking', arXiv:1708.07747, 2017.",
    "CIFAR10": "A. Krizhevsky, 'Learning multiple layers of features from tiny images', 2009.",
    "CIFAR100": "A. Krizhevsky, 'Learning multiple layers of features from tiny images', 2009.",
    "SVHN": "Y. Netzer et al., 'Reading digits in natural images with unsupervised feature learning', 2011.",
}

_PARAMETERS = """

    Parameters
    ----------
    data_home : str, Path or None, default=None
        The folder with the files, in the layout of torchvision. Missing files are downloaded into it. It may be
        read-only if the files, or the archives with them, are there. None means the data folder of scikit-learn.
    subset : {"train", "test"}, default="train"
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Whether to download missing files. If False, an OSError lists the files and where to put them.
    dtype : {"float32", "uint8"}, default="float32"
        float32 gives values from 0 to 1; uint8 gives values from 0 to 255, as in the files.

    Returns
    -------
    dataset : Bunch
        ``data``, ndarray of shape (n_samples, channels, height, width); ``target``, int64 ndarray of shape
        (n_samples,); ``target_names``, list of str; ``DESCR``, str.
    (data, target) : tuple if `return_X_y` is True
    """


def _documented(function):
    """Add the parameters, which all functions share, to the docstring."""
    function.__doc__ = (function.__doc__ or "") + _PARAMETERS
    return function


@_documented
def fetch_mnist(data_home=None, *, subset="train", return_X_y=False, download_if_missing=True, dtype="float32"):
    """Load MNIST: handwritten digits, 60,000 for training and 10,000 for testing, 1x28x28."""
    return _fetch(torchvision.datasets.MNIST, data_home, subset, return_X_y, download_if_missing, dtype)


@_documented
def fetch_fashion_mnist(data_home=None, *, subset="train", return_X_y=False, download_if_missing=True, dtype="float32"):
    """Load Fashion-MNIST: pieces of clothing, 60,000 for training and 10,000 for testing, 1x28x28."""
    return _fetch(torchvision.datasets.FashionMNIST, data_home, subset, return_X_y, download_if_missing, dtype)


@_documented
def fetch_cifar10(data_home=None, *, subset="train", return_X_y=False, download_if_missing=True, dtype="float32"):
    """Load CIFAR-10: photographs in 10 classes, 50,000 for training and 10,000 for testing, 3x32x32."""
    return _fetch(torchvision.datasets.CIFAR10, data_home, subset, return_X_y, download_if_missing, dtype)


@_documented
def fetch_cifar100(data_home=None, *, subset="train", return_X_y=False, download_if_missing=True, dtype="float32"):
    """Load CIFAR-100: photographs in 100 classes, 50,000 for training and 10,000 for testing, 3x32x32."""
    return _fetch(torchvision.datasets.CIFAR100, data_home, subset, return_X_y, download_if_missing, dtype)


@_documented
def fetch_svhn(data_home=None, *, subset="train", return_X_y=False, download_if_missing=True, dtype="float32"):
    """Load SVHN: digits of house numbers in photographs, 73,257 for training and 26,032 for testing, 3x32x32."""
    return _fetch(torchvision.datasets.SVHN, data_home, subset, return_X_y, download_if_missing, dtype)


def _fetch(loader, data_home, subset, return_X_y, download_if_missing, dtype):
    """Return what the public functions promise. `loader` is a data set class of torchvision."""
    if subset not in ("train", "test"):
        raise ValueError(f"subset must be 'train' or 'test', got {subset!r}.")
    if dtype not in ("float32", "uint8", np.float32, np.uint8):
        raise ValueError(f"dtype must be 'float32' or 'uint8', got {dtype!r}.")
    root = Path(get_data_home() if data_home is None else data_home).expanduser()
    dataset, data, target = _load(loader, root, subset, download_if_missing)
    if data.ndim == 3:
        data = data[:, None]
    elif data.shape[-1] == 3:
        data = data.transpose(0, 3, 1, 2).copy()
    if np.dtype(dtype) == np.float32:
        data = data.astype(np.float32)
        data /= 255
    if return_X_y:
        return data, target
    name = loader.__name__
    target_names = [str(label) for label in getattr(dataset, "classes", range(10))]
    description = (
        f"{name}, {subset} set\n\n{len(data)} images of shape {data.shape[1:]} (channels, height, width) in "
        f"{len(target_names)} classes,\nread by torchvision.datasets.{name} from {root}.\n\nSource: {_SOURCES[name]}\n"
    )
    return Bunch(data=data, target=target, target_names=target_names, DESCR=description)


def _load(loader, root, subset, download_if_missing):
    """Return torchvision's data set, its images and its labels: from files, from archives, or downloaded."""
    split = {"split": subset} if loader is torchvision.datasets.SVHN else {"train": subset == "train"}
    attempts = [lambda: loader(root, **split), lambda: _load_archives(loader, root, split)]
    if issubclass(loader, torchvision.datasets.MNIST):
        attempts.reverse()  # torchvision has no checksums of MNIST's unpacked files, only of the archives
    if download_if_missing:
        attempts.append(lambda: loader(root, download=True, **split))
    for attempt in attempts:
        try:
            dataset = attempt()
            images = np.asarray(dataset.data)
            labels = np.asarray(dataset.targets if hasattr(dataset, "targets") else dataset.labels)
            if len(images) != len(labels):
                raise ValueError(f"there are {len(images)} images, but {len(labels)} labels: a file is damaged")
            return dataset, images, labels.astype(np.int64)
        except Exception as error:  # torchvision and pickle raise many kinds for missing, damaged and unreadable files
            reason = error
    raise OSError(_what_to_do(loader, root, download_if_missing, reason)) from reason


def _load_archives(loader, root, split):
    """Unpack the archives into a temporary folder, because `root` may be read-only, and load the data from there."""
    with tempfile.TemporaryDirectory() as folder:
        for path, md5 in _files(loader)[0].items():
            if not check_integrity(root / path, md5):
                raise OSError(f"{root / path} is missing or damaged")
            unpacked = Path(folder, path).parent
            unpacked.mkdir(parents=True, exist_ok=True)
            extract_archive(str(root / path), str(unpacked))
        return loader(folder, **split)


def _files(loader):
    """Return the archives and the other files that torchvision has checksums of, as two dicts {path in root: MD5}."""
    if hasattr(loader, "resources"):
        return {f"{loader.__name__}/raw/{name}": md5 for name, md5 in loader.resources}, {}
    if hasattr(loader, "split_list"):
        return {}, {name: md5 for split, (_, name, md5) in loader.split_list.items() if split != "extra"}
    files = [*loader.train_list, *loader.test_list, (loader.meta["filename"], loader.meta["md5"])]
    return {loader.filename: loader.tgz_md5}, {f"{loader.base_folder}/{name}": md5 for name, md5 in files}


def _what_to_do(loader, root, download_if_missing, reason):
    """Return the message of the error: what failed, which files to put where, and which files are damaged."""
    archives, files = _files(loader)
    if download_if_missing:
        advice = "The download failed too. Get these files in another way, and put them there:"
    else:
        advice = "Set download_if_missing=True to download it, or put these files there by hand:"
    lines = [f"{loader.__name__} could not be loaded from {root}: {reason}", advice]
    lines += [f"  {root / path} (MD5 {md5})" for path, md5 in (archives or files).items()]
    damaged = [str(root / path) for path, md5 in (archives | files).items() if _is_damaged(root / path, md5)]
    if damaged:
        lines.append("Damaged or unreadable, to be replaced: " + ", ".join(damaged))
    return "\n".join(lines)


def _is_damaged(path, md5):
    """Return whether a file exists that cannot be read or has another checksum."""
    try:
        return check_integrity(path) and not check_integrity(path, md5)
    except OSError:
        return True
