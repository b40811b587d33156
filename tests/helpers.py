"""What several tests use: a network of the user's own, and short ways to look at a fitted net."""

import numpy as np
import torch
import torch.nn.functional as F
from skorch.callbacks import Callback
from torch import nn


class TinyNet(nn.Module):
    """A network of the user's own: no batch norm, no dropout, nothing that this package wrote."""

    def __init__(self, in_features=4, num_classes=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(in_features, 8), nn.ReLU(), nn.Linear(8, num_classes))

    def forward(self, x):
        return self.layers(x)


class TinyConv(nn.Module):
    """Convolution, batch norm and a linear layer on samples of 4 features."""

    def __init__(self, num_classes=3):
        super().__init__()
        # No bias: before batch norm its gradient is nothing but rounding, which Adam would make much of.
        self.convolution, self.norm = nn.Conv1d(1, 2, 3, padding=1, bias=False), nn.BatchNorm1d(2)
        self.head = nn.Linear(8, num_classes)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.convolution(x.unsqueeze(1)))).flatten(1))


class OnBatch(Callback):
    """Hand each training batch on."""

    def __init__(self, look):
        self.look = look

    def on_batch_end(self, net, batch=None, training=False, **kwargs):
        if training:
            self.look(net, batch)


def first_sixty(dataset, y=None, **kwargs):
    """Split 90 samples: the first 60 are for training, the others are held out."""
    return torch.utils.data.Subset(dataset, range(60)), torch.utils.data.Subset(dataset, range(60, 90))


def weights(clf):
    """Return all parameters of a fitted net in one vector."""
    return torch.cat([p.detach().flatten() for p in clf.module_.parameters()])


def without(settings, *names):
    """Return the settings less those named: methods warn of parameters that they do not use."""
    return {name: value for name, value in settings.items() if name not in names}


def same_training(one, other):
    """Return whether two nets ended with the same weights, up to rounding, and the same mask."""
    return torch.allclose(weights(one), weights(other), atol=1e-6) and np.array_equal(
        one.clean_mask_, other.clean_mask_
    )
