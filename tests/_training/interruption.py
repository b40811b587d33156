"""Trainings that are broken off and resumed, for the tests of that."""

import json
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from sklearn_lec import LECClassifier


class PowerCutError(Exception):
    pass


@contextmanager
def power_cut(*, epoch, batch=3, method=None):
    """Break off the training of the block in the middle of an epoch; only one by `method`, if that is given."""

    original = LECClassifier.on_batch_begin

    def on_batch_begin(net, *args, training=False, **kwargs):
        original(net, *args, training=training, **kwargs)
        is_it = training and method in (None, net.method) and len(net.history) == epoch
        if is_it and len(net.history[-1]["batches"]) == batch:
            raise PowerCutError

    # Not a callback: those are compared before a run is resumed.
    with patch.object(LECClassifier, "on_batch_begin", on_batch_begin), pytest.raises(PowerCutError):
        yield


def settings(method="ltec", **changes):
    parameters = {"method": method, "eps": 0.3, "max_epochs": 7, "T_w": 2, "M": 2, "T_k": 3, "W": 3}
    return parameters | {"batch_size": 16, "verbose": 0, "random_state": 0} | changes


def interrupted(data, folder, *, epochs=(2, 5), make=dict, fit_params=None, **parameters):
    """Return a net whose training was broken off in each of `epochs` and resumed each time.

    `make` returns parameters that are made anew each time, as in a new process; so does `data`, if it is a function.
    """

    def fit():
        X_y = data() if callable(data) else data
        return LECClassifier(**parameters | make(), checkpoint_dir=folder).fit(*X_y, **fit_params or {})

    for epoch in epochs:
        with power_cut(epoch=epoch):
            fit()
    return fit()


def history_of(net):
    epochs = [{name: value for name, value in epoch.items() if name != "dur"} for epoch in net.history]
    return json.dumps(epochs, default=lambda number: number.item())
