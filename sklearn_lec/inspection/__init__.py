"""Find the samples whose labels are probably wrong, and look at them: tables, pictures, a page to correct them on."""

from sklearn_lec.inspection.corrections import Corrections, apply_corrections
from sklearn_lec.inspection.report import report

__all__ = ["Corrections", "apply_corrections", "report"]
