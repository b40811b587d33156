"""From the data of the page to one HTML file that needs no other file and no network."""

import base64
import hashlib
import json
import re
from html import escape
from importlib import resources

from sklearn_lec.inspection.report.curves import line_chart

__all__ = ["page_html"]


def page_html(data: dict, *, title: str) -> str:
    """Return the page.

    Parameters
    ----------
    data : dict
        As of `page_data`.
    title : str

    Returns
    -------
    html : str
        Nothing in it is loaded from elsewhere, and its security policy allows nothing else.
    """
    style, script = (_file(name).strip() for name in ("page.css", "page.js"))
    content = {key: value for key, value in data["content"].items() if key != "sheets"}
    sheets = data["content"].get("sheets", [])
    of_script = {name: data[name] for name in ("samples", "classes", "digest", "n_samples")} | {"content": content}
    parts = {
        "policy": "default-src 'none'; img-src data: blob:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'",
        "title": escape(title),
        "brief": escape(" · ".join(data["brief"])),
        "style": style,
        "summary": _summary(data["summary"]),
        "curves": _curves(data["curves"]),
        "classes": _table(data["class_table"], "How many labels are probably wrong, class by class"),
        "pairs": _table(data["pair_table"], "Classes that are taken for one another"),
        "matrix": _matrix(data["matrix"]),
        "settings": _definitions(data["settings"]),
        "data": _json(of_script | {"title": title}),
        "sheets": "\n".join(
            f'<script type="text/plain" id="sheet-{n}">{text}</script>' for n, text in enumerate(sheets)
        ),
        "script": script,
    }
    # In one pass: what has been filled in is not looked at again.
    return re.sub(r"\{\{ (\w+) \}\}", lambda match: parts[match[1]], _file("template.html"))


def _file(name: str) -> str:
    """Return a file of the package."""
    return (resources.files("sklearn_lec.inspection.report") / name).read_text(encoding="utf-8")


def _hash(code: str) -> str:
    """Return what a security policy calls a piece of code by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(code.encode("utf-8")).digest()).decode("ascii")


def _json(value) -> str:
    """Return JSON that cannot end the element it stands in, whatever texts there are in it."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _label(text: str) -> str:
    """Return a text of the user's own, whose direction does not reach what stands beside it."""
    return f'<bdi class="label">{escape(str(text))}</bdi>'


def _summary(summary: list[tuple[str, str]]) -> str:
    """Return the figures that come first."""
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in summary)


def _definitions(pairs: list[tuple[str, str]]) -> str:
    """Return names and values as a table."""
    lines = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{_label(value)}</td></tr>' for name, value in pairs)
    return f"<table><caption>Settings</caption><tbody>{lines}</tbody></table>" if pairs else ""


def _table(table: dict, caption: str) -> str:
    """Return a table with a header; empty if it has no line."""
    if not table["lines"]:
        return ""
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table["header"])
    lines = "".join(
        "<tr>" + "".join(f"<td>{_label(cell)}</td>" if isinstance(cell, str) else f"<td>{cell:,}</td>" for cell in line)
        for line in table["lines"]
    )
    return (
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{escape(caption)}"><table class="numbers">'
        f"<caption>{escape(caption)}</caption><thead><tr>{header}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _matrix(matrix: dict | None) -> str:
    """Return the corruption matrix; empty if it has not been estimated."""
    if matrix is None:
        return ""
    header = "".join(f'<th scope="col">{_label(name)}</th>' for name in matrix["classes"])
    lines = []
    for name, shares in zip(matrix["classes"], matrix["shares"], strict=True):
        cells = "".join(f'<td class="heat-{min(9, int(10 * share))}">{100 * share:.0f}</td>' for share in shares)
        lines.append(f'<tr><th scope="row">{_label(name)}</th>{cells}</tr>')
    caption = "Of the samples of each class (row), how many are given each label (column), in %: an estimate"
    return (
        f'<div class="scrolling" tabindex="0" role="region" aria-label="{caption}"><table class="matrix">'
        f"<caption>{caption}</caption><thead><tr><td></td>{header}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        "</div>"
    )


def _curves(curves: dict | None) -> str:
    """Return the charts of the training."""
    if curves is None:
        return ""
    charts = []
    if curves["loss"]:
        charts.append(line_chart("Loss", curves["loss"], n_warmup=curves["n_warmup"]))
    if curves["shares"]:
        charts.append(line_chart("Shares of the samples", curves["shares"], n_warmup=curves["n_warmup"], percent=True))
    return "".join(charts)
