"""Persons, households and mean size of regions, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, cast

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.features.households.sizes import SizedGrid
from geodp.grid.region import Region
from geodp.privacy.event import Measurement
from geodp.release.release import Release
from geodp.table.counts import coalesce
from geodp.table.released import ReleasedTable
from geodp.typing import KeyArray


@dataclass(frozen=True)
class MeanSize:
    """Persons for each household of a region.

    Attributes
    ----------
    value : float
    low, high : float
        A 95 % interval, between 1 and the largest size.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class HouseholdEstimate:
    """Released persons and households of a region, and their mean size.

    Attributes
    ----------
    persons, households : Estimate
    mean_size : MeanSize or None
        None: not estimable, as the region may have no household, or any mean size.
    """

    persons: Estimate
    households: Estimate
    mean_size: MeanSize | None


def estimate_regions(
    persons: Release, households: Release, max_size: int, regions: Iterable[Any]
) -> list[HouseholdEstimate]:
    """Estimate regions of a release that protects persons."""
    listed = [Region.of(households.grid, one) for one in regions]
    members = members_of(persons, households)
    of_persons, of_households, of_members = (
        one.estimate_all(listed) for one in (persons, households, members)
    )
    return [
        _bound_by_households(p, h, q, max_size)
        for p, h, q in zip(of_persons, of_households, of_members, strict=True)
    ]


def _bound_by_households(
    persons: Estimate, households: Estimate, members: Estimate, max_size: int
) -> HouseholdEstimate:
    """Extend the intervals of persons and members where households may have cut them off.

    Released members are at most ``max_size - 1`` for each released household. Where that many are
    possible, members may have been lost with households that were released as fewer or as none,
    and their own errors do not tell how many. That the true ones, too, are at most as many for
    each true household always holds.
    """
    most = max_size - 1
    if members.high >= most * households.low:
        members = replace(members, high=max(members.high, most * households.high))
        # What is cut off here is counted nearby, so that as many may have come from there.
        moved = most * (households.count - households.low)
        persons = replace(
            persons,
            low=min(persons.low, max(persons.low - moved, households.low)),
            high=max(persons.high, max_size * households.high),
        )
    size = estimate_mean_size(members, households, max_size)
    return HouseholdEstimate(persons, households, size)


def estimate_sizes(
    sizes: Release, households: Release, regions: Iterable[Any]
) -> list[HouseholdEstimate]:
    """Estimate regions of a release that protects households.

    Members beyond the first are the sum of the households of two persons and more, of three and
    more, and so on. How the errors of these depend on each other is not known, so that their
    intervals are added: a bound.
    """
    sized = SizedGrid.of(sizes.grid)
    listed = [Region.of(households.grid, one) for one in regions]
    at_least = [
        add_estimates(
            sizes.estimate_all(
                Region(sizes.grid, _join(sized, one.key, size)) for size in range(1, sized.max_size)
            )
        )
        for one in listed
    ]
    return [
        HouseholdEstimate(add_estimates([h, q]), h, estimate_mean_size(q, h, sized.max_size))
        for h, q in zip(households.estimate_all(listed), at_least, strict=True)
    ]


def _join(sized: SizedGrid, cells: KeyArray, size: int) -> KeyArray:
    """Return the keys of the parts of cells of more than ``size`` persons, in order."""
    parts = np.flatnonzero(sized.size > size)
    return sized.joint.join(np.repeat(cells, parts.size), np.tile(parts, cells.size))


def add_estimates(estimates: Sequence[Estimate]) -> Estimate:
    """Add sums whose errors may depend on each other: a bound of the error and of the interval."""
    return Estimate(
        sum(one.count for one in estimates),
        sum(one.standard_error for one in estimates),
        sum(one.low for one in estimates),
        sum(one.high for one in estimates),
        any(one.clamped for one in estimates),
    )


def members_of(persons: Release, households: Release) -> Release:
    """Return the release of members beyond the first, whose errors are those of a stream."""
    key, homes = persons.table.key, households.table
    count = np.asarray(persons.table.count - homes.counts_at(key), np.int64)
    event = cast(Measurement, homes.event)
    table = ReleasedTable(homes.grid, *coalesce(key, count), event)
    return Release(table, margins=households.margins)


def estimate_mean_size(members: Estimate, households: Estimate, max_size: int) -> MeanSize | None:
    """Estimate 1 + members / households, with an interval; None where it is not estimable.

    The intervals of the two independent sums are combined by the method of variance estimates
    recovery for a ratio (Donner and Zou 2012), which takes intervals that are not symmetric.
    """
    q, h = float(members.count), float(households.count)
    below, above = h - households.low, households.high - h
    # The ratio has no upper bound where the denominator may be 0.
    if h <= 0 or below >= h:
        return None
    to_low, to_high = q - members.low, members.high - q
    low = (q * h - _spread(q, h, to_low, above)) / (h**2 - above**2) if above < h else 0.0
    high = (q * h + _spread(q, h, to_high, below)) / (h**2 - below**2)
    most = float(max_size - 1)
    low, high = min(max(low, 0.0), most), min(max(high, 0.0), most)
    if low <= 0 and high >= most:
        return None
    return MeanSize(1 + q / h, 1 + low, 1 + high)


def _spread(q: float, h: float, of_q: float, of_h: float) -> float:
    """Return the root in the end of a ratio's interval, from how far each sum may be off."""
    # (q h)^2 - (h^2 - of_h^2) (q^2 - of_q^2), multiplied out so that large terms cancel exactly.
    return sqrt(max(h**2 * of_q**2 + q**2 * of_h**2 - of_q**2 * of_h**2, 0.0))
