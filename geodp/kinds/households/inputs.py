"""Counts of persons, households and sizes, and the streams that one person changes by one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import Joint, split_grid
from geodp.io.read.layout.presets import presets
from geodp.options.option import as_keyword
from geodp.options.shared import MAX_SIZE
from geodp.table.counts import CountTable, coalesce
from geodp.typing import IntArray, KeyArray

LARGEST_SIZE = 100
"""Largest possible ``max_size``: caps of nodes stay within int64."""

MOST_PERSONS = 1 << 52
"""Most persons of a table, so that ``max_size`` times its households stays within int64."""

TWO_TABLES = Rule(
    "households-tables-expected",
    "Give two tables of counts on one grid, persons and households; or by_size=, one table with "
    "the size of households as an attribute.",
)

OTHER_GRID = Rule(
    "households-grid-differs",
    "Persons and households have different grids; read both on one public grid.",
)

OTHERS_GRID = Rule(
    "households-others-grid",
    "Persons outside households are on another grid than households; read all on one public grid.",
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

    @property
    def all_members(self) -> CountTable:
        """All persons in households."""
        first, more = self.households, self.members
        key = np.union1d(first.key, more.key)
        count = first.counts_at(key) + more.counts_at(key)
        return CountTable.of_cells(first.grid, key, count, bound=more.bound, reading=more.reading)

    def with_others(self, others: CountTable | None) -> Streams:
        """Return the streams with persons outside households; UsageError for another grid."""
        if others is not None and others.grid != self.households.grid:
            raise UsageError(OTHERS_GRID)
        return replace(self, others=others)


def require_size(max_size: object) -> int:
    """Return a largest size of households; UsageError for none from 2 to 100."""
    size: int = MAX_SIZE.check(max_size, as_keyword)
    return size


def require_one_date(tables: Sequence[CountTable]) -> None:
    """Raise UsageError for tables whose layouts are of censuses of different dates."""
    read = [one.reading.public for one in tables if one.reading is not None]
    names = {one.layout.name for one in read if one is not None and one.layout is not None}
    # Layouts are known by their headers: nothing of a record is looked at.
    dates = sorted({one.date for one in presets() if one.name in names and one.date})
    if len(dates) > 1:
        raise UsageError(
            f"By their layouts the tables are of different dates, {' and '.join(dates)}: take both "
            "of one date.",
            code="households-dates-differ",
        )


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


CLIPPED_FACT = "that a household of more than {size} persons is counted as one of {size}"
"""Public fact of a release of households by size, the last of which stands for larger ones, too."""


SIZE = "size"
"""Name of the attribute of sizes where geodp makes or renames it."""

SIZE_NAMES = frozenset((SIZE, "household-size"))
"""Names of an attribute whose labels are sizes of households."""

NO_SIZES = Rule(
    "households-size-labels",
    "Households by size need one attribute below the cells, named size or household-size (or as "
    "--size-attribute, size_attribute=, says), whose labels are the sizes 1, 2, 3 ... in order, "
    "the last one also for larger households, such as 7+.",
)

TWO_SIZES = Rule(
    "households-sizes-twice",
    "By their names {names} are both sizes of households: rename the one that is none.",
)


@dataclass(frozen=True, eq=False)
class SizedGrid:
    """A grid of households by size, and perhaps by further attributes.

    Attributes
    ----------
    grid : Grid
    joint : Joint
        Its cells, and the combinations of labels of each: its parts.
    axis : int
        Number of the attribute of sizes among all attributes.
    """

    grid: Grid
    joint: Joint
    axis: int

    @classmethod
    def of(cls, grid: Grid) -> SizedGrid:
        """Find the sizes of a grid; UsageError where no attribute, or more than one, has them."""
        joint = split_grid(grid)
        # Labels alone do not tell sizes: rooms, cars and children are numbered as well.
        named = [i for i, one in enumerate(grid.attributes) if _means_size(one.name)]
        if len(named) > 1:
            raise UsageError(
                TWO_SIZES.format(names=" and ".join(grid.attributes[i].name for i in named))
            )
        if joint is None or not named or not _are_sizes(grid.attributes[named[0]].labels):
            raise UsageError(NO_SIZES)
        return cls(grid, joint, named[0])

    @classmethod
    def choose(cls, grid: Grid, attribute: str | None) -> SizedGrid:
        """Take the sizes from an attribute of any name, which is then named size.

        Parameters
        ----------
        grid : Grid
        attribute : str or None
            Its name; None: as :meth:`of`.
        """
        if attribute is None:
            return cls.of(grid)
        joint, named = split_grid(grid), [(one.name, one.labels) for one in grid.attributes]
        names = [name for name, _ in named]
        if joint is None or attribute not in names or not _are_sizes(dict(named)[attribute]):
            raise UsageError(NO_SIZES)
        if _means_size(attribute) and sum(map(_means_size, names)) == 1:
            return cls.of(grid)
        # The name tells whoever opens the release which attribute has the sizes.
        named = [(SIZE if name == attribute else name, labels) for name, labels in named]
        return cls.of(add_attributes(joint.map, named))

    @property
    def max_size(self) -> int:
        """The largest size."""
        return len(self.grid.attributes[self.axis].labels)

    @cached_property
    def size(self) -> IntArray:
        """Persons of a household of every part: int64[parts]."""
        return np.asarray(self._index()[self.axis] + 1, np.int64)

    def fold(self, max_size: int) -> SizedGrid:
        """Return the grid with sizes up to ``max_size`` only."""
        if self.max_size <= max_size:
            return self
        named = [(one.name, one.labels) for one in self.grid.attributes]
        name, labels = named[self.axis]
        named[self.axis] = (name, (*labels[: max_size - 1], f"{max_size}+"))
        return SizedGrid.of(add_attributes(self.joint.map, named))

    def move(self, key: KeyArray, folded: SizedGrid) -> KeyArray:
        """Return the keys of the folded grid in which the households of keys are counted."""
        cell, part = self.joint.split(key)
        index = self._index()
        index[self.axis] = np.minimum(index[self.axis], folded.max_size - 1)
        sizes = tuple(len(one.labels) for one in folded.grid.attributes)
        return folded.joint.join(cell, np.ravel_multi_index(tuple(index), sizes)[part])

    def _index(self) -> IntArray:
        """Return the labels of every part, by attribute: int64[attributes, parts]."""
        sizes = tuple(len(one.labels) for one in self.grid.attributes)
        return np.indices(sizes).reshape(len(sizes), -1)


@dataclass(frozen=True, eq=False)
class Sizes:
    """Households by size, from 1 to ``max_size``, which stands for all larger ones, too.

    Attributes
    ----------
    table : CountTable
    sized : SizedGrid
        Its grid.
    facts : tuple of str
        Public facts about how sizes were read.
    """

    table: CountTable = field(repr=False)
    sized: SizedGrid
    facts: tuple[str, ...] = ()

    @property
    def max_size(self) -> int:
        """The largest size."""
        return self.sized.max_size

    def streams(self) -> Streams:
        """Return the streams: n households of size s have n (s - 1) members beyond the first."""
        cell, part = self.sized.joint.split(self.table.key)
        households = coalesce(cell, self.table.count)
        members = coalesce(cell, self.table.count * (self.sized.size[part] - 1))
        return Streams(self._make(*households), self._make(*members), self.facts)

    def _make(self, key: KeyArray, count: IntArray) -> CountTable:
        """Return counts of the cells, with the bound and the reading of the table."""
        table, cells = self.table, self.sized.joint.map
        return CountTable.of_cells(cells, key, count, bound=table.bound, reading=table.reading)


def sizes_of(table: CountTable, max_size: int, attribute: str | None = None) -> Sizes:
    """Read sizes from the labels of a table, and count larger households as the largest.

    Raises UsageError as :meth:`SizedGrid.choose`, which explains ``attribute``.
    """
    sized = SizedGrid.choose(table.grid, attribute)
    joint = split_grid(table.grid)
    assert joint is not None  # as sizes were found
    if sized.grid is not table.grid:
        key = sized.joint.join(*joint.split(table.key))
        table = CountTable.of_cells(
            sized.grid, key, table.count, bound=table.bound, reading=table.reading
        )
    if table.count.sum() > MOST_PERSONS // LARGEST_SIZE:
        raise UsageError(
            "There are more than 2**45 households, which no country has; check the unit.",
            code="households-too-many",
        )
    folded = sized.fold(max_size)
    # The last label stands for larger households, too, whoever has joined them.
    facts = (CLIPPED_FACT.format(size=folded.max_size),)
    if folded is sized:
        return Sizes(table, sized, facts)
    key = sized.move(table.key, folded)
    clipped = CountTable.of_cells(
        folded.grid, *coalesce(key, table.count), bound=table.bound, reading=table.reading
    )
    return Sizes(clipped, folded, facts)


def add_sizes(grid: Grid, max_size: int) -> SizedGrid:
    """Return a grid of households by size, the last one for larger households, too.

    Examples
    --------
    >>> add_sizes(Grid.regular((2, 2)), 3).grid.attributes[0].labels
    ('1', '2', '3+')
    """
    labels = (*map(str, range(1, max_size)), f"{max_size}+")
    return SizedGrid.of(add_attributes(grid, [(SIZE, labels)]))


def add_attributes(grid: Grid, named: Sequence[tuple[str, Sequence[str]]]) -> Grid:
    """Return a grid with attributes below its cells, in the order of its areas."""
    # Of an order of areas, the map alone is in Morton order before an attribute is added.
    nested = grid.hierarchy is None and grid.areas.nested
    made = Grid(grid.places, (), grid.extents, grid.mask) if nested else grid
    for name, labels in named:
        made = made.with_attribute(name, labels)
    return made.with_official_order() if nested else made


def _means_size(name: str) -> bool:
    """Return whether an attribute is one of sizes of households by its name."""
    plain = unicodedata.normalize("NFKC", name).strip().lower()
    return re.sub(r"[\s_-]+", "-", plain) in SIZE_NAMES


def _are_sizes(labels: Sequence[str]) -> bool:
    """Return whether labels are the sizes 1, 2, 3 ... in order, a number in each."""
    found = [re.findall(r"[0-9]+", unicodedata.normalize("NFKC", label)) for label in labels]
    numbers = [int(each[0]) if len(each) == 1 else 0 for each in found]
    return len(numbers) > 1 and numbers == [*range(1, len(numbers) + 1)]
