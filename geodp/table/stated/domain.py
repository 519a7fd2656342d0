"""The domain of a release, as its card states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal

from geodp.table.plain import read_plain
from geodp.table.stated.release import Count, Digest, Size

if TYPE_CHECKING:
    from geodp.grid.grid import Grid


@dataclass(frozen=True)
class StatedLetters:
    """A table of letters of squares: the side of one, and rows from the north."""

    side: str
    rows: tuple[str, ...]


@dataclass(frozen=True)
class StatedCodes:
    """The description of the codes of a grid, as its TOML file gave it; numbers are exact texts.

    See :mod:`geodp.grid.codes.description`.
    """

    name: str
    title: str
    source: str
    crs: str
    origin: tuple[str, str]
    sizes: Mapping[str, str]
    extent: tuple[str, str, str, str]
    areas: tuple[str, ...]
    codes: Mapping[str, tuple[str, ...]]
    examples: Mapping[str, tuple[str, str]]
    letters: Mapping[str, StatedLetters] | None = None


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
    definition : StatedCodes, optional
        Definition of a code system that a description defines; None for those of a standard.
    """

    rows: Size
    cols: Size
    code: str | None
    first: tuple[int, int]
    crs: str | None
    transform: tuple[float, float, float, float, float, float] | None
    bounds: tuple[float, float, float, float]
    definition: StatedCodes | None = None


@dataclass(frozen=True)
class StatedAttribute:
    """An attribute and its labels."""

    attribute: str
    labels: tuple[str, ...]


@dataclass(frozen=True)
class StatedTable:
    """The public table of a hierarchy: regions on each level, its source and its digest.

    ``placed``: whether units stand in Morton order of the middles of their outlines' boxes, and
    not in that of their codes.
    """

    levels: Mapping[str, Size]
    source: str
    sha256: Digest
    placed: bool | None = None


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
class StatedOutlines:
    """Public outlines of units: their CRS, west, south, east and north of all, and their digest."""

    crs: str
    bounds: tuple[float, float, float, float]
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
    outlines : StatedOutlines, optional
        Outlines of units, for a table that has them.
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
    outlines: StatedOutlines | None = None

    @property
    def regions(self) -> StatedTable | None:
        """The public table of regions that orders the cells, if one does."""
        return self.order.regions if isinstance(self.order, StatedHierarchy) else None

    @property
    def source(self) -> str | None:
        """Source of the table or mask that limits the domain; None for a full box."""
        limit = self.regions or self.mask
        return None if limit is None else limit.source

    def lacks_table(self, grid: Grid) -> bool:
        """Whether a table of regions orders the cells, and a grid of this card lacks it."""
        return self.regions is not None and not grid.areas.tables

    @property
    def has_units(self) -> bool:
        """Whether the cells are units of a public table, which gives them codes, and no map."""
        if self.regions is None:
            return False
        if any(one.rows != 1 or one.code or one.crs for one in self.places):
            return False
        # Units of a table are exactly the cells: as many as its finest level has, times the labels.
        finest = [*self.regions.levels.values()][-1]
        labels = prod(len(one.labels) for one in self.attributes)
        return bool(finest ** len(self.places) * labels == self.cells)

    @classmethod
    def of(cls, grid: Grid) -> StatedDomain:
        """Describe a grid for a card."""
        return read_plain(cls, grid.describe(), "domain")
