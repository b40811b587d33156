"""Networks: the 9-layer CNN and the ResNet-20 of the paper, an MLP for tables, and an ensemble of networks."""

from collections.abc import Iterable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["MLP", "Conv9", "GaussianNoise", "NetworkEnsemble", "ResNet20"]


class GaussianNoise(nn.Module):
    """Add Gaussian noise to the input in training mode; do nothing in evaluation mode.

    Parameters
    ----------
    sigma : float, default=0.15
        Standard deviation of the noise.

    Examples
    --------
    >>> GaussianNoise(0.5).eval()(torch.zeros(2))
    tensor([0., 0.])
    """

    def __init__(self, sigma: float = 0.15):
        super().__init__()
        self.sigma = sigma

    def forward(self, x: Tensor) -> Tensor:
        """Return `x`, with noise in training mode."""
        return x + self.sigma * torch.randn_like(x) if self.training else x

    def extra_repr(self) -> str:
        """Show sigma in the repr."""
        return f"sigma={self.sigma}"


class MLP(nn.Module):
    """Multi-layer perceptron for tables, and for images as flat vectors.

    Each hidden layer is linear, batch norm, leaky ReLU and dropout.

    Parameters
    ----------
    in_features : int
        Number of columns of the table, or of pixels times channels. `LECClassifier` sets it.
    num_classes : int
        `LECClassifier` sets it.
    hidden : sequence of int, default=(256, 256)
        Width of each hidden layer.
    dropout : float, default=0.25

    Examples
    --------
    >>> MLP(in_features=64, num_classes=10)(torch.rand(5, 8, 8)).shape
    torch.Size([5, 10])
    """

    def __init__(
        self, in_features: int, num_classes: int, *, hidden: Sequence[int] = (256, 256), dropout: float = 0.25
    ):
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        for width in hidden:
            layers += [
                nn.Linear(in_features, width),
                nn.BatchNorm1d(width),
                nn.LeakyReLU(0.01),
                nn.Dropout(dropout),
            ]
            in_features = width
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(in_features, num_classes)
        _init_he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of shape (n_samples, num_classes)."""
        return self.head(self.body(_floating(x, self.head)))


class Conv9(nn.Module):
    """The network with nine convolutions of the paper.

    Parameters
    ----------
    in_channels : int, default=3
        `LECClassifier` sets it.
    num_classes : int, default=10
        `LECClassifier` sets it.
    width : float, default=1.0
        Multiplies the number of channels of every layer. With 1/8 the network is about fifty times faster.

    Notes
    -----
    Images have shape (n_samples, channels, height, width). Images with the channels last are transposed. Height and
    width must be at least 25 pixels, because three convolutions without padding follow two poolings.

    References
    ----------
    Lee and Chung, "Robust Training with Ensemble Consensus", ICLR 2020, arXiv:1910.09792, Table A1.

    Examples
    --------
    >>> Conv9(in_channels=1, width=1 / 16)(torch.rand(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    smallest_image = 25

    def __init__(self, in_channels: int = 3, num_classes: int = 10, *, width: float = 1.0):
        super().__init__()
        c128, c256, c512 = (max(1, round(channels * width)) for channels in (128, 256, 512))
        self.in_channels = in_channels
        self.body = nn.Sequential(
            GaussianNoise(0.15),
            *_conv_layers(in_channels, [c128] * 3, padding=1),
            nn.MaxPool2d(2, ceil_mode=True),
            nn.Dropout(0.25),
            *_conv_layers(c128, [c256] * 3, padding=1),
            nn.MaxPool2d(2, ceil_mode=True),
            nn.Dropout(0.25),
            *_conv_layers(c256, [c512, c256, c128], padding=0),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(c128, num_classes)
        _init_he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of shape (n_samples, num_classes)."""
        x = _images(_floating(x, self.head), self.in_channels, type(self).__name__)
        if min(x.shape[-2:]) < self.smallest_image:
            raise ValueError(
                f"Conv9 takes images of at least {self.smallest_image}x{self.smallest_image} pixels, got "
                f"{x.shape[-2]}x{x.shape[-1]}. Enlarge them (torch.nn.functional.interpolate) or use ResNet20 or MLP."
            )
        return self.head(self.body(x))


class ResNet20(nn.Module):
    """The 20-layer residual network for 32x32 images of He et al. (2016), Section 4.2.

    Parameters
    ----------
    in_channels : int, default=3
        `LECClassifier` sets it.
    num_classes : int, default=10
        `LECClassifier` sets it.
    width : float, default=1.0
        Multiplies the number of channels of every layer.

    Notes
    -----
    Shortcuts have no parameters. They are option A of the article: subsampling, and zeros for the new channels.

    Examples
    --------
    >>> ResNet20(width=1 / 4)(torch.rand(2, 3, 32, 32)).shape
    torch.Size([2, 10])
    """

    def __init__(self, in_channels: int = 3, num_classes: int = 10, *, width: float = 1.0):
        super().__init__()
        widths = [max(1, round(channels * width)) for channels in (16, 32, 64)]
        self.in_channels = in_channels
        self.stem = nn.Sequential(
            nn.Conv2d(in_channels, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()
        )
        blocks, channels = [], widths[0]
        for stage, out_channels in enumerate(widths):
            for block in range(3):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(_ResidualBlock(channels, out_channels, stride))
                channels = out_channels
        self.body = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(channels, num_classes)
        _init_he_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits of shape (n_samples, num_classes)."""
        x = _images(_floating(x, self.head), self.in_channels, type(self).__name__)
        return self.head(self.body(self.stem(x)))


class _ResidualBlock(nn.Module):
    """Two convolutions, and a shortcut around them."""

    def __init__(self, in_channels: int, out_channels: int, stride: int):
        super().__init__()
        self.residual = nn.Sequential(
            nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(),
            nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
        )
        self.stride = stride
        self.new_channels = out_channels - in_channels

    def forward(self, x: Tensor) -> Tensor:
        shortcut = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, 0, self.new_channels))
        return F.relu(shortcut + self.residual(x))


class NetworkEnsemble(nn.Module):
    """Several networks with the same architecture as one module.

    The attribute ``module_`` of a `LECClassifier` is a `NetworkEnsemble` if the method trains several networks.

    Parameters
    ----------
    networks : iterable of nn.Module

    Examples
    --------
    >>> NetworkEnsemble([MLP(4, 3), MLP(4, 3)])(torch.rand(8, 4)).shape
    torch.Size([8, 2, 3])
    """

    def __init__(self, networks: Iterable[nn.Module]):
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, *args, **kwargs) -> Tensor:
        """Return the outputs of all networks, shape (n_samples, n_networks, n_outputs)."""
        return torch.stack([network(*args, **kwargs) for network in self.networks], dim=1)


def _conv_layers(in_channels, widths, *, padding):
    """Return 3x3 convolutions with these numbers of output channels, each with batch norm and leaky ReLU."""
    layers = []
    for out_channels in widths:
        layers += [
            nn.Conv2d(in_channels, out_channels, 3, padding=padding),
            nn.BatchNorm2d(out_channels),
            nn.LeakyReLU(0.01),
        ]
        in_channels = out_channels
    return layers


def _init_he_normal(module):
    """Draw the weights of convolutions and linear layers as in He et al. (2015); set their biases to 0."""
    for layer in module.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


def _floating(x, like):
    """Return `x` as floating-point numbers; integers get the type of the weights of the layer `like`."""
    return x if x.is_floating_point() else x.to(like.weight.dtype)


def _images(x, in_channels, name):
    """Return images of shape (n_samples, channels, height, width), or raise an error that names the network."""
    if x.ndim == 3 and in_channels == 1:
        x = x.unsqueeze(1)
    if x.ndim == 4 and x.shape[1] != in_channels and x.shape[3] == in_channels:
        x = x.permute(0, 3, 1, 2)
    if x.ndim != 4 or x.shape[1] != in_channels:
        raise ValueError(
            f"{name}(in_channels={in_channels}) takes images of shape (n_samples, {in_channels}, height, width), got "
            f"{tuple(x.shape)}. Reshape X, or use module=MLP for a table."
        )
    # Only the order in memory changes. Convolutions and pooling are faster when the channels are last in memory.
    return x.contiguous(memory_format=torch.channels_last)
