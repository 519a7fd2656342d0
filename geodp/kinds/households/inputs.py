"""Counts of persons and households, and the two streams that one person changes by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.layout.presets import presets
from geodp.kinds.households.options import PROTECTED
from geodp.options.option import as_keyword
from geodp.table.counts import CountTable

LARGEST_SIZE = 100
"""Largest possible ``max_size``: caps of nodes stay within int64."""

DEFAULT_SIZE = 7
"""Default of ``max_size``: most offices publish sizes up to 7 and more."""

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

    def with_others(self, others: CountTable | None) -> Streams:
        """Return the streams with persons outside households; UsageError for another grid."""
        if others is not None and others.grid != self.households.grid:
            raise UsageError(OTHERS_GRID)
        return replace(self, others=others)


def require_size(max_size: object) -> int:
    """Return a largest size of households; UsageError for none from 2 to 100."""
    size: int = PROTECTED.one("max_size").check(max_size, as_keyword)
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
