"""What a fitted classifier tells: the samples it selected, the shares and the warm-up in use, attributes of methods."""

import numpy as np
from sklearn.exceptions import NotFittedError

from sklearn_lec._validation import is_number
from sklearn_lec.estimation.noise_estimate import NoiseEstimate

__all__ = ["FittedAttributes"]


class FittedAttributes:
    """The fitted attributes of `LECClassifier` that are read from its method, and documented there."""

    @property
    def clean_mask_(self):
        """The samples that the last finished epoch learned from."""
        return self._record().last.cpu().numpy().copy()  # the buffer is used again in the next epoch

    @property
    def clean_score_(self):
        """The share of epochs after the warm-up in which each sample was selected."""
        return self._record().score.cpu().numpy()

    @property
    def eps_(self):
        """The share of wrong labels in use."""
        return self._in_use("eps")

    @property
    def T_w_(self):  # noqa: N802
        """The epochs of warm-up."""
        return self._in_use("T_w")

    @property
    def eps_per_class_(self):
        """The share of wrong labels among the samples given each label, where it was estimated or given."""
        self._record()
        if self.method_.eps_of_labels is not None:
            return self.method_.eps_of_labels.cpu().numpy().copy()
        if self.method_.noise_estimate is not None:
            return self.noise_estimate_.per_class
        raise AttributeError(f"there are no shares of classes: eps={self.eps!r}. Set eps='auto', or one per class.")

    @property
    def noise_estimate_(self):
        """The estimate that ``eps="auto"`` or ``corruption_matrix="auto"`` has made."""
        self._record()
        if self.method_.noise_estimate is None:
            why = f"method={self.method!r} with eps={self.eps!r} has made none"
            if "eps" in self.method_.settled:
                why = "that of eps_ was made for the data of an earlier call"
            raise AttributeError(
                f"there is no estimate for these samples: {why}. Call fit with eps='auto', or "
                "sklearn_lec.estimation.estimate_noise."
            )
        return NoiseEstimate.from_state(self.method_.noise_estimate, classes=self.classes_)

    def find_label_issues(self, X=None, y=None, *, ranked=False):
        """Return a table of the samples that says which labels are probably wrong, and what they should be.

        Parameters
        ----------
        X, y : as for ``fit``, default=None
            None stands for the samples of ``fit``. Samples that are not those of ``fit`` are judged by what the network
            predicts for them.
        ranked : bool, default=False
            Whether to return only the samples whose label is probably wrong, the worst first.

        Returns
        -------
        issues : DataFrame with a line for each sample
            See `sklearn_lec.inspection.find_label_issues`.
        """
        from sklearn_lec.inspection import find_label_issues

        return find_label_issues(self, X, y, ranked=ranked)

    def _in_use(self, name):
        """Return a parameter as the method uses it: as it was set, or what was found for it."""
        method = vars(self).get("method_")
        if method is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first.")
        value = getattr(method, name, getattr(self, name))
        if is_number(value) or isinstance(value, np.generic):
            return value
        if method.record is None:
            raise NotFittedError(f"{name}={value!r} is settled in training; call fit first.")
        if name == "eps" and "eps" in method.get_params(deep=False):
            return 0.0  # there could be no estimate, and nothing was left out
        raise AttributeError(f"method={self.method!r} does not use {name}, so that {name}={value!r} was left open.")

    def _record(self):
        record = getattr(vars(self).get("method_"), "record", None)
        if record is None:
            raise NotFittedError(f"this {type(self).__name__} has no record of samples yet; call fit first.")
        return record

    def __getattr__(self, name):
        """Look up fitted attributes of the method, such as ``corruption_matrix_``, that the estimator has not."""
        own = getattr(type(self), name, None)
        if isinstance(own, property):  # Python asks here, too, when a property raises an AttributeError
            return own.fget(self)
        method = vars(self).get("method_")
        if name.endswith("_") and not name.startswith("_") and hasattr(method, name) and method.record is not None:
            return getattr(method, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
