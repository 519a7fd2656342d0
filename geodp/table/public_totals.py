"""Public totals of areas, which a release meets exactly.

They change the guarantee: adding one person to a table changes a total, so two tables that differ
only in this cannot both have the public totals. What remains protected is the difference between
two tables with the same totals: one person removed and one added. The method protects each of these
two steps with its own guarantee, and adjusting to public totals is post-processing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.privacy.event import Measurement
from geodp.privacy.terms import REPLACE
from geodp.reprs import one_line
from geodp.table.counts import Cells, CountTable, ReleasedTable, as_counts


@dataclass(frozen=True, eq=False)
class PublicTotals:
    """The totals of areas that share no cell.

    Attributes
    ----------
    grid : Grid
        Grid of one map.
    names : tuple of tuple of str
        Codes of each area, as its table has them.
    columns : tuple of str
        What the codes are called there.
    total : int64[n]
    place : int64[c]
        Cells of the map in the areas, as ``row * columns + column``, strictly increasing.
    area : int64[c]
        Number of the area that holds each.
    source : str
        Where the totals were published, in words; every release quotes it.
    """

    __repr__ = one_line

    grid: Grid
    names: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    total: NDArray[np.int64] = field(repr=False)
    place: NDArray[np.int64] = field(repr=False)
    area: NDArray[np.int64] = field(repr=False)
    source: str

    @classmethod
    def of(cls, grid: Grid, totals: Mapping[str | tuple[str, ...], int], source: str) -> Self:
        """Make totals from areas of the grid's code system, or of the grid's regions.

        Parameters
        ----------
        grid : Grid
            Grid of one map.
        totals : mapping of str or tuple of str to int
            By the code of an area; of a region after the codes of those that hold it.
        source : str
            Not empty.

        Raises
        ------
        CodeError
            An area without a cell in the domain, or one that shares cells with another;
            ``position`` says which.
        UsageError
            No source, or a grid without such areas.
        """
        names = tuple((n,) if isinstance(n, str) else tuple(n) for n in totals)
        columns = grid.areas.name_codes(max((len(name) for name in names), default=1))
        return cls.of_areas(grid, names, columns, list(totals.values()), source)

    @classmethod
    def of_areas(
        cls,
        grid: Grid,
        names: Sequence[tuple[str, ...]],
        columns: tuple[str, ...],
        total: ArrayLike,
        source: str,
    ) -> Self:
        """Make totals from lists of areas and totals; see :meth:`of`."""
        if not source.strip() or not source.isprintable():
            raise UsageError(
                "Public totals need their public source in words; it is published.",
                code="totals-source-missing",
            )
        grid.require_map(Rule("totals-need-one-map", "Public totals need a grid of one map."))
        if not names:
            raise UsageError("There is no area with a public total.", code="totals-empty")
        places = list(_places_of(grid, names))
        each = np.array([place.size for place in places])
        place = np.concatenate(places)
        area = np.repeat(np.arange(each.size), each)
        order = np.argsort(place, kind="stable")
        place, area = place[order], area[order]
        twice = np.flatnonzero(place[1:] == place[:-1])
        # Disjoint areas make the adjustment of one total independent of the others.
        if twice.size:
            raise CodeError(
                int(area[twice + 1].min()),
                "the area has a cell that another has too.",
                code="total-cell-repeated",
            )
        counts = as_counts(total)
        return cls(grid, tuple(names), columns, counts, place, area, source.strip())

    @cached_property
    def sha256(self) -> str:
        """Digest of areas and totals, independent of their order."""
        # Sorted, since the order of a public table's rows carries no meaning.
        rows = sorted(zip(self.names, self.total.tolist(), strict=True))
        return hashlib.sha256(json.dumps([self.columns, rows]).encode()).hexdigest()

    def areas_of(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the numbers of the areas that hold cells: int64[n]; -1 where none does."""
        row, col = self.grid.decode(key)[:2]
        place = row * self.grid.places[0].cols + col
        at = np.minimum(np.searchsorted(self.place, place), self.place.size - 1)
        return np.where(self.place[at] == place, self.area[at], -1)

    def sums(self, cells: Cells) -> NDArray[np.int64]:
        """Compute the people of each area exactly: int64[n]; confidential if the cells are."""
        area = self.areas_of(cells.key)
        sums = np.zeros(self.total.size, np.int64)
        np.add.at(sums, area[area >= 0], cells.count[area >= 0])
        return sums

    def require(self, table: CountTable) -> None:
        """Raise UsageError if the table has other totals; a release states that it has these."""
        if not np.array_equal(self.sums(table), self.total):
            raise UsageError(
                "The table does not have the public totals of these areas, so they are not totals "
                "of it. Nothing was charged. Compare dates, who is counted, and which cells belong "
                "to which area; or publish without them.",
                code="totals-disagree",
            )

    def describe_guarantee(self, event: Measurement) -> str:
        """Describe for a release what is public and what remains protected."""
        # Replacing one person is already one step of the guarantee; adding and removing are two,
        # and rho grows with the square of the number of steps.
        twice = 1 if event.neighbours == REPLACE else 2
        if event.rho is None:
            left = f"epsilon = {Fraction(event.epsilon or 0) * twice}"
        else:
            left = f"rho = {event.rho * twice**2}"
        return (
            f"the totals of {self.total.size:,} areas, which the release meets exactly, as the "
            f"table did (a table with other totals is refused): the operator vouches that they are "
            f"public and names as their source: {self.source} (SHA-256 {self.sha256}). Whoever "
            f"knows all others in an area learns from its total whether one {event.unit} is there. "
            f"What is left is the difference between two tables with the same totals: where one "
            f"{event.unit} is counted within the areas is protected with {left}"
        )

    def fit(self, released: ReleasedTable) -> ReleasedTable:
        """Adjust a release to exactly these totals by post-processing.

        In each area all listed cells lose or gain the same, but none falls below 0: the nearest
        counts with that total. What cannot be divided is shared out evenly in key order. An area of
        which nothing is listed has its total spread evenly over its cells.

        ``released``: whole counts above 0.
        """
        area = self.areas_of(released.key)
        outside = area < 0
        keys, counts = [released.key[outside]], [np.asarray(released.count[outside], np.int64)]
        order = np.argsort(area, kind="stable")
        ends = np.searchsorted(area[order], np.arange(self.total.size + 1))
        for number, total in enumerate(self.total.tolist()):
            at = order[ends[number] : ends[number + 1]]
            key = released.key[at]
            # The release lists nobody in the area although its total says otherwise: nothing
            # suggests where they are, so all cells share them.
            if not at.size and total:
                key = self._cells(number)
                counts.append(divide(total, key.size))
            else:
                counts.append(nearest(np.asarray(released.count[at], np.int64), total))
            keys.append(key)
        key, count = np.concatenate(keys), np.concatenate(counts)
        # A released table lists no cell with a count of 0.
        key, count = key[count > 0], count[count > 0]
        order = np.argsort(key)
        return ReleasedTable(released.grid, key[order], count[order], released.event)

    def _cells(self, number: int) -> NDArray[np.uint64]:
        """Return the keys of an area's cells in the domain, with all labels of attributes."""
        row, col = np.divmod(self.place[self.area == number], self.grid.places[0].cols)
        return Region.of_map(self.grid, row, col).key

    def are_exact(self, stride: int, block: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return which blocks of keys are unions of complete areas: bool[n].

        Parameters
        ----------
        stride : int
            Keys that a block covers: a product of the last radices of the grid's order.
        block : uint64[n]
        """
        key = Region.of_map(self.grid, *np.divmod(self.place, self.grid.places[0].cols)).key
        area, node = self.areas_of(key), key // np.uint64(stride)
        order = np.argsort(area, kind="stable")
        first = np.searchsorted(area[order], np.arange(self.total.size))
        low, high = (f.reduceat(node[order], first) for f in (np.minimum, np.maximum))
        held, cells = np.unique(node[(low == high)[area]], return_counts=True)
        digits = self.grid.order.digits_above(stride)
        each = self.grid.order.count_cells(block * np.uint64(stride), digits, self.grid.shape)
        at = np.minimum(np.searchsorted(held, block), max(held.size - 1, 0))
        if not held.size:
            return np.zeros(block.size, np.bool_)
        return np.asarray((held[at] == block) & (cells[at] == each), np.bool_)

    def complete_areas(self, region: Region) -> NDArray[np.bool_]:
        """Return which cells of a region lie in areas that it contains completely: bool[n]."""
        area = self.areas_of(region.key)
        held = np.bincount(area[area >= 0], minlength=self.total.size)
        labels = int(np.prod(self.grid.shape[2:], dtype=np.int64))
        each = np.bincount(self.area, minlength=self.total.size) * labels
        return np.append(held == each, False)[area]


def nearest(count: NDArray[np.int64], total: int) -> NDArray[np.int64]:
    """Compute the nonnegative counts with a total that are nearest to given counts.

    Parameters
    ----------
    count : int64[n]
        Above 0.
    total : int
        Not negative; 0 where n is.

    Examples
    --------
    >>> nearest(np.array([5, 1, 9]), 9).tolist(), nearest(np.array([5, 1, 9]), 20).tolist()
    ([3, 0, 6], [7, 3, 10])
    """
    result = np.zeros(count.size, np.int64)
    if not total:
        return result
    active = np.arange(count.size)
    while True:
        # The projection onto a simplex: subtract the same from all, drop those that would fall
        # below 0, and repeat; each round drops at least one.
        less, rest = divmod(int(count[active].sum()) - total, active.size)
        positive = active[count[active] > less]
        if positive.size == active.size:
            break
        active = positive
    result[active] = count[active] - less - divide(rest, active.size)
    return result


def divide(total: int, parts: int) -> NDArray[np.int64]:
    """Divide a total into integers that differ by at most 1, evenly mixed: int64[parts].

    Examples
    --------
    >>> divide(7, 4).tolist()
    [1, 2, 2, 2]
    """
    each, rest = divmod(total, parts)
    # The remainder is spread over all parts and not given to the first ones, which would bias them.
    until = np.arange(parts + 1) * rest // parts
    return np.asarray(each + np.diff(until), np.int64)


def _places_of(grid: Grid, names: Sequence[tuple[str, ...]]) -> Any:
    """Yield the places of each area in the domain: int64[.]; CodeError for an area without any."""
    cols = grid.places[0].cols
    regions = grid.hierarchy
    numbers = {} if regions is None else _number_paths(grid)
    for position, name in enumerate(names):
        if regions is None:
            if len(name) != 1:
                raise CodeError(
                    position, "an area of the code system has one code.", code="total-area-codes"
                )
            try:
                key = Region.of(grid, name[0]).key
            except (CodeError, UsageError):
                raise CodeError(
                    position, "no area of this code lies in the domain.", code="total-area-unknown"
                ) from None
            row, col = grid.decode(key)[:2]
        else:
            if name not in numbers:
                raise CodeError(position, "no region has these codes.", code="total-region-unknown")
            level, number = numbers[name]
            row, col = regions.cell[:, regions.region[level] == number]
        yield np.unique(row * cols + col)


def _number_paths(grid: Grid) -> dict[tuple[str, ...], tuple[int, int]]:
    """Return level and number of every region, by its codes and those of its ancestors."""
    regions = grid.hierarchy
    assert regions is not None
    paths: dict[tuple[str, ...], tuple[int, int]] = {}
    for level in range(len(regions.levels)):
        first = np.unique(regions.region[level], return_index=True)[1]
        for at in first.tolist():
            path = tuple(regions.codes[i][regions.region[i, at]] for i in range(level + 1))
            paths[path] = level, int(regions.region[level, at])
    return paths
