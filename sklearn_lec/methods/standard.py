"""Standard: ordinary training on every row, the yardstick."""

from sklearn_lec.methods.base import Method

__all__ = ["Standard"]


class Standard(Method):
    """Learn from every row in every epoch."""
