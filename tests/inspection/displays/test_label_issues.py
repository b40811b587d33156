import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy.sparse import csr_array, csr_matrix

from sklearn_lec.inspection import LabelIssuesDisplay

IMAGES = np.random.RandomState(0).uniform(size=(6, 5, 4, 3))  # (n, H, W, C)
GRAY = IMAGES[..., 0]


def titles(display):
    return [ax.get_title() for ax in display.axes_.ravel() if ax.get_title()]


def drawn(display):
    return [np.asarray(image.get_array()) for image in display.images_]


# --- which samples, and what is told of them -------------------------------------------------------------------------


def test_flagged_samples_are_shown_with_their_labels_the_most_suspect_first(issues):
    display = LabelIssuesDisplay.from_issues(issues, GRAY)

    assert display.shown_.tolist() == [4, 1, 3]
    assert titles(display) == ["given cat\nsuggested dog", "given cat\nsuggested dog", "given dog\npredicted cat"]
    assert [ax.get_xlabel() for ax in display.axes_.ravel()] == ["#4", "#1", "#3"]
    assert all(np.array_equal(image, GRAY[k]) for image, k in zip(drawn(display), [4, 1, 3], strict=True))


def test_no_more_than_asked_for_are_shown(issues):
    display = LabelIssuesDisplay.from_issues(issues, GRAY, n_issues=2, n_columns=1)

    assert display.shown_.tolist() == [4, 1]
    assert display.axes_.shape == (2, 1)
    with pytest.raises(ValueError, match="n_issues must be at least 1, got 0"):
        LabelIssuesDisplay.from_issues(issues, GRAY, n_issues=0)


def test_panels_without_a_sample_are_empty(issues):
    display = LabelIssuesDisplay.from_issues(issues, GRAY, n_columns=2)

    assert display.axes_.shape == (2, 2)
    assert [ax.axison for ax in display.axes_.ravel()] == [True, True, True, False]


def test_the_true_label_is_told_where_it_is_known(issues):
    display = LabelIssuesDisplay.from_issues(issues, GRAY, y_true=["cat", "dog", "dog", "dog", "eel", "dog"])

    assert titles(display)[0].splitlines() == ["given cat", "suggested dog", "true eel"]
    assert titles(display)[1].splitlines()[2] == "true dog"


def test_a_picture_says_so_if_no_label_is_flagged(issues):
    display = LabelIssuesDisplay.from_issues(issues.assign(is_label_issue=False), GRAY)

    assert display.shown_.tolist() == []
    assert [text.get_text() for text in display.axes_[0, 0].texts] == ["No label is flagged."]


def test_a_sample_without_a_prediction_is_told_by_its_given_label(issues):
    unknown = issues.assign(predicted_label=issues["predicted_label"].where(issues.index != 3))

    display = LabelIssuesDisplay.from_issues(unknown, GRAY)
    of_table = LabelIssuesDisplay.from_issues(unknown, TABLE)

    assert titles(display)[2] == "given dog"
    assert of_table.neighbors_[2][1] is None


def test_labels_are_written_as_they_are(issues):
    hostile = issues.assign(given_label="$x$ and a label far too long", suggested_label=3)
    integers = issues[["is_label_issue", "label_quality"]].assign(given_label=7, predicted_label=8, suggested_label=8)

    assert titles(LabelIssuesDisplay.from_issues(hostile, GRAY))[0] == "given \\$x\\$ and a lab…\nsuggested 3"
    assert titles(LabelIssuesDisplay.from_issues(integers, GRAY))[0] == "given 7\nsuggested 8"


def test_samples_are_found_by_the_index_of_a_dataframe(issues):
    X = pd.DataFrame(GRAY.reshape(6, 20), index=list("fedcba"))
    ranked = issues.set_axis(X.index)[issues["is_label_issue"].to_numpy()].sort_values("label_quality")

    of_frame = LabelIssuesDisplay.from_issues(ranked, X, image_shape=(5, 4))
    of_array = LabelIssuesDisplay.from_issues(issues.set_axis(X.index), GRAY)

    assert of_frame.shown_.tolist() == of_array.shown_.tolist() == [4, 1, 3]
    assert of_frame.axes_[0, 0].get_xlabel() == "#b"


def test_samples_are_found_by_their_order_if_the_index_is_of_a_shuffled_dataframe(issues):
    shuffled = issues.set_axis([5, 4, 3, 2, 1, 0])

    assert LabelIssuesDisplay.from_issues(shuffled, GRAY).shown_.tolist() == [4, 1, 3]


def test_ranked_issues_of_an_array_are_found_by_their_numbers(issues):
    ranked = issues[issues["is_label_issue"]].sort_values("label_quality")

    assert LabelIssuesDisplay.from_issues(ranked, GRAY).shown_.tolist() == [4, 1, 3]
    with pytest.raises(ValueError, match="issues are about 3 samples, X has 6"):
        LabelIssuesDisplay.from_issues(ranked.set_axis(list("abc")), GRAY)


def test_the_estimator_is_asked_for_the_issues(find_issues):
    estimator, y = object(), ["cat"] * 6

    display = LabelIssuesDisplay.from_estimator(estimator, GRAY, y, n_issues=1)
    LabelIssuesDisplay.from_estimator(estimator, GRAY)

    assert find_issues[0][1] is find_issues[1][1] is GRAY
    assert [call[2] for call in find_issues] == [y, None]
    assert display.shown_.tolist() == [4]


# --- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "image_shape", "expected"),
    [
        (GRAY, None, GRAY),
        (GRAY[:, None], None, GRAY),
        (GRAY[..., None], None, GRAY),
        (GRAY.reshape(6, 20), (5, 4), GRAY),
        (pd.DataFrame(GRAY.reshape(6, 20)), (5, 4), GRAY),
        (IMAGES, None, IMAGES),
        (IMAGES.transpose(0, 3, 1, 2), None, IMAGES),
        (IMAGES.reshape(6, -1), (5, 4, 3), IMAGES),
        (IMAGES.transpose(0, 3, 1, 2).reshape(6, -1), (3, 5, 4), IMAGES),
        (torch.tensor(IMAGES).permute(0, 3, 1, 2), None, IMAGES),
        ((IMAGES * 255).astype(np.uint8), None, (IMAGES * 255).astype(np.uint8)),
        (np.floor(IMAGES * 255), None, np.floor(IMAGES * 255) / 255),
    ],
    ids=["HW", "1HW", "HW1", "flat", "frame", "HWC", "CHW", "flat HWC", "flat CHW", "tensor", "bytes", "0 to 255"],
)
def test_images_of_any_layout_are_shown(issues, X, image_shape, expected):
    display = LabelIssuesDisplay.from_issues(issues, X, image_shape=image_shape)

    assert all(np.allclose(image, expected[k]) for image, k in zip(drawn(display), [4, 1, 3], strict=True))


def test_standardized_colors_are_scaled_alike_in_all_images(issues):
    display = LabelIssuesDisplay.from_issues(issues, (IMAGES - 0.5) / 0.25)

    shown = IMAGES[[4, 1, 3]]
    assert np.allclose(drawn(display), (shown - shown.min()) / np.ptp(shown))


def test_grays_are_comparable_between_images_and_the_user_decides_on_them(issues):
    display = LabelIssuesDisplay.from_issues(issues, GRAY)
    of_user = LabelIssuesDisplay.from_issues(issues, GRAY, cmap="gray_r", im_kw={"vmax": 2}, text_kw={"size": 4})

    shown = GRAY[[4, 1, 3]]
    assert {image.get_clim() for image in display.images_} == {(shown.min(), shown.max())}
    assert {(image.get_cmap().name, image.get_clim()[1]) for image in of_user.images_} == {("gray_r", 2)}
    assert of_user.axes_[0, 0].title.get_fontsize() == 4


def test_only_the_images_of_a_dataset_that_are_shown_are_loaded(issues):
    class Photos(torch.utils.data.Dataset):
        loaded = []

        def __len__(self):
            return 6

        def __getitem__(self, number):
            self.loaded.append(number)
            pixels = np.full((4 + number, 5, 3), number, dtype=np.uint8)
            return Image.fromarray(pixels), 0

    display = LabelIssuesDisplay.from_issues(issues, Photos(), n_issues=2)

    assert Photos.loaded == [4, 1]
    assert [image.shape for image in drawn(display)] == [(8, 5, 3), (5, 5, 3)]


def test_what_is_no_image_is_refused(issues):
    with pytest.raises(ValueError, match=r"image_shape=\(3, 3\) stands for 9 values, but a sample has 20"):
        LabelIssuesDisplay.from_issues(issues, GRAY, image_shape=(3, 3))
    with pytest.raises(ValueError, match=r"a sample of shape \(5, 2, 2\) is no image"):
        LabelIssuesDisplay.from_issues(issues, np.zeros((6, 5, 2, 2)))


# --- tables ----------------------------------------------------------------------------------------------------------

TABLE = pd.DataFrame(
    {
        "weight": [4.0, 30.0, 31.0, 5.0, 29.0, 40.0],
        "height": [25.0, 60.0, 61.0, 24.0, np.nan, 70.0],
        "noise": ["meow", "bark", "bark", "meow", "meow", None],
        "legs": [4, 4, 4, 4, 4, 4],
    }
)


def test_a_row_is_shown_beside_its_trusted_neighbors(issues):
    display = LabelIssuesDisplay.from_issues(issues, TABLE, n_issues=2)

    assert display.shown_.tolist() == [4, 1]
    assert display.neighbors_ == [(0, 2), (0, 2)], "among the cats and among the dogs that are not flagged"
    heads = [tick.get_text() for tick in display.axes_[0, 1].get_xticklabels()]
    assert heads == ["#1", "nearest\ncat", "nearest\ndog"]
    assert titles(display)[1] == "given cat, suggested dog"


def test_the_features_are_those_that_speak_for_the_other_label(issues):
    display = LabelIssuesDisplay.from_issues(issues, TABLE, n_features=3)

    names = [tick.get_text() for tick in display.axes_[0, 1].get_yticklabels()]
    assert names[-1] == "noise"
    assert set(names) == {"weight", "height", "noise"}
    texts = [text.get_text() for text in display.axes_[0, 1].texts]
    row = names.index("weight")
    assert texts[3 * row : 3 * row + 3] == ["30", "4", "31"]
    deviation = TABLE["weight"].std(ddof=0)
    assert drawn(display)[1][row] == pytest.approx([0, 26 / deviation, 1 / deviation])
    assert drawn(display)[1][names.index("noise")].tolist() == [0, 1, 0]


def test_a_missing_value_is_shown_as_missing(issues):
    display = LabelIssuesDisplay.from_issues(issues, TABLE, n_issues=1)

    names = [tick.get_text() for tick in display.axes_[0, 0].get_yticklabels()]
    assert display.axes_[0, 0].texts[3 * names.index("height")].get_text() == "missing"


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix, csr_array, torch.tensor])
def test_tables_of_any_kind_show_the_same(issues, kind):
    numbers = np.random.RandomState(0).normal(size=(6, 8)).round(1)
    expected = LabelIssuesDisplay.from_issues(issues, pd.DataFrame(numbers))

    display = LabelIssuesDisplay.from_issues(issues, kind(numbers), feature_names=list("01234567"))

    assert display.neighbors_ == expected.neighbors_
    assert np.allclose(drawn(display), drawn(expected))
    for own, other in zip(display.axes_.ravel(), expected.axes_.ravel(), strict=True):
        assert [text.get_text() for text in own.texts] == [text.get_text() for text in other.texts]
        assert [t.get_text() for t in own.get_yticklabels()] == [t.get_text() for t in other.get_yticklabels()]


def test_a_table_without_names_numbers_its_features(issues):
    display = LabelIssuesDisplay.from_issues(issues, np.eye(6, 2))

    assert {tick.get_text() for tick in display.axes_[0, 0].get_yticklabels()} == {"feature 0", "feature 1"}
    with pytest.raises(ValueError, match="feature_names has 1 names, but X has 2 features"):
        LabelIssuesDisplay.from_issues(issues, np.eye(6, 2), feature_names=["one"])


def test_a_label_without_a_trusted_sample_has_an_empty_column(issues):
    no_cat = issues.assign(is_label_issue=[True, True, False, True, True, False])

    display = LabelIssuesDisplay.from_issues(no_cat, TABLE)

    assert [cat for cat, _ in display.neighbors_[:2]] == [None, None]
    assert {text.get_text() for text in display.axes_[0, 0].texts[1::3]} == {""}


def test_a_table_needs_the_issues_of_all_samples(issues):
    with pytest.raises(ValueError, match=r"pass the issues of all samples \(ranked=False\)"):
        LabelIssuesDisplay.from_issues(issues[issues["is_label_issue"]], TABLE)


def test_axes_of_the_users_own_are_drawn_into(issues):
    figure, row = plt.subplots(1, 3)

    display = LabelIssuesDisplay.from_issues(issues, GRAY, ax=row)

    assert display.figure_ is figure
    assert list(display.axes_.ravel()) == list(row)
    assert len(plt.get_fignums()) == 1
