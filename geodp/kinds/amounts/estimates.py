"""Records, sums, means, shares and quantiles of regions, with 95 % intervals.

All of them are functions of independent sums: of the two streams of amounts, or of the records of
each class. Their intervals need not be symmetric, and are combined by the method of variance
estimates recovery (Zou and Donner 2008): a sum of multiples ``a[k] x[k]`` may be off by the root
of the sum of the squares of ``a[k]`` times the margin of ``x[k]`` on its side. A ratio or a
quantile may be any value at which such a sum may be 0 (Fieller 1954; Donner and Zou 2012).

That is so of the noise. What the clamp at 0 takes of people who live alone it takes of every
stream and class alike, so that these parts of the margins are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from geodp.accuracy.interval import Estimate, Interval
from geodp.grid.grid import Grid
from geodp.grid.region import share_on
from geodp.kinds.amounts.scale import Scale
from geodp.typing import FloatArray

Ends: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
"""Values, and lower and upper ends of their 95 % intervals: float64[n] each."""

ROUNDED = 0.8
"""Half a 95 % interval of the rounding of records at both ends of a run of keys, in spans."""

SUM_Z = 2.0
"""Half a 95 % interval of the noise of several cells together, in standard errors."""

LIFTED = 0.25
"""Part of half a 95 % interval of the noise that a sum of nothing is released with on average, as
no sum is below 0: that much of several small sums adds up."""

HALVINGS = 50
"""Bisections of a quantile: a double has no more digits between two edges."""


@dataclass(frozen=True)
class AmountEstimate:
    """Released records and amounts of a region.

    Attributes
    ----------
    count : Estimate
        Records.
    sum, mean : Interval or None
        In units of the amount. None: not released; or no mean, as the region may have no record,
        or any mean of the clip.
    median : Interval or None
        Interpolated in its class; None: not released, or not estimable.
    quantiles, below : dict of float to Interval or None
        The quantiles and shares below amounts that were asked for; None: not estimable.
    """

    count: Estimate
    sum: Interval | None = None
    mean: Interval | None = None
    median: Interval | None = None
    quantiles: Mapping[float, Interval | None] = field(default_factory=dict)
    below: Mapping[float, Interval | None] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SumMargins:
    """Independent released sums, and how far each may be off.

    Attributes
    ----------
    value, down, up : float64[k, n]
        Of k sums of n regions or cells: value, and 95 % margins of the noise below and above it.
    lost_down, lost_up : float64[k, n] or 0
        What the clamp can have added to each sum, and taken of it, on top of the noise.
    """

    value: FloatArray
    down: FloatArray
    up: FloatArray
    lost_down: Any = 0.0
    lost_up: Any = 0.0

    @classmethod
    def of(cls, sums: Sequence[Ends]) -> SumMargins:
        """Make margins of the ends of k intervals, of noise alone."""
        value, low, high = (np.stack(part) for part in zip(*sums, strict=True))
        return cls(value, value - low, high - value)

    @classmethod
    def split(
        cls, sums: Sequence[Ends], noise: Sequence[FloatArray], rest: float = 0.0
    ) -> SumMargins:
        """Split the margins of k intervals into those of the noise and of the clamp.

        Parameters
        ----------
        sums : sequence of (float64[n], float64[n], float64[n])
            Values, lower and upper ends.
        noise : sequence of float64[n]
            Half the 95 % intervals of the noise alone.
        rest : float
            A further margin, independent of the noise.
        """
        whole, half = cls.of(sums), np.stack(noise)
        down, up = np.minimum(whole.down, half), np.minimum(whole.up, half)
        lifted = np.where(whole.value <= half, np.minimum(down, LIFTED * half), 0.0)
        lost = whole.down - down + lifted, whole.up - up
        return cls(whole.value, np.hypot(down - lifted, rest), np.hypot(up, rest), *lost)

    def noise(self) -> SumMargins:
        """Return these sums with margins of the noise alone."""
        return SumMargins(self.value, self.down, self.up)

    def reach(self, most: FloatArray) -> SumMargins:
        """Return two sums, of which one that may be 0 may be all that the other leaves of a whole.

        ``most``: float64[n], the upper ends of the whole. The clamp may take all of a sum.
        """
        least = np.maximum(self.value - self.down - self.lost_down, 0.0)
        left = most - least[::-1] - self.value - self.up
        return replace(
            self, lost_up=np.where(least > 0, self.lost_up, np.maximum(self.lost_up, left))
        )

    def combine(self, factors: Any) -> Ends:
        """Return the sum of multiples of the sums, and its 95 % interval: float64[n] each.

        ``factors``: float64[k] or float64[k, n].
        """
        a = np.asarray(factors, np.float64)
        a = a if a.ndim > 1 else a[:, None]
        total = (a * self.value).sum(axis=0)
        # A negative multiple turns an interval round.
        down = np.where(a >= 0, a * self.down, -a * self.up)
        up = np.where(a >= 0, a * self.up, -a * self.down)
        gained = np.where(a >= 0, a * self.lost_down, -a * self.lost_up).sum(axis=0)
        lost = np.where(a >= 0, a * self.lost_up, -a * self.lost_down).sum(axis=0)
        return total, total - _root(down) - gained, total + _root(up) + lost

    def share(self) -> Ends:
        """Return the share of the first of two sums in both, and its 95 % interval."""
        (u, v), (u_down, v_down), (u_up, v_up) = self.value, self.down, self.up
        # What the clamp can have moved is moved first: it is the same for every share.
        lowest, highest = self.value - self.lost_down, self.value + self.lost_up
        total = u + v
        value = np.divide(u, total, out=np.zeros_like(u), where=total > 0)
        low = _smallest(lowest[0], highest[1], u_down, v_up)
        high = 1 - _smallest(lowest[1], highest[0], v_down, u_up)
        return value, low, high


def _root(margins: FloatArray) -> FloatArray:
    """Return the root of the sums of squares."""
    return np.asarray(np.sqrt((margins**2).sum(axis=0)), np.float64)


def _smallest(u: FloatArray, v: FloatArray, of_u: FloatArray, of_v: FloatArray) -> FloatArray:
    """Return the smallest p from 0 at which ``(1 - p) u - p v`` is at most its margin.

    The margin is the root of ``((1 - p) of_u)**2 + (p of_v)**2``: how far u may be too large and
    v too small.
    """
    w = u + v
    a = w**2 - of_u**2 - of_v**2
    b, c = u * w - of_u**2, u**2 - of_u**2
    root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
    # The smaller root in a form without cancellation, also where a is 0 or less.
    p = np.divide(c, b + root, out=np.zeros_like(u), where=(u > of_u) & (b + root > 0))
    return np.clip(p, 0.0, 1.0)


def estimate_streams(
    both: SumMargins, scale: Scale, count: Ends, *, known: bool = False
) -> dict[str, Ends]:
    """Estimate sum and mean of two streams.

    Parameters
    ----------
    both : SumMargins
        Of the two streams, in records of the whole span: above the lower end first.
    scale : Scale
    count : (float64[n], float64[n], float64[n])
        Released records, and the ends of their intervals: their amounts are within the clip.
    known : bool
        Whether records have noise of their own, as they were published before.

    Returns
    -------
    dict
        Value, lower and upper end of ``sum`` and ``mean``: float64[n] each.
    """
    lower, upper = scale.value(scale.lower), scale.value(scale.upper)
    share, ends = both.share(), both.combine([upper, lower])
    least = np.minimum(lower * count[1], lower * count[2])
    most = np.maximum(upper * count[1], upper * count[2])
    mean = tuple(lower + (upper - lower) * one for one in share)
    if known:
        ends = multiply(count, (mean[0], mean[1], mean[2]), ends[0])
    return {
        "sum": (ends[0], np.maximum(ends[1], least), np.minimum(ends[2], most)),
        "mean": (mean[0], mean[1], mean[2]),
    }


def multiply(count: Ends, mean: Ends, value: FloatArray) -> Ends:
    """Return a sum as the product of records and a mean, whose noise is independent.

    ``value``: float64[n], of the product. Margins are recovered as those of sums are.
    """
    n, m, size = count[0], mean[0], np.abs(mean[0])
    # A negative mean turns the interval of the records round.
    fewer = np.where(m >= 0, n - count[1], count[2] - n)
    more = np.where(m >= 0, count[2] - n, n - count[1])
    down, up = np.hypot(n * (m - mean[1]), size * fewer), np.hypot(n * (mean[2] - m), size * more)
    return value, value - down, value + up


@dataclass(frozen=True, eq=False)
class AmountClasses:
    """Records of regions or cells by class of the amount, with margins.

    Attributes
    ----------
    edges : float64[k + 1]
        Public edges, in units of the amount.
    records : SumMargins
        Of every class: float64[k, n].
    """

    edges: FloatArray
    records: SumMargins

    def quantile(self, share: float) -> Ends:
        """Estimate a quantile, interpolated in its class: value, low and high, float64[n].

        Where it may be any amount, low and high are the first and the last edge.
        """
        number = self.edges.size - 1

        def fall(place: FloatArray, end: int) -> FloatArray:
            return -self.records.combine(self._below(place) - share)[end]

        # The lower end of the records below their share reaches 0 last.
        value, high, low = (self._cross(fall, end, float(number)) for end in range(3))
        ends = [np.interp(one, np.arange(number + 1), self.edges) for one in (value, low, high)]
        return ends[0], ends[1], ends[2]

    def share_below(self, line: float) -> Ends:
        """Estimate the share of records below an amount: value, low and high, float64[n].

        Where it may be any share, low and high are 0 and 1.
        """
        return self.share_of(self._below(np.interp([line], self.edges, np.arange(self.edges.size))))

    def share_of(self, parts: FloatArray) -> Ends:
        """Estimate the share of parts of the classes in all records: float64[n] each.

        ``parts``: float64[k, 1], from 0 to 1. Where it may be any share, low and high are 0 and 1.
        """

        def fall(share: FloatArray, end: int) -> FloatArray:
            return self.records.combine(parts - share)[end]

        value, low, high = (self._cross(fall, end, 1.0) for end in range(3))
        return value, low, high

    def _below(self, place: FloatArray) -> FloatArray:
        """Return the part of every class that is below places among the edges: float64[k, n]."""
        return np.clip(place - np.arange(self.edges.size - 1)[:, None], 0.0, 1.0)

    def _cross(
        self, fall: Callable[[FloatArray, int], FloatArray], end: int, last: float
    ) -> FloatArray:
        """Find where an end of a falling sum crosses 0, from 0 to the last place: float64[n].

        ``end``: 0 for the value, 1 for the lower and 2 for the upper end.
        """
        low = np.zeros(self.records.value.shape[1])
        high = np.full(low.size, last)
        # An end that nothing crosses is exactly an end of all that is possible.
        first, final = fall(low, end) <= 0, fall(high, end) >= 0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            above = fall(middle, end) > 0
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        found = np.where(first, 0.0, np.where(final, last, high))
        return np.asarray(found, np.float64)


NEGLIGIBLE = 1e-4
"""Share of an area outside the map that is rounding, or a shore drawn otherwise."""

SMALLEST = 0.1
"""Least percentage that a sentence has."""


def share_outside(grid: Grid, area: Any) -> float:
    """Compute the share of a polygon's area that lies outside the only map of a grid, from 0 to 1.

    0 for what is no polygon, and for units, of which none is cut.

    Examples
    --------
    >>> from shapely import box
    >>> grid = Grid.regular((2, 2), crs="EPSG:3035", transform=(1, 0, 0, 0, -1, 2))
    >>> share_outside(grid, box(1, 0, 3, 2)), share_outside(grid, box(0, 0, 2, 2))
    (0.5, 0.0)
    """
    if not hasattr(area, "geom_type") or grid.outlines is not None or grid.maps.one is None:
        return 0.0
    share = 1 - share_on(grid.places[0], area)
    return round(share, 6) if share > NEGLIGIBLE else 0.0


def list_outside(shares: Mapping[str, float], text: str) -> Iterator[str]:
    """Yield a sentence for every polygon of which a share lies outside the map.

    Parameters
    ----------
    shares : mapping of str to float
        Shares by the names of the polygons; see `share_outside`.
    text : str
        The sentence, with the fields ``place`` and ``percent``.
    """
    for place, share in shares.items():
        if share > 0:
            yield text.format(place=place, percent=f"{max(100 * share, SMALLEST):.1f}")
