"""The training methods: one file each, looked up by name in `METHODS`."""

from sklearn_lec.methods.base import ConsensusMethod, Method
from sklearn_lec.methods.co_teaching import CoTeaching
from sklearn_lec.methods.d2l import D2L
from sklearn_lec.methods.forward import Forward
from sklearn_lec.methods.lnec import LNEC
from sklearn_lec.methods.lsec import LSEC
from sklearn_lec.methods.ltec import LTEC
from sklearn_lec.methods.ltec_full import LTECFull
from sklearn_lec.methods.self_training import SelfTraining
from sklearn_lec.methods.standard import Standard

__all__ = [
    "D2L",
    "LNEC",
    "LSEC",
    "LTEC",
    "METHODS",
    "CoTeaching",
    "ConsensusMethod",
    "Forward",
    "LTECFull",
    "Method",
    "SelfTraining",
    "Standard",
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
}
