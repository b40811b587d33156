"""Names that have moved to `benchmarks.complexity`."""

from benchmarks.complexity import SmallConvolution, count_passes

__all__ = ["SmallConvolution", "count_passes"]
