import pytest
import torch
from torch import nn

from sklearn_lec.modules import (
    MLP,
    Committee,
    Conv9,
    GaussianNoise,
    ResNet20,
    batchnorm_in_evaluation,
    mend_batchnorm,
    untracked_batchnorm,
)


def test_conv9_has_the_layers_of_table_a1():
    convolutions = [layer for layer in Conv9().modules() if isinstance(layer, nn.Conv2d)]
    dropouts = [layer.p for layer in Conv9().modules() if isinstance(layer, nn.Dropout)]

    assert [c.out_channels for c in convolutions] == [128] * 3 + [256] * 3 + [512, 256, 128]
    assert [c.padding for c in convolutions] == [(1, 1)] * 6 + [(0, 0)] * 3
    assert dropouts == [0.25, 0.25]


def test_width_multiplies_the_channels():
    convolutions = [layer for layer in Conv9(width=1 / 8).modules() if isinstance(layer, nn.Conv2d)]

    assert [c.out_channels for c in convolutions] == [16] * 3 + [32] * 3 + [64, 32, 16]


def test_resnet20_has_twenty_layers_and_the_published_number_of_parameters():
    network = ResNet20()

    layers = [layer for layer in network.modules() if isinstance(layer, (nn.Conv2d, nn.Linear))]
    assert len(layers) == 20
    assert sum(p.numel() for p in network.parameters()) == pytest.approx(0.27e6, rel=0.02)


@pytest.mark.parametrize("shape", [(2, 1, 28, 28), (2, 28, 28, 1), (2, 28, 28)])
@pytest.mark.parametrize("network_class", [Conv9, ResNet20])
def test_grey_images_come_with_the_channel_first_last_or_left_out(network_class, shape):
    network = network_class(in_channels=1, num_classes=4, width=1 / 16).eval()
    images = torch.rand(2, 1, 28, 28)

    outputs = network(images.reshape(shape))

    assert torch.allclose(outputs, network(images), atol=1e-5)


@pytest.mark.parametrize("network", [MLP(3 * 32 * 32, 5, hidden=(8,)), Conv9(width=1 / 16), ResNet20(width=1 / 4)])
def test_integer_images_are_cast_by_the_network(network):
    images = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)

    assert torch.equal(network.eval()(images), network(images.float()))


def test_the_smallest_image_of_conv9_works_and_the_next_smaller_names_it():
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


def test_gaussian_noise_only_disturbs_training():
    layer, x = GaussianNoise(0.5), torch.zeros(10_000)

    assert layer(x).std().item() == pytest.approx(0.5, rel=0.05)
    assert torch.equal(layer.eval()(x), x)


def test_committee_stacks_the_outputs_of_its_networks():
    networks = [nn.Linear(4, 3), nn.Linear(4, 3)]
    x = torch.rand(5, 4)

    outputs = Committee(networks)(x)

    assert torch.equal(outputs[:, 1], networks[1](x))


def test_untracked_batchnorm_uses_the_batch_and_leaves_the_running_statistics_alone():
    layer, x = nn.BatchNorm1d(2), torch.rand(8, 2) + 5
    before = layer.running_mean.clone()

    with untracked_batchnorm(layer):
        outputs = layer(x)

    assert torch.equal(layer.running_mean, before)
    assert outputs.mean().abs() < 1e-5
    assert layer.track_running_stats


def test_batchnorm_in_evaluation_takes_a_single_row():
    layer = nn.BatchNorm1d(2)

    with batchnorm_in_evaluation(layer):
        outputs = layer(torch.ones(1, 2))

    assert torch.allclose(outputs, torch.ones(1, 2), atol=1e-4)
    assert layer.training


def test_mend_batchnorm_resets_only_what_is_not_finite():
    good, bad = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    good.running_mean.fill_(3.0)
    bad.running_mean.fill_(float("nan"))

    mend_batchnorm(nn.Sequential(good, bad))

    assert good.running_mean.tolist() == [3.0, 3.0]
    assert bad.running_mean.tolist() == [0.0, 0.0]
