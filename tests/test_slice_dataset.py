"""skorch's SliceDataset as X and y: what scikit-learn needs to split a Dataset that loads its samples."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV, cross_val_score
from skorch.dataset import ValidSplit
from skorch.helper import SliceDataset
from torch.utils.data import Dataset, TensorDataset

from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.noise import NoisyLabelClassifier, SymmetricNoise
from tests._training.interruption import interrupted, settings
from tests.helpers import TinyNet, weights


class Folder(Dataset):
    """Counts how often samples are loaded, and lists its labels as torchvision's ImageFolder does."""

    def __init__(self, X, y):
        self.X, self.targets = X, y.tolist()
        self.n_loaded = 0

    def __len__(self):
        return len(self.X)

    def __getitem__(self, index):
        self.n_loaded += 1
        return torch.from_numpy(self.X[index]), self.targets[index]


class Doubled(SliceDataset):
    def transform(self, data):
        return 2 * data


@pytest.fixture
def folder(table):
    return Folder(*table)


@pytest.mark.parametrize("method", METHODS)
def test_a_slice_dataset_gives_what_its_arrays_give(table, folder, quick, method):
    X, y = table
    parameters = {"method": method, "eps": 0.2, "train_split": ValidSplit(3), **quick}
    expected = LECClassifier(TinyNet, **parameters).fit(X, y)

    clf = LECClassifier(TinyNet, **parameters).fit(SliceDataset(folder), y)

    assert torch.equal(weights(clf), weights(expected))
    assert np.array_equal(clf.clean_mask_, expected.clean_mask_)
    assert np.array_equal(clf.predict_proba(SliceDataset(folder)), expected.predict_proba(X))


def test_a_slice_dataset_loads_the_samples_of_its_slice_alone(table, quick):
    X, y = table
    chosen = np.arange(0, 90, 3)[::-1]
    expected = LECClassifier(TinyNet, **quick, classes=[0, 1, 2]).fit(X[chosen], y[chosen])

    sliced = SliceDataset(TensorDataset(torch.from_numpy(X), torch.from_numpy(y)))[chosen]
    clf = LECClassifier(TinyNet, **quick, classes=[0, 1, 2]).fit(sliced, y[chosen])

    assert torch.equal(weights(clf), weights(expected))


def test_the_transformation_of_a_slice_dataset_counts(table, folder, quick):
    X, y = table
    expected = LECClassifier(TinyNet, **quick).fit(2 * X, y)

    clf = LECClassifier(TinyNet, **quick).fit(Doubled(folder), y)

    assert torch.equal(weights(clf), weights(expected))


def test_samples_are_loaded_batch_by_batch(table, folder, quick):
    X = SliceDataset(folder)
    n_epochs = quick["max_epochs"]

    LECClassifier(TinyNet, **quick).fit(X, SliceDataset(folder, idx=1))

    # Once in each epoch; two more tell the shape of a sample, and that the list of labels can be trusted.
    assert folder.n_loaded == n_epochs * 90 + 2


def test_labels_of_any_slice_dataset_are_found(table, quick):
    X, y = table
    words = [(x, label, ["ant", "bee", "cat"][label]) for x, label in zip(X, y, strict=True)]

    class Triples(Dataset):
        def __len__(self):
            return 90

        def __getitem__(self, index):
            return words[index]

    clf = LECClassifier(TinyNet, **quick).fit(SliceDataset(Triples()), SliceDataset(Triples(), idx=2))

    assert clf.classes_.tolist() == ["ant", "bee", "cat"]
    assert torch.equal(weights(clf), weights(LECClassifier(TinyNet, **quick).fit(X, y)))


def test_cross_validation_splits_a_slice_dataset(table, folder, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick | {"lr": 0.05, "max_epochs": 5})
    expected = cross_val_score(clf, X, y, cv=3)

    assert np.array_equal(cross_val_score(clf, SliceDataset(folder), y, cv=3), expected)
    assert np.array_equal(cross_val_score(clf, SliceDataset(folder), SliceDataset(folder, idx=1), cv=3), expected)
    assert expected.mean() > 0.6


def test_a_search_goes_over_a_slice_dataset(table, folder, quick):
    X, y = table
    clf = LECClassifier(TinyNet, **quick | {"lr": 0.05})
    expected = GridSearchCV(clf, {"eps": [0.1, 0.3]}, cv=3).fit(X, y)

    search = GridSearchCV(clf, {"eps": [0.1, 0.3]}, cv=3).fit(SliceDataset(folder), y)

    assert np.array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    assert search.best_estimator_.clean_mask_.shape == (90,)


def test_noise_is_put_into_the_labels_of_a_slice_dataset(table, folder, quick):
    X, y = table
    noisy = NoisyLabelClassifier(LECClassifier(TinyNet, **quick), SymmetricNoise(eps=0.2, random_state=0))
    expected = weights(noisy.fit(X, y).estimator_)

    noisy.fit(SliceDataset(folder), y)

    assert torch.equal(weights(noisy.estimator_), expected)


def test_a_resumed_training_on_a_slice_dataset_warns_of_what_is_not_compared(table, tmp_path):
    X, y = table
    expected = LECClassifier(**settings()).fit(X, y)

    class Loads(Dataset):
        def __len__(self):
            return 90

        def __getitem__(self, index):
            return X[index], y[index]

    with pytest.warns(UserWarning, match="not certain that these are the same as before: X .a Loads"):
        resumed = interrupted((SliceDataset(Loads()), y), tmp_path, **settings())

    assert torch.equal(weights(resumed), weights(expected))
