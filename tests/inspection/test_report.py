"""report: what is on the page, for which data; what people do with it is in test_report_in_browser."""

import base64
import io
import json
import re
import sys
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.utils.data import TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.inspection import report
from sklearn_lec.inspection.report.images import LARGEST_SIZE, array_images, image_sheets
from tests.helpers import TinyNet
from tests.inspection.issues import HOSTILE_LABELS, made_up_issues

N = 60
ISSUES = made_up_issues(["cat", "dog", "cow"])


class Parts(HTMLParser):
    """The elements of a page, with their attributes and texts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def page(tmp_path):
    """Write a page, and return what its script is given."""

    def write(X=None, *, clf=None, issues=ISSUES, **arguments):
        page.html = report(clf, X, tmp_path / "report.html", issues=issues, **arguments).read_text(encoding="utf-8")
        data = json.loads(re.search(r'id="data">(.*?)</script>', page.html, re.DOTALL)[1])
        data["sheets"] = re.findall(r'id="sheet-\d+">(.*?)</script>', page.html)
        return SimpleNamespace(**data, html=page.html)

    return write


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(N, 4)).astype(np.float32), rng.permutation(ISSUES["given_label"].to_numpy(str))
    settings = {"eps": 0.2, "T_w": 2, "max_epochs": 4, "random_state": 0, "verbose": 0}
    return LECClassifier(TinyNet, **settings).fit(X, y), X


# --- the file ---------------------------------------------------------------------------------------------------------


def test_the_page_refers_to_nothing_outside_of_it(page):
    html = page(np.zeros((N, 8, 8))).html
    elements = Parts(html).elements

    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in elements}
    assert not [
        attributes for _, attributes in elements if {"src", "href", "srcset", "style", "onclick"} & set(attributes)
    ]
    assert "//" not in re.sub(r"// .*", "", html.partition("<body>")[0])
    assert "default-src 'none'" in html
    assert "unsafe" not in html


def test_texts_of_the_user_end_no_element(page):
    title = "</title><script>alert(1)</script>"
    X = pd.DataFrame(dict.fromkeys(HOSTILE_LABELS, HOSTILE_LABELS * 5))
    parts = Parts(page(X, issues=made_up_issues(HOSTILE_LABELS), title=title).html)

    plain = Parts(page(X.set_axis(range(12), axis=1)).html)

    assert [tag for tag, _ in parts.elements].count("script") == [tag for tag, _ in plain.elements].count("script") == 2
    assert "img" not in [tag for tag, _ in parts.elements]
    assert title in parts.text
    assert all(label.replace("\n", "") in parts.text.replace("\n", "") for label in HOSTILE_LABELS)


def test_labels_and_values_that_are_no_valid_text_can_be_written(page):
    data = page(display=["\ud800 alone", "nul \0"] * 30, issues=made_up_issues(["\udfff", "\0"]))

    assert {entry["text"] for entry in data.classes} == {"\udfff", "\0"}
    assert data.content["texts"][0] in ("\ud800 alone", "nul \0")


def test_the_file_replaces_one_that_is_there_and_its_path_is_returned(tmp_path):
    (tmp_path / "report.html").write_text("old")

    path = report(None, None, str(tmp_path / "report.html"), issues=ISSUES)

    assert path == tmp_path / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("mode", [0, 1])
def test_texts_stand_out_from_their_background(page, mode):
    blocks = re.findall(r":root \{(.*?)\}", page().html, re.DOTALL)
    colors = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[mode]))

    def luminance(name):
        channels = np.array([int(colors[name][k : k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(channels <= 0.03928, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    def contrast(one, other):
        low, high = sorted([luminance(one), luminance(other)])
        return (high + 0.05) / (low + 0.05)

    for name in ("text", "soft", "keep", "change", "drop"):
        assert min(contrast(name, back) for back in ("back", "card", "hover", "picked")) >= 4.5, name
    assert contrast("on-accent", "accent") >= 4.5


# --- samples ----------------------------------------------------------------------------------------------------------


def test_the_most_suspect_samples_are_on_the_page_suspects_first(page):
    data = page(max_samples=25)

    assert data.samples["number"] == [*range(0, N, 3), 1, 2, 4, 5, 7]
    assert data.n_samples == N
    assert "the 25 most suspect samples" in data.html


def test_labels_are_told_by_their_numbers_and_missing_suggestions_by_none(page):
    data = page()
    texts = [entry["text"] for entry in data.classes]

    order = data.samples["number"]
    suggested = ISSUES["suggested_label"][order]
    assert [texts[code] for code in data.samples["given"]] == ISSUES["given_label"][order].tolist()
    assert [code == -1 for code in data.samples["suggested"]] == suggested.isna().tolist()
    assert [texts[code] for code in data.samples["suggested"] if code >= 0] == suggested.dropna().tolist()


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_numbers_as_labels_and_any_kind_of_missing_value(page, missing):
    issues = made_up_issues([1, 2, 10])
    issues["suggested_label"] = [missing if label is None else label for label in issues["suggested_label"]]
    issues.loc[59, ["predicted_label", "predicted_probability", "clean_score"]] = [missing, np.nan, np.nan]

    data = page(issues=issues)

    assert [entry["text"] for entry in data.classes] == ["1", "2", "10"]
    place = data.samples["number"].index(59)
    assert [data.samples[name][place] for name in ("suggested", "predicted", "probability", "clean")] == [
        -1,
        -1,
        None,
        None,
    ]


def test_samples_are_called_by_their_index_if_it_has_names(page):
    names = [f"patient {k}" for k in range(N)]

    assert page().samples["name"] is None
    assert page(issues=ISSUES.set_axis(names)).samples["name"][:2] == ["patient 0", "patient 3"]


def test_decisions_are_kept_for_the_same_data_and_not_for_others(page):
    X, other = np.zeros((N, 2)), np.ones((N, 2))
    better = ISSUES.assign(label_quality=ISSUES["label_quality"][::-1].to_numpy(), is_label_issue=False)

    assert page(X).digest == page(X.copy(), issues=better, max_samples=10).digest
    assert len({page(X).digest, page(other).digest, page(X, issues=made_up_issues(["a", "b", "c"])).digest}) == 3


# --- what is shown of a sample ----------------------------------------------------------------------------------------


def pixels_on(data, place):
    """Return the thumbnail of a place in the list, as it is on the page."""
    sheet = Image.open(io.BytesIO(base64.b64decode(data.sheets[place // 100])))
    row, column = divmod(place % 100, data.content["across"])
    left, top = column * data.content["cell_width"], row * data.content["cell_height"]
    return np.asarray(sheet.crop((left, top, left + data.content["width"], top + data.content["height"])))


IMAGES = np.random.RandomState(0).randint(0, 256, (N, 3, 4, 5)).astype(np.uint8)


@pytest.mark.parametrize(
    ("X", "arguments", "expected"),
    [
        (IMAGES, {}, np.moveaxis(IMAGES, 1, -1)),
        (np.moveaxis(IMAGES, 1, -1), {}, np.moveaxis(IMAGES, 1, -1)),
        (torch.from_numpy(IMAGES), {}, np.moveaxis(IMAGES, 1, -1)),
        (IMAGES / 255, {}, np.moveaxis(IMAGES, 1, -1)),
        (IMAGES[:, 0], {}, IMAGES[:, 0]),
        (IMAGES[:, :1], {}, IMAGES[:, 0]),
        (IMAGES[:, 0] > 127, {}, 255 * (IMAGES[:, 0] > 127)),
        (IMAGES.reshape(N, -1), {"image_shape": (3, 4, 5)}, np.moveaxis(IMAGES, 1, -1)),
        (pd.DataFrame(IMAGES[:, 0].reshape(N, -1)), {"image_shape": (4, 5)}, IMAGES[:, 0]),
        (TensorDataset(torch.from_numpy(IMAGES), torch.zeros(N)), {}, np.moveaxis(IMAGES, 1, -1)),
        ([Image.fromarray(np.moveaxis(image, 0, -1)) for image in IMAGES], {}, np.moveaxis(IMAGES, 1, -1)),
        (np.zeros((N, 2)), {"display": IMAGES}, np.moveaxis(IMAGES, 1, -1)),
    ],
    ids=[
        "NCHW",
        "NHWC",
        "tensor",
        "shares",
        "NHW",
        "one channel",
        "bool",
        "flat",
        "frame",
        "Dataset",
        "Pillow",
        "display",
    ],
)
def test_images_of_any_layout_are_shown(page, X, arguments, expected):
    data = page(X, **arguments)

    for place, number in enumerate(data.samples["number"][:5]):
        assert np.array_equal(pixels_on(data, place), expected[number])


def test_files_of_images_are_shown_smaller_and_with_their_proportions(page, tmp_path):
    (tmp_path / "images").mkdir()
    paths = [tmp_path / "images" / f"{k}.png" for k in range(N)]
    for path in paths:
        Image.new("RGB", (400, 200), (200, 10, 10)).save(path)

    data = page(display=paths)

    assert (data.content["width"], data.content["height"]) == (96, 48)
    assert pixels_on(data, 0)[24, 48].tolist() == [200, 10, 10]


def test_floats_are_stretched_from_the_smallest_to_the_largest_and_what_is_not_finite_is_black():
    images = np.array([[[-2.0, 2.0], [np.nan, 0.0]]])

    assert array_images(images)([0])[0, :, :, 0].tolist() == [[0, 255], [0, 128]]


def test_thumbnails_stay_within_their_size_even_if_they_are_nothing_but_noise():
    noise = np.random.RandomState(0).randint(0, 256, (499, 3, 32, 32)).astype(np.uint8)
    pixels = array_images(noise)

    sheets = image_sheets(lambda positions: pixels(np.asarray(positions) % 499), 10_000, (32, 32))

    assert 0.3 * LARGEST_SIZE < sum(len(sheet) for sheet in sheets["sheets"]) * 3 / 4 < 1.1 * LARGEST_SIZE
    assert len(sheets["sheets"]) == 100


@pytest.mark.parametrize("image_shape", [(8, 8), (12,), (3, 2, 2, 1)])
def test_an_image_shape_that_does_not_fit_is_refused(page, image_shape):
    with pytest.raises(ValueError, match=r"image_shape=.* does not fit samples of 12 values"):
        page(np.zeros((N, 12)), image_shape=image_shape)


def test_values_of_a_table_that_stand_out_come_first(page):
    X = pd.DataFrame({"height": np.arange(N) % 7.0, "weight": np.arange(N) % 5.0, "color": ["red"] * N})
    X.loc[9, "weight"], X.loc[9, "color"] = 1000.0, "blue"
    X.loc[12, "height"] = np.nan

    data = page(X)
    shown = dict(zip(data.samples["number"], data.content["values"], strict=True))
    names = data.content["names"]

    assert [(names[entry[0]], entry[1]) for entry in shown[9]][:2] == [("weight", "1000"), ("color", "blue")]
    assert shown[9][1][2].startswith("red (9")
    assert "missing" in [entry[1] for entry in shown[12]]
    assert re.fullmatch(r"[\d.]+ to [\d.]+", shown[9][0][2])


def test_of_a_wide_table_only_the_most_unusual_values_are_on_the_page(page):
    X = np.random.RandomState(0).normal(size=(N, 300))
    X[3, 123] = 50

    data = page(X)

    assert data.content["names"] is None
    assert {len(values) for values in data.content["values"]} == {10}
    assert data.content["values"][data.samples["number"].index(3)][0][0] == 123


def test_of_a_sparse_matrix_the_largest_entries_are_shown(page):
    X = csr_matrix(np.eye(N, 70) * 2 + np.eye(N, 70, k=1))

    assert [entry[:2] for entry in page(X).content["values"][1]] == [[3, "2"], [4, "1"]]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda texts: pd.Series(texts, index=range(5, N + 5))])
def test_texts_are_shown_long_ones_without_their_end(page, kind):
    texts = ["x" * 5000] + [f"text {k}" for k in range(1, N)]

    data = page(display=kind(texts))

    assert data.content["texts"][1] == "text 3"
    assert len(data.content["texts"][0]) == 1000
    assert data.content["texts"][0].endswith("x…")


@pytest.mark.parametrize("X", [None, {"a": np.zeros(N)}])
def test_a_page_without_anything_to_show_of_the_samples_has_their_labels(page, X):
    assert page(X).content == {"kind": "none"}


# --- what is said about the whole -------------------------------------------------------------------------------------


def test_the_overview_has_figures_curves_and_settings_of_the_training(page, fitted):
    clf, X = fitted
    html = page(X, clf=clf).html

    assert "20 suspect labels" in html
    assert "20 (33.3 %)" in html
    assert html.count("<polyline") == 2
    assert 'aria-label="Loss over 4 epochs; at the end: training' in html
    assert "warm-up" in html
    assert all(f'<bdi class="label">{value}</bdi>' in html for value in ("LECClassifier", "TinyNet", "0.2", "4"))


def test_an_estimated_share_of_wrong_labels_is_told_with_its_interval(page, fitted):
    from sklearn_lec.estimation.noise_estimate import NoiseEstimate

    y = np.arange(N) % 3
    estimate = NoiseEstimate.from_predictions(y, np.eye(3)[y] * 0.8 + 0.1 * (1 - np.eye(3)[y]), classes=np.arange(3))
    clf = SimpleNamespace(noise_estimate_=estimate, get_params=lambda deep: {})

    html = page(clf=clf).html

    assert re.search(r"estimated share of wrong labels</dt><dd>[\d.]+ % \(90 % interval: [\d.]+ to [\d.]+ %\)", html)
    assert "how many are given each label" in html


def test_a_pipeline_is_looked_through(page, fitted):
    clf, X = fitted
    pipeline = make_pipeline(StandardScaler().fit(X), clf)

    assert page(X, clf=pipeline).html.count("<polyline") == 2


def test_another_classifier_has_no_curves(page):
    html = page(np.zeros((N, 2)), clf=LogisticRegression(C=0.5)).html

    assert "<polyline" not in html
    assert "LogisticRegression" in html


def test_classes_and_pairs_are_in_tables(page):
    text = Parts(page().html).text

    assert "How many labels are probably wrong, class by class" in text
    assert "Classes that are taken for one another" in text


# --- what is asked for ------------------------------------------------------------------------------------------------


def test_without_a_table_of_issues_they_are_found(page, monkeypatch):
    calls = []

    def find_label_issues(*arguments):
        calls.append(arguments)
        return ISSUES

    module = SimpleNamespace(find_label_issues=find_label_issues)
    monkeypatch.setitem(sys.modules, "sklearn_lec.inspection.label_issues", module)
    X, clf = np.zeros((N, 2)), LogisticRegression()

    page(X, clf=clf, issues=None, y=ISSUES["given_label"])

    assert len(calls) == 1
    assert calls[0][:2] == (clf, X)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"issues": None}, TypeError, "needs a fitted classifier, or issues="),
        ({"issues": ISSUES.to_numpy()}, TypeError, "issues must be the DataFrame that find_label_issues returns"),
        ({"issues": ISSUES.rename(columns={"label_quality": "quality"})}, ValueError, "has no column label_quality"),
        ({"issues": ISSUES[:0]}, ValueError, "issues has no line"),
        ({"y": ["cat"] * N}, ValueError, "issues is not about these labels"),
        ({"y": ["cat"]}, ValueError, "issues is not about these labels"),
        ({"X": np.zeros((3, 2))}, ValueError, "there are 60 labels, but 3 samples to show"),
        ({"display": ["text"]}, ValueError, "there are 60 labels, but 1 samples to show"),
        ({"max_samples": 0}, ValueError, "max_samples must be a whole number of at least 1, got 0"),
        ({"max_samples": "all"}, ValueError, "max_samples must be a whole number of at least 1, got 'all'"),
    ],
)
def test_what_does_not_fit_is_refused(page, arguments, error, message):
    with pytest.raises(error, match=message):
        page(**arguments)
