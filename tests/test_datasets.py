import gzip
import pickle
import shutil
import tarfile
import zipfile

import numpy as np
import pytest
import scipy.io
import torchvision
from sklearn.utils import Bunch
from torchvision.datasets.utils import calculate_md5

from sklearn_lec import datasets
from sklearn_lec.datasets import (
    CIFAR100_CLASSES_LIKE_CIFAR10,
    fetch_cifar10,
    fetch_cifar10n,
    fetch_cifar100,
    fetch_fashion_mnist,
    fetch_mnist,
    fetch_svhn,
)


def test_mnist_is_read_from_its_archives_and_the_folder_is_not_changed(shared_data):
    before = sorted((shared_data / "MNIST").rglob("*"))

    mnist = fetch_mnist(shared_data, download_if_missing=False)

    assert sorted((shared_data / "MNIST").rglob("*")) == before
    assert mnist.data.shape == (60_000, 1, 28, 28)
    assert (mnist.data.dtype, mnist.data.min(), mnist.data.max()) == (np.float32, 0, 1)
    assert mnist.target[:5].tolist() == [5, 0, 4, 1, 9]
    assert len(mnist.target_names) == 10
    assert "60000 images" in mnist.DESCR


def test_an_archive_of_cifar10_is_enough_and_the_folder_is_not_changed(tmp_path, monkeypatch):
    images = np.random.RandomState(0).randint(0, 256, size=(4, 3, 32, 32)).astype(np.uint8)
    batches = tmp_path / "cifar-10-batches-py"
    batches.mkdir()
    (batches / "batch").write_bytes(pickle.dumps({"data": images.reshape(4, -1), "labels": [1, 0, 1, 1]}))
    (batches / "meta").write_bytes(pickle.dumps({"label_names": ["cat", "dog"]}))
    archive = tmp_path / "home" / "cifar-10-python.tar.gz"
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(batches, batches.name)
    loader = torchvision.datasets.CIFAR10
    monkeypatch.setattr(loader, "tgz_md5", calculate_md5(archive))
    monkeypatch.setattr(loader, "train_list", [("batch", calculate_md5(batches / "batch"))])
    monkeypatch.setattr(loader, "test_list", [])
    monkeypatch.setattr(
        loader, "meta", {"filename": "meta", "key": "label_names", "md5": calculate_md5(batches / "meta")}
    )

    cifar = fetch_cifar10(archive.parent, download_if_missing=False, dtype="uint8")

    assert np.array_equal(cifar.data, images)
    assert cifar.target.tolist() == [1, 0, 1, 1]
    assert cifar.target_names == ["cat", "dog"]
    assert list(archive.parent.iterdir()) == [archive]


def test_cifar10_is_returned_with_the_channels_first(shared_data):
    X, y = fetch_cifar10(shared_data, subset="test", return_X_y=True, download_if_missing=False, dtype="uint8")

    original = torchvision.datasets.CIFAR10(shared_data, train=False)
    assert (X.shape, X.dtype) == ((10_000, 3, 32, 32), np.uint8)
    assert np.array_equal(X[7].transpose(1, 2, 0), np.asarray(original[7][0]))
    assert y[7] == original[7][1]


@pytest.mark.parametrize(
    ("noise", "share"),
    [("worst", 0.40208), ("aggregate", 0.0901), ("random1", 0.17234), ("random2", 0.18122), ("random3", 0.1764)],
)
def test_labels_that_people_gave_are_those_of_the_images_of_cifar10(shared_data, noise, share):
    people = fetch_cifar10n(shared_data, noise=noise, download_if_missing=False, dtype="uint8")

    cifar10 = torchvision.datasets.CIFAR10(shared_data)
    assert people.target_clean.tolist() == cifar10.targets
    assert (people.target != people.target_clean).mean() == pytest.approx(share)
    assert np.array_equal(people.data[7].transpose(1, 2, 0), cifar10.data[7])
    assert f"{share:.1%} of the labels are wrong" in people.DESCR


@pytest.fixture
def file_of_people(tmp_path, monkeypatch):
    """Write a file in the place of the labels that people gave, and return the folder; `labels` may be anything."""
    monkeypatch.setattr(datasets, "fetch_cifar10", lambda *args, **kwargs: Bunch(data=None, target=np.arange(3)))

    def write(labels):
        file = tmp_path / "CIFAR-10_human.pt"
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps(labels, protocol=2))
        monkeypatch.setattr(datasets, "CIFAR10N_MD5", calculate_md5(file))
        return tmp_path

    return write


class RunsCode:
    def __reduce__(self):
        return print, ("code that was pickled has run",)


def test_code_in_the_file_of_labels_is_not_run(file_of_people, capsys):
    folder = file_of_people({"clean_label": np.arange(3), "worse_label": RunsCode()})

    with pytest.raises(OSError, match="print is not part of an array"):
        fetch_cifar10n(folder)

    assert capsys.readouterr().out == ""


class MadeByNumPy:
    """Pickled as an array that NumPy is to make of bytes: with another type, bytes can be made pointers."""

    def __reduce__(self):
        return np.ndarray, ((1,), np.dtype("V8"), b"AAAAAAAA")


@pytest.mark.parametrize("labels", [np.array([0, "1", 2], dtype=object), np.array([0.0, 1.0, 2.0]), MadeByNumPy()])
def test_arrays_of_other_values_than_whole_numbers_are_refused(file_of_people, labels):
    folder = file_of_people({"clean_label": np.arange(3), "worse_label": labels})

    with pytest.raises(OSError, match=r"other values than whole numbers|not callable"):
        fetch_cifar10n(folder)


def test_labels_of_other_images_are_refused(file_of_people):
    folder = file_of_people({"clean_label": np.arange(3)[::-1].copy(), "worse_label": np.arange(3)})

    with pytest.raises(OSError, match="its right labels are not those of CIFAR-10"):
        fetch_cifar10n(folder)


def test_a_download_of_labels_that_was_cut_off_is_done_again(file_of_people, monkeypatch):
    labels = {name: np.arange(3) for name in ("clean_label", "worse_label")}
    file = file_of_people(labels) / "CIFAR-10_human.pt"
    whole = file.read_bytes()
    file.write_bytes(whole[:20])
    monkeypatch.setattr(datasets, "download_url", lambda *args: file.write_bytes(whole))

    assert fetch_cifar10n(file.parent, return_X_y=True)[1].tolist() == [0, 1, 2]


def test_a_damaged_file_of_labels_is_named(file_of_people, monkeypatch):
    folder = file_of_people({})
    (folder / "CIFAR-10_human.pt").write_bytes(b"not labels")

    with pytest.raises(OSError, match=r"CIFAR-10_human.pt could not be read: it is damaged. Set download_if_missing"):
        fetch_cifar10n(folder, download_if_missing=False)


def test_a_misspelt_noise_is_told_with_the_right_ones():
    with pytest.raises(ValueError, match=r"unknown noise 'worse'; did you mean 'worst'\? noise must be one of"):
        fetch_cifar10n(noise="worse")


def test_the_error_says_where_to_put_a_missing_file(tmp_path):
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
def test_the_error_lists_the_files_of_every_data_set(tmp_path, fetch, file):
    with pytest.raises(OSError, match=f"{file} .MD5 [0-9a-f]{{32}}.") as caught:
        fetch(tmp_path, download_if_missing=False)

    assert "Set download_if_missing=True" in str(caught.value)


def test_the_error_says_that_the_download_failed(tmp_path, monkeypatch):
    def no_network(*args, **kwargs):
        raise OSError("no network")

    monkeypatch.setattr(torchvision.datasets.cifar, "download_and_extract_archive", no_network)

    with pytest.raises(OSError, match=r"(?s)no network.*The download failed too"):
        fetch_cifar10(tmp_path)


def test_the_error_names_a_damaged_file(shared_data, tmp_path):
    shutil.copytree(shared_data / "cifar-10-batches-py", tmp_path / "cifar-10-batches-py")
    damaged = tmp_path / "cifar-10-batches-py" / "data_batch_3"
    damaged.chmod(0o644)
    damaged.write_bytes(b"not an image")

    with pytest.raises(OSError, match=r"Damaged or unreadable, to be replaced: .*data_batch_3"):
        fetch_cifar10(tmp_path, download_if_missing=False)


def test_the_error_names_a_damaged_archive(tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    (raw / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"not an image"))

    with pytest.raises(OSError, match=r"Damaged or unreadable, to be replaced: .*train-images-idx3-ubyte.gz"):
        fetch_mnist(tmp_path, download_if_missing=False)


def test_an_intact_archive_is_preferred_to_unpacked_files_without_checksum(shared_data, tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for archive in (shared_data / "MNIST" / "raw").glob("*.gz"):
        shutil.copy(archive, raw)
        (raw / archive.stem).write_bytes(gzip.decompress(archive.read_bytes())[::-1])

    mnist = fetch_mnist(tmp_path, subset="test", download_if_missing=False)

    assert mnist.target[:5].tolist() == [7, 2, 1, 0, 4]


def test_images_and_labels_of_different_length_are_refused(shared_data, tmp_path):
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for archive in (shared_data / "MNIST" / "raw").glob("*.gz"):
        (raw / archive.stem).write_bytes(gzip.decompress(archive.read_bytes()))
    shutil.copy(raw / "train-labels-idx1-ubyte", raw / "t10k-labels-idx1-ubyte")

    with pytest.raises(OSError, match="there are 10000 images, but 60000 labels"):
        fetch_mnist(tmp_path, subset="test", download_if_missing=False)


def test_svhn_is_read_from_matlab_files(tmp_path, monkeypatch):
    images = np.random.RandomState(0).randint(0, 256, size=(32, 32, 3, 4)).astype(np.uint8)
    scipy.io.savemat(tmp_path / "test_32x32.mat", {"X": images, "y": np.array([[1], [10], [3], [2]])})
    splits = {name: ["", f"{name}_32x32.mat", None] for name in ("train", "test", "extra")}
    monkeypatch.setattr(torchvision.datasets.SVHN, "split_list", splits)

    svhn = fetch_svhn(tmp_path, subset="test", download_if_missing=False)

    assert svhn.target.tolist() == [1, 0, 3, 2]
    assert np.allclose(svhn.data[2], images[..., 2].transpose(2, 0, 1) / 255)


def test_a_tilde_in_data_home_is_expanded(tmp_path, monkeypatch):
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


def test_open_set_noise_can_use_seventy_five_classes_of_cifar100():
    names = [name for group in CIFAR100_CLASSES_LIKE_CIFAR10.values() for name in group]

    assert len(set(names)) == 25
    assert {"pickup_truck", "bus", "wolf", "tiger", "rabbit", "fox"} <= set(names)
    assert not {"apple", "whale", "elephant", "wardrobe"} & set(names)
