"""What stops the command, said in a way that tells what to do."""

__all__ = ["UnusableDataError"]


class UnusableDataError(Exception):
    """The data cannot be used as it is; the message says why, and what to do."""
