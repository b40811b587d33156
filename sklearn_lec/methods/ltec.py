"""LTEC: the network of the current epoch and those of the epochs before agree on the samples."""

import torch
from torch import Tensor

from sklearn_lec._selection import temporal_consensus, unanimous
from sklearn_lec.methods.consensus import ConsensusMethod
from sklearn_lec.methods.contract import Batch, Selection

__all__ = ["LTEC"]


class LTEC(ConsensusMethod):
    """Temporal-ensemble consensus (Algorithm A3): small losses in each of the last `M` epochs.

    Parameters
    ----------
    eps, M, T_w : as for `LECClassifier`, from which None takes the value
    """

    title = "LTEC"
    averages_networks = True
    n_passes = 1  # in every epoch: small losses are collected during the warm-up, too

    def sample_memory(self, n_classes: int) -> dict[str, Tensor]:
        """Remember the last epoch in which a sample's loss was not small; 0 for never."""
        return {"last_miss": torch.tensor(0, dtype=torch.int32)}

    def select(self, batch: Batch) -> Selection:
        """Select the samples in the current set and in those of the ``M - 1`` epochs before; all during the warm-up."""
        small = unanimous(self.small_losses(batch))
        last_miss = self.record.memory["last_miss"][batch.samples]
        agreed, last_miss = temporal_consensus(small, last_miss, epoch=self.epoch, M=self.M)
        return Selection(agreed if self.is_past_warmup else None, {"last_miss": last_miss})

    def memory_of_nonfinite(self, samples: Tensor) -> dict[str, Tensor]:
        """Count a loss that is NaN or infinite as one that is not small."""
        return {"last_miss": torch.full_like(samples, self.epoch, dtype=torch.int32)}
