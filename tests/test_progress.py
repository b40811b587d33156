"""Progress on the screen: who sees a bar, who a table, what they say, and that training does not know of them."""

import copy
import io
import pickle
import re
import sys
import warnings
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from skorch.callbacks import Callback, EarlyStopping, PrintLog, ProgressBar

import sklearn_lec._progress_bar
from sklearn_lec import LECClassifier
from sklearn_lec._progress_bar import WholeBar
from sklearn_lec._training.warn import warn_caller
from sklearn_lec.callbacks import TrainingProgress
from sklearn_lec.methods import LTEC, Standard
from sklearn_lec.progress import figures_of, phase_of_epoch, running_progress
from tests.helpers import TinyNet, weights


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True

    def wipe(self):
        """Begin with an empty screen."""
        self.seek(0)
        self.truncate()

    @property
    def lines(self):
        """All that was ever on a line of it."""
        return [line.strip() for line in self.getvalue().replace("\r", "\n").split("\n") if line.strip()]

    @property
    def ends_clean(self):
        """Whether nothing is left on the line on which the cursor stands at the first column."""
        left = self.getvalue().rpartition("\n")[2]
        return left == "" or (left.endswith("\r") and not left.rstrip("\r").rpartition("\r")[2].strip())


@pytest.fixture
def terminal(monkeypatch):
    """Stderr is a terminal, on which a bar appears at once and moves with every batch."""
    screen = Terminal()
    # Not sys.stderr itself, which pytest sets anew between fixtures and tests.
    of_module = SimpleNamespace(stderr=screen, modules=sys.modules)
    monkeypatch.setattr(sklearn_lec._progress_bar, "sys", of_module)
    monkeypatch.setattr(sklearn_lec._progress_bar, "DELAY", 0)
    monkeypatch.setattr(sklearn_lec._progress_bar, "INTERVAL", 0)
    return screen


@pytest.fixture
def spoken(quick):
    """The parameters of a short training that is not silent."""
    return quick | {"verbose": 1}


class StopAt(Callback):
    """Raise an error at the end of an epoch."""

    def __init__(self, epoch, error):
        self.epoch = epoch
        self.error = error

    def on_epoch_end(self, net, **kwargs):
        if len(net.history) == self.epoch:
            raise self.error


# --- the bar ------------------------------------------------------------------------------------------------------


def test_the_bar_says_epoch_phase_selected_share_and_loss(table, spoken, terminal, capsys):
    clf = LECClassifier(TinyNet, **spoken).fit(*table)

    share = f"{clf.history[1, 'n_selected'] / 90:.0%} selected, loss {clf.history[1, 'train_loss']:.3g}"
    assert any(line.startswith("epoch 1/3, warm-up |") for line in terminal.lines)
    assert any(line.startswith("epoch 3/3, filtering |") and line.endswith(share) for line in terminal.lines)
    assert capsys.readouterr().out == ""


def test_the_bar_is_gone_after_the_training(table, spoken, terminal):
    clf = LECClassifier(TinyNet, **spoken).fit(*table)

    assert terminal.lines
    assert terminal.ends_clean
    assert running_progress(clf) is None


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError("broken")])
def test_the_bar_is_gone_after_an_error_and_after_ctrl_c(table, spoken, terminal, error):
    clf = LECClassifier(TinyNet, callbacks=[StopAt(2, error)], **spoken)

    if error is KeyboardInterrupt:
        clf.fit(*table)
    else:
        with pytest.raises(RuntimeError, match="broken"):
            clf.fit(*table)

    assert terminal.lines
    assert terminal.ends_clean
    assert running_progress(clf) is None


def test_folds_for_the_noise_are_phases_of_the_one_bar_which_never_goes_back(table, spoken, terminal):
    settings = spoken | {"eps": "auto", "max_epochs": 16}
    LECClassifier(TinyNet, **settings).fit(*table)

    texts = [line.partition(" |")[0] for line in terminal.lines]
    folds = [text for text in texts if text.startswith("estimating noise, fold ")]
    assert folds
    assert texts.index("epoch 1/16, warm-up") > texts.index(folds[-1])
    shares = [int(share) for share in re.findall(r"(\d+)% \d\d:", terminal.getvalue())]
    assert shares == sorted(shares)
    assert shares[-1] == 100


def test_the_first_training_of_forward_is_a_phase_of_the_one_bar(table, spoken, terminal, capsys):
    settings = {name: value for name, value in spoken.items() if name not in ("eps", "M", "T_w")}
    LECClassifier(TinyNet, method="forward", **settings).fit(*table)

    texts = [line.partition(" |")[0] for line in terminal.lines]
    assert texts.index("first training") < texts.index("epoch 1/3, training")
    assert capsys.readouterr().out == ""


def test_several_networks_have_one_bar(table, spoken, terminal):
    LECClassifier(TinyNet, method="lnec", **spoken).fit(*table)

    assert {line.partition(",")[0] for line in terminal.lines} == {"epoch 1/3", "epoch 2/3", "epoch 3/3"}


def test_warnings_have_lines_of_their_own(terminal):
    bar = WholeBar(planned=10)
    bar.show(3, "epoch 4/10, warm-up")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *where: print(message, file=terminal)
        warn_caller("look at sample 7")
    bar.close()

    assert "look at sample 7" in terminal.lines
    assert terminal.getvalue().partition("look at")[0].endswith("\r")
    assert terminal.getvalue().partition("sample 7\n")[2].strip().startswith("epoch 4/10, warm-up")


def test_what_callbacks_print_has_a_line_of_its_own(table, spoken, terminal, monkeypatch):
    monkeypatch.setattr(sys, "stdout", terminal)
    stopping = EarlyStopping(monitor="train_loss", patience=1, threshold=0.999)
    with pytest.warns(UserWarning, match="stopped after epoch"):
        LECClassifier(TinyNet, callbacks=[stopping], **spoken | {"T_w": 2, "eps": 0.1}).fit(*table)

    assert "Stopping since train_loss has not improved in the last 1 epochs." in terminal.lines


def test_partial_fit_counts_on(table, spoken, terminal):
    clf = LECClassifier(TinyNet, **spoken).fit(*table)
    clf.partial_fit(*table)

    assert any(line.startswith("epoch 4/6, filtering") for line in terminal.lines)
    assert not any("resumed" in line for line in terminal.lines)


def test_a_short_training_shows_no_bar(table, spoken, terminal, monkeypatch):
    monkeypatch.setattr(sklearn_lec._progress_bar, "DELAY", 60)

    LECClassifier(TinyNet, **spoken).fit(*table)

    assert terminal.getvalue() == ""


# --- who sees what ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verbose, has_bar, has_table", [(0, False, False), (1, True, False), (2, False, True)])
def test_verbose_chooses_on_a_terminal(table, quick, terminal, capsys, verbose, has_bar, has_table):
    LECClassifier(TinyNet, **quick | {"verbose": verbose}).fit(*table)

    assert bool(terminal.lines) is has_bar
    assert ("train_loss" in capsys.readouterr().out) is has_table


@pytest.mark.parametrize("verbose, has_table", [(0, False), (1, True), (2, True)])
def test_without_a_terminal_there_is_the_table_of_skorch(table, quick, capsys, verbose, has_table):
    LECClassifier(TinyNet, **quick | {"verbose": verbose}).fit(*table)

    captured = capsys.readouterr()
    assert ("train_loss" in captured.out) is has_table
    assert captured.err == ""


def test_without_the_callback_there_is_the_table_and_without_both_nothing(table, spoken, terminal, capsys):
    LECClassifier(TinyNet, callbacks__progress=None, **spoken).fit(*table)
    assert "train_loss" in capsys.readouterr().out
    LECClassifier(TinyNet, callbacks__progress=None, callbacks__print_log=None, **spoken).fit(*table)

    assert capsys.readouterr().out == ""
    assert terminal.getvalue() == ""


def test_disabled_callbacks_leave_nothing(table, spoken, terminal, capsys):
    LECClassifier(TinyNet, callbacks="disable", **spoken).fit(*table)

    assert capsys.readouterr().out == terminal.getvalue() == ""


@pytest.mark.parametrize("own", [PrintLog(), ProgressBar()])
def test_the_bar_gives_way_to_one_of_skorch_that_the_user_has_chosen(table, spoken, terminal, own):
    LECClassifier(TinyNet, callbacks=[("own", own)], **spoken).fit(*table)

    assert not any(line.startswith("epoch ") and "|" in line for line in terminal.lines)


def test_a_sink_of_the_users_own_gets_every_row_beside_the_bar(table, spoken, terminal):
    rows = []

    LECClassifier(TinyNet, callbacks__print_log__sink=rows.append, **spoken).fit(*table)

    assert len(rows) == 2 + 3
    assert terminal.lines


def test_show_brings_the_bar_to_consoles_that_are_no_terminals(table, spoken, terminal, monkeypatch, capsys):
    monkeypatch.setattr(terminal, "isatty", lambda: False)

    LECClassifier(TinyNet, callbacks__progress__show=True, **spoken).fit(*table)

    assert any(line.startswith("epoch 3/3, filtering") for line in terminal.lines)
    assert capsys.readouterr().out == ""


def test_a_value_of_show_that_is_unknown_is_refused(table, spoken):
    with pytest.raises(ValueError, match=r"show must be True, False or 'auto', got 'yes'"):
        LECClassifier(TinyNet, callbacks__progress__show="yes", **spoken).fit(*table)


def test_searches_in_workers_are_silent_and_those_in_process_leave_nothing(table, spoken, terminal, capsys):
    clf = LECClassifier(TinyNet, **spoken)
    with joblib.parallel_backend("threading"):
        GridSearchCV(clf, {"M": [2, 3]}, cv=2, n_jobs=2, refit=False).fit(*table)
    assert terminal.getvalue() == capsys.readouterr().out == ""

    GridSearchCV(clf, {"M": [2, 3]}, cv=2, refit=False).fit(*table)

    assert terminal.lines
    assert terminal.ends_clean
    assert "\n" not in terminal.getvalue()


# --- runs that go on ----------------------------------------------------------------------------------------------


def test_a_run_that_is_resumed_says_where_it_goes_on(table, spoken, terminal, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(RuntimeError, match="killed"):
        LECClassifier(
            TinyNet, checkpoint_dir=folder, callbacks=[StopAt(3, RuntimeError("killed"))], **spoken | {"max_epochs": 5}
        ).fit(*table)
    terminal.wipe()

    with pytest.warns(UserWarning, match="resumed with callbacks added or left out"):
        LECClassifier(TinyNet, checkpoint_dir=folder, **spoken | {"max_epochs": 5}).fit(*table)

    assert f"resumed after epoch 2 of 5, from {folder}" in terminal.lines
    assert not any(line.startswith("epoch 2/5") for line in terminal.lines)
    assert any(line.startswith("epoch 3/5") for line in terminal.lines)


def test_a_run_that_was_finished_says_that_nothing_is_trained(table, spoken, terminal, tmp_path):
    LECClassifier(TinyNet, checkpoint_dir=tmp_path, **spoken).fit(*table)
    terminal.wipe()

    LECClassifier(TinyNet, checkpoint_dir=tmp_path, **spoken).fit(*table)

    assert terminal.lines == [f"the run in {tmp_path} was finished: its result is taken, nothing is trained."]


def test_a_resumed_run_says_so_in_a_log_file_too(table, spoken, tmp_path, capsys):
    LECClassifier(TinyNet, checkpoint_dir=tmp_path, **spoken).fit(*table)
    capsys.readouterr()

    LECClassifier(TinyNet, checkpoint_dir=tmp_path, **spoken).fit(*table)

    assert "was finished: its result is taken" in capsys.readouterr().out


def test_a_run_is_resumed_whatever_was_on_the_screen(table, quick, terminal, tmp_path):
    whole = LECClassifier(TinyNet, **quick).fit(*table)
    LECClassifier(TinyNet, checkpoint_dir=tmp_path, **quick | {"verbose": 1}).fit(*table)

    again = LECClassifier(TinyNet, checkpoint_dir=tmp_path, callbacks__progress=None, **quick).fit(*table)

    assert torch.equal(weights(again), weights(whole))


# --- it only looks on ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.2, "auto"])
def test_the_training_is_the_same_bit_for_bit(table, quick, terminal, eps):
    settings = quick | {"eps": eps, "max_epochs": 8}
    silent = LECClassifier(TinyNet, callbacks__progress=None, **settings).fit(*table)
    shown = LECClassifier(TinyNet, **settings | {"verbose": 1}).fit(*table)

    assert terminal.lines
    assert torch.equal(weights(shown), weights(silent))
    assert np.array_equal(shown.clean_score_, silent.clean_score_)


def test_a_net_is_pickled_and_copied_in_the_middle_of_a_training(table, spoken, terminal):
    copies = []

    class Copying(Callback):
        def on_epoch_end(self, net, **kwargs):
            progress = dict(net.callbacks_)["progress"]
            copies.extend([pickle.loads(pickle.dumps(progress)), copy.deepcopy(progress), clone(progress)])
            assert progress.is_shown

    LECClassifier(TinyNet, callbacks=[Copying()], **spoken).fit(*table)

    assert len(copies) == 9
    assert not any(one.is_shown for one in copies)


def test_a_net_that_was_pickled_goes_on_with_a_bar(table, spoken, terminal):
    clf = pickle.loads(pickle.dumps(LECClassifier(TinyNet, **spoken).fit(*table)))
    terminal.wipe()

    clf.partial_fit(*table)

    assert any(line.startswith("epoch 6/6") for line in terminal.lines)


def test_fit_loop_called_directly_needs_no_bar(table, spoken, terminal):
    clf = LECClassifier(TinyNet, **spoken).fit(*table)

    clf.fit_loop(*table, epochs=2)

    assert len(clf.history) == 5


def test_the_callback_has_parameters_as_skorch_has_it():
    assert clone(TrainingProgress(show=False)).show is False
    assert LECClassifier().get_params()["callbacks__progress__show"] == "auto"


# --- the texts ----------------------------------------------------------------------------------------------------


def test_the_phase_is_filtering_only_where_samples_are_left_out():
    assert phase_of_epoch(LTEC(T_w=0), epoch=1) == "filtering"
    assert phase_of_epoch(Standard(), epoch=1) == "training"


def test_a_loss_that_is_not_there_is_not_shown():
    assert figures_of({"train_loss": float("nan"), "n_selected": 3}, n_samples=4) == "75% selected"
    assert figures_of({}, n_samples=4) == ""
