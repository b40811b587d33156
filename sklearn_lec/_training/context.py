"""What a method can ask of the training under way: features, weights, the predictions of another method."""

import copy
import warnings

import numpy as np
import torch
from sklearn.base import clone
from skorch.dataset import unpack_data
from torch import nn
from torch.utils.data import Subset

from sklearn_lec._training.batches import reference_parameter, to_like
from sklearn_lec._training.build import method_defaults
from sklearn_lec._training.criterion import criterion_of
from sklearn_lec._training.resume import UPDATE_CALLBACKS, is_callback
from sklearn_lec._training.rng import global_state, set_global_state

__all__ = ["NetContext"]

BATCH_SIZE = 128
"""Samples among which neighbors are looked for when features are measured, as in the D2L paper."""


class NetContext:
    """The `MethodContext` of a skorch net.

    Parameters
    ----------
    net : LECClassifier
    run : TrainingRun
    """

    def __init__(self, net, run):
        self.net = net
        self.run = run
        self.n_classes = len(run.label_codes.classes)
        self.labels = run.codes
        self.samples = run.numbers
        self.criterion = criterion_of(net)
        self.device = reference_parameter(net.module_).device
        self.last_epoch = run.last_epoch

    def check_head(self, layer):
        """Raise an error if the classifier head cannot be found, or takes no part in the network."""
        with torch.random.fork_rng(devices=[]):  # looking must not change the random numbers of the training
            list(self.hidden_features(2, layer=layer))

    @torch.no_grad()
    def hidden_features(self, n_samples, *, layer):
        """Yield, in batches, what enters the classifier head for random samples, in evaluation mode."""
        dataset = self.run.dataset_train
        n_samples = min(n_samples, len(dataset))
        n_samples -= n_samples % BATCH_SIZE if n_samples > BATCH_SIZE else 0
        subset = Subset(dataset, torch.randperm(len(dataset))[:n_samples].tolist())
        module, captured = self._network(), []
        head = self._head(layer)
        hook = head.register_forward_pre_hook(
            lambda head, args, kwargs: captured.extend([*args, *kwargs.values()][:1]), with_kwargs=True
        )
        module.eval()
        try:
            for batch in self.run.each_sample_once(subset, batch_size=BATCH_SIZE):
                self._forward(module, unpack_data(batch)[0])
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

    def weights(self):
        """Return a copy of the network's weights."""
        return {name: value.detach().clone() for name, value in self.net.module_.state_dict().items()}

    def restore(self, weights):
        """Put back weights that `weights` returned."""
        self.net.module_.load_state_dict(weights)

    def predictions_of(self, method):
        """Train a copy of the net with another method, and return its probabilities for all samples.

        Its random numbers go on with those of the training under way. Of the user's callbacks only those run that
        change the updates; a checkpoint of this network would be taken for one of the network to come. Samples that are
        left out of the training for their huge values have probabilities of NaN.
        """
        net, run = self.net, self.run
        callbacks = net.callbacks
        if isinstance(callbacks, list):
            callbacks = [_copy(item) for item in callbacks if is_callback(item, UPDATE_CALLBACKS)]
        parameters = net.get_params(deep=False) | method_defaults(type(net))
        parameters |= {"method": method, "random_state": None, "predict_nonlinearity": "auto", "warm_start": False}
        parameters |= {"callbacks": callbacks, "classes": net.classes_inferred_}
        parameters |= {"checkpoint_dir": run.checkpoints and run.checkpoints.folder_of_first_training()}
        parameters["module"] = copy.deepcopy(net.module)
        other = type(net)(**parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of will be said in the training under way
            other.fit(run.X, run.y, sample_weight=run.sample_weight, **run.fit_params)
            if len(other.history) < other.max_epochs:
                raise KeyboardInterrupt  # skorch takes it for the end of that training, but the user meant this one
            probabilities = other.predict_proba(run.X)
        if not run.huge.are_all_known:
            self._look_for_huge_samples()
        probabilities[run.huge.known] = np.nan
        return probabilities

    def record(self, name, value):
        """Write a value into the history of the epoch."""
        self.net.history.record(name, value)

    def _look_for_huge_samples(self):
        """Load every sample once, those held out too; random numbers are as if that had not been."""
        random_numbers = global_state()
        try:
            for _ in self.run.each_sample_once(self.run.dataset):
                pass
        finally:
            set_global_state(random_numbers)

    def _forward(self, module, X):
        """Run a network on a batch."""
        if module is self.net.module_:
            self.net.infer(X, **self.run.fit_params)
            return
        # Hooks are not part of what was compiled, so that the network is run as it was before.
        x = to_like(X, reference_parameter(module))
        module(**x, **self.run.fit_params) if isinstance(x, dict) else module(x, **self.run.fit_params)

    def _network(self):
        """Return the network as it was before it was compiled."""
        return getattr(self.net.module_, "_orig_mod", self.net.module_)

    def _head(self, layer):
        """Return the layer of that name, or the last linear layer if None."""
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


def _copy(item):
    """Return a copy of an entry of `callbacks`."""
    return (item[0], clone(item[1])) if isinstance(item, (tuple, list)) else clone(item)
