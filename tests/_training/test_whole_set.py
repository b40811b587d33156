"""The pass over the whole training set before an epoch: whose statistics, which batches."""

import numpy as np
import pytest
import torch
from torch import nn

from sklearn_lec import LECClassifier


class Watched(nn.Module):
    """Batch norm and a linear layer; notes the modes and the sizes of batches that it sees without a gradient."""

    def __init__(self):
        super().__init__()
        self.norm, self.dropout, self.head = nn.BatchNorm1d(4), nn.Dropout(), nn.Linear(4, 3)
        self.seen = []

    def forward(self, x):
        if not torch.is_grad_enabled():
            self.seen.append((self.norm.training, self.dropout.training, x.detach().clone()))
        return self.head(self.dropout(self.norm(x)))


class Frozen(Watched):
    """Keeps its batch norm in evaluation mode, as is done with pretrained networks."""

    def train(self, mode=True):
        super().train(mode)
        self.norm.eval()
        return self


def votes_of(module, table, quick, **settings):
    """Return what the network saw in the pass of the second epoch, and the net."""
    clf = LECClassifier(module, method="ltec-full", **quick | {"max_epochs": 2, "T_w": 1} | settings).fit(*table)
    return clf.module_.seen, clf


def test_votes_use_the_statistics_of_their_batch_and_no_dropout(table, quick):
    seen, _ = votes_of(Watched, table, quick)

    assert all(norm for norm, _, _ in seen)
    assert not any(dropout for _, dropout, _ in seen)


def test_votes_leave_the_running_statistics_alone(table, quick):
    seen, clf = votes_of(Watched, table, quick, batch_size=-1)

    assert len(seen) == 1
    assert clf.module_.norm.num_batches_tracked == 2  # one batch for each of the epochs


def test_batch_norm_that_is_frozen_stays_frozen(table, quick):
    seen, _ = votes_of(Frozen, table, quick)

    assert not any(norm for norm, _, _ in seen)


@pytest.mark.parametrize("batch_size", [16, 89, 90, -1])
def test_batches_of_the_vote_are_of_like_size_and_drawn_at_random(table, quick, batch_size):
    X, y = table
    order = np.argsort(y, kind="stable")

    seen, _ = votes_of(Watched, (X[order], y[order]), quick, batch_size=batch_size)

    batches = [x for _, _, x in seen]
    sizes = [len(x) for x in batches]
    assert sum(sizes) == 90
    assert max(sizes) - min(sizes) <= len(sizes)
    assert sorted(torch.cat(batches)[:, 0].tolist()) == sorted(X[:, 0].tolist())
    assert not torch.equal(torch.cat(batches), torch.from_numpy(X[order]))


def test_nothing_is_voted_on_where_nothing_is_left_out(table, quick):
    seen, clf = votes_of(Watched, table, quick, eps=0)

    assert seen == []
    assert clf.clean_mask_.all()
