"""LECClassifier as it comes against the best of several settings that know the share of wrong labels.

Run ``python -m benchmarks.no_knobs`` from the root of the project. Each problem is trained with ``eps`` and ``T_w`` at
"auto", with the true share and each of several `T_w`, by ordinary training, and by cleanlab's CleanLearning around
the same network; balanced accuracy is that on clean labels that were held out. Every problem and seed is one line of
the file given by ``--out``; a second run does only what is missing. The page is written beside it.
"""

import argparse
import time
import warnings
from pathlib import Path

import joblib
import numpy as np
import torch
from cleanlab.classification import CleanLearning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split

from benchmarks.files import write_whole
from benchmarks.lines import LinesFile
from benchmarks.no_knobs_page import CLEANLAB, METHODS, page_of
from benchmarks.noise_problems import DATA, NOISES
from sklearn_lec import LECClassifier

OUT = Path("benchmarks/results/no_knobs.jsonl")
WARMUPS = [2, 5, 10, 20]
EPOCHS = {"MNIST": 30}
"""Where the 200 epochs of the default would take hours: for all alike."""
N_WORDS = 3000


def text(*, seed, **_):
    """Return 800 documents on four topics, as TF-IDF of 3,000 words: more columns than samples.

    Words are as frequent as Zipf's law has it; 150 of them are six times as frequent in one of the topics.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(800) % 4
    frequencies = np.tile(1 / np.arange(1, N_WORDS + 1), (4, 1))
    for of_topic in frequencies:
        of_topic[rng.choice(np.arange(50, N_WORDS), 150, replace=False)] *= 6
    frequencies /= frequencies.sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(rng.integers(60, 200), frequencies[topic]) for topic in y])
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts).toarray().astype(np.float32), y


SOURCES = DATA | {"TF-IDF text": text}
MANY_CLASSES = ["digits", "wine", "MNIST", "TF-IDF text", "digits, long tail"]
TWO_CLASSES = ["breast cancer", "digits, 8 or not"]
PROBLEMS = [
    *((data, noise) for data in MANY_CLASSES for noise in ("clean", "sym-20", "sym-40", "sym-60", "asym-40")),
    *((data, noise) for data in TWO_CLASSES for noise in ("clean", "sym-20", "sym-40")),
]


def contenders(epochs: dict, true_eps: float, seed: int) -> dict:
    """Return all that is trained on a problem, by name."""
    common = {"random_state": seed, "device": "cpu", "verbose": 0} | epochs
    known = {
        f"{method}, T_w={T_w}": LECClassifier(method=method, eps=true_eps, T_w=T_w, **common)
        for method in METHODS
        for T_w in WARMUPS
    }
    standard = LECClassifier(method="standard", **common)
    return {
        **{method: LECClassifier(method=method, eps="auto", T_w="auto", **common) for method in METHODS},
        "standard": standard,
        CLEANLAB: CleanLearning(standard, seed=seed, verbose=False),
        **(known if true_eps > 0 else {}),  # with clean labels that is ordinary training
    }


def measure(data: str, noise: str, seed: int, data_home) -> dict:
    """Train everything on a problem and return the record."""
    torch.set_num_threads(1)
    X, y = SOURCES[data](seed=seed, data_home=data_home)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=seed)
    given = NOISES[noise](y_train, seed)
    true_eps = float((given != y_train).mean())
    record = {"data": data, "noise": noise, "seed": seed, "true_eps": true_eps, "scores": {}, "seconds": {}}
    epochs = {"max_epochs": EPOCHS[data]} if data in EPOCHS else {}
    for name, classifier in contenders(epochs, true_eps, seed).items():
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classifier.fit(X_train, given)
        record["seconds"][name] = round(time.perf_counter() - start, 2)
        record["scores"][name] = round(balanced_accuracy_score(y_test, classifier.predict(X_test)), 5)
        if name in METHODS:
            record[f"eps {name}"], record[f"T_w {name}"] = round(float(classifier.eps_), 4), int(classifier.T_w_)
    return record


def check_record(record) -> None:
    """Raise a ValueError for what `measure` has not returned."""
    if not isinstance(record, dict) or not {"data", "noise", "seed", "true_eps", "scores", "seconds"} <= record.keys():
        raise ValueError("it must be an object with the data, the noise, the seed, the share, scores and seconds")


def run(out: Path, *, seeds: int, data_home=None, jobs: int = 1, problems=PROBLEMS) -> str:
    """Do what is missing in a file of records, write the page beside it, and return it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    file = LinesFile(out, beginning=b'{"data": "', check=check_record)
    done = {(r["data"], r["noise"], r["seed"]) for r in file.records}
    wanted = [(*problem, seed) for seed in range(seeds) for problem in problems]
    missing = [cell for cell in wanted if cell not in done]
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    for number, record in enumerate(parallel(joblib.delayed(measure)(*cell, data_home) for cell in missing), 1):
        file.append(record)
        print(f"{number}/{len(missing)} {record['data']}, {record['noise']}, seed {record['seed']}", flush=True)
    page = page_of([r for r in file.records if (r["data"], r["noise"], r["seed"]) in wanted])
    write_whole(out.with_suffix(".md"), page.encode())
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, one core each; default: 1")
    parser.add_argument("--data-home", help="where MNIST is; default: scikit-learn's folder")
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), help="data sets; default: all")
    parser.add_argument("--out", type=Path, default=OUT, help=f"the file of finished runs; default: {OUT}")
    options = parser.parse_args()
    problems = [problem for problem in PROBLEMS if problem[0] in options.only]
    print(run(options.out, seeds=options.seeds, data_home=options.data_home, jobs=options.jobs, problems=problems))


if __name__ == "__main__":
    main()
