"""LECClassifier: a skorch classifier that learns from the samples whose labels an ensemble agrees on."""

import torch
from sklearn.base import clone
from torch import nn

from sklearn_lec._training.build import new_method, updated_method, warn_of_unused_parameters
from sklearn_lec._training.fitted import FittedAttributes
from sklearn_lec._training.folds import out_of_fold_predictions
from sklearn_lec._training.net import MethodNet
from sklearn_lec._training.predicting import Predictions
from sklearn_lec._training.settle import check_shares
from sklearn_lec._training.shown import visual_block, with_settings
from sklearn_lec._validation import check_sample_weight, check_trusted
from sklearn_lec.callbacks import EpochTable, LinearDecay, TrainingProgress
from sklearn_lec.methods.parameters import warn_of_short_calls
from sklearn_lec.modules import MLP

__all__ = ["LECClassifier"]


class LECClassifier(FittedAttributes, Predictions, MethodNet):
    """Neural network classifier for data whose labels are partly wrong.

    Learning with ensemble consensus (LEC) first trains on all samples for a while, the warm-up. After that it learns
    only from samples whose loss is small for every member of an ensemble. Networks memorize wrong labels, and what is
    memorized does not survive a change of network, of dropout mask, or of epoch. Use it like skorch's
    `NeuralNetClassifier` when you do not trust all of your labels; afterwards `clean_mask_` says which samples it
    trusted.

    Parameters
    ----------
    module : torch module class or instance, default=MLP
        Has to return logits of shape (n_samples, n_classes). Arguments of its constructor named ``in_features``,
        ``in_channels`` and ``num_classes`` are filled in from the data, unless set as ``module__num_classes=...``;
        so is ``num_classes`` of torchvision's models. Methods with several networks need the class, not an instance.
        An instance keeps what it has learned: if that includes these labels, ``eps="auto"`` finds too few wrong ones.
    method : str, Method class or Method instance, default="ltec"
        How samples are selected:

        - "standard": every sample, ordinary training.
        - "self-training": samples with a small loss now; what the others become at ``M=1``.
        - "lnec": samples on which `M` networks, trained side by side, agree.
        - "lsec": samples on which `M` stochastic passes (dropout, noise) of one network agree.
        - "ltec": samples whose loss has been small in each of the last `M` epochs.
        - "ltec-full": the same, compared over the whole training set before each epoch.
        - "co-teaching": two networks; each learns from the samples with a small loss in the other.
        - "forward": every sample, on a loss corrected by how often each class is mislabelled as another.
        - "d2l": every sample, with labels that give way to the network's own predictions when it begins to memorize.
        - "elr": every sample, with a term in the loss that holds on to earlier predictions.
        - "relabel": every sample, on its label as far as earlier predictions allow, and else on these predictions.

        A class or an instance of `sklearn_lec.methods.Method` may be one of your own. A parameter that an instance
        leaves at None is taken from the estimator: ``method=LTEC(M=3)`` uses `eps` and `T_w` from below. Searches
        reach the parameters of an instance as ``method__M``. There is a warning if you set a parameter below that the
        method does not use, except for `eps`.
    eps : "auto", float in [0, 1), dict or array-like of shape (n_classes,), default="auto"
        Share of the labels that you take to be wrong. "auto" estimates it before the training, from networks that are
        trained on part of the samples, at the cost of a quarter of `max_epochs` at most; below 1 % it is taken for 0.
        A dict from label to share, or an array in the order of `classes_`, tells it for the samples *given* each label:
        "ltec-full" and "relabel" then go label by label; methods that select within a batch use the overall share.
    M : int or inf, default=5
        For "lnec", "lsec", "ltec" and "ltec-full": how many voters have to agree. More is stricter: the labels selected
        are cleaner, but fewer. ``numpy.inf`` is for "ltec" and "ltec-full".
    T_w : "auto" or int, default="auto"
        Epochs of warm-up on all samples. Long enough that the network has learned what is common, short enough that it
        has not memorized the wrong labels. "auto" ends it with the epoch in which the network agrees with more than
        ``1 - eps / 2`` of the labels, or after 20 epochs or a fifth of `max_epochs`, whichever comes first. If the
        network has memorized by then, and `eps` was estimated, samples whose label the estimate takes for wrong are not
        selected either. Not for "co-teaching", "forward", "d2l", "elr" and "standard".
    T_k : int, default=10
        For "co-teaching": the share that is left out grows from 0 in the first epoch to `eps` in epoch `T_k`.
    percentile : float in [0, 100], default=97
        For "forward": the corruption matrix is estimated from the predictions of a standard network, which is trained
        first. Its row for a class is the prediction for the sample whose probability of the class is at this
        percentile. Use 100, the largest probability, if there are many classes. Callbacks that change the updates, such
        as `LRScheduler`, take part in the first training.
    corruption_matrix : array-like of shape (n_classes, n_classes), "auto" or None, default=None
        For "forward": the probability of each label (column) given the true class (row), if it is known; classes in
        the order of `classes_`. "auto" estimates it as `eps` is, which is cheaper than the paper's way of None, and was
        up to 26 points more accurate, and never worse, in benchmarks/results/forward_matrix.md.
    n_networks : int or None, default=None
        How many networks are trained side by side, for "ltec", "ltec-full", "self-training", "relabel", "elr" and
        "standard". All learn from the same samples: those whose loss is small in the mean over the networks.
        Predictions are averaged.
        Two cost twice as much as one. None takes what the method needs: `M` for "lnec", two for "co-teaching", and else
        one.
    W : int, default=12
        For "d2l": epochs with which the dimensionality of the current one is compared. Before the last of them
        there is no turning point.
    lid_layer : str or None, default=None
        For "d2l": name of the layer whose input is measured; None takes the last ``nn.Linear`` for the classifier
        head.
    random_state : int, RandomState instance or None, default=None
        Makes ``fit`` repeatable, and leaves the global random state alone. With None, random numbers come from
        torch's global generator.
    separate_vote : bool or "auto", default="auto"
        Whether votes have a forward pass of their own, without gradients, after which only the selected samples go
        forward and backward. With False one forward pass serves both. Separate votes are cheaper where fewer than half
        of the samples are selected and time is spent on samples rather than on calls. Batch norm then sees the selected
        samples alone, as in the authors' code. "auto" is True for a network with convolutions and ``eps > 0.5``,
        unless `compile` or ``iterator_train__collate_fn`` is set; it is decided once for each training. Not for
        "co-teaching", whose networks learn from different samples.
    checkpoint_dir : str, Path or None, default=None
        A folder for the whole state of the training after each epoch. If ``fit`` finds an unfinished run there, it goes
        on with it, and ends bit for bit as if it had never been interrupted; if it finds a finished one, it takes its
        result. A run whose parameters, data, functions, classes or callbacks differ is refused, and what cannot be
        compared for certain is named in a warning. One folder for each fit, and one fit at a time: not for searches,
        and ``partial_fit`` writes none.
    data_on_device : bool, default=False
        Whether ``fit`` moves all of X to `device` at once, in the network's precision, and picks batches there: for a
        GPU whose memory holds X, or float64 on the CPU. Otherwise each batch is moved and cast by itself.
    criterion : torch loss class, default=torch.nn.CrossEntropyLoss
        Has to be able to give one loss per sample with ``reduction="none"``.
    optimizer : torch optimizer class, default=torch.optim.Adam
    lr : float, default=0.001
    max_epochs : int, default=200
        0 builds the network without training it, with a warning.
    batch_size : int, default=128
        Samples are drawn at random, unless ``iterator_train__shuffle=False`` or a sampler is set.
    train_split : callable or None, default=None
        None trains on every sample. ``skorch.dataset.ValidSplit(5)`` holds samples out for validation.
    device : str or torch.device, default="auto"
        "auto" takes CUDA if there is one, else MPS, else the CPU.
    classes : array-like of shape (n_classes,) or None, default=None
        All labels that may occur, in the order that the outputs of the network have. None takes those of y, ascending,
        which is what scikit-learn's scores of probabilities, such as "neg_log_loss", count on.
    **kwargs
        All other parameters of `skorch.NeuralNetClassifier`. The callback ``linear_decay`` is the paper's schedule;
        ``callbacks__linear_decay=None`` switches it off. With ``verbose=1``, the default, the callback ``progress``
        shows one bar for the whole training on a terminal or in a notebook; elsewhere there is skorch's table, with a
        row for each epoch. ``verbose=2`` is the table everywhere, 0 is silent. See docs/skorch.md.

    Attributes
    ----------
    clean_mask_ : bool ndarray of shape (n_samples,)
        The samples of X, as passed to ``fit``, that the last finished epoch learned from; for "co-teaching" those that
        both networks did; for "relabel" those whose label counted more than the predictions; every sample for
        "standard", "forward", "d2l" and "elr". Samples held out by `train_split` are False.
    clean_score_ : float ndarray of shape (n_samples,)
        The share of epochs after the warm-up in which the sample was selected; low for a suspect label. 1 if there was
        no such epoch, NaN for samples held out by `train_split`.
    classes_ : ndarray of shape (n_classes,)
        The labels, in the order of the columns of ``predict_proba``.
    eps_ : float
        The share of wrong labels in use; not there if `eps` is "auto" and the method does not use it.
    eps_per_class_ : ndarray of shape (n_classes,)
        The share of wrong labels among the samples given each label, if it was given or estimated.
    T_w_ : int
        The epochs of warm-up.
    noise_estimate_ : NoiseEstimate
        What ``eps="auto"`` found: an interval, the classes, and the probability that each label is wrong.
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
        Per epoch, among others ``train_loss`` and ``n_selected``, how many samples `clean_mask_` had then. With
        ``T_w="auto"`` also ``agreement``, the share of samples predicted as labelled, None after the warm-up. For
        methods with several networks losses are means over the networks. ``valid_loss`` is that of the criterion,
        without what "forward", "d2l", "elr" and "relabel" make of it.
    module_ : nn.Module
        The trained network, or a `NetworkEnsemble` of them.
    method_ : Method
        The method with its state, saved by ``save_params(f_method=...)``. Its attributes whose names end in an
        underscore are attributes of the estimator, too.

    See Also
    --------
    skorch.NeuralNetClassifier : The class it extends.
    sklearn_lec.methods.Method : What to subclass for a method of your own.
    sklearn_lec.callbacks.LabelQuality : Label precision and recall per epoch, where the right labels are known.

    Notes
    -----
    Cost in passes per epoch over n samples, after the warm-up: "ltec", "self-training", "elr" and "relabel" take n
    forward and n backward passes, "lsec" takes M * n and n, "lnec" M * n and M * n, "co-teaching" 2 * n and 2 * n,
    "ltec-full" n passes to select and then one forward and backward pass per selected sample; "forward" trains twice.
    With separate votes the selected samples go forward once more, and they alone go backward. "lsec" needs a network
    with dropout or noise. With `n_networks` every figure is multiplied by it. The record takes 32 bytes per sample,
    whatever `M`; ``eps="auto"`` takes 8 more, and "elr" and "relabel" 4 more for each class.

    A sample with a value more than ten million times as large as those of all other samples would ruin what is learned
    from them, in batch norm above all. It is not learned from, `clean_mask_` is False for it, and a warning names it.

    Adam and AdamW are run fused, unless ``optimizer__fused``, ``foreach``, ``capturable`` or ``differentiable`` is set.

    Class weights go through the criterion, ``criterion__weight=torch.tensor([1.0, 5.0])`` in the order of `classes_`.
    Votes compare the losses without them; they count in the update alone, as `sample_weight` does. With an optimizer
    that evaluates a batch several times, such as LBFGS, each evaluation votes.

    Subclasses may override skorch's hooks, as in skorch's recipe for gradient accumulation. Samples are selected in
    ``get_loss``: a step that does not reach it is an error. In ``on_batch_end`` callbacks find them as
    ``batch.selected``, a mask of shape (1, n_batch) or (n_networks, n_batch), or None for all; ``batch.samples`` are
    their numbers in X.

    Selecting by loss is weak where wrong labels resemble each other, as when an annotator always confuses two classes:
    use a larger `M` there. ``partial_fit`` goes on with the record of the samples as long as it gets the same labels.

    References
    ----------
    J. Lee and S.-Y. Chung, "Robust Training with Ensemble Consensus", ICLR 2020, https://arxiv.org/abs/1910.09792.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn_lec import LECClassifier
    >>> X, y = make_blobs(300, centers=[[-3, 0], [3, 0]], random_state=0)
    >>> y[:30] = 1 - y[:30]
    >>> clf = LECClassifier(max_epochs=20, verbose=0, random_state=0).fit(X, y)
    >>> round(clf.eps_, 1), clf.T_w_
    (0.1, 4)
    >>> bool(clf.clean_mask_[:30].mean() < 0.1), bool(clf.clean_mask_[30:].mean() > 0.9)
    (True, True)
    """

    def __init__(
        self,
        module=MLP,
        *,
        method="ltec",
        eps="auto",
        M=5,
        T_w="auto",
        T_k=10,
        percentile=97,
        corruption_matrix=None,
        n_networks=None,
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
        self.n_networks = n_networks
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

    # --- parameters -----------------------------------------------------------------------------------------------

    @property
    def _default_callbacks(self):
        of_skorch = [item for item in super()._default_callbacks if item[0] != "print_log"]
        of_screen = [("progress", TrainingProgress()), ("print_log", EpochTable())]
        return [("linear_decay", LinearDecay()), *of_skorch, *of_screen]

    # --- how it is shown ------------------------------------------------------------------------------------------

    def __repr__(self):
        """Return skorch's text, with the method and the parameters that it uses."""
        return with_settings(super().__repr__(), self)

    def _sk_visual_block_(self):
        # scikit-learn asks for it when it draws a diagram, of a pipeline too.
        return visual_block(self)

    # --- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X, y=None, *, sample_weight=None, trusted=None, **fit_params):
        """Train from scratch, or go on if `warm_start` is True.

        Parameters
        ----------
        X : array-like, sparse matrix, Tensor, DataFrame, dict of those, map-style Dataset or SliceDataset
            n_samples samples. Batch by batch, floats are cast to the precision of the network, and a sparse matrix is
            made dense; integers are passed on as they are. See docs/data.md.
        y : array-like of shape (n_samples,) or SliceDataset, default=None
            Labels of any kind. May be None if X is a Dataset that yields (x, y), and otherwise takes the place of the
            labels that the Dataset yields.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts in the update, relative to the others in its batch; which samples are selected
            does not depend on it.
        trusted : bool array-like of shape (n_samples,), default=None
            Samples whose labels are known to be right, because a person has looked at them: they are learned from in
            every epoch, on their label. `eps` stays the share of wrong labels among all samples of this `y`, but those
            that are left out are chosen among the others. After the most suspect labels have been corrected, "auto"
            estimates it too low: give `eps` as `sklearn_lec.inspection.apply_corrections` shows.
        **fit_params : dict
            Passed to the module's ``forward`` and to `train_split`.

        Returns
        -------
        self : LECClassifier
        """
        if trusted is not None:  # a partial_fit of the user's own need not know it
            fit_params["trusted"] = trusted
        return self.partial_fit(X, y, sample_weight=sample_weight, _routing_method="fit", **fit_params)

    def partial_fit(self, X, y=None, classes=None, *, sample_weight=None, trusted=None, **fit_params):
        """Go on training for `max_epochs` epochs.

        Parameters
        ----------
        X, y, sample_weight, trusted, **fit_params : as for ``fit``
        classes : array-like of shape (n_classes,), default=None
            All labels that will ever occur, in any order, if this `y` does not hold them all.

        Returns
        -------
        self : LECClassifier
        """
        called = fit_params.pop("_routing_method", "partial_fit")
        is_fit = called == "fit"
        self._check_call(called, fit_params)
        from_scratch = not self.initialized_ or (is_fit and not self.warm_start)
        method = new_method(self)
        warn_of_unused_parameters(self)
        if is_fit:
            method.check_length((0 if from_scratch else self.method_.epoch) + self.max_epochs)
        elif from_scratch:
            warn_of_short_calls(method.get_params(deep=False), self.max_epochs)
        with self._random_numbers(restart=from_scratch):
            X, y, classes = self._validate_fit_data(X, y, classes=classes, from_scratch=from_scratch)
            check_shares(method, classes)
            per_sample = method.selects_samples or sample_weight is not None
            self._check_criterion(len(classes), per_sample=per_sample, is_built=False)
            weights = None if sample_weight is None else check_sample_weight(sample_weight, n_samples=len(y))
            trusted = None if trusted is None else check_trusted(trusted, n_samples=len(y))
            self._note_classes(X, classes)
            if from_scratch:
                self.initialize()
            else:
                self.method_ = updated_method(self)
            self._check_module()
            self._check_criterion(len(classes), per_sample=per_sample, is_built=True)
            of_samples = {"sample_weight": weights, "trusted": trusted}
            with self._training_run(X, y, **of_samples, is_resumable=from_scratch and is_fit):
                return super().partial_fit(X, y, _routing_method=called, **fit_params)

    def out_of_fold_predictions(self, X, y=None, *, cv=None):
        """Train copies on part of the samples, by ordinary training, and predict those that are held out.

        What `sklearn_lec.estimation.estimate_noise` looks at, and what cleanlab's functions ask for.

        Parameters
        ----------
        X, y : as for ``fit``
        cv : int, splitter, iterable or None, default=None
            The folds. None takes five, three or two. Unless `cv` is a splitter, they take a quarter of `max_epochs` in
            all, whatever their number.

        Returns
        -------
        pred_probs : ndarray of shape (n_samples, n_classes)
            The mean over the last few epochs, where it agreed with most labels. NaN for samples in no fold.
        y : ndarray of shape (n_samples,)
            The labels, also if they came with a Dataset.
        classes : ndarray of shape (n_classes,)
            The labels that the columns stand for.
        """
        return out_of_fold_predictions(clone(self), X, y, cv)
