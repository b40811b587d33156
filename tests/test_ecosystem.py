"""LECClassifier among the tools that people put around a classifier."""

import numpy as np
import pandas as pd
import pytest
import torch
from cleanlab.classification import CleanLearning
from cleanlab.filter import find_label_issues
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import HalvingGridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from sklearn_lec import LECClassifier
from sklearn_lec.noise import SymmetricNoise
from tests.helpers import TinyNet, weights

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


def test_frames_go_through_a_pipeline_that_puts_out_frames(net, clean):
    frame = pd.DataFrame(clean[0], columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), net).set_output(transform="pandas").fit(frame, clean[1])

    assert pipeline[-1].feature_names_in_.tolist() == list("abcd")


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


def test_cleanlabs_clean_learning_goes_around_it(net, clean):
    X, _ = clean
    y = np.arange(90) % 3

    cleaned = CleanLearning(net, cv_n_folds=3, seed=0).fit(X, SymmetricNoise(eps=0.1, random_state=0).fit_transform(y))

    assert (cleaned.predict(X) == y).mean() > 0.9


def test_weights_of_rows_count_in_the_update_and_not_in_the_vote(table, quick):
    X, y = table
    twice = np.where(np.arange(90) < 45, 2.0, 1.0)
    settings = quick | {"batch_size": -1, "max_epochs": 2}

    weighted = LECClassifier(TinyNet, eps=0.3, **settings).fit(X, y, sample_weight=twice)
    plain = LECClassifier(TinyNet, eps=0.3, **settings).fit(X, y)
    still = [LECClassifier(TinyNet, eps=0.3, lr=0.0, **settings) for _ in range(2)]
    masks = [net.fit(X, y, sample_weight=weight).clean_mask_ for net, weight in zip(still, [twice, None], strict=True)]

    assert not torch.allclose(weights(weighted), weights(plain), atol=1e-5)
    assert np.array_equal(*masks)


@pytest.mark.parametrize(
    "criterion",
    [
        {},
        {"criterion__reduction": "sum"},
        {"criterion__weight": torch.tensor([1.0, 5.0, 2.0])},
        {"criterion__weight": torch.tensor([1.0, 5.0, 2.0]), "criterion__label_smoothing": 0.2},
        {"criterion__ignore_index": 1},
    ],
)
@pytest.mark.parametrize("size", [1.0, 1e-40, 1e300])
def test_equal_weights_change_nothing(table, quick, criterion, size):
    X, y = table
    quick |= {"optimizer": torch.optim.SGD, "lr": 0.01}

    plain = LECClassifier(TinyNet, eps=0.0, **quick, **criterion).fit(X, y)
    equal = LECClassifier(TinyNet, eps=0.0, **quick, **criterion).fit(X, y, sample_weight=np.full(90, size))

    assert torch.allclose(weights(plain), weights(equal), atol=1e-5)


def test_whole_weights_are_repeated_rows(table, quick):
    X, y = table
    counts = np.arange(90) % 3 + 1
    settings = {name: value for name, value in quick.items() if name not in ("M", "T_w")}
    settings |= {"method": "standard", "batch_size": -1, "optimizer": torch.optim.SGD}

    weighted = LECClassifier(TinyNet, **settings).fit(X, y, sample_weight=counts)
    repeated = LECClassifier(TinyNet, **settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))

    assert torch.allclose(weights(weighted), weights(repeated), atol=1e-5)


def test_weights_of_a_fit_that_failed_do_not_count_in_the_next(table, quick):
    class Broken(TinyNet):
        def __init__(self, in_features, num_classes):
            raise RuntimeError("broken")

    X, y = table
    expected = LECClassifier(TinyNet, **quick).fit(X, y)
    clf = LECClassifier(Broken, **quick)
    with pytest.raises(RuntimeError, match="broken"):
        clf.fit(X, y, sample_weight=np.arange(90))

    clf.set_params(module=TinyNet).fit(X, y)

    assert torch.equal(weights(clf), weights(expected))


def test_rows_of_weight_zero_can_be_kept(table, quick):
    settings = {name: value for name, value in quick.items() if name not in ("M", "T_w")} | {"batch_size": 4}
    half = (np.arange(90) < 45).astype(float)

    clf = LECClassifier(TinyNet, method="standard", **settings).fit(*table, sample_weight=half)

    assert clf.clean_mask_.all()


@pytest.mark.parametrize("method", ["standard", "lnec", "forward", "d2l"])
def test_rows_of_weight_zero_are_not_learned_from(table, quick, method):
    X, y = table
    half = (np.arange(90) < 45).astype(float)
    wrong = np.where(half > 0, y, (y + 1) % 3)
    quick = {name: value for name, value in quick.items() if name not in ("M", "T_w")}

    nets = [
        LECClassifier(TinyNet, method=method, eps=0.0, **quick).fit(X, labels, sample_weight=half)
        for labels in (y, wrong)
    ]

    assert torch.allclose(weights(nets[0]), weights(nets[1]), atol=1e-6)


@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.ones(5), r"sample_weight.shape == \(5,\), expected \(90,\)"),
        (-np.ones(90), "sample_weight must not be negative"),
        (np.zeros(90), "some weight must be greater than zero"),
        (np.full(90, np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_weights_are_refused(net, table, sample_weight, message):
    with pytest.raises(ValueError, match=message):
        net.fit(*table, sample_weight=sample_weight)


def test_weights_are_routed(net, clean):
    X, y = clean
    sums = []

    class Recording(LECClassifier):
        def partial_fit(self, X, y=None, classes=None, *, sample_weight=None, **fit_params):
            sums.append(sample_weight.sum())
            return super().partial_fit(X, y, classes, sample_weight=sample_weight, **fit_params)

    with config_context(enable_metadata_routing=True):
        routed = Recording(TinyNet, **SETTINGS).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=False)
        scores = cross_val_score(routed, X, y, cv=3, params={"sample_weight": np.arange(90)})

    assert sum(sums) == 2 * np.arange(90).sum()
    assert scores.mean() > 0.8


@pytest.mark.parametrize("method", ["ltec", "lnec"])
def test_weights_of_networks_can_be_saved_as_safetensors(net, clean, tmp_path, method):
    X, y = clean
    net.set_params(method=method).fit(X, y).save_params(f_params=tmp_path / "weights.safetensors", use_safetensors=True)

    other = LECClassifier(TinyNet, method=method, module__num_classes=3, classes=["ant", "bee", "cat"], **SETTINGS)
    other.initialize()
    other.load_params(f_params=tmp_path / "weights.safetensors", use_safetensors=True)

    assert np.array_equal(other.predict(X), net.predict(X))
