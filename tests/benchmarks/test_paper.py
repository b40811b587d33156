"""The paper's numbers in benchmarks/paper.json are those of the paper's source, all of them and no others."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import experiments
from benchmarks.cells import Cell
from benchmarks.scales import load_scale

ROOT = Path(__file__).parents[2]
PAPER = ROOT.parent / "shared" / "paper"
LABELS = {
    "table1": "acc0",
    "table2": "acc2",
    "table3": "open",
    "table4": "semantic",
    "table5": "num",
    "table6": "ratio",
    "table7": "resnet",
    "tableA2": "cleanacc",
    "tableA3": "complexity",
}
NUMBER = r"\d{2}\.\d{2}"
ENTRY = re.compile(rf"({NUMBER})\$/\$(?:({NUMBER})|\\textbf\{{({NUMBER})\}})")
RULES = re.compile(r"\\(?:toprule|midrule|bottomrule|cmidrule\(lr\)\{\d-\d\})")
MULTICOLUMN = re.compile(r"\\multicolumn\{(\d)\}\{[clr]\}\{(.*)\}")
KIND = {"table3": "open-", "table4": "semantic-"}
ESTIMATES = {
    r"under-estimated ($0.9\epsilon$)": "under (0.9 eps), ",
    r"correctly estimated ($\epsilon$)": "correct (eps), ",
    r"over-estimated ($1.1\epsilon$)": "over (1.1 eps), ",
}
COMPLEXITIES = {
    r"\# of network parameters": "parameters",
    r"\# of forward passes": "forward",
    r"\# of backward passes": "backward",
}


@pytest.fixture(scope="module")
def source():
    if not PAPER.exists():
        pytest.skip(f"no paper in {PAPER}")
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(PAPER.glob("*.tex")))


@pytest.fixture(scope="module")
def stored():
    """The stored numbers as they are written: 99.60 and 99.6 are not the same text."""
    return json.loads((ROOT / "benchmarks" / "paper.json").read_text(encoding="utf-8"), parse_float=str)


def tabular(source, label):
    """Return the body of the one table with a label."""
    tables = re.findall(r"\\begin\{table\}.*?\\end\{table\}", source, flags=re.DOTALL)
    (table,) = [table for table in tables if rf"\label{{{label}}}" in table]
    return re.search(r"\\begin\{tabular\}\{[lrc|]+\}(.*)\\end\{tabular\}", table, flags=re.DOTALL)[1]


def lines_of(body):
    """Return the lines of a table as lists of cells, columns that are joined written out."""
    *lines, rest = RULES.sub("", body).split(r"\\")
    assert not rest.strip()
    return [[text for cell in line.split("&") for text in written_out(cell.strip())] for line in lines]


def written_out(cell):
    joined = MULTICOLUMN.fullmatch(cell)
    return [joined[2]] * int(joined[1]) if joined else [cell]


def column_title(above, title):
    title = title.replace(r"$M=\infty$", "M=∞").replace("$", "")
    return ESTIMATES.get(above, "") + title


def entry(text):
    final, peak, bold_peak = ENTRY.fullmatch(text).groups()
    return {"final": final, "peak": peak or bold_peak}


def parse_accuracies(name, body):
    lines = lines_of(body)
    n_heads = next(i for i, line in enumerate(lines) if ENTRY.fullmatch(line[-1]))
    above, head = lines[0], lines[n_heads - 1]
    titles = [column_title(*pair) for pair in zip(above[2:], head[2:], strict=True)]
    rows, data = {}, None
    for dataset, noise, *entries in lines[n_heads:]:
        data = dataset.lower().replace(" ", "") or data
        key = f"{data}/{KIND.get(name, '')}{noise.removesuffix(chr(92) + '%')}"
        assert key not in rows
        rows[key] = dict(zip(titles, map(entry, entries), strict=True))
    return rows


def parse_clean_accuracies(body):
    (_, *datasets), (title, *values) = lines_of(body)
    parts = [re.fullmatch(rf"({NUMBER})\$\\pm\$(\d\.\d\d)", value).groups() for value in values]
    return {
        f"{dataset.lower()}/clean": {title: dict(zip(("mean", "std"), part, strict=True))}
        for dataset, part in zip(datasets, parts, strict=True)
    }


def parse_complexities(body):
    (_, _, *methods), *lines = lines_of(body)
    lines = [line for line in lines if len(line) > 2]
    assert [line[1] for line in lines] == list(COMPLEXITIES)
    table = {}
    for _, what, *values in lines:
        for titles, value in zip(methods, values, strict=True):
            bound, order = re.fullmatch(r"\$(\\leq )?([2M]?[mn])\$", value).groups()
            for title in titles.split("/"):
                table.setdefault(title, {})[COMPLEXITIES[what]] = ("<= " if bound else "") + order
    return table


def parse(body, name):
    if name == "tableA2":
        return parse_clean_accuracies(body)
    return parse_complexities(body) if name == "tableA3" else parse_accuracies(name, body)


@pytest.mark.parametrize("name", LABELS)
def test_stored_table_is_the_papers_table(source, stored, name):
    assert stored[name] == parse(tabular(source, LABELS[name]), name)


def test_nothing_is_stored_beyond_the_papers_tables(stored):
    assert list(stored) == list(LABELS)


@pytest.mark.parametrize("name", [name for name in LABELS if name != "tableA3"])
def test_stored_table_has_the_rows_and_columns_of_the_catalogue(stored, name):
    experiment = experiments.EXPERIMENTS[name]

    rows = [f"{row.data}/{row.noise}" for row in experiment.rows]
    columns = [column.title for column in experiment.columns]

    assert list(stored[name]) == rows
    assert all(list(row) == columns for row in stored[name].values())


@pytest.mark.parametrize("name", [name for name in LABELS if name != "tableA3"])
def test_any_changed_digit_of_the_paper_is_noticed(source, stored, name):
    body = tabular(source, LABELS[name])
    digits = [
        place for match in re.finditer(r"\d+\.\d{2}", body) for place in range(*match.span()) if body[place] != "."
    ]
    n_numbers = sum(len(numbers) for row in stored[name].values() for numbers in row.values())

    assert len(digits) == 4 * n_numbers - (len(stored[name]) if name == "tableA2" else 0)
    for place in digits:
        other = str((int(body[place]) + 1) % 10)
        changed = body[:place] + other + body[place + 1 :]
        assert parse(changed, name) != stored[name]


@pytest.mark.parametrize(
    ("data", "name", "pattern"),
    [
        ("cifar-10", "batch_size", r"with a batchsize of (\d+) for 200 epochs"),
        ("cifar-10", "epochs", r"with a batchsize of 128 for (\d+) epochs"),
        ("mnist", "last epochs", r"to zero during the last (\d+) epochs for MNIST and CIFAR-10"),
        ("cifar-10", "last epochs", r"to zero during the last (\d+) epochs for MNIST and CIFAR-10"),
        ("cifar-100", "last epochs", r"and during the last (\d+) epochs for CIFAR-100"),
        ("cifar-10", "T_w", r"\$T_w\$ is set to (\d+), and \$M\$"),
        ("cifar-10", "W", r"window size \$W\$ is set to (\d+)"),
        ("mnist", "percentile", r"(\d+)\$th\$ percentile of probabilities for each class on MNIST"),
        ("cifar-100", "percentile", r"(\d+)\$th\$ percentile of probabilities for each class on CIFAR-100"),
        ("cifar-10", "T_k", r"\(100-\$\\epsilon\$\)\\% over the first (\d+) epochs"),
    ],
)
def test_settings_of_the_paper_scale_are_those_of_the_source(source, data, name, pattern):
    scale, settings = load_scale("paper"), {}
    for method in ("ltec", "d2l", "forward", "co-teaching"):
        settings |= scale.settings(Cell("paper", data, "sym-20", method, 0))
    settings["last epochs"] = (1 - settings["decay_start"]) * settings["epochs"]

    (number,) = set(re.findall(pattern, source))

    assert settings[name] == pytest.approx(float(number))


def test_bold_in_the_paper_is_the_best_peak_of_its_row(source, stored):
    for name in list(LABELS)[:7]:
        bold = re.findall(rf"\\textbf\{{({NUMBER})\}}", tabular(source, LABELS[name]))

        assert bold == [max(entry["peak"] for entry in row.values()) for row in stored[name].values()]
