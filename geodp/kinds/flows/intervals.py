"""95 % intervals of flows between regions, in closed form, from what is released alone.

1. What a noisy flow between the smallest measured blocks says of the true one
   (:mod:`geodp.kinds.flows.deconvolution`). Whoever asks about a flow mostly has trips in mind, and
   so meets a large flow more often than a small one: the upper end is that of the flow that a trip
   belongs to, where the lower one is that of a pair.
2. Of a part of a block, how its trips lie in the block: as unevenly as pairs of blocks are found to
   differ from what is expected of them, by a gamma law.
3. What pairs have in common, so that it does not average out over many of them: what the fitted
   flows between the next larger blocks differ by from the noisy ones, beyond the noise, or what
   they have from the noise of both ends, if this is more.
4. The noisy flows alone, without any model: their interval lies within the one that is given, as
   far as all blocks that the regions touch, and both ends, can have so many trips.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import EMPTY_ESTIMATE, LAPLACE_Z, Estimate, Z
from geodp.kinds.flows.deconvolution import NOT_EXPECTED, LearnedFlows
from geodp.kinds.flows.estimator import (
    CombinedLevel,
    FittedPairs,
    NoisyPairs,
    SomePairs,
    split_rows,
    sum_larger,
)
from geodp.kinds.flows.kernels import deconvolution
from geodp.kinds.flows.kernels.balancing import CLASSES
from geodp.kinds.flows.zones import Zones
from geodp.typing import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

ROUNDS = 30
"""Rounds in which an overdispersion is fitted, each with the weights of the one before."""

COVER_Z = 2.6
"""Half of the intervals of the sums that a flow hardly exceeds, of which there are several, in
standard errors (docs/measured/flows.md)."""


@dataclass(frozen=True)
class Overdispersion:
    """Variance of flows around expected ones: ``clump * flow + relative * flow**2``.

    Attributes
    ----------
    clump : float
        Trips that go together.
    relative : float
    """

    clump: float
    relative: float

    def variance(self, flow: FloatArray) -> FloatArray:
        """Return the variances of flows: float64, as they are."""
        return self.clump * flow + self.relative * flow**2

    def within(self, share: FloatArray, flow: FloatArray) -> FloatArray:
        """Return the variances of shares of flows, given the flows; 0 of all of a flow."""
        return (1 - share) * self.variance(share * flow)

    def reach(self, flow: FloatArray) -> FloatArray:
        """Return by how much the flow that a trip belongs to may exceed an expected one.

        With a gamma law, the flow that a trip belongs to has one, too, whose shape is larger by 1;
        its 97.5 % quantile follows from a cube (Wilson and Hilferty 1931).
        """
        scale = self.clump + self.relative * flow
        shape = flow / scale + 1
        return np.asarray(
            scale * shape * (1 - 1 / (9 * shape) + Z / (3 * np.sqrt(shape))) ** 3 - flow
        )

    def weigh(
        self, moments: tuple[FloatArray, FloatArray], number: FloatArray, v: float
    ) -> FloatArray:
        """Return the weights of classes, twice the inverse variances of mean squares: float64[n].

        Parameters are those of :meth:`fit`.
        """
        one, two = moments
        return np.asarray(number / (v + self.clump * one + self.relative * two) ** 2)

    @classmethod
    def fit(
        cls, moments: tuple[FloatArray, FloatArray], apart: FloatArray, number: FloatArray, v: float
    ) -> Overdispersion:
        """Fit both numbers, neither below 0, to squared differences by class.

        Parameters
        ----------
        moments : float64[n], float64[n]
            Mean flow of each class, and mean squared flow.
        apart : float64[n]
            Mean squared differences beyond the noise.
        number : float64[n]
            Flows of each class, above 0.
        v : float
            Variance of the noise.
        """
        one, two = moments
        found = cls(1.0, 0.3)
        for _ in range(ROUNDS):
            weight = found.weigh(moments, number, v)
            a, b, c = (float(weight @ each) for each in (one * one, one * two, two * two))
            y, z = float(weight @ (one * apart)), float(weight @ (two * apart))
            full = a * c - b * b
            clump, relative = (
                ((c * y - b * z) / full, (a * z - b * y) / full) if full > 0 else (-1.0, 0.0)
            )
            if clump < 0:
                clump, relative = 0.0, z / c if c > 0 else 0.0
            if relative < 0:
                clump, relative = y / a if a > 0 else 0.0, 0.0
            found = cls(max(clump, 0.0), max(relative, 0.0))
        return found


def fit_parts(learned: LearnedFlows, v: float, repeated: int) -> Overdispersion:
    """Fit how true flows differ from expected ones, of which parts of blocks differ alike.

    Parameters
    ----------
    learned : LearnedFlows
    v : float
        Variance of the noise.
    repeated : int
        Most trips of a unit, which may go together, where the noise may hide it.
    """
    rows = [(one.expected, one.apart, one.count.sum()) for _, one in learned.bins()]
    # None where there are no trips.
    mean, apart, number = np.array([row for row in rows if row[2] > 0], np.float64).reshape(-1, 3).T
    moments = mean, mean**2
    found = Overdispersion.fit(moments, apart, number, v)
    # Of few pairs of blocks, clumps may seem small by chance: by two standard errors, say.
    known = float(found.weigh(moments, number, v) @ mean**2)
    chance = sqrt(2 / known) if known > 0 else 0.0
    return replace(found, clump=max(found.clump + 2 * chance, float(repeated)))


@dataclass(frozen=True, eq=False)
class CommonErrors:
    """Errors that pairs within the same larger blocks have in common.

    Attributes
    ----------
    parent : int64[n]
        The larger block of every finest one.
    flows : SomePairs
        Fitted flows between the larger blocks.
    spread : Overdispersion
        Of the true flows around these, beyond what the errors of single pairs add up to.
    """

    parent: IntArray = field(repr=False)
    flows: SomePairs = field(repr=False)
    spread: Overdispersion

    @classmethod
    def of(cls, fitted: FittedPairs, level: CombinedLevel) -> CommonErrors:
        """Find them from what fitted flows differ by from the noisy ones, beyond the noise.

        As the fit follows the noise, their squared differences are less than those of the truth and
        noise: by twice what they followed it, which is the variance that is left (Stein 1981).
        """
        pairs, learned = fitted.expected, fitted.learned
        flows = pairs.sums(level.parent)
        variance = pairs.sums_by(level.parent, lambda rows: learned.variance[learned.entry[rows]])
        sums = np.zeros((4, CLASSES))
        for rows in split_rows(flows.flows.shape):
            flow, spread = flows.flows[rows].ravel(), variance.flows[rows].ravel()
            apart = (level.between(flows, rows).ravel() - flow) ** 2 + spread
            which = (2 * (np.log2(np.maximum(flow, 2.0**-14)) + 14)).astype(np.int64)
            np.minimum(which, CLASSES - 1, out=which)
            for total, one in zip(sums, (None, flow, flow**2, apart), strict=True):
                total += np.bincount(which, one, CLASSES)
        number = sums[0]
        some = number > 0
        mean, square, apart = sums[1:, some] / number[some]
        v = level.variance
        return cls(
            level.parent, flows, Overdispersion.fit((mean, square), apart - v, number[some], v)
        )

    def variance(self, row: IntArray, column: IntArray, flow: FloatArray) -> float:
        """Return the variance of a sum of parts of pairs: float64[m], of the pairs given."""
        (first, at), (second, beside) = (
            np.unique(self.parent[one], return_inverse=True) for one in (row, column)
        )
        part = np.zeros((first.size, second.size))
        np.add.at(part, (at, beside), flow)
        whole = self.flows.between((first, second))
        share = np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)
        return float((share**2 * self.spread.variance(whole)).sum())


@dataclass(frozen=True, eq=False)
class TouchedPairs:
    """Pairs of blocks of one size that regions touch, each once.

    Attributes
    ----------
    row, column : int64[m]
        Blocks of origin and of destination.
    share : float64[m]
        Share of the trips between both that is between the regions.
    is_cut : bool[2, m]
        Whether a part of the block of origin, and of that of destination, is outside.
    """

    row: IntArray = field(repr=False)
    column: IntArray = field(repr=False)
    share: FloatArray = field(repr=False)
    is_cut: BoolArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class FittedParts:
    """The pairs of the finest blocks that a flow is of.

    Attributes
    ----------
    touched : TouchedPairs
    flow, variance : float64[m]
        Fitted flows between these blocks, and the variance of the true ones.
    """

    touched: TouchedPairs = field(repr=False)
    flow: FloatArray = field(repr=False)
    variance: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class GroupedFlow:
    """The estimate of a flow, with what tells how its errors go with those of another one.

    Attributes
    ----------
    estimate : Estimate
    parts : FittedParts or None
        None: the flow is a sum of a map of ends, or of several pairs of regions.
    """

    estimate: Estimate
    parts: FittedParts | None = field(default=None, repr=False)

    @classmethod
    def add(cls, flows: Sequence[GroupedFlow]) -> GroupedFlow:
        """Add flows without common trips, with their margins, as all may be off alike."""
        if len(flows) < 2:
            return flows[0] if flows else cls(EMPTY_ESTIMATE)
        rows = [
            (one.count, one.low, one.high, one.standard_error)
            for one in (each.estimate for each in flows)
        ]
        count, low, high, error = (sum(column) for column in zip(*rows, strict=True))
        return cls(Estimate(count, low, high, error, clamped=False))


@dataclass(frozen=True, eq=False)
class KnownFlows:
    """What is known of the true flows.

    Attributes
    ----------
    fitted : FittedPairs
    noisy : sequence of NoisyPairs
        Finest first.
    parts : Overdispersion
        Of trips in parts of blocks.
    common : CommonErrors or None
        None: no larger blocks tell of them.
    low, high : float64[entries]
        Ends of the interval of a true flow, by entry of the tables that were learned.
    reach : float
        Flow that is not exceeded by that of 97.5 % of the trips of pairs that noise may hide.
    """

    fitted: FittedPairs
    noisy: Sequence[NoisyPairs]
    parts: Overdispersion
    common: CommonErrors | None
    low: FloatArray = field(repr=False)
    high: FloatArray = field(repr=False)
    reach: float

    @classmethod
    def of(
        cls, zones: Zones, fitted: FittedPairs, noisy: Sequence[NoisyPairs], repeated: int
    ) -> KnownFlows:
        """Take what is known from fitted flows, and the noisy ones they were fitted to.

        ``repeated``: most trips of a unit.
        """
        finest = noisy[0].blocks
        # Of the finest blocks, what a flow is off by stands in its posterior.
        *larger, level = fitted.levels
        above = larger[-1] if larger else sum_larger(zones, finest, level)
        return cls(
            fitted,
            noisy,
            fit_parts(fitted.learned, noisy[0].variance, repeated),
            None if above is None else CommonErrors.of(fitted, above),
            *find_ends(fitted.learned, sqrt(noisy[0].variance)),
        )

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """Row of each block of origin among the fitted flows, and column; -1 where it has none."""
        places = np.full((2, self.fitted.expected.number), -1)
        for place, ends in zip(places, self.fitted.expected.ends, strict=True):
            place[ends] = np.arange(ends.size)
        return places[0], places[1]

    @cached_property
    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """Variances of all flows from each block, and to each: float64[a], float64[b]."""
        learned = self.fitted.learned
        rows, columns = np.zeros(learned.entry.shape[0]), np.zeros(learned.entry.shape[1])
        for some in split_rows(learned.entry.shape):
            variance = learned.variance[learned.entry[some]]
            rows[some], columns = variance.sum(axis=1), columns + variance.sum(axis=0)
        return rows, columns

    def _look_up(self, touched: TouchedPairs) -> tuple[FloatArray, ...]:
        """Return fitted flows between blocks, variances and ends of the true ones: float64[m]."""
        row, column = self._places[0][touched.row], self._places[1][touched.column]
        fitted, finest = (row >= 0) & (column >= 0), self.noisy[0]
        inside = row[fitted], column[fitted]
        learned, off = self.fitted.learned, LAPLACE_Z * sqrt(finest.variance)
        noisy = finest.noisy[touched.row, touched.column].astype(np.float64)
        # Of pairs of which nothing was expected, noise and what other pairs have tell the most.
        flow, variance, low = np.zeros((3, row.size))
        high = np.minimum(np.maximum(noisy, 0) + off, self.reach)
        entry = learned.entry[inside]
        flow[fitted], variance[fitted] = self.fitted.expected.flows[inside], learned.variance[entry]
        expected, measured = entry != NOT_EXPECTED, np.isnan(learned.mean[entry])
        high[fitted] = np.where(expected, self.high[entry], high[fitted])
        low[fitted] = self.low[entry]
        low[fitted] = np.where(measured, noisy[fitted] - off, low[fitted])
        high[fitted] = np.where(measured, noisy[fitted] + off, high[fitted])
        return flow, variance, np.clip(low, 0, flow), np.maximum(high, flow)

    def estimate(
        self, count: int, touched: Sequence[TouchedPairs], ends: EndsOfPair
    ) -> GroupedFlow:
        """Estimate the trips between regions.

        Parameters
        ----------
        count : int
            Released trips.
        touched : sequence of TouchedPairs
            Blocks of each size, as the noisy pairs have them.
        ends : EndsOfPair
        """
        finest, spread = touched[0], self.parts
        flow, variance, low, high = self._look_up(finest)
        share = finest.share
        part, of_whole = share * flow, share**2 * variance
        inside = spread.within(share, flow)
        error = of_whole + inside
        below = np.minimum(np.hypot(share * (flow - low), Z * np.sqrt(inside)), part)
        # A part has no more than the whole.
        above = np.minimum(np.hypot(share * (high - flow), spread.reach(part)), high - part)
        rest = self._vary_ends(finest, of_whole, part, ends)
        if self.common is not None:
            # What larger blocks are off by has the noise of the ends in it.
            rest = max(rest, self.common.variance(finest.row, finest.column, part))
        total = float(error.sum()) + rest
        lower = count - _join(below, error, rest)
        upper = count + _join(above, error, rest)
        measured, of_noise, cover = self._measure(count, touched, ends)
        lower = min(lower, measured - Z * of_noise)
        upper = max(upper, measured + Z * of_noise)
        lower, upper = min(max(float(lower), 0.0), float(count)), float(upper)
        # What is too large for its blocks is not known better than what fits.
        upper = min(upper, max(min(cover, ends.most), count + sqrt(total)))
        # Where no trips are released, a posterior that has none leaves what the noise may hide.
        least = (upper - lower) / (4 * Z)
        found = Estimate(
            count, lower, max(upper, float(count)), max(sqrt(total), least), clamped=False
        )
        return GroupedFlow(found, FittedParts(finest, flow, variance))

    def _vary_ends(
        self,
        finest: TouchedPairs,
        variance: FloatArray,
        part: FloatArray,
        ends: EndsOfPair,
    ) -> float:
        """Return the variance that flows have from the noise of both ends.

        Flows between whole blocks have as much of it as raking moved them, and those of parts of
        blocks as much as they are of all trips of the region.

        ``variance``, ``part``: variances of the flows, and the flows: float64[m] each.
        """
        total = 0.0
        blocks = finest.row, finest.column
        for way, (place, sums) in enumerate(zip(self._places, self._sums, strict=True)):
            at = place[np.unique(blocks[way])]
            every = float(sums[at[at >= 0]].sum())
            moved = float(variance.sum()) / every if every > 0 else 0.0
            total += ends.vary(way, float(part[finest.is_cut[way]].sum()), moved)
        return total

    def _measure(
        self, count: int, touched: Sequence[TouchedPairs], ends: EndsOfPair
    ) -> tuple[float, float, float]:
        """Estimate flows from the noisy ones alone, and an end that they hardly exceed.

        Returns
        -------
        flow, error : float
            Of the size of blocks whose error is the smallest.
        cover : float
            Upper end of the sum of all blocks that are touched.
        """
        best, cover = (0.0, float("inf")), float("inf")
        for one, level in zip(touched, self.noisy, strict=True):
            noisy = level.noisy[one.row, one.column].astype(np.float64)
            share, inside = one.share, self.parts.within(one.share, np.maximum(noisy, 0))
            variance = float((share**2 * level.variance + inside).sum())
            for way in (0, 1):
                cut = one.is_cut[way]
                inner = max(float(share[cut] @ noisy[cut]), count if cut.all() else 0.0)
                variance += ends.vary(way, inner)
            if sqrt(variance) < best[1]:
                best = float(share @ noisy), sqrt(variance)
            cover = min(cover, float(noisy.sum()) + COVER_Z * sqrt(noisy.size * level.variance))
        return *best, cover

    def oppose(self, one: FittedParts, other: FittedParts) -> float:
        """Return by how much the errors of two flows are opposite: covariance, its sign changed.

        Parts of the same blocks have the trips that the other one lacks, and flows with common ends
        are raked to the same sums.
        """
        number = self.fitted.expected.number
        first, second = (each.touched for each in (one, other))
        _, at, beside = np.intersect1d(
            first.row * number + first.column,
            second.row * number + second.column,
            return_indices=True,
        )
        both, flow = first.share[at] * second.share[beside], one.flow[at]
        total = -float((both * one.variance[at]).sum())
        if one is not other:
            inside = self.parts.clump * flow + self.parts.relative * flow**2 / 2
            total += float((both * inside).sum())
        for place, sums, way in zip(self._places, self._sums, ("row", "column"), strict=True):
            parts = [
                np.bincount(
                    getattr(each.touched, way), each.touched.share**2 * each.variance, number
                )
                for each in (one, other)
            ]
            of_all = np.zeros(number)
            of_all[place >= 0] = sums
            product = parts[0] * parts[1]
            total += float(np.divide(product, of_all, out=product, where=of_all > 0).sum())
        return total


@dataclass(frozen=True)
class EndsOfPair:
    """What is known of all trips from one region, and to another.

    Attributes
    ----------
    trips, error : (float, float)
        Released trips from the one and to the other, and standard errors.
    most : float
        Trips that the flow hardly exceeds.
    """

    trips: tuple[float, float]
    error: tuple[float, float]
    most: float

    @classmethod
    def of(cls, origin: Estimate, destination: Estimate) -> EndsOfPair:
        """Take both from the maps of ends."""
        both = origin, destination
        most = min(max(one.high, one.count + COVER_Z * one.standard_error) for one in both)
        return cls(
            (origin.count, destination.count),
            (origin.standard_error, destination.standard_error),
            most,
        )

    def vary(self, way: int, flow: float, least: float = 0.0) -> float:
        """Return the variance that a flow has from one end, by its share in all of its trips.

        ``least``: of the share.
        """
        own = self.trips[way]
        share = flow / own if own > 0 else float(flow > 0)
        return float((min(max(share, least, 0.0), 1.0) * self.error[way]) ** 2)


def _join(single: FloatArray, variance: FloatArray, rest: float) -> float:
    """Join the margins of pairs: the largest one, and the variances of all others."""
    at = int(np.argmax(single))
    others = max(float(variance.sum() - variance[at]) + rest, 0.0)
    return sqrt(float(single[at]) ** 2 + Z**2 * others)


def find_ends(learned: LearnedFlows, deviation: float) -> tuple[FloatArray, FloatArray, float]:
    """Find the ends of the intervals of true flows, by entry.

    ``deviation``: standard deviation of the noise.

    Returns
    -------
    low, high : float64[entries]
    reach : float
        See :class:`KnownFlows`.
    """
    low, high = np.zeros((2, learned.mean.size))
    values, weights = [np.zeros(1)], [np.zeros(1)]
    for at, one in learned.bins():
        trips = one.posterior * one.support
        every = one.count @ trips
        values.append(one.support)
        weights.append(every)
        # A flow that is measured may be larger than most of its class, but where noise hides it.
        noisy = learned.step * (np.arange(at.stop - at.start) - (at.stop - at.start) // 2)
        off = LAPLACE_Z * deviation
        possible = np.maximum(noisy, 0) + off
        most = find_quantile(every[None], one.support, 0.975)[0]
        possible = np.where(noisy > off, possible, np.minimum(possible, most))
        low[at] = one.quantile(0.025)
        high[at] = np.maximum(find_quantile(trips, one.support, 0.975), possible)
    value, weight = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(value, kind="stable")
    return low, high, float(find_quantile(weight[order][None], value[order], 0.975)[0])


def find_quantile(weight: FloatArray, value: FloatArray, level: float) -> FloatArray:
    """Find a quantile of values: float64[n].

    Parameters
    ----------
    weight : float64[n, k]
        Weights of the values, each row with its own.
    value : float64[k]
        Increasing.
    level : float
    """
    reached = np.cumsum(weight, axis=1)
    total, found = reached[:, -1:], np.empty(weight.shape[0])
    reached = np.divide(reached, total, out=np.ones(reached.shape), where=total > 0)
    deconvolution.find_quantiles(reached, value, level, found)
    return found
