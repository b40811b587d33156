"""What a network was built from, saved beside its parameters: a new estimator can load them without the data.

torch keeps notes on the modules of a ``state_dict``, in which it writes their versions, and safetensors have a header.
The classes and the shape of a sample are added there. Others read these files as before.
"""

import json
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from skorch.history import History

from sklearn_lec._training.labels import known_classes

__all__ = [
    "check_description",
    "describing_data",
    "description_in",
    "file_of_params",
    "save_safetensors",
    "take_description",
]

KEY = "sklearn_lec"
LONGEST_HEADER = 100_000_000
"""In bytes, as safetensors themselves have it."""


@contextmanager
def describing_data(net):
    """Let the ``state_dict`` of the network say what data it is for, if that is known, for the length of a block."""
    description = describe_data(net)
    if description is None:
        yield
        return
    # The public register_state_dict_post_hook is newer than the oldest torch that is supported.
    hook = net.module_._register_state_dict_hook(
        lambda module, state_dict, prefix, metadata: metadata.update({KEY: description})
    )
    try:
        yield
    finally:
        hook.remove()


def save_safetensors(net, f_params) -> None:
    """Write the parameters of the network, and what data it is for, to a path or an open file."""
    from safetensors.torch import save  # as in skorch, needed by those who ask for it

    content = save(net.module_.state_dict(), metadata={KEY: json.dumps(describe_data(net))})
    with Path(f_params).open("wb") if _is_path(f_params) else nullcontext(f_params) as file:
        file.write(content)


def describe_data(net) -> dict | None:
    """Return the classes of a net and the shape of its samples, as plain values.

    Parameters
    ----------
    net : LECClassifier

    Returns
    -------
    description : dict or None
        `take_description` gives it to another net. None if there is no network, or if its classes are not known, or are
        neither words nor numbers.
    """
    classes, names = vars(net).get("classes_inferred_"), vars(net).get("feature_names_in_")
    if classes is None or "module_" not in vars(net):
        return None
    values = (classes.astype(str) if classes.dtype.kind == "M" else classes).tolist()  # dates as text
    if not all(isinstance(label, str | bool | int | float) for label in values):
        return None
    return {
        "classes": (values, classes.dtype.str),
        "sample_shape": net.sample_shape_,
        "n_features_in": vars(net).get("n_features_in_"),
        "feature_names_in": None if names is None else names.tolist(),
    }


def check_description(net, description: dict) -> None:
    """Raise an error if a net has been told other classes than those of a description."""
    classes = _classes_in(description)
    known = known_classes(net.classes) if net._run is None else net.classes_inferred_
    if known is not None and not np.array_equal(known, classes):
        raise ValueError(
            f"the saved network tells {classes.tolist()} apart, but the classes here are {known.tolist()}. Load it "
            "into an estimator that has no other classes."
        )


def take_description(net, description: dict) -> None:
    """Give a net what `describe_data` returned for another one."""
    net.classes_inferred_ = _classes_in(description)
    shape, names = description["sample_shape"], description["feature_names_in"]
    net.sample_shape_ = None if shape is None else tuple(shape)
    names = None if names is None else np.array(names, dtype=object)
    for attribute, value in (("n_features_in_", description["n_features_in"]), ("feature_names_in_", names)):
        vars(net).pop(attribute, None)
        if value is not None:
            setattr(net, attribute, value)


def _classes_in(description: dict) -> np.ndarray:
    values, dtype = description["classes"]
    return np.array(values, dtype=dtype)


def file_of_params(net, checkpoint):
    """Return the file in which a skorch ``Checkpoint`` has the parameters of the network; None if it has none."""
    if checkpoint is None or checkpoint.f_params is None:
        return None
    # File names may depend on the history.
    history = net.history if checkpoint.f_history is None else History.from_file(checkpoint.f_history_)
    return checkpoint.get_formatted_files(SimpleNamespace(history=history))["f_params"] if history else None


def description_in(f_params, *, use_safetensors: bool = False, **load_arguments) -> dict | None:
    """Return what a file of parameters says about the data, None if nothing; an open file can be read again after."""
    if _is_path(f_params) and not Path(f_params).exists():
        return None  # skorch has the error for it
    with Path(f_params).open("rb") if _is_path(f_params) else nullcontext(f_params) as file:
        start = file.tell()
        if use_safetensors:
            description = _description_in_safetensors(file)
        else:
            state = torch.load(file, map_location="cpu", **load_arguments)
            description = getattr(state, "_metadata", {}).get("", {}).get(KEY)
        file.seek(start)
    return description


def _description_in_safetensors(file) -> dict | None:
    """Return what the header of safetensors says about the data; None, too, for a file that is none of them."""
    length = int.from_bytes(file.read(8), "little")
    try:
        return json.loads(json.loads(file.read(min(length, LONGEST_HEADER)))["__metadata__"][KEY])
    except (ValueError, KeyError, TypeError):  # safetensors have the error for it
        return None


def _is_path(file) -> bool:
    return isinstance(file, (str, os.PathLike))
