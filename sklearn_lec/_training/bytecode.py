"""What compiled code of Python says of itself: what it refers to, what it imports, and where its documentation is."""

import dis
import importlib.util
import sys
import types
from collections.abc import Iterator

__all__ = ["HAS_DOCSTRING", "begins_with_doc", "file_of", "global_names", "imported_modules", "is_filled", "nested"]

HAS_DOCSTRING = 0x4000000
"""A flag of code, from Python 3.13 on."""


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a piece of code and those defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def global_names(code: types.CodeType) -> set[str]:
    """Return the names that code looks up outside of itself; not those of attributes."""
    return {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def begins_with_doc(code: types.CodeType) -> bool:
    """Return whether the first constant of code is the place of its documentation."""
    if sys.version_info >= (3, 13):
        return bool(code.co_flags & HAS_DOCSTRING)
    return not code.co_name.startswith("<")  # lambdas and comprehensions have none


def imported_modules(code: types.CodeType, namespace: dict) -> Iterator[str]:
    """Yield the full names of the modules that code imports by itself."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "EXTENDED_ARG"]
    for position, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level = steps[position - 2].argval  # how many dots; then come the names to import from it
            package = namespace.get("__package__") or ""
            yield importlib.util.resolve_name("." * level + step.argval, package) if level else step.argval


def file_of(module_name: str) -> str | None:
    """Return the file of a module; if it is not loaded yet, that of the package that it is in."""
    if module_name in sys.modules:
        return getattr(sys.modules[module_name], "__file__", None)
    spec = importlib.util.find_spec(module_name.partition(".")[0])
    return None if spec is None else spec.origin


def is_filled(cell: types.CellType) -> bool:
    """Return whether a variable that a function refers to has got a value yet."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
