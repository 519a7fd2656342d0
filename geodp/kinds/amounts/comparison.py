"""Differences of records, sums, means and medians: of two regions, or of two releases.

Every number is a function of independent streams, or classes, whose errors in two regions of one
release have one correlation, as the noise of all streams has one closed form: a linear function of
them has a correlation that is no larger in size. That of sums and means, which rise or fall with
a stream in both regions alike, has its sign, too. Errors of different releases are independent.

What the clamp at 0 may have moved has no such law: it is added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geodp.accuracy.bounded_counts import subtract
from geodp.accuracy.interval import Interval
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.kinds.amounts.estimates import AmountEstimate, Ends
from geodp.kinds.amounts.kind import COUNT, IDENTITY, MEAN, MEDIAN, SUM
from geodp.kinds.amounts.numbers import AmountNumbers
from geodp.release.release import Release


@dataclass(frozen=True)
class AmountDifference:
    """Differences between two regions or releases, the second less the first.

    Attributes
    ----------
    count : Interval
    sum, mean, median : Interval or None
        In units of the amount. None: not released, one of the two is not estimable, or, of medians,
        the two releases have other edges of classes.
    """

    count: Interval
    sum: Interval | None = None
    mean: Interval | None = None
    median: Interval | None = None


class AmountSide(NamedTuple):
    """Estimated regions of one release.

    Attributes
    ----------
    estimates : list of AmountEstimate
    noise : dict of str to (float64[n], float64[n], float64[n])
        Values and 95 % intervals of the noise alone.
    """

    estimates: list[AmountEstimate]
    noise: dict[str, Ends]


def compare_regions(first: AmountNumbers, one: Region, other: Region) -> AmountDifference:
    """Compare two regions of one release; UsageError where they have common cells."""
    if np.intersect1d(one.key, other.key).size:
        raise UsageError(
            "The regions have common cells; compare regions apart from each other.",
            code="amounts-regions-overlap",
        )
    side = _estimate(first, [one, other])
    return _subtract((side, 0), (side, 1), _correlations(first, one, other))


def compare_releases(
    first: AmountNumbers, second: AmountNumbers, regions: Sequence[tuple[Region, Region]]
) -> list[AmountDifference]:
    """Compare regions in two releases, whose noise is independent.

    Parameters
    ----------
    first, second : AmountNumbers
    regions : sequence of (Region, Region)
        Each in the grid of the first release, and of the second.

    Raises UsageError for the same release twice, and for amounts of another unit or clip, or
    another largest weight.
    """
    require_comparable(first, second)
    sides = [
        _estimate(release, [pair[i] for pair in regions])
        for i, release in enumerate((first, second))
    ]
    same = first.index.amount.edges == second.index.amount.edges
    independent = dict.fromkeys((COUNT, SUM, MEAN, *([MEDIAN] if same else [])), 0.0)
    return [_subtract((sides[0], i), (sides[1], i), independent) for i in range(len(regions))]


def require_comparable(first: AmountNumbers, second: AmountNumbers) -> None:
    """Raise UsageError unless two releases differ, and are of one unit, clip and weight."""
    one, other = first.count.table, second.count.table
    if first is second or (
        one.grid == other.grid
        and first.identity == second.identity
        # Two periods of a series may have the same numbers, and say which periods they are.
        and first.index.guarantee == second.index.guarantee
        and np.array_equal(one.key, other.key)
        and np.array_equal(one.count, other.count)
        and one.key.size > 0
    ):
        raise UsageError(
            "Both are the same release, which differs nowhere from itself.",
            code="amounts-compare-same",
        )
    for later, earlier in ((first, second), (second, first)):
        prior = later.index.prior
        if prior is not None and earlier.identity == f"{IDENTITY}{prior.identity}":
            raise UsageError(
                "One of these releases of amounts is the prior of the other, so that their "
                "differences would be understated: compare with a release that was made without "
                "this prior.",
                code="amounts-compare-prior",
            )
    ends = [(each.index.amount.unit, each.scale.clip) for each in (first, second)]
    if ends[0] != ends[1]:
        raise UsageError(
            "The two releases have amounts of another unit or another clip: their means would "
            "differ by that alone.",
            code="amounts-compare-clips",
        )
    if first.index.amount.max_weight != second.index.amount.max_weight:
        raise UsageError(
            "The two releases have different largest weights, or only one has weights: their "
            "counts and means would differ by that alone.",
            code="amounts-compare-weights",
        )


def _estimate(release: AmountNumbers, regions: list[Region]) -> AmountSide:
    """Estimate regions with the noise and with all, and with the noise alone."""
    return AmountSide(release.estimate_all(regions), release.noise_of(regions))


def _correlations(release: AmountNumbers, one: Region, other: Region) -> dict[str, float]:
    """Return how far the errors of two regions of a release may be opposite, by number."""
    found = {COUNT: max(0.0, -correlate(release.records, one, other))}
    if release.sum is not None:
        found |= dict.fromkeys((SUM, MEAN), max(0.0, -correlate(release.streams[0], one, other)))
    if release.classes:
        # A class may raise the median of one region, and lower that of the other.
        found[MEDIAN] = abs(correlate(release.class_releases[0], one, other))
    return found


def correlate(release: Release, one: Region, other: Region) -> float:
    """Return the correlation of the noise of two regions without common cells, from -1 to 1."""
    both = Region(one.grid, np.union1d(one.key, other.key))
    a, b, together = (release.standard_error(region) for region in (one, other, both))
    return float(np.clip((together**2 - a**2 - b**2) / (2 * a * b), -1, 1)) if a * b else 0.0


def _subtract(
    first: tuple[AmountSide, int], second: tuple[AmountSide, int], opposite: dict[str, float]
) -> AmountDifference:
    """Subtract the estimates of one region from those of another.

    ``first``, ``second``: a side, and the position of the region in it.
    """
    found: dict[str, Interval] = {}
    for name, correlation in opposite.items():
        ends = [_bounds(*place, name) for place in (first, second)]
        if ends[0] is None or ends[1] is None:
            continue
        (noise, lost), (noise_too, lost_too) = ends[0], ends[1]
        one = subtract(noise, noise_too, correlation)
        found[name] = Interval(
            one.value, one.low - lost_too[0] - lost[1], one.high + lost_too[1] + lost[0]
        )
    return AmountDifference(found[COUNT], found.get(SUM), found.get(MEAN), found.get(MEDIAN))


def _bounds(side: AmountSide, at: int, name: str) -> tuple[Interval, tuple[float, float]] | None:
    """Return a number with the interval of its noise, and how far the clamp reaches beyond it."""
    one = side.estimates[at]
    whole = one.count.interval
    if name != COUNT:
        found: Interval | None = getattr(one, name)
        if found is None:
            return None
        whole = found
    _, low, high = (float(part[at]) for part in side.noise[name])
    noise = Interval(whole.value, min(low, whole.value), max(high, whole.value))
    return noise, (max(noise.low - whole.low, 0.0), max(whole.high - noise.high, 0.0))
