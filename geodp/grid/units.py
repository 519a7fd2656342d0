"""Areal units as a domain of their own: blocks, tracts and counties, without any map.

The finest units are the cells of a grid of one row, in the order of their codes within the units
above them. They are also the finest level of the grid's hierarchy, so that every file of a release
names them and the table's digest covers their codes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, UsageError, printable
from geodp.grid.cells.choose import cells_of
from geodp.grid.cells.system import CellSystem
from geodp.grid.codes.arrays import LOST_ZEROS, as_array, require
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import parse_codes as parse_written
from geodp.grid.pairs import PairOrder

COUNTED_AS = "; codes that it does not list are counted as "
"""What stands between the source of a table and its unit for other codes."""


def grid_of_units(units: Mapping[str, Sequence[Any] | NDArray[Any]], source: str) -> Grid:
    """Return the grid whose cells are the finest units of a public table.

    Parameters
    ----------
    units : mapping of str to sequence
        Codes by level, the finest first: of every finest unit, and of the units that hold it.
    source : str
        Where the table comes from, in words; published with every release. By naming it you
        vouch that the table is public and was not made from the data.

    Raises
    ------
    CodeError
        A unit that is there twice or under two units, or a blank code; ``position`` says which.
    UsageError
        No unit, no level, a level's name that cannot be used, or lists of different lengths.

    Examples
    --------
    >>> grid = grid_of_units(
    ...     {"block": ["0012", "0011", "0021"], "tract": ["001", "001", "002"]}, "an example"
    ... )
    >>> grid.shape, grid.hierarchy.steps
    ((1, 3), (('tract', 1), ('block', 1)))
    >>> index_of_units(grid, ["0021", "0011"])
    array([[0, 0],
           [2, 0]])
    """
    texts = [np.array([str(code).strip() for code in codes], np.str_) for codes in units.values()]
    if not texts or not texts[0].size:
        raise UsageError("A table of units has at least one level and one unit.")
    if len({text.size for text in texts}) > 1:
        raise UsageError("A table of units has a code of every level for every finest unit.")
    _, first = np.unique(texts[0], return_index=True)
    if first.size < texts[0].size:
        raise CodeError(_first_missing(first, texts[0].size), TWICE)
    for finer, coarser in pairwise(texts):
        _, first, number = np.unique(finer, return_index=True, return_inverse=True)
        other = coarser != coarser[first][number]
        if other.any():
            raise CodeError(int(other.argmax()), TWO_PARENTS)
    place = np.empty(texts[0].size, np.int64)
    place[np.lexsort(texts)] = np.arange(place.size)
    levels = dict(zip(reversed([*units]), reversed(texts), strict=True))
    hierarchy = Hierarchy.of_cells(np.stack([np.zeros_like(place), place]), levels, source)
    return Grid.regular((1, place.size)).with_hierarchy(hierarchy)


def add_other(
    levels: Mapping[str, NDArray[Any]], source: str, other: str
) -> tuple[dict[str, NDArray[Any]], str]:
    """Return a table's levels with a unit for other codes on each, and its source, which says so.

    Raises UsageError for the name of a finest unit, and a blank one.
    """
    finest = next(iter(levels.values()))
    if not other.strip() or (finest == other).any():
        raise UsageError(
            "Name the unit for other codes (--other, other=) otherwise than every unit of the "
            "table, and not blank."
        )
    more = {level: np.append(codes, other) for level, codes in levels.items()}
    return more, f"{source}{COUNTED_AS}{printable(other)}"


def pairs_of_units(grid: Grid) -> Grid:
    """Return the pairs of all units: origins times destinations, both in one table.

    Pairs of units of one level are nodes of the order of cells, on every level.

    Parameters
    ----------
    grid : Grid
        Of :func:`grid_of_units`, without attributes.

    Raises UsageError for another grid, and for more pairs than a key can number.

    Examples
    --------
    >>> units = {"block": ["11", "12", "21"], "tract": ["1", "1", "2"]}
    >>> grid = pairs_of_units(grid_of_units(units, "an example"))
    >>> grid.size, grid.official_steps()
    (9, (('tract', 2), ('block', 2)))
    """
    table = grid.hierarchy
    if table is None or len(grid.places) != 1 or not has_units(grid):
        raise UsageError("Pairs of units need a grid of units, without pairs.")
    if grid.attributes:
        raise UsageError("Pairs of units take no attributes; publish each label on its own.")
    return Grid(grid.places * 2, order=PairOrder.of(table))


def has_units(grid: Grid) -> bool:
    """Whether the grid's cells are units: one row off the Earth, whose finest regions are cells."""
    table = grid.hierarchy
    if table is None or grid.shape[0] != 1 or grid.places[0].system is not None:
        return False
    return grid.places[0].crs is None and table.names_cells


def index_of_units(
    grid: Grid,
    codes: Sequence[str] | NDArray[Any],
    *,
    drops: bool = False,
    other: str | None = None,
) -> NDArray[np.int64]:
    """Row and column of finest units: int64[2, n].

    Parameters
    ----------
    grid : Grid
        Of :func:`grid_of_units`.
    codes : sequence of str, or of whole numbers if no unit's code begins with 0
        Of cells of H3 and S2 in any spelling of theirs, such as ids of 64 bits.
    drops : bool
        Whether a code that is no unit has row and column -1, outside of every domain.
    other : str, optional
        The unit that takes every code that is no unit, such as "abroad"; a blank stays an error.

    Raises CodeError at the first code that is no unit, and always for a cell of H3 or S2 of another
    level than the grid's; UsageError for a grid without units or without the unit `other`.
    """
    table = grid.hierarchy
    if table is None or not has_units(grid):
        raise UsageError("The grid has no units; make it of a table of units.")
    given, cells = as_array(codes).reshape(-1), cells_of(table)
    if cells is None and given.dtype.kind in "iu" and given.size and _begin_with_zero(table):
        raise CodeError(0, LOST_ZEROS.format("these units"))
    asked = np.array([str(code).strip() for code in given.tolist()], np.str_)
    at, wrong = _find(table, asked)
    if cells is not None:  # numbers are ids, and no tokens of digits alone
        wrong |= [isinstance(code, int) for code in given.tolist()]
        rest = np.flatnonzero(wrong)
        with _positions(rest):
            at[rest], wrong[rest] = _find_cells(table, *cells, given[rest], other is not None)
    if other is not None:
        home = np.flatnonzero(np.array(table.codes[-1], np.str_) == other)
        if not home.size:
            raise UsageError(NO_OTHER)
        at = np.where(wrong & (asked != ""), home[0], at)
        wrong &= asked == ""
    if wrong.any() and not drops:
        raise CodeError(int(wrong.argmax()), UNKNOWN if cells is None else OUTSIDE)
    return np.where(wrong, -1, table.cell[:, at])


@lru_cache(maxsize=4)
def _sorted_units(table: Hierarchy) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Return the codes of finest units in the order of texts, and their positions."""
    known = np.array(table.codes[-1], np.str_)
    order = np.argsort(known)
    return known[order], order


def _begin_with_zero(table: Hierarchy) -> bool:
    return bool(np.strings.startswith(_sorted_units(table)[0], "0").any())


def _find(table: Hierarchy, asked: NDArray[np.str_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return positions of texts among the codes of finest units, and which are none of them."""
    known, order = _sorted_units(table)
    near = np.minimum(np.searchsorted(known, asked), known.size - 1)
    return order[near], np.asarray(known[near] != asked, np.bool_)


def _find_cells(
    table: Hierarchy, system: CellSystem, level: int, codes: NDArray[Any], others: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return positions of cells in other spellings, as :func:`_find` does.

    ``others``: whether a code that is none is one of those that are counted elsewhere. CodeError
    for one otherwise, and for a cell of another level.
    """
    cells, good = system.read(codes)
    levels = system.levels_of(cells)
    rules = (
        (~good & (not others), NO_CELL.format(system.title, system.codes)),
        (good & (levels > level), FINER.format(system.spec(level), system.pattern)),
        (good & (levels < level), COARSER.format(system.spec(level), system.pattern)),
    )
    bad = np.stack([wrong for wrong, _ in rules])
    fit = np.asarray(~bad.any(axis=0), np.bool_)
    require(fit, lambda position: rules[int(bad[:, position].argmax())][1])
    at, wrong = _find(table, system.format(cells))
    return at, wrong | ~good


@contextmanager
def _positions(of: NDArray[np.int64]) -> Iterator[None]:
    """Let a CodeError of some codes name the position of its code among all, int64[n]."""
    try:
        yield
    except CodeError as error:
        raise CodeError(int(of[error.position]), error.rule) from None


def format_codes(grid: Grid, number: int, index: NDArray[np.int64]) -> NDArray[np.str_]:
    """Return the codes that a release gives to cells: of units their own, else as their map does.

    Parameters
    ----------
    grid : Grid
    number : int
        Of the place: 0, or 1 for the destination of a pair.
    index : int64[d, n]
        Of cells of the domain.
    """
    row, col = index[2 * number : 2 * number + 2]
    if (table := grid.hierarchy) is None or not has_units(grid):
        return grid.places[number].format(row, col)
    names = np.empty(grid.shape[1], np.array(table.codes[-1]).dtype)
    names[table.cell[1]] = table.codes[-1]
    return np.asarray(names[col])


def name_cells(grid: Grid, key: NDArray[np.uint64]) -> list[str]:
    """Return cells in words, uint64[n]: code, or those of both ends, then other axes.

    Examples
    --------
    >>> grid = Grid.regular((2, 2))
    >>> name_cells(grid, np.array([0, 1], np.uint64))
    ['0_0', '0_1']
    >>> name_cells(grid.pairs(), np.array([1], np.uint64))
    ['0_0:0_1']
    """
    index, plain = grid.decode(key), 2 * len(grid.places)
    ends = [format_codes(grid, number, index).tolist() for number in range(len(grid.places))]
    columns = [[":".join(codes) for codes in zip(*ends, strict=True)]] if ends else []
    columns += index[plain : plain + len(grid.extents)].astype(str).tolist()
    for attribute, axis in zip(grid.attributes, index[plain + len(grid.extents) :], strict=True):
        columns.append([attribute.labels[label] for label in axis])
    return [" ".join(row) for row in zip(*columns, strict=True)]


def parse_codes(grid: Grid, number: int, codes: Sequence[str] | NDArray[Any]) -> NDArray[np.int64]:
    """Inverse of :func:`format_codes`: row and column of written codes, int64[2, n].

    Raises CodeError for what is no such code.
    """
    if has_units(grid):
        return index_of_units(grid, codes)
    return np.stack(parse_written(grid.places[number], codes))


def _first_missing(kept: NDArray[np.int64], n: int) -> int:
    """Return the first of n positions that is not kept."""
    mask = np.zeros(n, np.bool_)
    mask[kept] = True
    return int(mask.argmin())


TWICE = "the unit is in the table already; every finest unit has one row."

TWO_PARENTS = (
    "a unit of the table lies in two units of the next level here and in a row above; give codes "
    "that differ (with the codes of the units above in front), or the one unit that holds it."
)

NO_OTHER = (
    "The unit that other codes are counted in (--other, other=) is no unit of the grid; read the "
    "table of units with it (read_units, other=)."
)

UNKNOWN = (
    "the code is no unit of the table of units; check leading zeros, a prefix such as 1400000US "
    "and the table's year, give a table that lists every unit, leave such rows out (--outside "
    "drop), or count them in a unit of their own (--other NAME)."
)

OUTSIDE = (
    "the cell lies outside of the grid's public area; give wider bounds or another mask (--bounds, "
    "--mask; bounds=, mask=), leave such rows out (--outside drop, outside=), or count them in a "
    "unit of their own (--other NAME)."
)

NO_CELL = (
    "the code is no cell of {}; codes are {}. A number with an exponent or a fraction has lost "
    "digits: export the column as text or as whole numbers."
)

FINER = (
    "the code is a cell that is finer than those of the grid, {}; name a finer grid (--grid {}), "
    "or write each cell's parent in its place before, so that counts of one cell add up "
    "(--duplicates sum, duplicates=)."
)

COARSER = (
    "the code is a cell that is coarser than those of the grid, {}, and nothing tells in which of "
    "its parts people are; name a coarser grid (--grid {}), or leave such rows out (--where, "
    "where=)."
)
