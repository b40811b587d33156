"""How far a training has come: one bar for all of it on a terminal or in a notebook, elsewhere skorch's table."""

import math
import multiprocessing
from dataclasses import dataclass

from joblib.parallel import get_active_backend
from skorch.callbacks import Callback, PrintLog, ProgressBar
from skorch.dataset import get_len

from sklearn_lec._progress_bar import WholeBar, in_notebook, on_terminal
from sklearn_lec._validation import is_number

__all__ = ["EpochTable", "TrainingPhase", "TrainingProgress", "close_progress", "running_progress"]


class TrainingProgress(Callback):
    """Show one bar for a whole call of ``fit``: the epoch, the phase, the share of selected samples and the loss.

    `LECClassifier` uses it by default, under the name ``progress``; ``callbacks__progress=None`` takes it out. Networks
    that are trained first, as for ``eps="auto"``, are phases of the same bar. It goes to stderr, and is gone when the
    training ends, however it ends. A run that goes on from `checkpoint_dir` says from which epoch on.

    Parameters
    ----------
    show : "auto" or bool, default="auto"
        "auto" shows the bar with ``verbose=1`` on a terminal or in a notebook, but not in worker processes and threads
        of joblib, as in searches with `n_jobs`, and not if one of skorch's `ProgressBar` or `PrintLog` is among the
        callbacks. True shows it with ``verbose=1`` wherever stderr leads, for consoles that do not say what they are.

    See Also
    --------
    sklearn_lec.callbacks.EpochTable : The table that takes its place where no bar is shown, and with ``verbose=2``.

    Notes
    -----
    The samples that are held out in a phase count: an epoch of five folds is worth four epochs of the training, so
    that the time that remains can be estimated from the beginning.
    """

    def __init__(self, *, show="auto"):
        self.show = show

    place_: "_Place | None" = None

    def __getstate__(self):
        # A bar is a thing of this process: pickles and copies have none.
        return {name: value for name, value in vars(self).items() if name != "place_"}

    @property
    def is_shown(self) -> bool:
        """Whether there is a bar at the moment."""
        return self.place_ is not None and self.place_.bar is not None

    # --- phases that come before the training ---------------------------------------------------------------------

    def phase(self, name: str, *, n_epochs: int, weight: float = 1.0) -> "TrainingPhase":
        """Return a callback for a network that is trained first, which reports to this bar.

        Parameters
        ----------
        name : str
            What is shown.
        n_epochs : int
        weight : float, default=1.0
            What an epoch of it costs, in epochs of the training.
        """
        place = self.place_
        start, place.n_first = place.n_first, place.n_first + n_epochs * weight
        place.bar.extend(n_epochs * weight)
        return TrainingPhase(place.bar, name, start=start, weight=weight)

    # --- skorch's hooks -------------------------------------------------------------------------------------------

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        """Begin a bar, if one is to be shown."""
        if self.show != "auto" and not isinstance(self.show, bool):
            raise ValueError(f"TrainingProgress: show must be True, False or 'auto', got {self.show!r}.")
        self.close()
        self.place_ = _Place(n_before=len(net.history))
        if self._is_wanted(net):
            self.place_.bar = WholeBar(planned=net.max_epochs)
            self.place_.is_shared = any(getattr(one, "sink", None) is print for one in _others(net))

    def on_epoch_begin(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Show the number of the epoch and its phase."""
        if self.place_ is None:  # fit_loop was called directly
            return
        place, epoch = self.place_, len(net.history)
        if not place.has_begun and epoch - 1 > place.n_before:
            # There are epochs that were not there when fit was called.
            self._say(net, f"resumed after epoch {epoch - 1} of {net.max_epochs}, from {net.checkpoint_dir}")
        place.has_begun = True
        if self.is_shown:
            place.begin_epoch(epoch, n_samples=get_len(dataset_train))
            place.show(f"epoch {epoch}/{place.n_before + net.max_epochs}, {phase_of_epoch(net.method_, epoch=epoch)}")

    def on_batch_end(self, net, batch=None, training=False, **kwargs):
        """Move the bar on within the epoch."""
        if training and self.is_shown:
            self.place_.n_seen += len(batch.samples)
            self.place_.show()

    def on_epoch_end(self, net, dataset_train=None, dataset_valid=None, **kwargs):
        """Show the loss, and the share of the samples that was selected."""
        if self.is_shown:
            place = self.place_
            place.n_seen = place.n_samples
            n_samples = place.n_samples if net.method_.selects_samples else None
            place.show(figures=figures_of(net.history[-1], n_samples=n_samples))
            if place.is_shared:
                place.bar.put_aside()

    def on_train_end(self, net, X=None, y=None, **kwargs):
        """Take the bar away."""
        if self.place_ is not None and not self.place_.has_begun and len(net.history) > self.place_.n_before:
            self._say(net, f"the run in {net.checkpoint_dir} was finished: its result is taken, nothing is trained.")
        self.close()

    def close(self) -> None:
        """Take the bar away, if there is one."""
        if self.is_shown:
            self.place_.bar.close()
        self.place_ = None

    # --- parts ----------------------------------------------------------------------------------------------------

    def _is_wanted(self, net) -> bool:
        """Return whether a bar is to be shown."""
        if net.verbose != 1 or self.show is False or any(_shows_itself(one) for one in _others(net)):
            return False
        return self.show is True or ((on_terminal() or in_notebook()) and not in_worker())

    def _say(self, net, text: str) -> None:
        """Write a line that stays."""
        if self.is_shown:
            self.place_.bar.say(text)
        elif net.verbose > 1 or (net.verbose and not in_worker()):
            print(text)


@dataclass
class _Place:
    """Where a training is. Not a plain value, so that no checkpoint puts back the place of another process."""

    n_before: int
    """Epochs of earlier calls."""
    n_first: float = 0.0
    """Epochs that phases before the training are worth."""
    bar: WholeBar | None = None
    is_shared: bool = False
    """Whether callbacks print beside the bar, as EarlyStopping does when it stops the training."""
    has_begun: bool = False
    epoch: int = 0
    n_samples: int = 1
    n_seen: int = 0
    """How many of the samples have been seen in the epoch."""

    def begin_epoch(self, epoch: int, *, n_samples: int) -> None:
        """Begin with the samples of an epoch."""
        self.epoch, self.n_samples, self.n_seen = epoch, max(1, n_samples), 0

    def show(self, text: str | None = None, figures: str | None = None) -> None:
        """Move the bar to this place."""
        within = min(1, self.n_seen / self.n_samples)
        self.bar.show(self.n_first + self.epoch - 1 - self.n_before + within, text, figures)


class TrainingPhase(Callback):
    """Report on a network that is trained before the one that the user asked for, to the bar of that one.

    Parameters
    ----------
    bar : WholeBar
    name : str
    start : float
        The position of the bar at which it begins.
    weight : float
    """

    def __init__(self, bar: WholeBar, name: str, *, start: float, weight: float):
        self.bar = bar
        self.name = name
        self.start = start
        self.weight = weight

    def on_epoch_begin(self, net, dataset_train=None, **kwargs):
        """Show the phase."""
        self.n_seen_, self.n_samples_ = 0, max(1, get_len(dataset_train))
        self._show(net, self.name)

    def on_batch_end(self, net, batch=None, training=False, **kwargs):
        """Move the bar on within the epoch."""
        if training:
            self.n_seen_ += len(batch.samples)
            self._show(net)

    def _show(self, net, text: str | None = None) -> None:
        n_epochs = len(net.history) - 1 + min(1, self.n_seen_ / self.n_samples_)
        self.bar.show(self.start + self.weight * n_epochs, text)


class EpochTable(PrintLog):
    """skorch's table, with a row for each epoch; it gives way where `TrainingProgress` shows a bar.

    `LECClassifier` uses it in place of skorch's `PrintLog`, under the same name, ``print_log``. With ``verbose=1`` it
    is printed where there is no terminal and no notebook, as in the log file of a job, but not in worker processes and
    threads of joblib, as in searches with `n_jobs`. With ``verbose=2`` it is always printed, and with 0 never. A `sink`
    that is not ``print`` gets every row in any case, as skorch has it.

    Parameters
    ----------
    keys_ignored, sink, tablefmt, floatfmt, stralign : as for `skorch.callbacks.PrintLog`
    """

    def on_epoch_end(self, net, **kwargs):
        """Print the row of the epoch."""
        if self.sink is not print or self._is_wanted(net):
            super().on_epoch_end(net, **kwargs)

    @staticmethod
    def _is_wanted(net) -> bool:
        if not net.verbose or net.verbose > 1:
            return bool(net.verbose)
        callbacks = [callback for _, callback in net.callbacks_]
        if any(isinstance(callback, TrainingPhase) for callback in callbacks):
            return False
        progress = [callback for callback in callbacks if isinstance(callback, TrainingProgress)]
        return not progress or not (in_worker() or any(callback.is_shown for callback in progress))


def in_worker() -> bool:
    """Return whether this is a worker of joblib or of multiprocessing, of which several share a screen."""
    return get_active_backend()[0].nesting_level > 0 or multiprocessing.parent_process() is not None


def phase_of_epoch(method, *, epoch: int) -> str:
    """Return what a method does in an epoch, in a word.

    Examples
    --------
    >>> from sklearn_lec.methods import LTEC, Standard
    >>> phase_of_epoch(LTEC(T_w=10), epoch=10), phase_of_epoch(LTEC(T_w=10), epoch=11)
    ('warm-up', 'filtering')
    >>> phase_of_epoch(Standard(), epoch=11)
    'training'
    """
    warmup = getattr(method, "T_w", None)
    if is_number(warmup) and epoch <= warmup:
        return "warm-up"
    return "filtering" if method.selects_samples else "training"


def figures_of(epoch: dict, *, n_samples: int | None) -> str:
    """Return the share of selected samples and the loss of an epoch of the history, as text.

    Examples
    --------
    >>> figures_of({"train_loss": 0.41236, "n_selected": 81}, n_samples=100)
    '81% selected, loss 0.412'
    >>> figures_of({"train_loss": 0.41236, "n_selected": 100}, n_samples=None)
    'loss 0.412'
    """
    figures = []
    if n_samples is not None and is_number(n_selected := epoch.get("n_selected")):
        figures.append(f"{n_selected / n_samples:.0%} selected")
    if is_number(loss := epoch.get("train_loss")) and math.isfinite(loss):
        figures.append(f"loss {loss:.3g}")
    return ", ".join(figures)


def running_progress(net) -> TrainingProgress | None:
    """Return the callback of a net that shows a bar at the moment; None if there is none."""
    callbacks = vars(net).get("callbacks_", ())
    return next((one for _, one in callbacks if isinstance(one, TrainingProgress) and one.is_shown), None)


def close_progress(net) -> None:
    """Take away the bar of a net whose training has ended in whatever way."""
    if (progress := running_progress(net)) is not None:
        progress.close()


def _others(net) -> list[Callback]:
    """Return the callbacks of a net that may write on the screen beside the bar and the table of this module."""
    return [callback for _, callback in net.callbacks_ if not isinstance(callback, TrainingProgress | EpochTable)]


def _shows_itself(callback: Callback) -> bool:
    """Return whether a callback shows how far a training has come, or reports to another bar."""
    is_table = isinstance(callback, PrintLog) and callback.sink is print
    return is_table or isinstance(callback, ProgressBar | TrainingPhase)
