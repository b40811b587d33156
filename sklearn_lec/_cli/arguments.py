"""The arguments of the command line, and the help that explains them."""

import argparse
import textwrap
from pathlib import Path

from sklearn_lec._version import __version__
from sklearn_lec.methods import METHODS

__all__ = ["parser"]

_DESCRIPTION = """
Labels are often wrong: annotators make mistakes, records get mixed up. This command finds labels that are probably
wrong, in a table (CSV or Parquet) or in a folder of images. It trains a neural network that is not misled by wrong
labels, and writes a list of all samples with what it thinks of their labels. Your files are not changed.
"""
_FIND = """
Find the labels that are probably wrong.

A table has one sample in each row, a header, and one column with the labels, which --label names. The other columns
are what the labels are judged by: numbers, categories, dates, yes or no, and free text; values may be missing. Columns
that say nothing, such as numbers of rows, are left out.

A folder of images has one folder for each class: photos/cat/1.jpg, photos/dog/2.jpg.
"""
_EXAMPLES = """
examples:
  %(prog)s animals.csv --label species
  %(prog)s animals.csv --label species --report report.html --drop-columns id name
  %(prog)s photos/ --report report.html --image-size 64

what is written (issues.csv): one line for each sample, in the order of the input, with
  is_label_issue         True if the label is probably wrong
  label_quality          from 0 (certainly wrong) to 1; sort by it to see the worst first
  given_label, predicted_label, predicted_probability
  clean_score            in how many epochs of the training the label was trusted
  suggested_label        what to change the label to, where that helps

exit codes: 0 done, whether labels are wrong or not; 1 the training failed; 2 the arguments or the data cannot be used;
130 stopped with Ctrl-C
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of all arguments."""
    root = argparse.ArgumentParser(
        prog="sklearn-lec", description=_wrapped(_DESCRIPTION), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    root.add_argument("--version", action="version", version=f"sklearn-lec {__version__}")
    commands = root.add_subparsers(dest="command", metavar="command", required=True)
    find = commands.add_parser(
        "find",
        usage="sklearn-lec find PATH [--label COLUMN] [options]",
        help="find the labels that are probably wrong; see: sklearn-lec find --help",
        description=_wrapped(_FIND),
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    find.add_argument(
        "path", type=Path, help="a table (.csv, .tsv, .parquet), or a folder with a folder for each class"
    )
    find.add_argument("--label", metavar="COLUMN", help="the column with the labels; for tables only")
    written = find.add_argument_group("what is written")
    written.add_argument(
        "--output", type=Path, default=Path("issues.csv"), metavar="FILE", help="the list (default: issues.csv)"
    )
    written.add_argument(
        "--report", type=Path, metavar="FILE", help="also write a page to look through the suspects in a browser"
    )
    written.add_argument("--quiet", action="store_true", help="print nothing but errors")
    data = find.add_argument_group("how the data is read")
    data.add_argument("--delimiter", metavar="CHAR", help="what separates the columns of a CSV file (default: found)")
    data.add_argument("--text-columns", nargs="+", default=[], metavar="COLUMN", help="columns to read as free text")
    data.add_argument("--drop-columns", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    data.add_argument(
        "--image-size", type=_image_size, default=32, metavar="PIXELS", help="images are made that large (default: 32)"
    )
    training = find.add_argument_group("how the network is trained")
    training.add_argument(
        "--epochs", type=_epochs, default=200, metavar="N", help="fewer are faster, more are better (default: 200)"
    )
    training.add_argument(
        "--method", choices=tuple(METHODS), default="ltec", metavar="NAME", help=f"one of {', '.join(METHODS)}"
    )
    training.add_argument(
        "--eps", type=_share, default="auto", metavar="SHARE", help="the share of wrong labels, as 0.1 (default: found)"
    )
    training.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the same seed, the same result (default: 0)"
    )
    training.add_argument(
        "--device", default="auto", metavar="NAME", help="cpu, cuda or mps (default: the fastest there is)"
    )
    return root


def _share(text: str) -> float | str:
    """Read a share: auto, 0.1 or 10%."""
    if text == "auto":
        return text
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"must be 'auto' or a fraction from 0 to 1, such as 0.1 or 10%, got {text!r}")
    return share


def _epochs(text: str) -> int:
    return _whole_number(text, at_least=1)


def _image_size(text: str) -> int:
    return _whole_number(text, at_least=8)


def _whole_number(text: str, *, at_least: int) -> int:
    """Read a whole number that has a smallest value."""
    if not text.isdecimal() or int(text) < at_least:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least {at_least}, got {text!r}")
    return int(text)


def _wrapped(text: str) -> str:
    """Return paragraphs as lines of 100 characters."""
    return "\n\n".join(textwrap.fill(paragraph, 100) for paragraph in text.strip().split("\n\n"))
