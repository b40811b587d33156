"""The figures of a run: what their lines are, and that they can be read."""

import json

import numpy as np
import pytest

from benchmarks import figures
from benchmarks.experiments import EXPERIMENTS
from benchmarks.figures import curves_figure, examples_figure, matrices_figure
from tests.benchmarks.synthetic_records import results_of, synthetic_records


@pytest.fixture
def drawn(monkeypatch):
    """A function that draws a figure of a complete run and returns it instead of writing it."""
    monkeypatch.setattr(figures, "_save", lambda figure, path, **kwargs: figure)
    return lambda name: curves_figure(EXPERIMENTS[name], results_of(synthetic_records("smoke", name)), None)


def legend_of(figure):
    (legend,) = figure.legends
    return {text.get_text(): line.get_color() for text, line in zip(legend.texts, legend.legend_handles, strict=True)}


def test_lines_are_means_over_seeds_in_percent(drawn):
    records = synthetic_records("smoke", "figure3")
    ltec = [r["accuracy"] for r in records if (r["noise"], r["method"]) == ("sym-20", "ltec")]

    (line,) = [line for line in drawn("figure3").axes[0].lines if line.get_label() == "LTEC"]

    np.testing.assert_array_equal(line.get_xdata(), 1 + np.arange(len(ltec[0])))
    np.testing.assert_allclose(line.get_ydata(), 100 * np.mean(ltec, axis=0))


def test_shadows_are_one_standard_deviation_over_seeds(drawn):
    records = synthetic_records("smoke", "figure5")
    recall = 100 * np.array([r["recall"] for r in records if (r["noise"], r["method"]) == ("sym-20", "ltec")])
    low, high = recall.mean(axis=0) - recall.std(axis=0), recall.mean(axis=0) + recall.std(axis=0)

    (outline,) = drawn("figure5").axes[0].collections[0].get_paths()

    np.testing.assert_allclose(outline.get_extents().get_points()[:, 1], [low.min(), high.max()])


def test_small_loss_precision_is_shown_from_the_first_epoch_of_filtering(drawn):
    settings = synthetic_records("smoke", "figure2")[0]["settings"]

    for panel in drawn("figure2").axes:
        assert [line.get_xdata()[0] for line in panel.lines] == [settings["T_w"] + 1] * 2


def test_methods_that_keep_every_row_have_no_precision_of_their_own(drawn):
    assert list(legend_of(drawn("figure4"))) == ["Standard", "Co-teaching", "LTEC", "LTEC-full"]


def test_method_has_one_colour_in_all_figures(drawn):
    legends = [legend_of(drawn(name)) for name in ("figure1", "figure3", "figure5")]

    for method in ("LTEC", "LTEC-full"):
        assert len({legend[method] for legend in legends if method in legend}) == 1
    assert legends[0]["LTEC"] == legend_of(drawn("figureA3"))["M=5"]
    assert all(len(set(legend.values())) == len(legend) for legend in legends)


@pytest.mark.parametrize("name", [name for name, experiment in EXPERIMENTS.items() if not experiment.is_table])
def test_every_figure_is_a_small_picture_that_the_page_shows(smoke_run, name):
    from matplotlib.image import imread

    path = smoke_run / f"{name}-smoke.png"
    height, width, _ = imread(path).shape

    assert f"]({path.name})" in (smoke_run / "README.md").read_text(encoding="utf-8")
    assert width > 500
    assert height > 200
    assert imread(path)[..., :3].std() > 0.05
    assert path.stat().st_size < 150_000


def test_matrices_of_few_classes_have_names_and_numbers(drawn, tmp_path):
    def panel_with(n_classes):
        names, matrix = [f"class {i}" for i in range(n_classes)], 0.8 * np.eye(n_classes) + 0.2 / n_classes
        panel = {"data": "cifar-10", "noise": "sym-20", "class_names": names, "matrix": matrix.tolist()}
        (tmp_path / "panels.json").write_text(json.dumps({"settings": "", "panels": [panel]}))
        return matrices_figure(tmp_path / "panels.json", None).axes[0]

    few, many = panel_with(10), panel_with(100)

    assert [label.get_text() for label in few.get_yticklabels()] == [f"class {i}" for i in range(10)]
    assert few.texts[0].get_text() == "82"
    assert len(few.texts) == 100
    assert not [*many.get_xticks(), *many.get_yticks(), *many.texts]


@pytest.mark.parametrize("channels", [1, 3])
def test_examples_are_shown_in_grey_or_in_colour_with_their_labels(drawn, tmp_path, channels):
    images = np.random.default_rng(0).random((2, 10, channels, 8, 8), dtype=np.float32)
    y_true = np.arange(20).reshape(2, 10) % 2
    y_noisy = np.stack([y_true[0], 1 - y_true[1]])
    np.savez(tmp_path / "a.npz", images=images, y_true=y_true, y_noisy=y_noisy, class_names=["cat", "dog"])

    panels = examples_figure(tmp_path / "a.npz", None).axes

    assert [panel.get_title() for panel in (panels[1], panels[10])] == ["dog", "dog\n(is cat)"]
    np.testing.assert_array_equal(
        panels[10].images[0].get_array().reshape(8, 8, channels), images[1, 0].transpose(1, 2, 0)
    )


def test_panel_without_finished_cells_says_so(drawn):
    records = [record for record in synthetic_records("smoke", "figure5") if record["noise"] == "sym-20"]

    figure = curves_figure(EXPERIMENTS["figure5"], results_of(records), None)

    assert [[text.get_text() for text in panel.texts] for panel in figure.axes] == [[], *[["not run"]] * 3]


def test_figure_depends_on_no_order_and_does_without_missing_lines(tmp_path):
    records = [record for record in synthetic_records("smoke", "figure3") if record["method"] == "ltec"]
    figure3 = EXPERIMENTS["figure3"]

    first = curves_figure(figure3, results_of(records), tmp_path / "a.png")
    second = curves_figure(figure3, results_of(records[::-1]), tmp_path / "b.png")

    assert first.read_bytes() == second.read_bytes()
