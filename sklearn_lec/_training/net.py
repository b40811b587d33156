"""Every hook of skorch that the package overrides, each a few lines that hand over to the training run."""

import re
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing
from skorch import NeuralNetClassifier
from skorch.dataset import get_len
from skorch.exceptions import SkorchTrainingImpossibleError
from skorch.helper import SliceDataset
from torch.utils.data import DataLoader, Dataset

from sklearn_lec._training.batches import indexed_loader, reference_parameter, to_like
from sklearn_lec._training.build import check_forward, fused_adam, new_method, new_module, sample_shape
from sklearn_lec._training.criterion import check_criterion, criterion_of
from sklearn_lec._training.device import AutoDeviceMixin
from sklearn_lec._training.labels import LabelCodes, RelabeledDataset, known_classes, labels_of
from sklearn_lec._training.names import hints_at_names
from sklearn_lec._training.restored import warn_of_early_end
from sklearn_lec._training.rng import RandomStream
from sklearn_lec._training.run import InterruptedBeforeTraining, TrainingRun
from sklearn_lec._training.saved import (
    check_description,
    describing_data,
    description_in,
    file_of_params,
    save_safetensors,
    take_description,
)
from sklearn_lec._training.step import per_network
from sklearn_lec._training.torch_utils import batchnorm_in_evaluation, uses_batch_statistics
from sklearn_lec._training.warn import warn_caller
from sklearn_lec._validation import check_classes, check_inputs, check_labels, check_outputs
from sklearn_lec.methods import Method
from sklearn_lec.progress import close_progress

__all__ = ["MethodNet"]


class MethodNet(AutoDeviceMixin, NeuralNetClassifier):
    """A skorch classifier that is trained by a `Method`.

    Attributes
    ----------
    method_ : Method
        The method with its state.
    sample_shape_ : tuple of int or None
        The shape of one sample of the training data; None if it is not a single array.
    is_loaded_ : bool
        Whether parameters were loaded from a file.
    _run : TrainingRun or None
        All that lives for one call of ``fit`` or ``partial_fit``; None outside of it.
    """

    # Beside skorch's own: what is moved to the CPU when a net that was trained on a GPU is unpickled without one.
    cuda_dependent_attributes_ = ["method_"]
    sample_shape_ = None
    is_loaded_ = False
    _run = None

    def __init_subclass__(cls, **kwargs):
        own = set(vars(cls))
        super().__init_subclass__(**kwargs)
        # skorch's methods of these names take any of the fit_params. scikit-learn 1.6 hides them behind methods that
        # take sample_weight alone, because a subclass has it in the signature; newer versions do not.
        for name in {"set_fit_request", "set_partial_fit_request"} & (set(vars(cls)) - own):
            delattr(cls, name)

    def __getstate__(self):
        # A net that is pickled in the middle of a training (Checkpoint does) must not take the data along.
        return {name: value for name, value in super().__getstate__().items() if name != "_run"}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # --- parameters -----------------------------------------------------------------------------------------------

    def _get_param_names(self):
        # skorch counts everything without a trailing underscore, private attributes too.
        return [name for name in vars(self) if not name.startswith("_") and not name.endswith("_")]

    def set_params(self, **params):
        """Set parameters; those of a method instance are named ``method__<name>``."""
        of_method = {
            name.removeprefix("method__"): params.pop(name) for name in [*params] if name.startswith("method__")
        }
        method = params.get("method", self.method)
        if of_method and not isinstance(method, Method):
            raise ValueError(
                f"method={method!r} has no parameters to set. Pass an instance, such as method=LTEC(), to set "
                f"{', '.join(f'method__{name}' for name in of_method)}."
            )
        with hints_at_names(self, params):
            super().set_params(**params)
        if of_method:
            method.set_params(**of_method)
        return self

    # --- building the parts ---------------------------------------------------------------------------------------

    def initialize(self):
        """Build the network, optimizer and callbacks anew; ``fit`` does it by itself."""
        with self._random_numbers(restart=True):
            return super().initialize()

    def _initialize_module(self, reason=None):
        # Before initialize_module, which users override.
        self.method_ = new_method(self)
        return super()._initialize_module(reason)

    def initialize_module(self):
        """Build as many networks as the method trains."""
        with self._random_numbers(restart=False):
            self.module_ = new_module(self, self.method_.n_networks)
        return self

    def _validate_params(self):
        with hints_at_names(self, sorted(self._params_to_validate)):
            super()._validate_params()

    def get_all_learnable_params(self):
        """Yield names and parameters; those of an ensemble have the names that they have in their own network."""
        in_ensemble = self.method_.n_networks > 1
        for name, parameter in super().get_all_learnable_params():
            yield re.sub(r"^(_orig_mod\.)?networks\.\d+\.", "", name) if in_ensemble else name, parameter

    def get_params_for_optimizer(self, prefix, named_parameters):
        """Return the arguments of an optimizer; Adam is fused, unless the user has said how it is to be computed."""
        groups, arguments = super().get_params_for_optimizer(prefix, named_parameters)
        parameters = [parameter for group in groups[0] for parameter in group["params"]]
        return groups, fused_adam(getattr(self, prefix, None), parameters, arguments)

    def _random_numbers(self, *, restart):
        """Return a block in which random numbers come from `random_state`, anew or going on."""
        if self.random_state is None:
            return nullcontext()
        stream = vars(self).get("random_stream_")
        if stream is None or (restart and not stream.is_active):
            self.random_stream_ = stream = RandomStream(self.random_state)
        return stream.active()

    def save_params(
        self,
        f_params=None,
        f_optimizer=None,
        f_criterion=None,
        f_history=None,
        use_safetensors=False,
        **others,
    ):
        """Save parts of the net, as `skorch.NeuralNet.save_params` does.

        `f_params` also has the classes and the shape of a sample: what ``load_params`` needs for a new estimator that
        predicts. `f_method` has the state of the method.
        """
        files = [file for file in (f_params, others.get("f_module")) if file is not None]  # two names for one part
        if use_safetensors and self.initialized_ and len(files) == 1:
            save_safetensors(self, files[0])
            f_params, others = None, {name: file for name, file in others.items() if name != "f_module"}
            if not any((f_optimizer, f_criterion, f_history, *others.values())):
                return
        with describing_data(self):
            super().save_params(f_params, f_optimizer, f_criterion, f_history, use_safetensors, **others)

    def load_params(
        self,
        f_params=None,
        f_optimizer=None,
        f_criterion=None,
        f_history=None,
        checkpoint=None,
        use_safetensors=False,
        **others,
    ):
        """Load what ``save_params`` has saved, as `skorch.NeuralNet.load_params` does.

        `f_params` brings the classes along, and the network is built if it has not been yet: a new estimator needs
        neither data nor ``initialize``.
        """
        file = f_params or others.get("f_module") or file_of_params(self, checkpoint)
        description = None
        if file is not None:
            load_arguments = self.torch_load_kwargs or {"weights_only": True}
            description = description_in(file, use_safetensors=use_safetensors, **load_arguments)
        if description is not None:
            check_description(self, description)
            if not self.initialized_:
                take_description(self, description)
                self.initialize()
        super().load_params(f_params, f_optimizer, f_criterion, f_history, checkpoint, use_safetensors, **others)
        if description is not None:  # only now: a network of another size is not loaded, and the net stays what it was
            take_description(self, description)
        self.is_loaded_ = self.is_loaded_ or file is not None

    # --- one call of fit or partial_fit ---------------------------------------------------------------------------

    def check_training_readiness(self):
        """Raise an error if the net has been trimmed for prediction, or is a clone of one that has."""
        if getattr(self, "_trimmed_for_prediction", False) or self.iterator_train is None:
            raise SkorchTrainingImpossibleError(
                "The net's attributes were trimmed for prediction, thus it cannot be used for training anymore. Make a "
                "new one with its parameters, or call trim_for_prediction on a copy.deepcopy of the net."
            )

    def _check_call(self, called, fit_params):
        """Refuse a call that cannot end well whatever the data: before anything is looked at or built."""
        self.check_training_readiness()
        if get_config()["enable_metadata_routing"]:
            process_routing(self, called, **fit_params)

    def _check_criterion(self, n_classes, *, per_sample, is_built):
        """Check the criterion: before anything is built, or after that if a subclass builds its own."""
        of_user = type(self).initialize_criterion is not NeuralNetClassifier.initialize_criterion
        if of_user is not is_built:
            return
        if is_built:
            criterion = criterion_of(self)
        else:
            criterion = self.initialized_instance(self.criterion, self.get_params_for("criterion"))
        if criterion is not None:
            check_criterion(criterion, n_classes=n_classes, per_sample=per_sample)
        elif per_sample or not self.method_.is_ordinary:
            raise TypeError(
                f"initialize_criterion of {type(self).__name__} sets no criterion_, which method={self.method!r} or "
                "sample_weight needs for the losses of samples. Give the criterion that name."
            )

    def _check_module(self):
        """Raise an error if a subclass has built no network under the name that it must have."""
        if "module_" not in vars(self):
            raise TypeError(
                f"initialize_module of {type(self).__name__} sets no module_, which is the network that is trained. "
                "Give it that name; if there are several, make them parts of one module."
            )

    def _validate_fit_data(self, X, y, *, classes=None, from_scratch=False):
        """Check X and y, note the features, and return X, y and the classes."""
        if torch.is_inference_mode_enabled():
            raise RuntimeError(
                "a network cannot be trained within torch.inference_mode(), where torch records nothing for gradients. "
                "Call fit outside of that block; predict may stay in it."
            )
        X = check_inputs(self, X, reset=from_scratch)
        check_forward(self.module, X)
        n_samples = len(X) if isinstance(X, Dataset) else get_len(X)
        if y is None and not isinstance(X, Dataset):
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Only a Dataset that yields "
                "(x, y) brings its own labels."
            )
        if y is None:
            y = check_labels(labels_of(X), n_samples=n_samples)
        else:
            y = check_labels(labels_of(y) if isinstance(y, SliceDataset) else y, n_samples=n_samples)
            X = RelabeledDataset(X, y) if isinstance(X, Dataset) else X
        learned = None if from_scratch else vars(self).get("classes_inferred_")
        classes = check_classes(y, known=known_classes(self.classes, named=classes, learned=learned))
        if from_scratch and not np.array_equal(classes, np.unique(classes)):
            warn_caller(
                f"classes={classes.tolist()} are not in ascending order. Probabilities follow them, but some scores of "
                "scikit-learn, such as 'roc_auc' and 'neg_log_loss', count on ascending order and will be wrong."
            )
        return X, y, classes

    def _note_classes(self, X, classes):
        """Note the classes and the shape of a sample, which tell about the arguments of the network."""
        self.classes_inferred_ = classes
        self.sample_shape_ = sample_shape(X)

    @contextmanager
    def _training_run(self, X, y, **arguments):
        """Hold a `TrainingRun` for the length of a block: it begins and ends here, and nowhere else."""
        self._run = TrainingRun(self, X, y, **arguments)
        try:
            yield
        except InterruptedBeforeTraining:
            raise KeyboardInterrupt from None
        finally:
            self._run.close()
            self._run = None
            close_progress(self)

    # --- skorch's hooks, in the order in which they are called ------------------------------------------------------

    def check_data(self, X, y):
        """Do nothing: X and y have been checked before the network was built."""

    def fit_loop(self, X, y=None, epochs=None, **fit_params):
        """Train for `epochs` epochs, or for as many as an interrupted run has left; `max_epochs` if None."""
        if self._run is None:  # called directly
            X, y, classes = self._validate_fit_data(X, y)
            self._note_classes(X, classes)
            with self._training_run(X, y):
                return self.fit_loop(X, y, epochs, **fit_params)
        self._run.fit_params = {name: value for name, value in fit_params.items() if name != "_routing_method"}
        super().fit_loop(X, y, self._run.start(epochs), **fit_params)
        self._run.finish()
        return self

    def get_split_datasets(self, X, y=None, **fit_params):
        """Split into training and validation set; in a training both are made of one data set that holds all of X."""
        return super().get_split_datasets(X if self._run is None else self._run.dataset, y, **fit_params)

    def get_iterator(self, dataset, training=False):
        """Return an iterator over batches that carry their sample numbers."""
        arguments = self.get_params_for("iterator_train" if training else "iterator_valid")
        loader_class = self.iterator_train if training else self.iterator_valid
        arguments = {"batch_size": self.batch_size, "shuffle": training} | arguments
        if self._run is None:
            if not training and loader_class is DataLoader and arguments.get("generator") is None:
                # A loader draws a seed for its workers even if it has none: predicting must not move global numbers.
                arguments["generator"] = torch.Generator()
                arguments["generator"].set_state(torch.get_rng_state())
            return indexed_loader(dataset, loader_class, numbers=None, **arguments)
        return self._run.loader(dataset, loader_class, arguments)

    def notify(self, method_name, **kwargs):
        """Tell callbacks; before the first epoch the run begins, and after each one a checkpoint is written."""
        if method_name == "on_epoch_begin" and self._run is not None:
            self._run.begin(kwargs.get("dataset_train"))
        super().notify(method_name, **kwargs)
        if method_name == "on_epoch_end" and self._run is not None and self._run.checkpoints is not None:
            self._run.checkpoints.write()
        if method_name == "on_train_end" and self._run is not None:
            warn_of_early_end(self, self.method_, last_epoch=self._run.last_epoch)

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch; the training run knows which batch is under way, whatever overrides the step."""
        if training and self._run is not None:
            iterator, step_fn = self._run.begin_epoch(iterator, step_fn)
        elif self._run is not None and self._run.log is not None:
            step_fn = self._run.log.watching(step_fn)  # held-out samples are predicted, too
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
        if self._run is not None and self._run.log is not None:
            self._run.log.write()
        if training and self._run is not None:
            self._run.end_epoch()

    def infer(self, x, **fit_params):
        """Run the network on a batch, brought to its device and precision."""
        reference = None if self._run is None else self._run.reference
        x = to_like(x, reference_parameter(self.module_) if reference is None else reference)
        try:
            return super().infer(x, **fit_params)
        except ValueError:
            # Batch norm refuses to take the statistics of a single sample, which the last batch may well be.
            if get_len(x) != 1 or not uses_batch_statistics(self.module_):
                raise
            with batchnorm_in_evaluation(self.module_):
                return super().infer(x, **fit_params)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss: in a training step that of the selected samples summed over networks, else the mean."""
        run = self._run
        label_codes = LabelCodes(self.classes_inferred_) if run is None else run.label_codes
        labels = label_codes(y_true, known=training)
        n_classes, n_networks = len(label_codes.classes), self.method_.n_networks
        check_outputs(y_pred, n_samples=len(labels), n_classes=n_classes, n_networks=n_networks)
        # A get_loss of the user's own may have lost the flag: within a training step it is known what is trained on.
        if run is not None and (training or (self.module_.training and run.is_under_way(labels))):
            return run.loss_of_batch(y_pred, labels, X)
        if training and not self.method_.is_ordinary:
            raise RuntimeError(
                f"a training step outside of fit and partial_fit would be ordinary training, and not that of "
                f"method={self.method!r}. Call partial_fit, or use method='standard'."
            )
        labels = labels.to(y_pred.device)
        criterion_loss = super().get_loss
        of_networks = [criterion_loss(o, labels) for o in per_network(y_pred, self.method_)]
        return torch.stack(of_networks).mean()

    def trim_for_prediction(self):
        """Drop all that only training needs; what was learned about the samples stays, and so do probabilities."""
        self.check_is_fitted()
        if self.predict_nonlinearity == "auto":  # skorch infers it from the criterion, which is about to go
            self.predict_nonlinearity = super()._get_predict_nonlinearity()
        super().trim_for_prediction()

    def _get_predict_nonlinearity(self):
        nonlinearity = super()._get_predict_nonlinearity()

        def average_over_networks(outputs):
            probabilities = nonlinearity(outputs)
            if probabilities.dtype == torch.bfloat16:  # which NumPy does not have
                probabilities = probabilities.float()
            return probabilities.mean(dim=1) if self.method_.n_networks > 1 else probabilities

        return average_over_networks
