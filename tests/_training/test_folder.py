"""The files of checkpoints: whole or not there, one training at a time, and nothing else in the folder is touched."""

import errno
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from sklearn_lec import LECClassifier
from sklearn_lec._training.folder import CheckpointFolder
from tests._training.interruption import power_cut, settings


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_what_is_no_checkpoint_is_left_alone(tmp_path):
    (tmp_path / "epoch-000009.ckpt").mkdir()
    (tmp_path / "epoch-000008.ckpt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "epoch-12.ckpt.bak").write_text("mine")
    (tmp_path / "epoch-best.ckpt").write_text("mine")
    (tmp_path / "epoch-000007.old.tmp").mkdir()
    before = names(tmp_path)
    folder = CheckpointFolder(tmp_path)

    folder.write({"a": 1}, epoch=1)

    assert folder.read() == {"a": 1}
    assert names(tmp_path) == sorted([*before, "epoch-000001.ckpt"])


def test_the_newest_of_more_than_a_million_epochs_is_found(tmp_path):
    folder = CheckpointFolder(tmp_path)

    folder.write({"a": 1}, epoch=999_999)
    folder.write({"a": 2}, epoch=1_000_000)

    assert folder.read() == {"a": 2}


def test_a_planted_link_is_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = CheckpointFolder(tmp_path / "run")
    (tmp_path / "run" / "epoch-000001.ckpt").symlink_to(victim)
    (tmp_path / "run" / f"epoch-000001.{os.getpid()}.tmp").symlink_to(victim)
    (tmp_path / "run" / "epoch-000001.00.tmp").symlink_to(victim)

    with patch("secrets.token_hex", return_value="00"), pytest.raises(FileExistsError, match="cannot be written"):
        folder.write({"a": 1}, epoch=1)
    folder.write({"a": 1}, epoch=1)

    assert victim.read_text() == "precious"
    assert folder.read() == {"a": 1}


def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_the_others(tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.write({"a": 1}, epoch=1)

    with (
        patch("os.fsync", side_effect=OSError(errno.ENOSPC, "No space left on device")),
        pytest.raises(OSError, match=r"epoch-000002.ckpt cannot be written \(No space left.*are still there"),
    ):
        folder.write({"a": 2}, epoch=2)

    assert names(tmp_path) == ["epoch-000001.ckpt"]
    assert folder.read() == {"a": 1}


def test_a_folder_that_is_read_only_is_refused_before_training(table, tmp_path):
    trained = []
    with (
        patch("os.fsync", side_effect=OSError(errno.EROFS, "Read-only file system")),
        patch.object(LECClassifier, "train_step", side_effect=trained.append),
        pytest.raises(OSError, match=r"cannot be written.*Read-only file system"),
    ):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert trained == []


def test_a_finished_run_in_a_folder_that_is_read_only_is_taken_as_it_is(table, tmp_path):
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    with patch.object(CheckpointFolder, "_write_whole", side_effect=OSError(errno.EROFS, "Read-only file system")):
        clf = LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    assert len(clf.history) == 7


@pytest.mark.parametrize("folder", ["", "file", "circle", "x" * 300])
def test_a_folder_that_cannot_be_is_refused_before_training(table, tmp_path, folder):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")

    with pytest.raises((ValueError, OSError), match="checkpoint_dir"):
        LECClassifier(**settings(), checkpoint_dir=folder and tmp_path / folder).fit(*table)


IN_A_PROCESS = """
import sys
from sklearn_lec._training.folder import CheckpointFolder

CheckpointFolder(sys.argv[1]).lock()
"""


def test_another_process_in_the_same_folder_is_refused(tmp_path):
    folder = CheckpointFolder(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}

    def other_process():
        return subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS, str(tmp_path)], env=environment, capture_output=True, text=True
        )

    folder.lock()
    refused = other_process()
    folder.unlock()
    admitted = other_process()

    assert "is in use by another training. Use another folder" in refused.stderr
    assert admitted.returncode == 0, admitted.stderr


def test_another_training_of_the_same_process_is_refused(table, tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.lock()

    with pytest.raises(OSError, match="is in use by another training"):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    folder.unlock()
    LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)


def test_a_training_that_failed_leaves_the_folder_to_the_next(table, tmp_path):
    with power_cut(epoch=2):
        LECClassifier(**settings(), checkpoint_dir=tmp_path).fit(*table)

    CheckpointFolder(tmp_path).lock()


def test_workers_that_outlive_a_killed_training_do_not_hold_its_folder(tmp_path):
    folder = CheckpointFolder(tmp_path)
    folder.lock()
    context = multiprocessing.get_context("fork")
    started, stop = context.Event(), context.Event()

    def live_on():
        started.set()
        stop.wait(60)

    worker = context.Process(target=live_on)
    worker.start()
    started.wait(60)
    folder.unlock()  # as the death of the process does

    CheckpointFolder(tmp_path).lock()

    assert worker.is_alive()
    stop.set()
    worker.join()
