import gzip
import shutil

import numpy as np
import pytest
import scipy.io
import torchvision

from sklearn_lec import datasets
from sklearn_lec.datasets import (
    CIFAR100_CLASSES_LIKE_CIFAR10,
    fetch_cifar10,
    fetch_cifar100,
    fetch_fashion_mnist,
    fetch_mnist,
    fetch_svhn,
)


def test_mnist_is_read_from_its_archives_without_a_download(shared_data):
    mnist = fetch_mnist(shared_data, download_if_missing=False)

    assert mnist.data.shape == (60_000, 1, 28, 28)
    assert (mnist.data.dtype, mnist.data.min(), mnist.data.max()) == (np.float32, 0, 1)
    assert mnist.target[:5].tolist() == [5, 0, 4, 1, 9]
    assert len(mnist.target_names) == 10
    assert "60000 images" in mnist.DESCR


def test_cifar10_is_read_channels_first(shared_data):
    X, y = fetch_cifar10(shared_data, subset="test", return_X_y=True, download_if_missing=False, dtype="uint8")

    original = torchvision.datasets.CIFAR10(shared_data, train=False)
    assert (X.shape, X.dtype) == ((10_000, 3, 32, 32), np.uint8)
    assert np.array_equal(X[7].transpose(1, 2, 0), np.asarray(original[7][0]))
    assert y[7] == original[7][1]


def test_a_missing_file_is_named_with_the_place_where_it_belongs(tmp_path):
    with pytest.raises(OSError, match=rf"(?s)put these files there by hand.*{tmp_path}/MNIST/raw/train-images-idx3"):
        fetch_mnist(tmp_path, download_if_missing=False)


@pytest.mark.parametrize(
    ("fetch", "file"),
    [
        (fetch_fashion_mnist, "FashionMNIST/raw/t10k-labels-idx1-ubyte.gz"),
        (fetch_cifar10, "cifar-10-python.tar.gz"),
        (fetch_cifar100, "cifar-100-python.tar.gz"),
        (fetch_svhn, "train_32x32.mat"),
    ],
)
def test_every_data_set_says_what_to_put_where(tmp_path, fetch, file):
    with pytest.raises(OSError, match=f"{file} .MD5 [0-9a-f]{{32}}.") as caught:
        fetch(tmp_path, download_if_missing=False)

    assert "Set download_if_missing=True" in str(caught.value)


def test_a_failed_download_says_so(tmp_path, monkeypatch):
    def no_network(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(torchvision.datasets.cifar, "download_and_extract_archive", no_network)

    with pytest.raises(OSError, match=r"(?s)no network.*The download failed too"):
        fetch_cifar10(tmp_path)


def test_a_damaged_file_is_named(shared_data, tmp_path):
    shutil.copytree(shared_data / "cifar-10-batches-py", tmp_path / "cifar-10-batches-py")
    damaged = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    damaged.chmod(0o644)
    damaged.write_bytes(b"not an image")

    with pytest.raises(OSError, match=r"Damaged or unreadable, to be replaced: .*data_batch_3"):
        fetch_cifar10(tmp_path, download_if_missing=False)


def test_a_damaged_archive_is_named(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"not an image"))

    with pytest.raises(OSError, match=r"Damaged or unreadable, to be replaced: .*train-images-idx3-ubyte.gz"):
        fetch_mnist(tmp_path, download_if_missing=False)


def test_a_damaged_unpacked_file_does_not_count_when_there_is_an_archive(shared_data, tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for archive in (shared_data / "MNIST" / "raw").glob("*.gz"):
        shutil.copy(archive, raw)
        (raw / archive.stem).write_bytes(gzip.decompress(archive.read_bytes())[::-1])

    mnist = fetch_mnist(tmp_path, subset="test", download_if_missing=False)

    assert mnist.target[:5].tolist() == [7, 2, 1, 0, 4]


def test_files_that_do_not_belong_together_are_refused(shared_data, tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for archive in (shared_data / "MNIST" / "raw").glob("*.gz"):
        (raw / archive.stem).write_bytes(gzip.decompress(archive.read_bytes()))
    shutil.copy(raw / "train-labels-idx1-ubyte", raw / "t10k-labels-idx1-ubyte")

    with pytest.raises(OSError, match="expected 10000 images and labels, found 10000 and 60000"):
        fetch_mnist(tmp_path, subset="test", download_if_missing=False)


def test_svhn_is_read_from_its_matlab_files(tmp_path, monkeypatch):
    images = np.random.RandomState(0).randint(0, 256, size=(32, 32, 3, 4)).astype(np.uint8)
    scipy.io.savemat(tmp_path / "test_32x32.mat", {"X": images, "y": np.array([[1], [10], [3], [2]])})
    splits = {name: ["", f"{name}_32x32.mat", None] for name in ("train", "test", "extra")}
    monkeypatch.setattr(torchvision.datasets.SVHN, "split_list", splits)
    monkeypatch.setitem(datasets._N_ROWS["SVHN"], "test", 4)

    svhn = fetch_svhn(tmp_path, subset="test", download_if_missing=False)

    assert svhn.target.tolist() == [1, 0, 3, 2]
    assert np.allclose(svhn.data[2], images[..., 2].transpose(2, 0, 1) / 255)


def test_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(OSError, match=f"{tmp_path}/pictures/cifar-10-python.tar.gz"):
        fetch_cifar10("~/pictures", download_if_missing=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"subset": "valid"}, "subset must be 'train' or 'test', got 'valid'"), ({"dtype": "int8"}, "dtype must be")],
)
def test_bad_arguments_are_refused(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        fetch_mnist(tmp_path, **arguments)


def test_seventy_five_classes_of_cifar100_are_left_for_open_set_noise():
    names = [name for group in CIFAR100_CLASSES_LIKE_CIFAR10.values() for name in group]

    assert len(set(names)) == 25
    assert {"pickup_truck", "bus", "wolf", "tiger", "rabbit", "fox"} <= set(names)
    assert not {"apple", "whale", "elephant", "wardrobe"} & set(names)
