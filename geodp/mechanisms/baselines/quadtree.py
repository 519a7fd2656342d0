"""The data-independent quadtree of Cormode, Procopiuc, Srivastava, Shen, Yu (2012)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Query, within
from geodp.mechanisms.measure import release_vector, stage_query
from geodp.mechanisms.trees.least_squares import (
    EvenTree,
    TreeMechanism,
    inside,
    sums_of_runs,
)
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable

# Integers and not float powers: shares are exact fractions and the same on every machine.
CUBE_ROOTS = (1_000_000, 1_259_921, 1_587_401)
"""``2**(j / 3)`` for j = 0, 1, 2, in millionths."""

SHARE = 1 << 20
"""Denominator of the shares of the budget: they are exact fractions, as the levels must add up."""


@dataclass(frozen=True)
class Quadtree(TreeMechanism):
    """Cormode, Procopiuc, Srivastava, Shen, Yu (2012): a quadtree with a geometric budget.

    The domain is halved along every axis on each level, until the cells or the tree's largest
    height are reached, whatever the data. On a grid of unequal axes a level halves those that
    still have bits in the key. All nodes are measured; a level gets ``2**(1/3)`` times the budget
    of the one above, which is what minimises the paper's bound for boxes on two axes. The
    estimates are those of least squares.

    Attributes
    ----------
    height : int
        Most levels below the root, at least 1; 10 is the usual choice in comparisons. Where
        they end above the cells, a leaf is spread evenly over its cells of the domain.
    budget : {"geometric", "uniform"}
        How it is shared among the levels.
    """

    height: int = field(default=10, metadata=within(1, 63))
    budget: str = field(default="geometric", metadata={"choices": ("geometric", "uniform")})

    name: ClassVar[str] = "quadtree"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "quadtree with a geometric budget (Cormode et al. 2012)"
    citation: ClassVar[str] = (
        "Cormode, Procopiuc, Srivastava, Shen, Yu: Differentially Private Spatial Decompositions. "
        "ICDE 2012."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Cormode et al. (2012), section 3: one person changes the count of one node on "
        "every level by 1, and the levels' budgets add up to the whole",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Consistency: noisy counts of all nodes are averaged by least squares, weighted by their "
        "inverse variances; unbiased, and every node's count is the sum of its children.",
        "Uniform leaves: where the tree ends above the cells, a leaf is spread evenly over its "
        "cells, which blurs what is finer than a leaf.",
        "Negative counts stay as they are.",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Reject orders of other digits than bits, and domains that are too large."""
        return grid.order.why_no_halves(self.name) or super().unsupported(grid)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the share of the root, which is the smallest."""
        return min(self.shares(len(self.fanouts(grid)) + 1))

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the count of one node by 1 on each of the "
            f"{len(self.fanouts(grid)) + 1} levels, which share the budget"
        )

    def fanouts(self, grid: Grid) -> tuple[int, ...]:
        """Return the number of children of a node, level by level from the root."""
        return level_fanouts(grid.order.axes)[: self.height]

    def shares(self, levels: int) -> tuple[Fraction, ...]:
        """Return the shares from the root to the leaves: multiples of 2**-20 that add up to 1."""
        weights = [1] * levels
        if self.budget == "geometric":
            weights = [CUBE_ROOTS[i % 3] << (i // 3) for i in range(levels)]
        parts = [weight * SHARE // sum(weights) for weight in weights]
        # Rounding down leaves a remainder, which goes to the leaves: the exact sum is what the
        # privacy proof needs.
        parts[-1] += SHARE - sum(parts)
        return tuple(Fraction(part, SHARE) for part in parts)

    def plan(self, grid: Grid, scale: Fraction) -> tuple[EvenTree, list[Fraction]]:
        """Return the tree, and the noise scale of each of its levels."""
        fanouts = self.fanouts(grid)
        scales = [scale / share for share in self.shares(len(fanouts) + 1)]
        noise = tuple(DiscreteLaplace.of_scale(s).variance for s in scales)
        return EvenTree(fanouts, noise), scales

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the counts of the nodes of every level, the root's first."""
        tree, scales = self.plan(grid, event.scale)
        return tuple(
            stage_query(
                level, scale, "nodes of keys", (1 << grid.bits) // prod(tree.fanouts[:level])
            )
            for level, scale in enumerate(scales)
        )

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance | None:
        """Return the tree of the estimates; None if the leaves are larger than cells."""
        tree, _ = self.plan(grid, event.scale)
        return tree.best() if prod(tree.fanouts) == 1 << grid.bits else None

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain, as a real number."""
        grid = table.grid
        tree, scales = self.plan(grid, event.scale)
        size = (1 << grid.bits) // prod(tree.fanouts)
        leaves = sums_of_runs(table.to_vector(), size)
        values = tree.estimate(tree.noisy(leaves, scales, key))[-1]
        # Above the cells nothing distinguishes the cells of a leaf, so they share its estimate
        # equally.
        if size > 1:
            values = spread(values, inside(grid), size)
        return release_vector(values, grid, event)


def level_fanouts(axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the number of children per level, from the root; a level splits each axis at most
    once.

    Levels are formed from the cells upwards, as that is where the bits of all axes interleave.

    Examples
    --------
    >>> level_fanouts((1, 0, 1, 0, 1))
    (2, 4, 4)
    """
    levels: list[set[int]] = []
    for axis in reversed(axes):
        if not levels or axis in levels[0]:
            levels.insert(0, set())
        levels[0].add(axis)
    return tuple(1 << len(level) for level in levels)


def spread(
    leaves: NDArray[np.float64], domain: NDArray[np.bool_] | None, size: int
) -> NDArray[np.float64]:
    """Spread every leaf's value evenly over its cells of the domain; return values of all keys.

    A leaf without any cell of the domain is dropped.
    """
    if domain is None:
        return np.repeat(leaves / size, size)
    cells = sums_of_runs(domain.astype(np.int64), size)
    return np.repeat(leaves / np.maximum(cells, 1), size) * domain


METHODS = (Quadtree(),)
