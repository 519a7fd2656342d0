"""Noisy counts of every node of a b-ary tree, made consistent: Hay et al. (PVLDB 2010)."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import ClassVar

import numpy as np

from geodp.accuracy.variance import TreeVariance
from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.mechanisms.base import MAX_CELLS, Query, within
from geodp.mechanisms.measure import release_vector, stage_query
from geodp.mechanisms.trees.least_squares import (
    CONSISTENT,
    EvenTree,
    TreeMechanism,
    without_negatives,
)
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable


@dataclass(frozen=True, kw_only=True)
class Hay(TreeMechanism):
    """Hay, Rastogi, Miklau, Suciu (2010): noisy counts of a tree over the keys, made consistent.

    Every node of every level, root included, gets noise of one scale; least squares in two
    linear passes. The keys are padded with empty ones to a power of the fan-out.

    Attributes
    ----------
    fanout : int
        Children of a node, at least 2; the paper's experiments have 2.
    nonnegative : bool
        The paper's heuristic (section 4.2): after consistency, every subtree whose root is
        estimated at 0 or below is set to 0. Areas are then sums of their cells only.
    """

    fanout: int = field(default=2, metadata=within(2))
    # A setting here, where other methods have a constant of the class.
    nonnegative: bool = False  # type: ignore[misc]

    name: ClassVar[str] = "hay"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "consistent noisy counts of a tree (Hay et al. 2010)"
    citation: ClassVar[str] = (
        "Hay, Rastogi, Miklau, Suciu: Boosting the Accuracy of Differentially Private Histograms "
        "Through Consistency. PVLDB 3(1), 2010."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Hay et al. (2010), proposition 4: one person changes the count of one node on "
        "every level by 1, so the L1 sensitivity is the number of levels",
    )

    @property
    def postprocessing(self) -> tuple[str, ...]:  # type: ignore[override]
        """The steps after the noise with these settings, a sentence each."""
        if not self.nonnegative:
            return (CONSISTENT, "Negative counts stay as they are.")
        return (
            "Consistency: noisy counts of all nodes are averaged by least squares.",
            "Non-negativity: every subtree whose root is estimated at 0 or below becomes 0, and "
            "nothing is taken from its neighbours for it, which lifts sums over areas where few "
            "people are.",
        )

    def height(self, grid: Grid) -> int:
        """Return the levels below the root: the smallest h with ``fanout**h >= 2**bits``."""
        return _height(self.fanout, 1 << grid.bits)

    def unsupported(self, grid: Grid) -> str | None:
        """Reject grids that are too large after padding to a power of the fan-out."""
        if grid.bits < 63 and self.fanout ** self.height(grid) <= MAX_CELLS:
            return None
        return super().unsupported(grid) or (
            Rule(
                "hay-too-many-keys",
                f"{self.spec} pads the keys to a power of its fan-out, more than {MAX_CELLS:,}; "
                "choose a smaller fan-out.",
            )
        )

    def sensitivity(self, grid: Grid) -> int:
        """Return the number of levels of the tree, including root and leaves."""
        return 1 + self.height(grid)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the count of one node by 1 on each of the "
            f"{self.sensitivity(grid)} levels of the tree"
        )

    def tree(self, grid: Grid, sigma2: float) -> EvenTree:
        """Return the tree, with noise of one variance."""
        height = self.height(grid)
        return EvenTree((self.fanout,) * height, (sigma2,) * (height + 1))

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the counts of the nodes of every level, the root's first."""
        height = self.height(grid)
        return tuple(
            stage_query(level, event.scale, "nodes of keys", self.fanout ** (height - level))
            for level in range(height + 1)
        )

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance | None:
        """Return the tree's estimates; None with ``nonnegative``."""
        if self.nonnegative:
            return None
        return self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance).best()

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain, as a real number."""
        tree = self.tree(table.grid, DiscreteLaplace.of_scale(event.scale).variance)
        n = 1 << table.grid.bits
        # Padding is empty for every table: no person changes a padded leaf.
        leaves = np.zeros(prod(tree.fanouts), np.int64)
        leaves[:n] = table.to_vector()
        scales = [event.scale] * (1 + len(tree.fanouts))
        levels = tree.estimate(tree.noisy(leaves, scales, key))
        values = without_negatives(levels, tree.fanouts) if self.nonnegative else levels[-1]
        return release_vector(values[:n], table.grid, event)


def _height(fanout: int, n: int) -> int:
    """Return the smallest h with ``fanout**h >= n``."""
    height, leaves = 0, 1
    while leaves < n:
        height, leaves = height + 1, leaves * fanout
    return height


METHODS = (Hay(),)
