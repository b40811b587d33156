"""Select among all training samples before an epoch, for methods whose scope is the epoch."""

import math

import torch
from skorch.dataset import unpack_data
from torch import Tensor
from torch.utils.data import Subset

from sklearn_lec._training.build import batch_size_of
from sklearn_lec._training.prediction_log import PredictionLog
from sklearn_lec._training.step import FilteredLoss, per_network
from sklearn_lec._training.torch_utils import voting_mode

__all__ = ["select_in_whole_set"]


def select_in_whole_set(run, loss: FilteredLoss, log: PredictionLog) -> Tensor | None:
    """Run the network over the training set, and let the method select among all samples.

    Parameters
    ----------
    run : TrainingRun
    loss : FilteredLoss
    log : PredictionLog
        Takes the outputs.

    Returns
    -------
    selected : bool Tensor of shape (n_samples_in_X,), or None for every training sample
    """
    net, method = run.net, run.method
    if method.n_passes > 1:
        raise ValueError(
            f"{type(method).__name__} asks for {method.n_passes} passes, but where scope is 'epoch' there is one, "
            "without dropout: others would give much the same. Set n_passes = 1, or scope = 'batch'."
        )
    losses, samples, outputs = [], [], []
    n_samples = len(run.dataset_train)
    # Batches are drawn at random, because X may be sorted by class and batch norm would see one class at a time, and
    # are of like size, because it would see too little in a small last one.
    shuffled = Subset(run.dataset_train, torch.randperm(n_samples).tolist())
    n_batches = math.ceil(n_samples / batch_size_of(net, n_samples))
    with torch.no_grad(), voting_mode(net.module_):
        for batch in run.each_sample_once(shuffled, batch_size=math.ceil(n_samples / n_batches)):
            X, y = unpack_data(batch)
            of_batch = net.infer(X, **run.fit_params)
            of_networks = per_network(of_batch, method)
            log.add(batch.samples, of_batch)
            device = of_networks[0].device
            losses.append(loss.sample_losses(of_networks, run.label_codes(y).to(device)))
            samples.append(batch.samples.to(device))
            if method.needs_outputs:
                outputs.append(of_networks)
    outputs = [torch.cat(of_network) for of_network in zip(*outputs, strict=True)]
    return loss.select_among_all(torch.cat(losses, dim=1), outputs, run.codes, torch.cat(samples))
