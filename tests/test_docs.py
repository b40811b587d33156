"""The code in the README, in docs/ and in CONTRIBUTING.md runs as it stands, and says what it claims."""

import re
import textwrap
from functools import partialmethod
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.utils import Bunch
from skorch import NeuralNetClassifier
from torchvision.models import ResNet18_Weights, resnet18

from benchmarks.experiments import EXPERIMENTS, Column, Experiment, Row
from benchmarks.report import write_report
from benchmarks.running import run
from benchmarks.scales import load_scale
from sklearn_lec import LECClassifier
from sklearn_lec.methods import METHODS
from sklearn_lec.modules import Conv9

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def code_blocks(text):
    """Return the Python blocks of a page, without the indentation of a list that they may be in."""
    return [textwrap.dedent(block) for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)]


class NarrowConv9(Conv9):
    """Conv9 at a width that a CPU trains in a moment."""

    __init__ = partialmethod(Conv9.__init__, width=1 / 64)


@pytest.fixture
def small_cifar10(monkeypatch):
    """The lines of the README on CIFAR-10, on 50 images, with a narrow network and for two epochs."""
    X = np.random.RandomState(0).normal(size=(50, 3, 32, 32)).astype(np.float32)
    y = np.arange(50) % 5
    monkeypatch.setattr(
        "sklearn_lec.datasets.fetch_cifar10", lambda return_X_y: (X, y) if return_X_y else Bunch(data=X, target=y)
    )
    monkeypatch.setattr("sklearn_lec.modules.Conv9", NarrowConv9)
    monkeypatch.setitem(LECClassifier.__init__.__kwdefaults__, "max_epochs", 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_readme_runs_as_it_stands(small_cifar10, monkeypatch):
    ten_lines, images, noise = code_blocks(README)
    names = {}
    with monkeypatch.context() as whole:
        whole.setitem(LECClassifier.__init__.__kwdefaults__, "max_epochs", 200)
        exec(ten_lines, names)
    clf, X_test, y_test = (names[name] for name in ("clf", "X_test", "y_test"))
    assert clf.score(X_test, y_test) == pytest.approx(0.97, abs=0.015)
    standard = LECClassifier(method="standard", max_epochs=60, verbose=0, random_state=0)
    standard.fit(names["X_train"], names["y_noisy"])
    assert standard.score(X_test, y_test) == pytest.approx(0.83, abs=0.02)

    exec(images, names)
    assert names["clf"].module_.body[1].in_channels == 3
    assert names["clf"].clean_mask_.shape == (50,)

    exec(noise, names)
    assert names["noisy"].estimator.max_epochs == 40


def test_links_of_the_pages_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_method_of_the_docs_is_fifteen_lines_and_does_what_the_page_says(capsys):
    in_notebook, use, soft_targets = code_blocks((ROOT / "docs" / "methods.md").read_text(encoding="utf-8"))
    names = {}

    exec(in_notebook, names)
    exec(use, names)
    printed = capsys.readouterr().out
    exec(soft_targets, names)

    lines = in_notebook[in_notebook.index("class ") :].strip().splitlines()
    assert len([line for line in lines if line.strip()]) <= 15
    assert float(printed) == pytest.approx(0.98, abs=0.01)


def test_the_page_on_checkpoints_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    fit, by_hand = code_blocks((ROOT / "docs" / "checkpoints.md").read_text(encoding="utf-8"))
    names = {}

    exec(fit, names)
    exec(by_hand, names)

    files = [file.name for file in (tmp_path / "runs" / "digits").iterdir()]
    assert sorted(files) == ["epoch-000019.ckpt", "epoch-000020.ckpt"]
    assert capsys.readouterr().out.strip() == str(names["clf"].predict(names["X"] / 16))


@pytest.fixture
def photos(tmp_path, monkeypatch):
    """A folder "photos" of 12 small images in two classes, from which the test is run; two epochs unless said else."""
    rng = np.random.RandomState(0)
    for number, name in enumerate(["cat", "dog"]):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for image in range(6):
            pixels = rng.randint(0, 100, size=(16, 16, 3)) + 100 * number
            Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / name / f"{image}.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(LECClassifier.__init__.__kwdefaults__, "max_epochs", 2)
    monkeypatch.setitem(LECClassifier.__init__.__kwdefaults__, "T_w", 1)


def test_the_kinds_of_data_of_the_docs_are_taken(photos, capsys, monkeypatch):
    texts, two_inputs, folder, pretrained = code_blocks((ROOT / "docs" / "data.md").read_text(encoding="utf-8"))
    of_1000_classes = resnet18().state_dict()
    monkeypatch.setattr(ResNet18_Weights, "get_state_dict", lambda *args, **kwargs: of_1000_classes)
    names = {}

    for block in (texts, two_inputs, folder, pretrained):
        exec(block, names)
    names["clf"].fit(names["X"], names["y"])

    assert capsys.readouterr().out == "['spam']\n[1. 1. 1. 1. 1.]\n"
    assert names["scores"].shape == (3,)
    assert len(names["suspects"]) == 12 - names["selected"].sum() > 0
    assert names["clf"].predict_proba(names["X"]).shape == (12, 2)


def test_the_parameters_of_the_docs_train_exactly_as_skorch_does():
    X, y = make_classification(200, 20, random_state=0)
    (parameters,) = code_blocks((ROOT / "docs" / "skorch.md").read_text(encoding="utf-8"))
    names = {}

    torch.manual_seed(0)
    exec(parameters, names)
    net = names["net"].set_params(verbose=0).fit(X.astype(np.float32), y)
    torch.manual_seed(0)
    skorchs = NeuralNetClassifier(torch.nn.Linear(20, 2), criterion=torch.nn.CrossEntropyLoss, verbose=0)
    skorchs.fit(X.astype(np.float32), y)

    assert torch.equal(net.module_.weight, skorchs.module_.weight)
    assert net.history[:, ("train_loss", "valid_loss")] == skorchs.history[:, ("train_loss", "valid_loss")]


def test_the_page_on_model_selection_does_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    search, best_epoch = code_blocks((ROOT / "docs" / "model_selection.md").read_text(encoding="utf-8"))
    names = {}

    exec(search, names)
    exec(best_epoch, names)

    chosen, epoch = capsys.readouterr().out.splitlines()
    assert chosen == "{'eps': 0.4}"
    assert names["clf"].T_w < int(epoch) <= names["clf"].max_epochs
    assert names["clf"].history[:5, "filtered_acc"] == [0] * 5


def test_the_tables_on_model_selection_are_those_of_the_records():
    folders = (ROOT / "docs", ROOT / "benchmarks" / "results")
    page, results = ((folder / "model_selection.md").read_text(encoding="utf-8").splitlines() for folder in folders)

    lines = [line for line in page if line.startswith("|")]

    assert len(lines) > 10
    assert set(lines) <= set(results)


def test_the_displays_of_the_docs_are_drawn():
    plt.switch_backend("Agg")
    blocks = code_blocks((ROOT / "docs" / "displays.md").read_text(encoding="utf-8"))
    names = {}

    exec("".join(blocks), names)

    assert len(plt.get_fignums()) == 2 * (len(blocks) - 1)
    plt.close("all")


def test_the_page_on_label_issues_finds_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (find,) = code_blocks((ROOT / "docs" / "label_issues.md").read_text(encoding="utf-8"))
    names = {}

    exec(find, names)

    issues, is_wrong = pd.read_csv("issues.csv", index_col=0), names["y_noisy"] != names["y"]
    assert f1_score(is_wrong, issues["is_label_issue"]) > 0.95
    is_right = issues["suggested_label"] == names["y"]
    assert is_right[issues["suggested_label"].notna()].mean() > 0.95


def test_the_recipe_for_a_method_works_as_it_stands(tmp_path, monkeypatch):
    (recipe,) = code_blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    names = {}
    exec(recipe, names)
    monkeypatch.setitem(METHODS, "majority-vote", names["MajorityVote"])
    columns = (Column.of("standard"), Column.of("majority-vote"))
    table = Experiment("tableOwn", "A table of our own", (Row("digits", "sym-20"),), columns)
    monkeypatch.setitem(EXPERIMENTS, table.name, table)

    assert run([table], load_scale("smoke"), out=tmp_path) == []

    page = write_report(tmp_path).read_text(encoding="utf-8")
    assert "| data | noise | Standard | Majority vote |" in page


def test_the_digits_table_of_the_readme_is_that_of_the_records():
    lines = (ROOT / "benchmarks" / "digits.md").read_text(encoding="utf-8").splitlines()
    finals = {}
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6:
            finals[cells[0], cells[1]] = cells[2].split(" ")[0]
    table = README[README.index("| wrong labels | standard") :].split("\n\n")[0].splitlines()
    methods = [cell.strip() for cell in table[0].strip("|").split("|")][1:]
    kinds = {"any other class": "sym", "the next class": "asym"}

    assert set(methods) <= set(METHODS)
    for line in table[2:]:
        name, *shown = [cell.strip().strip("*") for cell in line.strip("|").split("|")]
        share, kind = re.match(r"(\d+) %, (.*)", name).groups()
        assert shown == [finals[f"{kinds[kind]}-{share}", method] for method in methods]
