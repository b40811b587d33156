"""LECClassifier: a skorch classifier that learns from the rows whose labels an ensemble agrees on."""

from contextlib import nullcontext

import numpy as np
import torch
from sklearn.exceptions import NotFittedError
from skorch import NeuralNetClassifier
from torch import nn

from sklearn_lec.building import NetworkBuildingMixin
from sklearn_lec.callbacks import LinearDecay
from sklearn_lec.checkpointing import ResumableTrainingMixin
from sklearn_lec.device import AutoDeviceMixin
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import MLP
from sklearn_lec.randomness import RandomStream
from sklearn_lec.training import ConsensusTrainingMixin
from sklearn_lec.validation import check_criterion, check_inputs, check_sample_weight

__all__ = ["LECClassifier"]


class LECClassifier(
    AutoDeviceMixin, NetworkBuildingMixin, ResumableTrainingMixin, ConsensusTrainingMixin, NeuralNetClassifier
):
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

    # Beside skorch's own: what a net trained on a GPU has to bring over to the CPU when it is unpickled there.
    cuda_dependent_attributes_ = ["method_"]

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

    @property
    def clean_mask_(self):
        """The rows that the last finished epoch learned from."""
        return self._record_of_rows().last.cpu().numpy().copy()  # the buffer is used again in the next epoch

    @property
    def clean_score_(self):
        """The share of filtering epochs in which each row was kept."""
        return self._record_of_rows().score.cpu().numpy()

    @property
    def corruption_matrix_(self):
        """The corruption matrix in use by "forward"."""
        return self._of_method("matrix").cpu().numpy()

    @property
    def lid_history_(self):
        """The local intrinsic dimensionality that "d2l" measured in each epoch."""
        return list(self._of_method("lids"))

    @property
    def turning_epoch_(self):
        """The epoch in which "d2l" found its turning point, or None."""
        return self._of_method("turning_epoch")

    def _of_method(self, name):
        method = vars(self).get("method_")
        if name not in getattr(method, "memory", ()) or method.kept is None:
            raise NotFittedError(f"method={self.method!r} has no {name}, or fit has not been called yet.")
        return getattr(method, name)

    def _record_of_rows(self):
        record = getattr(vars(self).get("method_"), "kept", None)
        if record is None:
            raise NotFittedError(f"this {type(self).__name__} has no record of rows yet; call fit first.")
        return record

    @property
    def _default_callbacks(self):
        return [("linear_decay", LinearDecay()), *super()._default_callbacks]

    def _get_param_names(self):
        # skorch counts everything without a trailing underscore, private attributes too.
        return [name for name in vars(self) if not name.startswith("_") and not name.endswith("_")]

    # --- building the parts ---------------------------------------------------------------------------------------

    def initialize(self):
        """Build the network, optimizer and callbacks anew; ``fit`` does it by itself."""
        with self._random_numbers(restart=True):
            return super().initialize()

    def _random_numbers(self, *, restart):
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
        X : array-like, Tensor, DataFrame, dict of arrays or map-style Dataset of n_rows rows
            Floats of any precision are cast to that of the network batch by batch; integers are passed on as they are.
        y : array-like of shape (n_rows,), default=None
            Labels of any kind. May be None if X is a Dataset that yields (x, y), and otherwise takes the place of the
            labels that the Dataset yields.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts in the update, relative to the others in its batch; which rows are kept does not
            depend on it.
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
        sample_weight : array-like of shape (n_rows,), default=None
            As for ``fit``.
        **fit_params : dict
            Passed to the module's ``forward`` and to `train_split`.

        Returns
        -------
        self : LECClassifier
        """
        is_fit = fit_params.get("_routing_method") == "fit"
        from_scratch = not self.initialized_ or (is_fit and not self.warm_start)
        self._check_method_parameters()
        self._warn_of_unused_parameters()
        epochs_done = 0 if from_scratch else self.method_.epoch
        if is_fit:
            self._warn_of_too_few_epochs(epochs_done + self.max_epochs)
        with self._random_numbers(restart=from_scratch):
            X, y = self._examine(X, y, classes=classes, from_scratch=from_scratch)
            criterion = self.initialized_instance(self.criterion, self.get_params_for("criterion"))
            per_row = METHODS[self.method].filters or sample_weight is not None
            check_criterion(criterion, n_classes=len(self.classes_inferred_), per_row=per_row)
            weights = None if sample_weight is None else check_sample_weight(sample_weight, n_rows=len(y))
            if from_scratch:
                self.initialize()
            else:
                self._adopt_parameters()
            self._warned_of_ = frozenset()
            try:
                self._sample_weight_ = weights
                if from_scratch and is_fit:
                    self._open_run(X, y)
                return super().partial_fit(X, y, **fit_params)
            finally:
                self._whole_ = self._run_ = self._codes_ = self._sample_weight_ = self._checkpoint_ = (
                    self._on_device_
                ) = None

    # --- predicting -----------------------------------------------------------------------------------------------

    def predict_proba(self, X):
        """Return the probability of each class, averaged over the networks if there are several.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
        """
        self.check_is_fitted()
        return super().predict_proba(check_inputs(self, X, reset=False))

    def predict(self, X):
        """Return the most probable label of each row.

        Parameters
        ----------
        X : as for ``fit``

        Returns
        -------
        labels : ndarray of shape (n_rows,)
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
            return probabilities.mean(dim=1) if probabilities.ndim == 3 else probabilities

        return average_over_networks
