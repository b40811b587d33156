"""What several tests use: a network of the user's own, and short ways to look at a fitted net."""

import torch
from torch import nn


class TinyNet(nn.Module):
    """A network of the user's own: no batch norm, no dropout, nothing that this package wrote."""

    def __init__(self, in_features=4, num_classes=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(in_features, 8), nn.ReLU(), nn.Linear(8, num_classes))

    def forward(self, x):
        return self.layers(x)


def weights(clf):
    """Return all parameters of a fitted net in one vector."""
    return torch.cat([p.detach().flatten() for p in clf.module_.parameters()])


def without(settings, *names):
    """Return the settings less those named: methods warn of parameters that they do not use."""
    return {name: value for name, value in settings.items() if name not in names}
