"""The tables and figures of the paper, each as rows (data and noise) by columns (methods and their settings)."""

from dataclasses import dataclass, replace

from benchmarks.cells import Cell
from benchmarks.methods import CLEANLAB, method_title
from benchmarks.scales import Scale

__all__ = ["EXPERIMENTS", "Column", "Experiment", "Row"]


@dataclass(frozen=True)
class Row:
    """A row of a table, a panel of a figure: the data and the noise in its labels."""

    data: str
    noise: str

    @classmethod
    def parse(cls, text: str) -> "Row":
        """Read ``"data/noise"``."""
        return cls(*text.split("/"))


@dataclass(frozen=True)
class Column:
    """A column of a table, a line of a figure: a method with its settings, and its title."""

    title: str
    method: str
    M: int | str | None = None
    eps_factor: float = 1.0
    network: str | None = None

    @classmethod
    def of(cls, method: str, **settings) -> "Column":
        """Return a column that has the title of its method."""
        return cls(method_title(method), method, **settings)


@dataclass(frozen=True)
class Experiment:
    """A table or a figure: of the paper, or one that the paper does not have.

    Parameters
    ----------
    name : str
        ``"table2"``, ``"figureA1"``; what begins with "table" is a table, all else is a figure.
    title : str
        What it shows.
    rows : tuple of Row
        Those at the scale "paper"; another scale may have others in their place.
    columns : tuple of Column
    beyond : tuple of Column, default=()
        Columns that the paper does not have; they are shown at the scales "smoke" and "cpu".
    shows : {"accuracy", "clean accuracy", "complexity", "precision", "small-loss precision", "recall", "matrices",
            "examples"}
        What is reported of the cells: final and peak accuracy in a table, curves over epochs in a figure.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    beyond: tuple[Column, ...] = ()
    shows: str = "accuracy"

    @property
    def is_table(self) -> bool:
        """Whether it is a table and not a figure."""
        return self.name.startswith("table")

    @property
    def has_cells(self) -> bool:
        """Whether it is made of trainings; what else it is made of is in `benchmarks.extras`."""
        return bool(self.columns)

    @property
    def has_scale(self) -> bool:
        """Whether it depends on the scale: the passes that a method makes do not."""
        return self.shows != "complexity"

    def rows_at(self, scale: Scale) -> tuple[Row, ...]:
        """Return the rows that a scale runs."""
        if self.name in scale.rows:
            return tuple(map(Row.parse, scale.rows[self.name]))
        return tuple(dict.fromkeys(replace(row, data=scale.stand_in(row.data)) for row in self.rows))

    def columns_at(self, scale: Scale) -> tuple[Column, ...]:
        """Return the columns that a scale runs."""
        return self.columns if scale.name == "paper" else self.columns + self.beyond

    def cells(self, scale: Scale, seeds: int | None = None) -> list[Cell]:
        """Return the trainings that the experiment is made of.

        Parameters
        ----------
        scale : Scale
        seeds : int or None, default=None
            How many seeds; None for as many as the scale says for the data.

        Returns
        -------
        cells : list of Cell
        """
        return [
            self.cell(scale, row, column, seed)
            for row in self.rows_at(scale)
            for column in self.columns_at(scale)
            for seed in range(scale.seeds(row.data) if seeds is None else seeds)
        ]

    def cell(self, scale: Scale, row: Row, column: Column, seed: int) -> Cell:
        """Return the training of one row, column and seed."""
        M = column.M if column.M is not None else scale.M(row.noise)
        return Cell(scale.name, row.data, row.noise, column.method, seed, M, column.eps_factor, network=column.network)


RANDOM_NOISES = ("sym-20", "sym-60", "asym-20", "asym-40")
CIFAR_10 = tuple(Row("cifar-10", noise) for noise in RANDOM_NOISES)
ALL_DATA = tuple(Row(data, noise) for data in ("mnist", "cifar-10", "cifar-100") for noise in RANDOM_NOISES)
OPEN_SET = ("cifar-10+cifar-100", "cifar-10+imagenet-32", "cifar-100+svhn")

ENSEMBLES = tuple(map(Column.of, ("self-training", "lnec", "lsec", "ltec")))
COMPARED = tuple(map(Column.of, ("standard", "d2l", "forward", "co-teaching", "ltec", "ltec-full")))
WITH_CLEANLAB = (Column.of(CLEANLAB),)
BY_M = (
    Column("M=1", "self-training"),
    *(Column(f"M={M}", "ltec", M=M) for M in (3, 5, 7, 9)),
    Column("M=∞", "ltec", M="inf"),
)
BY_ESTIMATE = tuple(
    Column(f"{estimate}, {method_title(method)}", method, eps_factor=factor)
    for estimate, factor in (("under (0.9 eps)", 0.9), ("correct (eps)", 1.0), ("over (1.1 eps)", 1.1))
    for method in ("co-teaching", "ltec")
)
WITH_RESNET = (
    Column("Standard (ResNet)", "standard", network="resnet20"),
    Column("LTEC (ResNet)", "ltec", network="resnet20"),
)
LTEC_ALONE = (Column.of("ltec"),)
TEMPORAL = tuple(map(Column.of, ("ltec", "ltec-full")))

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment("table1", "Self-training and three LECs, random label noise", CIFAR_10, ENSEMBLES),
        Experiment("table2", "Different algorithms, random label noise", ALL_DATA, COMPARED, WITH_CLEANLAB),
        Experiment(
            "table3",
            "Different algorithms, open-set noise",
            tuple(Row(data, noise) for data in OPEN_SET for noise in ("open-20", "open-40")),
            COMPARED,
        ),
        Experiment(
            "table4",
            "Different algorithms, semantic noise",
            tuple(Row(d, n) for d in ("cifar-10", "cifar-100") for n in ("semantic-20", "semantic-40")),
            COMPARED,
        ),
        Experiment("table5", "LTEC by the number of networks used for filtering", CIFAR_10, BY_M),
        Experiment("table6", "Co-teaching and LTEC with estimates of the noise ratio", CIFAR_10, BY_ESTIMATE),
        Experiment("table7", "Standard and LTEC with ResNet-20", CIFAR_10, WITH_RESNET),
        Experiment(
            "tableA2",
            "Ordinary training on clean labels",
            tuple(Row(data, "clean") for data in ("mnist", "cifar-10", "cifar-100")),
            (Column("Test accuracy", "standard"),),
            shows="clean accuracy",
        ),
        Experiment(
            "tableB1",
            "Labels that people gave: CIFAR-10N, not in the paper",
            tuple(Row("cifar-10", f"human-{labels}") for labels in ("aggregate", "random1", "worst")),
            (*COMPARED, *map(Column.of, ("self-training", "elr"))),
        ),
        Experiment("tableA3", "Complexity: parameters, forward and backward passes", (), (), shows="complexity"),
        Experiment(
            "figure1", "Label precision of Self-training and three LECs", CIFAR_10, ENSEMBLES, shows="precision"
        ),
        Experiment(
            "figure2",
            "Label precision of LTEC's small-loss rows, and of their intersection over epochs",
            CIFAR_10,
            LTEC_ALONE,
            shows="small-loss precision",
        ),
        Experiment("figure3", "Test accuracy of different algorithms", ALL_DATA, COMPARED),
        Experiment("figure4", "Label precision of different algorithms", ALL_DATA, COMPARED, shows="precision"),
        Experiment("figure5", "Recall of LTEC and LTEC-full", CIFAR_10, TEMPORAL, shows="recall"),
        Experiment(
            "figureA1",
            "Corruption matrices",
            tuple(Row("cifar-10", noise) for noise in ("sym-20", "asym-20", "semantic-20")),
            (),
            shows="matrices",
        ),
        Experiment("figureA2", "Clean and noisy examples", (Row("cifar-10", "semantic-20"),), (), shows="examples"),
        Experiment("figureA3", "Recall of LTEC by the number of networks", CIFAR_10, BY_M, shows="recall"),
    )
}
