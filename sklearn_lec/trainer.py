"""What a method can ask of the training under way: features, weights, a standard training beside it."""

import copy
import warnings

import torch
from sklearn.base import clone
from skorch.callbacks import GradientNormClipping, LRScheduler, ParamMapper
from skorch.dataset import unpack_data
from torch import nn
from torch.utils.data import Subset

from sklearn_lec.data import matching, typical_parameter

__all__ = ["NetTrainer"]

BATCH_SIZE = 128
"""Rows among which neighbours are looked for when features are measured, as in the D2L paper."""


class NetTrainer:
    """The `Trainer` of a skorch net.

    Parameters
    ----------
    net : LECClassifier
    dataset : torch Dataset
        The training set.
    X, y : as for ``fit``, default=None
        Only for a standard training.
    fit_params : dict
        Passed to the network.
    """

    def __init__(self, net, dataset, *, X=None, y=None, fit_params=None):
        self.net = net
        self.dataset = dataset
        self.X, self.y = X, y
        self.fit_params = fit_params or {}
        self.n_classes = len(net.classes_)
        self.criterion = getattr(net.criterion_, "_orig_mod", net.criterion_)
        self.last_epoch = net.last_epoch_

    def check_head(self, layer):
        """Raise an error if the classifier head cannot be found, or takes no part in the network."""
        with torch.random.fork_rng(devices=[]):  # looking must not change the random numbers of the training
            list(self.hidden_features(2, layer=layer))

    @torch.no_grad()
    def hidden_features(self, n_rows, *, layer):
        """Yield, in batches, what enters the classifier head for random rows, in evaluation mode."""
        n_rows = min(n_rows, len(self.dataset))
        n_rows -= n_rows % BATCH_SIZE if n_rows > BATCH_SIZE else 0
        subset = Subset(self.dataset, torch.randperm(len(self.dataset))[:n_rows].tolist())
        module, captured = self._network(), []
        head = self._head(layer)
        hook = head.register_forward_pre_hook(
            lambda head, args, kwargs: captured.extend([*args, *kwargs.values()][:1]), with_kwargs=True
        )
        self.net._set_training(False)
        try:
            for batch in self.net.every_row_in_order(subset, batch_size=BATCH_SIZE):
                self._run(module, unpack_data(batch)[0])
                if not captured:
                    raise ValueError(
                        f"the layer whose input is measured, {head}, takes no part in the network. Name the classifier "
                        "head with lid_layer."
                    )
                features = captured.pop().flatten(1).float()
                captured.clear()
                yield features[features.isfinite().all(dim=1)]
        finally:
            hook.remove()

    def _run(self, module, X):
        if module is self.net.module_:
            self.net.infer(X, **self.fit_params)
            return
        # Hooks are not part of what was compiled, so that the network is run as it was before.
        x = matching(X, typical_parameter(module))
        module(**x, **self.fit_params) if isinstance(x, dict) else module(x, **self.fit_params)

    def weights(self):
        """Return a copy of the network's weights."""
        return {name: value.detach().clone() for name, value in self.net.module_.state_dict().items()}

    def restore(self, weights):
        """Put back weights that `weights` returned."""
        self.net.module_.load_state_dict(weights)

    def probabilities_after_standard_training(self):
        """Train a copy of the net on every row, and return its predictions for them.

        Its random numbers go on with those of the training under way. Of the user's callbacks only those run that
        change the training itself; a checkpoint of this network would be taken for one of the network to come.
        """
        callbacks = self.net.callbacks
        if isinstance(callbacks, list):
            callbacks = [_copy(item) for item in callbacks if _changes_updates(item)]
        parameters = self.net.get_params(deep=False) | self.net.method_defaults()
        parameters |= {"method": "standard", "random_state": None, "predict_nonlinearity": "auto", "warm_start": False}
        parameters |= {"callbacks": callbacks, "classes": self.net.classes_inferred_}
        parameters |= {"checkpoint_dir": self.net._folder_of_first_training()}
        parameters["module"] = copy.deepcopy(self.net.module)
        standard = type(self.net)(**parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of will be said in the training under way
            standard.fit(self.X, self.y, sample_weight=self.net._sample_weight_, **self.fit_params)
            if len(standard.history) < standard.max_epochs:
                raise KeyboardInterrupt  # skorch takes it for the end of that training, but the user meant this one
            return standard.predict_proba(self.X)

    def record(self, name, value):
        """Write a value into the history of the epoch."""
        self.net.history.record(name, value)

    def _network(self):
        return getattr(self.net.module_, "_orig_mod", self.net.module_)

    def _head(self, layer):
        layers = dict(self._network().named_modules())
        if layer is not None:
            if layer not in layers:
                raise ValueError(
                    f"lid_layer={layer!r} is not a layer of the module. Its layers: {', '.join(filter(None, layers))}."
                )
            return layers[layer]
        linear = [layer for layer in layers.values() if isinstance(layer, nn.Linear)]
        if not linear:
            raise ValueError(
                f"method={self.net.method!r} measures what enters the classifier head, and takes the last nn.Linear "
                f"for it, but {type(self._network()).__name__} has none. Name the layer with lid_layer; layers: "
                f"{', '.join(filter(None, layers))}."
            )
        return linear[-1]


def _changes_updates(item):
    callback = item[1] if isinstance(item, (tuple, list)) else item
    kinds = (GradientNormClipping, LRScheduler, ParamMapper)
    return isinstance(callback, kinds) or (isinstance(callback, type) and issubclass(callback, kinds))


def _copy(item):
    return (item[0], clone(item[1])) if isinstance(item, (tuple, list)) else clone(item)
