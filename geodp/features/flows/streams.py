"""The streams of flows: both maps of ends with one total, and all pairs of blocks of a few sizes.

A trip changes one count by one on each level of each map, and one pair of blocks of each size. A
unit with at most k trips changes each of these by at most k in all, so that the shares of the
budget of all streams add up to the whole (docs/proofs/flows.md). Noise of every stream comes from a
key of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from geodp.features.flows.design import Design
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.zones import Zones
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.traversal import Traversal
from geodp.privacy.budget import amounts_of
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, blocks, digest
from geodp.privacy.loss import Loss, PureDP, ZeroConcentratedDP
from geodp.privacy.noise.draws import UNIFORM, Draw, Draws
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable
from geodp.typing import IntArray, KeyedCounts

ORIGINS = digest(b"geodp flows stream 1", b"origins")
"""Derives the key of the noise of origins from that of the release."""

DESTINATIONS = digest(b"geodp flows stream 1", b"destinations")
"""Derives the key of the noise of destinations."""

PAIRS = digest(b"geodp flows stream 1", b"pairs of blocks")
"""Derives the key of the noise of pairs: a stage for each size of blocks, the finest first."""

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
    origin, destination, count : int64[m]
        Zones of the pairs that have trips, and their trips; confidential.
    """

    zones: Zones
    origins: CountTable = field(repr=False)
    destinations: CountTable = field(repr=False)
    origin: IntArray = field(repr=False)
    destination: IntArray = field(repr=False)
    count: IntArray = field(repr=False)

    @classmethod
    def of(cls, table: CountTable, zones: Zones) -> TripStreams:
        """Split a table of pairs of zones into its streams."""
        index = table.grid.decode(table.key)
        ends = [zones.grid.encode(index[at : at + 2]) for at in (0, 2)]
        origins, destinations = (CountTable.from_keys(zones.grid, key, table.count) for key in ends)
        origin, destination = (np.searchsorted(zones.key, key) for key in ends)
        count = np.asarray(table.count, np.int64)
        return cls(zones, origins, destinations, origin, destination, count)

    def pairs(self, side: int) -> IntArray:
        """Count the trips between all blocks of a side: int64[n, n]."""
        of_zone = self.zones.blocks(side).of_zone
        number = int(of_zone[-1]) + 1
        counts = np.zeros(number * number, np.int64)
        place = of_zone[self.origin] * number + of_zone[self.destination]
        np.add.at(counts, place, self.count)
        return counts.reshape(number, number)


@dataclass(frozen=True, eq=False)
class Plan:
    """Streams to be drawn on a grid, with the privacy event of each.

    Attributes
    ----------
    zones : Zones
    design : Design
    method : Pyramid
        Of both maps of ends.
    whole : Measurement
        Of all streams together.
    ends : Measurement
        Of one map of ends.
    """

    zones: Zones
    design: Design
    method: Pyramid
    whole: Measurement
    ends: Measurement

    def declare(self) -> Draws:
        """Declare all draws, by the key of each stream."""
        each = self.method.declare(self.zones.grid, self.ends)
        seed = [Draw(Stream.ROUNDING, UNIFORM)]
        return Draws.of(
            (),
            {
                ORIGINS: each,
                DESTINATIONS: each,
                PAIRS: Draws.of(self.draws_of_pairs),
                ROUNDING: Draws.of(seed),
            },
        )

    @property
    def draws_of_pairs(self) -> list[Draw]:
        """Draws of the pairs of each side, the finest first."""
        return [Draw(Stream.STAGE + i, law.identity) for i, law in enumerate(self.laws)]

    @property
    def laws(self) -> list[Law]:
        """Noise of the pairs of each side."""
        return [self.whole.law(share) for share in self.design.shares]

    @property
    def empty_pairs(self) -> list[NoisyPairs]:
        """Noisy pairs of every side without any trip or noise, to try out their files."""
        blocks = [self.zones.blocks(side) for side in self.design.sides]
        zeros = [np.zeros((one.number, one.number), np.int64) for one in blocks]
        return [NoisyPairs(one, zero, 1.0) for one, zero in zip(blocks, zeros, strict=True)]

    def draw_ends(self, trips: TripStreams, key: NoiseKey) -> list[ReleasedTable]:
        """Release origins and destinations with one total."""
        keys = [key.derive(one) for one in (ORIGINS, DESTINATIONS)]
        try:
            cells = release_with_one_total(
                (trips.origins, trips.destinations), self.method, self.ends, keys
            )
        finally:
            for one in keys:
                one.forget()
        return [ReleasedTable(self.zones.grid, *one, self.ends) for one in cells]

    def draw_pairs(self, trips: TripStreams, key: NoiseKey) -> list[NoisyPairs]:
        """Measure the pairs of blocks of every side, the finest first."""
        derived, measured = key.derive(PAIRS), []
        try:
            for i, (side, law) in enumerate(zip(self.design.sides, self.laws, strict=True)):
                # Whole until the noise is in.
                noisy = trips.pairs(side)
                drawn = NodeNoise(derived, Stream.STAGE + i, law).sequence(noisy.size)
                noisy += drawn.reshape(noisy.shape)
                variance = max(law.variance, MIN_VARIANCE)
                measured.append(NoisyPairs(self.zones.blocks(side), noisy, variance))
        finally:
            derived.forget()
        return measured

    def draw_seed(self, key: NoiseKey) -> int:
        """Draw the seed of the rounding: 63 bits."""
        derived = key.derive(ROUNDING)
        try:
            word = blocks(derived, Stream.ROUNDING, np.zeros(1, np.uint64))[0, 0]
        finally:
            derived.forget()
        return int(word >> np.uint64(1))


MIN_VARIANCE = 1e-12
"""Smallest variance of noisy pairs, where the budget leaves no noise."""


def release_with_one_total(
    tables: tuple[CountTable, CountTable],
    method: Pyramid,
    event: Measurement,
    keys: list[NoiseKey],
) -> list[KeyedCounts]:
    """Release two tables of one grid by a pyramid each, with one total for both.

    Each total is improved by the counts below it, and their mean is the total of both, from which
    the second pass then divides each table.
    """
    descent = method.descent(tables[0].grid, event)
    root = np.zeros(1, np.uint64)
    runs = [Traversal.of(one, descent, key) for one, key in zip(tables, keys, strict=True)]
    tops = [run.roots(root) for run in runs]
    # Where one of them has no trips, there are none: both have one total.
    if not all(front.prefix.size for front, _ in tops):
        return [(np.empty(0, np.uint64), np.empty(0, np.int64)) for _ in tables]
    fronts = [front for front, _ in tops]
    records = [run.measure(front, descent.last)[0] for run, front in zip(runs, fronts, strict=True)]
    weights = [1 / front.variance[0] for front in fronts]
    mean = sum(w * f.z[0] for w, f in zip(weights, fronts, strict=True)) / sum(weights)
    total = np.maximum(np.floor(mean + tops[0][1]), 0).astype(np.int64)
    return [
        run.share(front, descent.last, total.copy(), record)
        for run, front, record in zip(runs, fronts, records, strict=True)
    ]


def share_terms(terms: Terms, share: Fraction) -> Terms:
    """Return terms with a share of their loss, exactly; of one with delta, of its rho."""
    amounts = amounts_of(terms.loss)
    if amounts["rho"] is not None:
        loss: Loss = ZeroConcentratedDP(amounts["rho"] * share)
    else:
        assert amounts["epsilon"] is not None
        loss = PureDP(amounts["epsilon"] * share)
    return replace(terms, loss=loss, by_rho=False)
