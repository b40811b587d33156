"""The table of what was predicted of each sample: a few numbers that stand for all epochs."""

import numpy as np
import torch

from sklearn_lec._predictions import add_predictions, no_predictions


def history(n_epochs=7, n_samples=5, n_classes=4):
    """Return labels, and predictions of which each sample has its favorite class."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n_epochs, n_samples, n_classes, generator=generator)
    logits[:, torch.arange(n_samples), torch.arange(n_samples) % n_classes] += 4
    return torch.arange(n_samples).flip(0) % n_classes, logits.softmax(dim=-1)


def test_the_table_has_the_means_over_all_predictions():
    labels, probabilities = history()
    table = no_predictions(labels)
    for of_epoch in probabilities:
        add_predictions(table, torch.arange(5), of_epoch)

    others = probabilities.clone()
    others[:, torch.arange(5), labels] = -1

    of_label = probabilities[:, torch.arange(5), labels].mean(dim=0)
    np.testing.assert_allclose(table["label_probability"], of_label, rtol=1e-5)
    np.testing.assert_allclose(table["other_probability"], others.amax(dim=-1).mean(dim=0), rtol=1e-5)
    assert table["n_seen"].tolist() == [7] * 5


def test_the_other_class_is_the_one_with_most_of_the_probability():
    labels, probabilities = history()
    favorite = torch.arange(5) % 4
    table = no_predictions(labels)
    for of_epoch in probabilities:
        add_predictions(table, torch.arange(5), of_epoch)

    is_other = favorite != labels

    assert table["other"][is_other].tolist() == favorite[is_other].tolist()
    assert (table["other"] != labels).all()


def test_the_order_and_the_cut_of_batches_do_not_matter():
    labels, probabilities = history()
    whole, in_parts = no_predictions(labels), no_predictions(labels)
    for of_epoch in probabilities:
        add_predictions(whole, torch.arange(5), of_epoch)
        for part in (torch.tensor([3, 0]), torch.tensor([4, 2, 1])):
            add_predictions(in_parts, part, of_epoch[part])

    assert all(torch.equal(whole[name], in_parts[name]) for name in whole)


def test_predictions_that_are_not_finite_do_not_count():
    table = no_predictions(torch.tensor([0, 0]))

    add_predictions(table, torch.arange(2), torch.tensor([[0.25, 0.75], [0.5, 0.5]]))
    before = {name: values[0].item() for name, values in table.items()}
    add_predictions(table, torch.arange(2), torch.tensor([[torch.nan, 0.5], [0.25, 0.75]]))

    assert {name: values[0].item() for name, values in table.items()} == before
    assert table["n_seen"].tolist() == [1, 2]


def test_the_table_takes_a_few_bytes_per_sample_whatever_the_number_of_classes():
    table = no_predictions(torch.zeros(1000, dtype=torch.int64))

    assert sum(values.element_size() for values in table.values()) <= 24
    assert {values.shape for values in table.values()} == {(1000,)}
