"""Find the samples whose labels are probably wrong, and look at them: tables, pictures, a page to correct them on."""

from sklearn_lec.inspection.displays import (
    CorruptionMatrixDisplay,
    LabelIssuesDisplay,
    LabelQualityDisplay,
    SelectionFlowDisplay,
    TrainingCurvesDisplay,
)

__all__ = [
    "CorruptionMatrixDisplay",
    "LabelIssuesDisplay",
    "LabelQualityDisplay",
    "SelectionFlowDisplay",
    "TrainingCurvesDisplay",
]
