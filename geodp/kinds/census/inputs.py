"""Confidential tables that partition the same people: checked, completed by rests, or fitted.

A file may contradict the relations of its own columns, where its office has perturbed or hidden
counts. Whether such a file is refused or fitted is asked before anything is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args

import numpy as np

from geodp.errors import Rule, UsageError, printable
from geodp.grid.axes import FORMULA, NO_FORMULA
from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.kinds.census.kind import Column
from geodp.kinds.census.margins import (
    HOUSEHOLDS,
    MEMBER,
    OUTSIDE,
    PERSONS,
    RANKED,
    REFERENCE,
    STATUS,
    Margin,
    Margins,
    household_status,
    in_order,
)
from geodp.kinds.households.inputs import SizedGrid
from geodp.mechanisms.parts.measuring import TrueParts
from geodp.options.option import as_keyword
from geodp.options.shared import DEFAULT_SIZE, MAX_SIZE
from geodp.table.counts import CountTable, coalesce
from geodp.typing import IntArray, KeyArray

STATUS_NAMES = ("households", "persons in households", "persons outside households")
"""Default names of the columns of households, of their members, and of all others."""

MAX_COLUMNS = 490
"""Most columns: SQLite takes 2,000, and each has a standard error and two ends beside it."""

Contradictions = Literal["refuse", "fit"]

EXPECTED = Rule(
    "census-tables",
    "Give the persons of every cell, and each margin by its name on the same map with attributes: "
    'margins={"sex": table}, where the last attribute of its grid is named sex, and those above '
    "it are those of another margin, which it divides.",
)

ASKED = Rule(
    "contradictions-unasked",
    "Say what happens where counts contradict each other, before anything is read: "
    "contradictions='refuse' (--contradictions refuse), or 'fit', which changes the counts of "
    "margins until they add up.",
)

CONTRADICTED = Rule(
    "census-contradicts",
    "In some cell, the parts of the margin {margin} do not add up to {of}. If its office has "
    "perturbed or hidden counts, choose contradictions='fit' (--contradictions fit); if some have "
    "none of these labels, name the rest: rest={{'{margin}': 'not stated'}} (--rest "
    "{margin}='not stated').",
)

MORE_HOUSEHOLDS = Rule(
    "census-households-above-persons",
    "Some cell has more households than persons. Every household is counted where it lives, and "
    "has a person: leave empty dwellings out.",
)

IMPOSSIBLE_HOUSEHOLDS = Rule(
    "census-households-impossible",
    "In some cell, persons in households are more than the persons, or are not from 1 to {size} "
    "for each household. Take tables of one date, give a larger size (--max-size, max_size=), or "
    "choose contradictions='fit' (--contradictions fit), which trims them.",
)

MARGINS_OF_HOUSEHOLDS = Rule(
    "census-members-and-margins",
    "Margins of households go with households alone: leave the persons in households out "
    "(--members, members=), or publish the margins in a release of their own.",
)

SIZES_ALONE = Rule(
    "census-sizes-without-members",
    "Households by size go with the persons in households on the same map (members=, [members]), "
    "and have one attribute named size, with the labels 1, 2, 3 ... and the last one and more. "
    "Without these persons, sizes are a margin of households (household_margins=, "
    "--household-margin).",
)

IMPOSSIBLE_SIZES = Rule(
    "census-sizes-impossible",
    "In some cell, persons in households are more than the persons, fewer than households by size "
    "have, or more than those of the last size can have. Take tables of one date, or give a larger "
    "size (--max-size, max_size=).",
)

FIT_SIZES = Rule(
    "census-fit-sizes",
    "contradictions='fit' (--contradictions fit) is for households without sizes: one person could "
    "change several trimmed sizes. Take tables that agree, or leave the sizes out.",
)

FIT_ALONE = Rule(
    "census-fit-nested",
    "contradictions='fit' (--contradictions fit) is for margins that divide the persons: one "
    "person would change several parts where {margin}, which divides {of}, is fitted, or has a "
    "rest of what was fitted.",
)


ADDS_UP_FACT = (
    "that in every cell of the input the parts of {margin} add up to {of}: other tables are "
    "refused before anything is charged"
)
HOUSEHOLDS_FACT = (
    "that no cell of the input has more households than persons: other tables are refused before "
    "anything is charged"
)
POSSIBLE_FACT = (
    "that in every cell of the input persons in households are at most the persons, and from 1 to "
    "{size} for each household: other tables are refused before anything is charged"
)
SIZED_FACT = (
    "that in every cell of the input households by size can have the persons in households: other "
    "tables are refused before anything is charged"
)
FITTED_FACT = (
    "what the hiding or perturbation of counts reveals that the input already had: parts that did "
    "not add up were changed until they did, and protected is one person in the file as it was"
)
"""Public facts of a release whose tables :meth:`CensusTables.of` has checked."""


@dataclass(frozen=True, eq=False, repr=False)
class CensusTables:
    """Confidential counts of persons, perhaps households, and parts, all of which add up.

    Attributes
    ----------
    margins : Margins
    columns : tuple of Column
    tables : mapping of str to CountTable
        All tables by name, each on its own grid.
    read : tuple of CountTable
        What was read, for its facts.
    contradictions : {"refuse", "fit"}
    """

    margins: Margins
    columns: tuple[Column, ...]
    tables: Mapping[str, CountTable]
    read: tuple[CountTable, ...]
    contradictions: Contradictions
    changed: int = field(default=0)
    """How many cells were fitted: confidential, for the record of a check."""

    @property
    def ground(self) -> Grid:
        """The map."""
        return self.tables[PERSONS].grid

    @classmethod
    def of(
        cls,
        persons: CountTable,
        margins: Mapping[str, CountTable],
        *,
        households: CountTable | None = None,
        members: CountTable | None = None,
        max_size: int = DEFAULT_SIZE,
        household_margins: Mapping[str, CountTable] | None = None,
        rest: Mapping[str, str] | None = None,
        within: Mapping[str, tuple[str, str]] | None = None,
        columns: Sequence[Column] = (),
        contradictions: Contradictions | None,
    ) -> CensusTables:
        """Check tables, and complete them; see :func:`geodp.census.publish`.

        Raises
        ------
        UsageError
            Tables that do not go together, or contradict each other and are not to be fitted.
        """
        contradictions = require_choice(contradictions)
        homes, rest, within = dict(household_margins or {}), dict(rest or {}), dict(within or {})
        counted = [one for one in (households, members) if one is not None]
        given = [persons, *margins.values(), *homes.values()]
        if not all(isinstance(one, CountTable) for one in (*given, *counted)):
            raise UsageError(EXPECTED)
        if homes and households is None:
            raise UsageError(EXPECTED)
        if members is not None and (homes or households is None or STATUS in margins):
            raise UsageError(MARGINS_OF_HOUSEHOLDS if homes else EXPECTED)
        tables, changed = {PERSONS: persons}, 0
        size = None if members is None else max_size
        grids = {name: one.grid for name, one in margins.items()}
        grids_of_homes = {name: one.grid for name, one in homes.items()}
        relations = relate_margins(
            persons.grid,
            grids,
            None if households is None else grids_of_homes,
            max_size=size,
            sizes=1 if households is None else count_sizes(households.grid, members is not None),
            rest=rest,
            within=within,
        )
        if households is not None:
            status = next((one for one in relations.margins if one.max_size), None)
            name, table, changed = _count_homes(persons, counted, status, contradictions)
            tables[name] = table
            given += counted
        for margin in relations.margins:
            if margin.name in tables:
                continue
            table = {**margins, **homes}[margin.name]
            whole = _places(tables[margin.of])
            if contradictions == "fit" and margin.name in rest and margin.of in margins:
                raise UsageError(FIT_ALONE.format(margin=margin.name, of=margin.of))
            parts = _complete(relations, margin, table, whole, margin.name in rest)
            if parts is None:
                if contradictions == "refuse":
                    raise UsageError(CONTRADICTED.format(margin=margin.name, of=margin.of))
                if margin.of != PERSONS:
                    raise UsageError(FIT_ALONE.format(margin=margin.name, of=margin.of))
                parts, some = fit_margin(margin, table, whole, rest.get(margin.name))
                changed += some
            tables[margin.name] = _of_parts(relations, persons.grid, margin, parts)
        named = tuple(columns) or name_columns(relations)
        require_columns(relations, named)
        return cls(relations, named, tables, tuple(given), contradictions, changed)

    @property
    def facts(self) -> tuple[str, ...]:
        """The sentences of the card that follow from the checks."""
        fits = self.contradictions == "fit"
        found = [
            ADDS_UP_FACT.format(margin=one.name, of=one.of)
            for one in self.margins.margins
            if one.of != PERSONS or not fits
            if not one.max_size
        ]
        found += [HOUSEHOLDS_FACT] * self.margins.households
        found += [
            POSSIBLE_FACT.format(size=one.max_size)
            for one in self.margins.margins
            if one.max_size and not fits
        ]
        found += [SIZED_FACT] * any(one.sizes > 1 for one in self.margins.margins if one.max_size)
        return (*found, *([FITTED_FACT] if fits else []))

    def truths(self) -> Iterator[tuple[str, TrueParts]]:
        """Yield the counts of every margin by the parts of cells of the map."""
        for one in self.margins.margins:
            yield one.name, _places(self.tables[one.name])


def require_choice(contradictions: str | None) -> Contradictions:
    """Return the rule for counts that contradict each other; UsageError without one."""
    if contradictions not in get_args(Contradictions):
        raise UsageError(ASKED)
    return cast(Contradictions, contradictions)


def _count_homes(
    persons: CountTable,
    counted: Sequence[CountTable],
    status: Margin | None,
    contradictions: Contradictions,
) -> tuple[str, CountTable, int]:
    """Return the name and the table of households, or of all persons by household status.

    ``counted``: households, and perhaps their members, whose margin is ``status``. Then the number
    of fitted cells.
    """
    households, *others = counted
    grids = [one.grid for one in counted]
    if grids[0].attributes:
        joint = split_grid(grids[0])
        assert joint is not None  # as sizes lie below the cells
        grids[0] = joint.map
    if any(one != persons.grid for one in grids):
        raise UsageError(EXPECTED)
    if status is None:
        if (households.count > persons.counts_at(households.key)).any():
            raise UsageError(MORE_HOUSEHOLDS)
        return HOUSEHOLDS, households, 0
    if status.sizes > 1:
        if contradictions == "fit":
            raise UsageError(FIT_SIZES)
        made = divide_by_size(persons, households, others[0], status)
        return STATUS, _of_parts(Margins((status,)), persons.grid, status, made), 0
    parts, changed = divide_members(persons, households, others[0], status.max_size)
    if changed and contradictions == "refuse":
        raise UsageError(IMPOSSIBLE_HOUSEHOLDS.format(size=status.max_size))
    return STATUS, _of_parts(Margins((status,)), persons.grid, status, parts), changed


def count_sizes(grid: Grid, has_members: bool) -> int:
    """Count the sizes of households by the grid of their table; 1 without an attribute of sizes.

    Raises UsageError for other attributes, and for sizes without the persons in households.
    """
    if not grid.attributes:
        return 1
    if len(grid.attributes) > 1 or not has_members:
        raise UsageError(SIZES_ALONE)
    return SizedGrid.of(grid).max_size


def divide_by_size(
    persons: CountTable, by_size: CountTable, members: CountTable, status: Margin
) -> TrueParts:
    """Count households, those of every further size or more, other members and persons outside.

    One person more in a cell changes one of these counts by 1 (docs/proofs/census.md).

    Raises
    ------
    UsageError
        For cells in which these persons and households cannot be.
    """
    sizes, places = status.sizes, _places(by_size)
    cells = np.union1d(np.union1d(persons.key, members.key), places.cell)
    table = np.zeros((cells.size, len(status.labels)), np.int64)
    table[np.searchsorted(cells, places.cell), places.part] = places.count
    # Households of a size or more have a person who is counted as so many.
    table[:, :sizes] = table[:, sizes - 1 :: -1].cumsum(axis=1)[:, ::-1]
    inside = members.counts_at(cells)
    table[:, -2] = inside - table[:, :sizes].sum(axis=1)
    table[:, -1] = persons.counts_at(cells) - inside
    most = (status.max_size - sizes) * table[:, sizes - 1]
    if (table[:, -2:] < 0).any() or (table[:, -2] > most).any():
        raise UsageError(IMPOSSIBLE_SIZES)
    at, part = np.nonzero(table)
    return TrueParts(cells[at], part.astype(np.int64), table[at, part])


def divide_members(
    persons: CountTable, households: CountTable, members: CountTable, max_size: int
) -> tuple[TrueParts, int]:
    """Count households, their other members, and persons outside households, in every cell.

    Persons in households are trimmed to the persons, and households to what their members can be.
    One person more in a cell changes one of the three counts by 1 (docs/proofs/census.md).

    Returns
    -------
    parts : TrueParts
    changed : int
        Number of cells that were trimmed: confidential.
    """
    cells, count = persons.key, persons.count
    homes, inside = (one.counts_at(cells) for one in (households, members))
    some = np.minimum(inside, count)
    first = np.clip(homes, -(-some // max_size), some)
    changed = int(((some != inside) | (first != homes)).sum())
    changed += np.setdiff1d(np.union1d(households.key, members.key), cells).size
    table = np.stack([first, some - first, count - some], axis=1)
    at, part = np.nonzero(table)
    return TrueParts(cells[at], part.astype(np.int64), table[at, part]), changed


def _places(table: CountTable) -> TrueParts:
    """Return the cells, parts and counts of a table."""
    joint = split_grid(table.grid)
    assert joint is not None  # as attributes lie below the cells
    return TrueParts(*joint.split(table.key), table.count)


def relate_margins(
    ground: Grid,
    persons: Mapping[str, Grid],
    households: Mapping[str, Grid] | None,
    *,
    max_size: int | None = None,
    sizes: int = 1,
    rest: Mapping[str, str],
    within: Mapping[str, tuple[str, str]],
) -> Margins:
    """Relate margins by the grids of their tables.

    Parameters
    ----------
    ground : Grid
        The map.
    persons, households : mapping of str to Grid
        Of the margins of both populations; None: households are not counted.
    max_size : int, optional
        Most persons of a household, where households and their members are parts of the persons.
    sizes : int
        How many sizes of households are told apart then, the last one and more.
    rest, within : mapping
        See :func:`geodp.census.publish`.
    """
    listed = [
        _name_margin(ground, name, one, of, rest.get(name), within.get(name, ()))
        for of, some in ((PERSONS, persons), (HOUSEHOLDS, households or {}))
        for name, one in some.items()
    ]
    if unknown := {*rest, *within} - {one.name for one in listed}:
        raise UsageError(
            f"There is no margin {min(unknown)}, of which a rest or a part above is named.",
            code="census-margin-unknown",
        )
    if max_size is None:
        return Margins(in_order(listed), households is not None)
    listed.append(household_status(MAX_SIZE.check(max_size, as_keyword), sizes))
    return Margins(in_order(listed))


def _name_margin(
    ground: Grid,
    name: str,
    grid: Grid,
    population: str,
    rest: str | None,
    within: Sequence[str],
) -> Margin:
    """Read a margin of the attributes of its table's grid."""
    *above, own = ("", *(one.name for one in grid.attributes))
    expected = ground
    for one in grid.attributes:
        expected = expected.with_attribute(one.name, one.labels)
    if own != name or expected != grid:
        raise UsageError(EXPECTED)
    labels = grid.attributes[-1].labels
    more = (() if rest is None else (rest,)) + (*within[1:],)
    inside = within[0] if within else ""
    return Margin(name, above[-1] or population, (*labels, *more), inside)


def _complete(
    relations: Margins, margin: Margin, table: CountTable, whole: TrueParts, has_rest: bool
) -> TrueParts | None:
    """Return the parts with their rest; None where they do not add up to what they divide."""
    labels, given = len(margin.labels), len(table.grid.attributes[-1].labels)
    places = _places(table)
    # Cells and parts that the margin divides, as one number each.
    of = places.part // given
    base = np.uint64(max(int(whole.part.max(initial=0)), int(of.max(initial=0))) + 1)
    mine, sums = coalesce(places.cell * base + of.astype(np.uint64), places.count)
    theirs, total = coalesce(whole.cell * base + whole.part.astype(np.uint64), whole.count)
    at = np.searchsorted(theirs, mine)
    there = at < theirs.size
    if not there.all() or not (theirs[at] == mine).all() or (sums > total[at]).any():
        return None
    left = total.copy()
    left[at] -= sums
    part = (theirs % base).astype(np.int64)
    # What is left is the rest, or outside of the part that the margin divides.
    label = np.full(theirs.size, labels - 1)
    if margin.within:
        above = relations.path(margin.of)[-1].labels
        inside = part % len(above) == above.index(margin.within)
        label[inside] = given
        if not inside[at].all() or (not has_rest and left[inside].any()):
            return None
    elif not has_rest and left.any():
        return None
    some = left > 0
    cell = np.concatenate([places.cell, theirs[some] // base])
    part = np.concatenate([of * labels + places.part % given, (part * labels + label)[some]])
    return _in_order(cell, part, np.concatenate([places.count, left[some]]))


def _in_order(cell: KeyArray, part: IntArray, count: IntArray) -> TrueParts:
    """Put parts in the order of cells."""
    order = np.lexsort((part, cell))
    return TrueParts(cell[order], part[order], count[order])


def _of_parts(relations: Margins, ground: Grid, margin: Margin, parts: TrueParts) -> CountTable:
    """Return the table of all parts of a margin."""
    grid = relations.grid(ground, margin.name)
    joint = split_grid(grid)
    assert joint is not None
    return CountTable.of_cells(grid, joint.join(parts.cell, parts.part), parts.count)


def fit_margin(
    margin: Margin, table: CountTable, persons: TrueParts, rest: str | None
) -> tuple[TrueParts, int]:
    """Change the parts of every cell until they add up to its persons.

    These are the whole numbers not below 0 that are nearest to the given ones, in the sum of
    squares; of equally near ones those that add more to earlier labels. One person more in a cell,
    in one part or in the rest, changes one fitted part by 1 (docs/proofs/census.md).

    Returns
    -------
    parts : TrueParts
    changed : int
        Number of cells that were changed: confidential.
    """
    labels, places = len(margin.labels), _places(table)
    cells = persons.cell
    inside = np.isin(places.cell, cells)
    row = np.searchsorted(cells, places.cell[inside])
    z = np.zeros((cells.size, labels), np.int64)
    z[row, places.part[inside]] = places.count[inside]
    if rest is not None:
        z[:, -1] = np.maximum(persons.count - z.sum(axis=1), 0)
    fitted = nearest_whole(z, persons.count)
    changed = int((fitted != z).any(axis=1).sum() + np.unique(places.cell[~inside]).size)
    at, part = np.nonzero(fitted)
    return TrueParts(cells[at], part.astype(np.int64), fitted[at, part]), changed


def nearest_whole(z: IntArray, total: IntArray) -> IntArray:
    """Return the nearest whole numbers from 0 on with given sums: int64[n, k].

    Parameters
    ----------
    z : int64[n, k]
        Not negative.
    total : int64[n]
        Not negative.

    Examples
    --------
    >>> nearest_whole(np.array([[5, 1, 0], [5, 1, 0]]), np.array([4, 8])).tolist()
    [[4, 0, 0], [6, 2, 0]]
    """
    k = z.shape[1]
    order = np.sort(z, axis=1)[:, ::-1]
    lacks = total[:, None] - np.cumsum(order, axis=1)
    number = np.arange(1, k + 1)
    # Real numbers move alike, those that would fall below 0 become 0; whole ones by as much or by
    # one less.
    some = np.maximum((order * number + lacks > 0).sum(axis=1) - 1, 0)[:, None]
    by = np.take_along_axis(lacks // number, some, 1)
    moved = np.maximum(z + by, 0)
    takes = z + by >= 0
    first = np.cumsum(takes, axis=1) <= (total - moved.sum(axis=1))[:, None]
    return np.asarray(moved + (takes & first), np.int64)


def name_columns(margins: Margins) -> tuple[Column, ...]:
    """Name a column for each population and each part, by its labels."""
    columns = [Column(name, name) for name in margins.populations]
    parts = []
    for one in margins.margins:
        if one.max_size:
            columns += status_columns(*STATUS_NAMES, one.sizes)
            continue
        labels: list[tuple[str, ...]] = [()]
        for each in margins.path(one.name):
            labels = [(*some, label) for some in labels for label in each.labels]
        parts += [(one.name, labels[number]) for number in margins.list_parts(one.name)]
    plain = [" ".join(each) for _, each in parts]
    for (table, each), name in zip(parts, plain, strict=True):
        alone = plain.count(name) == 1 and name not in margins.populations
        columns.append(Column(name if alone else f"{table} {name}", table, (each,)))
    return tuple(columns)


def status_columns(
    households: str, members: str, outside: str, sizes: int = 1
) -> tuple[Column, ...]:
    """Name columns of households, of the persons in them, and of all others.

    ``sizes``: as of :func:`household_status`; households of every further size or more have columns
    of their own.
    """
    ranks = [(RANKED.format(number),) for number in range(2, sizes + 1)]
    return (
        Column(households, STATUS, ((REFERENCE,),)),
        *(Column(f"{households} of {n} or more", STATUS, (one,)) for n, one in enumerate(ranks, 2)),
        Column(members, STATUS, ((REFERENCE,), *ranks, (MEMBER,))),
        Column(outside, STATUS, ((OUTSIDE,),)),
    )


def require_columns(margins: Margins, columns: Sequence[Column]) -> None:
    """Raise UsageError for columns of unknown tables or parts, and for a name that is repeated."""
    if len(columns) > MAX_COLUMNS:
        raise UsageError(
            f"A census has at most {MAX_COLUMNS} columns, as databases take no more with their "
            "errors and intervals: publish some of them in a release of their own.",
            code="census-columns-too-many",
        )
    names = [one.code or one.name for one in columns]
    for one in columns:
        path = margins.path(one.table) if one.table in margins.tables else ()
        known = one.table in margins.tables and bool(one.parts) == bool(path)
        known = known and all(
            len(each) == len(path)
            and all(label in own.labels for label, own in zip(each, path, strict=True))
            for each in one.parts
        )
        once = names.count(one.code or one.name) == 1 and len({*one.parts}) == len(one.parts)
        if not known or not once or one.name != printable(one.name.strip()) or not one.name:
            raise UsageError(
                f"The column {printable(one.name)!r} must have a name of its own, a table of the "
                "release, and parts of its margin, each once.",
                code="census-columns",
            )
        if one.name.startswith(FORMULA):
            raise UsageError(NO_FORMULA)
