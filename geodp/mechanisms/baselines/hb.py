"""The b-ary tree of every node whose fan-out fits the domain: Qardaji, Yang, Li (PVLDB 2013)."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from math import inf, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.grid.order import bits_for
from geodp.mechanisms.base import MAX_CELLS, Mechanism, Query
from geodp.mechanisms.measure import release_dense, stage_query
from geodp.mechanisms.trees.least_squares import (
    CONSISTENT,
    MAX_UNALIGNED,
    EvenTree,
    axis_bits,
    box_variances,
    depths,
    prefix_sums,
    unaligned_variances,
    widths_of,
)
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable


@dataclass(frozen=True)
class Branching(Mechanism):
    """Qardaji, Yang, Li (2013), "HB": a consistent tree with the best fan-out for its size.

    A node splits into b equal parts along every axis; the root is not measured, so a tree of one
    level is noise on every cell. b is the one with the least average error over all ranges.
    On a line that is the paper's formula ``(b - 1) h**3 - 2 (b + 1) h**2 / 3``, with
    ``h = ceil(log_b n)`` levels. On more axes it is what that formula approximates: the
    variance ``h**2`` of a noisy count times the nodes that make up a box, on average over all
    boxes, counted exactly; the formula in use for two axes, ``b (n - 1) h**2``, counts too
    many nodes, most of all in flat trees. All of them ignore what consistency gains.

    The paper has squares of ``b**h`` cells. Here a shorter axis joins in at the level that fits
    its size, and the topmost split of an axis makes only as many parts as it has.
    """

    name: ClassVar[str] = "hb"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "consistent tree with the best fan-out (Qardaji et al. 2013)"
    citation: ClassVar[str] = (
        "Qardaji, Yang, Li: Understanding Hierarchical Methods for Differentially Private "
        "Histograms. PVLDB 6(14), 2013."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Qardaji et al. (2013), section 3: one person changes the count of one node on "
        "each of the h levels below the root by 1, so the L1 sensitivity is h; the fan-out "
        "depends on the domain's size only",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (CONSISTENT, "Negative counts stay as they are.")

    def splits(self, grid: Grid) -> list[tuple[int, ...]]:
        """Return the number of parts of a node along every axis, level by level from the root."""
        return _best_splits(grid.shape)

    def unsupported(self, grid: Grid) -> str | None:
        """Reject grids that are too large after padding to complete nodes."""
        if refusal := super().unsupported(grid):
            return refusal
        if prod(prod(level) for level in self.splits(grid)) > MAX_CELLS:
            return Rule(
                "hb-too-many-cells",
                f"hb pads the grid to complete nodes, and this grid then has more than "
                f"{MAX_CELLS:,} cells; choose a smaller grid.",
            )
        return None

    def sensitivity(self, grid: Grid) -> int:
        """Return the number of levels below the root."""
        return len(self.splits(grid))

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the count of one node by 1 on each of the "
            f"{self.sensitivity(grid)} levels below the root"
        )

    def tree(self, grid: Grid, sigma2: float) -> EvenTree:
        """Return the tree, with noise of one variance below its root."""
        fanouts = tuple(prod(level) for level in self.splits(grid))
        return EvenTree(fanouts, (inf,) + (sigma2,) * len(fanouts))

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the counts of the nodes of every level below the root."""
        splits = tuple(self.splits(grid))
        return tuple(
            stage_query(level, event.scale, "boxes", splits[:level], splits[level:])
            for level in range(1, len(splits) + 1)
        )

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Compute the exact variances of the boxes that are blocks of keys.

        None on a domain that is not a box, on a grid whose order is not binary, and on more than
        2**20 keys, where they are not computed.
        """
        if not grid.domain.is_box or not grid.order.is_binary or 1 << grid.bits > MAX_UNALIGNED:
            return None
        tree = self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance)
        splits = self.splits(grid)
        sizes = zip(grid.shape, axis_bits(grid), strict=True)
        prefixes = [prefix_sums(np.arange(1 << bits) < size) for size, bits in sizes]
        widths = [widths_of([level[axis] for level in splits]) for axis in range(len(grid.shape))]
        return unaligned_variances(tree.best(), prefixes, widths, depths(grid))

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> NDArray[np.float64] | None:
        """Compute exact variances; None on more than 2**20 cells."""
        tree = self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance).best()
        return box_variances(tree, self.splits(grid), grid, stride, block)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance | None:
        """Return the tree's estimates; None on several axes, where nodes are no runs of keys."""
        if len(grid.shape) > 1:
            return None
        return self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance).best()

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain, as a real number."""
        grid, splits = table.grid, self.splits(table.grid)
        d = len(grid.shape)
        # In an array the digits of an axis are adjacent; in the tree, the digits of a level are.
        digits = [level[axis] for axis in range(d) for level in splits]
        padded = [prod(level[axis] for level in splits) for axis in range(d)]
        to_tree = [axis * len(splits) + level for level in range(len(splits)) for axis in range(d)]
        box = tuple(slice(size) for size in grid.shape)
        values: Any = np.zeros(padded, np.int64)
        values[box] = table.to_dense()
        leaves = values.reshape(digits).transpose(to_tree)
        tree = self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance)
        scales = [event.scale] * (1 + len(splits))
        estimates = tree.estimate(tree.noisy(leaves.reshape(-1), scales, key))[-1]
        values = estimates.reshape(leaves.shape).transpose(np.argsort(to_tree)).reshape(padded)
        return release_dense(values[box], grid, event)


def _best_splits(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the splits with the smallest average error; of equals, those with fewest levels."""
    # Of all b that give the same number of levels only the smallest is tried: on a line it is the
    # best one, as the formula grows with b, and on more axes it needs the least padding.
    longest = max(shape)
    choices = []
    for height in range(1, max(1, bits_for(longest)) + 1):
        fanout = _min_fanout(height, longest)
        choices.append((_average_error(shape, fanout, height), height, fanout))
    _, height, fanout = min(choices)
    return _splits(shape, fanout, height)


def _min_fanout(height: int, n: int) -> int:
    """Return the smallest b, at least 2, with ``b**height >= n``."""
    return 2 + bisect_left(range(2, n), n, key=lambda fanout: fanout**height)


def _splits(shape: tuple[int, ...], fanout: int, height: int) -> list[tuple[int, ...]]:
    """Return parts per level and axis; an axis of few cells is not split on the upper levels."""
    by_axis = []
    for size in shape:
        parts: list[int] = []
        while size > 1:
            parts.insert(0, min(fanout, size))
            size = -(-size // fanout)
        by_axis.append([1] * (height - len(parts)) + parts)
    return list(zip(*by_axis, strict=True))


def _average_error(shape: tuple[int, ...], fanout: int, height: int) -> Fraction:
    """Compute the average variance of a range's sum without consistency.

    Its unit is the variance of noise of scale 1/epsilon.
    """
    b, h = fanout, height
    if len(shape) == 1:
        return Fraction((b - 1) * h**3) - Fraction(2 * (b + 1) * h**2, 3)
    splits = _splits(shape, b, h)
    padded = [prod(level[axis] for level in splits) for axis in range(len(shape))]
    nodes = [1] * len(shape)
    # The root is not measured. A node is used for a box if it lies inside and its parent does not.
    used, above = Fraction(0), Fraction(0)
    for level in splits:
        nodes = [n * parts for n, parts in zip(nodes, level, strict=True)]
        here = prod(map(_nodes_within, padded, nodes), start=Fraction(1))
        used += here - prod(level) * above
        above = here
    return used * h**2


def _nodes_within(n: int, m: int) -> Fraction:
    """Compute how many of m equal parts of a line of n cells lie in a range, on average."""
    # Part i, of w cells, lies in (i w + 1) (n - (i + 1) w + 1) of the n (n + 1) / 2 ranges.
    w = n // m
    runs = Fraction(w * w * m * (m - 1) * (m - 2), 6) + w * m * (m - 1) + m
    return runs / Fraction(n * (n + 1), 2)


METHODS = (Branching(),)
