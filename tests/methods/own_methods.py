"""Methods as users might write them."""

import torch

from sklearn_lec.methods import ConsensusMethod, Method, Selection


class Majority(ConsensusMethod):
    """Select what more than half of `M` networks find small."""

    @property
    def n_networks(self):
        return int(self.M)

    def consensus(self, votes):
        return votes.float().mean(dim=0) > 0.5


class SelfLabelling(Method):
    """Learn from every sample, on the network's own prediction once it has been sure of it `patience` times."""

    selects_samples = False

    def __init__(self, *, threshold=0.8, patience=1):
        self.threshold = threshold
        self.patience = patience

    def sample_memory(self, n_classes):
        return {"n_sure": torch.tensor(0, dtype=torch.int32)}

    def select(self, batch):
        sure = batch.probabilities.mean(dim=0).amax(dim=-1) > self.threshold
        return Selection(memory={"n_sure": self.record.memory["n_sure"][batch.samples] + sure})

    def loss(self, criterion, batch):
        is_sure = self.record.memory["n_sure"][batch.samples] >= self.patience
        return criterion(batch.outputs, batch.labels.where(~is_sure, batch.outputs.argmax(dim=-1)))
