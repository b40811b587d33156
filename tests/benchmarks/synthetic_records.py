"""Records of trainings that never were, for tests of what is made of records."""

import json
import zlib

import numpy as np

from benchmarks.experiments import EXPERIMENTS
from benchmarks.files import digest
from benchmarks.results import Results
from benchmarks.scales import load_scale

ENDS = {"standard": 0.6, "d2l": 0.65, "forward": 0.7, "self-training": 0.8, "co-teaching": 0.82, "lsec": 0.84}


def synthetic_record(cell, scale):
    """Return a record of a training that never was, always the same for a cell, with curves of a plausible shape."""
    rng = np.random.default_rng(zlib.crc32(cell.name.encode()))
    settings = json.loads(json.dumps(scale.settings(cell)))
    progress = np.linspace(0, 1, settings["epochs"])
    end = ENDS.get(cell.method, 0.9) - 0.001 * (cell.M if isinstance(cell.M, int) else 0)

    def curve(begin, end):
        return np.clip(end + (begin - end) * np.exp(-6 * progress) + rng.normal(0, 0.01, progress.shape), 0, 1)

    temporal = cell.method.startswith("ltec")
    return {
        **cell.as_dict(),
        "settings": settings,
        "noise_fingerprint": digest(cell.noise_seed),
        "accuracy": curve(0.1, end).round(5).tolist(),
        "precision": [None, *curve(0.5, end).round(5).tolist()[1:]],
        "recall": curve(0.2, end).round(5).tolist(),
        "small_loss_precision": curve(0.4, end - 0.05).round(5).tolist() if temporal else None,
        "kept": [100] * len(progress),
        "seconds": float(rng.uniform(1, 9)),
        "device": "cpu",
        "versions": {"sklearn-lec": "0.1", "torch": "2.4", "python": "3.11"},
    }


def synthetic_records(scale_name, *names, seeds=2):
    scale = load_scale(scale_name)
    cells = dict.fromkeys(cell for name in names for cell in EXPERIMENTS[name].cells(scale, seeds))
    return [synthetic_record(cell, scale) for cell in cells]


def results_of(records, scale="smoke", **options):
    return Results(load_scale(scale), records, **options)
