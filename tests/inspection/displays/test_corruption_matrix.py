import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from sklearn.datasets import make_blobs

from sklearn_lec import LECClassifier
from sklearn_lec.inspection import CorruptionMatrixDisplay
from tests.helpers import TinyNet, without

MATRIX = np.array([[0.7, 0.3, 0.0], [0.0, 0.9, 0.1], [0.05, 0.0, 0.95]])


def texts(display):
    return [[text.get_text() for text in row] for row in display.text_]


def test_the_colors_are_about_wrong_labels_and_the_values_about_all():
    display = CorruptionMatrixDisplay(MATRIX, display_labels=["ant", "bee", "cow"]).plot()

    image = display.im_.get_array()
    assert np.array_equal(image.mask, np.eye(3, dtype=bool))
    assert np.array_equal(image.filled(0), MATRIX * (1 - np.eye(3)))
    assert display.im_.get_clim() == (0, 0.3)
    assert texts(display) == [["0.70", "0.30", ""], ["", "0.90", "0.10"], ["0.05", "", "0.95"]]
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["ant", "bee", "cow"]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["ant", "bee", "cow"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Given label", "True label")


def test_the_user_decides_how_it_looks():
    display = CorruptionMatrixDisplay(MATRIX).plot(
        values_format=".1%",
        cmap="viridis",
        xticks_rotation=45,
        colorbar=False,
        im_kw={"vmax": 1},
        text_kw={"size": 5, "color": "C3"},
    )

    assert texts(display)[0] == ["70.0%", "30.0%", "0.0%"]
    assert {(text.get_fontsize(), text.get_color()) for text in display.text_.ravel()} == {(5, "C3")}
    assert (display.im_.get_cmap().name, display.im_.get_clim()) == ("viridis", (0, 1))
    assert {tick.get_rotation() for tick in display.ax_.get_xticklabels()} == {45}
    assert display.figure_.axes == [display.ax_]
    assert CorruptionMatrixDisplay(MATRIX).plot(include_values=False).text_ is None


def test_labels_are_counted_where_the_right_ones_are_known():
    y_true, y_given = ["b", "b", "b", "a"], ["b", "a", "a", "a"]

    shares = CorruptionMatrixDisplay.from_predictions(y_true, y_given)
    counts = CorruptionMatrixDisplay.from_predictions(y_true, y_given, normalize=None, labels=["b", "a"])

    assert shares.corruption_matrix == pytest.approx(np.array([[1, 0], [2 / 3, 1 / 3]]))
    assert texts(counts) == [["1", "2"], ["", "1"]]
    assert counts.figure_.axes[1].get_ylabel() == "Wrong labels (number of samples)"


def test_a_matrix_without_noise_is_not_colored():
    display = CorruptionMatrixDisplay(np.eye(3)).plot()

    assert display.im_.get_clim() == (0, 0.01)
    assert (display.im_.to_rgba(display.im_.get_array().filled(0))[..., 3] == 0).all()


@pytest.mark.parametrize(("n_classes", "shown"), [(1, "1.00"), (2, "0.50"), (12, "0.50"), (20, ".50")])
def test_values_fit_into_their_cells(n_classes, shown):
    matrix = np.eye(n_classes) * 0.5
    matrix[np.arange(n_classes), np.arange(n_classes) - 1] += 0.5

    display = CorruptionMatrixDisplay(matrix).plot()

    figure = display.figure_
    figure.draw_without_rendering()
    width = np.diff(display.ax_.transData.transform([[0, 0], [1, 0]])[:, 0])[0]
    assert display.text_[0, 0].get_text() == shown
    assert display.text_[0, 0].get_window_extent().width < width


def test_of_100_classes_those_are_named_that_are_confused_most():
    matrix = np.full((100, 100), 0.001)
    matrix[[5, 50, 51], [70, 20, 21]] = 0.2, 0.3, 0.1

    display = CorruptionMatrixDisplay(matrix, display_labels=[f"class {k}" for k in range(100)]).plot()

    rows, columns = (
        [tick.get_text() for tick in axis.get_ticklabels()] for axis in (display.ax_.yaxis, display.ax_.xaxis)
    )
    assert display.text_ is None
    assert {"class 5", "class 50"} <= set(rows)
    assert "class 51" not in rows, "there is no room for it beside class 50"
    assert {"class 70", "class 20"} <= set(columns)
    assert max(len(rows), len(columns)) <= 30


def test_names_are_upright_where_there_is_no_room_for_them_side_by_side():
    short = CorruptionMatrixDisplay(MATRIX, display_labels=["a", "b", "c"]).plot()
    long = CorruptionMatrixDisplay(MATRIX, display_labels=["a rather long name for a class"] * 3).plot()

    assert short.ax_.get_xticklabels()[0].get_rotation() == 0
    assert long.ax_.get_xticklabels()[0].get_rotation() == 90
    assert len(long.ax_.get_xticklabels()[0].get_text()) == 18


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("cmap", [None, "viridis"])
@pytest.mark.parametrize("axes", [{}, {"axes.facecolor": "none"}], ids=["opaque", "transparent"])
def test_values_can_be_read_on_any_background(style, cmap, axes):
    steps = np.linspace(0, 0.3, 6)
    matrix = np.eye(6) / 2 + np.roll(steps[:, None] * np.eye(6), 1, axis=1)

    with plt.style.context([style, axes]):
        display = CorruptionMatrixDisplay(matrix).plot(cmap=cmap)
        background = np.array(to_rgba(display.figure_.get_facecolor()))[:3]

    for (row, column), text in np.ndenumerate(display.text_):
        color = np.array(display.im_.to_rgba(matrix[row, column])) if row != column else np.zeros(4)
        behind = color[3] * color[:3] + (1 - color[3]) * background
        assert contrast(to_rgba(text.get_color())[:3], behind) > 4


def contrast(one, other):
    """Return the ratio of contrast that the Web Content Accessibility Guidelines define."""
    bright, dim = sorted((luminance(np.asarray(color)) for color in (one, other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(rgb):
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def test_an_estimator_shows_what_it_has_estimated():
    X, y = make_blobs(200, centers=[[-3, 0], [3, 0]], random_state=0)
    y = np.array(["no", "yes"])[y]
    y[:20] = "yes"
    clf = LECClassifier(max_epochs=12, verbose=0, random_state=0, device="cpu").fit(X, y)

    display = CorruptionMatrixDisplay.from_estimator(clf, values_format=".3f")

    matrix = clf.noise_estimate_.corruption_matrix
    assert np.array_equal(display.corruption_matrix, matrix)
    assert texts(display)[0][1] == f"{matrix[0, 1]:.3f}"
    assert display.ax_.get_ylabel() == "True label (estimated)"
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["no", "yes"]


def test_forward_shows_the_matrix_in_use(table, quick):
    settings = without(quick, "eps", "M", "T_w")
    clf = LECClassifier(TinyNet, method="forward", corruption_matrix=MATRIX, **settings).fit(*table)

    assert CorruptionMatrixDisplay.from_estimator(clf).corruption_matrix == pytest.approx(MATRIX)


def test_an_estimator_without_a_matrix_says_how_to_get_one(table, quick):
    clf = LECClassifier(TinyNet, **quick).fit(*table)

    with pytest.raises(AttributeError, match="Call fit with eps='auto'"):
        CorruptionMatrixDisplay.from_estimator(clf)
