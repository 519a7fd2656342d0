"""Intervals of estimates by simulation: which true sums could have been released like this.

Everything is computed from the release, under keys that everybody may know. The method is run on
stand-ins for the table that it was made of:

1. the release itself, and maps that are sharper than it: what a simulated release of a map shows
   too little of is added to the map, which gives back what a clamp takes from what is still seen;
2. the release with populous settlements planted where nobody was released, which tells what a clamp
   can take from a settlement that is hardly seen or not at all, by how far it stands alone.

A true sum is kept where the released one lies among the errors that it has on one of the stand-ins
of the first kind, or where a settlement of the second kind can have lost as much.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import Estimate, NodeSums
from geodp.accuracy.isolation import draw_empty, find_depths, list_nodes, settlement_cells, tilt
from geodp.accuracy.reach import RegionKeys, reach, strength
from geodp.accuracy.variance import TreeVariance
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.release.described import Described
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray

CLOSED_FORM, SIMULATION = "closed-form", "simulation"
"""How errors of regions are estimated."""

RELEASES = 200
"""Simulated releases of every stand-in."""

SHARPER = 2
"""Times that the release is sharpened; every time gives a stand-in."""

RISK = 0.01
"""Of a released sum beyond each end of those simulated: less than 2.5 %, for what the stand-ins
lack of the truth."""

LOSS_RISK = 0.015
"""The same of what planted settlements lose."""

DROPPED = 0.5
"""Part of what a threshold can have moved that is counted, as stand-ins show nothing of it: public
maps need up to so much, of regions that follow what was dropped."""

TILT = 3.0
"""Times that the clamp is expected to have moved people across a coast that a region follows: the
stand-ins do not show it, as what it moved stands in them as people."""

DOUBT = 0.01
"""Of taking a child that holds nobody for one with people, in all children around a region."""

SIDES = (1, 2, 3)
"""Cells on a side of a planted settlement."""

MOST_PLANTED, ROOM = 24, 1 << 12
"""Settlements planted in one stand-in: one for so many cells of the domain."""

POPULOUS = 64
"""People in a planted cell, in standard deviations of the noise: more than a clamp can take."""

SEED = 20150901


def simulate_estimates(release: Described, regions: Sequence[Region]) -> list[Estimate]:
    """Return estimates of regions with simulated standard errors and 95 % intervals.

    Parameters
    ----------
    release : Release
    regions : sequence of Region
        All are answered from the same simulated releases.

    Raises
    ------
    UsageError
        A method that clamps nothing, that has no tree of keys, or that is no central one.
    """
    method, table = release.method, release.table
    if not isinstance(method, Mechanism) or not isinstance(table.event, Measurement):
        raise UsageError(
            "Reports of devices are not simulated: leave out method='simulation'.",
            code="devices-not-simulated",
        )
    if release.prior is not None:
        raise UsageError(
            "Releases with a prior are not simulated: leave out method='simulation'.",
            code="prior-not-simulated",
        )
    if release.parts is not None:
        raise UsageError(
            "Parts of a map are not simulated: leave out method='simulation'.",
            code="parts-not-simulated",
        )
    closed = release.estimate_all(regions)
    tree = method.tree_variance(table.grid, table.event)
    if not method.nonnegative or tree is None:
        raise UsageError(
            f"{method.name} clamps nothing, so its closed form is good already: leave out "
            "method='simulation'.",
            code="closed-form-is-good",
        )
    if not any(known.clamped for known in closed):
        return closed
    simulation = Simulation(method, table, table.event, tree, RELEASES)
    progress.begin("Simulating releases", RELEASES * (SHARPER + 2), public=True)
    low, high, error = simulation.errors(KeyRuns.of(regions))
    losses, sums, found = simulation.losses(), release.node_sums, []
    held, domain = list_nodes(tree, table), table.grid if method.skips_outside else None
    taken = method.clamp_losses(table.grid, table.event) or [(0.0, 0.0)] * len(tree.fanouts)
    for i, (region, known) in enumerate(zip(regions, closed, strict=True)):
        if not known.clamped:  # its error is that of the noise, which the closed form knows
            found.append(known)
            continue
        depth = int(find_depths(tree, sums, region.key).max(initial=0))
        side = int(np.searchsorted(np.square(SIDES), min(region.cells, SIDES[-1] ** 2)))
        lost = min(float(losses[side, depth]), known.high - known.count)
        ends = known.count - np.array([high[i], low[i]])
        if region.cells == 1 and tree.drops:  # what a stand-in lacks of them no simulation shows
            ends = np.array([known.low, known.high])
        elif region.cells == 1:  # whose surroundings are of a known class
            ends[1] = max(ends[1], known.count + lost)
        else:
            moved = TILT * tilt(tree, table.grid, held, region.key, taken)
            ends += min(moved, 0.0), max(moved, 0.0)
            ends[1] = max(ends[1], known.count + lost)
            cells = RegionKeys.of([region.key])
            strong = strength(tree, cells, table.event.is_normal, DOUBT)
            around = reach(tree, sums, cells, strong, domain)
            (out,), (into,) = around.moved
            ends += -DROPPED * into, DROPPED * out
            (inner,), (outer,) = around.approximations()
            ends = np.clip(ends, inner, outer)
        below, above = np.clip(ends, known.low, known.high).tolist()  # never wider than these
        found.append(replace(known, standard_error=float(error[i]), low=below, high=above))
    return found


@dataclass(frozen=True, eq=False)
class KeyRuns:
    """Regions as runs of consecutive keys, so that sums are differences of prefix sums.

    Attributes
    ----------
    end : uint64[e]
        Where runs begin, and the keys past their last; strictly increasing.
    first, past : int64[n]
        Of every run, its ends by number.
    region : int64[n]
        Of every run.
    regions : int
    """

    end: NDArray[np.uint64] = field(repr=False)
    first: IntArray = field(repr=False)
    past: IntArray = field(repr=False)
    region: IntArray = field(repr=False)
    regions: int

    @classmethod
    def of(cls, regions: Sequence[Region]) -> Self:
        """Take regions, some perhaps without cells."""
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

    def sums(self, table: CountTable | ReleasedTable) -> FloatArray:
        """Return the regions' sums: float64[regions]."""
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
        The table's.
    tree : TreeVariance
        The method's.
    releases : int
        Of every stand-in.
    """

    method: Mechanism
    table: ReleasedTable
    event: Measurement
    tree: TreeVariance
    releases: int

    def errors(self, runs: KeyRuns) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return least and largest usual error of the regions' sums, and the standard error.

        The least and the largest of all stand-ins, float64[regions]; of the release as it is the
        root-mean-square error.
        """
        low, high = np.full((2, runs.regions), np.inf) * [[1], [-1]]
        square: FloatArray = np.zeros(runs.regions)
        key, count = self.table.key, self.table.count.astype(np.float64)
        map_ = count
        for time in range(SHARPER + 1):
            errors, shown = self._run(runs, key, map_)
            if not time:
                square = (errors**2).mean(axis=0)
            rank = max(1, int(RISK * (self.releases + 1)))
            errors.sort(axis=0)
            low, high = np.minimum(low, errors[rank - 1]), np.maximum(high, errors[-rank])
            map_ = np.maximum(map_ + count - shown, 0)
        return low, high, np.sqrt(square)

    def _run(
        self, runs: KeyRuns, key: NDArray[np.uint64], count: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return errors of the regions' sums, float64[releases, regions], and mean counts."""
        standin = self.stand_in(key, count)
        truth, shown = runs.sums(standin), np.zeros(key.size)
        errors = np.empty((self.releases, runs.regions))
        for trial in range(self.releases):
            released = self.release(standin, trial)
            errors[trial] = runs.sums(released) - truth
            shown += released.counts_at(key)
        return errors, shown / self.releases

    def losses(self) -> FloatArray:
        """Return what a planted settlement can lose: float64[sides, depths].

        By its side and over how many levels its place stands alone. Infinity where there is no
        such place to plant one at.
        """
        random = np.random.default_rng(SEED)
        empty = draw_empty(self.table, self.tree, random)
        depth = find_depths(self.tree, NodeSums(self.table), empty)
        places = [empty[depth == i] for i in range(len(self.tree.fanouts) + 1)]
        some = [i for i, place in enumerate(places) if place.size]
        lost: dict[tuple[int, int], list[float]] = {}
        people = int(POPULOUS * sqrt(max(self.tree.nodes() + list(self.tree.variances)))) + 1
        number = min(MOST_PLANTED, self.table.grid.domain.cells // ROOM + 1) if some else 0
        for trial in range(self.releases):
            every = range(trial * number, (trial + 1) * number)
            kinds = [(i % len(SIDES), int(random.choice(some))) for i in every]
            planted = [self._settle(places[kind[1]], SIDES[kind[0]], random) for kind in kinds]
            if not planted:
                break
            place = np.unique(np.concatenate(planted))
            key = np.concatenate([self.table.key, place])
            count = np.concatenate([self.table.count, np.full(place.size, people)])
            released = self.release(self.stand_in(key, count), trial)
            for kind, cells in zip(kinds, planted, strict=True):
                loss = people * cells.size - released.counts_at(cells).sum()
                lost.setdefault(kind, []).append(float(loss))
        return self._usual(lost)

    def _usual(self, lost: dict[tuple[int, int], list[float]]) -> FloatArray:
        """Return the largest usual losses: of the next deeper places where none was planted."""
        found = np.full((len(SIDES), len(self.tree.fanouts) + 2), np.inf)
        for side in range(len(SIDES)):
            for depth in range(len(self.tree.fanouts), -1, -1):
                some = sorted(lost.get((side, depth), []))
                rank = max(1, int(LOSS_RISK * (len(some) + 1)))
                found[side, depth] = some[-rank] if some else found[side, depth + 1]
        return np.maximum.accumulate(np.maximum.accumulate(found, axis=0), axis=1)

    def _settle(
        self, places: NDArray[np.uint64], side: int, random: np.random.Generator
    ) -> NDArray[np.uint64]:
        return settlement_cells(self.table, random.choice(places, 1), side)

    def stand_in(self, key: NDArray[np.uint64], count: Any) -> CountTable:
        """Return a table of whole counts, none 0."""
        whole = np.rint(count).astype(np.int64)
        return CountTable.from_keys(self.table.grid, key[whole > 0], whole[whole > 0])

    def release(self, table: CountTable, trial: int) -> ReleasedTable:
        """Release a stand-in under a key that everybody may know."""
        digest = hashlib.sha256(f"geodp estimate, public, {trial}".encode()).digest()
        with progress.silence():
            released = self.method.release(table, self.event, NoiseKey(digest))
        progress.advance()
        return released
