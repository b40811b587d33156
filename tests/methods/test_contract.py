"""What a method of the user's own can do: parameters, memory, targets, hooks, and everything around a fit."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from skorch.dataset import ValidSplit

from sklearn_lec import LECClassifier
from sklearn_lec.methods import D2L, ELR, LNEC, LTEC, METHODS, Method, Selection, SelfTraining
from tests.helpers import TinyNet, weights, without
from tests.methods.own_methods import Majority, SelfLabelling


@pytest.fixture
def settings(quick):
    return without(quick, "M", "T_w")


# --- parameters -------------------------------------------------------------------------------------------------------


def test_a_method_may_be_a_name_a_class_or_an_instance(table, settings):
    trained = [
        LECClassifier(TinyNet, method=method, T_w=1, M=5, **settings | {"eps": 0.3}).fit(*table)
        for method in ("ltec", LTEC, LTEC(), LTEC(M=5, T_w=1, eps=0.3))
    ]

    for clf in trained[1:]:
        assert torch.equal(weights(clf), weights(trained[0]))
        assert np.array_equal(clf.clean_score_, trained[0].clean_score_)


def test_what_an_instance_leaves_open_is_taken_from_the_estimator(table, settings):
    clf = LECClassifier(TinyNet, method=LTEC(M=3), T_w=1, **settings | {"eps": 0.3}).fit(*table)

    assert clf.method_.get_params() == {"eps": 0.3, "M": 3, "T_w": 1}
    assert clf.method.get_params() == {"eps": None, "M": 3, "T_w": None}
    assert clf.eps_ == 0.3


def test_eps_of_an_instance_is_the_one_in_use(table, settings):
    clf = LECClassifier(TinyNet, method=SelfTraining(eps=0.5, T_w=0), **settings).fit(*table)

    assert clf.eps_ == 0.5
    assert clf.clean_mask_.sum() == 45


@pytest.mark.parametrize("method", [LTEC(M=3), SelfLabelling(threshold=0.7), ELR, "d2l"])
def test_a_clone_has_the_same_method_and_none_of_its_state(table, settings, method):
    clf = LECClassifier(TinyNet, method=method, **settings | {"max_epochs": 11}).fit(*table)

    copy = clone(clf)

    assert str(copy.get_params()["method"]) == str(method)
    assert copy.method is not clf.method_
    assert not hasattr(copy, "clean_mask_")


def test_fit_leaves_the_instance_alone_so_that_it_can_serve_again(table, settings):
    method = LTEC(M=2)

    first = LECClassifier(TinyNet, method=method, T_w=1, **settings).fit(*table)
    second = LECClassifier(TinyNet, method=method, T_w=1, **settings).fit(*table)

    assert method.record is None
    assert torch.equal(weights(first), weights(second))


def test_a_search_goes_over_methods_and_over_their_parameters(table, settings):
    clf = LECClassifier(TinyNet, method=LTEC(), T_w=1, **settings)
    grid = [
        {"method": [LTEC(M=3), SelfLabelling(), Majority(M=2), "standard"]},
        {"method__M": [1, 2]},
        {"method": [SelfLabelling()], "method__threshold": [0.6, 0.9]},
    ]

    search = GridSearchCV(clf, grid, cv=2, n_jobs=2, error_score="raise").fit(*table)

    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_deep_parameters_are_those_of_the_instance():
    clf = LECClassifier(TinyNet, method=LTEC(M=3))

    assert clf.get_params(deep=True)["method__M"] == 3
    assert "method__M" not in clf.get_params(deep=False)
    assert clf.set_params(method__M=7).method.M == 7


def test_parameters_of_a_method_that_is_named_cannot_be_set():
    with pytest.raises(ValueError, match=r"method='ltec' has no parameters to set. Pass an instance"):
        LECClassifier(TinyNet).set_params(method__M=7)


@pytest.mark.parametrize("method", [LTEC(M=0), LNEC(M=np.inf), D2L(W=1)])
def test_parameters_of_an_instance_are_checked(table, settings, method):
    with pytest.raises(ValueError, match=r"M must be|M=inf does not fit LNEC|W must be at least 2"):
        LECClassifier(TinyNet, method=method, **settings).fit(*table)


@pytest.mark.parametrize("method", [3, int, object()])
def test_what_is_no_method_is_refused(table, settings, method):
    with pytest.raises(ValueError, match=r"or a class or instance of sklearn_lec\.methods\.Method"):
        LECClassifier(TinyNet, method=method, **settings).fit(*table)


def test_a_training_goes_on_with_new_parameters_of_its_method_but_not_with_another(table, settings):
    clf = LECClassifier(TinyNet, method=LTEC(M=2), T_w=1, **settings).fit(*table)
    clf.set_params(method__M=3).partial_fit(*table)
    assert (clf.method_.M, clf.method_.epoch) == (3, 6)

    with pytest.raises(ValueError, match="the training under way is one of LTEC"):
        clf.set_params(method=SelfLabelling()).partial_fit(*table)


# --- memory, targets, hooks -------------------------------------------------------------------------------------------


def test_a_method_that_relabels_fits_the_contract(table, settings):
    settings |= {"lr": 0.05}
    clf = LECClassifier(TinyNet, method=SelfLabelling(threshold=0.33, patience=1), **settings).fit(*table)

    standard = LECClassifier(TinyNet, method="standard", **settings).fit(*table)
    assert clf.method_.record.memory["n_sure"].tolist() == [3] * 90
    assert clf.clean_mask_.all()
    assert not torch.equal(weights(clf), weights(standard))  # it learned from labels of its own


def test_several_networks_can_vote_by_majority(table, settings):
    clf = LECClassifier(TinyNet, method=Majority(M=3), T_w=1, **settings | {"eps": 0.4}).fit(*table)

    assert len(clf.module_.networks) == 3
    assert 0 < clf.clean_mask_.sum() < 90


class OwnTargets(LTEC):
    """LTEC on a loss of its own, which notes what it sees."""

    def loss(self, criterion, batch):
        type(self).seen.append((self.epoch, batch.samples.clone(), batch.labels.clone()))
        return criterion(batch.outputs, batch.outputs.argmax(dim=-1))


@pytest.mark.parametrize("separate_vote", [True, False])
def test_a_loss_sees_the_selected_samples_alone_and_no_placeholder(table, settings, separate_vote):
    OwnTargets.seen = []
    method = OwnTargets(M=1, T_w=1, eps=0.4)

    clf = LECClassifier(TinyNet, method=method, separate_vote=separate_vote, **settings).fit(*table)

    samples, labels = (torch.cat([part[i] for part in OwnTargets.seen if part[0] == 3]) for i in (1, 2))
    assert set(samples.tolist()) == set(np.flatnonzero(clf.clean_mask_))
    assert torch.equal(labels, torch.tensor(table[1])[samples])


class Smoothed(Method):
    """Learn from soft targets."""

    def loss(self, criterion, batch):
        n_classes = batch.outputs.shape[-1]
        return criterion(batch.outputs, 0.9 * F.one_hot(batch.labels, n_classes) + 0.1 / n_classes)


def test_soft_targets_train_as_torchs_label_smoothing(table, settings):
    soft = LECClassifier(TinyNet, method=Smoothed, **settings).fit(*table)
    smoothed = LECClassifier(TinyNet, method="standard", criterion__label_smoothing=0.1, **settings).fit(*table)

    assert torch.allclose(weights(soft), weights(smoothed), atol=1e-5)


@pytest.mark.parametrize("method", [Smoothed, "standard"])
@pytest.mark.parametrize("criterion", [{}, {"criterion__weight": torch.tensor([1.0, 5.0, 1.0])}])
def test_equal_weights_of_samples_change_nothing_with_soft_targets_either(table, settings, method, criterion):
    weighted, plain = (
        LECClassifier(TinyNet, method=method, **criterion, **settings).fit(*table, sample_weight=sample_weight)
        for sample_weight in (np.full(90, 2.0), None)
    )

    assert torch.allclose(weights(weighted), weights(plain), atol=1e-6)


def test_hooks_are_called_in_order_and_know_the_training(table, settings):
    calls = []

    class Watching(Method):
        def before_training(self, context):
            calls.append(("before training", self.epoch, context.n_classes, context.last_epoch))

        def before_epoch(self, context):
            calls.append(("before", self.epoch))

        def loss(self, criterion, batch):
            calls.append(("loss", self.epoch))
            return super().loss(criterion, batch)

        def after_epoch(self, context):
            calls.append(("after", self.epoch))
            context.record("seen", self.epoch)

    clf = LECClassifier(TinyNet, method=Watching, **settings | {"batch_size": -1, "max_epochs": 2}).fit(*table)

    epochs = [[("before", epoch), ("loss", epoch), ("after", epoch)] for epoch in (1, 2)]
    assert calls == [("before training", 0, 3, 2), *epochs[0], *epochs[1]]
    assert clf.history[:, "seen"] == [1, 2]


def test_a_method_may_select_over_the_whole_set_by_predictions(table, settings):
    class Agreeing(Method):
        """Learn from the samples whose label is predicted, from the second epoch on."""

        scope, needs_outputs = "epoch", True

        def select(self, batch):
            predicted = batch.probabilities[0].argmax(dim=-1)
            return Selection(None if self.epoch == 1 else predicted == batch.labels)

    clf = LECClassifier(TinyNet, method=Agreeing, **settings | {"lr": 0.0, "max_epochs": 2}).fit(*table)

    assert clf.history[:, "n_selected"][0] == 90
    assert np.array_equal(clf.clean_mask_, clf.predict(table[0]) == table[1])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_passes": 3}, "asks for 3 passes, but where scope is 'epoch' there is one"),
        ({"needs_outputs": False}, "unless the method sets needs_outputs = True"),
        ({"n_networks": 2}, "a mask for each network, but where scope is 'epoch'"),
        ({"scope": "epochs"}, "scope must be 'batch' or 'epoch', got 'epochs'"),
    ],
)
def test_what_a_selection_over_the_whole_set_cannot_do_is_named(table, settings, changes, message):
    class Whole(Method):
        scope, needs_outputs = "epoch", True

        def select(self, batch):
            predicted = batch.probabilities.argmax(dim=-1)
            return Selection(predicted[: self.n_networks] == batch.labels)

    with pytest.raises(ValueError, match=message):
        LECClassifier(TinyNet, method=type("Wrong", (Whole,), changes), **settings).fit(*table)


def test_the_context_knows_labels_and_training_samples(table, settings):
    seen = []

    class Looking(Method):
        def before_training(self, context):
            seen.append((context.labels, context.samples))

    X, y = table
    split = ValidSplit(3)
    clf = LECClassifier(TinyNet, method=Looking, train_split=split, **settings).fit(X, np.array(["a", "b", "c"])[y])

    labels, samples = seen[0]
    assert labels.tolist() == y.tolist()
    assert samples.tolist() == np.flatnonzero(~np.isnan(clf.clean_score_)).tolist()


def test_predictions_of_two_other_trainings_are_two_with_checkpoints_too(table, settings, tmp_path):
    class Twice(Method):
        def before_training(self, context):
            self.differ_ = float(abs(context.predictions_of("standard") - context.predictions_of("standard")).max())

    expected = LECClassifier(TinyNet, method=Twice, **settings).fit(*table)
    clf = LECClassifier(TinyNet, method=Twice, checkpoint_dir=tmp_path, **settings).fit(*table)

    assert clf.differ_ == expected.differ_ > 0


def test_memory_that_is_declared_as_a_plain_number_goes_on(table, settings):
    class Counting(Method):
        def sample_memory(self, n_classes):
            return {"n_seen": 0}

        def select(self, batch):
            return Selection(memory={"n_seen": self.record.memory["n_seen"][batch.samples] + 1})

    clf = LECClassifier(TinyNet, method=Counting, **settings).fit(*table).partial_fit(*table)

    assert clf.method_.record.memory["n_seen"].tolist() == [6] * 90


def test_memory_of_another_shape_cannot_go_on(table, settings):
    class Counting(Method):
        def __init__(self, length=2):
            self.length = length

        def sample_memory(self, n_classes):
            return {"counts": torch.zeros(self.length)}

    clf = LECClassifier(TinyNet, method=Counting(), **settings).fit(*table)

    with pytest.raises(ValueError, match="remembers more or less of each sample than before"):
        clf.set_params(method__length=3).partial_fit(*table)


def test_fitted_attributes_of_a_method_are_those_of_the_classifier(table, settings):
    class Fitted(Method):
        def after_epoch(self, context):
            self.threshold_ = 0.25 * self.epoch

    clf = LECClassifier(TinyNet, method=Fitted, **settings)
    assert not hasattr(clf, "threshold_")

    assert clf.fit(*table).threshold_ == 0.75
    assert not hasattr(clf, "another_")


@pytest.mark.parametrize("name", METHODS)
def test_methods_have_titles_and_parameters_that_scikit_learn_can_copy(name):
    method = METHODS[name]()

    assert vars(METHODS[name])["title"]
    assert clone(method).get_params() == method.get_params()
    assert method.record is None
