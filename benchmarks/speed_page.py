"""The page on speed: tables made of the numbers that `benchmarks.speed` took."""

import numpy as np

from benchmarks.methods import method_title
from benchmarks.tables import PAPER, markdown_table
from benchmarks.timing import shown

__all__ = ["page_of"]

INTRODUCTION = """# Speed

What robust training costs beside ordinary training. Made by `python -m benchmarks.speed --data-home DIR`: one thread,
all contenders taking turns in one process, ratios of times of the same round; the median over rounds, and the quartiles
in brackets. Absolute times depend on the machine and are left out where a ratio says it.
"""
WORKS = {
    "mlp": "MLP 784-256-256-10 with batch norm and dropout, MNIST (60,000 x 784), batches of 128",
    "conv9": "Conv9 with an eighth of its channels, CIFAR-10 in batches of 128 (20 of them to an epoch)",
}
KEPT_MEMORY = """Run, all contenders alike, with `MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=17179869184`
in the environment: glibc then keeps the memory of large tensors, instead of giving it back and taking it again in every
step. Without it the methods that hold the activations of several networks at once are more expensive."""


def page_of(results: dict) -> str:
    """Return the page, with a section for each part of `results` that is there."""
    sections = [INTRODUCTION]
    for name, work in WORKS.items():
        if name in results:
            sections.append(_ratios(work, results[name]))
    writers = {
        "passes": _passes,
        "memory": _memory,
        "growth": _growth,
        "cleanlab": _cleanlab,
        "variants": _variants,
        "apart": _apart,
    }
    sections += [write(results[name]) for name, write in writers.items() if name in results]
    if "versions" in results:
        sections.append(", ".join(f"{name} {version}" for name, version in results["versions"].items()) + ".\n")
    return "\n".join(sections)


def _ratios(work, part):
    bases = list(next(iter(part["ratios"].values())))
    lines = [[name, *(shown(to[base]) for base in bases)] for name, to in part["ratios"].items()]
    return (
        f"## Time of an epoch: {work}\n\n"
        f"After the warm-up, {part['rounds']} rounds; an epoch of skorch took {part['skorch_seconds']:.1f} s. "
        '"Fused" is skorch with `optimizer__fused=True`, which `LECClassifier` sets for Adam by itself.\n\n'
        + markdown_table(["epoch of", *(f"to {base}" for base in bases)], lines)
        + ("\n\n" + KEPT_MEMORY if part.get("memory_is_kept") else "")
        + "\n"
    )


def _percentages(shares):
    return [f"{100 * share:.1f} %" for share in shares.values()]


def _passes(part):
    lines = []
    for title, counts in part.items():
        for method, (parameters, forward, backward) in counts.items():
            paper = PAPER["tableA3"].get(method_title(method), {})
            lines.append([f"{method} ({title})", f"{parameters:.0f}", f"{forward:.2f}", f"{backward:.2f}"])
            lines[-1] += [paper.get(name, "") for name in ("forward", "backward")]
    header = ["method", "networks", "forward", "backward", "paper: forward", "paper: backward"]
    return (
        "## Rows per epoch\n\nRows that go forward and backward through a network in an epoch after the warm-up, "
        "per row of the training set, counted with hooks (M = 5). With convolutions and few rows left, the vote has "
        "a pass of its own.\n\n" + markdown_table(header, lines) + "\n"
    )


def _memory(part):
    lines = [[line["M"] or "standard", f"{line['megabytes']:.0f}", f"{line['state_bytes']:.1f}"] for line in part]
    return (
        "## Memory\n\nPeak beyond the data, 1,000,000 rows of 20 features, batches of 1024; and what the method holds "
        "per row.\n\n" + markdown_table(["LTEC with M", "MB", "bytes per row"], lines) + "\n"
    )


def _growth(part):
    lines = [
        [f"{line['rows']:,}", line["batch_size"], f"{line['microseconds']:.2f}", *_percentages(line["own"])]
        for line in part
    ]
    return (
        "## Growth\n\nLTEC with a tiny network (20-16-10): time of an epoch per row, and the share of it that goes "
        "into filtering's own work: from votes to masks, the rows' state, fetching the decision.\n\n"
        + markdown_table(
            ["rows", "batch size", "µs per row", "own work", "selection", "rows' state", "decision"], lines
        )
        + "\n"
    )


def _cleanlab(part):
    lines = [
        [
            line["noise"],
            f"{np.median(line['ratio']):.2f} ({min(line['ratio']):.2f}-{max(line['ratio']):.2f})",
            *(f"{100 * np.mean(line[name]):.1f} ± {100 * np.std(line[name]):.1f}" for name in ("ltec", "cleanlab")),
        ]
        for line in part
    ]
    header = ["noise", "LTEC's time to cleanlab's", "LTEC's accuracy", "cleanlab's accuracy"]
    return (
        "## The alternative\n\ncleanlab's `CleanLearning` around the same network, trained in the ordinary way, with "
        "the same schedule and as many epochs, on digits; median and range of the ratio, mean and standard deviation "
        f"of the accuracy on clean labels, over {len(part[0]['ratio'])} seeds.\n\n"
        + markdown_table(header, lines)
        + "\n"
    )


def _variants(part):
    lines = [[name, shown(value)] for name, value in part.items()]
    return "## Other ways of running the networks\n\n" + markdown_table(["a step or an epoch", "ratio"], lines) + "\n"


def _apart(part):
    entries = [f"{100 * np.mean(part[name]):.1f} ± {100 * np.std(part[name]):.1f}" for name in ("apart", "shared")]
    spread = f"{np.median(part['ratio']):.2f} ({min(part['ratio']):.2f}-{max(part['ratio']):.2f})"
    title = "## The vote in a pass of its own\n\nLTEC with ResNet-20 at half its width on digits, 60 % wrong labels: "
    measures = f"accuracy on clean labels over {len(part['ratio'])} seeds, and the time of whole trainings, warm-up "
    table = markdown_table(["", "apart", "shared", "time, apart to shared"], [["ltec", *entries, spread]])
    return f"{title}{measures}included (median and range).\n\n{table}\n"
