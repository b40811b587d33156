"""From the settings of a scale to the classifier that is trained."""

import math
from functools import partial

from skorch.callbacks import LRScheduler
from torch.optim.lr_scheduler import LambdaLR

from benchmarks.methods import parameters_of
from benchmarks.scales import OF_EVERY_TRAINING
from sklearn_lec import LECClassifier
from sklearn_lec.modules import MLP, Conv9, ResNet20

__all__ = ["NETWORKS", "classifier", "fit_whole", "share_after_drops"]

NETWORKS = {"mlp": MLP, "conv9": Conv9, "resnet20": ResNet20}


def classifier(
    settings: dict, *, method: str = "standard", eps: float = 0.0, M: float | None = None, callbacks=(), **others
) -> LECClassifier:
    """Return the classifier that the settings describe, not yet trained.

    Parameters
    ----------
    settings : dict
        As `Scale.settings` returns it.
    method : str, default="standard"
    eps, M
        Passed on if the method uses them.
    callbacks : sequence of (name, Callback), default=()
    **others
        Further parameters of `LECClassifier`: ``random_state``, ``device``, ``checkpoint_dir``, ``train_split``.

    Returns
    -------
    classifier : LECClassifier
    """
    of_methods = settings | {"eps": eps, "M": M}
    own = set(parameters_of(method)) - OF_EVERY_TRAINING
    parameters = {name: of_methods[name] for name in own if name in of_methods}
    callbacks = list(callbacks)
    if "lr_drops" in settings:  # linear_decay switches itself off for it
        share = partial(share_after_drops, drops=settings["lr_drops"])
        callbacks.append(("lr_drops", LRScheduler(policy=LambdaLR, lr_lambda=share)))
    else:
        parameters["callbacks__linear_decay__start"] = settings["decay_start"]
    return LECClassifier(
        NETWORKS[settings["network"]],
        **{f"module__{name}": value for name, value in settings["network_arguments"].items()},
        method=method,
        max_epochs=settings["epochs"],
        batch_size=settings["batch_size"],
        lr=settings["lr"],
        callbacks=callbacks,
        verbose=0,
        **parameters,
        **others,
    )


def share_after_drops(epoch: int, *, drops) -> float:
    """Return the share of the initial learning rate at `epoch`, counted from 0.

    Parameters
    ----------
    epoch : int
    drops : list of (int, float)
        After which epoch, times what.

    Examples
    --------
    >>> [share_after_drops(epoch, drops=[(80, 0.1), (120, 0.1)]) for epoch in (80, 81)]
    [1.0, 0.1]
    """
    return math.prod((factor for after, factor in drops if epoch > after), start=1.0)


def fit_whole(net: LECClassifier, X, y, **fit_params) -> LECClassifier:
    """Fit, and insist on all epochs: skorch takes an interruption for the end of the training."""
    net.fit(X, y, **fit_params)
    if len(net.history) < net.max_epochs:
        raise KeyboardInterrupt
    return net
