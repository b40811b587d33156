"""The page of `benchmarks.warmup_signals`: which epoch each rule ends the warm-up with, and what that costs."""

import numpy as np

from benchmarks.pages import by_problem, run_facts
from benchmarks.tables import markdown_table

__all__ = ["AGREEMENT", "CONSTANTS", "ELBOW", "LABEL_WAVE", "OURS", "page_of"]

OURS, LABEL_WAVE, ELBOW, AGREEMENT = "1 - eps/2", "LabelWave", "elbow", "1 - eps"
CONSTANTS = {f"T_w={T_w}": T_w for T_w in (2, 5, 10, 20)}
NAMES = [OURS, LABEL_WAVE, ELBOW, AGREEMENT, *CONSTANTS]
EARLIER = f"{OURS} or {LABEL_WAVE}"
"""Whichever of the two comes first: needs no training that they do not need."""

PAGE = """# When should the warm-up end?

`method="ltec"` with the true share of wrong labels and the `T_w` that a rule asks for: balanced accuracy on clean
labels that were held out, in %, and in brackets `T_w`. {n_runs} runs; the mean over the seeds {seeds}. Made by
`python -m benchmarks.warmup_signals`. The network is the default MLP, trained for 200 epochs. No rule may ask for more
than 20 of them, as `T_w="auto"` never does.

The rules look at one pass of 25 epochs of ordinary training, and cost nothing. "Agreement" is the share of samples that
the network predicts, in training, as they are labelled.

- **1 - eps/2**: the first epoch whose agreement passes this share. It is the rule of `T_w="auto"`.
- **LabelWave** (Yuan et al., 2024): the first local minimum of the number of samples whose predicted class is another
  than in the epoch before, as a moving average of three epochs. Epoch 4 is the first that it can choose. A minimum is
  seen one epoch later; it is taken for granted that a training can go back.
- **elbow**: the first epoch in which agreement grows by less than a tenth of what it grew by in the second epoch.
- **1 - eps**: the first epoch whose agreement reaches this share: what all right labels and no wrong one would give.

{problems}

## Loss against the best constant

The best constant is, for each problem, the one of the four whose mean over the seeds is highest, which takes clean
labels to know. Negative: better than that.

{losses}

The last line is whichever of the two comes first. It was put together after the other figures had been seen, on the
same runs, which therefore do not test it. Tried on these problems with the seeds 3 and 4, it lost 0.9 points in the
mean, and the rule of `T_w="auto"` 0.8.

## What it says

Among the rules above the last line, that of `T_w="auto"` loses least, in the mean and on its worst problem: no other
ends the warm-up within three or five epochs on text and lets it go on elsewhere. LabelWave is better on four of the six
other problems, by 0.4 to 1.9 points, and 0.3 behind on two. But on text the predictions just stop changing, without a
minimum, and it loses 10 points. Three seeds do not tell differences of a point: with the seeds 3 and 4, LabelWave was
better on one of these six, and at best equal on the others.
"""


def page_of(records: list[dict]) -> str:
    """Return the page of the records that `benchmarks.warmup_signals.measure` returns."""
    problems = by_problem(records)
    return PAGE.format(
        **run_facts(records),
        problems=markdown_table(
            ["data", "noise", *NAMES],
            ([*problem, *(_entry(of_problem, rule) for rule in NAMES)] for problem, of_problem in problems.items()),
            n_names=2,
        ),
        losses=markdown_table(
            ["rule", "mean", "largest", "where"], (_losses(problems, rule) for rule in [*NAMES, EARLIER])
        ),
    )


def _epochs(record: dict, rule: str) -> int:
    """Return the `T_w` that a rule asks for."""
    return min(record["T_w"][one] for one in ((OURS, LABEL_WAVE) if rule == EARLIER else (rule,)))


def _score(records: list[dict], rule: str) -> float:
    """Return the mean score with the epochs that a rule asks for, in %."""
    return 100 * float(np.mean([record["scores"][str(_epochs(record, rule))] for record in records]))


def _entry(records, rule):
    epochs = [_epochs(record, rule) for record in records]
    shown = f"{min(epochs)} to {max(epochs)}" if min(epochs) < max(epochs) else f"{epochs[0]}"
    return f"{_score(records, rule):.1f} ({shown})"


def _losses(problems, rule):
    """Return the line of a rule: its mean loss, the largest, and the problem that has it."""
    losses = {
        ", ".join(problem): max(_score(records, constant) for constant in CONSTANTS) - _score(records, rule)
        for problem, records in problems.items()
    }
    worst = max(losses, key=losses.get)
    return [rule, f"{np.mean(list(losses.values())):.2f}", f"{losses[worst]:.2f}", worst]
