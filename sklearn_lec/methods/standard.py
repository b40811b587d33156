"""Standard: ordinary training on every row, the yardstick."""

from sklearn_lec.methods.base import Method

__all__ = ["Standard"]


class Standard(Method):
    """Learn from every row in every epoch."""

    filters = False

    @property
    def filtering(self) -> bool:
        """Always: there is nothing to warm up for."""
        return True
