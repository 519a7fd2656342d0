"""Flows between any two regions, with 95 % intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import hypot
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import Estimate
from geodp.grid.region import Region
from geodp.kernels import key_lists
from geodp.kinds.flows.estimator import NoisyPairs, fit_pairs
from geodp.kinds.flows.intervals import EndsOfPair, GroupedFlow, KnownFlows, TouchedPairs
from geodp.kinds.flows.label_estimates import (
    LabelEstimator,
    LabelledFlows,
    LabelledSums,
    choose_labels,
)
from geodp.kinds.flows.label_model import NoisyLabels
from geodp.kinds.flows.prior_flows import TrustedPrior
from geodp.kinds.flows.regions import find_region
from geodp.kinds.flows.streams import StreamsPlan, count_labels, number_labels
from geodp.kinds.flows.zones import AT_ONCE, ZoneBlocks, Zones, list_runs, number_pairs
from geodp.release.base import BaseRelease
from geodp.table.counts import ReleasedTable, coalesce
from geodp.typing import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

LABEL_Z = 2.33
"""Half of the interval of what labels add, in standard errors: their errors have longer tails than
normal ones (docs/measured/flows.md)."""

LABEL_ERROR = 0.05
"""Error of trips by label in which the model of labels is wrong, relative to the trips
(docs/measured/flows.md)."""


@dataclass(frozen=True, eq=False)
class ListedPairs:
    """Released pairs of zones by their origins, those of each in the order of their keys.

    Attributes
    ----------
    first : int64[zones + 1]
        Pairs from zone i are those from ``first[i]`` to ``first[i + 1]``.
    destination, label, count : integers[n]
        Of the smallest types: of many trips these are much of the memory. Labels are 0 where trips
        have none.
    """

    first: IntArray = field(repr=False)
    destination: NDArray[np.integer[Any]] = field(repr=False)
    label: NDArray[np.integer[Any]] = field(repr=False)
    count: NDArray[np.integer[Any]] = field(repr=False)

    @classmethod
    def of(cls, zones: Zones, table: ReleasedTable) -> Self:
        """List the pairs of a table."""
        attributes, first = table.grid.attributes, np.zeros(zones.number + 1, np.int64)
        for _, ends, _ in number_pairs(zones, table):
            np.add.at(first, ends[0] + 1, 1)
        np.cumsum(first, out=first)
        limits = zones.number, count_labels(attributes), int(table.count.max(initial=0))
        columns = [np.empty(table.key.size, np.min_scalar_type(limit)) for limit in limits]
        place = first[:-1].copy()
        for some, ends, labels in number_pairs(zones, table):
            at = np.empty(ends.shape[1], np.int64)
            key_lists.take_places(ends[0], place, at)
            rows = ends[1], number_labels(attributes, labels), table.count[some]
            for column, row in zip(columns, rows, strict=True):
                column[at] = row
        return cls(first, *columns)

    def leave(self, zone: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the pairs that leave some zones: zones of both ends, and trips."""
        begin, end = self.first[zone], self.first[zone + 1]
        at = [np.arange(*one) for one in zip(begin, end, strict=True)]
        some = np.concatenate([np.empty(0, np.int64), *at])
        ends = np.repeat(zone, end - begin), self.destination[some].astype(np.int64)
        return *ends, self.count[some].astype(np.int64)


@dataclass(frozen=True, eq=False)
class SummedFlows:
    """Estimated sums of groups of pairs of regions, for one set of labels.

    Attributes
    ----------
    whole : list of GroupedFlow
        Of all labels.
    labelled : list of LabelledSums, or None
        None: all labels are chosen.
    repeated : int
        Most trips of a unit.
    """

    whole: list[GroupedFlow] = field(repr=False)
    labelled: list[LabelledSums] | None = field(repr=False)
    repeated: int

    @cached_property
    def estimates(self) -> list[Estimate]:
        """Estimates of the groups."""
        if self.labelled is None:
            return [one.estimate for one in self.whole]
        return [
            self._of_labels(one.estimate, part)
            for one, part in zip(self.whole, self.labelled, strict=True)
        ]

    def _of_labels(self, whole: Estimate, part: LabelledSums) -> Estimate:
        """Estimate the trips of the labels: the flow, and which part of it they are."""
        own = hypot(part.error, LABEL_ERROR * part.count)
        skew = self.repeated * LABEL_Z**2 / 2
        below = hypot(part.share * (whole.count - whole.low), LABEL_Z * own)
        above = hypot(part.share * (whole.high - whole.count), skew + hypot(LABEL_Z * own, skew))
        return Estimate(
            part.count,
            max(part.count - below, 0.0),
            # No label has more trips than all of them.
            max(min(part.count + above, whole.high), float(part.count)),
            hypot(part.share * whole.standard_error, own),
            clamped=False,
        )

    def labels_of(self, at: int) -> tuple[float, FloatArray]:
        """Return the share of the labels in the trips of a group, and its simulated errors."""
        if self.labelled is None:
            return 1.0, np.zeros(1)
        return self.labelled[at].share, self.labelled[at].errors


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
    maps : sequence of BaseRelease
        Both maps of ends as releases.
    labels : sequence of NoisyLabels
    prior : TrustedPrior or None
    """

    plan: StreamsPlan
    flows: ReleasedTable
    origins: ReleasedTable
    destinations: ReleasedTable
    noisy: Sequence[NoisyPairs]
    decay: float
    maps: Sequence[BaseRelease]
    labels: Sequence[NoisyLabels] = ()
    prior: TrustedPrior | None = None

    def estimate_sets(
        self, groups: Sequence[Sequence[tuple[Any, Any]]], sets: Sequence[Mapping[str, Any]]
    ) -> list[list[Estimate]]:
        """Estimate the trips of groups of pairs of regions, by set of labels, one list a set.

        The pairs of a group share no pair of zones; see :meth:`Flows.estimate`.
        """
        return [one.estimates for one in self.sum_sets(groups, sets)]

    def sum_sets(
        self, groups: Sequence[Sequence[tuple[Any, Any]]], sets: Sequence[Mapping[str, Any]]
    ) -> list[SummedFlows]:
        """Estimate groups of pairs of regions for several sets of labels, with what they share."""
        chosen = [self.choose(labels) for labels in sets]
        regions, numbered = self._number(groups)
        inside = [find_zones(self.plan.zones, one) for one in regions]
        whole = self._sum_groups(regions, numbered, inside)
        some = [at for at, one in enumerate(chosen) if not one.all()]
        by_label = dict[int, list[LabelledSums]]()
        if some and self._listed.count.size:
            listed, number = self._listed, self.plan.zones.number
            origin = np.repeat(np.arange(number), np.diff(listed.first))
            columns = listed.destination, listed.label, listed.count
            destination, label, count = (one.astype(np.int64) for one in columns)
            estimator = LabelEstimator(
                self.plan,
                LabelledFlows((origin, destination), label, count),
                self.labels,
                np.stack([chosen[at] for at in some]),
            )
            masks = [mask_zones(self.plan.zones, one) for one in inside]
            between = [[(masks[a], masks[b]) for a, b in group] for group in numbered]
            by_label = dict(zip(some, estimator.estimate(between), strict=True))
        return [SummedFlows(whole, by_label.get(at), self.repeated) for at, _ in enumerate(sets)]

    @property
    def repeated(self) -> int:
        """Most trips of a unit, by which trips vary more than if all were of different units."""
        return self.plan.whole.contribution

    def choose(self, labels: Mapping[str, Any]) -> BoolArray:
        """Return which combinations of labels are chosen; see :func:`choose_labels`."""
        return choose_labels(self.plan.attributes, labels)

    def _number(
        self, groups: Sequence[Sequence[tuple[Any, Any]]]
    ) -> tuple[list[Region], list[list[tuple[int, int]]]]:
        """Return all regions of groups, each once, and the groups as their numbers."""
        grid, numbers, regions = self.plan.zones.grid, dict[bytes, int](), list[Region]()

        def number(one: Any) -> int:
            region = find_region(grid, one)
            at = numbers.setdefault(region.key.tobytes(), len(regions))
            if at == len(regions):
                regions.append(region)
            return at

        return regions, [[(number(one), number(other)) for one, other in each] for each in groups]

    def _sum_groups(
        self,
        regions: Sequence[Region],
        groups: Sequence[Sequence[tuple[int, int]]],
        inside: Sequence[IntArray],
    ) -> list[GroupedFlow]:
        """Estimate groups of pairs of regions, of all labels.

        ``regions``, ``groups``: see :meth:`_number`; ``inside``: the zones of each region.
        """
        if not groups:
            return []
        ends = [one.estimate_all(regions) for one in self.maps]
        progress.begin("Estimating flows", len(groups))
        # The same flow by two sets of labels is one flow.
        known = dict[tuple[int, int], GroupedFlow]()
        for group in groups:
            progress.advance(1)
            for a, b in group:
                if (a, b) not in known:
                    known[a, b] = self._estimate_pair(
                        (inside[a], inside[b]), (ends[0][a], ends[1][b])
                    )
        return [GroupedFlow.add([known[pair] for pair in group]) for group in groups]

    def _estimate_pair(
        self, inside: tuple[IntArray, IntArray], ends: tuple[Estimate, Estimate]
    ) -> GroupedFlow:
        """Estimate the flow of a pair of regions.

        ``inside``: zones of both; ``ends``: all trips from the one, and to the other.
        """
        number = self.plan.zones.number
        whole = [ends[way] for way in (0, 1) if inside[1 - way].size == number]
        if whole:
            # All trips from or to a region are a sum of a map of ends.
            return GroupedFlow(min(whole, key=lambda one: one.high - one.low))
        touched = [self._touch(one.blocks, inside) for one in self.noisy]
        return self.known.estimate(self._count(inside), touched, EndsOfPair.of(*ends))

    def oppose(self, sides: tuple[SummedFlows, SummedFlows], at: tuple[int, int]) -> float:
        """Return how far the errors of two flows are opposite, from 0 to 1.

        ``at``: which group of each.
        """
        (one, first), (other, second) = zip(sides, at, strict=True)
        parts = one.whole[first].parts, other.whole[second].parts
        error = one.estimates[first].standard_error
        error *= other.estimates[second].standard_error
        if not error or parts[0] is None or parts[1] is None:
            # What they have in common is not known.
            return 1.0
        (share, apart), (rest, beside) = one.labels_of(first), other.labels_of(second)
        total = share * rest * self.known.oppose(parts[0], parts[1]) - float(
            np.mean(apart * beside)
        )
        return float(np.clip(total / error, 0, 1))

    @cached_property
    def known(self) -> KnownFlows:
        """The fitted flows with their noise, from what is released."""
        zones = self.plan.zones
        fitted = fit_pairs(zones, self.margins, self.noisy, self.decay, self.prior)
        return KnownFlows.of(zones, fitted, self.noisy, self.repeated)

    @property
    def margins(self) -> tuple[IntArray, IntArray]:
        """Trips from and to every one of the finest blocks."""
        key, blocks = self.plan.zones.key, self.noisy[0].blocks
        return (
            blocks.sums(self.origins.counts_at(key)),
            blocks.sums(self.destinations.counts_at(key)),
        )

    def _count(self, inside: tuple[IntArray, IntArray]) -> int:
        """Return the released trips between two regions."""
        _, end, count = self._listed.leave(inside[0])
        return int(count[mask_zones(self.plan.zones, inside[1])[end]].sum())

    def _touch(self, blocks: ZoneBlocks, inside: tuple[IntArray, IntArray]) -> TouchedPairs:
        """Find the pairs of blocks that two regions touch."""
        of_zone = blocks.of_zone
        touched = np.unique(of_zone[inside[0]]), np.unique(of_zone[inside[1]])
        equal = [
            np.bincount(of_zone[one], minlength=blocks.number)[at] / np.diff(blocks.first)[at]
            for one, at in zip(inside, touched, strict=True)
        ]
        share, cut = np.outer(*equal), [one < 1 for one in equal]
        if cut[0].any() or cut[1].any():
            zones = np.flatnonzero(np.isin(of_zone, touched[0]))
            start, end, count = self._listed.leave(zones)
            masks = [mask_zones(self.plan.zones, one) for one in inside]
            some = masks[0][start] & masks[1][end]
            place = np.full((2, blocks.number), -1)
            for row, one in zip(place, touched, strict=True):
                row[one] = np.arange(one.size)
            rows, columns = place[0][of_zone[start]], place[1][of_zone[end]]
            both, (part, whole) = columns >= 0, np.zeros((2, *share.shape))
            np.add.at(whole, (rows[both], columns[both]), count[both])
            np.add.at(part, (rows[some], columns[some]), count[some])
            # Where no trips are released, the zones of both regions have an equal part.
            np.divide(part, whole, out=share, where=whole > 0)
        size = tuple(one.size for one in touched)
        return TouchedPairs(
            np.repeat(touched[0], size[1]),
            np.tile(touched[1], size[0]),
            share.ravel(),
            np.stack([np.repeat(cut[0], size[1]), np.tile(cut[1], size[0])]),
        )

    @cached_property
    def _listed(self) -> ListedPairs:
        """The released pairs."""
        return ListedPairs.of(self.plan.zones, self.flows)

    def sum_labels(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the places of some released pairs at a time, and their trips of all labels.

        A place is the number of the zone of origin times that of all zones, and of the destination;
        places increase: int64[n] both.
        """
        listed, number = self._listed, self.plan.zones.number
        for a, b in list_runs(listed.first, AT_ONCE):
            some = slice(listed.first[a], listed.first[b])
            place = np.repeat(np.arange(a, b) * number, np.diff(listed.first[a : b + 1]))
            place += listed.destination[some]
            key, count = coalesce(place.view(np.uint64), listed.count[some].astype(np.int64))
            yield key.view(np.int64), count


def find_zones(zones: Zones, region: Any) -> IntArray:
    """Return the zones in a region: int64[n], increasing."""
    return np.sort(zones.find(zones.grid.decode(find_region(zones.grid, region).key)))


def mask_zones(zones: Zones, some: IntArray) -> BoolArray:
    """Return which of all zones are some of them: bool[zones]."""
    mask = np.zeros(zones.number, np.bool_)
    mask[some] = True
    return mask
