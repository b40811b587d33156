"""What the benchmarks measure in every epoch is what the paper reports."""

import numpy as np
import pytest
import torch

from benchmarks.callbacks import LabelQualityOfNetworks, mean_network_accuracy
from sklearn_lec import LECClassifier
from sklearn_lec.methods import CoTeaching, Selection

X = np.random.RandomState(0).normal(size=(40, 4)).astype(np.float32)
y_true = np.repeat([0, 1], 20)
y_noisy = np.where(np.arange(40) % 4 == 0, 1 - y_true, y_true)


def quality(method, **params):
    callback = LabelQualityOfNetworks(y_true)
    params = {"max_epochs": 2, "batch_size": 10, "verbose": 0, "train_split": None, "random_state": 0} | params
    net = LECClassifier(method=method, callbacks=[("quality", callback)], **params)
    return net.fit(X, y_noisy)


def test_label_quality_is_averaged_over_networks_that_learn_from_different_rows(monkeypatch):
    def select(self, batch):
        return Selection(torch.stack([batch.samples < 24, batch.samples >= 18]))  # both: 18 to 23, of which 20 is wrong

    monkeypatch.setattr(CoTeaching, "select", select)

    net = quality("co-teaching", eps=0.25, T_k=2)

    right = y_true == y_noisy
    precisions, recalls = zip(
        *((right[k].mean(), right[k].sum() / 30) for k in (slice(24), slice(18, 40))), strict=True
    )
    assert net.history[-1, "n_selected"] == 6
    assert net.history[-1, "label_precision"] == pytest.approx(np.mean(precisions))
    assert net.history[-1, "label_recall"] == pytest.approx(np.mean(recalls))


def test_before_filtering_all_rows_count():
    history = quality("co-teaching", eps=0.25, T_k=2).history

    assert history[0, ("label_precision", "label_recall")] == (0.75, 1.0)


def test_label_quality_of_one_set_of_rows_is_that_of_the_clean_mask():
    net = quality("lnec", eps=0.25, M=2, T_w=1)

    kept = net.clean_mask_
    assert net.history[-1, "label_precision"] == pytest.approx((y_true == y_noisy)[kept].mean())
    assert 0 < kept.sum() < 40


def test_accuracy_is_averaged_over_networks():
    net = quality("lnec", eps=0.25, M=2, T_w=1)

    outputs = torch.cat(list(net.forward_iter(X)))
    by_network = [(outputs[:, network].argmax(dim=1).numpy() == y_true).mean() for network in range(2)]
    assert mean_network_accuracy(net, X, y_true) == pytest.approx(np.mean(by_network))
    assert by_network[0] != by_network[1]
