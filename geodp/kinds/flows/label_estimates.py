"""Errors of flows by label, by simulation of what was measured by label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.axes import Attribute
from geodp.kinds.flows.label_model import (
    LabelledBlocks,
    LabelModel,
    NoisyLabels,
    fit_labels,
    weigh,
)
from geodp.kinds.flows.streams import StreamsPlan
from geodp.typing import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

ZonesOfPair: TypeAlias = tuple[BoolArray, BoolArray]
"""Masks of the zones in a region of origins, and in one of destinations: bool[zones] each."""

Portion: TypeAlias = tuple[IntArray, FloatArray]
"""Pairs of blocks with trips between two regions, int64[n], and the shares of their trips that are,
float64[n]."""

LEAST_FACTOR = 0.05
"""Least factor by which trips of a cell by label may differ from what is expected of them."""

CONCENTRATION = 1.0
"""Sum of both parameters of the beta variable that the share of labels in a part of a block is: so
small that a zone may have nearly all of its trips in a label that is rare in its block."""

SMALLEST_TOTAL = 1e-200
"""Smallest sum of drawn shares, as a part of the trips, that is divided by."""


SIMULATIONS, BY_LABEL = 40, 1
"""Number of simulated releases, and what tells their random numbers from others."""


@dataclass(frozen=True, eq=False)
class LabelledFlows:
    """Released flows by label, one a row.

    Attributes
    ----------
    zones : tuple of int64[n], int64[n]
        Origins and destinations.
    label, count : int64[n]
    """

    zones: tuple[IntArray, IntArray] = field(repr=False)
    label: IntArray = field(repr=False)
    count: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class LabelledParts:
    """Flows between two regions, by sets of labels.

    Attributes
    ----------
    count : int64[sets]
        Released trips.
    every : int
        Those of all labels.
    share : float64[sets]
        Their share of these, or of the whole map where there are none.
    within : float64[sets]
        Variance of the true trips, given those between the blocks: of which trips are in the
        regions, and of how the labels of parts of blocks differ.
    """

    count: IntArray
    every: int
    share: FloatArray
    within: FloatArray


@dataclass(frozen=True, eq=False)
class LabelledSums:
    """Flows of a group of pairs of regions, of one set of labels.

    Attributes
    ----------
    count : int
        Released trips.
    share : float
        Their share of the trips of all labels.
    errors : float64[simulations]
        Simulated errors, given the flows of all labels.
    error : float
        Their size, also of what is not simulated.
    """

    count: int
    share: float
    errors: FloatArray = field(repr=False)
    error: float

    @classmethod
    def of(cls, parts: Sequence[LabelledParts], errors: FloatArray, at: int) -> LabelledSums:
        """Sum pairs of regions.

        ``errors``: float64[simulations, pairs]; ``at``: number of the set of labels.
        """
        apart = errors.sum(axis=1)
        within = float(sum(one.within[at] for one in parts))
        shares, every = [one.share[at] for one in parts], [float(one.every) for one in parts]
        share = float(np.average(shares, weights=every if any(every) else None))
        # The variance of so few simulations is uncertain itself.
        spread = (1 + 1 / apart.size) * np.sqrt(np.mean(apart**2) + within)
        return cls(int(sum(one.count[at] for one in parts)), share, apart, float(spread))


@dataclass(frozen=True, eq=False)
class LabelEstimator:
    """Released flows by label, ready to be estimated.

    Attributes
    ----------
    plan : StreamsPlan
    flows : LabelledFlows
        At least one.
    streams : sequence of NoisyLabels
    chosen : bool[sets, labels]
        Sets of labels whose flows are estimated.
    """

    plan: StreamsPlan
    flows: LabelledFlows
    streams: Sequence[NoisyLabels]
    chosen: BoolArray

    def estimate(self, groups: Sequence[Sequence[ZonesOfPair]]) -> list[list[LabelledSums]]:
        """Estimate flows by label, given the flows of all labels, with simulated errors.

        Parameters
        ----------
        groups : sequence of sequence of (bool[zones], bool[zones])
            Zones in both regions of each pair; the pairs of a group are summed.

        Returns
        -------
        list of list of LabelledSums
            Of each set of labels.
        """
        listed = (*self.flows.zones, self.flows.count)
        blocks = LabelledBlocks.of(self.plan.zones, listed, self.streams)
        model = fit_labels(blocks.trips.astype(np.float64), blocks.cells, self.streams)
        expected = model.expect()
        trips = self._sum_sets(expected)
        regions = [one for group in groups for one in group]
        portions = self._find_portions(blocks, regions)
        parts = [self._match(blocks, trips, *one) for one in zip(portions, regions, strict=True)]
        errors = np.empty((len(self.chosen), SIMULATIONS, len(parts)))
        for number in range(SIMULATIONS):
            random = np.random.default_rng([number, BY_LABEL])
            truth = self._draw_truth(model, expected, random)
            again = fit_labels(model.trips, blocks.cells, self._measure(blocks, truth, random))
            apart = self._sum_sets(again.expect() - truth)
            for place, (at, part) in enumerate(portions):
                errors[:, number, place] = part @ apart[at]
        ends = np.cumsum([len(group) for group in groups])
        return [
            [
                LabelledSums.of(parts[end - len(group) : end], each[:, end - len(group) : end], at)
                for group, end in zip(groups, ends.tolist(), strict=True)
            ]
            for at, each in enumerate(errors)
        ]

    @property
    def _repeated(self) -> int:
        """Most trips of a unit, which may all have one label."""
        return self.plan.whole.contribution

    def _sum_sets(self, trips: FloatArray) -> FloatArray:
        """Sum trips by label float64[n, labels] over each set of labels: float64[n, sets]."""
        return trips @ self.chosen.T.astype(np.float64)

    def _find_portions(
        self, blocks: LabelledBlocks, regions: Sequence[ZonesOfPair]
    ) -> list[Portion]:
        """Return the share of each pair of blocks that is between regions."""
        count, (start, end) = self.flows.count[blocks.order], self.flows.zones
        start, end = start[blocks.order], end[blocks.order]
        pair = np.repeat(np.arange(blocks.trips.size), np.diff(blocks.first))
        portions = []
        for origin, destination in regions:
            some = origin[start] & destination[end]
            at, place = np.unique(pair[some], return_inverse=True)
            inside = np.zeros(at.size, np.int64)
            np.add.at(inside, place, count[some])
            portions.append((at, inside / blocks.trips[at]))
        return portions

    def _match(
        self, blocks: LabelledBlocks, trips: FloatArray, portion: Portion, regions: ZonesOfPair
    ) -> LabelledParts:
        """Find what two regions share with pairs of blocks.

        ``trips``: expected ones of each pair of blocks, float64[pairs, sets].
        """
        count, (start, end) = self.flows.count, self.flows.zones
        some = regions[0][start] & regions[1][end]
        by_label = np.zeros(self.chosen.shape[1], np.int64)
        np.add.at(by_label, self.flows.label[some], count[some])
        of_sets, of_all = self.chosen.astype(np.int64) @ by_label, int(by_label.sum())
        # Where no trips are released, labels are those of the whole map.
        share = of_sets / of_all if of_all else trips.sum(axis=0) / blocks.trips.sum()
        at, part = portion
        within = self._repeated * (trips[at] * (part * (1 - part))[:, None]).sum(axis=0)
        within += self._vary_in_blocks(blocks, trips, portion, regions)
        return LabelledParts(of_sets, of_all, share, within)

    def _vary_in_blocks(
        self,
        blocks: LabelledBlocks,
        trips: FloatArray,
        portion: Portion,
        regions: ZonesOfPair,
    ) -> FloatArray:
        """Return the variance of true trips as labels of a part of a block differ from the rest.

        No measurement tells them. The share of each zone is taken for a beta variable around that
        of its block; see :func:`vary_parts`. Returns float64[sets].
        """
        at, part = portion
        whole = blocks.trips[at][:, None]
        share = trips[at] / whole
        error = part[:, None] * whole * np.sqrt(share * (1 - share) / (1 + CONCENTRATION))
        zones, first = self.plan.zones, blocks.order[blocks.first[:-1]][at]
        of_zone = zones.blocks(min(one.side for one in self.streams)).of_zone
        variance = np.zeros(len(self.chosen))
        for inside, places in zip(regions, self.flows.zones, strict=True):
            count = self.flows.count.astype(np.float64)
            of_each: FloatArray = np.bincount(places, count, zones.number).astype(np.float64)
            # A place whose labels differ has them on its way to, or from, everywhere.
            sums = np.zeros((int(of_zone[-1]) + 1, variance.size))
            np.add.at(sums, of_zone[places[first]], error)
            variance += (sums**2 * vary_parts(of_zone, of_each, inside)[:, None]).sum(axis=0)
        return variance

    def _draw_truth(
        self, model: LabelModel, expected: FloatArray, random: np.random.Generator
    ) -> FloatArray:
        """Draw trips by label between blocks that might be the true ones: float64[n, labels]."""
        truth = expected.copy()
        for rows, one, spread in zip(model.rows, self.streams, model.spread, strict=True):
            cells = rows - rows.min()
            sums = add_up(expected, cells, int(cells.max()) + 1)
            # What is left of the difference between cells once their noise was weighed.
            left = weigh(sums, spread, one.variance) * one.variance
            apart = np.sqrt(left) * random.standard_normal(sums.shape)
            moved = np.zeros(sums.shape)
            np.divide(apart, sums, out=moved, where=sums > 0)
            truth *= np.maximum(1 + moved, LEAST_FACTOR)[cells]
        return draw_parts(truth, model.trips, self._repeated, random)

    def _measure(
        self, blocks: LabelledBlocks, truth: FloatArray, random: np.random.Generator
    ) -> list[NoisyLabels]:
        """Measure trips by label between blocks as if they were true."""
        pure, measured = self.plan.whole.rho is None, []
        for one, cells in zip(self.streams, blocks.cells, strict=True):
            draw = random.laplace if pure else random.normal
            width = sqrt(one.variance / 2) if pure else sqrt(one.variance)
            noisy = add_up(truth, cells, one.noisy.shape[0]) + draw(0, width, one.noisy.shape)
            whole = np.rint(noisy).astype(np.int64)
            measured.append(NoisyLabels(one.ends, one.side, whole, one.variance))
        return measured


def vary_parts(of_zone: IntArray, trips: FloatArray, inside: BoolArray) -> FloatArray:
    """Return the variance of shares in parts of blocks, in parts of that of one zone.

    Shares of the part and of the rest vary, given the share of the block: that of one zone by 1,
    and that of more by less, as these do not all differ alike. Of both, the one with fewer zones
    counts, as the other one differs by what it takes. 0 where all trips of a block are in the
    part.

    Parameters
    ----------
    of_zone : int64[zones]
        Block of each zone.
    trips : float64[zones]
    inside : bool[zones]
        Zones in the part.

    Returns
    -------
    float64[blocks]
    """
    whole = np.bincount(of_zone, trips)
    few, parts = np.zeros(whole.size), []
    for some in (inside, ~inside):
        sums, squares = (np.bincount(of_zone, np.where(some, trips**n, 0)) for n in (1, 2))
        # One over the number of zones, weighed by their trips.
        one = np.divide(squares, sums**2, out=np.zeros(whole.size), where=sums > 0)
        few = np.maximum(few, one)
        parts.append(np.divide(sums, whole, out=np.zeros(whole.size), where=whole > 0))
    part, rest = parts
    given = np.divide(rest**2, part**2 + rest**2, out=np.zeros(whole.size), where=whole > 0)
    return np.asarray(few * given)


def draw_parts(
    expected: FloatArray, trips: FloatArray, repeated: int, random: np.random.Generator
) -> FloatArray:
    """Draw trips by label that add up to those of all labels: float64[n, labels].

    All trips of a unit may have one label between the same two blocks.

    Parameters
    ----------
    expected : float64[n, labels]
        Expected trips, above 0.
    trips : float64[n]
        Trips of all labels, above 0.
    repeated : int
        Most trips of a unit.
    random : Generator
    """
    drawn = repeated * random.standard_gamma(expected / repeated)
    total = drawn.sum(axis=1)
    # Far fewer trips than one unit has are all of one label: their parts are too small for floats.
    small = np.flatnonzero(total <= SMALLEST_TOTAL * trips)
    drawn[small], total[small] = draw_one_label(expected[small], random), 1
    return np.asarray(drawn * (trips / total)[:, None])


def draw_one_label(expected: FloatArray, random: np.random.Generator) -> FloatArray:
    """Draw one label of each row, as likely as it is expected: 1 there, 0 elsewhere.

    Parameters
    ----------
    expected : float64[n, labels]
        Expected trips, of each row above 0.
    random : Generator

    Returns
    -------
    float64[n, labels]
    """
    reached = np.cumsum(expected, axis=1)
    drawn = random.random(reached.shape[0]) * reached[:, -1]
    # Rounding may reach the end of the last label.
    label = np.minimum((reached <= drawn[:, None]).sum(axis=1), reached.shape[1] - 1)
    return np.asarray(label[:, None] == np.arange(reached.shape[1]), np.float64)


def add_up(values: FloatArray, cells: IntArray, number: int) -> FloatArray:
    """Sum rows of values by their cells: float64[number, labels]."""
    sums = np.zeros((number, values.shape[1]))
    np.add.at(sums, cells, values)
    return sums


def choose_labels(attributes: tuple[Attribute, ...], labels: Mapping[str, Any]) -> BoolArray:
    """Return which combinations of labels are chosen: bool[labels].

    ``labels``: a label or several of them, by attribute; of others, all. UsageError for attributes
    and labels that the flows do not have.
    """
    chosen = np.ones([len(one.labels) for one in attributes], np.bool_)
    names = [one.name for one in attributes]
    for name, wanted in labels.items():
        if name not in names:
            raise UsageError(
                "Flows have no such attribute; they were published by: "
                f"{', '.join(names) or 'none'}.",
                code="flows-attribute-unknown",
            )
        axis = names.index(name)
        listed = attributes[axis].labels
        several = (
            wanted if isinstance(wanted, Iterable) and not isinstance(wanted, str) else [wanted]
        )
        texts = {str(one) for one in several}
        if not texts or not texts <= {*listed}:
            raise UsageError(
                f"Labels of {name} are {', '.join(listed)}.", code="flows-label-unknown"
            )
        some = np.array([label in texts for label in listed])
        shape = [-1 if number == axis else 1 for number in range(len(names))]
        chosen &= some.reshape(shape)
    return np.asarray(chosen.reshape(-1))
