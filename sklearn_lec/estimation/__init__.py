"""How many labels are wrong, and when a network begins to memorize them."""

from sklearn_lec.estimation.noise import estimate_noise
from sklearn_lec.estimation.noise_estimate import NoEstimateError, NoiseEstimate

__all__ = ["NoEstimateError", "NoiseEstimate", "estimate_noise"]
