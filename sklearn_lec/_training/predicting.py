"""Probabilities and labels that a trained net predicts."""

import numpy as np
from sklearn.exceptions import NotFittedError

from sklearn_lec._training.labels import known_classes
from sklearn_lec._training.warn import warn_caller
from sklearn_lec._validation import check_inputs

__all__ = ["Predictions"]


class Predictions:
    """What `LECClassifier` predicts."""

    def predict_proba(self, X):
        """Return the probability of each class, averaged over the networks if there are several.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        self.check_is_fitted()
        probabilities = super().predict_proba(check_inputs(self, X, reset=False))
        without = np.isnan(probabilities).any(axis=-1)
        if without.any():
            warn_caller(
                f"the network returns NaN for {without.sum()} of {len(without)} samples, the first of them is sample "
                f"{without.argmax()}: its values may be too large, or the training has failed."
            )
        return probabilities

    def predict_log_proba(self, X):
        """Return the logarithm of the probability of each class; -inf where that is 0.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X):
        """Return the most probable label of each sample.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        classes = known_classes(self.classes, learned=vars(self).get("classes_inferred_"))
        if classes is None and self.is_loaded_:
            raise NotFittedError(
                f"this {type(self).__name__} has loaded a network but no classes, so that predictions would be numbers "
                "and not labels. Set classes; a file that LECClassifier.save_params(f_params=...) has written has them."
            )
        codes = self.predict_proba(X).argmax(axis=1)
        # A network that comes with the module, and was neither trained nor loaded here, has numbers only, as in skorch.
        return codes if classes is None else classes[codes]
