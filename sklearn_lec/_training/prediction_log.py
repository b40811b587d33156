"""Collect what the network predicts in the batches of an epoch, for the record of the samples."""

from collections.abc import Callable

import torch
from torch import Tensor

from sklearn_lec._predictions import add_predictions
from sklearn_lec.methods import Method

__all__ = ["PredictionLog"]

LARGEST = 2**20
"""Outputs that are held back: a call for many samples takes as long as one for a batch."""


class PredictionLog:
    """Write the predictions of an epoch into the record of the samples, many batches at once.

    The passes are those of the training; there are none on top of them.

    Parameters
    ----------
    method : Method
        With a record of the samples.
    nonlinearity : callable
        Makes probabilities of outputs.
    """

    def __init__(self, method: Method, nonlinearity: Callable[[Tensor], Tensor]):
        self.method = method
        self.nonlinearity = nonlinearity
        self._batches: list[tuple[Tensor, Tensor]] = []
        self._n_outputs = 0

    def watching(self, step: Callable) -> Callable:
        """Return a step of skorch's, of training or validation, whose outputs are taken down."""

        def watched(batch, **fit_params):
            result = step(batch, **fit_params)
            self.add(getattr(batch, "samples", None), result.get("y_pred"))
            return result

        return watched

    def add(self, samples: Tensor | None, outputs) -> None:
        """Take the outputs for a batch.

        Parameters
        ----------
        samples : int64 Tensor of shape (n_samples,) or None
            Their numbers; None for samples that are not of X, of which nothing is written down.
        outputs : Tensor of shape (n_samples, n_classes) or (n_samples, n_networks, n_classes)
            What a step of the user's own returns may be something else, and does not count.
        """
        if samples is None or not isinstance(outputs, Tensor) or outputs.shape[:1] != samples.shape:
            return
        self._batches.append((samples, outputs.detach()))
        self._n_outputs += outputs.numel()
        if self._n_outputs > LARGEST:
            self.write()

    @torch.no_grad()
    def write(self) -> None:
        """Write what has been collected into the record."""
        if not self._batches:
            return
        samples, outputs = (torch.cat(parts) for parts in zip(*self._batches, strict=True))
        self._batches, self._n_outputs = [], 0
        probabilities = self.nonlinearity(outputs)
        if probabilities.ndim == 3:
            probabilities = probabilities.mean(dim=1)
        table = self.method.record.predictions
        device = table["labels"].device
        add_predictions(table, samples.to(device), probabilities.to(device))
