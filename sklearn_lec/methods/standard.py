"""Standard: ordinary training on every sample, the baseline."""

from sklearn_lec.methods.base import Method

__all__ = ["Standard"]


class Standard(Method):
    """Learn from every sample in every epoch."""

    title = "Standard"
    averages_networks = True
