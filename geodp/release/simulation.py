"""Run the method of a release on stand-ins for its confidential table, under public keys.

What a clamp can take from a settlement that is hardly visible or invisible is measured by the
release with populous settlements planted in empty places, by how isolated these are.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.accuracy.interval import NodeSums
from geodp.accuracy.isolation_depth import draw_empty, find_depths, settlement_cells
from geodp.accuracy.variance import TreeVariance
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable
from geodp.typing import FloatArray

LOSS_RISK = 0.015
"""Number of releases for the losses of planted settlements."""

SIDES = (1, 2, 3)
"""Side lengths of planted settlements, in cells."""

MAX_PLANTED, CELLS_EACH = 24, 1 << 12
"""Maximum number of settlements planted in one stand-in, and cells of the domain for each."""

POPULOUS = 64
"""People in a planted cell, in standard deviations of the noise: more than a clamp can take."""

SEED = 20150901


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
    """

    method: Mechanism
    table: ReleasedTable
    event: Measurement
    tree: TreeVariance
    releases: int

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
        noise = sqrt(max(self.tree.nodes() + list(self.tree.variances)))
        people, lost = int(POPULOUS * noise) + 1, dict[tuple[int, int], list[float]]()
        number = min(MAX_PLANTED, self.table.grid.domain.cells // CELLS_EACH + 1) if some else 0
        for trial in range(self.releases):
            every = range(trial * number, (trial + 1) * number)
            kinds = [(i % len(SIDES), int(random.choice(some))) for i in every]
            planted = [self._plant(places[kind[1]], SIDES[kind[0]], random) for kind in kinds]
            if not planted:
                break
            # Settlements may overlap; a cell of two of them is populated once.
            place = np.unique(np.concatenate(planted))
            key = np.concatenate([self.table.key, place])
            count = np.concatenate([self.table.count, np.full(place.size, people)])
            released = self.release(self.stand_in(key, count), trial)
            for kind, cells in zip(kinds, planted, strict=True):
                loss = people * cells.size - released.counts_at(cells).sum()
                lost.setdefault(kind, []).append(float(loss))
        return self._usual(lost)

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
        """Make a table of integer counts, without those that are 0."""
        rounded = np.rint(count).astype(np.int64)
        some = rounded > 0
        return CountTable.from_keys(self.table.grid, key[some], rounded[some])

    def release(self, table: CountTable, trial: int) -> ReleasedTable:
        """Release a stand-in under a public key."""
        digest = hashlib.sha256(f"geodp estimate, public, {trial}".encode()).digest()
        # The method would report progress of its own for every single run.
        with progress.silence():
            released = self.method.release(table, self.event, NoiseKey(digest))
        progress.advance()
        return released
