"""Callbacks that end a training, or put back a network, before any sample was left out."""

import warnings

import pytest
from skorch.callbacks import Callback, Checkpoint, EarlyStopping
from skorch.dataset import ValidSplit

from sklearn_lec import LECClassifier
from tests.helpers import TinyNet


class Scores(Callback):
    """Record a validation score that is best in one epoch."""

    def __init__(self, best):
        self.best = best

    def on_epoch_end(self, net, **kwargs):
        epoch = len(net.history)
        net.history.record("score", abs(epoch - self.best))
        net.history.record("score_best", epoch <= self.best)


def warned_by(table, quick, callbacks):
    settings = quick | {"T_w": 3, "max_epochs": 6, "train_split": ValidSplit(3), "callbacks": callbacks}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        LECClassifier(TinyNet, **settings).fit(*table)
    return [str(w.message) for w in caught if "docs/model_selection.md" in str(w.message)]


@pytest.mark.parametrize(("best", "is_warned_of"), [(2, True), (3, True), (4, False), (6, False)])
def test_a_network_from_before_the_filtering_is_warned_of(table, quick, tmp_path, best, is_warned_of):
    scores = ("scores", Scores(best))
    checkpoint = Checkpoint(monitor="score_best", load_best=True, dirname=tmp_path)
    stopping = EarlyStopping(monitor="score", patience=9, load_best=True)

    for callback, name in ((checkpoint, "Checkpoint"), (stopping, "EarlyStopping")):
        messages = warned_by(table, quick, [scores, (name, callback)])
        assert len(messages) == is_warned_of
        assert all(f"{name} has put back the network of epoch {best}," in message for message in messages)


def test_a_training_that_stops_within_the_warm_up_is_warned_of(table, quick):
    messages = warned_by(table, quick, [("scores", Scores(1)), EarlyStopping(monitor="score", patience=1)])

    assert len(messages) == 1
    assert "stopped after epoch 2, within the warm-up of 3 epochs" in messages[0]


def test_a_user_who_stops_the_training_is_not_told_of_validation_sets(table, quick):
    class Interrupt(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="stopped after epoch 1, within the warm-up of 3 epochs.*True for all.$"):
        LECClassifier(TinyNet, **quick | {"T_w": 3, "max_epochs": 6, "callbacks": [Interrupt()]}).fit(*table)


def test_callbacks_that_put_nothing_back_are_not_warned_of(table, quick, tmp_path):
    callbacks = [("scores", Scores(1)), Checkpoint(monitor="score_best", dirname=tmp_path)]

    assert warned_by(table, quick, [*callbacks, EarlyStopping(monitor="score", patience=9)]) == []
