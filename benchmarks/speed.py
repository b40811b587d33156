"""What robust training costs beside ordinary training, and beside cleanlab: ratios taken side by side.

Run ``python -m benchmarks.speed --data-home DIR`` from the root of the project; ``--only mlp growth`` does a part of it
again. Times are taken with one thread, in rounds in which all contenders take turns. The page and the numbers behind it
are written to ``benchmarks/speed.md`` and ``benchmarks/speed.json``.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import skorch
import torch

from benchmarks.alternatives import against_cleanlab
from benchmarks.complexity import SmallConvolution, count_all, count_passes
from benchmarks.contenders import Work, hand_written, lec, plain_skorch
from benchmarks.files import write_whole
from benchmarks.growth import memory_by_agreement, seconds_by_rows
from benchmarks.speed_page import page_of
from benchmarks.timing import alternate, ratio
from benchmarks.variants import compiled, ensemble_by_vmap, memory_formats, separate_vote
from sklearn_lec.datasets import fetch_cifar10, fetch_mnist
from sklearn_lec.modules import MLP, Conv9
from sklearn_lec.noise import SymmetricNoise

SKORCH, FUSED, HAND = "skorch", "skorch, fused Adam", "written by hand"
N_IMAGES = 2_560
KEEPS_MEMORY = "MALLOC_TRIM_THRESHOLD_"
"""With it and MALLOC_MMAP_THRESHOLD_ glibc keeps what is freed, and large tensors are not paged in again each step."""
SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000]


def mlp_work(data_home, *, eps: float) -> Work:
    """Return all of MNIST with wrong labels, and an MLP 784-256-256-10 with batch norm and dropout."""
    train = fetch_mnist(data_home=data_home, subset="train")
    _, y = SymmetricNoise(eps=eps, random_state=0).corrupt(train.data, train.target)
    X = train.data.reshape(len(y), -1).astype(np.float32)
    return Work(partial(MLP, in_features=784, num_classes=10), X, y.astype(np.int64))


def conv_work(data_home, *, eps: float) -> Work:
    """Return twenty batches of CIFAR-10 with wrong labels, and Conv9 with an eighth of its channels."""
    train = fetch_cifar10(data_home=data_home, subset="train")
    X, y = train.data[:N_IMAGES].astype(np.float32), train.target[:N_IMAGES]
    _, y = SymmetricNoise(eps=eps, random_state=0).corrupt(X, y)
    return Work(partial(Conv9, in_channels=3, num_classes=10, width=1 / 8), X, y.astype(np.int64))


TIMED = [
    ("standard", 0.2),
    ("self-training", 0.2),
    ("ltec", 0.2),
    ("ltec", 0.6),
    ("ltec-full", 0.2),
    ("co-teaching", 0.2),
    ("lsec", 0.2),
    ("lsec", 0.6),
    ("lnec", 0.2),
]
"""Methods that are timed, and the share of wrong labels; M is 5."""


def time_mlp(options):
    return _ratios(partial(mlp_work, options.data_home), options.rounds)


def time_conv9(options):
    return _ratios(partial(conv_work, options.data_home), options.rounds)


def _ratios(work_with, rounds):
    works = {eps: work_with(eps=eps) for eps in {eps for _, eps in TIMED}}
    contenders = {
        SKORCH: plain_skorch(works[0.2]),
        FUSED: plain_skorch(works[0.2], optimizer__fused=True),
        HAND: hand_written(works[0.2]),
        **{f"{method}, eps {eps}": lec(works[eps], method, eps=eps) for method, eps in TIMED},
    }
    seconds = alternate(contenders, rounds=rounds)
    bases = [SKORCH, FUSED, HAND]
    return {
        "rounds": rounds,
        "skorch_seconds": float(np.median(seconds[SKORCH])),
        "ratios": {name: {base: ratio(seconds, name, base) for base in bases} for name in contenders},
        "memory_is_kept": KEEPS_MEMORY in os.environ,
    }


def count(options):
    apart = {}
    for method in ("self-training", "ltec", "lsec", "lnec"):
        counted = count_passes(method, module=SmallConvolution, eps=0.6)
        apart[method] = [counted.parameters, counted.forward, counted.backward]
    return {"eps 0.2": count_all(), "convolutions, eps 0.6": apart}


def measure_memory(options):
    return memory_by_agreement([5, 50, float("inf")], n_rows=1_000_000)


def measure_growth(options):
    return [
        line
        for batch_size in (128, 1024)
        for line in seconds_by_rows(SIZES, batch_size=batch_size, rounds=max(3, options.rounds // 2))
    ]


def compare_with_cleanlab(options):
    return [against_cleanlab(noise, epochs=100, seeds=3) for noise in ("sym-60", "asym-40")]


def try_variants(options):
    mlp, conv = mlp_work(options.data_home, eps=0.2), conv_work(options.data_home, eps=0.2)
    part = Work(conv.module, conv.X[:1280], conv.y[:1280])
    rounds = options.rounds
    return {
        "5 MLPs, vmap to loop": ensemble_by_vmap(mlp, 5, rounds=20 * rounds),
        "2 MLPs, vmap to loop": ensemble_by_vmap(mlp, 2, rounds=20 * rounds),
        "5 Conv9 (1/8), vmap to loop": ensemble_by_vmap(conv, 5, rounds=rounds),
        "2 Conv9 (1/8), vmap to loop": ensemble_by_vmap(conv, 2, rounds=rounds),
        "layers of Conv9 (1/8), channels last to first": memory_formats(conv, rounds=2 * rounds),
        "MLP with ltec, compile=True to without": compiled(mlp, "ltec", eps=0.2, rounds=rounds),
        "Conv9 (1/8) with ltec, compile=True to without": compiled(part, "ltec", eps=0.2, rounds=rounds),
    }


def try_separate_vote(options):
    return separate_vote(seeds=5)


SECTIONS: dict[str, Callable] = {
    "mlp": time_mlp,
    "conv9": time_conv9,
    "passes": count,
    "memory": measure_memory,
    "growth": measure_growth,
    "cleanlab": compare_with_cleanlab,
    "variants": try_variants,
    "apart": try_separate_vote,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--data-home", help="where MNIST and CIFAR-10 are; default: scikit-learn's folder")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/speed.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    results = json.loads(options.out.read_text()) if options.out.exists() else {}
    for section in options.only:
        results[section] = SECTIONS[section](options)
        results["versions"] = {
            "torch": torch.__version__,
            "skorch": skorch.__version__,
            "python": platform.python_version(),
        }
        write_whole(options.out, (json.dumps(results, indent=1) + "\n").encode())
        print(f"{section} done", flush=True)
    page = page_of(results)
    write_whole(options.out.with_suffix(".md"), page.encode())
    print(page)


if __name__ == "__main__":
    main()
