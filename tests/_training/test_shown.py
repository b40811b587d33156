"""How an estimator is shown: the method and what it uses, before and after fit, as text and in diagrams."""

import re

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_lec import LECClassifier
from sklearn_lec._training.shown import settings_in_use
from sklearn_lec.methods import LTEC, METHODS
from tests.helpers import TinyNet


def captions(html):
    """Return what stands under the names in a diagram."""
    return [text.replace("&#x27;", "'") for text in re.findall(r'class="caption">([^<]*)<', html)]


def test_repr_shows_what_the_method_uses_and_keeps_what_skorch_shows():
    text = repr(LECClassifier(eps=0.1, M=np.inf))

    assert text.splitlines() == [
        "<class 'sklearn_lec.classifier.LECClassifier'>[uninitialized](",
        "  method='ltec',",
        "  eps=0.1,",
        "  M=inf,",
        "  T_w='auto',",
        "  module=<class 'sklearn_lec.modules.MLP'>,",
        ")",
    ]


def test_after_fit_repr_shows_what_was_found(table, quick):
    clf = LECClassifier(TinyNet, **quick | {"eps": "auto", "T_w": "auto", "max_epochs": 8}).fit(*table)

    lines = repr(clf).splitlines()

    assert lines[0].endswith("[initialized](")
    assert lines[1:5] == ["  method='ltec',", f"  eps_={clf.eps_:.4g},", "  M=2,", f"  T_w_={clf.T_w_},"]
    assert lines[5] == "  module_=TinyNet("


@pytest.mark.parametrize("method", METHODS)
def test_only_parameters_of_the_method_are_shown(method):
    shown = settings_in_use(LECClassifier(method=method)).keys() - {"method"}

    assert shown <= METHODS[method]().get_params().keys()
    assert "lid_layer" not in shown  # None tells nothing


def test_parameters_of_an_instance_count_before_those_of_the_estimator():
    assert settings_in_use(LECClassifier(method=LTEC(M=3), M=7, eps=0.2))["M"] == 3
    assert settings_in_use(LECClassifier(method=LTEC(M=3), M=7, eps=0.2))["eps"] == 0.2


def test_what_cannot_be_trained_can_be_shown():
    assert "method='letc'" in repr(LECClassifier(method="letc"))
    assert "eps='a lot'" in repr(LECClassifier(eps="a lot"))


def test_large_values_are_shown_in_a_few_words():
    clf = LECClassifier(method="forward", corruption_matrix=np.eye(100))

    assert "corruption_matrix=array of shape (100, 100)" in repr(clf)
    assert len(repr(LECClassifier(eps=dict.fromkeys(range(1000), 0.1))).splitlines()[2]) < 80


def test_the_diagram_has_the_settings_under_the_name(table, quick):
    before, fitted = LECClassifier(TinyNet, **quick), LECClassifier(TinyNet, **quick | {"T_w": "auto"}).fit(*table)
    pipeline = make_pipeline(StandardScaler(), LECClassifier(TinyNet, method="elr", **quick))

    assert captions(before._repr_html_()) == ["method='ltec', eps=0.2, M=2, T_w=1"]
    assert captions(fitted._repr_html_()) == [f"method='ltec', eps=0.2, M=2, T_w_={fitted.T_w_}"]
    assert captions(pipeline._repr_html_())[-1] == "method='elr'"


def test_the_diagram_shows_labels_as_text():
    html = LECClassifier(eps={"<b>cat</b>": 0.1, "dog": 0.1})._repr_html_()

    assert "<b>cat" not in html
