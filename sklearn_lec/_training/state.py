"""All that a training goes on with, as tensors and plain values: taken from a net, and put back into one."""

import random
from collections import Counter, OrderedDict
from collections.abc import Iterator

import numpy as np
import torch
from skorch.history import History
from torch import nn

__all__ = ["decode", "encode", "generator_state", "hidden_attributes", "net_state", "restore", "set_generator_state"]


def net_state(net) -> dict:
    """Return the state of a net between two epochs, without random numbers."""
    method = net.method_.state_dict()
    return {
        "modules": {name: _module_state(module) for name, module in _modules(net).items()},
        "optimizers": {name: optimizer.state_dict() for name, optimizer in _optimizers(net).items()},
        "method": method | {"state": encode(method["state"], "method_")},
        "history": encode(net.history.to_list(), "history"),
        "callbacks": {name: _callback_state(callback, name) for name, callback in net.callbacks_},
    }


def restore(net, state: dict, *, n_samples: int) -> list[str]:
    """Bring a net into a state that `net_state` returned, and return what could not be put back.

    Parameters
    ----------
    net : LECClassifier
        Initialized as the one that the state was taken from.
    state : dict
    n_samples : int
        How many samples the method must know.
    """
    for name, module in _modules(net).items():
        _restore_module(module, state["modules"][name])
    for name, optimizer in _optimizers(net).items():
        optimizer.load_state_dict(state["optimizers"][name])
    device = next((parameter.device for parameter in net.module_.parameters()), net.device)
    net.method_.load_state_dict(_on(device, decode(state["method"])))
    record = net.method_.record
    tables = [] if record is None else [record.current, record.last, record.counts]
    if record is not None:
        tables += [*record.memory.values(), *record.predictions.values()]
        tables += [table for table in (record.candidates, record.trusted) if table is not None]
    if {len(table) for table in tables} - {n_samples}:
        raise ValueError(f"the method's memory is not one of {n_samples} samples")
    epochs = decode(state["history"])
    if not all(isinstance(epoch, dict) and isinstance(epoch["batches"], list) for epoch in epochs):
        raise TypeError("the history is not a list of epochs")
    net.history = History(epochs)
    return [
        f"callbacks.{name}.{attribute}"
        for name, callback in net.callbacks_
        for attribute in _restore_callback(callback, state["callbacks"].get(name, {}))
    ]


# --- modules ------------------------------------------------------------------------------------------------------


def _modules(net) -> dict[str, nn.Module]:
    """Return the networks and criteria of a net by their names, whatever subclasses have called them."""
    parts = {f"{name}_": getattr(net, f"{name}_") for name in (*net._modules, *net._criteria)}
    # What torch.compile wraps around a module is no part of the training.
    return {name: getattr(part, "_orig_mod", part) for name, part in parts.items() if isinstance(part, nn.Module)}


def _optimizers(net) -> dict[str, torch.optim.Optimizer]:
    """Return the optimizers of a net by their names."""
    return {f"{name}_": getattr(net, f"{name}_") for name in net._optimizers}


def _module_state(module: nn.Module) -> dict:
    """Return the weights and buffers of a module, which of them are trained, and what its parts remember otherwise."""
    return {
        "state": module.state_dict(),
        "attributes": _module_attributes(module),
        "trainable": {name: p.requires_grad for name, p in module.named_parameters()},
    }


def _restore_module(module: nn.Module, state: dict) -> None:
    """Put back what `_module_state` returned."""
    module.load_state_dict(state["state"])
    _restore_attributes(module, state["attributes"])
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(state["trainable"][name])


_OF_EVERY_MODULE = vars(nn.Module()).keys()


def _own_attributes(module: nn.Module) -> Iterator[tuple[str, str, object]]:
    """Yield the path, the name and the value of what the parts of a module remember in attributes of their own.

    Not what leads to a parameter or a buffer, such as the list of weights in `nn.LSTM`: those are saved as such.
    """
    saved = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    for path, part in module.named_modules():
        for name, value in vars(part).items():
            tensors = list(_tensors_in(value))
            leads_to_saved = any(id(tensor) in saved or tensor.requires_grad for tensor in tensors)
            if name not in _OF_EVERY_MODULE and not leads_to_saved:
                yield path, name, value


def _tensors_in(value) -> Iterator[torch.Tensor]:
    """Yield the tensors in lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors_in(part)


def _module_attributes(module: nn.Module) -> dict:
    """Return what ``state_dict`` leaves out: buffers that are not saved, and plain values in attributes."""
    saved = module.state_dict().keys()
    attributes = [(path, name, value) for path, name, value in _own_attributes(module) if _is_plain(value)]
    return {
        "buffers": {name: buffer for name, buffer in module.named_buffers() if name not in saved},
        "values": [(path, name, encode(value, name)) for path, name, value in attributes],
    }


def _restore_attributes(module: nn.Module, state: dict) -> None:
    """Put back what `_module_attributes` returned."""
    parts = dict(module.named_modules())
    for full_name, value in state["buffers"].items():
        path, _, name = full_name.rpartition(".")
        setattr(parts[path], name, value.to(getattr(parts[path], name).device))
    for path, name, value in state["values"]:
        before = getattr(parts[path], name, None)
        value = decode(value)
        setattr(parts[path], name, _on(before.device, value) if isinstance(before, torch.Tensor) else value)


def hidden_attributes(net) -> dict[str, object]:
    """Return what networks, criteria and callbacks remember in attributes that `net_state` cannot save."""
    of_modules = {
        ".".join(filter(None, (kind, path, name))): value
        for kind, module in _modules(net).items()
        for path, name, value in _own_attributes(module)
    }
    of_callbacks = {
        f"callbacks.{name}.{attribute}": value
        for name, callback in net.callbacks_
        if not _is_of_library(callback)
        for attribute, value in vars(callback).items()
        if not _has_state(value)
    }
    return {name: value for name, value in (of_modules | of_callbacks).items() if not _is_plain(value)}


# --- callbacks ----------------------------------------------------------------------------------------------------


def _callback_state(callback, callback_name: str) -> dict:
    """Return the attributes of a callback that can be saved; of skorch's own those that training sets."""
    state = {}
    for name, value in vars(callback).items():
        if _is_of_library(callback) and not name.endswith("_"):
            continue
        if _has_state(value):
            state[name] = {"state_dict": encode(_plain_part(value.state_dict()), f"{callback_name}.{name}")}
        elif _is_plain(value):
            state[name] = {"value": encode(value, name)}
    return state


def _is_of_library(callback) -> bool:
    """Return whether a callback sets nothing in a training but attributes whose names end in an underscore."""
    return type(callback).__module__.partition(".")[0] in ("skorch", "sklearn_lec")


def _has_state(value) -> bool:
    """Return whether a value saves its state by itself, as a scheduler does."""
    return hasattr(value, "state_dict") and not isinstance(value, type)


def _restore_callback(callback, state: dict) -> list[str]:
    """Put back what `_callback_state` returned; return the attributes that the callback makes later by itself."""
    missing = [name for name, saved in state.items() if "state_dict" in saved and not hasattr(callback, name)]
    for name, saved in state.items():
        if "value" in saved:
            setattr(callback, name, decode(saved["value"]))
        elif name not in missing:
            getattr(callback, name).load_state_dict(decode(saved["state_dict"]))
    return missing


# --- random numbers -----------------------------------------------------------------------------------------------


def generator_state(generator):
    """Return the state of a random number generator, as `encode` makes it."""
    if isinstance(generator, torch.Generator):
        return generator.get_state()
    if isinstance(generator, random.Random):
        return encode(generator.getstate(), "random")
    bits = generator.bit_generator if isinstance(generator, np.random.Generator) else generator
    return encode(bits.state if isinstance(generator, np.random.Generator) else bits.get_state(), "random")


def set_generator_state(generator, state) -> None:
    """Put a generator into a state that `generator_state` returned."""
    if isinstance(generator, torch.Generator):
        generator.set_state(state.cpu())
    elif isinstance(generator, random.Random):
        generator.setstate(decode(state))
    elif isinstance(generator, np.random.Generator):
        generator.bit_generator.state = decode(state)
    else:
        generator.set_state(decode(state))


# --- plain values -------------------------------------------------------------------------------------------------

TAG = "__sklearn_lec__"
"""The key of a dict that stands for another kind of value."""


def _is_plain(value) -> bool:
    """Return whether `encode` takes a value."""
    try:
        encode(value, "")
    except TypeError:
        return False
    return True


def _plain_part(value):
    """Return a value without the entries of dicts that `encode` does not take: functions, in a scheduler's state."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(map(_plain_part, value))
    if type(value) in (dict, OrderedDict):
        return {
            key: _plain_part(part) for key, part in value.items() if isinstance(part, (dict, list)) or _is_plain(part)
        }
    return value


def encode(value, where: str):
    """Return `value` as tensors and plain Python, which loading without executing code can take.

    Parameters
    ----------
    value : number, text, array, tensor, None, or a dict, list, tuple or Counter of them
    where : str
        What it is, for the error.

    Returns
    -------
    encoded : object
        `decode` makes the value of it again.
    """
    if type(value) is Counter or (type(value) in (dict, OrderedDict) and TAG in value):
        # MultiStepLR counts its milestones.
        return {TAG: type(value).__name__, "items": [encode(list(item), where) for item in value.items()]}
    if type(value) in (dict, OrderedDict):
        return {encode(key, where): encode(part, f"{where}.{key}") for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(encode(part, where) for part in value)
    if isinstance(value, np.generic):
        return encode(value.item(), where)
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        array = torch.from_numpy(np.array(value, dtype=_storable(value.dtype)))
        return {TAG: "ndarray", "values": array, "dtype": value.dtype.str}
    # Not subclasses, such as enumerations: loading would refuse them.
    if value is None or type(value) in (bool, int, float, str, torch.Tensor, nn.Parameter):
        return value
    raise TypeError(
        f"checkpoint_dir cannot save {where}, which is a {type(value).__name__}: only numbers, text and arrays."
    )


def decode(value):
    """Return what `encode` was given."""
    if isinstance(value, dict) and TAG in value:
        if value[TAG] == "ndarray":
            return value["values"].cpu().numpy().astype(value["dtype"])
        items = dict(map(decode, value["items"]))
        return Counter(items) if value[TAG] == "Counter" else items
    if isinstance(value, dict):
        return {key: decode(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(decode, value))
    return value


def _on(device, value):
    """Return a value with the tensors in it on a device, if it can hold them."""
    if isinstance(value, torch.Tensor):
        is_held = value.dtype != torch.float64 or torch.device(device).type != "mps"
        return value.to(device) if is_held else value
    if isinstance(value, dict):
        return {key: _on(device, part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_on(device, part) for part in value)
    return value


def _storable(dtype):
    """Return a dtype that torch has and that holds every value of `dtype`."""
    return np.int64 if dtype.kind == "u" and dtype.itemsize < 8 else dtype
