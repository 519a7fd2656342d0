"""What a release's card states: guarantee, charge, domain, mechanism and expected error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from geodp.table.charged import Amount, Count, Exact
from geodp.table.plain import Least, Text, read_plain

if TYPE_CHECKING:
    from geodp.grid.grid import Grid

Digest = Annotated[str, Text(r"[0-9a-f]{64}")]
Size = Annotated[int, Least(1)]
Plain = bool | int | str


@dataclass(frozen=True)
class Software:
    """What made the release.

    Attributes
    ----------
    name, version : str
    """

    name: str
    version: str


@dataclass(frozen=True)
class StatedGuarantee:
    """The guarantee of a release, in words and numbers.

    Attributes
    ----------
    in_words, variant : str
        One sentence, and the notion of privacy.
    precondition : str
        What it needs to hold.
    source : str
        Where it is proved.
    sensitivity_counts : str or None
        What the sensitivity counts, if the method says.
    not_protected : tuple of str
    mechanism : str
        Name and settings.
    epsilon, rho, delta : str or None
        Exact, each with the nearest decimal.
    spends : str
        The exact parameters in a line.
    neighbours : str
    contribution : int
        The most that one person adds to the sum of all counts.
    contribution_bound : str
        Who answers for it; ``enforced``: whether geodp does.
    unit : str
        Whom the guarantee protects.
    l1_sensitivity : int
    noise_scale, noise_sigma2 : str or None
        Width of the noise of a stage that has the whole budget: Laplace or Gaussian.
    key_origin : {"entropy", "file", "fixed", "device"}
    noise_key : str
        The same in words.
    model, period, reports, further_charge : optional
        Of reports that devices randomised themselves, where otherwise an office added the noise:
        how long a device waits until its next one, how many, what a further release costs.
    """

    in_words: str
    variant: str
    precondition: str
    source: str
    sensitivity_counts: str | None
    not_protected: tuple[str, ...]
    mechanism: str
    epsilon: Exact | None
    epsilon_decimal: Amount | None
    spends: str
    rho: Exact | None
    rho_decimal: Amount | None
    delta: Exact | None
    delta_decimal: Amount | None
    neighbours: str
    contribution: Size
    contribution_bound: str
    enforced: bool
    unit: str
    l1_sensitivity: Size
    noise_scale: Exact | None
    noise_scale_decimal: Amount | None
    noise_sigma2: Exact | None
    key_origin: Literal["entropy", "file", "fixed", "device"]
    noise_key: str
    model: Literal["local"] | None = None
    period: str | None = None
    reports: Count | None = None
    further_charge: str | None = None

    def decimals(self) -> dict[str, float]:
        """Return the parameters of the budget that there are, as decimals."""
        found = {
            "epsilon": self.epsilon_decimal,
            "delta": self.delta_decimal,
            "rho": self.rho_decimal,
        }
        return {name: amount for name, amount in found.items() if amount is not None}


@dataclass(frozen=True)
class StatedPlace:
    """A lattice of cells.

    Attributes
    ----------
    rows, cols : int
    code : str or None
        The code system, such as ``jis:half``; ``first``: row and column of its first cell there.
    crs : str or None
    transform : tuple of float or None
        Affine coefficients; ``bounds``: west, south, east, north.
    """

    rows: Size
    cols: Size
    code: str | None
    first: tuple[int, int]
    crs: str | None
    transform: tuple[float, float, float, float, float, float] | None
    bounds: tuple[float, float, float, float]


@dataclass(frozen=True)
class StatedAttribute:
    """An attribute and its labels."""

    attribute: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class StatedTable:
    """The public table of a hierarchy: regions on each level, its source and its digest."""

    levels: Mapping[str, Size]
    source: str
    sha256: Digest


@dataclass(frozen=True)
class StatedHierarchy:
    """The order of a hierarchy: axis and radix of every digit of a key, and its table."""

    axes: tuple[int, ...]
    radices: tuple[Size, ...]
    regions: StatedTable


@dataclass(frozen=True)
class StatedMask:
    """The public mask: its source in words, and its digest."""

    source: str
    sha256: Digest


@dataclass(frozen=True)
class StatedDomain:
    """The grid of a release, the order of its cells and which of them exist.

    Attributes
    ----------
    axes : mapping of str to int
        Sizes by name, in order.
    places, attributes : tuple
    cells, key_bits : int
    order : "Morton", (axes, radices, offset) of every digit of a key, or StatedHierarchy
    mask : StatedMask or None
    """

    axes: Mapping[str, Size]
    places: tuple[StatedPlace, ...]
    attributes: tuple[StatedAttribute, ...]
    cells: Count
    key_bits: Count
    order: (
        Literal["Morton"]
        | tuple[tuple[int, ...], tuple[Size, ...], tuple[int, ...]]
        | StatedHierarchy
    )
    mask: StatedMask | None

    @classmethod
    def of(cls, grid: Grid) -> StatedDomain:
        """Return what a card says of a grid."""
        return read_plain(cls, grid.describe(), "domain")


@dataclass(frozen=True)
class StatedMechanism:
    """The method of a release.

    Attributes
    ----------
    name : str
    version : int
    title, citation : str
    spec : str
        The name with the settings that differ from the default; ``settings``: all of them.
    noise, noise_format : str
    values : str
        What the released values can be; ``whole`` and ``nonnegative``: the same as flags.
    """

    name: str
    version: Size
    title: str
    citation: str
    spec: str
    settings: Mapping[str, Plain]
    noise: str
    noise_format: str
    values: str
    whole: bool
    nonnegative: bool


@dataclass(frozen=True)
class StatedBlock:
    """Standard error and 95 % margin of blocks of so many cells, and the largest of any."""

    cells: Size
    standard_error: Amount
    margin_95: Amount
    largest: Amount


@dataclass(frozen=True)
class StatedLevel:
    """The same of the areas of a level."""

    level: str
    cells: Size
    standard_error: Amount
    margin_95: Amount
    largest: Amount


@dataclass(frozen=True)
class StatedPixel:
    """Cells that a pixel of the map sums, and the standard error of that, if there is one."""

    cells: Count
    standard_error: Amount | None


@dataclass(frozen=True)
class StatedFloor:
    """The resolution limit by a public guess of the people: cells of a block, or None."""

    meaning: str
    people: Amount
    cells: Size | None


@dataclass(frozen=True)
class StatedLoneCell:
    """Bias and root-mean-square error of a lone cell, in counts."""

    meaning: str
    bias: float
    rmse: Amount


@dataclass(frozen=True)
class StatedLoneBlock:
    """The same of a lone settlement of several cells."""

    meaning: str
    cells: Size
    bias: float
    rmse: Amount


@dataclass(frozen=True)
class StatedSettlement:
    """Bias of settlements of so many people, in per cent of these, with its simulation error.

    Of their own cells and of all ``near`` them; ``below`` is None of the largest.
    """

    people: Size
    below: Size | None
    surroundings: Literal["alone", "coastal", "inland"]
    own: float
    own_simulation_error: Amount
    near: float
    near_simulation_error: Amount


@dataclass(frozen=True)
class StatedSettlements:
    """The same of all sizes and surroundings, and what it means."""

    meaning: str
    settlements: tuple[StatedSettlement, ...]


@dataclass(frozen=True)
class StatedLabel:
    """Bias of the total of a small label of an attribute, in counts, beside its stated error."""

    attribute: str
    people_per_cell: Amount
    people_from: str
    bias_per_cell: float
    bias: float
    simulation_error: Amount
    standard_error: Amount
    holds: bool


@dataclass(frozen=True)
class StatedLabels:
    """The same of all attributes, and what it means."""

    meaning: str
    labels: tuple[StatedLabel, ...]


@dataclass(frozen=True)
class StatedCells:
    """Intervals of single cells: how they were made, and those of cells that are not listed.

    Attributes
    ----------
    meaning : str
    version : int
        Of the margins.
    low : float
        Where the interval of a cell that is not listed begins.
    beside, alone : float
        Where it ends at most: where another cell of the method's smallest node of 16 cells or more
        holds somebody beyond doubt, and elsewhere.
    closed_form : bool
        Whether margins of the closed form stand, since nobody has measured those of the release.
    simulated : int or None
        Releases of each stand-in, where the intervals are simulated.
    parts : int or None
        Version of what is known of parts of cells, where the table has them.
    """

    meaning: str
    version: Size
    low: float
    beside: Amount
    alone: Amount
    closed_form: bool
    simulated: Size | None = None
    parts: Size | None = None


@dataclass(frozen=True)
class StatedError:
    """What is known of the error without any data, in counts.

    Attributes
    ----------
    meaning : str
    holds : str or None
        Where the standard errors hold; None where there are none.
    blocks : tuple of StatedBlock or None
        By size, single cells first.
    areas : tuple of StatedLevel
        The coarsest first.
    map : tuple of StatedPixel
        One a map.
    floor, isolated_cell, isolated_block, attributes
        None where there is none.
    cells : StatedCells or None
        None where there are no standard errors, and in cards of earlier versions.
    settlements : StatedSettlements or None
        None where nothing was simulated, or not on one map.
    """

    meaning: str
    holds: str | None
    blocks: tuple[StatedBlock, ...] | None
    areas: tuple[StatedLevel, ...]
    map: tuple[StatedPixel, ...]
    floor: StatedFloor | None
    isolated_cell: StatedLoneCell | None
    isolated_block: StatedLoneBlock | None
    attributes: StatedLabels | None
    cells: StatedCells | None = None
    settlements: StatedSettlements | None = None

    @property
    def largest(self) -> float | None:
        """The largest standard error of a cell; None where it depends on the data."""
        return None if self.blocks is None else float(self.blocks[0].largest)

    @property
    def has_parts(self) -> bool:
        """Whether the tables have errors of parts of cells, each its own."""
        return self.cells is not None and self.cells.parts is not None
