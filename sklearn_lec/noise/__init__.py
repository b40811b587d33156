"""Label noise for experiments: how much would a model stand? One file per kind."""

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
