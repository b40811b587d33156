"""What the benchmarks run at each scale, on which data, and what that costs."""

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.cells import Cell, data_parts
from benchmarks.classifiers import share_after_drops
from benchmarks.complexity import flops_per_row, training_passes
from benchmarks.data import NO_CLASS, DataMissingError, _external_images, check_available, noisy_data
from benchmarks.experiments import EXPERIMENTS
from benchmarks.methods import CLEANLAB
from benchmarks.running import cells_of
from benchmarks.scales import SettingsError, check_names, load_scale
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import Conv9

SMOKE, CPU, PAPER = map(load_scale, ("smoke", "cpu", "paper"))


@pytest.mark.parametrize("noise", ["sym-20", "asym-40", "open-20", "semantic-20"])
def test_all_methods_get_the_same_noisy_data(tmp_path, noise):
    def data_of(method, seed):
        cell = Cell("smoke", "digits+uniform" if noise == "open-20" else "digits", noise, method, seed)
        return noisy_data(cell, SMOKE.settings(cell), None, out=tmp_path)

    first, other_seed = data_of("standard", 0), data_of("standard", 1)
    for method in METHODS:
        assert all(np.array_equal(a, b) for a, b in zip(first, data_of(method, 0), strict=True))

    assert first.noise_mask.mean() == int(noise[-2:]) / 100
    assert np.array_equal(first.noise_mask, first.y_noisy != first.y_clean)
    assert np.array_equal(first.noise_mask, other_seed.noise_mask) == (noise == "semantic-20")
    assert (first.fingerprint == other_seed.fingerprint) == (noise == "semantic-20")


def test_labels_of_people_are_those_of_the_images_and_the_same_for_all_seeds(shared_data, tmp_path):
    settings = {"train_rows": 500, "test_rows": 100, "whitening": False}
    cells = [Cell("cpu", "cifar-10", noise, "ltec", seed) for noise in ("clean", "human-worst") for seed in (0, 1)]

    clean, _, people, other_seed = (noisy_data(cell, settings, str(shared_data), out=tmp_path) for cell in cells)

    assert np.array_equal(people.X, clean.X)
    assert np.array_equal(people.y_clean, clean.y_clean)
    assert people.noise_mask.mean() == pytest.approx(cells[2].noise_ratio, abs=0.08)
    assert people.fingerprint == other_seed.fingerprint
    assert cells[2].noise_seed is None


def test_labels_of_people_that_are_not_there_are_told(shared_data, tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_lec.datasets.download_url", lambda *arguments: None)
    (tmp_path / "cifar-10-batches-py").symlink_to(shared_data / "cifar-10-batches-py")
    settings = {"train_rows": 500, "test_rows": 100, "whitening": False}

    with pytest.raises(DataMissingError, match=r"CIFAR-10_human.pt could not be read: it is not there"):
        noisy_data(Cell("cpu", "cifar-10", "human-worst", "ltec", 0), settings, str(tmp_path), out=tmp_path)


def test_imagenet_32_says_what_to_put_where_and_leaves_classes_out(tmp_path, monkeypatch):
    with pytest.raises(DataMissingError, match=r"train_data_batch_1.npz(.|\n)*like_cifar10.txt"):
        check_available("digits+imagenet-32", str(tmp_path))

    folder = tmp_path / "imagenet-32"
    folder.mkdir()
    (folder / "like_cifar10.txt").write_text("2 3\n")
    for number in range(1, 11):
        labels = np.array([1, 2, 3, 4])
        pixels = np.repeat(labels[:, None], 3072, axis=1).astype(np.uint8)
        np.savez(folder / f"train_data_batch_{number}.npz", data=pixels, labels=labels)
    monkeypatch.setattr("benchmarks.data.N_IMAGENET_32", 20)

    images = _external_images("imagenet-32", str(tmp_path))

    assert images.shape == (20, 3, 32, 32)
    assert np.unique(np.rint(images * 255)).tolist() == [1, 4]


def test_damaged_files_of_imagenet_32_are_as_good_as_missing(tmp_path):
    folder = tmp_path / "imagenet-32"
    folder.mkdir()
    for name in ["like_cifar10.txt", *(f"train_data_batch_{number}.npz" for number in range(1, 11))]:
        (folder / name).write_bytes(b"\xff")

    with pytest.raises(DataMissingError, match=r"What is there is damaged: "):
        check_available("digits+imagenet-32", str(tmp_path))


def test_real_data_can_be_loaded(shared_data, tmp_path):
    settings = {"train_rows": 300, "test_rows": 100, "whitening": False}
    cell = Cell("cpu", "mnist+cifar-10", "open-20", "ltec", 0)

    noisy = noisy_data(cell, settings, str(shared_data), out=tmp_path)

    assert noisy.X.shape == (300, 1, 28, 28)
    assert (noisy.y_clean[noisy.noise_mask] == NO_CLASS).all()
    assert noisy.noise_mask.sum() == 60
    assert noisy.X[~noisy.noise_mask].std() != pytest.approx(noisy.X[noisy.noise_mask].std(), rel=0.05)


def test_a_part_of_the_rows_is_a_data_set_of_its_own(tmp_path):
    def settings_of(scale, data):
        return scale.settings(Cell(scale.name, data, "clean", "standard", 0))

    whole, part, with_others = (settings_of(CPU, data) for data in ("mnist", "mnist@10000", "mnist@10000+cifar-10"))
    assert (whole["train_rows"], part["train_rows"]) == (60000, 10000)
    assert part == with_others
    assert {name for name in whole if whole[name] != part[name]} == {"train_rows", "test_rows", "epochs"}
    assert settings_of(CPU, "cifar-10@77") == settings_of(CPU, "cifar-10") | {"train_rows": 77}
    assert SMOKE.settings(Cell("smoke", "digits@60", "sym-20", "ltec", 0, network="resnet20"))["train_rows"] == 60

    cell = Cell("smoke", "digits@60", "sym-20", "ltec", 0)
    noisy = noisy_data(cell, SMOKE.settings(cell), None, out=tmp_path)
    assert (len(noisy.X), noisy.noise_mask.sum()) == (60, 12)


@pytest.mark.parametrize("data", ["mnist@", "mnist@0", "mnist@-5", "mnist+cifar-10@500", "mnist+"])
def test_what_names_no_data_is_refused(data):
    with pytest.raises(ValueError, match="use data, data@rows"):
        data_parts(data)


@pytest.mark.parametrize("scale", [SMOKE, CPU, PAPER], ids=lambda scale: scale.name)
def test_every_entry_of_the_scales_is_used(scale):
    cells = cells_of(list(EXPERIMENTS.values()), scale)
    used = {part for cell in cells for part in (data_parts(cell.data).name, cell.data.partition("+")[0])}

    assert scale.rows.keys() <= EXPERIMENTS.keys()
    assert scale.table.get("data", {}).keys() <= used
    assert scale.table["network"].keys() == {cell.network for cell in cells} - {None}


@pytest.mark.parametrize("data", ["mnist", "cifar-10", "cifar-100"])
def test_the_paper_scale_is_the_setting_of_the_paper(data):
    settings = PAPER.settings(Cell("paper", data, "sym-20", "ltec", 0, 5))

    assert settings == {
        "network": "conv9",
        "network_arguments": {},
        "epochs": 200,
        "T_w": 10,
        "batch_size": 128,
        "lr": 0.001,
        "decay_start": 0.5 if data == "cifar-100" else 0.4,
        "train_rows": 60000 if data == "mnist" else 50000,
        "test_rows": 10000,
        "whitening": data != "mnist",
    }
    assert PAPER.seeds(data) == 4
    assert (PAPER.M("sym-20"), PAPER.M("open-40"), PAPER.M("semantic-20")) == (5, 5, 10)


def test_the_paper_scale_has_the_competing_methods_as_the_paper_tuned_them():
    def settings_of(method, data="cifar-10"):
        return PAPER.settings(Cell("paper", data, "semantic-20", method, 0))

    assert settings_of("co-teaching")["T_k"] == 10
    assert settings_of("d2l")["W"] == 12
    assert settings_of("forward")["percentile"] == 97
    assert settings_of("forward", "cifar-100")["percentile"] == 100
    assert settings_of("standard")["semantic_networks"] == 5


def test_resnet_at_the_paper_scale_has_the_learning_rates_of_the_keras_example():
    settings = PAPER.settings(Cell("paper", "cifar-10", "sym-20", "ltec", 0, 5, network="resnet20"))

    rates = [share_after_drops(epoch, drops=settings["lr_drops"]) for epoch in (0, 80, 81, 121, 161, 181)]

    assert settings["T_w"] == 30
    assert "decay_start" not in settings
    assert rates == pytest.approx([1, 1, 0.1, 0.01, 0.001, 0.0005])


def test_the_paper_scale_has_all_of_the_papers_cells():
    estimates = {cell.eps_factor for cell in cells_of([EXPERIMENTS["table6"]], PAPER)}
    n_cells = {name: len(experiment.cells(PAPER)) for name, experiment in EXPERIMENTS.items()}

    assert estimates == {0.9, 1.0, 1.1}
    assert (n_cells["table1"], n_cells["table2"], n_cells["table3"]) == (4 * 4 * 4, 12 * 6 * 4, 6 * 6 * 4)
    assert not any(cell.method == CLEANLAB for cell in cells_of(list(EXPERIMENTS.values()), PAPER))


def test_settings_that_a_cell_does_not_use_are_not_among_its_settings():
    ltec, cleanlab = (SMOKE.settings(Cell("smoke", "digits", "sym-20", method, 0, 5)) for method in ("ltec", CLEANLAB))

    assert cleanlab.keys() - ltec.keys() == {"cleanlab_folds"}
    assert not {"T_k", "W", "percentile", "semantic_networks", "seeds"} & ltec.keys()


def test_costs_are_counted():
    narrow = Conv9(width=1 / 8)
    weights_of_first_layer = narrow.body[1].weight.numel()

    assert flops_per_row("mlp", "digits", hidden=(32,)) == 2 * (64 * 32 + 32 * 10)
    assert flops_per_row("conv9", "cifar-10", width=1 / 8) > 2 * 32 * 32 * weights_of_first_layer
    assert training_passes("lnec", epochs=200, M=5) == (1000, 1000)
    assert training_passes("ltec-full", epochs=200, warm_up=10, eps=0.2) == pytest.approx(
        (10 + 1.8 * 190, 10 + 0.8 * 190)
    )


def test_list_names_every_experiment_and_its_cost(capsys):
    assert main(["list"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [*EXPERIMENTS, "all"]
    assert "core h" in lines[-1]
    assert "GPU h" in lines[-1]


def test_a_setting_that_no_training_knows_is_refused():
    with pytest.raises(SettingsError, match=r"unknown setting 'epohcs' in scales.toml; did you mean 'epochs'"):
        check_names({"settings": {"lr": 1}, "data": {"mnist": {"epohcs": 3}}}, known={"epochs", "lr"})


@pytest.mark.parametrize("content", [b"[paper", b"\xff"])
def test_scales_that_cannot_be_read_are_told_in_a_line(tmp_path, monkeypatch, capsys, content):
    (tmp_path / "scales.toml").write_bytes(content)
    monkeypatch.setattr("benchmarks.scales.FILE", tmp_path / "scales.toml")
    load_scale.cache_clear()

    assert main(["list"]) == 1

    assert "scales.toml cannot be read: " in capsys.readouterr().err


def test_an_unknown_scale_is_named():
    with pytest.raises(ValueError, match="unknown scale 'papers'; did you mean 'paper'"):
        load_scale("papers")
