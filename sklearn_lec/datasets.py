"""The data sets of the paper, as arrays: torchvision's loaders and checksums behind scikit-learn's ``fetch_*``."""

import io
import pickle
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import torchvision.datasets
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch
from torchvision.datasets.utils import check_integrity, download_url, extract_archive

from sklearn_lec._validation import did_you_mean

__all__ = [
    "CIFAR100_CLASSES_LIKE_CIFAR10",
    "fetch_cifar10",
    "fetch_cifar10n",
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
    "CIFAR10N": "J. Wei et al., 'Learning with noisy labels revisited', ICLR 2022; for research only (CC BY-NC 4.0).",
    "SVHN": "Y. Netzer et al., 'Reading digits in natural images with unsupervised feature learning', 2011.",
}

CIFAR10N_FILE = "CIFAR-10_human.pt"
CIFAR10N_MD5 = "96644db5574813cae939af5f7f2a0aec"
CIFAR10N_URL = f"https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data/{CIFAR10N_FILE}"
CIFAR10N_LABELS = {
    "aggregate": "aggre_label",
    "random1": "random_label1",
    "random2": "random_label2",
    "random3": "random_label3",
    "worst": "worse_label",
}
"""What the authors' file calls the labels."""

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


def fetch_cifar10n(
    data_home=None, *, noise="worst", return_X_y=False, download_if_missing=True, dtype="float32"
) -> Bunch | tuple[np.ndarray, np.ndarray]:
    """Load CIFAR-10N: the 50,000 training images of CIFAR-10 with labels that people gave.

    Each image was labelled by three people. Test images are those of ``fetch_cifar10(subset="test")``.

    Parameters
    ----------
    data_home : str, Path or None, default=None
        The folder with CIFAR-10, as for `fetch_cifar10`, and with the authors' file ``CIFAR-10_human.pt``. Missing
        files are downloaded into it. None means the data folder of scikit-learn.
    noise : {"worst", "random1", "random2", "random3", "aggregate"}, default="worst"
        "random1" to "random3" are the labels of the first to third person, of which 17 to 18 % are wrong; "aggregate"
        is what most of them say (9 %); "worst" takes a wrong one where there is any (40 %).
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    download_if_missing : bool, default=True
        Whether to download missing files.
    dtype : {"float32", "uint8"}, default="float32"
        As for `fetch_cifar10`.

    Returns
    -------
    dataset : Bunch
        As that of `fetch_cifar10`, with the labels that people gave as ``target``, and the right ones as
        ``target_clean``, both int64 ndarrays of shape (50000,).
    (data, target) : tuple if `return_X_y` is True

    Notes
    -----
    The file is a pickle. Its checksum is compared, and it is read so that no code in it can run.
    """
    if noise not in CIFAR10N_LABELS:
        known = ", ".join(map(repr, CIFAR10N_LABELS))
        raise ValueError(
            f"unknown noise {noise!r}; {did_you_mean(noise, CIFAR10N_LABELS)}noise must be one of {known}."
        )
    cifar10 = fetch_cifar10(data_home, download_if_missing=download_if_missing, dtype=dtype)
    labels = _labels_of_people(_folder(data_home), download_if_missing)
    if not np.array_equal(labels["clean_label"], cifar10.target):
        raise OSError(
            f"{CIFAR10N_FILE} is about other images than CIFAR-10: its right labels are not those of CIFAR-10."
        )
    given = labels[CIFAR10N_LABELS[noise]].astype(np.int64)
    if return_X_y:
        return cifar10.data, given
    share = (given != cifar10.target).mean()
    description = (
        f"CIFAR10N, {noise}\n\n{len(given)} images of shape {cifar10.data.shape[1:]} (channels, height, width) in "
        f"{len(cifar10.target_names)} classes,\nlabelled by people; {share:.1%} of the labels are wrong.\n\n"
        f"Sources: {_SOURCES['CIFAR10N']}\n{_SOURCES['CIFAR10']}\n"
    )
    return Bunch(
        data=cifar10.data,
        target=given,
        target_clean=cifar10.target,
        target_names=cifar10.target_names,
        DESCR=description,
    )


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
    root = _folder(data_home)
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


def _folder(data_home):
    return Path(get_data_home() if data_home is None else data_home).expanduser()


def _labels_of_people(root: Path, download_if_missing: bool) -> dict[str, np.ndarray]:
    """Return the arrays of the authors' file by name, downloaded if need be."""
    file = root / CIFAR10N_FILE
    try:
        if download_if_missing and not check_integrity(file, CIFAR10N_MD5):  # a download may have been cut off
            download_url(CIFAR10N_URL, str(root), CIFAR10N_FILE, CIFAR10N_MD5)
        if not check_integrity(file, CIFAR10N_MD5):
            raise OSError("it is damaged" if file.exists() else "it is not there")
        with zipfile.ZipFile(file) as archive:
            arrays = _ArraysOnly(io.BytesIO(archive.read("archive/data.pkl"))).load()
        return {name: array.values for name, array in arrays.items()}
    except Exception as error:  # torchvision and urllib raise many kinds
        advice = "" if download_if_missing else "Set download_if_missing=True to download it, or g"
        raise OSError(
            f"{file} could not be read: {error}. {advice or 'G'}et it from {CIFAR10N_URL} (MD5 {CIFAR10N_MD5}) and put "
            "it there."
        ) from error


class _PickledType:
    """Stands in for the type of a pickled array, which could be changed into one of pointers."""

    def __init__(self, name, *_):
        self.name = name

    def __setstate__(self, state):
        self.byte_order = state[1]


class _PickledArray:
    """Stands in for a pickled array, and reads whole numbers only."""

    def __init__(self, *_):
        pass

    def __setstate__(self, state):
        _, shape, dtype, is_by_column, content = state
        if not (isinstance(dtype, _PickledType) and str(dtype.name)[:1] in ("i", "u") and isinstance(content, bytes)):
            raise pickle.UnpicklingError("it has other values than whole numbers")
        numbers = np.frombuffer(content, np.dtype(dtype.name).newbyteorder(dtype.byte_order))
        self.values = numbers.reshape(shape, order="F" if is_by_column else "C")


class _ArraysOnly(pickle.Unpickler):
    """Reads pickled arrays of whole numbers, and refuses everything else: a pickle could run any code.

    Not even the types of NumPy are let in: what a file does to them can make it read and write any memory.
    """

    def find_class(self, module, name):
        """Return a stand-in for one of the few names that arrays are pickled with."""
        known = {
            "numpy.core.multiarray._reconstruct": _PickledArray,
            "numpy._core.multiarray._reconstruct": _PickledArray,  # as NumPy 2 writes it
            "numpy.ndarray": None,
            "numpy.dtype": _PickledType,
            "_codecs.encode": lambda text, _: text.encode("latin1"),
        }
        if f"{module}.{name}" not in known:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of an array")
        return known[f"{module}.{name}"]


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
