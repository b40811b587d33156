"""Folders of images: which files count, how they are read, and what is said of the others."""

import numpy as np
import pytest
from PIL import Image

from sklearn_lec import LECClassifier
from sklearn_lec._cli.errors import UnusableDataError
from sklearn_lec._cli.images import image_files, read_image, samples_of_folder
from sklearn_lec._cli.network import SmallConv


def test_the_class_of_an_image_is_the_folder_below_the_one_that_is_given(photos):
    (photos / "night" / "2023").mkdir()
    (photos / "night" / "00.png").rename(photos / "night" / "2023" / "00.png")

    files, notes = image_files(photos)

    assert len(files) == 24
    assert (photos / "night" / "2023" / "00.png", "night") in files
    assert notes == []


def test_files_that_do_not_count_are_named(photos):
    (photos / "night" / "notes.txt").write_text("x", encoding="utf-8")
    (photos / "night" / ".DS_Store").write_text("x", encoding="utf-8")
    (photos / ".cache").mkdir()
    (photos / "empty").mkdir()
    (photos / "night" / "00.png").rename(photos / "loose.png")

    files, notes = image_files(photos)

    assert len(files) == 23
    assert notes == [
        "folder 'empty' has no images, and is left out",
        "1 images are left out: they are in photos itself, where they have no class",
        "1 files are left out: they are no images (night/notes.txt, ...)",
    ]


def test_a_folder_without_folders_of_classes_shows_how_it_should_look(photos):
    with pytest.raises(UnusableDataError, match=r"a folder for each class.*cat/1.jpg.*12 images are in .*night itself"):
        image_files(photos / "night")


def test_unreadable_images_are_named_and_left_out(photos):
    (photos / "day" / "01.png").write_bytes(b"no image")
    whole = (photos / "day" / "03.png").read_bytes()
    (photos / "day" / "03.png").write_bytes(whole[: len(whole) // 2])

    samples = samples_of_folder(photos, LECClassifier(), size=8)

    assert "2 images are left out, they cannot be read: day/01.png, day/03.png" in samples.notes
    assert len(samples.X) == len(samples.y) == len(samples.display) == 22
    assert len(samples.names) == 24
    assert samples.names[samples.places[0]] == "day/05.png"


def test_images_have_one_size_and_scale_and_colors_if_any_has(photos):
    Image.new("L", (40, 7), 200).save(photos / "night" / "grey.png")

    X = samples_of_folder(photos, LECClassifier(), size=8).X

    assert X.shape == (25, 3, 8, 8)
    assert X.dtype == np.float32
    assert X.mean() == pytest.approx(0, abs=1e-4)
    assert X.std() == pytest.approx(1, abs=1e-3)


def test_grey_images_have_one_channel_also_if_they_are_saved_in_colors(tmp_path):
    for number in range(12):
        folder = tmp_path / str(number % 2)
        folder.mkdir(exist_ok=True)
        Image.new("RGB", (9, 9), (20 * number,) * 3).save(folder / f"{number}.png")

    assert samples_of_folder(tmp_path, LECClassifier(), size=8).X.shape == (12, 1, 8, 8)


@pytest.mark.parametrize(
    "image, mean",
    [
        (Image.new("RGBA", (9, 9), (0, 0, 0, 0)), 255),
        (Image.new("P", (9, 9), 0), 0),
        (Image.new("1", (9, 9), 1), 255),
        (Image.new("CMYK", (9, 9), (0, 0, 0, 0)), 255),
        (Image.fromarray(np.array([[0, 60000]] * 2, dtype=np.uint16)), 127.5),
        (Image.fromarray(np.array([[0.0, 0.25]] * 2, dtype=np.float32)), 127.5),
    ],
)
def test_every_kind_of_pixel_is_read(tmp_path, image, mean):
    path = tmp_path / "image.tiff"
    image.save(path)

    pixels = read_image(path, size=8)

    assert pixels.shape[:2] == (8, 8)
    assert pixels.mean() == pytest.approx(mean, abs=2)


def test_images_that_were_taken_sideways_are_turned(tmp_path):
    image = Image.fromarray(np.array([[0] * 8, [255] * 8], dtype=np.uint8))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "sideways.png", exif=exif)

    pixels = read_image(tmp_path / "sideways.png", size=2)

    assert pixels[0, 0] > pixels[0, 1]


def test_a_cpu_gets_a_small_network(photos):
    assert samples_of_folder(photos, LECClassifier(device="cpu"), size=32).estimator.module is SmallConv
