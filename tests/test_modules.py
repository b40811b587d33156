import pytest
import torch
from torch import nn

from sklearn_lec.modules import MLP, Conv9, GaussianNoise, NetworkEnsemble, ResNet20


def conv(channels, padding):
    return [f"conv {channels} {padding}", "batch norm", "leaky 0.01"]


def test_conv9_has_the_layers_of_table_a1():
    names = {
        nn.Conv2d: lambda layer: f"conv {layer.out_channels} {layer.padding[0]}",
        nn.BatchNorm2d: lambda layer: "batch norm",
        nn.LeakyReLU: lambda layer: f"leaky {layer.negative_slope}",
        nn.MaxPool2d: lambda layer: f"pool {layer.kernel_size}",
        nn.Dropout: lambda layer: f"dropout {layer.p}",
        GaussianNoise: lambda layer: f"noise {layer.sigma}",
        nn.AdaptiveAvgPool2d: lambda layer: "average",
        nn.Linear: lambda layer: f"fc {layer.in_features} {layer.out_features}",
    }

    layers = [names[type(layer)](layer) for layer in Conv9().modules() if type(layer) in names]

    pool = ["pool 2", "dropout 0.25"]
    expected = ["noise 0.15", *conv(128, 1) * 3, *pool, *conv(256, 1) * 3, *pool]
    expected += [*conv(512, 0), *conv(256, 0), *conv(128, 0), "average", "fc 128 10"]
    assert layers == expected


def test_width_multiplies_the_channels():
    convolutions = [layer for layer in Conv9(width=1 / 8).modules() if isinstance(layer, nn.Conv2d)]

    assert [c.out_channels for c in convolutions] == [16] * 3 + [32] * 3 + [64, 32, 16]


def test_resnet20_has_twenty_layers_and_the_published_number_of_parameters():
    network = ResNet20()

    layers = [layer for layer in network.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    assert len(layers) == 20
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(0.27e6, rel=0.02)


def test_resnet20_halves_the_image_twice_while_it_doubles_the_channels():
    network, sizes = ResNet20(), []
    for block in network.body[:9]:
        block.register_forward_hook(lambda block, inputs, outputs: sizes.append(tuple(outputs.shape[1:])))

    network(torch.rand(2, 3, 32, 32))

    assert sizes == [(16, 32, 32)] * 3 + [(32, 16, 16)] * 3 + [(64, 8, 8)] * 3


def test_the_blocks_of_resnet20_have_a_shortcut():
    network, x = ResNet20().eval(), torch.rand(2, 16, 32, 32)
    for block in network.body[:9]:
        for parameter in block.residual.parameters():
            nn.init.zeros_(parameter)

    assert torch.equal(network.body[0](x), x)
    assert torch.equal(network.body[3](x)[:, :16], x[:, :, ::2, ::2])
    assert not network.body[3](x)[:, 16:].any()


@pytest.mark.parametrize("shape", [(2, 1, 28, 28), (2, 28, 28, 1), (2, 28, 28)])
@pytest.mark.parametrize("network_class", [Conv9, ResNet20])
def test_grey_images_may_have_the_channel_first_last_or_not_at_all(network_class, shape):
    network = network_class(in_channels=1, num_classes=4, width=1 / 16).eval()
    images = torch.rand(2, 1, 28, 28)

    outputs = network(images.reshape(shape))

    assert torch.allclose(outputs, network(images), atol=1e-5)


@pytest.mark.parametrize("network", [MLP(3 * 32 * 32, 5, hidden=(8,)), Conv9(width=1 / 16), ResNet20(width=1 / 4)])
def test_integer_images_are_cast_by_the_network(network):
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)

    assert torch.equal(network.eval()(images), network(images.float()))


def test_conv9_takes_the_smallest_image_and_refuses_a_smaller_one():
    network = Conv9(in_channels=1, width=1 / 16).eval()

    assert network(torch.rand(2, 1, 25, 25)).shape == (2, 10)
    with pytest.raises(ValueError, match="at least 25x25 pixels, got 24x25"):
        network(torch.rand(2, 1, 24, 25))


def test_a_table_is_refused_by_a_convolutional_network_with_the_fix():
    with pytest.raises(ValueError, match=r"takes images of shape.*got \(5, 64\).*module=MLP"):
        Conv9()(torch.rand(5, 64))


def test_initial_weights_are_he_normal():
    layer = MLP(1000, 10, hidden=(2000,)).body[1]

    assert layer.weight.std().item() == pytest.approx((2 / 1000) ** 0.5, rel=0.01)
    assert not layer.bias.any()
    for network in (Conv9(), ResNet20(width=4)):
        for convolution in (layer for layer in network.modules() if isinstance(layer, nn.Conv2d)):
            fan_in = convolution.weight[0].numel()
            assert convolution.weight.std().item() == pytest.approx((2 / fan_in) ** 0.5, rel=0.1)


def test_gaussian_noise_is_added_in_training_only():
    layer, x = GaussianNoise(0.5), torch.zeros(10_000)

    assert layer(x).std().item() == pytest.approx(0.5, rel=0.05)
    assert torch.equal(layer.eval()(x), x)


def test_a_network_ensemble_stacks_the_outputs_of_its_networks():
    networks = [nn.Linear(4, 3), nn.Linear(4, 3)]
    x = torch.rand(5, 4)

    outputs = NetworkEnsemble(networks)(x)

    assert torch.equal(outputs[:, 1], networks[1](x))
