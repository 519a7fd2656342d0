"""Counts of persons and households, and the two streams that one person changes by one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint, split_grid
from geodp.table.counts import CountTable, coalesce
from geodp.typing import IntArray, KeyArray

LARGEST_SIZE = 100
"""Largest possible ``max_size``: caps of nodes stay within int64."""

DEFAULT_SIZE = 7
"""Default of ``max_size``: most offices publish sizes up to 7 and more."""

MOST_PERSONS = 1 << 52
"""Most persons of a table, so that ``max_size`` times its households stays within int64."""

TWO_TABLES = Rule(
    "households-tables-expected",
    "Give two tables of counts on one grid, persons and households; or by_size=, one table whose "
    "only attribute is the size of households.",
)

OTHER_GRID = Rule(
    "households-grid-differs",
    "Persons and households have different grids; read both on one public grid.",
)

MORE_HOUSEHOLDS = Rule(
    "households-above-persons",
    "There is a cell with more households than persons: both must be of one date and one grid, and "
    "each household needs a counted person. Nothing was charged.",
)

NO_HOUSEHOLDS = Rule(
    "persons-without-households",
    "There is a cell with persons and no household: leave persons outside households out, such as "
    "those in institutions, and take both tables of one date and one grid. Nothing was charged.",
)

TOO_LARGE = Rule(
    "persons-above-max-size",
    "There is a cell with more than {size} persons for each household: leave persons outside "
    "households out, or choose a larger max_size (--max-size). Nothing was charged.",
)

POSSIBLE_FACT = (
    "that in every cell persons are at least the households and at most {size} for each of them: "
    "other tables are refused before anything is charged"
)
"""Public fact of a release whose two tables :func:`streams_of` has checked."""

CLIPPED_FACT = "that a household of more than {size} persons is counted as one of {size}"
"""Public fact of a release of households by size, the last of which stands for larger ones, too."""


@dataclass(frozen=True, eq=False)
class Streams:
    """Households, and their members beyond the first.

    Attributes
    ----------
    households, members : CountTable
        On one grid without attributes.
    facts : tuple of str
        Public facts that follow from what was checked.
    others : CountTable or None
        Persons outside households, on the same grid.
    """

    households: CountTable = field(repr=False)
    members: CountTable = field(repr=False)
    facts: tuple[str, ...] = ()
    others: CountTable | None = field(default=None, repr=False)

    @property
    def tables(self) -> list[CountTable]:
        """All streams; one person changes one of them, by one."""
        tables = [self.households, self.members]
        return tables if self.others is None else [*tables, self.others]

    def with_others(self, others: CountTable | None) -> Streams:
        """Return the streams with persons outside households; UsageError for another grid."""
        if others is not None and others.grid != self.households.grid:
            raise UsageError(OTHER_GRID)
        return replace(self, others=others)


def require_size(max_size: object) -> int:
    """Return a largest size of households; UsageError for none from 2 to 100."""
    if isinstance(max_size, bool) or not isinstance(max_size, int):
        raise UsageError(
            "max_size must be a whole number of persons.", code="households-max-size-form"
        )
    if not 2 <= max_size <= LARGEST_SIZE:
        raise UsageError(
            f"max_size must be from 2 to {LARGEST_SIZE} persons.", code="households-max-size"
        )
    return max_size


def require_map_only(grid: Grid) -> None:
    """Raise UsageError for a grid with attributes."""
    if grid.attributes:
        raise UsageError(
            "Persons and households are released without attributes, as the members of one "
            "household have different labels; leave the attributes out.",
            code="households-with-attributes",
        )


def streams_of(persons: CountTable, households: CountTable, max_size: int) -> Streams:
    """Split persons into households and members beyond the first.

    Raises UsageError for tables of different grids, for a grid with attributes, and for a cell that
    no households of 1 to ``max_size`` persons can make.
    """
    grid = persons.grid
    if households.grid != grid:
        raise UsageError(OTHER_GRID)
    require_map_only(grid)
    if persons.count.sum() > MOST_PERSONS:
        raise UsageError(
            "There are more than 2**52 persons, which no population has; check the unit.",
            code="households-too-many-persons",
        )
    key = np.union1d(persons.key, households.key)
    people, homes = persons.counts_at(key), households.counts_at(key)
    # Each is told apart, as each has another remedy; the card states that none occurred.
    if (homes > people).any():
        raise UsageError(MORE_HOUSEHOLDS)
    if (homes == 0).any():
        raise UsageError(NO_HOUSEHOLDS)
    if (people > max_size * homes).any():
        raise UsageError(TOO_LARGE.format(size=max_size))
    members = CountTable.from_keys(grid, key, people - homes)
    return Streams(households, members, (POSSIBLE_FACT.format(size=max_size),))


@dataclass(frozen=True, eq=False)
class Sizes:
    """Households by size, from 1 to ``max_size``, which stands for all larger ones, too.

    Attributes
    ----------
    table : CountTable
        On a grid whose only attribute, below the cells, is the size.
    joint : Joint
        Its cells, without the size.
    facts : tuple of str
        Public facts about how sizes were read.
    """

    table: CountTable = field(repr=False)
    joint: Joint
    facts: tuple[str, ...] = ()

    @property
    def max_size(self) -> int:
        """The largest size."""
        return self.joint.parts

    def streams(self) -> Streams:
        """Return the streams: n households of size s have n (s - 1) members beyond the first."""
        cell, part = self.joint.split(self.table.key)
        households = coalesce(cell, self.table.count)
        members = coalesce(cell, self.table.count * part)
        return Streams(self._make(*households), self._make(*members), self.facts)

    def _make(self, key: KeyArray, count: IntArray) -> CountTable:
        """Return counts of the cells, with the bound and the reading of the table."""
        table = self.table
        return CountTable.of_cells(
            self.joint.map, key, count, bound=table.bound, reading=table.reading
        )


def sizes_of(table: CountTable, max_size: int) -> Sizes:
    """Read sizes from the labels of a table, and count larger households as the largest.

    Raises UsageError for a grid without sizes from 1 on as its only attribute.
    """
    joint, folded = split_sizes(table.grid, max_size)
    if table.count.sum() > MOST_PERSONS // LARGEST_SIZE:
        raise UsageError(
            "There are more than 2**45 households, which no country has; check the unit.",
            code="households-too-many",
        )
    # The last label stands for larger households, too, whoever has joined them.
    facts = (CLIPPED_FACT.format(size=folded.parts),)
    if folded is joint:
        return Sizes(table, joint, facts)
    cell, part = joint.split(table.key)
    key = folded.join(cell, np.minimum(part, folded.parts - 1))
    clipped = CountTable.of_cells(
        fold_grid(table.grid, max_size),
        *coalesce(key, table.count),
        bound=table.bound,
        reading=table.reading,
    )
    return Sizes(clipped, folded, facts)


def split_sizes(grid: Grid, max_size: int) -> tuple[Joint, Joint]:
    """Return cells and sizes of a grid, and the same with sizes up to ``max_size`` only.

    Raises UsageError as :func:`sizes_of`.
    """
    joint = split_grid(grid)
    sizes = () if len(grid.attributes) != 1 else _read_sizes(grid)
    if joint is None or sizes != tuple(range(1, len(sizes) + 1)) or len(sizes) < 2:
        raise UsageError(
            "Households by size need one attribute below the cells, whose labels are the sizes 1, "
            "2, 3 ... in order, the last one also for larger households, such as 7+.",
            code="households-size-labels",
        )
    folded = joint if len(sizes) <= max_size else split_grid(fold_grid(grid, max_size))
    assert folded is not None  # as sizes come last there, too
    return joint, folded


def fold_grid(grid: Grid, max_size: int) -> Grid:
    """Return a grid of households by size with sizes up to ``max_size`` only."""
    attribute, joint = grid.attributes[0], split_grid(grid)
    assert joint is not None
    if len(attribute.labels) <= max_size:
        return grid
    labels = (*attribute.labels[: max_size - 1], f"{max_size}+")
    return add_sizes(joint.map, attribute.name, labels)


def add_sizes(grid: Grid, name: str, labels: Sequence[str]) -> Grid:
    """Return a grid with an attribute of sizes below its cells."""
    # Of an order of areas, the map alone is in Morton order before an attribute is added.
    if grid.hierarchy is None and grid.areas.nested:
        plain = Grid(grid.places, (), grid.extents, grid.mask)
        return plain.with_attribute(name, labels).with_official_order()
    return grid.with_attribute(name, labels)


def list_sizes(max_size: int) -> tuple[str, ...]:
    """List the labels of sizes from 1 on, the last one for larger households, too.

    Examples
    --------
    >>> list_sizes(3)
    ('1', '2', '3+')
    """
    return (*map(str, range(1, max_size)), f"{max_size}+")


def _read_sizes(grid: Grid) -> tuple[int, ...]:
    """Read the number of persons in each label of the only attribute; 0 where there is none."""
    found = (
        re.findall(r"[0-9]+", unicodedata.normalize("NFKC", label))
        for label in grid.attributes[0].labels
    )
    return tuple(int(numbers[0]) if len(numbers) == 1 else 0 for numbers in found)
