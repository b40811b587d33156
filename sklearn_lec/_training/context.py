"""What a method can ask of the training under way: features, weights, the predictions of another method."""

import warnings

import numpy as np
import torch
from skorch.dataset import unpack_data
from torch import nn
from torch.utils.data import Subset

from sklearn_lec._training.batches import reference_parameter, to_like
from sklearn_lec._training.build import batch_size_of
from sklearn_lec._training.copies import trained_copy
from sklearn_lec._training.criterion import criterion_of
from sklearn_lec._training.folds import held_out_probabilities, plan_folds, stratified_folds
from sklearn_lec._training.rng import random_numbers_put_back
from sklearn_lec._training.warn import warn_caller
from sklearn_lec.estimation.noise_estimate import NoEstimateError, NoiseEstimate
from sklearn_lec.progress import running_progress

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

        Its random numbers go on with those of the training under way. Samples that are left out of the training for
        their huge values have probabilities of NaN.
        """
        run, progress = self.run, running_progress(self.net)
        other = trained_copy(
            self.net,
            run.X,
            run.y,
            phase=progress and progress.phase("first training", n_epochs=self.net.max_epochs),
            method=method,
            classes=self.net.classes_inferred_,
            sample_weight=run.sample_weight,
            trusted=run.trusted,
            fit_params=run.fit_params,
            checkpoint_dir=self._folder_of_first_training(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of predictions that are NaN, which the caller has to look at
            probabilities = other.predict_proba(run.X)
        self._forget_huge_samples(probabilities)
        return probabilities

    def noise_estimate(self):
        """Return an estimate from networks that are trained on part of the samples."""
        method, classes = self.run.method, self.run.label_codes.classes
        if method.noise_estimate is None:
            # So that the training that follows is the one that a user would get who knew the estimate.
            with random_numbers_put_back():
                estimate = self._estimate_noise()
            method.noise_estimate = estimate.state()
            if not estimate.is_trustworthy:
                low, high = estimate.interval
                warn_caller(
                    f"the share of wrong labels is estimated as {estimate.eps:.2f} (90 % interval {low:.2f} to "
                    f"{high:.2f}), which cannot be trusted: {' Besides, '.join(estimate.doubts)} It is used all the "
                    "same; set eps, or corruption_matrix for 'forward', if you know better."
                )
            return estimate
        return NoiseEstimate.from_state(method.noise_estimate, classes=classes)

    def record(self, name, value):
        """Write a value into the history of the epoch."""
        self.net.history.record(name, value)

    def _estimate_noise(self):
        net, run = self.net, self.run
        labels, numbers, classes = self.labels.numpy(), self.samples.numpy(), run.label_codes.classes
        batch_size = batch_size_of(net, len(numbers))
        largest = np.bincount(labels[numbers]).max()
        plan = plan_folds(len(numbers), max_epochs=net.max_epochs, batch_size=batch_size, largest_class=largest)
        if plan is None:
            raise NoEstimateError(
                f"max_epochs={net.max_epochs} leaves no epoch to train networks on part of the samples first, which "
                "may take a quarter of them. Raise max_epochs to 4 at least."
            )
        if largest < plan.n_folds:
            raise NoEstimateError("each class has one sample only. Use more samples.")
        probabilities = held_out_probabilities(
            net,
            run.X,
            run.y,
            labels=labels,
            classes=classes,
            folds=[(numbers[one], numbers[two]) for one, two in stratified_folds(labels[numbers], plan.n_folds)],
            plan=plan,
            checkpoint_dir=self._folder_of_first_training,
            sample_weight=run.sample_weight,
            fit_params=run.fit_params,
        )
        self._forget_huge_samples(probabilities)
        return NoiseEstimate.from_predictions(labels, probabilities, classes=classes)

    def _folder_of_first_training(self):
        """Return where a training that comes before this one keeps its checkpoints; None if it keeps none."""
        return self.run.checkpoints and self.run.checkpoints.folder_of_first_training()

    def _forget_huge_samples(self, probabilities):
        """Set the predictions for samples that are left out for their huge values to NaN.

        Every sample may have to be loaded once, those held out too; random numbers are as if that had not been.
        """
        if not self.run.huge.are_all_known:
            self._look_for_huge_samples()
        probabilities[self.run.huge.known] = np.nan

    def _look_for_huge_samples(self):
        with random_numbers_put_back():
            for _ in self.run.each_sample_once(self.run.dataset):
                pass

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
