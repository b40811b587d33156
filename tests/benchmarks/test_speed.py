"""What is timed, how times are compared, and the page on speed."""

import copy
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestCentroid

from benchmarks.contenders import hand_written, lec, plain_skorch
from benchmarks.growth import TinyNetwork, bookkeeping_shares, clocked_bookkeeping, seconds_by_rows, tiny_work
from benchmarks.speed_page import page_of
from benchmarks.timing import alternate, ratio, shown
from benchmarks.variants import VmapNetworkEnsemble, ensemble_by_vmap
from sklearn_lec._selection import SampleRecord
from sklearn_lec._training import step
from sklearn_lec.methods import consensus, ltec
from sklearn_lec.modules import MLP, NetworkEnsemble

WORK = tiny_work(256, batch_size=64)


def test_contenders_take_turns_and_every_round_begins_with_another():
    turns = []

    def contender(name):
        return lambda: turns.append(name) or 1.0

    seconds = alternate({name: contender(name) for name in "abc"}, rounds=3)

    assert "".join(turns) == "abcbcacab"
    assert seconds == {name: [1.0] * 3 for name in "abc"}


def test_ratios_are_those_of_the_same_round():
    seconds = {"slow": [2.0, 20.0, 3.0], "base": [1.0, 10.0, 1.0]}

    value = ratio(seconds, "slow", "base")

    assert (value["low"], value["median"], value["high"]) == (2.0, 2.0, 2.5)
    assert shown(value) == "2.00 (2.00-2.50)"


@pytest.mark.parametrize("make", [hand_written, plain_skorch, partial(lec, method="ltec", eps=0.2)])
def test_a_contender_trains_on_every_sample_once_and_returns_its_seconds(make):
    seen, networks = [], []

    def watched_network():
        networks.append(TinyNetwork())
        networks[-1].register_forward_pre_hook(lambda network, inputs: seen.append(inputs[0].clone()))
        return networks[-1]

    with torch.random.fork_rng():
        epoch = make(replace(WORK, module=watched_network))
        seen.clear()
        before = copy.deepcopy(networks[-1].state_dict())
        start = time.perf_counter()
        seconds = epoch()
        elapsed = time.perf_counter() - start

    assert [len(batch) for batch in seen] == [64] * 4
    np.testing.assert_array_equal(np.unique(torch.cat(seen).numpy(), axis=0), np.unique(WORK.X, axis=0))
    assert all(not torch.equal(before[name], after) for name, after in networks[-1].state_dict().items())
    assert 0 < seconds < elapsed


def test_the_classifier_is_timed_after_its_warm_up():
    epoch = lec(WORK, "ltec", eps=0.2)

    assert epoch.net.method_.is_past_warmup
    assert epoch.net.history[-1, "n_selected"] < 256


def test_a_fifth_of_the_labels_is_wrong():
    X, y = tiny_work(1000).X, tiny_work(1000).y

    right = NearestCentroid().fit(X[200:], y[200:]).predict(X) == y

    assert (X.shape, X.dtype) == ((1000, 20), np.float32)
    assert right[:200].mean() < 0.1
    assert right[200:].mean() > 0.9


def test_the_clock_counts_and_leaves_no_trace():
    before = [ltec.LTEC.select, SampleRecord.add, step.to_host, consensus.small_loss_mask]
    epoch = lec(WORK, "ltec", eps=0.2)
    shares = bookkeeping_shares(epoch)

    with pytest.raises(RuntimeError, match="stop"), clocked_bookkeeping():
        raise RuntimeError("stop")

    assert 0 < shares["selection"] < shares["all"] < 1
    assert [ltec.LTEC.select, SampleRecord.add, step.to_host, consensus.small_loss_mask] == before


def test_growth_has_a_line_for_each_size():
    lines = seconds_by_rows([128, 256], batch_size=64, rounds=1)

    assert [line["rows"] for line in lines] == [128, 256]
    assert all(line["microseconds"] > 0 for line in lines)


@pytest.mark.parametrize(
    "module", [TinyNetwork, partial(MLP, in_features=20, num_classes=10, hidden=(8,), dropout=0.0)]
)
def test_vmap_computes_what_the_loop_does(module):
    networks = [module() for _ in range(3)]
    X = torch.from_numpy(WORK.X[:16])

    assert torch.allclose(VmapNetworkEnsemble(networks)(X), NetworkEnsemble(networks)(X), atol=1e-5)
    assert ensemble_by_vmap(WORK, 2, rounds=1)["median"] > 0


def test_the_page_has_a_section_for_what_is_there():
    value = {"median": 1.0, "low": 0.9, "high": 1.1}
    own = {"all": 0.1, "selection": 0.05, "state": 0.03, "decision": 0.02}
    results = {
        "mlp": {
            "rounds": 7,
            "skorch_seconds": 2.0,
            "ratios": {"ltec": {"skorch": value}},
            "memory_is_kept": True,
        },
        "passes": {"eps 0.2": {"ltec": [1.0, 1.0, 0.8]}},
        "memory": [{"M": "5", "megabytes": 12.0, "state_bytes": 8.0}],
        "growth": [{"rows": 10_000, "batch_size": 128, "microseconds": 7.0, "own": own}],
        "cleanlab": [{"noise": "sym-60", "ratio": [0.2, 0.3], "ltec": [0.9, 1.0], "cleanlab": [0.5, 0.6]}],
        "variants": {"compiled": value},
        "apart": {"apart": [0.9], "shared": [0.8], "ratio": [0.7]},
        "versions": {"torch": "2"},
    }

    page = page_of(results)

    for line in [
        "| ltec | 1.00 (0.90-1.10) |",
        "| ltec (eps 0.2) | 1 | 1.00 | 0.80 | n | <= n |",
        "| 5 | 12 | 8.0 |",
        "| 10,000 | 128 | 7.00 | 10.0 % | 5.0 % | 3.0 % | 2.0 % |",
        "| sym-60 | 0.25 (0.20-0.30) | 95.0 ± 5.0 | 55.0 ± 5.0 |",
        "| ltec | 90.0 ± 0.0 | 80.0 ± 0.0 | 0.70 (0.70-0.70) |",
    ]:
        assert line in page
    assert "## Growth" not in page_of({"memory": results["memory"]})
