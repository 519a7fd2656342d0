"""The b-ary tree of every node whose fan-out fits the domain: Qardaji, Yang, Li (PVLDB 2013)."""

from __future__ import annotations

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
from geodp.mechanisms.base import MOST_CELLS, PUBLIC_DOMAIN, Mechanism, Query
from geodp.mechanisms.measure import release_dense, stage_query
from geodp.mechanisms.trees.least_squares import (
    CONSISTENT,
    MOST_UNALIGNED,
    EvenTree,
    axis_bits,
    box_variances,
    depths,
    prefix_sums,
    unaligned_variances,
    widths_of,
)
from geodp.privacy.event import PURE, Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.laplace import DiscreteLaplace
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable


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
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="Qardaji et al. (2013), section 3: one person changes the count of one node on "
        "each of the h levels below the root by 1, so the L1 sensitivity is h; the fan-out "
        "depends on the domain's size only",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (CONSISTENT, "Negative counts stay as they are.")

    def splits(self, grid: Grid) -> list[tuple[int, ...]]:
        """Parts into which a node is split along every axis, level by level from the root."""
        return _best_splits(grid.shape)

    def unsupported(self, grid: Grid) -> str | None:
        """As of every dense method, padding to whole nodes included."""
        if refusal := super().unsupported(grid):
            return refusal
        if prod(prod(level) for level in self.splits(grid)) > MOST_CELLS:
            return Rule(
                "hb-too-many-cells",
                f"hb pads the grid to whole nodes, more than {MOST_CELLS:,} cells.",
            )
        return None

    def sensitivity(self, grid: Grid) -> int:
        """Levels below the root."""
        return len(self.splits(grid))

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Why it is that, as one sentence for the release card."""
        return (
            "a person counted once changes the count of one node by 1 on each of the "
            f"{self.sensitivity(grid)} levels below the root"
        )

    def tree(self, grid: Grid, sigma2: float) -> EvenTree:
        """Return the tree, with noise of one variance below its root."""
        fanouts = tuple(prod(level) for level in self.splits(grid))
        return EvenTree(fanouts, (inf,) + (sigma2,) * len(fanouts))

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """Return counts of the nodes of every level below the root."""
        splits = tuple(self.splits(grid))
        return tuple(
            stage_query(level, event.scale, "boxes", splits[:level], splits[level:])
            for level in range(1, len(splits) + 1)
        )

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Exact variances of the boxes that are blocks of keys.

        None on a part of a box, on a grid whose order is not binary, and on more than 2**20 keys,
        where they are not worked out.
        """
        if not grid.domain.is_box or not grid.order.is_binary or 1 << grid.bits > MOST_UNALIGNED:
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
        """Exact; None on more than 2**20 cells."""
        tree = self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance).best()
        return box_variances(tree, self.splits(grid), grid, stride, block)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance | None:
        """Return the tree's estimates; None on several axes, where nodes are no runs of keys."""
        if len(grid.shape) > 1:
            return None
        return self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance).best()

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Every cell of the domain; a real number."""
        grid, splits = table.grid, self.splits(table.grid)
        d = len(grid.shape)
        # Digits of an axis's index stand together; in the tree, digits of a level do.
        digits = [level[axis] for axis in range(d) for level in splits]
        padded = [prod(level[axis] for level in splits) for axis in range(d)]
        to_tree = [axis * len(splits) + level for level in range(len(splits)) for axis in range(d)]
        box = tuple(slice(size) for size in grid.shape)
        values: Any = np.zeros(padded, np.int64)
        values[box] = table.to_dense()
        leaves = values.reshape(digits).transpose(to_tree)
        tree = self.tree(grid, DiscreteLaplace.of_scale(event.scale).variance)
        scales = [event.scale] * (1 + len(splits))
        found = tree.estimate(tree.noisy(leaves.reshape(-1), scales, key))[-1]
        values = found.reshape(leaves.shape).transpose(np.argsort(to_tree)).reshape(padded)
        return release_dense(values[box], grid, event)


def _best_splits(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the splits with the least average error; of equals, those of the fewest levels.

    Of all b that give the same number of levels only the least is looked at: on a line it is the
    best of them, as the formula grows with b, and on more axes it pads least.
    """
    longest = max(shape)
    choices = []
    for height in range(1, max(1, bits_for(longest)) + 1):
        fanout = _least_fanout(height, longest)
        choices.append((_average_error(shape, fanout, height), height, fanout))
    _, height, fanout = min(choices)
    return _splits(shape, fanout, height)


def _least_fanout(height: int, n: int) -> int:
    """Return the least b, at least 2, with ``b**height >= n``."""
    low, high = 2, max(n, 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if middle**height >= n else (middle + 1, high)
    return low


def _splits(shape: tuple[int, ...], fanout: int, height: int) -> list[tuple[int, ...]]:
    """Parts per level and axis; an axis of few cells is not split on the upper levels."""
    by_axis = []
    for size in shape:
        parts: list[int] = []
        while size > 1:
            parts.insert(0, min(fanout, size))
            size = -(-size // fanout)
        by_axis.append([1] * (height - len(parts)) + parts)
    return list(zip(*by_axis, strict=True))


def _average_error(shape: tuple[int, ...], fanout: int, height: int) -> Fraction:
    """Average variance of a range's sum without consistency, over that of a noise 1/epsilon."""
    b, h = fanout, height
    if len(shape) == 1:
        return Fraction((b - 1) * h**3) - Fraction(2 * (b + 1) * h**2, 3)
    splits = _splits(shape, b, h)
    padded = [prod(level[axis] for level in splits) for axis in range(len(shape))]
    nodes = [1] * len(shape)
    used, above = Fraction(0), Fraction(0)  # the root is not there to be used
    for level in splits:
        nodes = [n * parts for n, parts in zip(nodes, level, strict=True)]
        here = prod(map(_nodes_within, padded, nodes), start=Fraction(1))
        used += here - prod(level) * above
        above = here
    return used * h**2


def _nodes_within(n: int, m: int) -> Fraction:
    """Average number of m equal parts of a line of n cells that a run of cells holds whole.

    Part i, of w cells, lies in ``(i w + 1) (n - (i + 1) w + 1)`` of the ``n (n + 1) / 2`` runs.
    """
    w = n // m
    runs = Fraction(w * w * m * (m - 1) * (m - 2), 6) + w * m * (m - 1) + m
    return runs / Fraction(n * (n + 1), 2)


METHODS = (Branching(),)
