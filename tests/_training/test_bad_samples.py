"""Samples that cannot be learned from: which ones, and what a training makes of them."""

from unittest.mock import patch

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from skorch.dataset import ValidSplit
from torch import nn
from torch.utils.data import Dataset, Subset, TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec._training import bad_samples
from sklearn_lec._training.bad_samples import HugeSamples, finite_samples, huge_samples
from sklearn_lec._training.batches import IndexedBatch
from sklearn_lec._training.state import decode, encode
from sklearn_lec.methods import METHODS
from tests._training.interruption import power_cut, settings
from tests.helpers import OnBatch, TinyConv, TinyNet, weights

RNG = np.random.RandomState(0)
IS_HUGE = "sample.s. 7 of X hold a value more than ten million times as large as any of the other samples"


class Loading(Dataset):
    """Yields samples one by one."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        return torch.as_tensor(self.X[index]), int(self.y[index])


@pytest.fixture
def spoiled(table):
    """A function that returns the table with a value of its own in sample 7."""

    def spoil(value):
        X, y = table
        X = X.copy()
        X[7, 2] = value
        return X, y

    return spoil


def test_finite_samples_go_by_the_losses_and_if_none_is_finite_by_the_inputs():
    nan = float("nan")
    inputs = torch.tensor([[0.0, 1.0], [nan, 1.0], [0.0, 0.0]])

    assert finite_samples(torch.tensor([[1.0, nan, 2.0], [nan, 1.0, 1.0]]), inputs).tolist() == [False, False, True]
    assert finite_samples(torch.full((1, 3), nan), inputs).tolist() == [True, False, True]
    assert finite_samples(torch.full((1, 3), nan), {"x": inputs, "z": torch.ones(3)}).tolist() == [True, False, True]


def test_a_huge_input_is_blamed_if_no_loss_is_finite():
    inputs = torch.tensor([[0.0, 1.0], [2.0, 1e38], [0.0, 0.0]])

    assert finite_samples(torch.full((1, 3), float("nan")), inputs).tolist() == [True, False, True]


@pytest.mark.parametrize("value", [2e8, 1e20, 1e38, -1e38])
@pytest.mark.parametrize(
    "made", [np.asarray, torch.from_numpy, csr_matrix, lambda X: {"x": X, "z": X[:, :1]}, lambda X: X[:, None]]
)
def test_a_value_beside_which_float32_loses_all_others_is_huge(value, made):
    X = RNG.normal(size=(200, 3)).astype(np.float32)
    X[[7, 11], 0] = value

    assert huge_samples(made(X), 200).nonzero()[0].tolist() == [7, 11]


def test_values_that_are_not_huge_do_not_hide_those_that_are():
    X = RNG.normal(size=(200, 3))
    X[7], X[8], X[9], X[10] = 1e20, 1e30, np.nan, np.inf

    assert huge_samples(X, 200).nonzero()[0].tolist() == [7, 8]


@pytest.mark.parametrize(
    "X",
    [
        1e12 * RNG.normal(size=(500, 3)),
        RNG.standard_cauchy((500, 30)),
        np.exp(5 * RNG.normal(size=(500, 30))),
        RNG.pareto(0.5, size=(500, 30)),
        np.eye(500, 3),
        1.6e9 * (RNG.rand(500, 1) < 0.3),
        RNG.randint(0, 2**62, size=(500, 2)),
        np.iinfo(np.uint8).max * np.eye(500, 3, dtype=np.uint8),
        np.finfo(np.float16).max * np.eye(500, 3, dtype=np.float16),
        np.full((1, 3), 1e38),
        np.array([["a", "b"]] * 3),
    ],
    ids=[
        "large",
        "Cauchy",
        "log-normal",
        "Pareto",
        "rare",
        "times or 0",
        "hashes",
        "bytes",
        "half",
        "one sample",
        "words",
    ],
)
@pytest.mark.filterwarnings("error")
def test_large_features_and_heavy_tails_are_not_huge(X):
    assert not huge_samples(X, len(X)).any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("separate_vote", [False, True])
@pytest.mark.parametrize("value", [1e20, -1e38])
@pytest.mark.filterwarnings("ignore:the 2 passes of LSEC")
def test_a_huge_value_is_named_and_the_training_goes_on_as_if_the_sample_were_not_there(
    spoiled, quick, method, separate_vote, value
):
    X, y = spoiled(value)
    others = np.arange(90) != 7
    is_separate = separate_vote and METHODS[method]().same_samples_for_all
    settings = quick | {"method": method, "max_epochs": 6, "batch_size": 64, "separate_vote": is_separate}

    with pytest.warns(UserWarning, match=IS_HUGE) as warned:
        clf = LECClassifier(TinyConv, **settings).fit(X, y)

    assert not any("NaN" in str(warning.message) for warning in warned)
    assert not clf.clean_mask_[7]
    assert clf.clean_mask_[others].sum() > 30
    assert weights(clf).abs().max() < 5
    buffers = torch.cat([buffer.flatten().float() for buffer in clf.module_.buffers()])
    assert buffers.abs().max() < 100


@pytest.mark.parametrize("made", [Loading, lambda X, y: TensorDataset(torch.from_numpy(X), torch.from_numpy(y))])
@pytest.mark.parametrize("value", [1e20, 1e38])
def test_a_huge_value_in_a_dataset_is_found_too(spoiled, quick, made, value):
    clf = LECClassifier(TinyConv, **quick)

    with pytest.warns(UserWarning, match=IS_HUGE) as warned:
        clf.fit(made(*spoiled(value)), None)

    assert len(warned) == 1
    assert clf.module_.norm.running_var.max() < 100
    assert not clf.clean_mask_[7]


def test_loading_a_huge_value_trains_as_if_it_were_known_before(spoiled, quick):
    X, y = spoiled(1e20)

    with pytest.warns(UserWarning, match=IS_HUGE):
        loaded = LECClassifier(TinyConv, **quick).fit(Loading(X, y), None)
        known = LECClassifier(TinyConv, **quick).fit(X, y)

    assert torch.equal(weights(loaded), weights(known))


def test_a_huge_value_that_is_held_out_is_none_of_the_trainings_business(spoiled, quick, recwarn):
    X, y = spoiled(1e20)
    validation = ValidSplit([(np.delete(np.arange(90), [7, 8]), np.array([7, 8]))], stratified=False)

    LECClassifier(TinyNet, train_split=validation, **quick).fit(X, y)

    assert not [w for w in recwarn if "ten million" in str(w.message)]


def test_the_number_of_a_huge_sample_is_that_in_the_data_set_that_was_passed(spoiled):
    X, y = (torch.from_numpy(part) for part in spoiled(1e20))

    huge = HugeSamples(Subset(TensorDataset(X, y), range(5, 90)))

    assert huge.among(torch.arange(85)).tolist() == [2]


def test_batches_without_a_huge_sample_are_passed_on_as_they_are(table, quick):
    sizes, seen = [], []

    LECClassifier(
        TinyNet, callbacks=[OnBatch(lambda net, batch: sizes.append(len(batch[0])) or seen.extend(batch.samples))],
        **quick | {"max_epochs": 1, "T_w": 0},
    ).fit(Loading(*table), None)  # fmt: skip

    assert sizes == [16] * 5 + [10]
    assert sorted(map(int, seen)) == list(range(90))


@pytest.mark.parametrize("made", [lambda X, y: (X, y), lambda X, y: (Loading(X, y), None)], ids=["array", "loaded"])
@pytest.mark.parametrize("train_split", [None, ValidSplit([(np.arange(8, 90), np.arange(8))], stratified=False)])
@pytest.mark.filterwarnings("ignore:sample.s. 7 of X hold")
def test_forwards_matrix_is_not_read_from_a_huge_sample(spoiled, quick, made, train_split):
    seen = []

    with patch(
        "sklearn_lec.methods.forward.estimate_corruption_matrix",
        lambda probabilities, percentile: seen.append(probabilities) or np.eye(3),
    ):
        LECClassifier(TinyNet, method="forward", train_split=train_split, **quick).fit(*made(*spoiled(1e20)))

    assert np.isnan(seen[0]).any(axis=1).nonzero()[0].tolist() == [7]


def test_looking_for_huge_samples_does_not_move_the_random_numbers_of_forward(table, quick):
    loaded = LECClassifier(TinyNet, method="forward", **quick).fit(Loading(*table), None)
    in_memory = LECClassifier(TinyNet, method="forward", **quick).fit(*table)

    assert torch.equal(weights(loaded), weights(in_memory))


def test_samples_that_were_not_shown_are_not_huge(table, quick):
    seen = []

    with patch(
        "sklearn_lec.methods.forward.estimate_corruption_matrix",
        lambda probabilities, percentile: seen.append(probabilities) or np.eye(3),
    ):
        LECClassifier(TinyNet, method="forward", iterator_train__drop_last=True, **quick).fit(Loading(*table), None)

    assert np.isfinite(seen[0]).all()


# --- samples that are loaded ----------------------------------------------------------------------------------------


def passes_through(huge, X, *, n_passes=1, batch_size=32):
    """Yield the numbers of the samples in each batch that is left, in another order in each pass."""
    X = torch.as_tensor(X)
    for seed in range(n_passes):
        order = torch.randperm(len(X), generator=torch.Generator().manual_seed(seed)).split(batch_size)
        for batch in huge.left_out_of(IndexedBatch(X[numbers], numbers, numbers) for numbers in order):
            yield batch.samples.tolist()


def with_values(X, samples, value):
    X[samples, 0] = value
    return X


NORMAL = np.random.RandomState(1).normal(size=(1000, 3))
SOME = np.arange(0, 1000, 20)
TABLES = {
    "ordinary": NORMAL,
    "one": with_values(NORMAL.copy(), [7], 1e20),
    "2 %": with_values(NORMAL.copy(), SOME[:20], 1e8),
    "a bit more than 2 %": with_values(NORMAL.copy(), SOME[:21], 1e8),
    "5 %": with_values(NORMAL.copy(), SOME, 1e8),
    "two scales": with_values(with_values(NORMAL.copy(), SOME[:5], 1e12), SOME[5:10], 1e22),
    "just below": with_values(with_values(NORMAL.copy(), [7], 1e9), SOME[1:30], 1e3),
    "not numbers": with_values(with_values(NORMAL.copy(), [7], 1e20), SOME[1:20], np.nan),
    "large": 1e12 * NORMAL,
    "large and one": with_values(1e12 * NORMAL, [7], 1e25),
    "Cauchy": np.random.RandomState(0).standard_cauchy((1000, 30)) ** 3,
    "Pareto": np.random.RandomState(0).pareto(0.1, size=(1000, 3)).clip(max=1e38),
}


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("batch_size", [1, 32, 1000])
def test_after_one_pass_the_samples_left_out_are_those_of_an_array(kind, batch_size):
    X = TABLES[kind]
    loaded = HugeSamples(Loading(X, np.zeros(1000)))

    list(passes_through(loaded, X, batch_size=batch_size))

    expected = huge_samples(X, 1000).nonzero()[0].tolist()
    assert loaded.known.nonzero()[0].tolist() == expected
    assert sum(map(len, passes_through(loaded, X, batch_size=batch_size))) == 1000 - len(expected)


def test_each_part_of_a_sample_is_compared_with_that_part_of_the_others():
    X = {"hash": 1e12 * NORMAL, "x": with_values(NORMAL.copy(), [7], 1e10)}
    batches = [IndexedBatch({k: torch.from_numpy(v) for k, v in X.items()}, torch.zeros(1000), torch.arange(1000))]
    loaded = HugeSamples(Loading(NORMAL, np.zeros(1000)))

    (batch,) = loaded.left_out_of(batches)

    assert loaded.known.nonzero()[0].tolist() == [7]
    assert len(batch[0]["hash"]) == len(batch[0]["x"]) == 999


@pytest.mark.parametrize("X", [TABLES["one"], TABLES["large and one"]], ids=["normal", "large"])
def test_a_huge_value_is_left_out_of_the_batch_in_which_it_is_first_seen(X):
    loaded = HugeSamples(Loading(X, np.zeros(1000)))

    assert not any(7 in batch for batch in passes_through(loaded, X, batch_size=8))


@pytest.mark.parametrize(("kind", "most"), [("ordinary", 0), ("large", 14), ("2 %", 14), ("Pareto", 40)])
def test_samples_are_sorted_now_and_then_and_not_in_every_batch(kind, most):
    loaded = HugeSamples(Loading(NORMAL, np.zeros(1000)))

    with patch("sklearn_lec._training.bad_samples._limit", wraps=bad_samples._limit) as limit:
        list(passes_through(loaded, TABLES[kind], n_passes=3, batch_size=4))

    assert limit.call_count <= most


def test_what_was_found_goes_on_where_it_was_saved():
    X = TABLES["5 %"]
    loaded, resumed = (HugeSamples(Loading(X, np.zeros(1000))) for _ in range(2))
    going = passes_through(loaded, X)
    for _ in range(5):
        next(going)
    batches = torch.arange(1000).split(32)

    resumed.load(decode(encode(loaded.state(), "huge")))

    left = [
        [
            (batch.samples.tolist(), huge.known.tolist())
            for batch in huge.left_out_of(IndexedBatch(torch.as_tensor(X[b]), b, b) for b in batches)
        ]
        for huge in (loaded, resumed)
    ]
    assert left[0] == left[1]


def test_values_of_other_samples_are_not_gone_on_with():
    state = {0: {"largest": np.zeros(5), "n_seen": 5, "n_compared": 0, "limit": 1e8, "is_exceeded": False}}

    with pytest.raises(ValueError, match="not the largest values of 1000 samples"):
        HugeSamples(Loading(NORMAL, np.zeros(1000))).load(state)


def test_nothing_is_saved_of_data_in_memory():
    X = torch.from_numpy(TABLES["one"])

    huge = HugeSamples(TensorDataset(X, torch.zeros(1000)))

    assert huge.state() == {}
    assert huge.known.nonzero()[0].tolist() == [7]


def test_the_warning_tells_how_many_there_are_and_names_the_first_five():
    X = TABLES["2 %"]
    huge = HugeSamples(TensorDataset(torch.from_numpy(X), torch.zeros(1000)))

    with pytest.warns(UserWarning, match=r"sample\(s\) 0, 20, 40, 60, 80, ... of X \(20 in all\) hold") as warned:
        huge.warn(torch.arange(1000))
        huge.warn(torch.arange(1000), is_last=True)

    assert len(warned) == 1


class Spoiling(Loading):
    """Yields a huge value in two samples, in one of them from the second epoch on."""

    n_loaded = 0

    def __getitem__(self, index):
        self.n_loaded += 1
        x, y = super().__getitem__(index)
        is_huge = index == 7 or (index == 3 and self.n_loaded > 180)
        return (torch.full_like(x, 1e20) if is_huge else x), y


def test_there_is_a_second_warning_at_the_end_only_of_samples_that_were_found_later(table, quick):
    with pytest.warns(UserWarning, match="ten million") as warned:
        LECClassifier(TinyNet, **quick | {"max_epochs": 6}).fit(Spoiling(*table), table[1])

    assert [str(warning.message)[:16] for warning in warned] == ["sample(s) 7 of X", "sample(s) 3 of X"]


def test_values_that_many_samples_have_are_learned_from_in_a_dataset_too(quick):
    X, y = TABLES["5 %"].astype(np.float32), np.arange(1000) % 3
    parameters = quick | {"method": "standard", "batch_size": 32, "max_epochs": 2}

    clf = LECClassifier(nn.Linear(3, 3), **parameters).fit(Loading(X, y), None)

    assert clf.history[-1, "n_selected"] == 1000


def test_huge_samples_of_a_data_set_stay_known_when_a_run_is_resumed(spoiled, tmp_path):
    parameters = settings("standard", iterator_train__shuffle=False, max_epochs=3)
    data = Loading(*spoiled(1e20))
    known = []
    original = HugeSamples.left_out_of

    def left_out_of(huge, batches):
        known.append(huge.known.nonzero()[0].tolist())
        return original(huge, batches)

    with pytest.warns(UserWarning, match=IS_HUGE), power_cut(epoch=2):
        LECClassifier(**parameters, checkpoint_dir=tmp_path).fit(data, None)
    with (
        patch.object(HugeSamples, "left_out_of", left_out_of),
        pytest.warns(UserWarning, match=IS_HUGE),
        pytest.warns(UserWarning, match="it is not certain that these are the same as before: X"),
    ):
        LECClassifier(**parameters, checkpoint_dir=tmp_path).fit(data, None)

    assert known[0] == [7]
