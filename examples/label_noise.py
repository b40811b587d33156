"""
What do the four kinds of label noise look like?
================================================

Symmetric noise changes a label to any other class, and asymmetric noise to one other class. Both choose the images at
random. Semantic noise chooses the images that are hardest to classify, and confuses classes that look alike. Open-set
noise changes no label: it replaces images with images of something else.

The pictures show 20 % noise on scikit-learn's digits, like Figures A1 and A2 of the paper
(https://arxiv.org/abs/1910.09792). The images for open-set noise are cut out of a photograph. The script writes the
pictures into the folder ``demo-output``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import PowerNorm
from sklearn.datasets import load_digits, load_sample_image
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.neural_network import MLPClassifier

from sklearn_lec.noise import AsymmetricNoise, OpenSetNoise, SemanticNoise, SymmetricNoise

OUTPUT = Path("demo-output")


def plot_matrices(noises, path):
    """Draw the fraction of each true digit that has each label."""
    figure, panels = plt.subplots(1, len(noises), figsize=(12, 3.4), layout="constrained", sharey=True)
    for axes, (name, (noise, _, _)) in zip(panels, noises.items(), strict=True):
        image = axes.imshow(noise.corruption_matrix_, cmap="Blues", norm=PowerNorm(0.5, 0, 1))
        axes.set(title=name, xlabel="given label", xticks=range(10), yticks=range(10))
    panels[0].set_ylabel("true digit")
    figure.colorbar(image, ax=panels, label="fraction")
    figure.savefig(path, dpi=100)


def plot_examples(noises, y, path, *, per_kind=10):
    """Draw corrupted images of each kind, with the given label and the true digit."""
    figure, grid = plt.subplots(len(noises), per_kind, figsize=(12, 6), layout="constrained")
    rng = np.random.RandomState(0)
    for row, (name, (noise, X_noisy, y_noisy)) in zip(grid, noises.items(), strict=True):
        examples = rng.choice(np.flatnonzero(noise.noise_mask_), per_kind, replace=False)
        for axes, index in zip(row, examples, strict=True):
            axes.imshow(X_noisy[index].reshape(8, 8), cmap="gray_r")
            truth = f"true {y[index]}" if y[index] != y_noisy[index] else "no digit"
            axes.set_title(f"given {y_noisy[index]}\n{truth}", fontsize=8)
            axes.set(xticks=[], yticks=[])
        row[0].set_ylabel(name)
    figure.savefig(path, dpi=100)


def main():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    photograph = load_sample_image("china.jpg").mean(axis=2) / 255
    patches = extract_patches_2d(photograph, (8, 8), max_patches=1000, random_state=0).reshape(-1, 64)
    kinds = {
        "symmetric": SymmetricNoise(eps=0.2, random_state=0),
        "asymmetric": AsymmetricNoise(eps=0.2, random_state=0),
        "semantic": SemanticNoise(MLPClassifier(max_iter=200, early_stopping=True), eps=0.2, random_state=0),
        "open-set": OpenSetNoise(patches, eps=0.2, random_state=0),
    }
    noises = {name: (noise, *noise.corrupt(X, y)) for name, noise in kinds.items()}

    OUTPUT.mkdir(exist_ok=True)
    plot_matrices(noises, OUTPUT / "corruption-matrices.png")
    plot_examples(noises, y, OUTPUT / "corrupted-images.png")
    for name, (noise, _, y_noisy) in noises.items():
        n_samples, n_labels = noise.noise_mask_.sum(), (y_noisy != y).sum()
        print(f"{name:<11} {n_samples} of {len(y)} samples changed, {n_labels} of them in the label")
    print(f"\nPictures: {OUTPUT / 'corruption-matrices.png'}, {OUTPUT / 'corrupted-images.png'}")


if __name__ == "__main__":
    main()
