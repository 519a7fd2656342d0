"""The streams of flows: both maps of ends with one total, and all pairs of blocks of a few sizes.

A trip changes one count by one on each level of each map, and one pair of blocks of each size; and
where trips have labels, one cell with its label of each kind of large cells. A unit with at most k
trips changes each of these by at most k in all, so that the shares of the budget of all streams add
up to the whole (docs/proofs/flows.md). Noise of every stream comes from a key of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.kinds.flows.design import FlowDesign
from geodp.kinds.flows.estimator import NoisyPairs
from geodp.kinds.flows.labels import NoisyLabels, find_cells
from geodp.kinds.flows.merging import AT_ONCE
from geodp.kinds.flows.zones import Zones, pairs_of
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees import informed
from geodp.mechanisms.trees.traversal import Traversal
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.stated.release import StatedPrior
from geodp.typing import FloatArray, IntArray, KeyedCounts

ORIGINS = digest(b"geodp flows stream 1", b"origins")
"""Derives the key of the noise of origins from that of the release."""

DESTINATIONS = digest(b"geodp flows stream 1", b"destinations")
"""Derives the key of the noise of destinations."""

PAIRS = digest(b"geodp flows stream 1", b"pairs of blocks")
"""Derives the key of the noise of pairs: a stage for each size of blocks, the finest first."""

LABELS = digest(b"geodp flows stream 1", b"labels")
"""Derives the key of the noise of trips by label: a stage for each kind of cells."""

DIVIDING = digest(b"geodp flows stream 1", b"dividing among labels")
"""Derives the key of the seed of the rounding of labels."""

ROUNDING = digest(b"geodp flows stream 1", b"rounding")
"""Derives the key of the seed of the rounding, which is post-processing."""


@dataclass(frozen=True, eq=False)
class TripStreams:
    """Trips as they are measured.

    Attributes
    ----------
    zones : Zones
    origins, destinations : CountTable
        On the map of the zones.
    origin, destination : integers[m]
        Zones of the pairs that have trips; confidential.
    count : int64[m]
        Their trips; confidential.
    label : int64[m] or None
        Number of the label of each; None: trips have no labels.
    """

    zones: Zones
    origins: CountTable = field(repr=False)
    destinations: CountTable = field(repr=False)
    origin: NDArray[np.integer[Any]] = field(repr=False)
    destination: NDArray[np.integer[Any]] = field(repr=False)
    count: IntArray = field(repr=False)
    label: IntArray | None = field(default=None, repr=False)

    @classmethod
    def of(cls, table: CountTable, zones: Zones) -> TripStreams:
        """Split a table of pairs of zones into its streams."""
        # The smallest integers that number all zones: of many pairs these are much of the memory.
        small = np.min_scalar_type(zones.number)
        ends = np.empty((2, table.key.size), small)
        sums = np.zeros((2, zones.number), np.int64)
        count = np.asarray(table.count, np.int64)
        label = np.empty(table.key.size, np.int64) if table.grid.attributes else None
        for some in slice_pairs(table.key.size):
            index = table.grid.decode(table.key[some])
            for which, at in enumerate((0, 2)):
                zone = zones.find(zones.grid.encode(index[at : at + 2]))
                np.add.at(sums[which], zone, count[some])
                ends[which, some] = zone
            if label is not None:
                label[some] = number_labels(table.grid.attributes, index[4:])
        origins, destinations = (
            CountTable.from_keys(zones.grid, zones.key[one > 0], one[one > 0]) for one in sums
        )
        return cls(zones, origins, destinations, ends[0], ends[1], count, label)

    def pairs(self, side: int) -> IntArray:
        """Count the trips between all blocks of a side: int64[n, n]."""
        of_zone = self.zones.blocks(side).of_zone
        number = int(of_zone[-1]) + 1
        counts = np.zeros(number * number, np.int64)
        for some in slice_pairs(self.count.size):
            place = of_zone[self.origin[some]] * number + of_zone[self.destination[some]]
            np.add.at(counts, place, self.count[some])
        return counts.reshape(number, number)

    def labelled(self, ends: str, side: int, labels: int) -> IntArray:
        """Count the trips by label of all cells of a kind: int64[cells, labels]."""
        assert self.label is not None
        counts = np.zeros((count_cells(self.zones, ends, side), labels), np.int64)
        for some in slice_pairs(self.count.size):
            cell = find_cells(self.zones, ends, side, self.origin[some], self.destination[some])
            np.add.at(counts, (cell, self.label[some]), self.count[some])
        return counts


def slice_pairs(number: int) -> Iterator[slice]:
    """Yield slices of so many pairs, in their order, of which each takes little memory."""
    for start in range(0, number, AT_ONCE):
        yield slice(start, min(start + AT_ONCE, number))


def number_labels(attributes: tuple[Attribute, ...], index: IntArray) -> IntArray:
    """Return the number of each combination of labels; zeros without attributes.

    The last attribute varies fastest.

    Parameters
    ----------
    attributes : tuple of Attribute
    index : int64[attributes, n]
        Number of the label of each attribute.

    Returns
    -------
    int64[n]
    """
    if not attributes:
        return np.zeros(index.shape[1], np.int64)
    sizes = [len(one.labels) for one in attributes]
    return np.asarray(np.ravel_multi_index(tuple(index), sizes), np.int64)


def count_labels(attributes: tuple[Attribute, ...]) -> int:
    """Count the combinations of labels; 1 without attributes."""
    return prod(len(one.labels) for one in attributes)


@dataclass(frozen=True, eq=False)
class DrawnEnds:
    """Both maps of ends.

    Attributes
    ----------
    tables : list of ReleasedTable
        Origins and destinations, with one total.
    learned : tuple of StatedPrior
        How far the prior of each can be trusted; empty without a prior.
    """

    tables: list[ReleasedTable]
    learned: tuple[StatedPrior, ...] = ()


@dataclass(frozen=True, eq=False)
class StreamPlan:
    """Streams to be drawn on a grid, with the privacy event of each.

    Attributes
    ----------
    zones : Zones
    design : FlowDesign
    method : Pyramid
        Of both maps of ends.
    whole : Measurement
        Of all streams together.
    ends : Measurement
        Of one map of ends.
    attributes : tuple of Attribute
        Labels of flows; empty: they have none.
    """

    zones: Zones
    design: FlowDesign
    method: Pyramid
    whole: Measurement
    ends: Measurement
    attributes: tuple[Attribute, ...] = ()

    @property
    def pairs(self) -> Grid:
        """The grid of flows: pairs of zones, and labels."""
        return pairs_of(self.zones.grid, self.attributes)

    def declare(self) -> Draws:
        """Declare all draws, by the key of each stream."""
        each = self.method.declare(self.zones.grid, self.ends)
        seed = [Draw(Stream.ROUNDING, UNIFORM)]
        derived = {
            ORIGINS: each,
            DESTINATIONS: each,
            PAIRS: Draws.of(self.draws_of_pairs),
            ROUNDING: Draws.of(seed),
        }
        if self.design.labels is not None:
            derived |= {LABELS: Draws.of(self.draws_of_labels), DIVIDING: Draws.of(seed)}
        return Draws.of((), derived)

    @property
    def draws_of_pairs(self) -> list[Draw]:
        """Draws of the pairs of each side, the finest first."""
        return [Draw(Stream.STAGE + i, law.identity) for i, law in enumerate(self.laws)]

    @property
    def draws_of_labels(self) -> list[Draw]:
        """Draws of the counts by label of each kind of cells, the largest first."""
        labels = self.design.labels
        law = self.label_law
        if labels is None or law is None:
            return []
        return [Draw(Stream.STAGE + i, law.identity) for i in range(len(labels.kinds))]

    @property
    def label_law(self) -> Law | None:
        """Noise of every count by label; None: flows have no labels."""
        labels = self.design.labels
        return None if labels is None else self.whole.law(labels.each)

    @property
    def laws(self) -> list[Law]:
        """Noise of the pairs of each side."""
        return [self.whole.law(share) for share in self.design.shares]

    def take_pairs(self, noisy: Iterable[IntArray]) -> list[NoisyPairs]:
        """Take noisy counts as the pairs of each side, the finest first."""
        return [
            NoisyPairs(self.zones.blocks(side), one, max(law.variance, MIN_VARIANCE))
            for side, law, one in zip(self.design.sides, self.laws, noisy, strict=True)
        ]

    def take_labels(self, noisy: Iterable[IntArray]) -> list[NoisyLabels]:
        """Take noisy counts as those by label of each kind of cells, the largest first."""
        labels, law = self.design.labels, self.label_law
        if labels is None or law is None:
            return []
        variance = max(law.variance, MIN_VARIANCE)
        pairs = zip(labels.kinds, noisy, strict=True)
        return [NoisyLabels(*kind, one, variance) for kind, one in pairs]

    @property
    def empty_pairs(self) -> list[NoisyPairs]:
        """Noisy pairs of every side without any trip or noise, to try out their files."""
        numbers = (self.zones.blocks(side).number for side in self.design.sides)
        return self.take_pairs(np.zeros((one, one), np.int64) for one in numbers)

    @property
    def empty_labels(self) -> list[NoisyLabels]:
        """Counts by label of every kind without any trip or noise, to try out their files."""
        kinds = () if self.design.labels is None else self.design.labels.kinds
        number = count_labels(self.attributes)
        cells = (count_cells(self.zones, *kind) for kind in kinds)
        return self.take_labels(np.zeros((one, number), np.int64) for one in cells)

    def draw_ends(
        self, trips: TripStreams, key: NoiseKey, priors: Sequence[Prior] = ()
    ) -> DrawnEnds:
        """Release origins and destinations with one total.

        ``priors``: of origins and of destinations; empty without a prior.
        """
        tables = trips.origins, trips.destinations
        learned: tuple[StatedPrior, ...] = ()
        with key.derive(ORIGINS) as first, key.derive(DESTINATIONS) as second:
            keys = [first, second]
            if priors:
                cells, learned = release_informed(tables, self.method, self.ends, keys, priors)
            else:
                cells = release_with_one_total(tables, self.method, self.ends, keys)
        made = [ReleasedTable(self.zones.grid, *one, self.ends) for one in cells]
        return DrawnEnds(made, learned)

    def draw_pairs(self, trips: TripStreams, key: NoiseKey) -> list[NoisyPairs]:
        """Measure the pairs of blocks of every side, the finest first."""
        counts = map(trips.pairs, self.design.sides)
        return self.take_pairs(_add_noise(counts, self.laws, key, PAIRS))

    def draw_labels(self, trips: TripStreams, key: NoiseKey) -> list[NoisyLabels]:
        """Measure the trips by label of every kind of cells, the largest first."""
        labels, law = self.design.labels, self.label_law
        if labels is None or law is None:
            return []
        number = count_labels(self.attributes)
        counts = (trips.labelled(*kind, number) for kind in labels.kinds)
        return self.take_labels(_add_noise(counts, [law] * len(labels.kinds), key, LABELS))

    def draw_seed(self, key: NoiseKey, of: bytes = ROUNDING) -> int:
        """Draw the seed of a rounding: 63 bits; ``of``: ``ROUNDING`` or ``DIVIDING``."""
        with key.derive(of) as derived:
            word = blocks(derived, Stream.ROUNDING, np.zeros(1, np.uint64))[0, 0]
        return int(word >> np.uint64(1))


ROOT_ERRORS = 4.0
"""Standard errors by which a root of fewer trips is raised, where nodes below it are opened."""

MIN_VARIANCE = 1e-12
"""Smallest variance of noisy pairs, where the budget leaves no noise."""


def _add_noise(
    counts: Iterable[IntArray], laws: Sequence[Law], key: NoiseKey, stream: bytes
) -> Iterator[IntArray]:
    """Yield arrays of counts with noise of a law each, under the key of a stream."""
    with key.derive(stream) as derived:
        for i, (noisy, law) in enumerate(zip(counts, laws, strict=True)):
            # Whole until the noise is in.
            noisy += (
                NodeNoise(derived, Stream.STAGE + i, law).sequence(noisy.size).reshape(noisy.shape)
            )
            yield noisy


def count_cells(zones: Zones, ends: str, side: int) -> int:
    """Count the cells of a kind: blocks, or pairs of them."""
    blocks = zones.blocks(side).number
    return blocks**2 if ends == "pairs" else blocks


def release_with_one_total(
    tables: tuple[CountTable, CountTable],
    method: Pyramid,
    event: Measurement,
    keys: list[NoiseKey],
) -> list[KeyedCounts]:
    """Release two tables of one grid by a pyramid each, with one total for both.

    Each total is improved by the counts below it, and their mean is the total of both, from which
    the second pass then divides each table. A root of few trips does not close what is
    below it: that tells more of the total, of which a root's share is small.
    """
    descent = method.descent(tables[0].grid, event)
    root = np.zeros(1, np.uint64)
    runs = [Traversal.of(one, descent, key) for one, key in zip(tables, keys, strict=True)]
    tops = [run.roots(root, ROOT_ERRORS) for run in runs]
    fronts = [front for front, _ in tops]
    records = [run.measure(front, descent.last)[0] for run, front in zip(runs, fronts, strict=True)]
    estimates = [(front.z[0], front.variance[0]) for front in fronts]
    total = average_totals(estimates, tops[0][1])
    return [
        run.share(front, descent.last, total.copy(), record)
        for run, front, record in zip(runs, fronts, records, strict=True)
    ]


def release_informed(
    tables: tuple[CountTable, CountTable],
    method: Pyramid,
    event: Measurement,
    keys: list[NoiseKey],
    priors: Sequence[Prior],
) -> tuple[list[KeyedCounts], tuple[StatedPrior, ...]]:
    """Release two tables as :func:`release_with_one_total` does, with a prior of each.

    The measurements are the same; where no prior can be trusted, so is the release. Also returns
    how far each can be.
    """
    descent = method.descent(tables[0].grid, event)
    runs = [
        replace(informed.informed_of(one, descent, key, prior, 1), root_errors=ROOT_ERRORS)
        for one, key, prior in zip(tables, keys, priors, strict=True)
    ]
    stages, learned = zip(*(run.descend(descent.last) for run in runs), strict=True)
    variances = [run.improve(stage) for run, stage in zip(runs, stages, strict=True)]
    roots = [stage.layers[0] for stage in stages]
    estimates = [(root.z[0], v[0][0]) for root, v in zip(roots, variances, strict=True)]
    total = average_totals(estimates, roots[0].uniform[:1])
    cells: list[KeyedCounts] = []
    for run, stage, variance in zip(runs, stages, variances, strict=True):
        prefix, count = stage.layers[-1].prefix, run.share(stage, variance, total.copy())
        cells.append((prefix[count > 0], count[count > 0]))
    stated = (informed.state(*one) for one in zip(priors, learned, strict=True))
    return cells, tuple(stated)


def average_totals(estimates: Sequence[tuple[float, float]], uniform: FloatArray) -> IntArray:
    """Average the totals of two tables by inverse variances, and round: int64[1], 0 or more.

    ``estimates``: each total with its variance; ``uniform``: float64[1], from 0 to below 1.
    """
    weights = [1 / variance for _, variance in estimates]
    mean = sum(w * z for w, (z, _) in zip(weights, estimates, strict=True)) / sum(weights)
    return np.maximum(np.floor(mean + uniform), 0).astype(np.int64)
