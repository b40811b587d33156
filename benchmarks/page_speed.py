"""How fast the page of `sklearn_lec.inspection.report` is with many samples, and how large.

``python -m benchmarks.page_speed --data-home DIR`` opens it in headless Chromium. Without a folder that has CIFAR-10,
the images are noise, which no encoding makes smaller.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.headless import headless_chromium, set_screen, why_no_browser
from sklearn_lec.datasets import fetch_cifar10
from sklearn_lec.inspection import report

__all__ = ["measured", "page_of_images"]

GOALS = {"opens within (s)": 3, "sorts within (ms)": 200, "filters within (ms)": 200, "size (MB)": 15}
LABELS = np.array(["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"])

CHANGES = {
    "sorts within (ms)": [
        *(f"document.querySelector('[data-sort={name}]').click()" for name in ("number", "given", "other", "decision")),
        "document.querySelector('[data-sort=quality]').click()",
    ],
    "filters within (ms)": [
        *(
            f"e = document.getElementById('{name}'); e.value = '{value}';"
            "e.dispatchEvent(new Event('input', {bubbles: true}))"
            for name, value in (
                ("search", "ship"),
                ("search", "9"),
                ("status", "issue"),
                ("given", "3"),
                ("low", "0.1"),
                ("search", ""),
                ("status", "all"),
                ("given", "-1"),
            )
        ),
    ],
}
"""What a person does; each is timed until the screen has been drawn again."""

TIMED = """
const done = arguments[arguments.length - 1], start = performance.now();
let e;
%s
requestAnimationFrame(() => { const channel = new MessageChannel();
  channel.port1.onmessage = () => done(performance.now() - start); channel.port2.postMessage(0); });
"""


def page_of_images(images: np.ndarray, labels: np.ndarray, path: Path) -> Path:
    """Write a page on which a fifth of the labels is suspect."""
    rng, n_samples = np.random.RandomState(0), len(images)
    suspect = rng.uniform(size=n_samples) < 0.2
    other = LABELS[(np.searchsorted(LABELS, labels) + rng.randint(1, 10, n_samples)) % 10]
    quality = rng.permutation(n_samples) / n_samples
    issues = pd.DataFrame(
        {
            "is_label_issue": suspect,
            "label_quality": np.where(suspect, quality / 5, 0.2 + 0.8 * quality),
            "given_label": labels,
            "predicted_label": np.where(suspect, other, labels),
            "predicted_probability": rng.uniform(0.5, 1, n_samples),
            "clean_score": np.where(suspect, 0.0, 1.0),
            "suggested_label": pd.Series(other).where(suspect),
        }
    )
    return report(None, images, path, issues=issues, max_samples=n_samples)


def measured(path: Path, *, n_rounds: int) -> dict[str, list[float]]:
    """Return how long it takes, round by round, to open a page, to sort and to filter; and its size."""
    seen = {name: [] for name in GOALS}
    seen["size (MB)"] = [path.stat().st_size / 1e6]
    for _ in range(n_rounds):
        with headless_chromium() as driver:  # anew, so that nothing is there from the last time
            set_screen(driver, width=1280, height=800)
            start = time.perf_counter()
            driver.get(path.as_uri())
            driver.execute_async_script(TIMED % "")
            assert driver.execute_script("return document.querySelectorAll('.row .thumb').length") > 5
            seen["opens within (s)"].append(time.perf_counter() - start)
            for name, changes in CHANGES.items():
                seen[name].append(max(driver.execute_async_script(TIMED % change) for change in changes))
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-home", type=Path, help="a folder with CIFAR-10 in torchvision's layout")
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if why_no_browser() is not None:
        parser.error(why_no_browser())
    rng = np.random.RandomState(0)
    kinds = {"noise": rng.randint(0, 256, (arguments.samples, 3, 32, 32)).astype(np.uint8)}
    labels = {"noise": LABELS[rng.randint(10, size=arguments.samples)]}
    if arguments.data_home is not None:
        X, y = fetch_cifar10(data_home=arguments.data_home, download_if_missing=False, return_X_y=True)
        kinds["CIFAR-10"], labels["CIFAR-10"] = X[: arguments.samples], LABELS[y[: arguments.samples]]
    print(f"{arguments.samples} images of 32x32x3, {arguments.rounds} rounds: median (largest); goal")
    with tempfile.TemporaryDirectory() as folder:
        for kind, images in kinds.items():
            path = page_of_images(images, labels[kind], Path(folder, f"{kind}.html"))
            for name, values in measured(path, n_rounds=arguments.rounds).items():
                print(f"{kind:>9}  {name:<20} {np.median(values):8.2f} ({max(values):.2f}); {GOALS[name]}")


if __name__ == "__main__":
    main()
