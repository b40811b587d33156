"""Train neural networks on partly wrong labels the scikit-learn way, and find out which labels are wrong."""

from sklearn_lec._version import __version__
from sklearn_lec.classifier import LECClassifier

__all__ = ["LECClassifier", "__version__"]
