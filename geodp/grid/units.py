"""Areal units as a domain of their own: blocks, tracts and counties, without any map.

The finest units are the cells of a grid of one row, in the order of their codes within the units
above them. They are also the finest level of the grid's hierarchy, so that every file of a release
names them and the table's digest covers their codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import WIDEST, Hierarchy
from geodp.grid.outlines import Outlines
from geodp.grid.pairs import PairOrder

COUNTED_AS = "; codes that it does not list are counted as "
"""What stands between the source of a table and its unit for other codes."""


def grid_of_units(
    units: Mapping[str, Sequence[Any] | NDArray[Any]],
    source: str,
    outlines: Outlines | None = None,
) -> Grid:
    """Return the grid whose cells are the finest units of a public table.

    Parameters
    ----------
    units : mapping of str to sequence
        Codes by level, the finest first: of every finest unit, and of the units that hold it.
    source : str
        Where the table comes from, in words; published with every release. By naming it you
        vouch that the table is public and was not made from the data.
    outlines : Outlines, optional
        Of every finest unit, in the order of the codes. More units than a level may have parts
        (4,096), with no level above, stand in the order of their places, so that the levels that
        split them hold neighbours; all others in that of their codes.

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
    >>> grid.names.find(["0021", "0011"])
    array([[0, 0],
           [2, 0]])
    """
    texts = [np.array([str(code).strip() for code in codes], np.str_) for codes in units.values()]
    if not texts or not texts[0].size:
        raise UsageError(
            "A table of units has at least one level and one unit.", code="units-empty"
        )
    if len({text.size for text in texts}) > 1:
        raise UsageError(
            "A table of units has a code of every level for every finest unit.",
            code="units-code-missing",
        )
    _, first = np.unique(texts[0], return_index=True)
    if first.size < texts[0].size:
        raise CodeError(_first_missing(first, texts[0].size), TWICE)
    for finer, coarser in pairwise(texts):
        _, first, number = np.unique(finer, return_index=True, return_inverse=True)
        other = coarser != coarser[first][number]
        if other.any():
            raise CodeError(int(other.argmax()), TWO_PARENTS)
    placed = outlines is not None and len(texts) == 1 and texts[0].size > WIDEST
    by = [texts[0], outlines.morton] if outlines is not None and placed else texts
    place = np.empty(texts[0].size, np.int64)
    place[np.lexsort(by)] = np.arange(place.size)
    levels = dict(zip(reversed([*units]), reversed(texts), strict=True))
    cells = np.stack([np.zeros_like(place), place])
    hierarchy = Hierarchy.of_cells(cells, levels, source, placed=placed)
    if outlines is not None:
        hierarchy = replace(hierarchy, outlines=outlines.take(np.argsort(place)))
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
            "table, and not blank.",
            code="other-unit-name",
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
    >>> grid.size, grid.areas.steps
    (9, (('tract', 2), ('block', 2)))
    """
    refusal = Rule("pairs-need-units", "Pairs of units need a grid of units, without pairs.")
    table = grid.names.require_table(refusal)
    grid.require_map(refusal)
    if grid.attributes:
        raise UsageError(
            "Pairs of units take no attributes; publish each label on its own.",
            code="pairs-take-no-attributes",
        )
    return Grid(grid.places * 2, order=PairOrder.of(table))


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
    index = grid.decode(key)
    ends = [grid.names.format(number, index).tolist() for number, _ in enumerate(grid.places)]
    columns = [[":".join(codes) for codes in zip(*ends, strict=True)]] if ends else []
    columns += [index[axis].astype(str).tolist() for axis in grid.plain_axes]
    for attribute, axis in zip(grid.attributes, grid.attribute_axes, strict=True):
        columns.append([attribute.labels[label] for label in index[axis]])
    return [" ".join(row) for row in zip(*columns, strict=True)]


def _first_missing(kept: NDArray[np.int64], n: int) -> int:
    """Return the first of n positions that is not kept."""
    mask = np.zeros(n, np.bool_)
    mask[kept] = True
    return int(mask.argmin())


TWICE = Rule("unit-repeated", "the unit is in the table already; every finest unit has one row.")

TWO_PARENTS = Rule(
    "unit-of-two-parents",
    "a unit of the table lies in two units of the next level here and in a row above; give codes "
    "that differ (with the codes of the units above in front), or the one unit that holds it.",
)
