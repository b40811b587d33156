"""What is accepted as data and parameters, and what the errors say."""

import difflib
import math
from collections.abc import Iterable, Mapping
from numbers import Real

import numpy as np
import torch
from scipy.sparse import csr_matrix, issparse
from sklearn.utils import assert_all_finite, check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from skorch.helper import SliceDataset
from torch.utils.data import Dataset, IterableDataset

__all__ = [
    "as_array",
    "check_classes",
    "check_corruption_matrix",
    "check_eps",
    "check_inputs",
    "check_labels",
    "check_outputs",
    "check_sample_weight",
    "check_trusted",
    "did_you_mean",
    "is_number",
    "unknown_label_error",
]


def check_inputs(estimator, X, *, reset: bool):
    """Check X, and note its number of features and their names on the estimator if it is a table.

    Parameters
    ----------
    estimator : LECClassifier
    X : array-like, sparse matrix, Tensor, DataFrame, dict of those, SliceDataset, or map-style Dataset
    reset : bool
        Whether this X defines the features; otherwise it has to match those known.

    Returns
    -------
    X : ndarray, csr_matrix, Tensor, dict of those, SliceDataset or Dataset
        Never a copy of an array or a tensor.
    """
    if reset:
        # What an earlier fit on a table left must not outlive it.
        for name in ("n_features_in_", "feature_names_in_"):
            vars(estimator).pop(name, None)
    if isinstance(X, Dataset | SliceDataset):
        if isinstance(X, IterableDataset) or not hasattr(X, "__len__"):
            raise TypeError(
                f"X is a {type(X).__name__}, which cannot be indexed by number. Selecting samples needs a record "
                "of each: pass a map-style Dataset, with __len__ and __getitem__."
            )
        if len(X) == 0:
            raise ValueError(f"Found array with 0 sample(s): the {type(X).__name__} passed as X is empty.")
        return X
    if isinstance(X, Mapping) and not issparse(X):  # one of scipy's sparse formats is a dict
        parts = {name: _check_part(part, name) for name, part in X.items()}
        if not parts:
            raise ValueError("X is an empty dict; it must map the arguments of the module's forward to arrays.")
        check_consistent_length(*parts.values())
        return parts
    if isinstance(X, torch.Tensor):
        _check_array(estimator, as_array(_strided(X, "X")), reset=reset)
        return X.detach()
    return _check_array(estimator, X, reset=reset)


def _check_part(part, name):
    if isinstance(part, torch.Tensor):
        check_array(as_array(_strided(part, name)), ensure_2d=False, allow_nd=True, input_name=name)
        return part.detach()
    is_sparse = issparse(part)
    return _fits_float32(
        check_array(part, accept_sparse="csr", ensure_2d=is_sparse, allow_nd=not is_sparse, input_name=name)
    )


def _check_array(estimator, X, *, reset):
    if getattr(X, "ndim", 2) > 2:
        return _fits_float32(check_array(X, allow_nd=True, input_name="X"))
    return _fits_float32(validate_data(estimator, X, reset=reset, accept_sparse="csr"))


def _strided(tensor, name):
    if tensor.layout != torch.strided:
        raise TypeError(
            f"{name} is a sparse tensor ({tensor.layout}), which is not supported. Pass {name}.to_dense(), or a sparse "
            "matrix of scipy, which is made dense batch by batch."
        )
    return tensor


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """Return a tensor as an array, on the same memory where that is possible."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _fits_float32(X):
    X = _for_torch(X)
    # Batches are cast to float32 one by one: a value that becomes infinite there would surface as a NaN loss.
    values = X.data if issparse(X) else X
    if X.dtype == np.float64 and values.size and max(values.max(), -values.min()) > np.finfo(np.float32).max:
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    # Single rows of a csr_array are one-dimensional, which skorch's Dataset cannot handle. This copies nothing.
    return csr_matrix(X) if issparse(X) else X


def _for_torch(array):
    """Return the array in a type that torch knows; a copy only where it has to be."""
    if array.dtype.kind == "O" or array.dtype == np.longdouble:
        return array.astype(np.float64)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"X has dtype {array.dtype}, which no network can take. Convert it to numbers.")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def check_labels(y, *, n_samples: int | None = None) -> np.ndarray:
    """Return the labels as an array of shape (n_samples,), or raise an error that says what is wrong with them."""
    if isinstance(y, torch.Tensor):
        y = y.detach().cpu().numpy()
    if np.ma.isMaskedArray(y):
        y = np.where(y.mask, None, y.data) if np.ma.is_masked(y) else y.data
    y = column_or_1d(y, warn=True)
    if len(y) == 0:
        raise ValueError("Found array with 0 sample(s): y is empty.")
    if n_samples is not None and len(y) != n_samples:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_samples}, y has {len(y)}."
        )
    if y.dtype.kind == "O" and (several := [number for number, label in enumerate(y) if np.ndim(label) > 0]):
        raise ValueError(
            f"y must hold one label for each sample, but that of sample {several[0]} is a "
            f"{type(y[several[0]]).__name__} of {len(y[several[0]])}."
        )
    _check_no_label_is_missing(y)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    return y.astype(y.dtype.newbyteorder("="), copy=False)


def _check_no_label_is_missing(y):
    missing = np.isnan(y) if y.dtype.kind in "fmM" else np.zeros(len(y), dtype=bool)
    if y.dtype.kind == "O":
        missing = np.array([_is_missing(label) for label in y])
    if missing.any():
        raise ValueError(
            f"Input y contains NaN or None: {missing.sum()} of {len(y)} samples have no label, the first of them is "
            f"sample {missing.argmax()} ({y[missing.argmax()]}). Leave them out of X and y, or give them a label."
        )


def _is_missing(label) -> bool:
    """Return whether a label is None, NaN, or pandas' NA or NaT: it is not equal to itself, or that is not known."""
    is_equal = label == label
    return label is None or not isinstance(is_equal, (bool, np.bool_)) or not is_equal


def check_sample_weight(sample_weight, *, n_samples: int) -> torch.Tensor:
    """Return the weights as a tensor of shape (n_samples,), or raise an error that says what is wrong with them."""
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected {(n_samples,)}: one weight per sample of X."
        )
    if (weights < 0).any() or not weights.any():
        raise ValueError("sample_weight must not be negative, and some weight must be greater than zero.")
    return torch.from_numpy(weights / weights.max())  # only their ratios count, and these fit any precision


def check_trusted(trusted, *, n_samples: int) -> torch.Tensor:
    """Return the mask of trusted samples as a tensor, or raise an error that says what is wrong with it."""
    mask = trusted.detach().cpu().numpy() if isinstance(trusted, torch.Tensor) else np.asarray(trusted)
    if mask.dtype == object and all(isinstance(value, bool | np.bool_) for value in mask.flat):  # pandas' boolean
        mask = mask.astype(bool)
    if mask.dtype != bool:
        raise TypeError(
            f"trusted must hold a boolean for each sample, got dtype {mask.dtype}. For sample numbers write "
            "mask = np.zeros(len(y), dtype=bool); mask[numbers] = True, and pass trusted=mask."
        )
    if mask.shape != (n_samples,):
        raise ValueError(
            f"trusted must have shape ({n_samples},), one boolean per sample of X, got shape {mask.shape}. If samples "
            "were dropped from X, drop them from trusted, too: trusted[~dropped]."
        )
    return torch.from_numpy(mask.copy())


def check_classes(y: np.ndarray, *, known: np.ndarray | None) -> np.ndarray:
    """Return the classes: those `known`, in their order, which have to cover `y`, or else those of `y`, ascending."""
    try:
        found = np.unique(y)
    except TypeError as error:
        raise TypeError(f"y mixes labels of different types, which have no order: {error}. Use one type.") from error
    if known is not None:
        known = np.asarray(known)
        if len(np.unique(known)) < len(known):
            raise ValueError(f"classes must name each class once, got {known.tolist()}.")
        unknown = np.setdiff1d(found, known)
        if unknown.size:
            raise unknown_label_error(unknown, known)
    classes = found if known is None else known
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()}; there is nothing to tell apart with less than two classes."
        )
    return classes


def check_outputs(outputs, *, n_samples: int, n_classes: int, n_networks: int = 1) -> None:
    """Raise an error if the outputs are not one logit per sample and class, for each of several networks."""
    if not isinstance(outputs, torch.Tensor):
        raise TypeError(
            f"the module returned a {type(outputs).__name__}; it must return one tensor of logits, of shape "
            "(n_samples, n_classes). Wrap it in a module that returns only that."
        )
    expected = (n_samples, n_classes) if n_networks == 1 else (n_samples, n_networks, n_classes)
    if outputs.shape == expected:
        return
    if outputs.ndim == 2 and n_networks > 1:
        raise ValueError(
            f"the method trains {n_networks} networks, but module_ returned the outputs of one, of shape "
            f"{tuple(outputs.shape)}. An initialize_module of your own must set module_ to a "
            f"sklearn_lec.modules.NetworkEnsemble of {n_networks} networks."
        )
    raise ValueError(
        f"the module returned outputs of shape {tuple(outputs.shape)} for {n_samples} samples and {n_classes} classes; "
        f"it must return logits of shape ({n_samples}, {n_classes}). Set module__num_classes={n_classes}, or give its "
        "constructor an argument num_classes, which is then filled in. Pretrained weights fix the number of outputs: "
        "pass a function of num_classes as module that loads them and then replaces the last layer. If the network "
        "knows classes that y does not have, name all of them with the parameter classes."
    )


def check_eps(eps) -> None:
    """Raise an error if `eps` is not a share in [0, 1)."""
    if not is_number(eps):
        raise TypeError(f"eps must be a number in [0, 1), got {eps!r}.")
    if not 0 <= eps < 1:
        hint = f" eps is a fraction: for {eps:g} % wrong labels write eps={eps / 100:g}." if 1 < eps < 100 else ""
        raise ValueError(f"eps must lie in [0, 1), got {eps!r}.{hint}")


def is_number(value) -> bool:
    """Return whether `value` is a real number, and neither a boolean nor NaN."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and not math.isnan(value)


def check_corruption_matrix(matrix, *, n_classes: int | None = None) -> np.ndarray:
    """Return the matrix as an array, or raise an error if its rows are not distributions over the classes.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        The probability of each label (column) given the true class (row).
    n_classes : int or None, default=None
        How many classes there are; None if that is not known yet.

    Returns
    -------
    matrix : float ndarray of shape (n_classes, n_classes)
    """
    try:
        matrix = np.asarray(matrix, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"corruption_matrix must be a square array of numbers: {error}") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(
            f"corruption_matrix must be square, one row and one column per class, got shape {matrix.shape}."
        )
    if not (np.isfinite(matrix).all() and (matrix >= 0).all()):
        raise ValueError(
            "corruption_matrix must hold probabilities, but some of its entries are negative or not finite."
        )
    if not np.allclose(matrix.sum(axis=1), 1):
        raise ValueError(
            "corruption_matrix must hold probabilities that sum to 1 in each row (the true class); got row sums "
            f"{np.round(matrix.sum(axis=1), 3).tolist()}. Divide it by matrix.sum(axis=1, keepdims=True), or transpose "
            "it if its columns are the true classes."
        )
    if n_classes is not None and len(matrix) != n_classes:
        raise ValueError(f"corruption_matrix is for {len(matrix)} classes, but y has {n_classes}.")
    return matrix / matrix.sum(axis=1, keepdims=True)


def unknown_label_error(unknown: np.ndarray, classes: np.ndarray) -> ValueError:
    """Return the error to raise for labels that are not among the classes."""
    return ValueError(
        f"y holds the label {unknown.tolist()[0]!r}, which is not among the classes {classes.tolist()}. Name every "
        "class that will ever occur when the classes are learned; LECClassifier has the parameter classes for that."
    )


def did_you_mean(word, known: Iterable[str]) -> str:
    """Return a hint at the word that was probably meant, with a space behind it; empty if none is close.

    Examples
    --------
    >>> did_you_mean("letc", ["ltec", "lnec"])
    "did you mean 'ltec'? "
    """
    by_lower_case = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(word).lower(), by_lower_case, n=1)
    return f"did you mean {by_lower_case[close[0]]!r}? " if close else ""
