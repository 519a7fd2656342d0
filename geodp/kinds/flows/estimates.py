"""Flows between any two regions, with 95 % intervals by simulation of whole releases.

Where the trips from a zone go to one or two others alone, far fewer intervals hold the truth
(docs/measured/flows.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import sqrt
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Estimate
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.kinds.flows.estimator import (
    FittedPairs,
    KnownLevel,
    NoisyPairs,
    SomePairs,
    draw_truth,
    fit_pairs,
)
from geodp.kinds.flows.kernels import balancing
from geodp.kinds.flows.label_estimates import LabelEstimator, LabelledFlows, choose_labels
from geodp.kinds.flows.label_model import NoisyLabels
from geodp.kinds.flows.methods import EndsOfFlows
from geodp.kinds.flows.prior_flows import TrustedPrior
from geodp.kinds.flows.regions import find_region
from geodp.kinds.flows.streams import StreamsPlan, TripStreams, number_labels
from geodp.kinds.flows.zones import ZoneBlocks, Zones
from geodp.mechanisms.trees.parallel import map_items, processors
from geodp.privacy.key import NoiseKey
from geodp.release.base import BaseRelease
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.typing import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

SIMULATIONS = 40
"""Default number of simulated releases."""

QUANTILE = 2.33
"""Standard errors to each end of an interval: errors have longer tails than normal ones, which the
simulation draws (docs/measured/flows.md)."""

MODEL_ERROR = 0.05
"""Error of flows in which a law and its classes are wrong, relative to the flow
(docs/measured/flows.md)."""

LEAST_SIMULATIONS = 20

MOST_NOISE = 1 << 30
"""Most bytes of noisy pairs of releases that are simulated at once, on several threads."""


@dataclass(frozen=True, eq=False)
class RegionPair:
    """Two regions, as what they share with the finest blocks.

    Attributes
    ----------
    count : int
        Released trips between them.
    origin, destination : int64[a], int64[b]
        Blocks that they touch.
    share : float64[a, b]
        Share of the trips between two blocks that is between the regions.
    within : float
        Variance of the true trips between the regions, given those between the blocks.
    noise : float
        Standard error of the measurement that tells the most of them, with no model.
    identity : tuple of int
        Tells the pair from others.
    """

    count: int
    origin: IntArray = field(repr=False)
    destination: IntArray = field(repr=False)
    share: FloatArray = field(repr=False)
    within: float
    noise: float
    identity: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """Released pairs of zones, sorted by their origins.

    Attributes
    ----------
    first : int64[zones + 1]
        Pairs from zone i are those from ``first[i]`` to ``first[i + 1]``.
    origin, destination : int64[n]
        Numbers of zones.
    label : int64[n]
        Numbers of labels; 0 where trips have none.
    count : int64[n]
    """

    first: IntArray = field(repr=False)
    origin: IntArray = field(repr=False)
    destination: IntArray = field(repr=False)
    label: IntArray = field(repr=False)
    count: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class SimulatedSums:
    """Released trips of groups of pairs of regions, and simulated errors of them.

    Attributes
    ----------
    count : tuple of int
    errors : float64[simulations, groups]
    noise : tuple of float
        Least standard errors.
    """

    count: tuple[int, ...]
    errors: FloatArray = field(repr=False)
    noise: tuple[float, ...]

    @classmethod
    def of(
        cls, pairs: Sequence[RegionPair], errors: FloatArray, ends: Sequence[int]
    ) -> SimulatedSums:
        """Sum pairs of regions by group; ``ends``: of all groups but the last."""
        groups = _split(pairs, ends)
        return cls(
            tuple(sum(one.count for one in group) for group in groups),
            np.stack([one.sum(axis=1) for one in np.split(errors, ends, axis=1)], axis=1),
            tuple(sqrt(sum(one.noise**2 for one in group)) for group in groups),
        )

    def estimate(self, repeated: int) -> list[Estimate]:
        """Estimate the trips of each group; ``repeated``: most trips of a unit."""
        return [
            make_estimate(count, error, repeated, noise)
            for count, error, noise in zip(self.count, self.errors.T, self.noise, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class FlowEstimator:
    """A released map of flows, ready to be estimated.

    Attributes
    ----------
    plan : StreamsPlan
        What was measured.
    flows, origins, destinations : ReleasedTable
    noisy : sequence of NoisyPairs
    decay : float
    labels : sequence of NoisyLabels
    prior : TrustedPrior or None
    maps : sequence of BaseRelease
        Both maps of ends as releases; empty: all is estimated by simulation.
    """

    plan: StreamsPlan
    flows: ReleasedTable
    origins: ReleasedTable
    destinations: ReleasedTable
    noisy: Sequence[NoisyPairs]
    decay: float
    labels: Sequence[NoisyLabels] = ()
    prior: TrustedPrior | None = None
    maps: Sequence[BaseRelease] = ()

    def estimate_sets(
        self,
        groups: Sequence[Sequence[tuple[Any, Any]]],
        sets: Sequence[Mapping[str, Any]],
        simulations: int,
        seed: int,
    ) -> list[list[Estimate]]:
        """Estimate the trips of groups of pairs of regions, by set of labels, one list a set.

        The pairs of a group share no pair of zones; see :meth:`Flows.estimate`.

        All are estimated from the same simulated releases, as if each were asked for alone. All
        trips from or to a region are a sum of a map of ends, too: the narrower interval is taken.
        """
        grid = self.plan.zones.grid
        # Found once, for the simulation and for the maps of ends.
        regions = [
            [(find_region(grid, start), find_region(grid, end)) for start, end in group]
            for group in groups
        ]
        simulated = self.simulate_sets(regions, sets, simulations, seed)
        found = [one.estimate(self.repeated) for one in simulated]
        ends = self._estimate_ends(regions)
        for labels, estimates in zip(sets, found, strict=True):
            if self.choose(labels).all():
                for at, one in ends.items():
                    estimates[at] = min(estimates[at], one, key=lambda each: each.high - each.low)
        return found

    def _estimate_ends(
        self, groups: Sequence[Sequence[tuple[Region, Region]]]
    ) -> dict[int, Estimate]:
        """Estimate the groups that are all trips from or to one region, by their numbers."""
        grid, found = self.plan.zones.grid, dict[int, Estimate]()
        alone = {at: group[0] for at, group in enumerate(groups) if len(group) == 1}
        for way, of_map in enumerate(self.maps):
            ends = {
                at: pair[way] for at, pair in alone.items() if pair[1 - way].key.size == grid.size
            }
            found |= zip(ends, of_map.estimate_all(ends.values()), strict=True)
        return found

    def simulate_sets(
        self,
        groups: Sequence[Sequence[tuple[Any, Any]]],
        sets: Sequence[Mapping[str, Any]],
        simulations: int,
        seed: int,
    ) -> list[SimulatedSums]:
        """Simulate errors of groups of pairs of regions for several sets of labels."""
        chosen = [self.choose(labels) for labels in sets]
        if not isinstance(simulations, int) or simulations < LEAST_SIMULATIONS:
            raise UsageError(
                f"simulations must be a whole number of at least {LEAST_SIMULATIONS}.",
                code="flows-simulations-few",
            )
        if not groups:
            return [SimulatedSums((), np.empty((simulations, 0)), ())] * len(sets)
        fitted = self.fit()
        regions = [one for group in groups for one in group]
        pairs = [self.match(fitted, *one) for one in regions]
        errors = self.simulate(fitted, pairs, simulations, seed)
        some = [at for at, one in enumerate(chosen) if not one.all()]
        found = [(pairs, errors)] * len(chosen)
        if some:
            by_label = self._by_label(regions, [chosen[at] for at in some], (pairs, errors), seed)
            for at, one in zip(some, by_label, strict=True):
                found[at] = one
        ends = np.cumsum([len(group) for group in groups])[:-1].tolist()
        return [SimulatedSums.of(*one, ends) for one in found]

    def choose(self, labels: Mapping[str, Any]) -> BoolArray:
        """Return which combinations of labels are chosen; see :func:`choose_labels`."""
        return choose_labels(self.plan.attributes, labels)

    def _by_label(
        self,
        regions: Sequence[tuple[Any, Any]],
        chosen: Sequence[BoolArray],
        whole: tuple[list[RegionPair], FloatArray],
        seed: int,
    ) -> list[tuple[list[RegionPair], FloatArray]]:
        """Return pairs of regions, and simulated errors, of sets of labels.

        ``whole``: those of all labels, whose errors are shared by label.
        """
        pairs, errors = whole
        listed = self._listed
        if not (listed.count.size and pairs):
            return [whole] * len(chosen)
        start, end = listed.origin, listed.destination
        flows = LabelledFlows((start, end), listed.label, listed.count)
        zones = self.plan.zones
        inside = [(find_zones(zones, one), find_zones(zones, other)) for one, other in regions]
        estimator = LabelEstimator(self.plan, flows, self.labels, np.stack(chosen))
        extra = [draw_normal(seed, one, len(errors), LABELS) for one in pairs]
        parts, apart = estimator.estimate(inside, extra, seed)
        found = []
        for at, of_set in enumerate(apart):
            share = [float(one.share[at]) for one in parts]
            labelled = [
                replace(one, count=int(part.count[at]), noise=one.noise * each)
                for one, part, each in zip(pairs, parts, share, strict=True)
            ]
            found.append((labelled, errors * share + of_set))
        return found

    def fit(self) -> FittedPairs:
        """Fit the expected flows between blocks again, from what is released."""
        return fit_pairs(self.plan.zones, self.margins, self.noisy, self.decay, self.prior)

    @property
    def margins(self) -> tuple[IntArray, IntArray]:
        """Trips from and to every one of the finest blocks."""
        key, blocks = self.plan.zones.key, self.noisy[0].blocks
        return (
            blocks.sums(self.origins.counts_at(key)),
            blocks.sums(self.destinations.counts_at(key)),
        )

    def match(self, fitted: FittedPairs, origin: Any, destination: Any) -> RegionPair:
        """Find what two regions share with the finest blocks."""
        inside = [find_zones(self.plan.zones, one) for one in (origin, destination)]
        finest = self.noisy[0].blocks
        start, end, count = self._leave(np.unique(finest.of_zone[inside[0]]), finest)
        some = inside[0][start] & inside[1][end]
        touched, share = self._share(finest, inside)
        errors = [(share**2).sum() * self.noisy[0].variance]
        for one in self.noisy[1:]:
            errors.append((self._share(one.blocks, inside)[1] ** 2).sum() * one.variance)
        noise = min(sqrt(min(errors)), self.total_error)
        within = self._vary(fitted, inside, touched, share)
        identity = tuple(crc32(np.packbits(one).tobytes()) for one in inside)
        trips = int(count[some].sum())
        return RegionPair(trips, touched[0], touched[1], share, within, noise, identity)

    def _share(
        self, blocks: ZoneBlocks, inside: list[BoolArray]
    ) -> tuple[list[IntArray], FloatArray]:
        """Return blocks that two regions touch, and the share of their trips that is between them.

        Returns
        -------
        touched : list of int64[a] and int64[b]
        share : float64[a, b]
        """
        of_zone = blocks.of_zone
        touched = [np.unique(of_zone[one]) for one in inside]
        start, end, count = self._leave(touched[0], blocks)
        some = inside[0][start] & inside[1][end]
        place = np.full((2, blocks.number), -1)
        for row, one in zip(place, touched, strict=True):
            row[one] = np.arange(one.size)
        shape = touched[0].size, touched[1].size
        part, whole = np.zeros(shape), np.zeros(shape)
        rows, columns = place[0][of_zone[start]], place[1][of_zone[end]]
        both = columns >= 0
        np.add.at(whole, (rows[both], columns[both]), count[both])
        np.add.at(part, (rows[some], columns[some]), count[some])
        # Where no trips are released, the zones of both regions have an equal part.
        equal = [
            np.bincount(of_zone[one], minlength=blocks.number)[at] / np.diff(blocks.first)[at]
            for one, at in zip(inside, touched, strict=True)
        ]
        share = np.outer(*equal)
        np.divide(part, whole, out=share, where=whole > 0)
        return touched, share

    @cached_property
    def total_error(self) -> float:
        """Standard error of the total of all trips, which no sum of them exceeds by much."""
        method, grid = EndsOfFlows.of(self.plan.method), self.plan.zones.grid
        errors = method.block_errors(grid, self.plan.ends)
        return float("inf") if errors is None else float(errors[0].largest)

    def _vary(
        self,
        fitted: FittedPairs,
        inside: list[BoolArray],
        touched: list[IntArray],
        share: FloatArray,
    ) -> float:
        """Return the variance of trips between regions, given those between their blocks."""
        blocks, parts = self.noisy[0].blocks, []
        for one, at, ends in zip(inside, touched, self._ends, strict=True):
            whole = np.add.reduceat(ends, blocks.first[:-1])[blocks.of_zone]
            portion = np.divide(ends, whole, out=np.zeros(ends.size), where=whole > 0)
            sums = [
                np.add.reduceat(np.where(one, portion**n, 0), blocks.first[:-1]) for n in (1, 2)
            ]
            parts.append([total[at] for total in sums])
        (origin, origin_squares), (destination, destination_squares) = parts
        expected = fitted.expected.between((touched[0], touched[1]))
        portion = np.outer(origin, destination)
        # Nothing varies where both blocks lie in the regions.
        partial = portion < 1 - 1e-9
        squares = expected**2 * np.outer(origin_squares, destination_squares)
        # All trips of a unit may be between the same two zones.
        among = self.repeated * np.maximum(expected * np.maximum(portion, share), 0)
        # As trips of a pair differ from the law where they were measured, so within the blocks.
        within = (among + relative_variance(fitted.levels[-1]) * squares)[partial].sum()
        hidden = hidden_variance(fitted.levels[-1], expected, self.repeated)
        return float(within + (hidden * share**2).sum())

    @property
    def repeated(self) -> int:
        """Most trips of a unit, by which trips vary more than if all were of different units."""
        return self.plan.whole.contribution

    @cached_property
    def _end_priors(self) -> tuple[Prior, ...]:
        """Priors of both maps of ends; empty without a prior."""
        return () if self.prior is None else self.prior.flows.ends(self.plan.zones)

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Trips from and to every zone: float64[zones] each."""
        key = self.plan.zones.key
        origins, destinations = (
            one.counts_at(key).astype(np.float64) for one in (self.origins, self.destinations)
        )
        return origins, destinations

    @cached_property
    def _listed(self) -> ListedPairs:
        """The released pairs."""
        zones, table = self.plan.zones, self.flows
        index = table.grid.decode(table.key)
        ends = [zones.find(zones.grid.encode(index[at : at + 2])) for at in (0, 2)]
        order = np.argsort(ends[0], kind="stable")
        first = np.searchsorted(ends[0][order], np.arange(zones.number + 1))
        label = number_labels(self.plan.attributes, index[4:, order])
        count = np.asarray(table.count, np.int64)[order]
        return ListedPairs(
            np.asarray(first, np.int64), ends[0][order], ends[1][order], label, count
        )

    def _leave(self, number: IntArray, blocks: ZoneBlocks) -> tuple[IntArray, IntArray, IntArray]:
        """Return the released pairs that leave some blocks: zones of both ends, and trips."""
        listed, first = self._listed, blocks.first
        # Zones of a block follow each other, and so do the pairs that leave them.
        begins, ends = listed.first[first[number]], listed.first[first[number + 1]]
        at = [np.arange(begin, end) for begin, end in zip(begins, ends, strict=True)]
        some = np.concatenate([np.empty(0, np.int64), *at])
        return listed.origin[some], listed.destination[some], listed.count[some]

    def simulate(
        self,
        fitted: FittedPairs,
        pairs: Sequence[RegionPair],
        simulations: int,
        seed: int,
    ) -> FloatArray:
        """Simulate errors of pairs of regions: float64[simulations, pairs].

        Each time flows are drawn that might be the true ones, and released again. What is drawn of
        a pair depends on the pair and the seed, and not on which others are asked for beside it.
        """
        extra = [sqrt(one.within) * draw_normal(seed, one, simulations) for one in pairs]
        touched = [(one.origin, one.destination) for one in pairs]

        def simulate_one(number: int) -> list[float]:
            random = np.random.default_rng([seed, number])
            truth = draw_truth(fitted, random)
            again = self._release(truth, fitted.decay, random)
            apart = (again.between(ends) - truth.between(ends) for ends in touched)
            return [(one.share * each).sum() for one, each in zip(pairs, apart, strict=True)]

        threads = min(processors(0), MOST_NOISE // self.noisy[0].noisy.nbytes + 1)
        found = map_items(simulate_one, range(simulations), threads, "Simulating releases")
        return np.array(found) + np.stack(extra, axis=1)

    def _release(self, truth: SomePairs, decay: float, random: np.random.Generator) -> SomePairs:
        """Measure flows between blocks as if they were true, and fit the expected flows."""
        plan, blocks = self.plan, self.noisy[0].blocks
        ends = []
        for axis, one in enumerate((self.origins, self.destinations)):
            total = np.zeros(blocks.number, np.int64)
            total[truth.ends[axis]] = truth.flows.sum(axis=1 - axis)
            ends.append(spread_ends(blocks.first, total, one.counts_at(plan.zones.key)))
        row, column = np.nonzero(truth.flows)
        origins, destinations = (
            CountTable.from_keys(plan.zones.grid, plan.zones.key, one) for one in ends
        )
        # Where in its block a trip begins and ends is told by the maps; pairs know blocks alone.
        start, end = (
            blocks.first[one[at]] for one, at in zip(truth.ends, (row, column), strict=True)
        )
        trips = TripStreams(plan.zones, origins, destinations, start, end, truth.flows[row, column])
        with NoiseKey(random.bytes(32)).restrict(plan.declare()) as key:
            released = plan.draw_ends(trips, key, self._end_priors).tables
            noisy = plan.draw_pairs(trips, key)
        sums = [blocks.sums(one.counts_at(plan.zones.key)) for one in released]
        return fit_pairs(plan.zones, (sums[0], sums[1]), noisy, decay, self.prior).expected


LABELS = 1
"""Tells what is drawn of flows by label from what is drawn of all."""


def draw_normal(seed: int, pair: RegionPair, number: int, what: int = 0) -> FloatArray:
    """Draw standard normal numbers of a pair of regions: float64[number]."""
    return np.random.default_rng([seed, what, *pair.identity]).standard_normal(number)


def _split(pairs: Sequence[RegionPair], ends: Sequence[int]) -> list[Sequence[RegionPair]]:
    """Split pairs of regions into their groups; ``ends``: of all groups but the last."""
    return [pairs[a:b] for a, b in pairwise([0, *ends, len(pairs)])]


def find_zones(zones: Zones, region: Any) -> BoolArray:
    """Return which zones lie in a region: bool[n]."""
    return np.isin(zones.key, find_region(zones.grid, region).key)


def hidden_variance(level: KnownLevel, expected: FloatArray, repeated: int) -> FloatArray:
    """Return the variance of true flows between measured blocks that noise may hide.

    Trips of persons who each go ``repeated`` times between the same two blocks vary by as much more
    than a Poisson variable does. Where the noise of pairs is larger, their measured differences
    from the law do not show it, and flows that were moved too little do not follow it.
    """
    apart, variance = np.empty(expected.shape), np.empty(expected.shape)
    balancing.look_up_classes(expected, level.apart, apart)
    balancing.look_up_classes(expected, level.variance, variance)
    left = np.divide(variance, apart, out=np.ones(expected.shape), where=apart > 0)
    return np.asarray(left**2 * np.maximum(repeated * expected - apart, 0))


def relative_variance(finest: KnownLevel) -> float:
    """Return by how much true flows differ from the law, as a multiple of the squared flow."""
    classes, apart = np.arange(balancing.CLASSES), finest.apart
    # The middle of each class, from which on Poisson variation is left out.
    middle = 2.0 ** ((classes + 0.5) / 2 - 14)
    known = (middle > 1) & (apart > 0)
    beyond = np.maximum(apart[known] - middle[known], 0) / middle[known] ** 2
    # Smaller blocks differ more than those that were measured.
    return max(float(np.median(beyond)) if known.any() else 0.0, LEAST_VARIANCE)


LEAST_VARIANCE = 3.0
"""Least relative variance of flows between zones whose pairs were not measured."""


def spread_ends(first: IntArray, total: IntArray, released: IntArray) -> IntArray:
    """Divide totals of blocks among their zones, as released trips are divided: int64[zones]."""
    size = np.diff(first)
    block = np.repeat(np.arange(total.size), size)
    before = np.add.reduceat(released, first[:-1])
    part = np.where(before[block] > 0, released / np.maximum(before[block], 1), 1 / size[block])
    # Cumulative sums are rounded, so that zones add up to their block.
    reached = np.cumsum(part)
    reached -= np.repeat(reached[first[:-1]] - part[first[:-1]], size)
    ends = np.floor(reached * total[block] + 0.5).astype(np.int64)
    ends[first[1:] - 1] = total
    before_zone = np.append(0, ends[:-1])
    before_zone[first[:-1]] = 0
    return np.asarray(ends - before_zone, np.int64)


def make_estimate(count: int, errors: FloatArray, repeated: int, noise: float = 0.0) -> Estimate:
    """Make the estimate of released trips from simulated errors: float64[simulations].

    ``repeated``: most trips of a unit, which may all be between these regions; ``noise``: least
    standard error.
    """
    bias, deviation = float(np.mean(errors)), float(np.std(errors, ddof=1))
    # What the simulation shows of the bias, and what no simulation of the model itself shows.
    error = sqrt(deviation**2 + bias**2 + (MODEL_ERROR * count) ** 2)
    # Where noise hides all trips, releases of none are simulated, which are hardly ever wrong.
    error = max(error, noise)
    # The variance of so few simulations is uncertain itself.
    spread = QUANTILE * error * (1 + 1 / errors.size)
    # Few trips are skewed: as in the score interval of a Poisson variable, of units with all their
    # trips there.
    centre, skew = count - bias, repeated * QUANTILE**2 / 2
    low, high = centre - spread, centre + skew + sqrt(spread**2 + skew**2)
    low, high = min(max(low, 0.0), count), max(high, count)
    return Estimate(count, float(low), float(high), error, False)
