"""What a value is made of: a digest that is the same in every process, and what it could not look into.

One rule decides what is compared. Code of the user's own is compared by content: functions and classes by their code
and by everything that it refers to. Code of an installed package is compared by its name; its version is noted. Any
other object is what pickle would save of it.
"""

import copyreg
import functools
import hashlib
import importlib
import inspect
import random
import sys
import sysconfig
import threading
import types
import weakref
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import scipy.sparse
import scipy.special
import torch
from sklearn.utils import check_random_state
from skorch import NeuralNet
from skorch.callbacks import Callback
from torch import nn
from torch.utils.data import Dataset

from sklearn_lec._training.batches import arrays_in_memory
from sklearn_lec._training.bytecode import (
    HAS_DOCSTRING,
    begins_with_doc,
    file_of,
    global_names,
    imported_modules,
    is_filled,
    nested,
)
from sklearn_lec.methods import Method

__all__ = ["Fingerprint", "digest", "settings_of"]

GENERATORS = (torch.Generator, np.random.RandomState, np.random.Generator, random.Random)
"""Random number generators; what has been drawn from them is no part of a digest."""

STDLIB = Path(sysconfig.get_path("stdlib"))

MOST_PATHS = 1000
"""How many parts of values are kept apart, to tell later which of them differ."""

BLOCK = 2**24
"""How many bytes of an array are looked at in one go."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_WITHOUT_CONTENT = (type(threading.Lock()), type(threading.RLock()), weakref.ref, types.GetSetDescriptorType)
_NOT_CODE = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__", "__static_attributes__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__"),
    *("__slotnames__", "_abc_impl"),
}
"""Entries of a class that say nothing about what it does, or that Python adds by itself."""


class Fingerprint:
    """Digests of values, and what was met on the way.

    Attributes
    ----------
    unknown : dict of str to str
        Where something was met that could not be looked into, and its type: an open file, a running generator.
    generators : dict of str to generator
        Where random number generators of the user's own were met.
    packages : set of str
        The installed packages that parts of the values come from.
    paths : dict of str to str
        The digests of the parts by where they were met, as far as there is room for them.

    Examples
    --------
    >>> one, other = Fingerprint(), Fingerprint()
    >>> one.of({"lr": lambda epoch: 0.9**epoch}) == other.of({"lr": lambda epoch: 0.9**epoch})
    True
    >>> one.of(lambda epoch: 0.9**epoch) == one.of(lambda epoch: 0.8**epoch)
    False
    >>> _ = one.of((line for line in []), "X.lines")
    >>> one.unknown
    {'X.lines': 'generator'}
    """

    def __init__(self):
        self.unknown: dict[str, str] = {}
        self.generators: dict[str, object] = {}
        self.packages: set[str] = set()
        self.paths: dict[str, str] = {}
        self._done: dict[int, tuple[object, str]] = {}  # the object too, so that its id is not given to another one
        self._under_way: set[int] = set()

    def of(self, value, where: str = "") -> str:
        """Return the digest of a value.

        Parameters
        ----------
        value : object
        where : str, default=""
            Where it was found, for `unknown` and `generators`.

        Returns
        -------
        digest : str
        """
        digest = self._digest(value, where)
        if len(self.paths) < MOST_PATHS:
            self.paths[where] = digest
        return digest

    def _digest(self, value, where: str) -> str:
        if isinstance(value, np.generic) and type(value.item()) in _PLAIN:
            value = value.item()  # a number is the same whoever has made it
        if type(value) in _PLAIN:
            return f"{type(value).__name__} {value!r}" if len(repr(value)) < 60 else _hash(type(value), repr(value))
        if id(value) in self._under_way:
            return "a value that contains itself"
        if id(value) not in self._done:
            self._under_way.add(id(value))
            try:
                self._done[id(value)] = value, _hash(*self._parts(value, where))
            except Exception:  # too deep, or whatever a class raises that is not meant to be looked into
                return self._note_unknown(value, where)
            finally:
                self._under_way.discard(id(value))
        return self._done[id(value)][1]

    def _parts(self, value, where: str) -> tuple:
        """Return what a value is made of, as texts and digests."""
        if isinstance(value, GENERATORS):
            return self._generator(value, where)
        if isinstance(value, np.generic | np.ndarray) or scipy.sparse.issparse(value):
            return self._array(value, where)
        if isinstance(value, torch.Tensor) and value.layout is torch.strided and not nn.parameter.is_lazy(value):
            array = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            return "tensor", value.dtype, tuple(value.shape), _hash_of_array(array)
        if isinstance(value, types.ModuleType):
            return "module", self._package_of(value.__name__) or self._source(value, where)
        if isinstance(value, type):
            return self._class(value, where)
        if isinstance(value, _WITHOUT_CONTENT):
            return ("without content", type(value))
        if callable(value) and (parts := self._function(value, where)) is not None:
            return parts
        return self._container(value, where) or self._object(value, where)

    # --- numbers --------------------------------------------------------------------------------------------------

    def _generator(self, generator, where: str) -> tuple:
        """Note a generator; only torch tells what it was seeded with."""
        # What the global ones draw is part of a run's own random numbers.
        if not any(generator is one for one in _global_generators()):
            self.generators[where] = generator
        return type(generator), generator.initial_seed() if isinstance(generator, torch.Generator) else ""

    def _array(self, array, where: str) -> tuple:
        """Describe a NumPy array or number, or a sparse matrix."""
        if scipy.sparse.issparse(array):
            array = array.tocsr()
            return "sparse", array.shape, *self._all([array.data, array.indices, array.indptr], where)
        if isinstance(array, np.ma.MaskedArray):
            return "masked", *self._all([array.filled(), np.ma.getmaskarray(array)], where)
        array = np.asarray(array)
        if array.dtype.hasobject:
            return "array", array.shape, *self._all(array.ravel().tolist(), where)
        return "array", array.dtype.str, array.shape, _hash_of_array(array)

    # --- code -----------------------------------------------------------------------------------------------------

    def _function(self, function, where: str) -> tuple | None:
        """Describe something to call; None if it is an object like others."""
        if isinstance(function, types.FunctionType):
            package = self._package_of(function.__module__)
            content = self._content(function, where) if package is None else (package, function.__qualname__)
            if package is not None and "<lambda>" in function.__qualname__:  # which names no function
                content += (self._code(function.__code__, where),)
            cells = [cell.cell_contents if is_filled(cell) else "empty" for cell in function.__closure__ or ()]
            names = function.__code__.co_freevars
            closure = [self.of(cell, f"{where}: {name}") for name, cell in zip(names, cells, strict=True)]
            return "function", content, closure
        if isinstance(function, types.MethodType):
            return "method", self.of(function.__func__, where), self.of(function.__self__, where)
        owner = getattr(function, "__self__", None)
        if isinstance(function, types.BuiltinFunctionType) and not isinstance(owner, types.ModuleType | None):
            return "method", function.__name__, self.of(owner, where)
        if isinstance(function, np.ufunc) and not any(
            getattr(package, function.__name__, None) is function for package in (np, scipy.special)
        ):
            return "function", self._note_unknown(function, where)  # made of a Python function, which it does not show
        if isinstance(function, types.BuiltinFunctionType | np.ufunc):
            return "function", getattr(function, "__module__", ""), function.__name__
        if isinstance(function, functools._lru_cache_wrapper):
            return "wrapped", type(function), self.of(function.__wrapped__, where)
        return None

    def _content(self, function: types.FunctionType, where: str) -> tuple:
        """Describe a function of the user's own: its code, and all that it refers to by a name."""
        defaults = self._all([function.__defaults__, function.__kwdefaults__, vars(function)], where)
        namespace, refers_to = function.__globals__, []
        parts = list(nested(function.__code__))
        used = {name for part in parts for name in part.co_names}
        for name in sorted({name for part in parts for name in global_names(part)} & namespace.keys()):
            refers_to += [name, *self._referred_to(namespace[name], name, used, where)]
        for name in sorted({name for part in parts for name in imported_modules(part, namespace)}):
            if self._package_of(name) is None:
                refers_to += [name, *self._used_of_module(self._imported(name, where), used, where)]
        return self._code(function.__code__, where), *defaults, *refers_to

    def _imported(self, name: str, where: str) -> types.ModuleType | None:
        """Import a module of the user's own that a function would import when it is called."""
        try:
            return importlib.import_module(name)
        except Exception:  # whatever its code raises
            self.unknown[f"{where}: {name}"] = "module that cannot be imported"
            return None

    def _used_of_module(self, module, used: set[str], where: str) -> list[str]:
        """Return digests of what code may use of a module of the user's own, given the names in the code."""
        if not isinstance(module, types.ModuleType) or self._package_of(module.__name__):
            return []
        digests = []
        for name in sorted(used & vars(module).keys()):
            part = vars(module)[name]
            digests += [name, *self._referred_to(part, f"{module.__name__}.{name}", used - {name}, where)]
        return digests

    def _referred_to(self, value, name: str, used: set[str], where: str) -> list[str]:
        """Return digests of a value that code refers to by a name; of a module of the user's own, only what it uses."""
        if isinstance(value, types.ModuleType) and not self._package_of(value.__name__):
            return self._used_of_module(value, used, where)
        return [self.of(value, f"{where}: {name}")]

    def _source(self, module: types.ModuleType, where: str) -> str:
        """Return a digest of the file of a module of the user's own that is passed on as a value."""
        try:
            return _hash(Path(module.__file__).read_bytes())
        except (AttributeError, TypeError, OSError):
            return self._note_unknown(module, where)

    def _code(self, code: types.CodeType, where: str) -> tuple:
        """Describe compiled code, without where it stands and what its documentation says."""
        constants = code.co_consts[1:] if begins_with_doc(code) else code.co_consts
        n_arguments = code.co_argcount + code.co_kwonlyargcount
        arguments = (
            code.co_varnames[:n_arguments],
            code.co_argcount,
            code.co_posonlyargcount,
            code.co_flags & ~HAS_DOCSTRING,
        )
        names = code.co_names, code.co_freevars, code.co_exceptiontable
        described = [
            self._code(part, where) if isinstance(part, types.CodeType) else self.of(part, where) for part in constants
        ]
        return code.co_code, arguments, names, described

    def _class(self, value: type, where: str) -> tuple:
        """Describe a class."""
        package = self._package_of(value.__module__)
        if package:
            return "class", package, value.__module__, value.__qualname__
        entries = {name: entry for name, entry in vars(value).items() if name not in _NOT_CODE}
        bases = self._all([*value.__bases__, type(value)], where)
        return "class", value.__qualname__, bases, self._attributes(entries, where)

    def _package_of(self, module_name: str | None) -> str | None:
        """Return the installed package that a module belongs to, and note it; None for code of the user's own."""
        package = (module_name or "").partition(".")[0]
        file = file_of(module_name or "__main__")
        # A script of the user's own may have the name of a module of Python's.
        if package in sys.stdlib_module_names and (file is None or Path(file).is_relative_to(STDLIB)):
            return package
        if package == "sklearn_lec":
            return package
        if file is None or not {"site-packages", "dist-packages"} & set(Path(file).parts):
            return None
        self.packages.add(package)
        return package

    # --- objects --------------------------------------------------------------------------------------------------

    def _container(self, value, where: str) -> tuple | None:
        """Describe something that holds other values; None if it is an object like others."""
        if type(value) in (list, tuple):
            return type(value), *self._all(value, where)
        if type(value) in (set, frozenset):
            return type(value), *sorted(self._all(value, where))
        if type(value) in (dict, types.MappingProxyType):
            return dict, *((self.of(key, where), self.of(part, f"{where}[{key!r}]")) for key, part in value.items())
        if isinstance(value, property):
            return property, *self._all([value.fget, value.fset, value.fdel], where)
        if isinstance(value, classmethod | staticmethod):
            return type(value), self.of(value.__func__, where)
        if isinstance(value, functools.cached_property):
            return type(value), self.of(value.func, where)
        return None

    def _object(self, value, where: str) -> tuple:
        """Describe an instance of a class."""
        kind = self.of(type(value), where)
        if isinstance(value, Method | NeuralNet):  # what it has learned is in the checkpoint
            return kind, self._attributes(value.get_params(deep=False), where)
        if isinstance(value, Callback):
            return kind, self._attributes(settings_of(value), where)
        if isinstance(value, Dataset) and (arrays := arrays_in_memory(value)) is not None:
            return kind, *self._all(arrays, where)
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception:  # whatever a class raises that is not meant to be saved
            return kind, self._note_unknown(value, where)
        if isinstance(reduced, str):  # the name of a global value
            return kind, reduced
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        state = self._attributes(state, where) if isinstance(state, Mapping) else self.of(state, where)
        items = self._all(items or (), where)
        pairs = [(self.of(key, where), self.of(part, f"{where}[{key!r}]")) for key, part in pairs or ()]
        return kind, self.of(make, where), self.of(arguments, where), state, items, pairs

    def _attributes(self, attributes: Mapping, where: str) -> list:
        """Describe named parts, whatever order they were set in."""
        return [
            (str(name), self.of(value, f"{where}.{name}"))
            for name, value in sorted(attributes.items(), key=lambda item: str(item[0]))
        ]

    def _all(self, values, where: str) -> list[str]:
        """Return the digest of each value."""
        return [self.of(value, f"{where}[{number}]") for number, value in enumerate(values)]

    def _note_unknown(self, value, where: str) -> str:
        """Note that a value could not be looked into, and return its type."""
        self.unknown[where] = type(value).__name__
        return f"a {type(value).__name__}"


def digest(value) -> str:
    """Return a text that tells values apart, the same one in every process."""
    return Fingerprint().of(value)


def _hash(*parts) -> str:
    """Return a short text for values whose ``repr`` says it all."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _hash_of_array(array: np.ndarray) -> str:
    """Return a short text for the values of an array, in whatever order they are in memory; copies a block at most."""
    total, array = hashlib.sha256(), np.atleast_1d(array)
    n_rows = max(1, BLOCK // max(1, array[:1].nbytes))
    for start in range(0, len(array), n_rows):
        block = np.ascontiguousarray(array[start : start + n_rows])
        total.update(block.reshape(-1).view(np.uint8).data)
    return total.hexdigest()


def settings_of(callback: Callback) -> dict[str, object]:
    """Return the attributes of a callback that say what it does; the others are what it has remembered.

    Those that its constructor names. If it stores an argument under another name, any attribute may be a setting, but
    for names that end in an underscore.
    """
    arguments = inspect.signature(type(callback)).parameters.values()
    names = {argument.name for argument in arguments}
    is_open = not names <= vars(callback).keys()  # so it is with *args and **kwargs
    return {
        name: part for name, part in vars(callback).items() if name in names or (is_open and not name.endswith("_"))
    }


def _global_generators() -> tuple:
    """Return the generators that torch, numpy and Python draw from if they are not told otherwise."""
    return torch.default_generator, check_random_state(None), random.random.__self__
