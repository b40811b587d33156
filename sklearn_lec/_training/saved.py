"""What a network was built from, saved beside its parameters: a new estimator can load them without the data.

torch keeps notes on the modules of a ``state_dict``, in which it writes their versions, and safetensors have a header.
The classes and the shape of a sample are added there. Others read these files as before.
"""

import json
import os
import struct
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import torch
from skorch.history import History

from sklearn_lec._training.labels import known_classes

__all__ = ["describing_data", "description_in", "file_of_params", "save_safetensors", "take_description"]

KEY = "sklearn_lec"


@contextmanager
def describing_data(net):
    """Let the ``state_dict`` of the network say what data it is for, if that is known, for the length of a block."""
    description = describe_data(net)
    if description is None:
        yield
        return
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
    if not all(isinstance(label, str | bool | int | float) for label in classes.tolist()):
        return None
    return {
        "classes": (classes.tolist(), classes.dtype.str),
        "sample_shape": net.sample_shape_,
        "n_features_in": vars(net).get("n_features_in_"),
        "feature_names_in": None if names is None else names.tolist(),
    }


def take_description(net, description: dict) -> None:
    """Give a net what `describe_data` returned for another one."""
    values, dtype = description["classes"]
    classes = np.array(values, dtype=dtype)
    known = known_classes(net.classes) if net._run is None else net.classes_inferred_
    if known is not None and not np.array_equal(known, classes):
        raise ValueError(
            f"the saved network tells {classes.tolist()} apart, but the classes here are {known.tolist()}. Load it "
            "into an estimator that has no other classes."
        )
    net.classes_inferred_ = classes
    shape = description["sample_shape"]
    net.sample_shape_ = None if shape is None else tuple(shape)
    if description["n_features_in"] is not None:
        net.n_features_in_ = description["n_features_in"]
    if description["feature_names_in"] is not None:
        net.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)


def file_of_params(net, checkpoint):
    """Return the file in which a skorch ``Checkpoint`` has the parameters of the network; None if it has none."""
    if checkpoint is None or checkpoint.f_params is None:
        return None
    if checkpoint.f_history is not None:  # file names may depend on it
        net.history = History.from_file(checkpoint.f_history_)
    return checkpoint.get_formatted_files(net)["f_params"] if net.history else None


def description_in(f_params, *, use_safetensors: bool = False, **load_arguments) -> dict | None:
    """Return what a file of parameters says about the data, None if nothing; an open file can be read again after."""
    if _is_path(f_params) and not Path(f_params).exists():
        return None  # skorch has the error for it
    with Path(f_params).open("rb") if _is_path(f_params) else nullcontext(f_params) as file:
        start = file.tell()
        if use_safetensors:
            (length,) = struct.unpack("<Q", file.read(8))
            notes = json.loads(file.read(length)).get("__metadata__", {})
            description = json.loads(notes.get(KEY, "null"))
        else:
            state = torch.load(file, map_location="cpu", **load_arguments)
            description = getattr(state, "_metadata", {}).get("", {}).get(KEY)
        file.seek(start)
    return description


def _is_path(file) -> bool:
    return isinstance(file, (str, os.PathLike))
