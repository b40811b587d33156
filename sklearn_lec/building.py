"""From parameters and data to the method and its networks."""

import inspect
import re

import numpy as np
from skorch.dataset import get_len
from torch import nn
from torch.optim import Adam, AdamW
from torch.utils.data import Dataset

from sklearn_lec.data import module_arguments, row_shape
from sklearn_lec.labels import LabelCodes, Relabelled, labels_of
from sklearn_lec.methods import METHODS
from sklearn_lec.methods.parameters import check_parameters, warn_of_too_few_epochs, warn_of_unused_parameters
from sklearn_lec.modules import Committee
from sklearn_lec.validation import check_classes, check_inputs, check_labels

__all__ = ["NetworkBuildingMixin"]


class NetworkBuildingMixin:
    """Give a skorch net a `Method`, and as many networks as it trains."""

    module_arguments_ = {}

    def initialize_module(self):
        """Build the method, and as many networks as it trains."""
        self.method_ = self._new_method()
        self.eps_ = self.eps
        n_networks = self.method_.n_networks
        if n_networks > 1 and isinstance(self.module, nn.Module):
            raise TypeError(
                f"method={self.method!r} trains {n_networks} networks that start from different weights, but module is "
                f"an instance of {type(self.module).__name__}. Pass what makes a new one: the class, its arguments as "
                "module__name=..., or a function that returns the network."
            )
        with self._random_numbers(restart=False):
            networks = [self._new_network() for _ in range(n_networks)]
        self.module_ = networks[0] if n_networks == 1 else Committee(networks)
        return self

    def _examine(self, X, y, *, classes, from_scratch):
        X = check_inputs(self, X, reset=from_scratch)
        n_rows = len(X) if isinstance(X, Dataset) else get_len(X)
        if y is None and not isinstance(X, Dataset):
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Only a Dataset that yields "
                "(x, y) brings its own labels."
            )
        if y is None:
            y = check_labels(labels_of(X), n_rows=n_rows)
        else:
            y = check_labels(y, n_rows=n_rows)
            X = Relabelled(X, y) if isinstance(X, Dataset) else X
        learned = None if from_scratch else vars(self).get("classes_inferred_")
        known = classes if classes is not None else self.classes if self.classes is not None else learned
        if learned is not None and not np.array_equal(known, learned):
            raise ValueError(
                f"classes={np.asarray(known).tolist()} are not those of the training under way, {learned.tolist()}, to "
                "which the outputs of the network belong. Call fit to start with other classes."
            )
        self.classes_inferred_ = check_classes(y, known=known)
        self.label_codes_ = LabelCodes(self.classes_inferred_)
        self.module_arguments_ = module_arguments(row_shape(X), len(self.classes_inferred_))
        return X, y

    def check_data(self, X, y):
        """Do nothing: X and y have been examined before the network was built."""

    def get_all_learnable_params(self):
        """Yield names and parameters; those of a committee bear the names that they have in their own network."""
        in_committee = self.method_.n_networks > 1
        for name, parameter in super().get_all_learnable_params():
            yield re.sub(r"^(_orig_mod\.)?networks\.\d+\.", "", name) if in_committee else name, parameter

    def get_params_for_optimizer(self, prefix, named_parameters):
        """Return the arguments of an optimizer; Adam is fused, unless the user has said how it is to be computed.

        torch's default on the CPU, a dozen operations per tensor, takes up to a fifth of a small network's training.
        """
        groups, arguments = super().get_params_for_optimizer(prefix, named_parameters)
        parameters = [parameter for group in groups[0] for parameter in group["params"]]
        is_left_open = not arguments.keys() & {"fused", "foreach", "capturable", "differentiable"}
        can_be_fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters)
        if getattr(self, prefix, None) in (Adam, AdamW) and is_left_open and can_be_fused:
            arguments["fused"] = True
        return groups, arguments

    @classmethod
    def method_defaults(cls):
        """Return the default values of the parameters of all methods, by name."""
        # A subclass may pass parameters on as keywords: the nearest constructor that names one has its default.
        constructors = [inspect.signature(parent.__init__).parameters for parent in reversed(cls.__mro__[:-1])]
        defaults = {name: parameter.default for parameters in constructors for name, parameter in parameters.items()}
        return {name: defaults[name] for name in sorted(set().union(*(m.parameters for m in METHODS.values())))}

    def _method_values(self):
        return {name: getattr(self, name) for name in self.method_defaults()}

    def _check_method_parameters(self):
        check_parameters(METHODS, method=self.method, **self._method_values())

    def _warn_of_unused_parameters(self):
        used = METHODS[self.method].parameters
        warn_of_unused_parameters(self.method, used, values=self._method_values(), defaults=self.method_defaults())

    def _warn_of_too_few_epochs(self, n_epochs):
        warn_of_too_few_epochs(METHODS[self.method].parameters, n_epochs, values=self._method_values())

    def _new_method(self):
        self._check_method_parameters()
        method = METHODS[self.method]
        return method(**{name: getattr(self, name) for name in method.parameters})

    def _adopt_parameters(self):
        """Let the training under way go on with the parameters as they are now."""
        method = self._new_method()
        if type(method) is not type(self.method_) or method.n_networks != self.method_.n_networks:
            raise ValueError(
                f"the training under way is one of {type(self.method_).__name__} with {self.method_.n_networks} "
                f"network(s); method={self.method!r}, M={self.M} cannot go on with it. Call fit, or initialize first."
            )
        method.load_state_dict(self.method_.state_dict())
        self.method_, self.eps_ = method, self.eps

    def _new_network(self):
        arguments = self.get_params_for("module")
        if not isinstance(self.module, nn.Module):
            accepted = inspect.signature(self.module).parameters
            known = {name: value for name, value in self.module_arguments_.items() if name in accepted}
            arguments = known | arguments
        return self.initialized_instance(self.module, arguments)
