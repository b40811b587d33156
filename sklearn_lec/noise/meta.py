"""Noise inside pipelines and searches: a classifier that is fitted on noisy data, and a sampler."""

from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

__all__ = ["NoiseSampler", "NoisyLabelClassifier"]


def _estimator_has(name):
    """Return a check for `available_if`: whether the estimator has the method `name`."""

    def check(self):
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return check


class NoisyLabelClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Fit a classifier on data with noise; predict and score on data without noise.

    What `TransformedTargetRegressor` is to target transformers, this is to noise. In `cross_val_score` and
    `GridSearchCV` the training folds are noisy and the test folds are clean. This is how robustness is measured.

    Parameters
    ----------
    estimator : classifier
    noise : SymmetricNoise, AsymmetricNoise, MatrixNoise, OpenSetNoise or SemanticNoise
        Anything with ``corrupt(X, y) -> X, y``.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on the noisy data. Its fitted attributes are also attributes of this object, for example
        ``clean_mask_``, ``history`` and ``classes_``.
    noise_ : noise
        The copy of `noise` that corrupted the training data.
    noise_mask_ : bool ndarray of shape (n_samples,)
        True where the training sample or its label was changed.
    y_noisy_ : ndarray of shape (n_samples,)
        The labels that the classifier was fitted on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn_lec.noise import SymmetricNoise
    >>> X, y = load_iris(return_X_y=True)
    >>> noisy = NoisyLabelClassifier(KNeighborsClassifier(1), SymmetricNoise(eps=0.4, random_state=0))
    >>> bool(cross_val_score(noisy, X, y).mean() < 0.8)
    True
    """

    def __init__(self, estimator, noise):
        self.estimator = estimator
        self.noise = noise

    def fit(self, X, y, **fit_params):
        """Corrupt X or y, and fit the classifier on the result.

        Parameters
        ----------
        X : data of n_samples samples that the noise and the classifier take
        y : array-like of shape (n_samples,)
            The true labels.
        **fit_params : dict
            Passed to the ``fit`` of the classifier.

        Returns
        -------
        self : NoisyLabelClassifier
        """
        if not hasattr(self.noise, "corrupt"):
            raise TypeError(f"noise must have a method corrupt(X, y), but {type(self.noise).__name__} has none.")
        if get_config()["enable_metadata_routing"]:
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        noise = clone(self.noise)
        X, y_noisy = noise.corrupt(X, y)
        estimator = clone(self.estimator).fit(X, y_noisy, **fit_params)
        self.noise_, self.y_noisy_, self.estimator_ = noise, y_noisy, estimator
        return self

    def get_metadata_routing(self):
        """Return how parameters of ``fit`` reach the estimator.

        Returns
        -------
        routing : MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=mapping)

    def predict(self, X):
        """Return the labels that the classifier predicts.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X):
        """Return the probability that the classifier gives each class.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Return the logarithm of the probability that the classifier gives each class.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_log_proba(X)

    @available_if(_estimator_has("decision_function"))
    def decision_function(self, X):
        """Return the decision values of the classifier.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(X)

    def __getattr__(self, name):
        # Only fitted attributes are passed on. Everything else must fail as it does on any estimator.
        if name == "noise_mask_" and "noise_" in vars(self):
            return self.noise_.noise_mask_
        if (name == "history" or name.endswith("_")) and not name.startswith("_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        estimator_tags = get_tags(self.estimator)
        tags.classifier_tags = estimator_tags.classifier_tags
        tags.input_tags = estimator_tags.input_tags
        tags.non_deterministic = estimator_tags.non_deterministic
        return tags


class NoiseSampler(BaseEstimator):
    """Make a noise a step of imbalanced-learn's `Pipeline`.

    That pipeline calls ``fit_resample`` in ``fit`` and skips the step in ``predict``. It refuses steps that have both
    ``fit_resample`` and ``transform``, so the noises themselves cannot have ``fit_resample``.

    Parameters
    ----------
    noise : SymmetricNoise, AsymmetricNoise, MatrixNoise, OpenSetNoise or SemanticNoise

    Attributes
    ----------
    noise_ : noise
        The copy of `noise` that corrupted the data.

    Examples
    --------
    >>> from sklearn_lec.noise import SymmetricNoise
    >>> X, y = NoiseSampler(SymmetricNoise(eps=0.5, random_state=0)).fit_resample([[1], [2]], [0, 1])
    >>> y
    array([0, 0])
    """

    def __init__(self, noise):
        self.noise = noise

    def fit_resample(self, X, y):
        """Return X and y with noise.

        Parameters
        ----------
        X : array-like, Tensor or DataFrame with n_samples samples
        y : array-like of shape (n_samples,)

        Returns
        -------
        X_noisy : like X
        y_noisy : array-like of shape (n_samples,)
        """
        self.noise_ = clone(self.noise)
        return self.noise_.corrupt(X, y)
