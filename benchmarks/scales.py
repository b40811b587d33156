"""How large the benchmarks are run: the settings of each scale, read from ``scales.toml``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType

from benchmarks.cells import Cell, data_parts
from benchmarks.methods import CLEANLAB, parameters_of
from sklearn_lec._validation import did_you_mean
from sklearn_lec.methods import METHODS

__all__ = ["OF_EVERY_TRAINING", "SCALES", "Scale", "SettingsError", "check_names", "load_scale", "settings_of_methods"]

FILE = Path(__file__).with_name("scales.toml")
SCALES = ("smoke", "cpu", "paper")

OF_EVERY_TRAINING = frozenset(
    (
        "batch_size",
        "decay_start",
        "epochs",
        "lr",
        "lr_drops",
        "network",
        "network_arguments",
        "test_rows",
        "train_rows",
        "whitening",
    )
)
"""Settings that do not depend on the method, even if one has a parameter of that name: if they went away from the
settings of the others, all records of these would be out of date."""


class SettingsError(ValueError):
    """What ``scales.toml`` says is not understood."""


@dataclass(frozen=True)
class Scale:
    """One of the scales, and what it makes of the paper's experiments.

    Parameters
    ----------
    name : {"smoke", "cpu", "paper"}
    table : mapping
        The table of the scale in ``scales.toml``.
    """

    name: str
    table: MappingProxyType

    @property
    def rows(self) -> dict[str, list[str]]:
        """Rows that replace those of the paper, as ``"data/noise"``, by name of the experiment."""
        return self.table.get("rows", {})

    @property
    def has_stand_in(self) -> bool:
        """Whether one small data set is used in place of all others."""
        return "stand_in" in self.table

    def stand_in(self, data: str) -> str:
        """Return the data set that is used in place of `data`."""
        if not self.has_stand_in:
            return data
        external = f"+{self.table['external_stand_in']}" if "+" in data else ""
        return self.table["stand_in"] + external

    def seeds(self, data: str) -> int:
        """Return with how many seeds each training on `data` is run."""
        return self._of_data(data).get("seeds", self.table["seeds"])

    def M(self, noise: str) -> int:  # noqa: N802
        """Return how many have to agree under `noise`."""
        return self.table["M"].get(noise.partition("-")[0], self.table["M"]["default"])

    def settings(self, cell: Cell) -> dict:
        """Return all that the training of a cell depends on beside the cell itself.

        Parameters
        ----------
        cell : Cell

        Returns
        -------
        settings : dict
            ``network`` and ``network_arguments``; ``epochs``, ``batch_size``, ``lr``; ``decay_start`` or
            ``lr_drops``, the schedule; ``train_rows``, ``test_rows``, ``whitening``; and, where they matter,
            ``T_w``, ``T_k``, ``W``, ``percentile``, ``semantic_networks`` and ``cleanlab_folds``.
        """
        settings = self.table["settings"] | self._of_data(cell.data)
        if cell.network is not None:
            settings |= {"network": cell.network, "network_arguments": {}} | self.table["network"].get(cell.network, {})
        if (n_rows := data_parts(cell.data).n_rows) is not None:
            settings["train_rows"] = n_rows
        unused = (settings_of_methods() - set(parameters_of(cell.method))) | {"seeds"}
        unused |= {"semantic_networks"} if cell.noise_kind != "semantic" else set()
        unused |= {"cleanlab_folds"} if cell.method != CLEANLAB else set()
        unused |= {"decay_start"} if "lr_drops" in settings else set()
        return {name: settings[name] for name in sorted(settings) if name not in unused}

    def _of_data(self, data):
        tables = self.table.get("data", {})
        name, n_rows, _ = data_parts(data)
        return tables.get(name, {}) | tables.get(f"{name}@{n_rows}", {})


def settings_of_methods() -> set[str]:
    """Return the settings that belong to those methods alone that have a parameter of that name."""
    return {name for method in METHODS for name in parameters_of(method)} - OF_EVERY_TRAINING


@cache
def load_scale(name: str) -> Scale:
    """Return the scale of that name.

    Parameters
    ----------
    name : {"smoke", "cpu", "paper"}

    Returns
    -------
    scale : Scale
    """
    if name not in SCALES:
        raise ValueError(f"unknown scale {name!r}; {did_you_mean(name, SCALES)}Scales: {', '.join(SCALES)}.")
    try:
        tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{FILE.name} cannot be read: {error}.") from error
    check_names(tables[name], known={*tables["paper"]["settings"], "lr_drops", "seeds"})
    return Scale(name, MappingProxyType(tables[name]))


def check_names(table: dict, *, known: set[str]) -> None:
    """Raise an error for a setting that no training knows: it would do nothing and outdate every record.

    Raises
    ------
    SettingsError
    """
    parts = [table["settings"], *table.get("data", {}).values(), *table.get("network", {}).values()]
    for name in (name for part in parts for name in part):
        if name not in known:
            raise SettingsError(
                f"unknown setting {name!r} in {FILE.name}; {did_you_mean(name, known)}Settings: "
                f"{', '.join(sorted(known))}."
            )
