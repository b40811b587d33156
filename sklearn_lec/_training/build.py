"""From parameters and data to the method and its networks."""

import inspect
import reprlib
import warnings
from collections.abc import Container, Mapping
from functools import lru_cache, partial
from numbers import Integral

import numpy as np
import torch
from scipy.sparse import issparse
from torch import nn
from torch.optim import Adam, AdamW
from torch.utils.data import Dataset

from sklearn_lec._training.batches import arrays_in_memory, reference_parameter, to_like, without_subsets
from sklearn_lec.methods import METHODS, Method, as_method
from sklearn_lec.methods.parameters import ESTIMATOR_PARAMETERS, check_parameters
from sklearn_lec.modules import NetworkEnsemble

__all__ = [
    "batch_size_of",
    "check_forward",
    "data_on_device",
    "fused_adam",
    "method_defaults",
    "module_arguments",
    "new_method",
    "new_module",
    "refuse_several_processes",
    "sample_shape",
    "updated_method",
    "warn_of_unused_parameters",
]


@lru_cache
def method_defaults(estimator_class: type) -> dict[str, object]:
    """Return the parameters of an estimator that are there for methods, with their defaults.

    Parameters
    ----------
    estimator_class : LECClassifier or a subclass

    Returns
    -------
    defaults : dict
    """
    # A subclass may pass parameters on as keywords: the nearest constructor that names one has its default.
    constructors = [inspect.signature(parent.__init__).parameters for parent in reversed(estimator_class.__mro__[:-1])]
    defaults = {name: parameter.default for parameters in constructors for name, parameter in parameters.items()}
    return {name: defaults[name] for name in ESTIMATOR_PARAMETERS}


def new_method(net) -> Method:
    """Return a new method, its parameters checked; those that it leaves open are taken from the net."""
    method = as_method(net.method)
    of_net = net.get_params(deep=False)
    check_parameters(of_net)
    left_open = [name for name, value in method.get_params(deep=False).items() if value is None and name in of_net]
    method.set_params(**{name: of_net[name] for name in left_open})
    method.check()
    _set_number_of_networks(method, net)
    return method


def _set_number_of_networks(method: Method, net) -> None:
    """Let the method train as many networks as the net says, if it leaves that open."""
    n_networks = net.n_networks
    if n_networks is None:
        return
    if not isinstance(n_networks, Integral) or isinstance(n_networks, bool):
        raise TypeError(f"n_networks must be a whole number or None, got {n_networks!r}.")
    if n_networks < 1:
        raise ValueError(f"n_networks must be at least 1, got {n_networks}.")
    if method.averages_networks:
        method.n_networks = int(n_networks)
    elif n_networks != method.n_networks:
        free = ", ".join(name for name, known in METHODS.items() if known.averages_networks)
        raise ValueError(
            f"n_networks={n_networks} does not fit method={net.method!r}, which trains {method.n_networks} network(s). "
            f"Leave n_networks at None. Any number can be trained by {free}."
        )


def updated_method(net) -> Method:
    """Return the method of a net whose training goes on, with the parameters as they are now."""
    method = new_method(net)
    if type(method) is not type(net.method_) or method.n_networks != net.method_.n_networks:
        raise ValueError(
            f"the training under way is one of {type(net.method_).__name__} with {net.method_.n_networks} "
            f"network(s); method={net.method!r}, M={net.M}, n_networks={net.n_networks} cannot go on with it. Set "
            "warm_start=False and call fit, or call initialize first."
        )
    record = net.method_.record
    declared = {} if record is None else method.sample_memory(len(net.classes_inferred_))
    shapes = {name: torch.as_tensor(value).shape for name, value in declared.items()}
    if record is not None and shapes != {name: table.shape[1:] for name, table in record.memory.items()}:
        raise ValueError(f"method={net.method!r} remembers more or less of each sample than before. Call fit.")
    method.load_state_dict(net.method_.state_dict())
    return method


def warn_of_unused_parameters(net) -> None:
    """Warn of parameters that were set on the net although its method does not take them from there.

    Except `eps`: it says something about the data, and methods are often compared on the same data.
    """
    method = as_method(net.method)
    own = method.get_params(deep=False)
    taken = [name for name, value in own.items() if value is None]
    for name, default in method_defaults(type(net)).items():
        value = getattr(net, name)
        # An array is never a default, and cannot be compared to one.
        is_set = value is not default and (default is None or np.ndim(value) > 0 or value != default)
        if is_set and name not in taken and (name != "eps" or name in own):
            why = "sets its own" if name in own else "does not use it"
            warnings.warn(
                f"{name}={reprlib.repr(value)} has no effect: method={net.method!r} {why}. It takes "
                f"{', '.join(taken) or 'no parameter from the estimator'}.",
                stacklevel=4,
            )


def refuse_several_processes(net) -> None:
    """Raise an error if the net is trained by several processes, which would each train on all samples."""
    n_processes = getattr(getattr(net, "accelerator", None), "num_processes", 1)
    if n_processes > 1:
        raise RuntimeError(
            f"{type(net).__name__} was started with {n_processes} processes, but the samples are not divided among "
            "them: each would train on all of them. Start it with one process."
        )


def check_forward(module, X) -> None:
    """Raise an error if X is a dict with parts that the network does not take.

    Parameters
    ----------
    module : torch module class or instance, or another callable that makes one, of which nothing is known
    X : the inputs, of any kind
    """
    is_module = isinstance(module, nn.Module) or (isinstance(module, type) and issubclass(module, nn.Module))
    if not (isinstance(X, Mapping) and is_module):
        return
    parameters = inspect.signature(module.forward).parameters
    unknown = [name for name in X if name not in parameters]
    if unknown and not any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters.values()):
        taken = ", ".join(name for name in parameters if name != "self")
        raise TypeError(
            f"X is a dict, whose parts are passed to the module's forward by name, but {_name(module)}.forward does "
            f"not take {unknown[0]!r}; it takes {taken}. Pass a module with forward(self, {', '.join(map(str, X))}), "
            "or a single array as X."
        )


def new_module(net, n_networks: int) -> nn.Module:
    """Return a new network, or an ensemble of as many as the method trains."""
    is_method = isinstance(net.module, Method) or (isinstance(net.module, type) and issubclass(net.module, Method))
    if is_method or not callable(net.module):
        raise TypeError(
            "module must be a torch module, its class, or a function that returns one, got "
            f"{net.module!r}. A method is the argument method, as in LECClassifier(method='ltec')."
        )
    if n_networks > 1 and isinstance(net.module, nn.Module):
        raise TypeError(
            f"method={net.method!r} trains {n_networks} networks that start from different weights, but module is "
            f"an instance of {type(net.module).__name__}. Pass what makes a new one: the class, its arguments as "
            "module__name=..., or a function that returns the network."
        )
    networks = [_new_network(net) for _ in range(n_networks)]
    return networks[0] if n_networks == 1 else NetworkEnsemble(networks)


def _new_network(net) -> nn.Module:
    """Return a new network; arguments that the data tells are filled in if the constructor has them."""
    arguments = net.get_params_for("module")
    if not isinstance(net.module, nn.Module):
        left_open = _accepted(net.module, arguments) - arguments.keys()
        has_seen_data = "classes_inferred_" in vars(net)
        if has_seen_data:
            arguments |= module_arguments(left_open, net.sample_shape_, len(net.classes_inferred_))
        _check_arguments(net.module, arguments, has_seen_data=has_seen_data)
    return net.initialized_instance(net.module, arguments)


def _accepted(module, given: dict) -> set[str]:
    """Return the names of the arguments that a module class, or a function that makes a network, is known to take."""
    names = set(inspect.signature(module).parameters)
    function, bound = (module.func, module.keywords) if isinstance(module, partial) else (module, {})
    # torchvision's functions pass **kwargs on to a network that takes num_classes, unless pretrained weights fix it.
    # What other functions do with **kwargs is not known: they get nothing that they do not name.
    is_of_torchvision = str(getattr(function, "__module__", None)).startswith("torchvision.models.")
    is_pretrained = any((bound | given).get(name) for name in ("weights", "pretrained"))
    return names | {"num_classes"} if is_of_torchvision and "kwargs" in names and not is_pretrained else names


def _check_arguments(module, arguments: dict, *, has_seen_data: bool) -> None:
    """Raise an error if a network cannot be built because an argument is missing."""
    parameters = inspect.signature(module).parameters.items()
    missing = [name for name, parameter in parameters if _is_required(parameter) and name not in arguments]
    if missing:
        why = "this X does not tell" if has_seen_data else "fit may find in X and y, but there is no data yet"
        hint = "" if has_seen_data else " load_params with a file of LECClassifier.save_params needs no more."
        raise TypeError(
            f"{_name(module)} needs {' and '.join(missing)}, which {why}. Set "
            f"{', '.join(f'module__{name}=...' for name in missing)}.{hint}"
        )


def _name(module) -> str:
    """Return the name of a module class, or of the class of an instance."""
    return getattr(module, "__name__", type(module).__name__)


def _is_required(parameter: inspect.Parameter) -> bool:
    """Return whether an argument has to be passed."""
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def fused_adam(optimizer, parameters: list[nn.Parameter], arguments: dict) -> dict:
    """Return the arguments of an optimizer; Adam is fused, unless the user has said how it is to be computed.

    torch's default on the CPU, a dozen operations per tensor, takes up to a fifth of a small network's training.

    Parameters
    ----------
    optimizer : optimizer class
    parameters : list of nn.Parameter
    arguments : dict
        Those that the user has set.

    Returns
    -------
    arguments : dict
    """
    is_left_open = not arguments.keys() & {"fused", "foreach", "capturable", "differentiable"}
    can_be_fused = all(p.is_floating_point() and p.device.type in ("cpu", "cuda") for p in parameters)
    fuse = optimizer in (Adam, AdamW) and is_left_open and can_be_fused
    return arguments | {"fused": True} if fuse else arguments


def batch_size_of(net, n_samples: int) -> int:
    """Return how many samples there are in a batch of a training on `n_samples`."""
    batch_size = net.get_params_for("iterator_train").get("batch_size", net.batch_size)
    return n_samples if batch_size in (-1, None) else batch_size


def data_on_device(net, dataset: Dataset) -> tuple | None:
    """Return all of X, on the device and in the precision of the network, and y; None if batches are moved one by one.

    Parameters
    ----------
    net : LECClassifier
        Initialized; its parameter ``data_on_device`` decides.
    dataset : torch Dataset

    Returns
    -------
    arrays : tuple (X, y) or None
    """
    if not isinstance(net.data_on_device, bool | np.bool_):
        raise TypeError(f"data_on_device must be True or False, got {net.data_on_device!r}.")
    if not net.data_on_device:
        return None
    arrays = arrays_in_memory(without_subsets(dataset)[0])
    in_the_way = [
        f"{iterator}__{name}"
        for iterator in ("iterator_train", "iterator_valid")
        for name, value in net.get_params_for(iterator).items()
        if name in ("num_workers", "pin_memory", "collate_fn") and value
    ]
    parts = [] if arrays is None else arrays[0].values() if isinstance(arrays[0], Mapping) else [arrays[0]]
    is_sparse = any(issparse(part) for part in parts)
    if arrays is None or is_sparse or in_the_way:
        of_X = "X is sparse and made dense batch by batch" if is_sparse else "X loads its samples"
        reason = f"{in_the_way[0]} is set" if in_the_way else of_X
        raise ValueError(
            f"data_on_device=True moves X to the device as a whole and takes batches from it there, but {reason}. "
            "Leave data_on_device False, or pass dense arrays or tensors and plain batches."
        )
    X, y = arrays
    return to_like(X, reference_parameter(net.module_)), y


def sample_shape(X) -> tuple[int, ...] | None:
    """Return the shape of one sample of X, or None if a sample is not a single array."""
    if issparse(X):  # whose samples are matrices, too
        return X.shape[1:]
    if isinstance(X, Dataset):
        X = [X[0][0]]
    sample = None if isinstance(X, Mapping) else X[0]
    return tuple(sample.shape) if hasattr(sample, "shape") else None


def module_arguments(names: Container[str], shape: tuple[int, ...] | None, num_classes: int) -> dict[str, int]:
    """Return what the shape of a sample and the number of classes tell about a network's arguments.

    Parameters
    ----------
    names : container of str
        The arguments that are left open; others are not looked at.
    shape : tuple of int or None
        Shape of one sample: (features,), (channels, height, width), (height, width, channels) or (height, width). None
        if X is not a single array.
    num_classes : int

    Returns
    -------
    arguments : dict
        ``num_classes``, and where they make sense ``in_features`` and ``in_channels``.

    Examples
    --------
    >>> module_arguments(["in_channels", "num_classes"], (3, 32, 32), 10)
    {'num_classes': 10, 'in_channels': 3}
    """
    arguments = {"num_classes": num_classes}
    if shape is not None:
        arguments["in_features"] = int(np.prod(shape))
    if shape is not None and len(shape) in (2, 3) and "in_channels" in names:
        arguments["in_channels"] = _n_channels(shape)
    return {name: value for name, value in arguments.items() if name in names}


def _n_channels(shape: tuple[int, ...]) -> int:
    """Return the number of channels of an image, or raise an error if its shape leaves that open."""
    if len(shape) == 2:
        return 1
    first, middle, last = shape
    if last <= 4 < first:
        return last
    if middle == last or (first < last and first != middle):
        return first
    raise ValueError(
        f"samples of X have the shape {shape}: these may be {first} channels of {middle}x{last} pixels, or {last} "
        f"channels of {first}x{middle}. Set module__in_channels={first} or module__in_channels={last}."
    )
