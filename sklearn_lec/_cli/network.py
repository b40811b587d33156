"""A network for small images that a CPU trains in minutes."""

from torch import Tensor, nn

__all__ = ["SmallConv"]


class SmallConv(nn.Module):
    """Three convolutions, each with pooling.

    Parameters
    ----------
    in_channels : int
    num_classes : int
        `LECClassifier` sets both.
    width : int, default=24
        Channels of the first convolution.

    Examples
    --------
    >>> import torch
    >>> SmallConv(1, 3)(torch.rand(2, 1, 8, 8)).shape
    torch.Size([2, 3])
    """

    def __init__(self, in_channels: int, num_classes: int, *, width: int = 24):
        super().__init__()
        layers: list[nn.Module] = []
        for out_channels in (width, 2 * width, 2 * width):
            layers += [nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.BatchNorm2d(out_channels)]
            layers += [nn.ReLU(), nn.MaxPool2d(2)]
            in_channels = out_channels
        self.body = nn.Sequential(*layers, nn.Dropout(0.25), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(4 * in_channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of shape (n_samples, num_classes)."""
        return self.head(self.body(x))
