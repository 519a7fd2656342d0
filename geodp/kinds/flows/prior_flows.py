"""Priors of flows: an earlier release of flows, or a public table of pairs of zones.

A prior enters without noise, so that it is public by declaration of the operator, or a release that
was charged itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np

from geodp.kinds.flows.kernels import balancing
from geodp.kinds.flows.zones import ZoneBlocks, Zones, sum_pairs
from geodp.privacy.key import digest
from geodp.reprs import one_line
from geodp.table.counts import Cells, CountTable
from geodp.table.prior import Prior
from geodp.typing import FloatArray, IntArray

MEANING = (
    "flows are expected to be those of the law of distance, corrected by the prior where it has "
    "more or fewer trips. The weight of the correction between blocks is the one that is the "
    "closest to the noisy pairs, so that it costs no budget; with a weight of 0 the prior is not "
    "used there. Of both maps of ends, the children of a node are expected to be as many as the "
    "prior's origins and destinations say; how far such shares can be trusted was learned from the "
    "noisy counts of each map. What was measured does not depend on the prior. Comparing this "
    "release with its prior understates what has changed"
)
"""The sentence of the index on what a prior means."""


LAW_RECORDS = 10
"""Records of a prior that the law of distance counts for, between any two places
(docs/measured/flows.md)."""


@dataclass(frozen=True, eq=False)
class FlowsPrior:
    """Flows between zones that are expected.

    Attributes
    ----------
    zones : int
        Number of zones.
    origin, destination : int64[m], int64[m]
        Numbers of zones, by origin and destination.
    count : int64[m]
        Above 0.
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    left_out : bool
        Whether the folder of the release has no file of them.
    """

    __repr__ = one_line

    zones: int
    origin: IntArray = field(repr=False)
    destination: IntArray = field(repr=False)
    count: IntArray = field(repr=False)
    source: str
    left_out: bool = False

    @classmethod
    def of(cls, zones: Zones, cells: Cells | Prior, source: str, left_out: bool = False) -> Self:
        """Make a prior from a table of pairs of the zones, whose labels are added up."""
        return cls(zones.number, *sum_pairs(zones, cells), source, left_out)

    @cached_property
    def sha256(self) -> str:
        """Digest of its flows."""
        arrays = (self.origin, self.destination, self.count)
        return digest(b"geodp flows prior 1", *(one.astype("<i8") for one in arrays)).hex()

    @property
    def trips(self) -> int:
        """Trips of all its flows."""
        return int(self.count.sum())

    @cached_property
    def law_trips(self) -> int:
        """Trips of the prior that the law of distance counts for, between any two places."""
        # A tenth of the flows are at most this one: of a survey that is expanded to all persons,
        # about one record, whose noise is that much larger.
        smallest = np.sort(self.count)[(self.count.size - 1) // 10]
        return LAW_RECORDS * int(smallest)

    def ends(self, zones: Zones) -> tuple[Prior, Prior]:
        """Sum its flows by origin and by destination: priors of both maps of ends."""
        origins, destinations = (
            CountTable.from_keys(zones.grid, zones.key[one], self.count)
            for one in (self.origin, self.destination)
        )
        return (
            Prior.of(zones.grid, origins, self.source),
            Prior.of(zones.grid, destinations, self.source),
        )

    def sums(self, blocks: ZoneBlocks, rows: slice) -> FloatArray:
        """Sum its flows from some blocks to all blocks: float64[m, n]; ``rows``: without a step."""
        of_zone, summed = blocks.of_zone, np.zeros((rows.stop - rows.start, blocks.number))
        start, stop = np.searchsorted(self.origin, blocks.first[[rows.start, rows.stop]])
        origin, destination = (one[start:stop] for one in (self.origin, self.destination))
        place = of_zone[origin] - rows.start, of_zone[destination]
        np.add.at(summed, place, self.count[start:stop])
        return summed


@dataclass(frozen=True, eq=False)
class TrustedPrior:
    """A prior, and how much it is trusted.

    Attributes
    ----------
    flows : FlowsPrior
    weight : float
        Of flows by the prior, beside those by the law of distance alone: 0 to 1; 0: the prior is
        not used.
    scale : float
        Trips of the prior for each trip of the release.
    """

    flows: FlowsPrior
    weight: float
    scale: float

    @classmethod
    def of(cls, flows: FlowsPrior, weight: float, total: int) -> Self:
        """Trust a prior for a release of so many trips."""
        return cls(flows, weight, flows.trips / max(total, 1))

    def mix(self, law: FloatArray, flows: FloatArray, out: FloatArray) -> None:
        """Mix expected flows by the law with those by the prior; ``flows``: the prior's."""
        balancing.mix(law, flows, self.weight, (self.scale, self.flows.law_trips), out)

    def leaving(self, blocks: ZoneBlocks) -> GroupedFlows:
        """Group the prior's flows by the block of their origin; from zones to blocks."""
        prior = self.flows
        first = np.searchsorted(prior.origin, blocks.first)
        to_block = blocks.of_zone[prior.destination]
        return GroupedFlows(self, first, prior.origin, to_block, prior.count)

    def reaching(self, blocks: ZoneBlocks) -> GroupedFlows:
        """Group the prior's flows by the block of their destination; from zones to zones."""
        prior = self.flows
        block = blocks.of_zone[prior.destination]
        order = np.argsort(block, kind="stable")
        first = np.searchsorted(block[order], np.arange(blocks.number + 1))
        arrays = (one[order] for one in (prior.origin, prior.destination, prior.count))
        return GroupedFlows(self, first, *arrays)


@dataclass(frozen=True, eq=False)
class GroupedFlows:
    """Flows of a prior by the block of one of their ends.

    Attributes
    ----------
    prior : TrustedPrior
    first : int64[blocks + 1]
        Flows of block i are those from ``first[i]`` to ``first[i + 1]``.
    row, column, count : int64[m]
        From and to what, and trips.
    """

    prior: TrustedPrior
    first: IntArray
    row: IntArray
    column: IntArray
    count: IntArray

    def correct(self, value: FloatArray, number: int, listed: tuple[IntArray, IntArray]) -> None:
        """Turn a block's expected trips by the law into those by the prior: float64[a, b].

        ``listed``: int64[a] and int64[b], what rows and columns are, each in increasing order.
        Flows of others are left out.
        """
        some = slice(self.first[number], self.first[number + 1])
        kept, places = np.ones(self.count[some].size, bool), []
        for wanted, known in zip((self.row[some], self.column[some]), listed, strict=True):
            place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
            kept &= known[place] == wanted
            places.append(place)
        flows = np.zeros(value.shape)
        np.add.at(flows, tuple(place[kept] for place in places), self.count[some][kept])
        # Of the prior alone: what differs between blocks, which the weight tells, need not
        # differ within them.
        replace(self.prior, weight=1.0).mix(value, flows, value)
