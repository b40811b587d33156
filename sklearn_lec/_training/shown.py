"""How an estimator is shown: its method, with the parameters that the method uses, as text and in diagrams."""

import reprlib

import numpy as np

from sklearn_lec.methods import as_method
from sklearn_lec.methods.parameters import ESTIMATOR_PARAMETERS

__all__ = ["settings_in_use", "visual_block", "with_settings"]

_FIRST = ("eps", "M", "T_w")
"""Parameters that nearly all methods have, in the order in which they are explained."""


def settings_in_use(net) -> dict[str, object]:
    """Return the method of a net, and the parameters that it uses.

    Parameters
    ----------
    net : LECClassifier

    Returns
    -------
    settings : dict
        As they were set; those for which ``fit`` has found a number have a name that ends in an underscore.

    Examples
    --------
    >>> from sklearn_lec import LECClassifier
    >>> settings_in_use(LECClassifier(eps=0.1))
    {'method': 'ltec', 'eps': 0.1, 'M': 5, 'T_w': 'auto'}
    >>> settings_in_use(LECClassifier(method="elr"))
    {'method': 'elr'}
    """
    settings = {"method": net.method}
    try:
        method = vars(net).get("method_") or as_method(net.method)
    except (TypeError, ValueError):  # a method that is not known: fit will say so
        return settings
    own = method.get_params(deep=False)
    for name in (*_FIRST, *(name for name in ESTIMATOR_PARAMETERS if name not in _FIRST)):
        value = getattr(net, name) if own.get(name) is None and name in own else own.get(name)
        if value is not None:
            settings[f"{name}_" if name in method.settled else name] = value
    return settings


def with_settings(text: str, net) -> str:
    """Return the text of skorch's ``repr`` with the settings in use before the network."""
    head, _, rest = text.partition("\n")
    return "\n".join([head, *(f"  {setting}," for setting in _as_text(net)), rest])


def visual_block(net):
    """Return what scikit-learn's diagrams draw: the name of the class, and under it the settings in use."""
    try:
        from sklearn.utils._repr_html.estimator import _VisualBlock
    except ImportError:  # before scikit-learn 1.7
        from sklearn.utils._estimator_html_repr import _VisualBlock

    return _VisualBlock(
        "single",
        net,
        names=type(net).__name__,
        name_details=str(net),
        name_caption=", ".join(_as_text(net)),
        doc_link_label=type(net).__name__,
    )


def _as_text(net) -> list[str]:
    """Return the settings in use as ``name=value``."""
    return [f"{name}={_short(value)}" for name, value in settings_in_use(net).items()]


def _short(value) -> str:
    """Return a value in a few words."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return f"array of shape {value.shape}" if hasattr(value, "shape") else reprlib.repr(value)
