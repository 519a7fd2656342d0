"""Simulate intervals of estimates: which true sums could have led to this release.

Everything is computed from the release, under public keys. The method is run on stand-ins for the
confidential table:

1. the release itself, and maps that are sharper: what a simulated release of a map shows too little
   of is added to the map, which restores what a clamp takes from places that are still visible;
2. the release with populous settlements planted in empty places, which measures what a clamp can
   take from a settlement that is hardly visible or invisible, by how isolated it is.

A true sum is in the interval if the released one is within the errors of a stand-in of the first
kind, or if a settlement of the second kind can have lost as much. Tests of coverage are in
docs/measured/uncertainty.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import NodeSums
from geodp.accuracy.isolation_depth import draw_empty, find_depths, settlement_cells
from geodp.accuracy.variance import TreeVariance
from geodp.grid.region import Region
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.release import StatedPrior
from geodp.typing import FloatArray, IntArray

CLOSED_FORM, SIMULATION = "closed-form", "simulation"
"""Names of the two ways to estimate errors of regions."""

RELEASES = 200
"""Number of simulated releases of every stand-in."""

SHARPER = 2
"""Number of times that the release is sharpened; each step gives a stand-in."""

RISK = 0.01
"""Probability beyond each end of the simulated sums: less than 2.5 %, because stand-ins lack some
of the truth's detail."""

LOSS_RISK = 0.015
"""Number of releases for the losses of planted settlements."""

SIDES = (1, 2, 3)
"""Side lengths of planted settlements, in cells."""

MAX_PLANTED, CELLS_EACH = 24, 1 << 12
"""Maximum number of settlements planted in one stand-in, and cells of the domain for each."""

POPULOUS, POPULOUS_INFORMED = 64, (8, 64, 512)
"""People in a planted cell, in standard deviations of the noise: more than a clamp can take; and
those with a prior, one after the other."""

SEED = 20150901


@dataclass(frozen=True, eq=False)
class KeyRuns:
    """Regions as runs of consecutive keys, so that sums are differences of prefix sums.

    Attributes
    ----------
    end : uint64[e]
        Where runs begin, and the keys past their last; strictly increasing.
    first, past : int64[n]
        Indices into ``end`` of the first key of every run, and of that past its last.
    region : int64[n]
        Index of every run's region.
    regions : int
        Number of regions.
    """

    end: NDArray[np.uint64] = field(repr=False)
    first: IntArray = field(repr=False)
    past: IntArray = field(repr=False)
    region: IntArray = field(repr=False)
    regions: int

    @classmethod
    def of(cls, regions: Sequence[Region]) -> Self:
        """Split regions into runs; a region may have no cells."""
        parts: list[list[Any]] = [[np.empty(0, np.uint64)], [np.empty(0, np.uint64)]]
        counts = []
        for region in regions:
            key = region.key
            gap = key[1:] - key[:-1] != 1
            parts[0].append(key[np.append(True, gap)[: key.size]])
            parts[1].append(key[np.append(gap, True)[: key.size]] + np.uint64(1))
            counts.append(parts[0][-1].size)
        first, past = (np.concatenate(part) for part in parts)
        end, number = np.unique(np.concatenate([first, past]), return_inverse=True)
        ends = number.reshape(2, -1)
        return cls(end, ends[0], ends[1], np.repeat(np.arange(len(counts)), counts), len(counts))

    def cells(self) -> IntArray:
        """Count the regions' keys: int64[regions]."""
        keys = (self.end[self.past] - self.end[self.first]).astype(np.int64)
        counted = np.zeros(self.regions, np.int64)
        np.add.at(counted, self.region, keys)
        return counted

    def sums(self, table: CountTable | ReleasedTable) -> FloatArray:
        """Compute the regions' sums: float64[regions]."""
        before = np.concatenate([np.zeros(1, table.count.dtype), np.cumsum(table.count)])
        at = before[np.searchsorted(table.key, self.end)]
        held = (at[self.past] - at[self.first]).astype(np.float64)
        return np.bincount(self.region, held, self.regions).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Simulation:
    """The method on stand-ins for the table of a release.

    Attributes
    ----------
    method : Mechanism
    table : ReleasedTable
    event : Measurement
        That of the table.
    tree : TreeVariance
        That of the method.
    releases : int
        Number of releases of every stand-in.
    prior : Prior, optional
        That of the release.
    totals : PublicTotals, optional
        Which the release and its stand-ins meet.
    """

    method: Mechanism
    table: ReleasedTable
    event: Measurement
    tree: TreeVariance
    releases: int
    prior: Prior | None = None
    totals: PublicTotals | None = None

    def errors(self, runs: KeyRuns) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Simulate errors of the regions' sums: low and high quantiles, and the standard error.

        float64[regions] each. The quantiles are the lowest and highest of all stand-ins; the
        standard error is the root mean square error on the release as it is.
        """
        low, high = np.full((2, runs.regions), np.inf) * [[1], [-1]]
        square: FloatArray = np.zeros(runs.regions)
        key, count = self.table.key, self.table.count.astype(np.float64)
        map_ = count
        for time in range(SHARPER + 1):
            errors, shown = self._run(runs, key, map_)
            if not time:
                square = (errors**2).mean(axis=0)
            # At most a share RISK of the simulated errors lies beyond this order statistic.
            rank = max(1, int(RISK * (self.releases + 1)))
            errors.sort(axis=0)
            low, high = np.minimum(low, errors[rank - 1]), np.maximum(high, errors[-rank])
            # The next stand-in shows about as many people as the release does.
            map_ = np.maximum(map_ + count - shown, 0)
        return low, high, np.sqrt(square)

    def _run(
        self, runs: KeyRuns, key: NDArray[np.uint64], count: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Release a stand-in often: errors of sums, float64[releases, regions], and mean counts."""
        standin = self.stand_in(key, count)
        truth, shown = runs.sums(standin), np.zeros(key.size)
        errors = np.empty((self.releases, runs.regions))
        for trial in range(self.releases):
            released = self.release(standin, trial)
            errors[trial] = runs.sums(released) - truth
            shown += released.counts_at(key)
        return errors, shown / self.releases

    def losses(self) -> FloatArray:
        """Simulate what a planted settlement can lose: float64[sides, depths].

        By its side length, and by the number of levels over which its place is isolated. Infinity
        if there is no such place.
        """
        random = np.random.default_rng(SEED)
        empty = draw_empty(self.table, self.tree, random)
        depth = find_depths(self.tree, NodeSums(self.table), empty)
        places = [empty[depth == i] for i in range(len(self.tree.fanouts) + 1)]
        some = [i for i, place in enumerate(places) if place.size]
        # So many people that the clamp would not take more from a settlement with even more.
        # A prior pulls smaller ones towards itself, too.
        sizes = (POPULOUS,) if self.prior is None else POPULOUS_INFORMED
        noise = sqrt(max(self.tree.nodes() + list(self.tree.variances)))
        lost: list[dict[tuple[int, int], list[float]]] = [{} for _ in sizes]
        number = min(MAX_PLANTED, self.table.grid.domain.cells // CELLS_EACH + 1) if some else 0
        for trial in range(self.releases):
            every = range(trial * number, (trial + 1) * number)
            kinds = [(i % len(SIDES), int(random.choice(some))) for i in every]
            planted = [self._plant(places[kind[1]], SIDES[kind[0]], random) for kind in kinds]
            if not planted:
                break
            people = int(sizes[trial % len(sizes)] * noise) + 1
            # Settlements may overlap; a cell of two of them is populated once.
            place = np.unique(np.concatenate(planted))
            key = np.concatenate([self.table.key, place])
            count = np.concatenate([self.table.count, np.full(place.size, people)])
            released = self.release(self.stand_in(key, count), trial)
            for kind, cells in zip(kinds, planted, strict=True):
                loss = people * cells.size - released.counts_at(cells).sum()
                lost[trial % len(sizes)].setdefault(kind, []).append(float(loss))
        return np.asarray(np.max([self._usual(some) for some in lost], axis=0), np.float64)

    def _usual(self, lost: dict[tuple[int, int], list[float]]) -> FloatArray:
        """Compute quantiles of the losses; without any at a depth, those of the next deeper."""
        largest = np.full((len(SIDES), len(self.tree.fanouts) + 2), np.inf)
        for side in range(len(SIDES)):
            for depth in range(len(self.tree.fanouts), -1, -1):
                some = sorted(lost.get((side, depth), []))
                rank = max(1, int(LOSS_RISK * (len(some) + 1)))
                largest[side, depth] = some[-rank] if some else largest[side, depth + 1]
        # Larger and more isolated settlements lose no less, whatever the noise of the simulation.
        return np.maximum.accumulate(np.maximum.accumulate(largest, axis=0), axis=1)

    def _plant(
        self, places: NDArray[np.uint64], side: int, random: np.random.Generator
    ) -> NDArray[np.uint64]:
        """Choose one of some places and return the cells of a square settlement there."""
        return settlement_cells(self.table, random.choice(places, 1), side)

    def stand_in(self, key: NDArray[np.uint64], count: Any) -> CountTable:
        """Make a table of integer counts, without those that are 0; it meets the public totals."""
        rounded = np.rint(count).astype(np.int64)
        some = rounded > 0
        key, rounded = key[some], rounded[some]
        if self.totals is not None:
            order = np.argsort(key)
            table = ReleasedTable(self.table.grid, key[order], rounded[order], self.event)
            fitted = self.totals.fit(table)
            key, rounded = fitted.key, fitted.count
        return CountTable.from_keys(self.table.grid, key, rounded)

    def release(self, table: CountTable, trial: int) -> ReleasedTable:
        """Release a stand-in under a public key."""
        return self.release_stating(table, trial)[0]

    def release_stating(
        self, table: CountTable, trial: int
    ) -> tuple[ReleasedTable, StatedPrior | None]:
        """Release a stand-in under a public key, and state what was learned about the prior."""
        digest = hashlib.sha256(f"geodp estimate, public, {trial}".encode()).digest()
        stated, key = None, NoiseKey(digest)
        # The method would report progress of its own for every single run.
        with progress.silence():
            if self.prior is None:
                released = self.method.release(table, self.event, key)
            else:
                released, stated = self.method.release_informed(table, self.event, key, self.prior)
            if self.totals is not None:
                released = self.totals.fit(released)
        progress.advance()
        return released, stated
