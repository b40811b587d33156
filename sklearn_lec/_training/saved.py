"""What a network was built from, saved with the method's state: saved parameters can be loaded without the data."""

import numpy as np
import torch
from skorch.history import History

from sklearn_lec._training.labels import known_classes

__all__ = ["describe_data", "description_in", "file_of_method", "take_description"]


def describe_data(net) -> dict | None:
    """Return the classes of a net and the shape of its samples, as plain values.

    Parameters
    ----------
    net : LECClassifier
        That has seen data.

    Returns
    -------
    description : dict or None
        `take_description` gives it to another net. None if the classes are neither words nor numbers.
    """
    classes, names = net.classes_inferred_, vars(net).get("feature_names_in_")
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
            f"the saved network tells {classes.tolist()} apart, but the classes here are "
            f"{known.tolist()}. Load it into an estimator that has no other classes."
        )
    net.classes_inferred_ = classes
    net.sample_shape_ = description["sample_shape"]
    if description["n_features_in"] is not None:
        net.n_features_in_ = description["n_features_in"]
    if description["feature_names_in"] is not None:
        net.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)


def file_of_method(net, checkpoint):
    """Return the file in which a skorch ``Checkpoint`` has the state of the method; None if it has none."""
    if checkpoint is None or getattr(checkpoint, "f_method", None) is None or checkpoint.f_history is None:
        return None
    net.history = History.from_file(checkpoint.f_history_)  # file names may depend on it
    return checkpoint.get_formatted_files(net)["f_method"]


def description_in(f_method) -> dict | None:
    """Return what a file with the state of a method says about the data; a file that is open can be read again."""
    start = f_method.tell() if hasattr(f_method, "seek") else None
    state = torch.load(f_method, map_location="cpu", weights_only=True)
    if start is not None:
        f_method.seek(start)
    if not isinstance(state, dict) or "state" not in state:
        raise ValueError(f"f_method={f_method!r} is not the state of a method, as save_params(f_method=...) writes it.")
    return state["state"].get("data_description")
