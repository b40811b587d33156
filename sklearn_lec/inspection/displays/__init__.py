"""Pictures in scikit-learn's manner: of a training, of label noise, and of the samples whose labels are suspect."""

from sklearn_lec.inspection.displays.corruption_matrix import CorruptionMatrixDisplay
from sklearn_lec.inspection.displays.label_issues import LabelIssuesDisplay
from sklearn_lec.inspection.displays.label_quality import LabelQualityDisplay
from sklearn_lec.inspection.displays.selection_flow import SelectionFlowDisplay
from sklearn_lec.inspection.displays.training_curves import TrainingCurvesDisplay

__all__ = [
    "CorruptionMatrixDisplay",
    "LabelIssuesDisplay",
    "LabelQualityDisplay",
    "SelectionFlowDisplay",
    "TrainingCurvesDisplay",
]
