"""The paper's data sets, fetched in the manner of scikit-learn on top of torchvision's loaders and checksums."""

import tempfile
from pathlib import Path

import numpy as np
import torchvision.datasets
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch
from torchvision.datasets.utils import check_integrity

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

Open-set noise must not hold what belongs to a class after all: a pickup truck under CIFAR-10's label "truck" would be
right. The paper takes the 75 other classes and refers to Abbasi et al. (2018), who leave out these five super-classes;
it does not list them itself.
"""

_DESCRIPTION = """{title}
{underline}

{n_rows} images of {shape} (channels, height, width) in {n_classes} classes: the {subset} set, read by
torchvision.datasets.{loader} from {root}.

Source: {source}
"""

_N_ROWS = {
    "MNIST": {"train": 60_000, "test": 10_000},
    "FashionMNIST": {"train": 60_000, "test": 10_000},
    "CIFAR10": {"train": 50_000, "test": 10_000},
    "CIFAR100": {"train": 50_000, "test": 10_000},
    "SVHN": {"train": 73_257, "test": 26_032},
}

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
        Where the files are, and where they are put if they have to be downloaded; torchvision's ``root``. None is
        scikit-learn's data folder.
    subset : {"train", "test"}, default="train"
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` in place of a Bunch.
    download_if_missing : bool, default=True
        Whether files that are missing are downloaded; otherwise an OSError says what to put where.
    dtype : {"float32", "uint8"}, default="float32"
        float32 holds values in [0, 1], uint8 those from 0 to 255 that are in the files.

    Returns
    -------
    dataset : Bunch
        ``data``, ndarray of shape (n_rows, channels, height, width); ``target``, int64 ndarray of shape (n_rows,);
        ``target_names``, list of str; ``DESCR``, str.
    (data, target) : tuple if `return_X_y` is True
    """


def _documented(function):
    function.__doc__ += _PARAMETERS
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
    """Load SVHN: house numbers in street views, 73,257 digits for training and 26,032 for testing, 3x32x32."""
    return _fetch(torchvision.datasets.SVHN, data_home, subset, return_X_y, download_if_missing, dtype)


def _fetch(loader, data_home, subset, return_X_y, download_if_missing, dtype):
    if subset not in ("train", "test"):
        raise ValueError(f"subset must be 'train' or 'test', got {subset!r}.")
    if dtype not in ("float32", "uint8", np.float32, np.uint8):
        raise ValueError(f"dtype must be 'float32' or 'uint8', got {dtype!r}.")
    root = Path(get_data_home() if data_home is None else data_home).expanduser()
    dataset = _load(loader, root, subset, download_if_missing)
    data = _channels_first(np.asarray(dataset.data))
    if np.dtype(dtype) == np.float32:
        data = data.astype(np.float32)
        data /= 255
    target = np.asarray(dataset.labels if hasattr(dataset, "labels") else dataset.targets, dtype=np.int64)
    if return_X_y:
        return data, target
    names = [str(name) for name in getattr(dataset, "classes", range(10))]
    title = f"{loader.__name__} ({subset})"
    description = _DESCRIPTION.format(
        title=title,
        underline="=" * len(title),
        n_rows=len(data),
        shape=data.shape[1:],
        n_classes=len(names),
        subset=subset,
        loader=loader.__name__,
        root=root,
        source=_SOURCES[loader.__name__],
    )
    return Bunch(data=data, target=target, target_names=names, DESCR=description)


def _load(loader, root, subset, download_if_missing):
    split = {"split": subset} if loader is torchvision.datasets.SVHN else {"train": subset == "train"}
    archives = _archives(loader)
    has_archives = archives and all(_is_intact(root / path, md5) for path, md5 in archives)
    # torchvision checks what it unpacks of CIFAR, but of MNIST only the archives.
    if has_archives and not _unpacked(loader):
        return _load_from_archives(loader, root, archives, split)
    try:
        return _complete(loader(root, download=False, **split), subset)
    except Exception as error:  # whatever torchvision and pickle raise for missing, damaged and unreadable files
        reason = error
    if has_archives:
        return _load_from_archives(loader, root, archives, split)
    if download_if_missing:
        try:
            return _complete(loader(root, download=True, **split), subset)
        except Exception as error:
            reason = error
    raise OSError(_what_to_put_where(loader, root, download_if_missing, reason)) from reason


def _complete(dataset, subset):
    n_images, n_labels = len(dataset.data), len(dataset.labels if hasattr(dataset, "labels") else dataset.targets)
    expected = _N_ROWS[type(dataset).__name__][subset]
    if not n_images == n_labels == expected:
        raise ValueError(f"expected {expected} images and labels, found {n_images} and {n_labels}: a file is damaged")
    return dataset


def _is_intact(path, md5):
    try:
        return check_integrity(path, md5)
    except OSError:  # not allowed to read it
        return False


def _load_from_archives(loader, root, archives, split):
    # All archives are there, so "download" only unpacks them; elsewhere, because the folder may be read-only.
    with tempfile.TemporaryDirectory() as folder:
        for path, _ in archives:
            link = Path(folder) / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to((root / path).resolve())
        return loader(folder, download=True, **split)


def _archives(loader):
    """Return the files that torchvision downloads, as (path below root, MD5)."""
    if hasattr(loader, "resources"):
        return [(f"{loader.__name__}/raw/{name}", md5) for name, md5 in loader.resources]
    if hasattr(loader, "tgz_md5"):
        return [(loader.filename, loader.tgz_md5)]
    return []


def _unpacked(loader):
    """Return the files that torchvision reads and checks, as (path below root, MD5)."""
    if hasattr(loader, "split_list"):
        return [(name, md5) for split, (_, name, md5) in loader.split_list.items() if split != "extra"]
    if hasattr(loader, "base_folder"):
        files = [*loader.train_list, *loader.test_list, (loader.meta["filename"], loader.meta["md5"])]
        return [(f"{loader.base_folder}/{name}", md5) for name, md5 in files]
    return []


def _what_to_put_where(loader, root, download_if_missing, reason):
    lines = [f"{loader.__name__} could not be loaded from {root}: {reason}"]
    if not download_if_missing:
        lines.append("Set download_if_missing=True to download it, or put these files there by hand:")
    else:
        lines.append("The download failed too. Get these files by other means, and put them there:")
    for path, md5 in _archives(loader) or _unpacked(loader):
        lines.append(f"  {root / path} (MD5 {md5})")
    files = _archives(loader) + _unpacked(loader)
    damaged = [path for path, md5 in files if _exists(root / path) and not _is_intact(root / path, md5)]
    if damaged:
        lines.append("Damaged or unreadable, to be replaced: " + ", ".join(str(root / path) for path in damaged))
    return "\n".join(lines)


def _exists(path):
    try:
        return path.exists()
    except OSError:
        return False


def _channels_first(images):
    if images.ndim == 3:
        return images[:, None]
    return images.transpose(0, 3, 1, 2).copy() if images.shape[-1] == 3 else images
