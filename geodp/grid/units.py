"""Areal units as a domain without a map: blocks, tracts and counties.

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
from geodp.grid.axes import FORMULA, NO_FORMULA
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import COUNTED_AS, WIDEST, Hierarchy, PairOrder
from geodp.grid.markers import is_total
from geodp.grid.names import as_read, plain_numbers
from geodp.grid.outlines import Outlines

OTHER_SPELLING = Rule(
    "other-unit-spelling",
    "Beside a unit for other codes (--other, other=), its name and codes of units are written as "
    "codes of rows are read: without full-width letters, digits, brackets and signs, without "
    "spaces around them, and with composed accents (NFC). Write 海外(欧州) in place of "
    "海外（欧州）; rows may have either.",
)

OTHER_TOTAL = Rule(
    "other-unit-is-total",
    "The unit for other codes (--other, other=) is named like a total, and rows of totals would "
    "be counted there: choose another name, such as elsewhere.",
)


def grid_of_units(
    units: Mapping[str, Sequence[Any] | NDArray[Any]],
    source: str,
    outlines: Outlines | None = None,
    names: Sequence[str] | None = None,
) -> Grid:
    """Create the grid whose cells are the finest units of a public table.

    Parameters
    ----------
    units : mapping of str to sequence
        Codes by level, the finest first: of every finest unit, and of the units that contain it.
    source : str
        Where the table comes from, as text; published with every release. By naming it you assert
        that the table is public and was not made from the data.
    outlines : Outlines, optional
        Outlines of the finest units, in the order of the codes. More than 4,096 units without a
        level above are sorted by location, so that intermediate levels consist of neighbours;
        otherwise units are sorted by code.
    names : sequence of str, optional
        Names of the finest units, in the order of the codes; blank where a unit has none.

    Raises
    ------
    CodeError
        A unit occurs twice or in two units, a code is blank, a name begins like a formula, or two
        outlines overlap by more than a thousandth of the smaller one; ``position`` is the index of
        the unit.
    UsageError
        There is no unit or no level, a level's name cannot be used, or lists differ in length.

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
            "A table of units needs at least one level and one unit.", code="units-empty"
        )
    if len({text.size for text in texts}) > 1:
        raise UsageError(
            "A table of units needs a code on every level for every finest unit.",
            code="units-code-missing",
        )
    _, first = np.unique(texts[0], return_index=True)
    if first.size < texts[0].size:
        raise CodeError(_first_missing(first, texts[0].size), TWICE)
    for finer, coarser in pairwise(texts):
        _, first, number = np.unique(finer, return_index=True, return_inverse=True)
        # Every row of a unit must have the parent of the unit's first row.
        other = coarser != coarser[first][number]
        if other.any():
            raise CodeError(int(other.argmax()), TWO_PARENTS)
    if outlines is not None and (pair := outlines.find_overlap()):
        earlier, later = (printable(str(texts[0][at])) for at in pair)
        raise CodeError(pair[1], OVERLAP.format(later, earlier))
    # Without a level above, more units than a node may have children are grouped by intermediate
    # levels. Sorted by location, such groups are compact and their counts worth consistency.
    placed = outlines is not None and len(texts) == 1 and texts[0].size > WIDEST
    by = [texts[0], outlines.morton] if outlines is not None and placed else texts
    place = np.empty(texts[0].size, np.int64)
    place[np.lexsort(by)] = np.arange(place.size)
    levels = dict(zip(reversed([*units]), reversed(texts), strict=True))
    cells = np.stack([np.zeros_like(place), place])
    hierarchy = Hierarchy.of_cells(cells, levels, source, placed=placed)
    if outlines is not None:
        hierarchy = replace(hierarchy, outlines=outlines.take(np.argsort(place)))
    if names is not None:
        hierarchy = replace(hierarchy, names=_order_names(names, place, hierarchy))
    return Grid.regular((1, place.size)).with_hierarchy(hierarchy)


def _order_names(
    names: Sequence[str], place: NDArray[np.int64], table: Hierarchy
) -> tuple[str, ...]:
    """Return the names of units at columns ``place`` in the order of the table's codes.

    Raises CodeError for a name that begins like a formula of a spreadsheet.
    """
    plain = np.array([printable(" ".join(name.split())) for name in names], np.str_)
    formula = np.isin(plain.astype("U1"), FORMULA)
    if formula.any():
        raise CodeError(int(formula.argmax()), NO_FORMULA)
    by_column = plain[np.argsort(place)]
    return tuple(by_column[table.cell[1]].tolist())


def add_other(
    levels: Mapping[str, NDArray[Any]], source: str, other: str
) -> tuple[dict[str, NDArray[Any]], str]:
    """Add a unit for other codes to each level of a table, and to its source.

    Raises UsageError if its name is blank, has spaces around it, a comma or a line break, is a
    total, or is that of a unit on any level, or the same whole number; and if the name or codes are
    not written as they are read.
    """
    if is_total(other):
        raise UsageError(OTHER_TOTAL)
    codes = {str(code) for of_level in levels.values() for code in of_level} | {other}
    # Rows would otherwise be counted elsewhere without a word.
    if any(not code.isascii() and as_read(code) != code for code in codes):
        raise UsageError(OTHER_SPELLING)
    plain = bool(other) and other == other.strip() and "," not in other and other.isprintable()
    # 1.0 and 01 are unit 1 to whoever reads numbers.
    name = plain_numbers(np.array([other], np.str_))[0]
    taken = any(
        np.isin(plain_numbers(np.asarray(codes).astype(np.str_))[0], name).any()
        for codes in levels.values()
    )
    if taken or not plain:
        raise UsageError(
            "The unit for other codes (--other, other=) needs a name that is not blank, has no "
            "comma, no line break and no spaces around it, and differs from every unit and area of "
            "the table.",
            code="other-unit-name",
        )
    more = {level: np.append(codes, other) for level, codes in levels.items()}
    return more, f"{source}{COUNTED_AS}{printable(other)}"


def pairs_of_units(grid: Grid) -> Grid:
    """Create the grid of all pairs of units, an origin and a destination in one table.

    On every level, pairs of units are nodes of the order of cells.

    Parameters
    ----------
    grid : Grid
        A grid from :func:`grid_of_units`, without attributes.

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
            "Pairs are made of units without attributes: publish each label separately, or flows "
            "by label (geodp.flows.publish, by=).",
            code="pairs-take-no-attributes",
        )
    return Grid(grid.places * 2, order=PairOrder.of(table))


def name_cells(grid: Grid, key: NDArray[np.uint64]) -> list[str]:
    """Return names of cells, uint64[n], for readers: those of all places, then other axes.

    Examples
    --------
    >>> grid = Grid.regular((2, 2))
    >>> name_cells(grid, np.array([0, 1], np.uint64))
    ['0_0', '0_1']
    >>> name_cells(grid.pairs(), np.array([1], np.uint64))
    ['0_0:0_1']
    """
    index = grid.decode(key)
    ends = [grid.names.show(number, index) for number, _ in enumerate(grid.places)]
    columns = [[":".join(codes) for codes in zip(*ends, strict=True)]] if ends else []
    columns += [index[axis].astype(str).tolist() for axis in grid.plain_axes]
    for attribute, axis in zip(grid.attributes, grid.attribute_axes, strict=True):
        columns.append([attribute.labels[label] for label in index[axis]])
    return [" ".join(row) for row in zip(*columns, strict=True)]


def _first_missing(present: NDArray[np.int64], n: int) -> int:
    """Return the first of n positions that is not present."""
    mask = np.zeros(n, np.bool_)
    mask[present] = True
    return int(mask.argmin())


TWICE = Rule(
    "unit-repeated", "the unit occurs twice in the table; give one row for each finest unit."
)

TWO_PARENTS = Rule(
    "unit-of-two-parents",
    "the unit lies in another unit of the next level than in an earlier row; give codes that "
    "differ (with the codes of the units above in front), or the one unit that contains it.",
)

OVERLAP = Rule(
    "units-overlap",
    "the outline of the unit {} overlaps that of {} by more than a thousandth of the smaller one, "
    "so that a person can be in both. Units of one table lie side by side: take one of the two out "
    "of the table, such as a city beside its districts, or the sea of a division beside its land. "
    "Areas that hold units are a column behind the code (--units-columns CODE,ABOVE, columns=).",
)
