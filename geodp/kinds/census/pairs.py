"""Shares and differences of two columns, with intervals that know how their errors go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import inf, prod

import numpy as np

from geodp.accuracy.interval import Estimate, Interval
from geodp.accuracy.interval_arithmetic import Bounds, divide
from geodp.accuracy.part_pairs import PartSum, correlate, divide_parts, subtract_parts
from geodp.kinds.census.margins import Margins
from geodp.release.estimates import PartErrors
from geodp.typing import FloatArray, IntArray, KeyArray


@dataclass(frozen=True, eq=False)
class ColumnParts:
    """Some parts of a table of a margin.

    Attributes
    ----------
    table : str
    parts : int64[n]
        Their numbers, in order.
    """

    table: str
    parts: IntArray

    def without(self, other: ColumnParts) -> ColumnParts:
        """Return the parts that another sum of the same table has not."""
        return ColumnParts(self.table, np.setdiff1d(self.parts, other.parts))

    def divide(self, margins: Margins, table: str) -> ColumnParts:
        """Express this column in parts of a table that divides its own, or of its own."""
        path, own = margins.path(table), len(margins.path(self.table))
        width = prod(len(one.labels) for one in path[own:])
        every = margins.list_parts(table)
        return ColumnParts(table, every[np.isin(every // width, self.parts)] if own else every)


def counts_alike(margins: Margins, one: ColumnParts, other: ColumnParts) -> bool:
    """Test whether two sums are of one population; noise of two is independent."""
    return margins.population(one.table) == margins.population(other.table)


def meet(
    margins: Margins, one: ColumnParts, other: ColumnParts
) -> tuple[ColumnParts, ColumnParts] | None:
    """Return two sums as parts of one table; None where none divides the tables of both."""
    if not counts_alike(margins, one, other):
        return None
    paths = [[each.name for each in margins.path(name.table)] for name in (one, other)]
    longest = max(paths, key=len)
    if any(path != longest[: len(path)] for path in paths):
        return None
    table = longest[-1] if longest else one.table
    return one.divide(margins, table), other.divide(margins, table)


def list_wholes(margins: Margins, columns: Sequence[ColumnParts]) -> list[list[int]]:
    """List, for each column, those that hold all of it and more, the smallest first."""
    wholes = []
    for one in columns:
        found = list[tuple[float, int]]()
        for at, other in enumerate(columns):
            both = meet(margins, one, other)
            if both is None:
                continue
            part, whole = both
            if part.parts.size < whole.parts.size and np.isin(part.parts, whole.parts).all():
                found.append((whole.parts.size / part.parts.size, at))
        wholes.append([at for _, at in sorted(found)])
    return wholes


@dataclass(frozen=True, eq=False)
class PairErrors:
    """Estimates of pairs of columns in regions.

    Attributes
    ----------
    margins : Margins
    errors : mapping of str to PartErrors
        Of every margin.
    cells : mapping of str to sequence of uint64[m]
        Of each population the cells of n regions that its errors follow from.
    totals : mapping of str to sequence of Estimate
        Of the populations, in the regions.
    """

    margins: Margins
    errors: Mapping[str, PartErrors]
    cells: Mapping[str, Sequence[KeyArray]]
    totals: Mapping[str, Sequence[Estimate]]
    _sides: dict[tuple[str, bytes], PartSum] = field(default_factory=dict)

    @property
    def _none(self) -> FloatArray:
        """Zeros, one for each region."""
        return np.zeros(len(next(iter(self.cells.values()))))

    @cached_property
    def bounds(self) -> dict[str, Interval]:
        """Populations of the regions, float64[n] each."""
        bounds = {name: Bounds.of(one) for name, one in self.totals.items()}
        return {name: Interval(one.count, one.low, one.high) for name, one in bounds.items()}

    def side(self, one: ColumnParts) -> PartSum:
        """Describe a sum of parts in all regions."""
        named = one.table, one.parts.tobytes()
        if named not in self._sides:
            self._sides[named] = self._make_side(one)
        return self._sides[named]

    def _make_side(self, one: ColumnParts) -> PartSum:
        population = self.margins.population(one.table)
        total, nothing = self.bounds[population], self._none
        if not one.parts.size:
            return PartSum(nothing, nothing, nothing, nothing, nothing)
        if one.parts.size == self.margins.list_parts(one.table).size:
            return PartSum(total.value, nothing + 1, nothing, nothing, nothing)
        sums = self.errors[one.table].add_up(one.parts)
        keys = self.cells[population]
        return PartSum.of(sums.count_regions(keys), sums.of_regions(keys), total)

    def _alone(self, one: ColumnParts) -> Bounds:
        """Return the counts of a sum and its intervals, without standard errors."""
        side, total = self.side(one), self.bounds[self.margins.population(one.table)]
        down = np.hypot(side.share * (total.value - total.low), side.below)
        up = np.hypot(side.share * (total.high - total.value), side.above)
        low = np.maximum(side.count - down, 0.0)
        return Bounds(side.count, np.zeros_like(low), low, side.count + up)

    def _apart(self, one: ColumnParts, other: ColumnParts) -> FloatArray:
        """Return the variance of the difference of two sums of one table, given the total."""
        first, second = one.without(other), other.without(one)
        both = ColumnParts(one.table, np.union1d(first.parts, second.parts))
        a, b, c = (self.side(each).variance for each in (first, second, both))
        return np.maximum(2 * a + 2 * b - c, 0.0)

    def _correlate(self, one: ColumnParts, other: ColumnParts) -> FloatArray:
        """Return how errors of two sums go together given the total, or the worst that they may."""
        if one.table == other.table:
            return correlate(self.side(one), self.side(other), self._apart(one, other))
        # Noise of different margins is independent, but not that of what both divide.
        paths = [[each.name for each in self.margins.path(name.table)] for name in (one, other)]
        shared = [first for first, second in zip(*paths, strict=False) if first == second]
        if not shared:
            return self._none
        product = [self._share_error(each, shared[-1]) for each in (one, other)]
        sizes = np.sqrt(self.side(one).variance * self.side(other).variance)
        worst = np.divide(product[0] * product[1], sizes, out=np.ones_like(sizes), where=sizes > 0)
        return -np.minimum(worst, 1.0)

    def _share_error(self, one: ColumnParts, table: str) -> FloatArray:
        """Bound the standard error that a sum has, given the total, from those of a table above."""
        path = self.margins.path(one.table)[len(self.margins.path(table)) :]
        of, error = one.parts // prod(len(each.labels) for each in path), self._none
        for part in np.unique(of):
            inside, whole = (
                ColumnParts(one.table, one.parts[of == part]),
                ColumnParts(table, np.array([part])),
            )
            count, above = self.side(inside).count, self.side(whole)
            share = np.divide(count, above.count, out=np.zeros_like(count), where=above.count > 0)
            error = error + share * np.sqrt(above.variance)
        return error

    def subtract(self, one: ColumnParts, other: ColumnParts) -> Interval:
        """Subtract the second sum from the first: float64[n]."""
        if not counts_alike(self.margins, one, other):
            first, second = self._alone(one), self._alone(other)
            value = first.count - second.count
            down = np.hypot(first.count - first.low, second.high - second.count)
            up = np.hypot(first.high - first.count, second.count - second.low)
            return Interval(value, value - down, value + up)
        if (both := meet(self.margins, one, other)) is not None:
            one, other = both
            # What both have cancels.
            one, other = one.without(other), other.without(one)
        total = self.bounds[self.margins.population(one.table)]
        return subtract_parts(self.side(one), self.side(other), total, self._correlate(one, other))

    def divide(self, one: ColumnParts, other: ColumnParts) -> Interval:
        """Divide the first sum by the second: float64[n]; NaN where it may be anything."""
        if not counts_alike(self.margins, one, other):
            return divide(self._alone(one), self._alone(other), 0.0, inf)
        inside = False
        if (both := meet(self.margins, one, other)) is not None:
            one, other = both
            if np.isin(other.parts, one.parts).all() and other.parts.size < one.parts.size:
                whole = self.divide(other, one)
                with np.errstate(divide="ignore"):
                    ends = 1 / whole.value, 1 / whole.high, 1 / whole.low
                known = whole.low > 0
                return Interval(*(np.where(known, each, np.nan) for each in ends))
            inside = bool(np.isin(one.parts, other.parts).all())
            if inside:
                other = other.without(one)
        total = self.bounds[self.margins.population(one.table)]
        r = self._correlate(one, other)
        return divide_parts(self.side(one), self.side(other), total, r, inside=inside)


def count_independent(margins: Margins, columns: Sequence[tuple[str, IntArray]]) -> int:
    """Count the columns that do not follow from others as sums or differences.

    ``columns``: of each, the table and the numbers of its parts.
    """
    places: dict[str, IntArray] = {name: margins.list_parts(name) for name in margins.tables}
    start = dict(zip(places, np.cumsum([0, *(one.size for one in places.values())]), strict=False))
    size = sum(one.size for one in places.values())

    def lay(table: str, parts: IntArray) -> FloatArray:
        row = np.zeros(size)
        row[start[table] + np.searchsorted(places[table], parts)] = 1
        return row

    # What the parts of a margin add up to.
    relations = [
        lay(one.name, places[one.name][first:last]) - lay(one.of, places[one.of][at : at + 1])
        for one in margins.margins
        for at, (first, last) in enumerate(pairwise(margins.group_parts(one).tolist()))
    ]
    rows = [lay(table, parts if parts.size else places[table]) for table, parts in columns]
    known = np.array(relations).reshape(-1, size)
    return int(np.linalg.matrix_rank(np.concatenate([known, rows])) - len(relations))
