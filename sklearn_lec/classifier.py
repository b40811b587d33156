"""LECClassifier: a skorch classifier that learns from the samples whose labels an ensemble agrees on."""

import re
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from sklearn.exceptions import NotFittedError
from skorch import NeuralNetClassifier
from skorch.dataset import get_len
from torch import nn
from torch.utils.data import Dataset

from sklearn_lec._training.batches import indexed_loader, reference_parameter, to_like
from sklearn_lec._training.build import (
    fused_adam,
    method_defaults,
    module_arguments,
    new_method,
    new_module,
    sample_shape,
    updated_method,
    warn_of_unused_parameters,
)
from sklearn_lec._training.device import AutoDeviceMixin
from sklearn_lec._training.labels import LabelCodes, RelabeledDataset, labels_of
from sklearn_lec._training.rng import RandomStream
from sklearn_lec._training.run import TrainingRun
from sklearn_lec._training.step import per_network
from sklearn_lec._training.torch_utils import batchnorm_in_evaluation
from sklearn_lec._validation import (
    check_classes,
    check_criterion,
    check_inputs,
    check_labels,
    check_outputs,
    check_sample_weight,
)
from sklearn_lec.callbacks import LinearDecay
from sklearn_lec.methods import Method
from sklearn_lec.modules import MLP

__all__ = ["LECClassifier"]


class LECClassifier(AutoDeviceMixin, NeuralNetClassifier):
    """Neural network classifier for data whose labels are partly wrong.

    Learning with ensemble consensus (LEC) first trains on all rows for a while, and then only on rows whose loss is
    small in the eyes of a whole ensemble: wrong labels are learned by heart, and what was learned by heart does not
    survive a change of network, of dropout mask, or of epoch. Use it like skorch's `NeuralNetClassifier` when you do
    not trust all of your labels; afterwards `clean_mask_` says which rows it trusted.

    Parameters
    ----------
    module : torch module class or instance, default=MLP
        Has to return logits of shape (n_rows, n_classes). Arguments of its constructor named ``in_features``,
        ``in_channels`` and ``num_classes`` are filled in from the data, unless set as ``module__num_classes=...``.
        Methods with several networks need the class, not an instance.
    method : str, default="ltec"
        How rows are chosen:

        - "standard": every row, ordinary training.
        - "self-training": rows with a small loss now; what the others become at ``M=1``.
        - "lnec": rows on which `M` networks, trained side by side, agree.
        - "lsec": rows on which `M` stochastic passes (dropout, noise) of one network agree.
        - "ltec": rows whose loss has been small in each of the last `M` epochs.
        - "ltec-full": the same, compared over the whole training set before each epoch.
        - "co-teaching": two networks; each learns from the rows with a small loss in the other.
        - "forward": every row, on a loss corrected by how often each class is mislabelled as another.
        - "d2l": every row, with labels that give way to the network's own predictions when it begins to learn by
          heart.

        A parameter below that the method does not use, set all the same, is warned of; `eps` is not.
    eps : float in [0, 1), default=0.2
        Share of the labels that you take to be wrong. A little too much costs less than too little.
    M : int or inf, default=5
        For "lnec", "lsec", "ltec" and "ltec-full": how many voters have to agree. More is stricter: the labels kept
        are cleaner, but fewer. ``numpy.inf`` is for "ltec" and "ltec-full".
    T_w : int, default=10
        Epochs of warming-up on all rows. Long enough that the network has learned what is common, short enough
        that it has not learned the wrong labels by heart. Not for "co-teaching", "forward", "d2l" and "standard".
    T_k : int, default=10
        For "co-teaching": the share that is left out grows from 0 in the first epoch to `eps` in epoch `T_k`.
    percentile : float in [0, 100], default=97
        For "forward": where among the probabilities of a class the row stands from which the corruption matrix is
        read off; 100, the largest, for many classes. A standard network is trained first to get the probabilities,
        with those of the callbacks that change the training, such as `LRScheduler`.
    corruption_matrix : array-like of shape (n_classes, n_classes) or None, default=None
        For "forward": the probability of each label (column) given the true class (row), if it is known; classes in
        ascending order.
    W : int, default=12
        For "d2l": epochs with which the dimensionality of the current one is compared. Before the last of them
        there is no turning point.
    lid_layer : str or None, default=None
        For "d2l": name of the layer whose input is measured; None takes the last ``nn.Linear`` for the classifier
        head.
    random_state : int, RandomState instance or None, default=None
        Makes ``fit`` repeatable, and leaves the global random state alone. With None, random numbers come from
        torch's global generator.
    checkpoint_dir : str, Path or None, default=None
        A folder for the whole state of the training after each epoch. If ``fit`` finds an unfinished run of the same
        parameters and data there, it goes on with it, and ends bit for bit as if it had never been interrupted; if it
        finds a finished one, it takes its result; if parameters or data differ, that is an error. One folder for each
        fit: not for searches, and ``partial_fit`` writes none. Of a Dataset only labels and length are compared,
        unless it holds arrays; of a RandomState, that it is one.
    data_on_device : bool, default=False
        Whether ``fit`` moves all of X to `device` at once, in the network's precision, and picks batches there: for a
        GPU whose memory holds X, or float64 on the CPU. Otherwise each batch is moved and cast by itself.
    criterion : torch loss class, default=torch.nn.CrossEntropyLoss
        Has to be able to give one loss per row with ``reduction="none"``.
    optimizer : torch optimizer class, default=torch.optim.Adam
    lr : float, default=0.001
    max_epochs : int, default=200
    batch_size : int, default=128
        Rows are drawn at random, unless ``iterator_train__shuffle=False`` or a sampler is set.
    train_split : callable or None, default=None
        None trains on every row. ``skorch.dataset.ValidSplit(5)`` holds rows out for validation.
    device : str or torch.device, default="auto"
        "auto" takes CUDA if there is one, else MPS, else the CPU.
    **kwargs
        All other parameters of `skorch.NeuralNetClassifier`. The callback ``linear_decay`` is the paper's schedule;
        ``callbacks__linear_decay=None`` switches it off.

    Attributes
    ----------
    clean_mask_ : bool ndarray of shape (n_rows,)
        The rows of X, as passed to ``fit``, that the last finished epoch learned from; for "co-teaching" those that
        both networks did, and every row for "standard", "forward" and "d2l". Rows held out by `train_split` are False.
    clean_score_ : float ndarray of shape (n_rows,)
        The share of filtering epochs in which the row was kept; low for a suspect label. 1 if there was no filtering
        epoch, NaN for rows held out by `train_split`.
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns of ``predict_proba``.
    eps_ : float
        The share of wrong labels in use.
    corruption_matrix_ : ndarray of shape (n_classes, n_classes)
        After "forward": the corruption matrix in use.
    lid_history_ : list of float
        After "d2l": the local intrinsic dimensionality in each epoch.
    turning_epoch_ : int or None
        After "d2l": the epoch whose dimensionality rose, so that the network went back to the one before; None if
        there was none.
    n_features_in_ : int
        Number of columns, if X was a table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if X was a DataFrame with names.
    history : skorch.history.History
        Per epoch, among others ``train_loss`` and ``rows_kept``. For methods with several networks losses are means
        over the networks. ``valid_loss`` is that of the criterion, without what "forward" and "d2l" make of it.
    module_ : nn.Module
        The trained network, or a `Committee` of them.
    method_ : Method
        The state of the method, saved by ``save_params(f_method=...)``.

    See Also
    --------
    skorch.NeuralNetClassifier : The class it extends.
    sklearn_lec.callbacks.LabelQuality : Label precision and recall per epoch, where the right labels are known.

    Notes
    -----
    Cost in passes per epoch over n rows, once the warming-up is over: "ltec" and "self-training" take n forward and n
    backward passes, "lsec" takes M * n and n, "lnec" M * n and M * n, "co-teaching" 2 * n and 2 * n, "ltec-full" n
    passes to select and then one forward and backward pass per kept row; "forward" trains twice. Where a network with
    convolutions keeps fewer than half of the rows, these go forward once more, and they alone go backward. "lsec" needs
    a network with dropout or noise. The row-wise memory is 8 bytes per row, whatever `M`.

    Adam and AdamW are run fused, unless ``optimizer__fused``, ``foreach``, ``capturable`` or ``differentiable`` is set.

    Class weights go through the criterion, ``criterion__weight=torch.tensor([1.0, 5.0])`` in the order of `classes_`.
    Votes compare the losses without them; they count in the update alone, as `sample_weight` does. With an optimizer
    that evaluates a batch several times, such as LBFGS, each evaluation votes.

    Filtering is weak where wrong labels resemble each other, as when an annotator confuses two classes throughout:
    use a larger `M` there. ``partial_fit`` goes on with the rows' record as long as it gets the same labels.

    References
    ----------
    J. Lee and S.-Y. Chung, "Robust Training with Ensemble Consensus", ICLR 2020.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn_lec import LECClassifier
    >>> X, y = make_blobs(300, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> y[:30] = 1 - y[:30]
    >>> clf = LECClassifier(eps=0.1, max_epochs=8, T_w=2, verbose=0, random_state=0).fit(X, y)
    >>> bool(clf.clean_mask_[:30].mean() < 0.1), bool(clf.clean_mask_[30:].mean() > 0.9)
    (True, True)
    """

    # Beside skorch's own: what is moved to the CPU when a net that was trained on a GPU is unpickled without one.
    cuda_dependent_attributes_ = ["method_"]
    module_arguments_ = {}
    _run = None

    def __init__(
        self,
        module=MLP,
        *,
        method="ltec",
        eps=0.2,
        M=5,
        T_w=10,
        T_k=10,
        percentile=97,
        corruption_matrix=None,
        W=12,
        lid_layer=None,
        random_state=None,
        separate_vote="auto",
        checkpoint_dir=None,
        data_on_device=False,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.001,
        max_epochs=200,
        batch_size=128,
        train_split=None,
        device="auto",
        **kwargs,
    ):
        self.method = method
        self.eps = eps
        self.M = M
        self.T_w = T_w
        self.T_k = T_k
        self.percentile = percentile
        self.corruption_matrix = corruption_matrix
        self.W = W
        self.lid_layer = lid_layer
        self.random_state = random_state
        self.separate_vote = separate_vote
        self.checkpoint_dir = checkpoint_dir
        self.data_on_device = data_on_device
        super().__init__(
            module,
            criterion=criterion,
            optimizer=optimizer,
            lr=lr,
            max_epochs=max_epochs,
            batch_size=batch_size,
            train_split=train_split,
            device=device,
            **kwargs,
        )

    # --- fitted attributes ----------------------------------------------------------------------------------------

    @property
    def clean_mask_(self):
        """The samples that the last finished epoch learned from."""
        return self._record().last.cpu().numpy().copy()  # the buffer is used again in the next epoch

    @property
    def clean_score_(self):
        """The share of epochs after the warm-up in which each sample was selected."""
        return self._record().score.cpu().numpy()

    def _record(self):
        record = getattr(vars(self).get("method_"), "record", None)
        if record is None:
            raise NotFittedError(f"this {type(self).__name__} has no record of samples yet; call fit first.")
        return record

    def __getattr__(self, name):
        """Look up fitted attributes of the method, such as ``corruption_matrix_``, that the estimator has not."""
        method = vars(self).get("method_")
        if name.endswith("_") and not name.startswith("_") and method is not None and method.record is not None:
            return getattr(method, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # --- parameters -----------------------------------------------------------------------------------------------

    @property
    def _default_callbacks(self):
        return [("linear_decay", LinearDecay()), *super()._default_callbacks]

    def _get_param_names(self):
        # skorch counts everything without a trailing underscore, private attributes too.
        return [name for name in vars(self) if not name.startswith("_") and not name.endswith("_")]

    @classmethod
    def method_defaults(cls):
        """Return the parameters that methods take from the estimator, with their defaults."""
        return method_defaults(cls)

    def set_params(self, **params):
        """Set parameters; those of a method instance are named ``method__<name>``."""
        of_method = {
            name.removeprefix("method__"): params.pop(name) for name in [*params] if name.startswith("method__")
        }
        super().set_params(**params)
        if of_method and not isinstance(self.method, Method):
            raise ValueError(
                f"method={self.method!r} has no parameters to set. Pass an instance, such as method=LTEC(), to set "
                f"{', '.join(f'method__{name}' for name in of_method)}."
            )
        if of_method:
            self.method.set_params(**of_method)
        return self

    def __getstate__(self):
        # A net that is pickled in the middle of a training (Checkpoint does) must not take the data along.
        return {name: value for name, value in super().__getstate__().items() if name != "_run"}

    # --- building the parts ---------------------------------------------------------------------------------------

    def initialize(self):
        """Build the network, optimizer and callbacks anew; ``fit`` does it by itself."""
        with self._random_numbers(restart=True):
            return super().initialize()

    def _initialize_module(self, reason=None):
        # Before initialize_module, which users override.
        self.method_ = new_method(self)
        self.eps_ = getattr(self.method_, "eps", self.eps)
        return super()._initialize_module(reason)

    def initialize_module(self):
        """Build as many networks as the method trains."""
        with self._random_numbers(restart=False):
            self.module_ = new_module(self, self.method_.n_networks)
        return self

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

    # --- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, *, sample_weight=None, **fit_params):
        """Train from scratch, or go on if `warm_start` is True.

        Parameters
        ----------
        X : array-like, Tensor, DataFrame, dict of arrays or map-style Dataset of n_samples samples
            Floats of any precision are cast to that of the network batch by batch; integers are passed on as they are.
        y : array-like of shape (n_samples,), default=None
            Labels of any kind. May be None if X is a Dataset that yields (x, y), and otherwise takes the place of the
            labels that the Dataset yields.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts in the update, relative to the others in its batch; which samples are selected
            does not depend on it.
        **fit_params : dict
            Passed to the module's ``forward`` and to `train_split`.

        Returns
        -------
        self : LECClassifier
        """
        return self.partial_fit(X, y, sample_weight=sample_weight, _routing_method="fit", **fit_params)

    def partial_fit(self, X, y=None, classes=None, *, sample_weight=None, **fit_params):
        """Go on training for `max_epochs` epochs.

        Parameters
        ----------
        X, y : as for ``fit``
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur, if this `y` does not hold them all.
        sample_weight : array-like of shape (n_samples,), default=None
            As for ``fit``.
        **fit_params : dict
            Passed to the module's ``forward`` and to `train_split`.

        Returns
        -------
        self : LECClassifier
        """
        is_fit = fit_params.get("_routing_method") == "fit"
        from_scratch = not self.initialized_ or (is_fit and not self.warm_start)
        method = new_method(self)
        warn_of_unused_parameters(self)
        if is_fit:
            method.check_length((0 if from_scratch else self.method_.epoch) + self.max_epochs)
        with self._random_numbers(restart=from_scratch):
            X, y = self._validate_fit_data(X, y, classes=classes, from_scratch=from_scratch)
            criterion = self.initialized_instance(self.criterion, self.get_params_for("criterion"))
            per_sample = method.selects_samples or sample_weight is not None
            check_criterion(criterion, n_classes=len(self.classes_inferred_), per_sample=per_sample)
            weights = None if sample_weight is None else check_sample_weight(sample_weight, n_samples=len(y))
            if from_scratch:
                self.initialize()
            else:
                self.method_ = updated_method(self)
                self.eps_ = getattr(self.method_, "eps", self.eps)
            with self._training_run(X, y, sample_weight=weights, is_resumable=from_scratch and is_fit):
                return super().partial_fit(X, y, **fit_params)

    def _validate_fit_data(self, X, y, *, classes=None, from_scratch=False):
        """Check X and y, note what they tell about classes and features, and return them."""
        X = check_inputs(self, X, reset=from_scratch)
        n_samples = len(X) if isinstance(X, Dataset) else get_len(X)
        if y is None and not isinstance(X, Dataset):
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Only a Dataset that yields "
                "(x, y) brings its own labels."
            )
        if y is None:
            y = check_labels(labels_of(X), n_samples=n_samples)
        else:
            y = check_labels(y, n_samples=n_samples)
            X = RelabeledDataset(X, y) if isinstance(X, Dataset) else X
        learned = None if from_scratch else vars(self).get("classes_inferred_")
        known = classes if classes is not None else self.classes if self.classes is not None else learned
        if learned is not None and not np.array_equal(known, learned):
            raise ValueError(
                f"classes={np.asarray(known).tolist()} are not those of the training under way, {learned.tolist()}, to "
                "which the outputs of the network belong. Call fit to start with other classes."
            )
        self.classes_inferred_ = check_classes(y, known=known)
        self.module_arguments_ = module_arguments(sample_shape(X), len(self.classes_inferred_))
        return X, y

    @contextmanager
    def _training_run(self, X, y, **arguments):
        """Hold a `TrainingRun` for the length of a block: it begins and ends here, and nowhere else."""
        self._run = TrainingRun(self, X, y, **arguments)
        try:
            yield
        finally:
            self._run = None

    # --- skorch's hooks, in the order in which they are called ------------------------------------------------------

    def check_data(self, X, y):
        """Do nothing: X and y have been checked before the network was built."""

    def fit_loop(self, X, y=None, epochs=None, **fit_params):
        """Train for `epochs` epochs, or for as many as an interrupted run has left; `max_epochs` if None."""
        if self._run is None:  # called directly
            X, y = self._validate_fit_data(X, y)
            with self._training_run(X, y):
                return self.fit_loop(X, y, epochs, **fit_params)
        self._run.fit_params = {name: value for name, value in fit_params.items() if name != "_routing_method"}
        return super().fit_loop(X, y, self._run.start(epochs), **fit_params)

    def get_split_datasets(self, X, y=None, **fit_params):
        """Split into training and validation set; in a training both are made of one data set that holds all of X."""
        return super().get_split_datasets(X if self._run is None else self._run.dataset, y, **fit_params)

    def get_iterator(self, dataset, training=False):
        """Return an iterator over batches that carry their sample numbers."""
        arguments = self.get_params_for("iterator_train" if training else "iterator_valid")
        loader_class = self.iterator_train if training else self.iterator_valid
        arguments = {"batch_size": self.batch_size, "shuffle": training} | arguments
        if self._run is None:
            return indexed_loader(dataset, loader_class, numbers=None, **arguments)
        return self._run.loader(dataset, loader_class, arguments)

    def notify(self, method_name, **kwargs):
        """Tell callbacks; before the first epoch the run begins, and after each one a checkpoint is written."""
        if method_name == "on_epoch_begin" and self._run is not None:
            self._run.begin(kwargs.get("dataset_train"))
        super().notify(method_name, **kwargs)
        if method_name == "on_epoch_end" and self._run is not None and self._run.checkpoints is not None:
            self._run.checkpoints.write()

    def run_single_epoch(self, iterator, training, prefix, step_fn, **fit_params):
        """Run an epoch; the training run knows which batch is under way, whatever overrides the step."""
        if training and self._run is not None:
            iterator, step_fn = self._run.begin_epoch(iterator, step_fn)
        super().run_single_epoch(iterator, training, prefix, step_fn, **fit_params)
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
            if not self.module_.training or get_len(x) != 1:
                raise
            with batchnorm_in_evaluation(self.module_):
                return super().infer(x, **fit_params)

    def get_loss(self, y_pred, y_true, X=None, training=False):
        """Return the loss: in a training step that of the selected samples summed over networks, else the mean."""
        label_codes = LabelCodes(self.classes_inferred_) if self._run is None else self._run.label_codes
        # A get_loss of the user's own may have lost the flag; within a training step the mode of the network tells.
        in_step = self._run is not None and self._run.batch is not None and self.module_.training
        labels = label_codes(y_true, known=training or in_step)
        n_classes, n_networks = len(label_codes.classes), self.method_.n_networks
        check_outputs(y_pred, n_samples=len(labels), n_classes=n_classes, n_networks=n_networks)
        labels = labels.to(y_pred.device)
        if self._run is not None and (training or in_step):
            return self._run.loss_of_batch(y_pred, labels, X)
        if training and self.method_.selects_samples:
            raise RuntimeError(
                f"a training step outside of fit and partial_fit cannot select samples, which method={self.method!r} "
                "does. Call partial_fit, or use method='standard'."
            )
        of_networks = [super(LECClassifier, self).get_loss(o, labels) for o in per_network(y_pred, self.method_)]
        return torch.stack(of_networks).mean()

    # --- predicting -----------------------------------------------------------------------------------------------

    def predict_proba(self, X):
        """Return the probability of each class, averaged over the networks if there are several.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        self.check_is_fitted()
        return super().predict_proba(check_inputs(self, X, reset=False))

    def predict(self, X):
        """Return the most probable label of each sample.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        codes = self.predict_proba(X).argmax(axis=1)
        classes = vars(self).get("classes_inferred_", self.classes)
        # A net that was initialized and given weights, but never fitted, knows no labels: numbers, as in skorch.
        return codes if classes is None else np.asarray(classes)[codes]

    def _get_predict_nonlinearity(self):
        nonlinearity = super()._get_predict_nonlinearity()

        def average_over_networks(outputs):
            probabilities = nonlinearity(outputs)
            if probabilities.dtype == torch.bfloat16:  # which NumPy does not have
                probabilities = probabilities.float()
            return probabilities.mean(dim=1) if self.method_.n_networks > 1 else probabilities

        return average_over_networks
