"""Files are there whole or not at all, and nothing that lies in the way is followed or harmed."""

import os
from unittest.mock import patch

import pytest

from benchmarks.files import FolderInUseError, open_plain, sole_use, taking_part, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    file = tmp_path / "new" / "page.md"

    write_whole(file, b"first")
    write_whole(file, b"second")

    assert file.read_bytes() == b"second"
    assert list(file.parent.iterdir()) == [file]


def test_a_link_is_replaced_and_not_written_through(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "page.md").symlink_to("precious")

    write_whole(tmp_path / "page.md", b"page")

    assert (tmp_path / "precious").read_bytes() == b"precious"
    assert not (tmp_path / "page.md").is_symlink()


def test_a_link_that_was_planted_under_the_temporary_name_is_not_followed(tmp_path):
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "page.md.guessed.tmp").symlink_to("precious")

    with (
        patch("benchmarks.files.secrets.token_hex", return_value="guessed"),
        pytest.raises(OSError, match=r"page.md cannot be written \(File exists\)"),
    ):
        write_whole(tmp_path / "page.md", b"page")

    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_temporary_names_cannot_be_foreseen(tmp_path):
    names = []
    with patch("pathlib.Path.replace", lambda source, target: names.append(source.name)):
        for _ in range(2):
            write_whole(tmp_path / "page.md", b"page")

    assert len(set(names)) == 2
    assert not [name for name in names if str(os.getpid()) == name.split(".")[-2]]


def test_a_failure_leaves_what_was_there_and_nothing_else(tmp_path):
    file = tmp_path / "page.md"
    file.write_bytes(b"before")

    with (
        patch("benchmarks.files.os.fsync", side_effect=OSError(28, "No space left on device")),
        pytest.raises(OSError, match=r"page.md cannot be written \(No space left on device\)"),
    ):
        write_whole(file, b"after")

    assert file.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path):
    (tmp_path / "page.md").mkdir()

    with pytest.raises(OSError, match=r"page.md cannot be written \(Is a directory\)"):
        write_whole(tmp_path / "page.md", b"page")

    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


@pytest.mark.parametrize("use", [sole_use, taking_part])
def test_a_lock_that_is_a_link_is_not_followed(tmp_path, use):
    (tmp_path / ".lock").symlink_to("elsewhere")

    with pytest.raises(OSError, match=r"\.lock is a link to elsewhere"), use(tmp_path):
        pass

    assert not (tmp_path / "elsewhere").exists()


def test_a_link_that_comes_between_the_check_and_the_opening_is_not_followed(tmp_path):
    (tmp_path / "precious").touch()
    (tmp_path / "link").symlink_to("precious")

    with (
        patch("pathlib.Path.lstat", (tmp_path / "precious").stat),
        pytest.raises(OSError, match="symbolic links"),
    ):
        open_plain(tmp_path / "link", "ab")


def test_two_runs_in_one_folder_do_not_mix(tmp_path, capsys):
    with (
        sole_use(tmp_path),
        pytest.raises(FolderInUseError, match="use another --out"),
        sole_use(tmp_path, patience=0.1),
    ):
        pass
    assert capsys.readouterr().err.count("Waiting for another run") == 1
