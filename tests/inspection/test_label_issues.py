"""find_label_issues: what the table holds, for every kind of data, labels and estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch.dataset import Dataset, ValidSplit

from sklearn_lec import LECClassifier
from sklearn_lec.inspection import find_label_issues
from sklearn_lec.methods import METHODS
from tests.helpers import TinyNet, without

COLUMNS = [
    "is_label_issue",
    "label_quality",
    "given_label",
    "predicted_label",
    "predicted_probability",
    "clean_score",
    "suggested_label",
]
WRONG = np.arange(0, 90, 10)


def samples(n_samples, seed):
    """Return samples of 3 classes that are far apart, every tenth label wrong."""
    y = np.arange(n_samples) % 3
    X = (np.random.RandomState(seed).normal(size=(n_samples, 4)) + 8 * np.eye(3, 4)[y]).astype(np.float32)
    y[::10] = (y[::10] + 1) % 3
    return X, y


@pytest.fixture
def table():
    return samples(90, seed=0)


@pytest.fixture
def settings(quick):
    """Enough epochs to learn what is common."""
    return quick | {"module": TinyNet, "eps": 0.1, "max_epochs": 40, "lr": 0.01, "T_w": 5}


@pytest.fixture
def fitted(table, settings):
    return LECClassifier(**settings).fit(*table)


def words(y):
    return np.array(["ant", "bee", "cow"])[y]


# --- what it says -----------------------------------------------------------------------------------------------------


def test_wrong_labels_are_found_and_the_right_ones_suggested(fitted, table):
    issues = fitted.find_label_issues()

    assert issues.columns.tolist() == COLUMNS
    assert issues.index.equals(pd.RangeIndex(90))
    assert issues.index[issues["is_label_issue"]].tolist() == WRONG.tolist()
    assert issues["suggested_label"][WRONG].tolist() == ((table[1][WRONG] - 1) % 3).tolist()
    assert issues["suggested_label"].isna().sum() == 81
    assert issues["label_quality"].nsmallest(9).index.sort_values().tolist() == WRONG.tolist()


def test_what_is_flagged_is_never_predicted_as_labelled(table, settings):
    # Told that half of the labels are wrong, it flags labels with which the network agrees.
    issues = LECClassifier(**settings | {"eps": 0.5}).fit(*table).find_label_issues()

    flagged = issues[issues["is_label_issue"]]
    assert len(flagged) > 9
    assert (flagged["given_label"] != flagged["predicted_label"]).all()


def test_ranked_leaves_the_issues_the_worst_first(fitted):
    everything = fitted.find_label_issues()

    ranked = fitted.find_label_issues(ranked=True)

    assert ranked["is_label_issue"].all()
    assert ranked["label_quality"].is_monotonic_increasing
    pd.testing.assert_frame_equal(ranked.sort_index(), everything[everything["is_label_issue"]])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_ranks_wrong_labels_low(table, settings, method):
    unused = () if method in ("ltec", "ltec-full", "lnec", "lsec") else ("M", "T_w")

    issues = LECClassifier(method=method, **without(settings, *unused)).fit(*table).find_label_issues()

    assert average_precision_score(np.isin(np.arange(90), WRONG), -issues["label_quality"]) > 0.7  # chance: 0.1
    assert issues["label_quality"].between(0, 1).all()
    assert issues["label_quality"].is_unique


# --- labels and data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [["ant", "bee", "cow"], [3, 7, 11]])
def test_labels_are_those_of_the_user(table, settings, labels):
    X, y = table
    y = np.array(labels)[y]

    issues = LECClassifier(**settings).fit(X, y).find_label_issues()

    assert issues["given_label"].tolist() == y.tolist()
    assert set(issues["predicted_label"]) == set(labels)
    assert set(issues["suggested_label"].dropna()) <= set(labels)


def test_integers_stay_integers_beside_missing_suggestions(fitted):
    assert fitted.find_label_issues()["suggested_label"].dtype == "Int64"


def test_the_table_has_the_index_of_its_samples(table, settings):
    X, y = table
    X = pd.DataFrame(X, columns=list("abcd"), index=[f"row {number}" for number in range(90)])
    clf = LECClassifier(**settings).fit(X, y)

    issues = find_label_issues(clf, X, y)

    assert issues.index.equals(X.index)
    pd.testing.assert_frame_equal(issues.reset_index(drop=True), clf.find_label_issues())


@pytest.mark.parametrize("form", [np.asarray, csr_matrix, pd.DataFrame, lambda X: X.astype(np.float64)])
def test_the_samples_of_fit_are_recognized_in_any_form(table, settings, form):
    X, y = form(table[0]), table[1]
    clf = LECClassifier(**settings).fit(X, y)

    with_labels, without_labels = clf.find_label_issues(X, y), clf.find_label_issues(X)

    pd.testing.assert_frame_equal(with_labels, clf.find_label_issues())
    pd.testing.assert_frame_equal(without_labels, clf.find_label_issues())


def test_a_dataset_brings_its_labels(table, settings):
    dataset = Dataset(*table)
    clf = LECClassifier(**settings).fit(dataset)

    pd.testing.assert_frame_equal(clf.find_label_issues(dataset), clf.find_label_issues())


def test_held_out_samples_are_judged_without_having_been_trained_on(table, settings):
    clf = LECClassifier(**settings | {"train_split": ValidSplit(3, stratified=True)}).fit(*table)

    issues = clf.find_label_issues()

    held_out = issues["clean_score"].isna()
    assert held_out.sum() == 30
    assert issues.index[held_out & issues["is_label_issue"]].isin(WRONG).all()
    assert issues["is_label_issue"][WRONG].all()


def test_new_samples_are_judged_by_what_the_network_predicts(fitted):
    issues = fitted.find_label_issues(*samples(20, seed=1))

    assert issues.index[issues["is_label_issue"]].tolist() == [0, 10]
    assert issues["clean_score"].isna().all()


def test_samples_of_fit_with_other_labels_are_new(fitted, table):
    X, y = table

    issues = fitted.find_label_issues(X, np.where(np.arange(90) == 5, (y + 1) % 3, y))

    assert issues["is_label_issue"][5]
    assert issues["clean_score"].isna().all()


def test_the_judgement_on_a_new_sample_does_not_depend_on_the_others(fitted, table):
    X, y = table

    alone, together = fitted.find_label_issues(X[10:11], y[10:11]), fitted.find_label_issues(X[5:15], y[5:15])

    assert alone["label_quality"].iloc[0] == pytest.approx(together["label_quality"].iloc[5], abs=1e-5)


def test_samples_that_cannot_be_learned_from_are_no_issues(table, settings):
    X, y = table
    X = X.copy()
    X[0] = 1e30

    with pytest.warns(UserWarning, match="sample"):
        issues = LECClassifier(**settings).fit(X, y).find_label_issues()

    assert not issues["is_label_issue"][0]
    assert issues["label_quality"][0] == pytest.approx(0.5, abs=1e-5)
    assert pd.isna(issues["predicted_label"][0])


# --- estimators -------------------------------------------------------------------------------------------------------


def test_a_pipeline_is_asked_as_a_whole(table, settings):
    X, y = table[0] * 100, words(table[1])
    X_new, y_new = samples(20, seed=1)
    pipeline = make_pipeline(StandardScaler(), LECClassifier(**settings)).fit(X, y)

    known, new = find_label_issues(pipeline, X, y), find_label_issues(pipeline, X_new * 100, words(y_new))

    assert known.index[known["is_label_issue"]].tolist() == WRONG.tolist()
    assert new.index[new["is_label_issue"]].tolist() == [0, 10]


def test_the_best_estimator_of_a_search_is_asked(table, settings):
    search = GridSearchCV(LECClassifier(**settings), {"M": [2]}, cv=2).fit(*table)

    pd.testing.assert_frame_equal(find_label_issues(search), search.best_estimator_.find_label_issues())


def test_it_can_be_asked_after_pickling_and_trimming(fitted):
    before = fitted.find_label_issues()
    later = pickle.loads(pickle.dumps(fitted))
    later.trim_for_prediction()

    pd.testing.assert_frame_equal(later.find_label_issues(), before)


def test_a_network_that_was_loaded_judges_samples_that_are_passed(fitted, settings, tmp_path):
    fitted.save_params(f_params=tmp_path / "net.pt")
    loaded = LECClassifier(**settings)
    loaded.load_params(f_params=tmp_path / "net.pt")

    issues = loaded.find_label_issues(*samples(20, seed=1))

    assert issues.index[issues["is_label_issue"]].tolist() == [0, 10]
    with pytest.raises(NotFittedError, match="remembers no samples"):
        loaded.find_label_issues()


def blobs_with_wrong_labels():
    X, y = make_blobs(200, centers=[[-3, 0], [3, 0]], random_state=0)
    y[:20] = 1 - y[:20]
    return X, words(y)


def test_other_classifiers_are_trained_in_folds_and_left_as_they_are():
    X, y = blobs_with_wrong_labels()
    model = make_pipeline(StandardScaler(), LogisticRegression())

    issues = find_label_issues(model, X, y)

    assert issues.columns.tolist() == COLUMNS
    assert issues.index[issues["is_label_issue"]].tolist() == list(range(20))
    assert issues["suggested_label"][:20].tolist() == np.where(y[:20] == "ant", "bee", "ant").tolist()
    assert not hasattr(model[-1], "coef_")


def test_predictions_for_held_out_samples_are_enough():
    X, y = blobs_with_wrong_labels()
    pred_probs = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")

    issues = find_label_issues(y=y, pred_probs=pred_probs)

    assert issues.index[issues["is_label_issue"]].tolist() == list(range(20))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda X, y: LECClassifier(verbose=0).find_label_issues(), NotFittedError, "not fitted"),
        (lambda X, y: find_label_issues(None, X, y), TypeError, "classifier with predict_proba, got None"),
        (lambda X, y: find_label_issues(Perceptron(), X, y), TypeError, "CalibratedClassifierCV"),
        (lambda X, y: find_label_issues(LogisticRegression(), X), ValueError, "X and y are required"),
        (lambda X, y: find_label_issues(LogisticRegression().fit(X, y)), ValueError, "X and y are required"),
        (lambda X, y: find_label_issues(pred_probs=np.eye(3)[y]), ValueError, "y is required"),
        (lambda X, y: find_label_issues(y=y, pred_probs=np.eye(3)[y][:5]), ValueError, "a row per sample"),
    ],
)
def test_calls_that_say_too_little_are_refused(table, call, error, message):
    with pytest.raises(error, match=message):
        call(*table)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (lambda X, y: (None, y), TypeError, "y without X"),
        (lambda X, y: (X[:5],), ValueError, "y is required"),
        (lambda X, y: (X, y[:5]), ValueError, "X has 90, y has 5"),
        (lambda X, y: (X, y + 1), ValueError, "not among the classes"),
    ],
)
def test_a_fitted_classifier_refuses_what_it_cannot_judge(fitted, table, arguments, error, message):
    with pytest.raises(error, match=message):
        fitted.find_label_issues(*arguments(*table))
