"""Which labels are wrong: what a trained classifier knows of them, as tables, pictures and a page."""

from sklearn_lec.inspection.corrections import Corrections, apply_corrections

__all__ = ["Corrections", "apply_corrections"]
