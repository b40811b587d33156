"""Folds that are trained first: how many, for how long, and what is predicted."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold
from skorch.callbacks import EarlyStopping

from sklearn_lec import LECClassifier
from sklearn_lec._training.folds import HeldOutMean, plan_folds
from tests.helpers import TinyNet


@given(st.integers(10, 10**6), st.integers(4, 1000), st.integers(1, 1024))
def test_folds_never_cost_more_than_a_quarter_of_the_training(n_samples, max_epochs, batch_size):
    plan = plan_folds(n_samples, max_epochs=max_epochs, batch_size=batch_size)

    assert (plan.n_folds - 1) * plan.n_epochs <= max_epochs / 4
    assert plan.n_epochs >= 1
    assert 1 <= plan.batch_size <= batch_size


def test_there_is_no_plan_without_epochs():
    assert plan_folds(1000, max_epochs=3, batch_size=128) is None


@pytest.mark.parametrize("kind", ["arrays", "disabled callbacks", "a callback of the user"])
def test_each_sample_is_predicted_by_a_network_that_has_not_seen_it(table, quick, kind):
    X, y = table
    settings = quick | {"max_epochs": 24, "lr": 0.05}
    settings |= {"disabled callbacks": {"callbacks": "disable"}}.get(kind, {})
    settings |= {"a callback of the user": {"callbacks": [EarlyStopping(monitor="train_loss")]}}.get(kind, {})
    folds = list(StratifiedKFold(2).split(X, y))

    pred_probs, labels, classes = LECClassifier(TinyNet, **settings).out_of_fold_predictions(X, y, cv=folds[:1])

    held_out = folds[0][1]
    assert np.isfinite(pred_probs[held_out]).all()
    assert np.isnan(np.delete(pred_probs, held_out, axis=0)).all()
    np.testing.assert_allclose(pred_probs[held_out].sum(axis=1), 1, rtol=1e-5)
    assert (pred_probs[held_out].argmax(axis=1) == y[held_out]).mean() > 0.6
    assert (labels.tolist(), classes.tolist()) == (y.tolist(), [0, 1, 2])


def test_the_mean_over_epochs_is_kept_of_the_epoch_that_agreed_with_most_labels():
    class Net:
        history = []

        @staticmethod
        def _get_predict_nonlinearity():
            return lambda outputs: outputs

    class Batch:
        samples = torch.tensor([7, 3])

    recorder, net = HeldOutMean(np.array([3, 7]), np.array([0, 1])), Net()
    recorder.on_train_begin(net)
    right, wrong = torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])

    for outputs in (right, wrong, wrong):
        net.history.append(None)
        recorder.on_epoch_begin(net)
        recorder.on_batch_end(net, batch=Batch, training=False, y_pred=outputs)
        recorder.on_batch_end(net, batch=Batch, training=True, y_pred=1 - outputs)
        recorder.on_epoch_end(net)

    assert recorder.best_epoch_ == 1
    np.testing.assert_allclose(recorder.best_, [[1, 0], [0, 1]])
