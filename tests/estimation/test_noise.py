"""estimate_noise: what users pass to it, and what they get back."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_lec import LECClassifier
from sklearn_lec.estimation import NoiseEstimate, estimate_noise

mpl.use("agg")


@pytest.fixture(scope="module")
def blobs():
    """900 samples in three classes, a fifth of the labels wrong: X, given labels, right labels."""
    X, y = make_blobs(900, centers=[[-3, 0], [3, 0], [0, 4]], random_state=0)
    given = y.copy()
    given[::5] = (given[::5] + 1) % 3
    return X.astype(np.float32), np.array(["ant", "bee", "cat"])[given], np.array(["ant", "bee", "cat"])[y]


@pytest.fixture
def net():
    return LECClassifier(module__hidden=(16,), max_epochs=40, verbose=0, random_state=0, device="cpu")


def test_any_classifier_with_probabilities_will_do(blobs):
    X, given, right = blobs

    estimate = estimate_noise(LogisticRegression(), X, given, random_state=0)

    assert estimate.eps == pytest.approx(0.2, abs=0.03)
    assert estimate.interval[0] < 0.2 < estimate.interval[1]
    assert estimate.is_trustworthy
    assert estimate.classes_.tolist() == ["ant", "bee", "cat"]
    assert estimate.per_class.shape == (3,)
    assert estimate.corruption_matrix.shape == (3, 3)
    assert estimate.wrong_probability[given != right].mean() > 0.8
    assert estimate.wrong_probability[given == right].mean() < 0.1


def test_given_predictions_need_neither_estimator_nor_data(blobs):
    X, given, _ = blobs
    pred_probs = cross_val_predict(LogisticRegression(), X, given, method="predict_proba")

    estimate = estimate_noise(None, None, given, pred_probs=pred_probs)

    assert estimate.eps == pytest.approx(0.2, abs=0.03)


def test_columns_of_given_predictions_may_be_in_any_order(blobs):
    X, given, _ = blobs
    pred_probs = cross_val_predict(LogisticRegression(), X, given, method="predict_proba")
    in_order = estimate_noise(None, None, given, pred_probs=pred_probs)

    reversed_ = estimate_noise(None, None, given, pred_probs=pred_probs[:, ::-1], classes=["cat", "bee", "ant"])

    assert reversed_.eps == pytest.approx(in_order.eps, abs=1e-3)
    np.testing.assert_allclose(reversed_.per_class[::-1], in_order.per_class, atol=1e-2)


def test_columns_of_a_data_frame_are_known_by_their_names(blobs):
    X, given, _ = blobs
    pred_probs = cross_val_predict(LogisticRegression(), X, given, method="predict_proba")
    frame = pd.DataFrame(pred_probs, columns=["ant", "bee", "cat"])[["cat", "bee", "ant"]]

    estimate = estimate_noise(None, None, given, pred_probs=frame)

    assert estimate.classes_.tolist() == ["cat", "bee", "ant"]
    assert estimate.eps == pytest.approx(0.2, abs=0.03)


def test_names_of_columns_may_be_the_labels_as_text(blobs):
    X, given, _ = blobs
    codes = np.searchsorted(["ant", "bee", "cat"], given)
    pred_probs = cross_val_predict(LogisticRegression(), X, codes, method="predict_proba")
    frame = pd.DataFrame(pred_probs, columns=["0", "1", "2"])[["2", "0", "1"]]

    estimate = estimate_noise(y=codes, pred_probs=frame)

    assert estimate.classes_.tolist() == [2, 0, 1]
    assert estimate.eps == pytest.approx(0.2, abs=0.03)
    assert estimate_noise(y=codes, pred_probs=pd.DataFrame(pred_probs)).eps == pytest.approx(estimate.eps, abs=1e-3)


def test_names_of_columns_that_are_no_labels_are_refused(blobs):
    given = blobs[1]

    with pytest.raises(
        ValueError, match=r"columns of pred_probs are named \['a', 'b', 'c'\], which are not the labels"
    ):
        estimate_noise(y=given, pred_probs=pd.DataFrame(np.ones((900, 3)) / 3, columns=["a", "b", "c"]))


def test_predictions_that_agree_with_every_label_are_doubted(blobs):
    X, given, _ = blobs
    memorized = DecisionTreeClassifier().fit(X, given).predict_proba(X)

    with pytest.warns(UserWarning, match="pred_probs agrees with every label.*pass predictions for samples that were"):
        estimate_noise(y=given, pred_probs=memorized)


def test_samples_without_a_prediction_take_no_part(blobs):
    X, given, _ = blobs
    pred_probs = cross_val_predict(LogisticRegression(), X, given, method="predict_proba")
    pred_probs[:10] = np.nan

    estimate = estimate_noise(None, None, given, pred_probs=pred_probs)

    assert np.isnan(estimate.wrong_probability[:10]).all()
    assert np.isfinite(estimate.wrong_probability[10:]).all()
    assert estimate.counts.sum() == 890


def test_a_network_is_trained_in_folds_and_left_as_it_was(blobs, net):
    X, given, _ = blobs

    estimate = estimate_noise(net, X, given)

    assert estimate.eps == pytest.approx(0.2, abs=0.04)
    assert not net.initialized_
    assert estimate_noise(net, X, given).eps == estimate.eps


def test_a_network_in_a_pipeline_is_trained_in_folds_too(blobs, net):
    X, given, _ = blobs
    pipeline = make_pipeline(StandardScaler(), net)

    estimate = estimate_noise(pipeline, 1000 * X, given, cv=2, random_state=0)

    assert estimate.eps == pytest.approx(0.2, abs=0.04)


@pytest.mark.filterwarnings("ignore:classes=.* are not in ascending order")
def test_a_network_in_a_pipeline_may_have_its_classes_in_any_order(blobs, net):
    X, given, _ = blobs
    net.set_params(classes=["dog", "cat", "bee", "ant"])

    estimate = estimate_noise(make_pipeline(StandardScaler(), net), X, given, cv=2, random_state=0)

    assert estimate.eps == pytest.approx(0.2, abs=0.05)
    assert estimate.classes_.tolist() == ["ant", "bee", "cat", "dog"]
    assert estimate.counts.tolist() == [*np.unique(given, return_counts=True)[1], 0]


def test_estimates_can_be_compared_without_an_error(blobs):
    X, given, _ = blobs
    estimate = estimate_noise(LogisticRegression(), X, given, random_state=0)

    assert estimate == estimate
    assert estimate != NoiseEstimate.from_state(estimate.state(), classes=estimate.classes_)


def test_folds_of_ones_own_and_sparse_data_are_taken(blobs, net):
    X, given, _ = blobs

    for estimator in (net, LogisticRegression()):
        estimate = estimate_noise(estimator, csr_matrix(X), given, cv=KFold(2, shuffle=True, random_state=0))
        assert estimate.eps == pytest.approx(0.2, abs=0.05)


def test_a_class_with_one_sample_is_no_obstacle(blobs, net):
    X, given, _ = blobs
    given = given.astype(object)
    given[0] = "dog"

    assert estimate_noise(LogisticRegression(), X, given, random_state=0).eps == pytest.approx(0.2, abs=0.05)
    assert estimate_noise(net, X, given, random_state=0).per_class.shape == (4,)


@pytest.mark.parametrize("n_samples", [60, 600])
def test_a_model_that_knows_nothing_is_not_trusted(n_samples):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_samples, 3)), rng.integers(0, 3, n_samples)

    estimate = estimate_noise(LogisticRegression(), X, y, random_state=0)

    assert not estimate.is_trustworthy
    assert "Not to be trusted: " in str(estimate)
    assert "not trustworthy" in repr(estimate)
    assert estimate.plot().get_title() == "not to be trusted"


def test_the_summary_names_the_classes_that_are_taken_for_another(blobs):
    X, given, _ = blobs
    given = np.where(given == "bee", "ant", given)  # also all bees
    given[450:] = blobs[2][450:]

    lines = str(estimate_noise(LogisticRegression(), X, given, random_state=0)).splitlines()

    assert "900 labels are wrong (90 % interval: " in lines[0]
    assert lines[-3].split()[0] == "ant"
    assert lines[-3].split()[-1] == "bee"


def test_the_summary_of_many_classes_is_short():
    y = np.repeat(np.arange(50), 20)
    pred_probs = np.full((1000, 50), 0.002)
    pred_probs[np.arange(1000), y] = 0.902
    y[0] = 49

    lines = str(estimate_noise(None, None, y, pred_probs=pred_probs)).splitlines()

    assert len(lines) == 2 + 1 + 1 + 20 + 1
    assert lines[4].split()[0] == "49"
    assert lines[-1] == "and 30 more classes, with fewer wrong labels"


def test_where_wrong_labels_should_be_this_and_that_the_summary_names_none(blobs):
    X, _, right = blobs
    given = right.copy()
    given[(right == "ant").nonzero()[0][::5]] = "cat"
    given[(right == "bee").nonzero()[0][::5]] = "cat"

    lines = str(estimate_noise(LogisticRegression(), X, given, random_state=0)).splitlines()

    assert lines[4].split()[0] == "cat"
    assert lines[4].split()[-1] in ("various", "ant", "bee")


def test_the_plot_shows_the_samples_the_fit_and_the_plateau(blobs):
    X, given, _ = blobs
    estimate = estimate_noise(LogisticRegression(), X, given, random_state=0)

    ax = estimate.plot()

    plateau, fit, samples = ax.lines
    np.testing.assert_allclose(samples.get_ydata(), estimate.curve[:, 1])
    np.testing.assert_allclose(fit.get_ydata(), estimate.curve[:, 2])
    assert plateau.get_ydata().mean() == pytest.approx(1 - estimate.eps, abs=0.02)
    assert f"{estimate.eps:.1%}" in ax.get_legend().get_texts()[1].get_text()
    assert estimate.plot(ax=ax) is ax


def test_an_estimate_survives_its_state(blobs):
    X, given, _ = blobs
    estimate = estimate_noise(LogisticRegression(), X, given, random_state=0)

    again = NoiseEstimate.from_state(estimate.state(), classes=estimate.classes_)

    assert str(again) == str(estimate)
    assert again.interval == estimate.interval
    np.testing.assert_array_equal(again.wrong_probability, estimate.wrong_probability)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"estimator": LinearSVC()}, TypeError, "must be a classifier with predict_proba"),
        ({"estimator": None}, TypeError, "must be a classifier with predict_proba, got None"),
        ({"estimator": LogisticRegression(), "cv": [(np.arange(6), np.arange(3))]}, ValueError, "it trains on"),
        ({"pred_probs": np.ones((6, 3)) / 3}, ValueError, "a column for each of the 2 classes, got shape \\(6, 3\\)"),
        ({"pred_probs": np.arange(12.0).reshape(6, 2)}, ValueError, "Are these logits"),
        ({"pred_probs": np.full((6, 2), np.nan)}, ValueError, "pred_probs has no row without NaN"),
        ({"pred_probs": np.ones((6, 2)) / 2, "cv": 3}, TypeError, "with pred_probs nothing is trained"),
        ({"pred_probs": np.ones((6, 2)) / 2, "y": None}, ValueError, "y is required: estimate_noise"),
        ({"estimator": LECClassifier(), "cv": [(np.arange(6), np.arange(3))]}, ValueError, "it trains on"),
        ({"estimator": LECClassifier(), "cv": [(np.arange(6), [])]}, ValueError, "trains on no sample, or holds out"),
        ({"pred_probs": np.ones((5, 2)) / 2}, ValueError, "a row per sample: it has 5, and y has 6"),
        ({"pred_probs": np.ones(6) / 2}, ValueError, r"pass np.column_stack\(\[1 - p, p\]\)"),
        ({"estimator": LogisticRegression(), "classes": [0, 1]}, TypeError, "names the columns of pred_probs"),
        ({"estimator": LECClassifier(), "cv": 1}, ValueError, "cv must be at least 2, got 1"),
        ({"estimator": LogisticRegression(), "y": None}, ValueError, "y is required"),
        ({"estimator": LECClassifier(max_epochs=3)}, ValueError, "max_epochs=3 leaves no epoch"),
    ],
)
def test_errors_say_what_to_do(arguments, error, message):
    arguments = {"estimator": None, "X": np.eye(6, 2, dtype=np.float32), "y": np.arange(6) % 2} | arguments

    with pytest.raises(error, match=message):
        estimate_noise(**arguments)


def test_an_estimate_from_few_of_the_samples_is_not_trusted():
    rng = np.random.RandomState(0)
    labels = rng.randint(3, size=600)
    pred_probs = 0.94 * np.eye(3)[labels] + 0.02
    pred_probs[100:] = np.nan

    estimate = estimate_noise(y=labels, pred_probs=pred_probs)

    assert any("500 of 600 samples have no finite prediction" in doubt for doubt in estimate.doubts)
