"""Label noise for experiments: how much would a model stand? One file per kind."""

from sklearn_lec.noise.asymmetric import AsymmetricNoise
from sklearn_lec.noise.symmetric import SymmetricNoise

__all__ = ["AsymmetricNoise", "SymmetricNoise"]
