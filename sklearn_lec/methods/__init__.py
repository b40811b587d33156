"""The training methods: one file each, looked up by name in `METHODS`."""

from sklearn.base import clone

from sklearn_lec._validation import did_you_mean
from sklearn_lec.methods.base import Method
from sklearn_lec.methods.co_teaching import CoTeaching
from sklearn_lec.methods.consensus import ConsensusMethod
from sklearn_lec.methods.contract import Batch, Criterion, MethodContext, Selected, Selection
from sklearn_lec.methods.d2l import D2L
from sklearn_lec.methods.elr import ELR
from sklearn_lec.methods.forward import Forward
from sklearn_lec.methods.lnec import LNEC
from sklearn_lec.methods.lsec import LSEC
from sklearn_lec.methods.ltec import LTEC
from sklearn_lec.methods.ltec_full import LTECFull
from sklearn_lec.methods.relabel import Relabel
from sklearn_lec.methods.self_training import SelfTraining
from sklearn_lec.methods.standard import Standard

__all__ = [
    "D2L",
    "ELR",
    "LNEC",
    "LSEC",
    "LTEC",
    "METHODS",
    "Batch",
    "CoTeaching",
    "ConsensusMethod",
    "Criterion",
    "Forward",
    "LTECFull",
    "Method",
    "MethodContext",
    "Relabel",
    "Selected",
    "Selection",
    "SelfTraining",
    "Standard",
    "as_method",
]

METHODS: dict[str, type[Method]] = {
    "standard": Standard,
    "self-training": SelfTraining,
    "lnec": LNEC,
    "lsec": LSEC,
    "ltec": LTEC,
    "ltec-full": LTECFull,
    "co-teaching": CoTeaching,
    "forward": Forward,
    "d2l": D2L,
    "elr": ELR,
    "relabel": Relabel,
}


def as_method(method: str | type[Method] | Method) -> Method:
    """Return a new method, without state: by name, of a class, or with the parameters of an instance.

    Parameters
    ----------
    method : str, Method class or Method instance

    Returns
    -------
    method : Method

    Examples
    --------
    >>> as_method("ltec"), as_method(LTEC), as_method(LTEC(M=3))
    (LTEC(), LTEC(), LTEC(M=3))
    """
    if isinstance(method, Method):
        return clone(method)
    if isinstance(method, type) and issubclass(method, Method):
        return method()
    if not isinstance(method, str) or method not in METHODS:
        raise ValueError(
            f"unknown method {method!r}; {did_you_mean(method, METHODS)}Methods: {', '.join(METHODS)}, or a class or "
            "instance of sklearn_lec.methods.Method."
        )
    return METHODS[method]()
