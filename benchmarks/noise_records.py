"""What a line of `benchmarks.noise_ratio` holds: one problem, one seed, and what each estimator says about it."""

import reprlib

from benchmarks.noise_candidates import OTHERS
from benchmarks.noise_problems import Problem

__all__ = ["BEGINNING", "ESTIMATORS", "OURS", "check_record", "key_of"]

OURS = "plateau (ours)"
ESTIMATORS = [OURS, *OTHERS]
BEGINNING = b'{"data": "'


def _is_share(value):
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1  # false for NaN


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value):
    return isinstance(value, str)


PARTS = {
    "data": (_is_text, "the name of a data set"),
    "noise": (_is_text, "the name of a noise"),
    "model": (_is_text, "the name of a model"),
    "seed": (_is_count, "a whole number of at least 0"),
    "n_samples": (_is_count, "a whole number of at least 0"),
    "truth": (_is_share, "a number between 0 and 1"),
    "model_error": (_is_share, "a number between 0 and 1"),
    "cost": (lambda v: v is None or _is_share(v), "a number between 0 and 1 or null"),
    "interval": (
        lambda v: isinstance(v, list) and len(v) == 2 and all(map(_is_share, v)),
        "two numbers between 0 and 1",
    ),
    "is_trustworthy": (lambda v: isinstance(v, bool), "true or false"),
    "estimates": (
        lambda v: isinstance(v, dict) and v.keys() == set(ESTIMATORS) and all(map(_is_share, v.values())),
        f"an object with a number between 0 and 1 for each of {', '.join(ESTIMATORS)}",
    ),
}
"""What a part of a record must be: a function that tells whether a value is, and the rule in words."""


def check_record(record) -> None:
    """Raise a ValueError unless a record has all that `benchmarks.noise_ratio.measure` returns, and nothing else."""
    if not isinstance(record, dict):
        raise ValueError(f"it must be an object with the parts of a record, got {reprlib.repr(record)}")
    if differing := record.keys() ^ PARTS.keys():
        raise ValueError(f"it must have the parts of a record; missing or unknown: {reprlib.repr(sorted(differing))}")
    for name, (is_valid, rule) in PARTS.items():
        if not is_valid(record[name]):
            raise ValueError(f"{name} must be {rule}, got {reprlib.repr(record[name])}")


def key_of(record: dict) -> tuple[Problem, int]:
    """Return the problem and the seed that a record is about."""
    return Problem(record["data"], record["noise"], record["model"]), record["seed"]
