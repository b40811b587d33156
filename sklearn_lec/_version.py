"""The version, in one place that building can read without importing torch."""

__version__ = "0.1.0.dev0"
