"""Find the samples whose labels are probably wrong, and look at them: tables, pictures, a page to correct them on."""

from sklearn_lec.inspection.corrections import Corrections, apply_corrections
from sklearn_lec.inspection.displays import (
    CorruptionMatrixDisplay,
    LabelIssuesDisplay,
    LabelQualityDisplay,
    SelectionFlowDisplay,
    TrainingCurvesDisplay,
)
from sklearn_lec.inspection.label_issues import find_label_issues
from sklearn_lec.inspection.report import report
from sklearn_lec.inspection.tables import class_quality_table, corruption_table, overlapping_classes_table

__all__ = [
    "Corrections",
    "CorruptionMatrixDisplay",
    "LabelIssuesDisplay",
    "LabelQualityDisplay",
    "SelectionFlowDisplay",
    "TrainingCurvesDisplay",
    "apply_corrections",
    "class_quality_table",
    "corruption_table",
    "find_label_issues",
    "overlapping_classes_table",
    "report",
]
