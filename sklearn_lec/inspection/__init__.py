"""Find the samples whose labels are probably wrong, and look at them: tables, pictures, a page to correct them on."""

from sklearn_lec.inspection.displays import (
    CorruptionMatrixDisplay,
    LabelIssuesDisplay,
    LabelQualityDisplay,
    SelectionFlowDisplay,
    TrainingCurvesDisplay,
)
from sklearn_lec.inspection.label_issues import find_label_issues
from sklearn_lec.inspection.tables import class_quality_table, corruption_table, overlapping_classes_table

__all__ = [
    "CorruptionMatrixDisplay",
    "LabelIssuesDisplay",
    "LabelQualityDisplay",
    "SelectionFlowDisplay",
    "TrainingCurvesDisplay",
    "class_quality_table",
    "corruption_table",
    "find_label_issues",
    "overlapping_classes_table",
]
