"""How many labels are wrong, and when a network begins to memorize them."""

from sklearn_lec.estimation.noise import estimate_noise
from sklearn_lec.estimation.noise_estimate import NoiseEstimate

__all__ = ["NoiseEstimate", "estimate_noise"]
