"""What the benchmarks ask of a training method: its title, its parameters, its place among the others."""

from collections.abc import Iterable

from sklearn_lec.methods import METHODS
from sklearn_lec.methods.parameters import ESTIMATOR_PARAMETERS

__all__ = ["CLEANLAB", "in_order", "method_title", "parameters_of"]

CLEANLAB = "cleanlab"
"""Stands for cleanlab's ``CleanLearning`` around the network that is trained in the ordinary way."""

PAPER_ORDER = (
    "standard",
    "self-training",
    "co-teaching",
    "lnec",
    "lsec",
    "ltec",
    "ltec-full",
    "d2l",
    "forward",
)
"""The order of methods where a table has them all; methods that the paper does not have follow."""


def method_title(method: str) -> str:
    """Return the title of a method in tables and figures: its class's own `title`, or else its name.

    A title that the class inherits does not count: two methods with one title could not be told apart.

    Examples
    --------
    >>> method_title("co-teaching"), method_title("cleanlab")
    ('Co-teaching', 'cleanlab')
    """
    own = vars(METHODS[method]).get("title") if method in METHODS else None
    return own or method


def parameters_of(method: str) -> tuple[str, ...]:
    """Return the names of the parameters of `LECClassifier` that a method uses; cleanlab uses none.

    Examples
    --------
    >>> sorted(parameters_of("ltec"))
    ['M', 'T_w', 'eps']
    """
    if method == CLEANLAB:
        return ()
    return tuple(name for name in METHODS[method]().get_params() if name in ESTIMATOR_PARAMETERS)


def in_order(methods: Iterable[str]) -> list[str]:
    """Return methods in the order of the paper, then in that of `METHODS`.

    Examples
    --------
    >>> in_order(["d2l", "ltec", "standard"])
    ['standard', 'ltec', 'd2l']
    """
    order = list(dict.fromkeys([*PAPER_ORDER, *METHODS, *methods]))
    return sorted(methods, key=order.index)
