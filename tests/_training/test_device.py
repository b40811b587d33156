import pickle

import pytest
import torch
from sklearn.base import clone

from sklearn_lec import LECClassifier
from sklearn_lec._training.device import fastest_device


def test_auto_is_resolved_for_skorch_and_stays_the_parameter():
    clf = LECClassifier()

    assert clf.device == fastest_device()
    assert clf.get_params()["device"] == "auto"
    assert clone(clf).get_params()["device"] == "auto"


@pytest.mark.parametrize(("cuda", "mps", "expected"), [(1, 1, "cuda"), (0, 1, "mps"), (0, 0, "cpu")])
def test_cuda_comes_before_mps_before_the_cpu(monkeypatch, cuda, mps, expected):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(cuda))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: bool(mps))

    assert fastest_device() == expected


def test_auto_survives_pickle_and_loading_of_parameters(table, quick, tmp_path):
    clf = LECClassifier(**quick | {"device": "auto"}).fit(*table)
    clf.save_params(f_params=tmp_path / "weights.pt")

    copy = pickle.loads(pickle.dumps(clf))
    copy.load_params(f_params=tmp_path / "weights.pt")

    assert copy.get_params()["device"] == "auto"
    assert copy.device == fastest_device()


def test_a_device_that_was_named_survives_pickle(table, quick):
    clf = pickle.loads(pickle.dumps(LECClassifier(**quick).fit(*table)))

    assert clf.get_params()["device"] == "cpu"
