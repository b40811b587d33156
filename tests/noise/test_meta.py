"""Noise inside pipelines and searches: training folds are noisy, test folds are clean."""

import pickle

import numpy as np
import pytest
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from sklearn_lec import LECClassifier
from sklearn_lec.metrics import label_precision_score, label_recall_score
from sklearn_lec.noise import (
    AsymmetricNoise,
    MatrixNoise,
    NoiseSampler,
    NoisyLabelClassifier,
    OpenSetNoise,
    SemanticNoise,
    SymmetricNoise,
)

EVERY_NOISE = [
    SymmetricNoise(eps=0.4, random_state=0),
    AsymmetricNoise(eps=0.4, random_state=0),
    MatrixNoise(0.7 * np.eye(3) + 0.1, random_state=0),
    OpenSetNoise(50.0 + np.arange(360).reshape(90, 4), eps=0.4, random_state=0),
    SemanticNoise(DecisionTreeClassifier(max_features=1, max_depth=2), eps=0.4, random_state=0),
]
every_noise = pytest.mark.parametrize("noise", EVERY_NOISE, ids=lambda noise: type(noise).__name__)


class MemorizingClassifier(KNeighborsClassifier):
    """Predicts on the training data exactly the labels that it was fitted on."""

    def __init__(self):
        super().__init__(n_neighbors=1)


@every_noise
def test_the_meta_estimator_fits_on_noisy_data_and_scores_on_the_data_as_given(noise, table):
    X, y = table
    noisy = NoisyLabelClassifier(MemorizingClassifier(), noise).fit(X, y)

    X_corrupt, y_corrupt = clone(noise).corrupt(X, y)

    assert np.array_equal(noisy.estimator_.predict(X_corrupt), y_corrupt)
    assert noisy.noise_mask_.sum() > 0
    assert noisy.score(X, y) == pytest.approx((noisy.estimator_.predict(X) == y).mean())


@every_noise
def test_a_noise_is_a_step_of_imbalanced_learns_pipeline(noise, table):
    X, y = table
    X_corrupt, y_corrupt = clone(noise).corrupt(X, y)

    pipeline = make_imblearn_pipeline(NoiseSampler(noise), MemorizingClassifier()).fit(X, y)

    assert np.array_equal(pipeline.predict(X_corrupt), y_corrupt)
    assert np.array_equal(pipeline.predict(X), MemorizingClassifier().fit(X_corrupt, y_corrupt).predict(X))


def test_open_set_noise_is_a_step_of_a_plain_pipeline(table):
    X, y = table
    pipeline = make_pipeline(OpenSetNoise(np.full((90, 4), 50.0), eps=0.4, random_state=0), MemorizingClassifier())

    pipeline.fit(X, y)

    assert (pipeline[-1]._fit_X == 50).all(axis=1).sum() == 36
    assert np.array_equal(pipeline[0].transform(X), X)


def test_fitted_attributes_of_the_estimator_are_passed_on(table, quick):
    X, y = table
    noisy = NoisyLabelClassifier(LECClassifier(**quick), SymmetricNoise(random_state=0)).fit(X, y)

    assert np.array_equal(noisy.clean_mask_, noisy.estimator_.clean_mask_)
    assert len(noisy.history) == 3
    assert noisy.classes_.tolist() == [0, 1, 2]
    assert noisy.noise_mask_.sum() == 18
    assert np.array_equal(noisy.y_noisy_ != y, noisy.noise_mask_)
    assert label_precision_score(noisy) == label_precision_score(noisy.clean_mask_, noisy.noise_mask_)
    assert label_recall_score(noisy) == label_recall_score(noisy.clean_mask_, noisy.noise_mask_)


def test_an_unfitted_meta_estimator_has_no_fitted_attributes():
    noisy = NoisyLabelClassifier(LECClassifier(), SymmetricNoise())

    for name in ("clean_mask_", "noise_mask_", "history", "estimator_", "anything"):
        assert not hasattr(noisy, name)


def test_the_meta_estimator_has_only_the_methods_of_its_estimator(table):
    svm = NoisyLabelClassifier(LinearSVC(), SymmetricNoise(random_state=0)).fit(*table)

    assert not hasattr(svm, "predict_proba")
    assert not hasattr(svm, "predict_log_proba")
    assert svm.decision_function(table[0]).shape == (90, 3)


def test_fit_parameters_reach_the_estimator_with_and_without_routing(table):
    X, y = table
    only_first = (np.arange(90) < 45).astype(float)
    noise = SymmetricNoise(random_state=0)
    plain = NoisyLabelClassifier(LogisticRegression(), noise).fit(X, y, sample_weight=only_first)

    with config_context(enable_metadata_routing=True):
        estimator = LogisticRegression().set_fit_request(sample_weight=True)
        routed = NoisyLabelClassifier(estimator, noise).fit(X, y, sample_weight=only_first)
        scores = cross_val_score(
            NoisyLabelClassifier(estimator, noise).set_score_request(sample_weight=False),
            X,
            y,
            params={"sample_weight": only_first + 1},
        )

    assert np.allclose(plain.estimator_.coef_, routed.estimator_.coef_)
    assert not np.allclose(plain.estimator_.coef_, NoisyLabelClassifier(LogisticRegression(), noise).fit(X, y).coef_)
    assert np.isfinite(scores).all()


def test_the_noise_that_was_passed_is_not_fitted(table):
    noise = SymmetricNoise(random_state=0)

    NoisyLabelClassifier(MemorizingClassifier(), noise).fit(*table)
    NoiseSampler(noise).fit_resample(*table)

    assert not hasattr(noise, "noise_mask_")


def test_a_refit_that_fails_keeps_the_fitted_state(table):
    X, y = table
    noisy = NoisyLabelClassifier(LogisticRegression(), SymmetricNoise(random_state=0)).fit(X, y)
    before = noisy.noise_mask_

    with pytest.raises(ValueError, match="NaN"):
        noisy.fit(np.full((50, 4), np.nan), y[:50])

    assert noisy.noise_mask_ is before


def test_an_object_without_corrupt_is_refused(table):
    with pytest.raises(TypeError, match=r"noise must have a method corrupt.*LogisticRegression has none"):
        NoisyLabelClassifier(LogisticRegression(), LogisticRegression()).fit(*table)


def test_predicting_before_fit_raises_not_fitted_error(table):
    with pytest.raises(NotFittedError):
        NoisyLabelClassifier(LogisticRegression(), SymmetricNoise()).predict(table[0])


def test_parameters_of_noise_and_estimator_can_be_set_by_name():
    noisy = NoisyLabelClassifier(LECClassifier(), SymmetricNoise())

    noisy.set_params(noise__eps=0.4, estimator__M=9)

    assert (noisy.noise.eps, noisy.estimator.M) == (0.4, 9)


def test_the_meta_estimator_can_be_pickled(table, quick):
    noisy = NoisyLabelClassifier(LECClassifier(**quick), SymmetricNoise(random_state=0)).fit(*table)

    copy = pickle.loads(pickle.dumps(noisy))

    assert np.array_equal(copy.clean_mask_, noisy.clean_mask_)


def test_cross_validation_scores_on_clean_labels(table):
    X, y = table
    y = np.arange(90) % 3
    memorizing = NoisyLabelClassifier(MemorizingClassifier(), SymmetricNoise(eps=0.6, random_state=0))

    scores = cross_val_score(memorizing, X, y, cv=3)

    assert scores.mean() == pytest.approx(0.4, abs=0.15)


def test_the_meta_estimator_is_a_step_of_a_plain_pipeline(table, quick):
    X, y = table
    noisy = NoisyLabelClassifier(LECClassifier(**quick), AsymmetricNoise(random_state=0))

    pipeline = make_pipeline(StandardScaler(), noisy).fit(X, y)

    assert pipeline.predict_proba(X).shape == (90, 3)
    assert np.array_equal(pipeline.predict_log_proba(X), np.log(pipeline.predict_proba(X)))


def test_a_grid_over_noise_and_method_ranks_ltec_far_ahead_at_sixty_percent():
    X, y = load_digits(return_X_y=True)
    classifier = LECClassifier(eps=0.6, max_epochs=40, verbose=0, random_state=0)
    grid = [
        {"noise__eps": [eps], "estimator__eps": [eps], "estimator__method": ["standard", "ltec"]} for eps in (0.2, 0.6)
    ]

    search = GridSearchCV(
        NoisyLabelClassifier(classifier, SymmetricNoise(random_state=0)), grid, cv=3, n_jobs=2, refit=False
    ).fit(X / 16, y)

    score = {
        (params["noise__eps"], params["estimator__method"]): mean
        for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    assert score[0.6, "ltec"] > score[0.6, "standard"] + 0.15
    assert score[0.2, "ltec"] > 0.9
