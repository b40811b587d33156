import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from sklearn_lec.noise import AsymmetricNoise, SymmetricNoise

labels = st.lists(st.integers(-2, 3), min_size=2, max_size=60).filter(lambda y: len(set(y)) > 1)
percents = st.integers(0, 99)
seeds = st.integers(0, 1000)


@given(labels, percents, seeds)
def test_symmetric_noise_changes_exactly_the_share_asked_for_and_never_to_the_same_label(y, percent, seed):
    y = np.array(y)
    noise = SymmetricNoise(eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(y)

    assert (noisy != y).sum() == percent * len(y) // 100
    assert np.array_equal(noise.noise_mask_, noisy != y)
    assert set(noisy) <= set(y)


@given(labels, percents, seeds)
def test_asymmetric_noise_changes_each_class_to_the_next_and_the_same_share_of_each(y, percent, seed):
    y = np.array(y)
    classes = np.unique(y)
    following = dict(zip(classes, np.roll(classes, -1), strict=True))
    noise = AsymmetricNoise(eps=percent / 100, random_state=seed)

    noisy = noise.fit_transform(y)

    changed = noisy != y
    assert changed.sum() == percent * len(y) // 100
    assert all(noisy[row] == following[y[row]] for row in np.flatnonzero(changed))
    for label in classes:
        assert abs(changed[y == label].sum() - percent / 100 * (y == label).sum()) < 1


def test_symmetric_noise_reaches_every_other_class():
    noise = SymmetricNoise(eps=0.6, random_state=0)

    noise.fit_transform(np.arange(3000) % 3)

    assert np.allclose(noise.corruption_matrix_, 0.3 + 0.1 * np.eye(3), atol=0.05)


def test_mapping_names_the_classes_that_change():
    y = np.array(["car", "truck"] * 50)
    noise = AsymmetricNoise(eps=0.4, mapping={"truck": "car"}, random_state=0)

    noisy = noise.fit_transform(y)

    assert (noisy[y == "car"] == "car").all()
    assert noise.corruption_matrix_.tolist() == [[1.0, 0.0], [0.4, 0.6]]


@pytest.mark.parametrize("noise", [SymmetricNoise(random_state=3), AsymmetricNoise(random_state=3)])
def test_the_same_random_state_gives_the_same_noise_and_leaves_the_labels_alone(noise):
    y = np.arange(50) % 4
    before = y.copy()

    X, first = noise.corrupt("anything", y)
    second = clone(noise).fit_transform(y)

    assert X == "anything"
    assert np.array_equal(first, second)
    assert np.array_equal(y, before)


@pytest.mark.parametrize(
    ("noise", "y", "message"),
    [
        (SymmetricNoise(eps=1.0), [0, 1], r"eps must lie in \[0, 1\)"),
        (SymmetricNoise(eps=20), [0, 1], r"for 20 % wrong labels write eps=0\.2"),
        (AsymmetricNoise(eps=-0.1), [0, 1], r"eps must lie in \[0, 1\)"),
        (SymmetricNoise(), [1, 1], "one class only"),
        (AsymmetricNoise(mapping={0: 7}), [0, 1], "mapping names the label 7"),
    ],
)
def test_bad_input_is_refused(noise, y, message):
    with pytest.raises(ValueError, match=message):
        noise.fit_transform(y)
