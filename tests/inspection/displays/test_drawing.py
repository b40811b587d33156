import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from sklearn_lec import inspection
from sklearn_lec.inspection import (
    CorruptionMatrixDisplay,
    LabelIssuesDisplay,
    LabelQualityDisplay,
    SelectionFlowDisplay,
    TrainingCurvesDisplay,
)
from sklearn_lec.inspection.displays._drawing import Palette
from tests.inspection.displays.test_corruption_matrix import contrast

MAKE = {
    "curves": lambda issues: TrainingCurvesDisplay({"train_loss": [1.0, 0.5], "valid_acc": [0.5, 0.6]}, T_w=1),
    "matrix": lambda issues: CorruptionMatrixDisplay(np.eye(2)),
    "quality": lambda issues: LabelQualityDisplay(issues["label_quality"], issues["is_label_issue"]),
    "images": lambda issues: LabelIssuesDisplay(issues, np.zeros((6, 2, 2))),
    "table": lambda issues: LabelIssuesDisplay(issues, np.eye(6)),
    "flow": lambda issues: SelectionFlowDisplay(np.eye(3)),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_without_matplotlib_the_error_says_what_to_install(make, issues, monkeypatch):
    display = make(issues)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    with pytest.raises(ImportError, match=f"{type(display).__name__}.plot requires matplotlib.*pip install"):
        display.plot()


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_plot_returns_the_display_and_may_be_called_again(make, issues):
    display = make(issues)

    assert display.plot() is display
    first = display.figure_
    assert display.plot().figure_ is not first
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_a_single_axes_is_drawn_into_without_another_figure(make, issues):
    figure, ax = plt.subplots()

    assert make(issues).plot(ax=ax).figure_ is figure
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_nothing_is_drawn_in_the_color_of_the_background(make, issues, style):
    with plt.style.context(style):
        figure = make(issues).plot().figure_
        figure.canvas.draw()

    background = to_rgb(figure.get_facecolor())
    for ax in figure.axes:
        lines = [line.get_color() for line in ax.get_lines()]
        texts = [text.get_color() for text in ax.texts if to_rgb(ax.get_facecolor()) == background and not ax.images]
        for color in lines + texts:
            assert contrast(to_rgb(color), background) > 2.5
    assert plt.rcParams["axes.facecolor"] == "white", "no setting is left behind"


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_the_palette_stands_out_from_the_background(style):
    with plt.style.context(style):
        _, ax = plt.subplots()
        palette = Palette(ax)

    for name in ("right", "wrong", "third", "neutral"):
        assert contrast(to_rgb(getattr(palette, name)), to_rgb(ax.get_facecolor())) > 3


def test_importing_the_package_does_not_import_matplotlib():
    code = "import sys, sklearn_lec.inspection; print('matplotlib' in sys.modules)"

    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout.strip() == "False"


def test_all_displays_are_exported(issues):
    exported = {name for name in inspection.__all__ if name.endswith("Display")}

    assert exported == {type(make(issues)).__name__ for make in MAKE.values()}
