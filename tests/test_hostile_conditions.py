"""Anything may happen, but never an error that is not one of the documented ones."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold, cross_val_score
from skorch.callbacks import Callback

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from tests.helpers import TinyNet, weights

LABELS = {
    "numbers": np.arange(5),
    "gaps": np.array([-3, 0, 7, 8, 1000]),
    "words": np.array(["a", "bb", "ccc", "d", "e"]),
    "objects": np.array(["a", "bb", "ccc", "d", "e"], dtype=object),
    "floats": np.array([0.0, 1.0, 2.0, 3.0, 4.0]),
}
NEED_A_FINITE_M = ("lnec", "lsec")


@settings(max_examples=60, deadline=None)
@given(
    n_samples=st.integers(1, 60),
    n_classes=st.integers(1, 5),
    labels=st.sampled_from(sorted(LABELS)),
    method=st.sampled_from(sorted(METHODS)),
    eps=st.floats(0, 0.99),
    M=st.one_of(st.integers(1, 4), st.just(np.inf)),
    T_w=st.integers(0, 4),
    batch_size=st.integers(1, 70),
    drop_last=st.booleans(),
    seed=st.integers(0, 100),
)
def test_any_fit_ends_with_masks_of_the_right_length(
    n_samples, n_classes, labels, method, eps, M, T_w, batch_size, drop_last, seed
):
    rng = np.random.RandomState(seed)
    y = LABELS[labels][np.arange(n_samples) % n_classes]
    X = rng.normal(size=(n_samples, 3))
    clf = LECClassifier(
        method=method, eps=eps, M=M, T_w=T_w, batch_size=batch_size, max_epochs=3, verbose=0, random_state=seed,
        module__hidden=(4,), iterator_train__drop_last=drop_last,
    )  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m_is_refused = method in NEED_A_FINITE_M and np.isinf(M)
        if m_is_refused or len(set(y)) == 1:
            with pytest.raises(ValueError, match="M=inf does not fit" if m_is_refused else "y holds one class only"):
                clf.fit(X, y)
            return
        clf.fit(X, y)

    assert clf.clean_mask_.shape == clf.clean_score_.shape == (n_samples,)
    assert ((clf.clean_score_ >= 0) & (clf.clean_score_ <= 1)).all()
    assert set(clf.predict(X)) <= set(y)
    assert np.isfinite(clf.predict_proba(X)).all()


def test_a_class_that_loses_all_its_samples_is_named_once():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(120, 2)).astype(np.float32)
    y = np.where(X[:, 0] > 0, "right", "left")
    y[:3] = "rare"

    with pytest.warns(UserWarning, match="no sample labelled 'rare' was selected in epoch") as warned:
        LECClassifier(eps=0.2, max_epochs=12, T_w=4, verbose=0, random_state=0).fit(X, y)

    assert sum("'rare'" in str(w.message) for w in warned) == 1


def test_constant_features_give_finite_probabilities(quick):
    clf = LECClassifier(**quick).fit(np.ones((40, 3)), np.arange(40) % 2)

    assert np.isfinite(clf.predict_proba(np.ones((2, 3)))).all()


def test_a_training_goes_on_after_a_loss_that_explodes(table, quick):
    with pytest.warns(UserWarning, match="the loss is NaN or infinite"):
        clf = LECClassifier(TinyNet, optimizer=torch.optim.SGD, **quick | {"lr": 1e30}).fit(*table)

    assert len(clf.history) == 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*has no effect")
def test_after_an_interrupt_the_masks_are_those_of_the_last_finished_epoch(table, quick, method):
    masks = []

    class Interrupt(Callback):
        def on_epoch_end(self, net, **kwargs):
            masks.append(net.clean_mask_)

        def on_batch_begin(self, net, batch=None, training=False, **kwargs):
            if training and len(net.history) == 3 and len(net.history[-1]["batches"]) == 2:
                raise KeyboardInterrupt

    clf = LECClassifier(TinyNet, method=method, T_k=2, callbacks=[Interrupt()], **quick | {"eps": 0.4}).fit(*table)

    assert len(masks) == 2
    assert np.array_equal(clf.clean_mask_, masks[-1])
    assert clf.predict(table[0]).shape == (90,)
    assert weights(clf.set_params(callbacks=None).partial_fit(*table)).isfinite().all()


class Failing(torch.utils.data.Dataset):
    """A data set with one file that cannot be read."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        if index == 17:
            raise OSError("cannot read the image")
        return torch.ones(4), index % 2


def test_an_error_of_a_dataset_names_the_sample(quick):
    with pytest.raises(OSError, match="cannot read the image") as caught:
        LECClassifier(TinyNet, **quick).fit(Failing(), np.arange(40) % 2)

    assert "sample 17 of X" in "".join(caught.value.__notes__)


@pytest.mark.parametrize(
    "made",
    [
        lambda X, folder: X.astype(np.float16),
        lambda X, folder: X[::-1][::-1],
        lambda X, folder: np.asfortranarray(X),
        lambda X, folder: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X, folder: read_only_memmap(X, folder),
    ],
    ids=["float16", "negative strides", "fortran", "strided", "memmap"],
)
def test_arrays_of_any_layout_are_fitted_and_not_changed(table, quick, tmp_path, made):
    X, y = made(table[0], tmp_path), table[1]
    before = np.array(X)

    clf = LECClassifier(TinyNet, **quick).fit(X, y)

    assert clf.predict(X).shape == (90,)
    assert np.array_equal(X, before)


def read_only_memmap(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def test_a_fold_with_one_class_only_is_an_error_that_says_so(table, quick):
    X = table[0][:40]
    y = np.array([0] * 39 + [1])

    with pytest.raises(ValueError, match="y holds one class only"):
        cross_val_score(LECClassifier(TinyNet, **quick), X, y, cv=KFold(4), error_score="raise")


def test_labels_that_were_never_seen_count_as_errors_in_the_score(table, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick).fit(X, y)

    assert clf.score(X, np.full(90, 99)) == 0
