"""LECClassifier among the tools that people put around a classifier."""

import numpy as np
import pandas as pd
import pytest
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import HalvingGridSearchCV, cross_val_predict
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from sklearn_lec import LECClassifier
from sklearn_lec.noise import SymmetricNoise
from tests.helpers import TinyNet

SETTINGS = {"eps": 0.1, "lr": 0.05, "max_epochs": 15, "T_w": 3, "batch_size": 32, "verbose": 0, "random_state": 0}


@pytest.fixture
def net():
    return LECClassifier(TinyNet, **SETTINGS)


@pytest.fixture
def clean(table):
    return table[0], np.array(["ant", "bee", "cat"])[np.arange(90) % 3]


@pytest.mark.parametrize(
    "around",
    [
        lambda net: make_pipeline(StandardScaler(), net),
        lambda net: CalibratedClassifierCV(net, cv=3),
        lambda net: VotingClassifier([("net", net), ("linear", LogisticRegression())], voting="soft"),
        lambda net: StackingClassifier([("net", net), ("linear", LogisticRegression())], cv=3),
        lambda net: BaggingClassifier(net, n_estimators=3, random_state=0),
        lambda net: make_imblearn_pipeline(RandomOverSampler(random_state=0), net),
        lambda net: HalvingGridSearchCV(net, {"M": [1, 2, 3]}, cv=3, min_resources=30, random_state=0),
    ],
    ids=["pipeline", "calibrated", "voting", "stacking", "bagging", "imblearn", "halving"],
)
def test_tools_around_the_classifier_learn_what_it_learns(net, clean, around):
    X, y = clean

    fitted = around(net).fit(X, y)

    assert fitted.score(X, y) > 0.9
    assert np.allclose(fitted.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    assert set(fitted.predict(X)) <= {"ant", "bee", "cat"}


def test_cross_val_predict_gives_probabilities_out_of_fold(net, clean):
    probabilities = cross_val_predict(net, *clean, cv=3, method="predict_proba")

    assert probabilities.shape == (90, 3)
    assert (np.array(["ant", "bee", "cat"])[probabilities.argmax(axis=1)] == clean[1]).mean() > 0.8


def test_permutation_importance_finds_the_column_that_says_nothing(net, clean):
    X, y = clean

    importances = permutation_importance(net.fit(X, y), X, y, n_repeats=3, random_state=0).importances_mean

    assert importances.argmin() == 3


def test_names_of_columns_come_through_a_pipeline_that_puts_out_frames(net, clean):
    frame = pd.DataFrame(clean[0], columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), net).set_output(transform="pandas").fit(frame, clean[1])

    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")


def test_it_has_every_method_of_scikit_learns_own_networks():
    public = {name for name in dir(MLPClassifier) if not name.startswith("_")}
    public |= {"set_fit_request"}  # has been there since its fit takes sample_weight, in scikit-learn 1.7

    missing = [name for name in public if not hasattr(LECClassifier, name)]

    assert "set_score_request" in public
    assert missing == []


def test_log_probabilities_are_the_logarithms_of_the_probabilities(net, clean):
    X, y = clean
    net.fit(X, y)
    far_away = 1e6 * X  # where some probabilities are 0

    for data in (X, far_away):
        with np.errstate(divide="ignore"):
            expected = np.log(net.predict_proba(data))
        with np.errstate(divide="raise"):
            assert np.array_equal(net.predict_log_proba(data), expected)
    assert np.isneginf(net.predict_log_proba(far_away)).any()


def test_the_html_repr_names_the_classifier(net):
    assert "LECClassifier" in estimator_html_repr(make_pipeline(StandardScaler(), net))


def test_cleanlab_finds_wrong_labels_with_its_probabilities():
    X, y = load_digits(return_X_y=True)
    X, y = X[:600] / 16, y[:600]
    noise = SymmetricNoise(eps=0.1, random_state=0)
    y_noisy = noise.fit_transform(y)
    net = LECClassifier(eps=0.1, max_epochs=25, verbose=0, random_state=0)

    issues = find_label_issues(y_noisy, cross_val_predict(net, X, y_noisy, cv=3, method="predict_proba"))

    # One label in ten is wrong; among those that are found, most are.
    assert noise.noise_mask_[issues].mean() > 0.5
    assert issues[noise.noise_mask_].mean() > 0.7


def test_cleanlabs_clean_learning_learns_with_it(net, clean):
    X, _ = clean
    y = np.arange(90) % 3

    cleaned = CleanLearning(net, cv_n_folds=3, seed=0).fit(X, SymmetricNoise(eps=0.1, random_state=0).fit_transform(y))

    assert (cleaned.predict(X) == y).mean() > 0.9


@pytest.mark.parametrize("method", ["ltec", "lnec"])
def test_weights_of_networks_can_be_saved_as_safetensors(net, clean, tmp_path, method):
    X, y = clean
    net.set_params(method=method).fit(X, y).save_params(f_params=tmp_path / "weights.safetensors", use_safetensors=True)

    other = LECClassifier(TinyNet, method=method, module__num_classes=3, classes=["ant", "bee", "cat"], **SETTINGS)
    other.initialize()
    other.load_params(f_params=tmp_path / "weights.safetensors", use_safetensors=True)

    assert np.array_equal(other.predict(X), net.predict(X))
