"""One job of the benchmarks: a cell, and its name."""

import re
from dataclasses import asdict, dataclass
from typing import NamedTuple

from benchmarks.methods import parameters_of

__all__ = ["DATA", "NOISE", "PEOPLE", "Cell", "DataParts", "data_parts"]

DATA = re.compile(r"([a-z0-9-]+)(?:@([1-9][0-9]{0,8}))?(?:[+]([a-z0-9-]+))?")
PEOPLE = {"worst": 0.40208, "aggregate": 0.0901, "random1": 0.17234, "random2": 0.18122, "random3": 0.1764}
"""The labels of CIFAR-10N, and the share of them that is wrong."""
NOISE = re.compile(rf"clean|(sym|asym|open|semantic)-[1-9][0-9]?|human-({'|'.join(PEOPLE)})")


class DataParts(NamedTuple):
    """What the name of a cell's data is made of."""

    name: str
    n_rows: int | None
    """Of the training set; None for as many as the scale says."""
    external: str | None
    """Where the images come from that take the place of others in open-set noise."""


def data_parts(data: str) -> DataParts:
    """Take the name of a cell's data apart.

    Examples
    --------
    >>> data_parts("mnist@10000+cifar-10")
    DataParts(name='mnist', n_rows=10000, external='cifar-10')
    >>> data_parts("mnist")
    DataParts(name='mnist', n_rows=None, external=None)
    """
    match = DATA.fullmatch(data)
    if match is None:
        raise ValueError(f"{data!r} is no name of data; use data, data@rows, data+external or data@rows+external.")
    name, n_rows, external = match.groups()
    return DataParts(name, None if n_rows is None else int(n_rows), external)


@dataclass(frozen=True)
class Cell:
    """One training: a method on data with noise, with one seed, at one scale.

    Cells that differ only in what their method does not use are the same cell, so that tables and figures share them.

    Parameters
    ----------
    scale : {"smoke", "cpu", "paper"}
    data : str
        A data set; ``"data@rows"`` for so many rows of it; ``"data+external"`` for open-set noise.
    noise : str
        Kind and percentage: ``"sym-20"``, ``"asym-40"``, ``"open-20"``, ``"semantic-40"``; ``"human-worst"`` and others
        of CIFAR-10N; or ``"clean"``.
    method : str
        One of `sklearn_lec.methods.METHODS`, or `benchmarks.methods.CLEANLAB`.
    seed : int
    M : int, "inf" or None, default=None
        None where the method does not use it.
    eps_factor : float, default=1.0
        The noise ratio that the method is told, as a multiple of the true one.
    network : str or None, default=None
        None for the one that the scale prescribes for the data.
    """

    scale: str
    data: str
    noise: str
    method: str
    seed: int
    M: int | str | None = None
    eps_factor: float = 1.0
    network: str | None = None

    def __post_init__(self):
        used = parameters_of(self.method)
        if "M" not in used:
            object.__setattr__(self, "M", None)
        if "eps" not in used:
            object.__setattr__(self, "eps_factor", 1.0)

    @property
    def noise_kind(self) -> str:
        """``"sym"``, ``"asym"``, ``"open"``, ``"semantic"``, ``"human"`` or ``"clean"``."""
        return self.noise.partition("-")[0]

    @property
    def noise_ratio(self) -> float:
        """The true share of wrong labels."""
        kind, _, amount = self.noise.partition("-")
        return PEOPLE[amount] if kind == "human" else int(amount or 0) / 100

    @property
    def noise_seed(self) -> int | None:
        """The seed that the noise is drawn with; None for noise that is the same for all seeds."""
        return None if self.noise_kind in ("semantic", "human") else self.seed

    @property
    def name(self) -> str:
        """A name that tells this cell from all others and can be the name of a file."""
        parts = [self.scale, self.data, self.noise, self.method]
        parts += [f"M{self.M}"] if self.M is not None else []
        parts += [f"eps{self.eps_factor}"] if self.eps_factor != 1 else []
        parts += [self.network] if self.network is not None else []
        return "_".join([*parts, f"seed{self.seed}"])

    def as_dict(self) -> dict:
        """Return the fields as a record has them."""
        return asdict(self)
