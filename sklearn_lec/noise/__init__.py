"""Label noise for experiments: how much noise can a model tolerate? One file per kind of noise."""

from sklearn_lec.noise.asymmetric import AsymmetricNoise
from sklearn_lec.noise.matrix import MatrixNoise
from sklearn_lec.noise.meta import NoiseSampler, NoisyLabelClassifier
from sklearn_lec.noise.open_set import OpenSetNoise
from sklearn_lec.noise.semantic import SemanticNoise
from sklearn_lec.noise.symmetric import SymmetricNoise

__all__ = [
    "AsymmetricNoise",
    "MatrixNoise",
    "NoiseSampler",
    "NoisyLabelClassifier",
    "OpenSetNoise",
    "SemanticNoise",
    "SymmetricNoise",
]
