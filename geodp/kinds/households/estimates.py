"""Persons, households and mean size of regions, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Protocol, Self, cast

import numpy as np

from geodp.accuracy.interval import USUAL, WORST_CASE, Estimate, Interval
from geodp.accuracy.interval_arithmetic import Bounds, divide
from geodp.accuracy.part_errors import PartEstimates, Sum, intervals_around
from geodp.grid.region import Region
from geodp.kinds.households.inputs import SizedGrid
from geodp.privacy.event import Measurement
from geodp.release.estimates import PartErrors
from geodp.release.release import Release
from geodp.table.counts import ReleasedTable, coalesce
from geodp.table.display import is_below
from geodp.typing import FloatArray, IntArray, KeyArray


@dataclass(frozen=True)
class HouseholdEstimate:
    """Released persons and households of a region, and their mean size.

    Attributes
    ----------
    persons, households : Estimate
    mean_size : Interval or None
        Between 1 and the largest size. None: not estimable, as the region may have no household,
        or any mean size.
    """

    persons: Estimate
    households: Estimate
    mean_size: Interval | None

    def is_below(self, limit: int | None) -> bool:
        """Test whether one of the counts is shown as below an office's limit of display."""
        return any(is_below(one.count, limit) for one in (self.persons, self.households))


@dataclass(frozen=True, eq=False)
class HouseholdBounds:
    """Persons, households and mean size of some places, with 95 % intervals.

    Attributes
    ----------
    persons, households : Bounds
    mean_size : Interval
        NaN where it is not estimable: float64[n].
    """

    persons: Bounds
    households: Bounds
    mean_size: Interval

    @classmethod
    def of(
        cls,
        persons: Bounds,
        members: Bounds,
        households: Bounds,
        max_size: int,
        interval: str = USUAL,
    ) -> Self:
        """Collect counts, and estimate mean sizes; ``members``: those beyond the first of each."""
        sizes = estimate_mean_sizes(members, households, max_size, interval)
        return cls(persons, households, sizes)

    def describe(self, households: Sequence[Estimate]) -> list[HouseholdEstimate]:
        """Return an estimate for each place; ``households``: those of the same places."""
        persons = self.persons
        columns = np.stack([persons.count, persons.low, persons.high, persons.error], axis=1)
        return [
            HouseholdEstimate(
                Estimate(int(count), low, high, error, homes.clamped),
                homes,
                self.mean_size.at(at),
            )
            for at, (homes, (count, low, high, error)) in enumerate(
                zip(households, columns.tolist(), strict=True)
            )
        ]


def recompute(release: Release) -> Release:
    """Return a release whose intervals are computed, not read from files, which round them.

    Those of a written release are then the same as before it was written.
    """
    return Release(release.table)


class HouseholdErrors(Protocol):
    """Estimates of a release of persons and households."""

    def of_regions(self, regions: Iterable[Any], interval: str) -> list[HouseholdEstimate]:
        """Estimate regions, in their order; ``interval``: see :meth:`geodp.Release.estimate`."""

    def of_cells(self, key: KeyArray) -> HouseholdBounds:
        """Estimate cells with households."""


@dataclass(frozen=True, eq=False)
class StreamErrors:
    """Estimates of a release that protects persons: of households, and of the other members.

    Attributes
    ----------
    persons, households : Release
    max_size : int
    """

    persons: Release
    households: Release
    max_size: int

    def of_regions(self, regions: Iterable[Any], interval: str) -> list[HouseholdEstimate]:
        """Estimate regions, in their order; ``interval``: see :meth:`geodp.Release.estimate`."""
        listed = [Region.of(self.households.grid, one) for one in regions]
        households = self._homes.estimate_all(listed, interval=interval)
        members = Bounds.of(self._members.estimate_all(listed, interval=interval))
        return self._bound(members, Bounds.of(households), interval).describe(households)

    def of_cells(self, key: KeyArray) -> HouseholdBounds:
        """Estimate cells with households."""
        error = errors_of(self._homes)[find_rows(self._homes, key)]
        # Both streams are measured on one tree, so that their noise has the same errors.
        members, households = (bound_cells(one, key, error) for one in (self._members, self._homes))
        return self._bound(members, households)

    @cached_property
    def _homes(self) -> Release:
        return recompute(self.households)

    @cached_property
    def _members(self) -> Release:
        """Members beyond the first of each household, whose errors are those of a stream."""
        homes = self.households.table
        count = np.asarray(self.persons.table.counts_at(homes.key) - homes.count, np.int64)
        event = cast(Measurement, homes.event)
        table = ReleasedTable(homes.grid, *coalesce(homes.key, count), event)
        return Release(table)

    def _bound(self, members: Bounds, households: Bounds, interval: str = USUAL) -> HouseholdBounds:
        """Extend the intervals of persons and members where households may have cut them off.

        Released members are at most ``max_size - 1`` for each released household. Where that many
        are possible, members may have been lost with households that were released as fewer or as
        none, and their own errors do not tell how many. That the true ones, too, are at most as
        many for each true household always holds. In the worst case a clamp took of both alike, so
        that their margins are added up.
        """
        most, persons = self.max_size - 1, members.add(households)
        if interval == WORST_CASE:
            together = members.add_dependent(households)
            persons = replace(persons, low=together.low, high=together.high)
        full = members.high >= most * households.low
        # What is cut off here is counted nearby, so that as many may have come from there.
        moved = most * (households.count - households.low)
        low = np.minimum(persons.low, np.maximum(persons.low - moved, households.low))
        high = np.maximum(persons.high, self.max_size * households.high)
        more = np.maximum(members.high, most * households.high)
        persons = replace(
            persons, low=np.where(full, low, persons.low), high=np.where(full, high, persons.high)
        )
        members = replace(members, high=np.where(full, more, members.high))
        return HouseholdBounds.of(persons, members, households, self.max_size, interval)


@dataclass(frozen=True, eq=False)
class SizeErrors:
    """Estimates of a release that protects households, from the households by size.

    Members beyond the first are the sum of the households of two persons and more, of three and
    more, and so on. How the errors of these depend on each other is not known, so that their
    intervals are added: a bound.

    Attributes
    ----------
    sizes, households : Release
    """

    sizes: Release
    households: Release

    @cached_property
    def _sized(self) -> SizedGrid:
        return SizedGrid.of(self.sizes.grid)

    def of_regions(self, regions: Iterable[Any], interval: str) -> list[HouseholdEstimate]:
        """Estimate regions, in their order; ``interval``: see :meth:`geodp.Release.estimate`."""
        listed = [Region.of(self.households.grid, one) for one in regions]
        estimates = self._homes.estimate_all(listed, interval=interval)
        if not listed:
            return []
        households = Bounds.of(estimates)
        members = self._add_up(lambda sums: bound_regions_of(sums, listed, households))
        return self._bound(members, households, interval).describe(estimates)

    def of_cells(self, key: KeyArray) -> HouseholdBounds:
        """Estimate cells with households."""
        rows = find_rows(self._homes, key)
        members, households = (
            Bounds(*(getattr(one, field.name)[rows] for field in fields(one)))
            for one in (self._members, self._cells)
        )
        return self._bound(members, households)

    @cached_property
    def _homes(self) -> Release:
        return recompute(self.households)

    @cached_property
    def _cells(self) -> Bounds:
        """Households of every cell with some."""
        return bound_cells(self._homes, self._homes.table.key, errors_of(self._homes))

    @cached_property
    def _members(self) -> Bounds:
        """Members beyond the first, of every cell with households."""
        return self._add_up(lambda sums: bound_cells_of(sums, self._cells))

    def _add_up(self, bound: Callable[[Sum], Bounds]) -> Bounds:
        """Add up the households of more than one person, of more than two, and so on."""
        parts, members = self.sizes.parts, None
        assert isinstance(parts, PartErrors)  # as sizes are parts of the map of households
        for size in range(1, self._sized.max_size):
            found = bound(parts.add_up(np.flatnonzero(self._sized.size > size)))
            members = found if members is None else members.add_dependent(found)
        assert members is not None  # as sizes are two or more
        return members

    def _bound(self, members: Bounds, households: Bounds, interval: str = USUAL) -> HouseholdBounds:
        """Add the members to the households; all are of one tree."""
        persons = households.add_dependent(members)
        return HouseholdBounds.of(persons, members, households, self._sized.max_size, interval)


def bound_cells_of(sums: Sum, together: Bounds) -> Bounds:
    """Bound sums of parts in every cell of the map; ``together``: all parts of each cell."""
    return bound_parts(sums.held[-1], sums.of_cells(sums.tree.node[-1]), together)


def bound_regions_of(sums: Sum, regions: Sequence[Region], together: Bounds) -> Bounds:
    """Bound sums of parts in regions; ``together``: all parts of each region."""
    keys = [one.key for one in regions]
    return bound_parts(sums.count_regions(keys), sums.of_regions(keys), together)


def bound_parts(count: FloatArray, estimates: PartEstimates, together: Bounds) -> Bounds:
    """Bound sums of parts, of which ``count`` were released, at some places."""
    ends = intervals_around(count, estimates, together.count, (together.low, together.high))
    error = np.hypot(estimates.gain * together.error, np.sqrt(estimates.variance))
    return Bounds(count, error, *ends)


def find_rows(release: Release, key: KeyArray) -> IntArray:
    """Return the rows of listed cells in the table of a release: int64[n]."""
    # Tables that verification finds to differ may lack a cell: it takes the values of the next.
    last = max(release.table.key.size - 1, 0)
    return np.minimum(np.searchsorted(release.table.key, key), last)


def errors_of(release: Release) -> FloatArray:
    """Return the standard error of every row of a release with a closed form: float64[n]."""
    error = release.cell_errors()
    assert error is not None  # as a pyramid and the map of parts have closed forms
    return np.broadcast_to(np.asarray(error, np.float64), release.table.key.shape)


def bound_cells(release: Release, key: KeyArray, error: FloatArray) -> Bounds:
    """Return the bounds of some cells of a release, whose standard errors are known."""
    intervals = release.intervals()
    assert intervals is not None  # as a pyramid and the map of parts have closed forms
    count = np.asarray(release.table.counts_at(key), np.float64)
    return Bounds(count, error, *intervals.of(key))


def estimate_mean_sizes(
    members: Bounds, households: Bounds, max_size: int, interval: str = USUAL
) -> Interval:
    """Estimate 1 + members / households: float64[n], NaN where it is not estimable."""
    is_worst = interval == WORST_CASE
    ratio = divide(members, households, 0.0, float(max_size - 1), dependent=is_worst)
    return Interval(1 + ratio.value, 1 + ratio.low, 1 + ratio.high)
