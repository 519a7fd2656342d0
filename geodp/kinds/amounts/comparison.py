"""Differences of records, sums, means and medians: of two regions, or of two releases.

Every number is a function of independent streams, or classes, whose errors in two regions of one
release have one correlation, as the noise of all streams has one closed form: a linear function of
them has a correlation that is no larger in size. That of sums and means, which rise or fall with
a stream in both regions alike, has its sign, too. Errors of different releases are independent.

What the clamp at 0 may have moved has no such law: it is added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from geodp.accuracy.interval import USUAL, Interval
from geodp.accuracy.interval_arithmetic import Figures, subtract
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.kinds.amounts.kind import COUNT, IDENTITY, MEAN, MEDIAN, SUM
from geodp.kinds.amounts.numbers import AmountNumbers
from geodp.release.regional import OTHER_KIND, SAME, Compared, estimate_sides, require_apart
from geodp.release.release import Release


class AmountSide(NamedTuple):
    """An estimated region of one release.

    Attributes
    ----------
    figures : mapping of str to Interval or None
    noise : dict of str to (float, float, float)
        Values and 95 % intervals of the noise alone.
    """

    figures: Figures
    noise: dict[str, tuple[float, ...]]


def compare_all(
    first: AmountNumbers,
    pairs: Sequence[tuple[Region, Region]],
    second: AmountNumbers | None,
    interval: str = USUAL,
) -> list[Compared]:
    """Compare pairs of regions of one release, or of two, whose noise is independent.

    Parameters
    ----------
    first : AmountNumbers
    pairs : sequence of (Region, Region)
    second : AmountNumbers or None
        The release of each second region; None: the first.
    interval : str
        Of the regions, see :meth:`geodp.Release.estimate`.

    Raises UsageError for regions of one release that have common cells; and for the same release
    twice, amounts of another unit or clip, or another largest weight.
    """
    names = first.quantities
    if second is None:
        for pair in pairs:
            require_apart(*pair)
        opposites = [_correlations(first, *pair) for pair in pairs]
    else:
        require_comparable(first, second)
        names = tuple(name for name in names if name in second.quantities)
        opposite = dict.fromkeys(names, 0.0)
        if first.index.amount.edges != second.index.amount.edges:
            opposite.pop(MEDIAN, None)
        opposites = [opposite] * len(pairs)
    sides = estimate_sides(first, second, pairs, partial(_estimate, interval=interval))
    return [
        Compared(
            one.figures,
            other.figures,
            {
                name: _subtract(one, other, name, opposite[name]) if name in opposite else None
                for name in names
            },
        )
        for one, other, opposite in zip(*sides, opposites, strict=True)
    ]


def require_comparable(first: AmountNumbers, second: AmountNumbers) -> None:
    """Raise UsageError unless two releases differ, and are of one unit, clip and weight."""
    if type(first) is not type(second):
        raise UsageError(OTHER_KIND)
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
        raise UsageError(SAME)
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


def _estimate(release: AmountNumbers, regions: list[Region], interval: str) -> list[AmountSide]:
    """Estimate regions with the noise and with all, and with the noise alone."""
    noise = release.noise_of(regions)
    return [
        AmountSide(
            figures, {name: tuple(float(end[at]) for end in ends) for name, ends in noise.items()}
        )
        for at, figures in enumerate(release.list_figures(regions, interval=interval))
    ]


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


def _subtract(first: AmountSide, second: AmountSide, name: str, opposite: float) -> Interval | None:
    """Subtract a number of one region from that of another; None where one has none."""
    ends, others = _bounds(first, name), _bounds(second, name)
    if ends is None or others is None:
        return None
    (noise, lost), (noise_too, lost_too) = ends, others
    one = subtract(noise, noise_too, opposite)
    return Interval(one.value, one.low - lost_too[0] - lost[1], one.high + lost_too[1] + lost[0])


def _bounds(side: AmountSide, name: str) -> tuple[Interval, tuple[float, float]] | None:
    """Return a number with the interval of its noise, and how far the clamp reaches beyond it."""
    whole = side.figures[name]
    if whole is None:
        return None
    _, low, high = side.noise[name]
    noise = Interval(whole.value, min(low, whole.value), max(high, whole.value))
    return noise, (max(noise.low - whole.low, 0.0), max(whole.high - noise.high, 0.0))
