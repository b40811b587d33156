"""The preprocessing of the paper: ZCA whitening, for images and tables."""

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["ZCAWhitening"]


class ZCAWhitening(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Make features uncorrelated with unit variance, and change the data as little as possible.

    Whitened images still look like images, with stronger edges. The paper whitens CIFAR this way.

    Parameters
    ----------
    regularization : float, default=1e-5
        Added to the variance along each principal axis, so that directions with almost no variance are not amplified.
        The default is good for images in [0, 1]. It comes from Laine and Aila's temporal ensembling, whose network
        and preprocessing the paper uses.
    batch_size : int, default=2048
        Number of samples that are processed at once. It changes the memory in use, not the result.

    Attributes
    ----------
    mean_ : float64 ndarray of shape (n_features,)
    whitening_ : float32 ndarray of shape (n_features, n_features)
        Symmetric. A whitened sample is ``(x - mean_) @ whitening_``.
    unwhitening_ : float32 ndarray of shape (n_features, n_features)
        Its inverse.
    n_features_in_ : int
        Number of columns of a table, or of pixels times channels of an image.

    Notes
    -----
    Fitting reads the data once, in batches. It needs memory for a few matrices of n_features x n_features, and never
    for a copy of the whole data. Whitened data is float32 and has the shape of its input. For images, leave
    ``set_output`` at its default: a DataFrame has only two dimensions.

    References
    ----------
    A. J. Bell and T. J. Sejnowski, "The 'independent components' of natural scenes are edge filters", Vision Research
    37(23), 1997.

    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Section A.1.2.

    Examples
    --------
    >>> X = np.random.RandomState(0).normal(size=(500, 2)) @ [[2.0, 1.0], [0.0, 1.0]]
    >>> np.cov(ZCAWhitening().fit_transform(X), rowvar=False, bias=True).round(3) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, *, regularization=1e-5, batch_size=2048):
        self.regularization = regularization
        self.batch_size = batch_size

    def fit(self, X, y=None):
        """Learn the mean and the principal axes.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            A table or images.
        y : None
            Ignored.

        Returns
        -------
        self : ZCAWhitening
        """
        if not self.regularization >= 0:
            raise ValueError(f"regularization must be at least 0, got {self.regularization!r}.")
        X = self._check(X, reset=True)
        n_samples, n_features = len(X), self.n_features_in_
        # Double precision takes twice as long, which matters for images only: they have many features.
        precision = np.float64 if n_features <= 1024 else np.float32
        mean, scatter, n_seen = np.zeros(n_features), np.zeros((n_features, n_features)), 0
        for batch in gen_batches(n_samples, self.batch_size):
            # Each batch is centered on its own mean, and then merged. A sum of squares far from 0 would lose precision.
            samples = X[batch].reshape(-1, n_features)
            batch_mean = samples.mean(axis=0, dtype=np.float64)
            centered = (samples - batch_mean).astype(precision)
            shift, n_batch = batch_mean - mean, len(samples)
            scatter += centered.T @ centered
            scatter += np.outer(shift, shift * (n_seen * n_batch / (n_seen + n_batch)))
            n_seen += n_batch
            mean += shift * (n_batch / n_seen)
        variances, axes = np.linalg.eigh(scatter / n_samples)
        if self.regularization == 0:
            # In directions without variance there are only rounding errors.
            variances[variances < variances[-1] * n_features * np.finfo(precision).eps] = 0
        scale = np.sqrt(variances.clip(min=0) + self.regularization)
        inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
        self.mean_ = mean
        self.whitening_ = ((axes * inverse) @ axes.T).astype(np.float32)
        self.unwhitening_ = ((axes * scale) @ axes.T).astype(np.float32)
        return self

    def transform(self, X):
        """Whiten the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)

        Returns
        -------
        X_white : float32 ndarray of the shape of X
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        return self._in_batches(X, lambda samples: (samples - self.mean_).astype(np.float32) @ self.whitening_)

    def inverse_transform(self, X):
        """Undo the whitening.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)

        Returns
        -------
        X_original : float32 ndarray of the shape of X
        """
        check_is_fitted(self)
        X = check_array(X, allow_nd=True, input_name="X")
        self._check_n_features(X)
        return self._in_batches(X, lambda samples: samples.astype(np.float32) @ self.unwhitening_ + self.mean_)

    def _check(self, X, *, reset):
        """Return X as an array of finite numbers. Set the number of features if `reset`, otherwise check it."""
        if getattr(X, "ndim", 2) <= 2:
            return validate_data(self, X, reset=reset, dtype="numeric")
        X = check_array(X, allow_nd=True, input_name="X")
        if reset:
            self.n_features_in_ = int(np.prod(X.shape[1:]))
            vars(self).pop("feature_names_in_", None)  # of a table that was fitted before
        self._check_n_features(X)
        return X

    def _check_n_features(self, X):
        n_features = int(np.prod(X.shape[1:]))
        if n_features != self.n_features_in_:
            raise ValueError(
                f"X has {n_features} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                f"as input: samples have shape {X.shape[1:]}."
            )

    def _in_batches(self, X, function):
        """Apply a function on tables to X, which may be images, batch by batch."""
        result = np.empty(X.shape, dtype=np.float32)
        for batch in gen_batches(len(X), self.batch_size):
            samples = X[batch].reshape(-1, self.n_features_in_)
            result[batch] = function(samples).reshape(-1, *X.shape[1:])
        return result

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
