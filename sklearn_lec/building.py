"""From parameters and data to the method and its networks."""

import inspect
import re

from torch import nn

from sklearn_lec.methods import METHODS
from sklearn_lec.methods.parameters import check_parameters, warn_of_unused_parameters
from sklearn_lec.modules import Committee

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

    def get_all_learnable_params(self):
        """Yield names and parameters; those of a committee bear the names that they have in their own network."""
        in_committee = self.method_.n_networks > 1
        for name, parameter in super().get_all_learnable_params():
            yield re.sub(r"^(_orig_mod\.)?networks\.\d+\.", "", name) if in_committee else name, parameter

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
