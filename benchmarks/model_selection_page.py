"""The page of `benchmarks.model_selection`: what a choice by noisy labels is worth on clean ones."""

from collections.abc import Mapping, Sequence
from operator import itemgetter

import numpy as np
from scipy.stats import spearmanr

from benchmarks.tables import markdown_table

__all__ = ["SCORES", "SEARCH", "STOPPING", "page_of", "verdict"]

SEARCH, STOPPING = "search", "stopping"
"""The parts of the page that a record may belong to."""
SCORES = {"noisy_accuracy": "accuracy", "noisy_neg_log_loss": "log loss"}
"""What a search may go by, in records and on the page; the larger, the better."""

PAGE = """# Choosing parameters and stopping early on noisy labels

MLP with two hidden layers of 256. Made by `python -m benchmarks.model_selection`.

## Searches

Each candidate is trained on two thirds of the samples, three times, with noisy labels. A search sees its score on the
noisy labels of the third that is left. The regret is what the choice loses against the best candidate: accuracy on the
clean labels of the same third, in percentage points. "Average" is the regret of a candidate drawn at random, "worst"
that of the worst one. Spearman is the rank correlation of the score with the clean accuracy, over the candidates; that
both are taken on the same samples makes it a little larger. Means over the seeds. Epochs and T_w: {lengths}.

{regrets}

What is best, and what is chosen; one entry per seed:

{choices}

Accuracy of the candidates on clean labels / on noisy labels, in %. `eps` is the true share of wrong labels and M = 5,
unless the name says otherwise.

{candidates}

## Early stopping

LTEC on three quarters of the digits, of which a fifth with noisy labels is the validation set; M = 5, the true `eps`,
T_w = {T_w}, {max_epochs} epochs. Accuracy on clean test labels in %, mean ± standard deviation over the seeds; the
earliest and the latest epoch whose weights are in use; how many of these epochs lie in the warm-up; and how many epochs
were trained on average.

{stopping}
"""


def page_of(records: Sequence[dict], *, lengths: Mapping[str, dict], stopping_length: dict) -> str:
    """Return the page in Markdown.

    Parameters
    ----------
    records : sequence of dict
        All records, in the order that the tables are to have.
    lengths : mapping of data to dict
        ``max_epochs`` and ``T_w`` of the candidates.
    stopping_length : dict
        The same of the trainings that are stopped early.

    Returns
    -------
    page : str
    """
    searches = _grouped([record for record in records if record["part"] == SEARCH], "data", "noise")
    stopping = _grouped([record for record in records if record["part"] == STOPPING], "noise", "choice")
    return PAGE.format(
        **stopping_length,
        lengths="; ".join(f"{data} {length['max_epochs']} and {length['T_w']}" for data, length in lengths.items()),
        regrets=_regret_table(searches),
        choices=_choice_table(searches),
        candidates=_candidate_table(searches),
        stopping=_stopping_table(stopping, stopping_length["T_w"]),
    )


def verdict(records: Sequence[dict], score: str) -> dict:
    """Return what a search by a score is worth.

    Parameters
    ----------
    records : sequence of dict
        The candidates of one problem and seed.
    score : str
        One of `SCORES`.

    Returns
    -------
    verdict : dict
        ``choice``, the name of the candidate that is chosen; its ``regret`` in percentage points; and ``spearman``.

    Examples
    --------
    >>> small = {"choice": "small", "noisy_accuracy": 0.5, "clean_accuracy": 0.75}
    >>> large = {"choice": "large", "noisy_accuracy": 0.6, "clean_accuracy": 0.5}
    >>> found = verdict([small, large], "noisy_accuracy")
    >>> found["choice"], float(found["regret"])
    ('large', 25.0)
    """
    clean = np.array([record["clean_accuracy"] for record in records])
    seen = np.array([record[score] for record in records])
    chosen = int(seen.argmax())
    return {
        "choice": records[chosen]["choice"],
        "regret": 100 * (clean.max() - clean[chosen]),
        "spearman": spearmanr(seen, clean).statistic,
    }


def _grouped(records, *fields):
    """Return lists of records by the values of some fields, in the order in which these first occur."""
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[field] for field in fields), []).append(record)
    return groups


def _seeds(records):
    """Return the candidates of each seed."""
    return list(_grouped(records, "seed").values())


def _regret_table(searches):
    lines = []
    for problem, records in searches.items():
        seeds = _seeds(records)
        clean = 100 * np.array([[record["clean_accuracy"] for record in of_seed] for of_seed in seeds])
        best = clean.max(axis=1)
        verdicts = [[verdict(of_seed, score) for of_seed in seeds] for score in SCORES]
        regrets = [np.mean([one["regret"] for one in of_score]) for of_score in verdicts]
        regrets += [(best - clean.mean(axis=1)).mean(), (best - clean.min(axis=1)).mean()]
        correlations = [np.mean([one["spearman"] for one in of_score]) for of_score in verdicts]
        shown = [*(f"{value:.1f}" for value in regrets), *(f"{value:.2f}" for value in correlations)]
        lines.append([*problem, f"{best.mean():.1f}", *shown])
    head = ["data", "noise", "best candidate", "regret by accuracy", "by log loss", "average", "worst"]
    return markdown_table([*head, "Spearman, accuracy", "log loss"], lines, n_names=2)


def _choice_table(searches):
    lines = []
    for problem, records in searches.items():
        seeds = _seeds(records)
        best = [max(of_seed, key=itemgetter("clean_accuracy"))["choice"] for of_seed in seeds]
        chosen = [[verdict(of_seed, score)["choice"] for of_seed in seeds] for score in SCORES]
        lines.append([*problem, *("; ".join(names) for names in (best, *chosen))])
    return markdown_table(["data", "noise", "best", *(f"by {name}" for name in SCORES.values())], lines, n_names=2)


def _candidate_table(searches):
    columns = {problem: _grouped(records, "choice") for problem, records in searches.items()}
    names = dict.fromkeys(name for column in columns.values() for name in column)
    lines = [[*name, *(_accuracies(column.get(name, [])) for column in columns.values())] for name in names]
    return markdown_table(["candidate", *(", ".join(problem) for problem in columns)], lines)


def _accuracies(records):
    """Return the clean and the noisy accuracy; nothing for a candidate that a problem does not have."""
    scores = ("clean_accuracy", "noisy_accuracy")
    return " / ".join(f"{100 * np.mean([r[score] for r in records]):.1f}" for score in scores) if records else ""


def _stopping_table(stopping, T_w):
    lines = []
    for names, records in stopping.items():
        accuracy = 100 * np.array([record["accuracy"] for record in records])
        restored = np.array([record["restored"] for record in records])
        trained = np.mean([record["trained"] for record in records])
        lines.append(
            [
                *names,
                f"{accuracy.mean():.1f} ± {accuracy.std():.1f}",
                f"{restored.min()} to {restored.max()}",
                f"{(restored <= T_w).sum()} of {len(records)}",
                f"{trained:.0f}",
            ]
        )
    head = ["noise", "rule", "accuracy", "epochs used", "in the warm-up", "trained"]
    return markdown_table(head, lines, n_names=2)
