"""How unequal amounts are, by classes: standard deviation, Gini coefficient, and share clipped.

Classes tell how many amounts lie between two edges, and not where. So each number lies between
two bounds, those of the records as they were released: amounts of a class may all be where they
make the number smallest, or largest. Both are records at points of the classes: at one point of
each, or divided between the two edges of each. A bound is a smooth function of the records at these
points; its error follows from its gradient at the released records, as the points of a bound are a
minimum, or a maximum (theorem of the envelope). A 95 % interval is from the lower end of the lower
bound to the upper end of the upper one.

Source
------
Gastwirth 1972, "The estimation of the Lorenz curve and Gini index": bounds of grouped data, there
with the mean of each class. Without these they follow from the distribution between the edges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from geodp.features.amounts.estimates import Classes, Interval
from geodp.typing import FloatArray

BISECTIONS = 60
"""Bisections of a bound: as many as a double has digits, and some more."""

SMALLEST = 0.5
"""Records that are known to less than this part of them have no number: the error is then no
linear function of those of the classes."""


@dataclass(frozen=True)
class Grouped(Interval):
    """A number that classes leave partly open, and a 95 % interval that holds it all the same.

    Its ``value`` is that of amounts that are spread evenly between the edges of their class;
    ``low`` and ``high`` allow for the noise, and for amounts anywhere in their classes.

    Attributes
    ----------
    least, most : float
        Bounds of the released records: what the classes alone leave open, without the noise. Finer
        classes bring them together.
    """

    least: float
    most: float


@dataclass(frozen=True)
class Spread:
    """How unequal the amounts of a region are.

    Attributes
    ----------
    standard_deviation : Grouped or None
        In units of the amount; its square is the variance.
    gini : Grouped or None
        From 0, where all amounts are equal, to 1. None: there are amounts below 0, or
        nothing is known.
    clipped : Interval or None
        Share of the records in the classes at those ends of the clip beyond which amounts may lie:
        the last class, and the first one unless the lower end is 0. Its interval begins at 0: how
        many of them do lie beyond is not measured. Where it is large, the other two numbers are
        mostly those of the clip. None: it may be any share.
    """

    standard_deviation: Grouped | None
    gini: Grouped | None
    clipped: Interval | None


class Points(NamedTuple):
    """Records of k classes at two points each, in increasing order.

    Attributes
    ----------
    at : float64[2 k, n]
    part : float64[2 k, n]
        Which part of the records of their class is there.
    """

    at: FloatArray
    part: FloatArray


Statistic = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]
"""Makes a number of points and the records there: float64[n], and its gradient by these."""

Placing = Callable[[FloatArray, FloatArray], Points]
"""Places records of classes, float64[k, n], between edges, float64[k + 1]."""


def estimate_spread(classes: Classes, lower: float) -> list[Spread]:
    """Estimate the spread of many regions; ``lower``: the lower end of the clip."""
    edges = classes.edges
    # Half of the amounts at either end have the largest variance.
    largest = float(edges[-1] - edges[0]) ** 2 / 4
    even = spread_evenly(edges, "vary")
    deviation = _estimate(classes, (place_near, place_apart), vary, even, largest)
    found = [None if one is None else _root(one) for one in deviation]
    gini: list[Grouped | None] = [None] * len(found)
    if lower >= 0:
        even = spread_evenly(edges, "gini")
        gini = _estimate(classes, (place_equal, place_unequal), differ, even, 1.0)
    clipped = _clipped(classes, lower)
    return [Spread(*row) for row in zip(found, gini, clipped, strict=True)]


def _estimate(
    classes: Classes,
    bounds: tuple[Placing, Placing],
    statistic: Statistic,
    even: Callable[[FloatArray], FloatArray],
    largest: float,
) -> list[Grouped | None]:
    """Estimate a number of many regions, by its smallest and its largest placing.

    ``largest``: the largest number; where it may be any from 0 to it, there is none.
    """
    records = classes.records
    count = np.maximum(records.value, 0.0)
    total, low, _ = records.combine(np.ones((len(count), 1)))
    known = (total > 0) & (low >= SMALLEST * total)
    # Others are estimated as if they had one record of each class, and then left out.
    count = np.where(known, count, 1.0)
    value, ends = even(count), []
    for place in bounds:
        points = place(count, classes.edges)
        number, gradient = statistic(points.at, points.part * np.repeat(count, 2, axis=0))
        known &= np.isfinite(number) & np.isfinite(gradient).all(axis=0)
        slope = (gradient * points.part).reshape(-1, 2, gradient.shape[1]).sum(axis=1)
        linear, down, up = records.combine(np.where(known, slope, 0.0))
        ends.append((number, number - (linear - down), number + (up - linear)))
    (least, least_low, _), (most, _, most_high) = ends
    low, high = np.maximum(least_low, 0.0), np.minimum(most_high, largest)
    known &= np.isfinite(value) & ((low > 0) | (high < largest))
    rows = np.stack([value, low, high, least, most], axis=1)
    return [
        Grouped(*map(float, row)) if some else None for row, some in zip(rows, known, strict=True)
    ]


def _root(one: Grouped) -> Grouped:
    """Return a standard deviation of a variance."""
    return Grouped(*(max(x, 0.0) ** 0.5 for x in
                     (one.value, one.low, one.high, one.least, one.most)))  # fmt: skip


def _clipped(classes: Classes, lower: float) -> list[Interval | None]:
    """Estimate the largest share of records whose amounts may lie beyond the clip."""
    at_ends = np.zeros(classes.edges.size - 1)
    # Under a lower end of 0 amounts below it are refused: none was counted as 0 for that.
    at_ends[[-1] if lower == 0 else [0, -1]] = 1.0
    rows = zip(*(part.tolist() for part in classes.share_of(at_ends[:, None])), strict=True)
    # Where all of them may lie beyond the clip, that is known; where any share may, nothing is.
    return [
        None if (low, high) == (0.0, 1.0) else Interval(value, 0.0, high)
        for value, low, high in rows
    ]


def vary(at: FloatArray, records: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the variance of records at points, and its gradient; see ``Statistic``."""
    total = _positive(records.sum(axis=0))
    mean = (records * at).sum(axis=0) / total
    square = (at - mean) ** 2
    variance = (records * square).sum(axis=0) / total
    return variance, (square - variance) / total


def differ(at: FloatArray, records: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Gini coefficient of records at increasing points, and its gradient."""
    total, amount = records.sum(axis=0), (records * at).sum(axis=0)
    below, amount_below = np.cumsum(records, axis=0), np.cumsum(records * at, axis=0)
    apart = at * (2 * below - total) + amount - 2 * amount_below
    with np.errstate(divide="ignore", invalid="ignore"):
        gini = (records * apart).sum(axis=0) / (2 * total * amount)
        return gini, apart / (total * amount) - gini * (1 / total + at / amount)


def spread_evenly(edges: FloatArray, name: str) -> Callable[[FloatArray], FloatArray]:
    """Return a function of classes that are spread evenly: their variance, or Gini coefficient."""
    middle, width = ((edges[1:] + edges[:-1]) / 2)[:, None], np.diff(edges)[:, None]

    def variance(count: FloatArray) -> FloatArray:
        inside = (count * width**2).sum(axis=0) / 12 / _positive(count.sum(axis=0))
        return np.asarray(vary(middle, count)[0] + inside, np.float64)

    def gini(count: FloatArray) -> FloatArray:
        # Two amounts of one class are a third of its width apart on average.
        total, amount = count.sum(axis=0), (count * middle).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (count**2 * width).sum(axis=0) / 6 / (total * amount)
        return np.asarray(differ(middle, count)[0] + inside, np.float64)

    return variance if name == "vary" else gini


def place_near(count: FloatArray, edges: FloatArray) -> Points:
    """Place every class as near to the mean as it may be: the smallest variance."""
    low, high = edges[:-1, None], edges[1:, None]

    def excess(mean: FloatArray) -> FloatArray:
        return np.asarray((count * (np.clip(mean, low, high) - mean)).sum(axis=0), np.float64)

    at = np.clip(_bisect(excess, edges[0], edges[-1], count.shape[1]), low, high)
    return Points(np.repeat(at, 2, axis=0), np.full((2 * len(at), count.shape[1]), 0.5))


def place_apart(count: FloatArray, edges: FloatArray) -> Points:
    """Place every class at the edge that is farther from the mean: the largest variance."""
    middle, width = ((edges[1:] + edges[:-1]) / 2)[:, None], np.diff(edges)[:, None]

    def excess(mean: FloatArray) -> FloatArray:
        up = middle > mean
        at = np.where(up, edges[1:, None], edges[:-1, None])
        return np.asarray((count * (at - mean)).sum(axis=0), np.float64)

    mean = _bisect(excess, edges[0], edges[-1], count.shape[1])
    # The class whose middle is the mean is at both edges, so that the mean is what it is.
    tied = np.abs(middle - mean) <= 1e-9 * (edges[-1] - edges[0])
    rest = (count * np.where(tied, 0.0, np.where(middle > mean, width, 0.0))).sum(axis=0)
    wanted = mean * count.sum(axis=0) - (count * edges[:-1, None]).sum(axis=0) - rest
    room = _positive((count * np.where(tied, width, 0.0)).sum(axis=0))
    upper = np.where(tied, np.clip(wanted / room, 0.0, 1.0), middle > mean)
    return _at_edges(edges, upper)


def place_equal(count: FloatArray, edges: FloatArray) -> Points:
    """Place the lowest classes at their upper, and the others at their lower edges.

    The Gini coefficient is smallest where all amounts are as near as they may be to one amount:
    those below it at the upper edges, those above it at the lower ones.
    """
    best, number = np.zeros((len(count), count.shape[1])), np.full(count.shape[1], np.inf)
    # From the last class down, so that of equal ones a placing with amounts above 0 is taken.
    for lifted in range(len(count), -1, -1):
        upper = np.repeat((np.arange(len(count)) < lifted)[:, None], count.shape[1], axis=1)
        points = _at_edges(edges, upper.astype(np.float64))
        gini = differ(points.at, points.part * np.repeat(count, 2, axis=0))[0]
        # Of no amount at all nothing is unequal.
        smaller = np.nan_to_num(gini, nan=0.0) < number
        best, number = (
            np.where(smaller, upper, best),
            np.where(smaller, np.nan_to_num(gini), number),
        )
    return _at_edges(edges, best)


def place_unequal(count: FloatArray, edges: FloatArray) -> Points:
    """Place classes at both edges, in parts for which the Gini coefficient is largest.

    It is 1 less the integral of H**2 over that of H, where H is the share above an amount. Between
    two edges H falls from one share to another; the ratio is smallest where it is constant there,
    at half of the ratio, or as near to it as it may be.
    """
    total = _positive(count.sum(axis=0))
    above = 1 - np.concatenate([np.zeros((1, count.shape[1])), np.cumsum(count, axis=0)]) / total
    before, after, width = above[:-1], above[1:], np.diff(edges)[:, None]

    def excess(ratio: FloatArray) -> FloatArray:
        share = np.clip(ratio / 2, after, before)
        # All amounts exceed the first edge, below which H is 1.
        whole = (width * share * (share - ratio)).sum(axis=0) + edges[0] * (1 - ratio)
        return np.asarray(whole, np.float64)

    ratio = _bisect(excess, 0.0, 1.0, count.shape[1])
    share = np.clip(ratio / 2, after, before)
    fall = _positive(before - after)
    return _at_edges(edges, np.clip((share - after) / fall, 0.0, 1.0))


def _at_edges(edges: FloatArray, upper: FloatArray) -> Points:
    """Place a part of each class, float64[k, n], at its upper edge, and the rest at the lower."""
    upper = np.asarray(upper, np.float64)
    at = np.stack([edges[:-1], edges[1:]], axis=1).reshape(-1, 1)
    part = np.stack([1 - upper, upper], axis=1).reshape(-1, upper.shape[1])
    return Points(np.broadcast_to(at, part.shape), part)


def _bisect(
    falling: Callable[[FloatArray], FloatArray], low: float, high: float, size: int
) -> FloatArray:
    """Find where a falling function crosses 0: float64[n]."""
    first, last = np.full(size, float(low)), np.full(size, float(high))
    for _ in range(BISECTIONS):
        middle = (first + last) / 2
        above = falling(middle) > 0
        first, last = np.where(above, middle, first), np.where(above, last, middle)
    return last


def _positive(number: FloatArray) -> FloatArray:
    """Return numbers, and the smallest one above 0 in place of 0."""
    return np.maximum(number, np.finfo(np.float64).tiny)
