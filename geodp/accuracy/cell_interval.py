"""Intervals of single cells, of many at once.

What :func:`geodp.accuracy.reach.reach` finds for a region of one cell follows from the path of
its nodes up to the root: what the node itself holds, how many children its parent can have, and
which of these were released with few people or none. Cells that were released as 0 under the same
node are alike, so that one of them tells of all. Where a cell has company, its count is not further
off than :mod:`geodp.accuracy.margins` says of its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.blocks import Variances, cell_errors
from geodp.accuracy.dropped import find_moved
from geodp.accuracy.interval import (
    INNER,
    LAPLACE_Z,
    OUTER,
    PLAIN,
    NodeSums,
    Reach,
    Tops,
    Z,
    round_out,
)
from geodp.accuracy.lone import FEW, find_depths
from geodp.accuracy.margins import MARGINS, Margins, find_classes, margins_of, span_of
from geodp.accuracy.reach import RegionKeys, strength
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.grid.grid import Grid
from geodp.reprs import one_line
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

AT_ONCE = 1 << 18
"""Cells whose paths are followed together."""


class ErrorModel(Protocol):
    """What intervals ask of a method: whether it clamps, and what is known of its errors."""

    nonnegative: ClassVar[bool]

    def variances_of(
        self, grid: Grid, event: Any, stride: int, block: KeyArray, /
    ) -> FloatArray | None:
        """Return the variances of blocks of so many keys: float64[n]."""
        ...

    def tree_variance(self, grid: Grid, event: Any, /) -> TreeVariance | None:
        """Return the closed form of the error of any region."""
        ...

    def isolated_cell(self, grid: Grid, event: Any, /) -> dict[str, float] | None:
        """Return bias and error of an isolated cell."""
        ...

    def clamp_losses(self, grid: Grid, event: Any, /) -> list[tuple[float, float]] | None:
        """Return mean and standard deviation of what a clamp takes at each level."""
        ...


def cell_intervals(
    method: ErrorModel,
    table: ReleasedTable,
    error: float | None,
    tops: Tops | None = None,
    margins: Margins = MARGINS,
) -> ClampedIntervals | PlainIntervals:
    """95 % intervals of the cells of a release, as :meth:`geodp.Release.estimate` gives them.

    Parameters
    ----------
    method : RowErrors
        With a closed form of the error of a cell.
    table : ReleasedTable
    error : float, optional
        Standard error of a cell, where all cells have the same.
    tops : Tops, optional
        As for :class:`geodp.accuracy.interval.NodeSums`.
    margins : Margins
        Where they are those of public maps: of methods that drop nothing; with a threshold it is
        those of public maps with one.
    """
    grid, event = table.grid, table.event
    if not method.nonnegative:
        return PlainIntervals(table, error, partial(method.variances_of, grid, event))
    tree = method.tree_variance(grid, event)
    assert tree is not None  # whoever clamps and has errors of cells works on a tree
    return ClampedIntervals(
        tree,
        NodeSums(table, tops),
        event.is_normal,
        grid if grid.size < prod(tree.fanouts) else None,
        1 if not grid.order.follows_map or not tree.fanouts else tree.fanouts[-1],
        method.isolated_cell(grid, event),
        count_unseen(method.clamp_losses(grid, event), tree.fanouts),
        margins_of(tree.drops) if tree.drops and margins is MARGINS else margins,
    )


def count_unseen(
    losses: list[tuple[float, float]] | None, fanouts: tuple[int, ...]
) -> list[tuple[float, float]] | None:
    """Return what the clamp takes for each node that shows it: by an empty child released as 0.

    Of halves an empty one is released as 0 in every second split only. In the others it was given
    what the other half lost, and nothing tells it from one that holds people: each node that shows
    a loss stands for another. What both together take varies no more than the same splits do where
    nothing is clamped, which the margin of the sum counts: with e the noise of a split and b its
    scale, max(e, 0) - b [e < 0] has a variance of 1.5 b^2, and e one of 2 b^2. Among more children
    one is 0 nearly always.

    Parameters
    ----------
    losses : list of (mean, standard deviation) or None
        Of one split on each level, the root's first, whatever the noise.
    fanouts : tuple of int
        Of the same levels.
    """
    if losses is None:
        return None
    return [
        (2 * mean, 0.0) if fanout == 2 else (mean, spread)
        for (mean, spread), fanout in zip(losses, fanouts, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class PlainIntervals:
    """Around counts that may be negative: 2.12 standard errors of Laplace noise, 1.96 of Gaussian.

    Attributes
    ----------
    table : ReleasedTable
    error : float or None
        Standard error of a cell, where all cells have the same.
    variances : callable
        Closed-form variances of cells, where they have not.
    """

    table: ReleasedTable
    error: float | None
    variances: Variances

    alike: ClassVar[int] = 1

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        count = self.table.counts_at(key).astype(np.float64)
        factor = Z if self.table.event.is_normal else LAPLACE_Z
        error = cell_errors(self.variances, key) if self.error is None else self.error
        margin = round_out(factor * error, count)
        return count - margin, count + margin

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return the same as :meth:`ClampedIntervals.unlisted`."""
        margin = (Z if self.table.event.is_normal else LAPLACE_Z) * error
        return -margin, margin, margin


@dataclass(frozen=True, eq=False)
class ClampedIntervals:
    """Intervals of a method that clamps at 0.

    Attributes
    ----------
    tree : TreeVariance
    sums : NodeSums
        Of the release.
    gaussian : bool
        The noise's law; otherwise Laplace.
    grid : Grid or None
        Whose domain leaves nodes with fewer children; None: all keys are cells.
    alike : int
        Cells released as 0 have one interval within an aligned block of so many keys.
    isolated, losses
        As for :meth:`geodp.accuracy.interval.Reach.interval`.
    margins : Margins
        Beyond which a cell's count is not off where it has company.
    """

    __repr__ = one_line

    tree: TreeVariance
    sums: NodeSums
    gaussian: bool
    grid: Grid | None
    alike: int
    isolated: dict[str, float] | None
    losses: list[tuple[float, float]] | None
    margins: Margins = MARGINS

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        zero = self.sums.of(key, 1) == 0
        empty = key[zero]
        first, group = self._groups(empty)
        chosen = np.concatenate([key[~zero], empty[first]])
        ends = np.empty((2, chosen.size))
        for start in range(0, chosen.size, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            ends[:, part] = self._ends(chosen[part])
        found = np.empty((2, key.size))
        own = key.size - empty.size
        found[:, ~zero], found[:, zero] = ends[:, :own], ends[:, own:][:, group]
        return found[0], found[1]

    def classes(self, key: KeyArray) -> IntArray:
        """Return the class of cells by what was released around them, see
        :func:`geodp.accuracy.margins.find_classes`: int64[n]."""
        fanout = self.tree.fanouts[-1] if self.tree.fanouts else 1
        span = span_of(self.tree.fanouts)
        node, number = np.unique(key // np.uint64(span), return_inverse=True)
        cells = self._possible(node, span, 1)[number]
        listed, own = self.sums.listed(node, span)[number], self.sums.of(key, 1)
        least = FEW * np.sqrt(self.tree.variances[-1])
        company = self.sums.listed(node, span, least)[number] > (own >= least)
        if fanout < span:
            node, number = np.unique(key // np.uint64(fanout), return_inverse=True)
            children = self._possible(node, fanout, 1)[number]
        else:
            children = cells
        return find_classes(children, cells - 1, cells - listed - (own == 0), company)

    def _ends(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of some cells: where a clamp may have been, those of their class."""
        found = self._reach(key)
        low, high = found.interval(self.isolated, self.losses)
        count, error = found.count[PLAIN], np.sqrt(np.maximum(found.variance[PLAIN], 0))
        sides = self.margins.of(self.classes(key))
        down, up = (round_out(side * error, count) for side in sides)
        low, high = np.maximum(low, count - down), np.minimum(high, count + up)
        if self.margins.alone:
            alone = np.flatnonzero(np.isinf(up))
            depth = find_depths(self.tree, self.sums, key[alone])
            lost = np.array(self.margins.alone)[np.minimum(depth, len(self.margins.alone) - 1)]
            lost = lost + (found.moved[0][alone] if self.tree.drops else 0.0)
            high[alone] = np.minimum(high[alone], count[alone] + round_out(lost, count[alone]))
        return low, high

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return where the interval of a cell that is not listed begins, and ends at most.

        Ends: where a cell of the same lowest node is listed, and where none is.

        Parameters
        ----------
        error : float
            The largest standard error of a cell.
        """
        levels = np.ones((len(self.tree.fanouts), 1), np.int64)
        alone = Reach(np.zeros((3, 1)), np.full((3, 1), error**2), np.zeros((3, 1)), levels, levels)
        dropped = sum(drop.least for drop in self.tree.drops)
        far = float(alone.reach_up(self.isolated, self.losses)[0]) + dropped
        known = self.margins.up[np.isfinite(self.margins.up)]
        beside = min(far, float(known.max()) * error) if known.size else far
        return 0.0, beside, min(far, max(self.margins.alone, default=far))

    def _groups(self, key: KeyArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One of each group of cells that are alike, and the group of each.

        Cells released as 0 are alike under one node; so are those under nodes that are themselves
        0 and children of one node, if the domain leaves these nodes as many children.
        """
        number = np.arange(key.size)  # of the cell that stands for each
        node, below, stride = key, np.zeros(key.size, np.int64), 1
        some = number
        for fanout in reversed(self.tree.fanouts):
            node, stride = node // np.uint64(fanout), stride * fanout
            rank = np.lexsort((below, node))
            node, below, some = node[rank], below[rank], some[rank]
            fresh = np.append(True, (node[1:] != node[:-1]) | (below[1:] != below[:-1]))
            fresh = fresh[: node.size]
            number[some] = some[fresh][np.cumsum(fresh) - 1]
            node, below, some = node[fresh], below[fresh], some[fresh]
            zero = self.sums.of(node, stride) == 0
            node, below, some = node[zero], below[zero], some[zero]
            below = below * (fanout + 1) + self._possible(node, fanout, stride // fanout)
            below = np.unique(below, return_inverse=True)[1].reshape(-1)
        while (number[number] != number).any():  # who stands for others may be stood for
            number = number[number]
        return np.unique(number, return_inverse=True)

    def _possible(self, node: KeyArray, fanout: int, stride: int) -> IntArray:
        """Children of nodes that overlap the domain, of ``stride`` keys each: int64[n]."""
        if self.grid is None:
            return np.full(node.size, fanout)
        return possible_children(self.grid, node, fanout, stride).astype(np.int64)

    def _reach(self, key: KeyArray) -> Reach:
        """Find what :func:`geodp.accuracy.reach.reach` does of some cells, each a region."""
        tree, n = self.tree, key.size
        strong = float(strength(tree, RegionKeys.of([key[:1]]), self.gaussian)[0])
        node, whole, stride = key, np.ones(n, np.bool_), 1
        part = np.ones((3, n))
        count = np.repeat(self.sums.of(key, 1)[None], 3, axis=0)
        variance, fourth = np.zeros((3, n)), np.zeros((3, n))
        losing, gaining = [], []
        fourths, moved = tree.fourths or (0.0,) * len(tree.variances), np.zeros((2, n))
        drops = tree.drops[::-1] or (None,) * len(tree.fanouts)
        steps = zip(tree.fanouts[::-1], tree.variances[:0:-1], fourths[:0:-1], drops, strict=True)
        for fanout, own, tail, drop in steps:
            step = self._around(node, fanout, stride, strong * np.sqrt(own))
            part[OUTER, step.is_weak], part[INNER, step.is_weak] = 1, 0
            count[OUTER, step.is_weak] = step.here[step.is_weak]
            count[INNER, step.is_weak] = 0
            cut = whole < step.possible
            risky = cut & (step.held > 0)
            losing.append(risky & (step.zero > 0))
            if drop is not None:
                moved += find_moved(*step.list_children(whole, risky), drop, None)
            gaining.append(risky & (step.here == 0))
            added = np.zeros((3, n))
            added[OUTER] = step.weak
            mean = (part + added) / step.possible
            squares = part**2 + added - mean**2 * step.possible
            powers = (part - mean) ** 4 + added * (1 - mean) ** 4
            powers += (step.possible - 1 - added) * mean**4
            variance += np.where(cut, own * squares, 0)
            fourth += np.where(cut, tail * powers, 0)
            count[OUTER] += step.count
            part, count = np.where(cut, mean, 1), np.where(cut, count, step.held)
            node, whole, stride = node // np.uint64(fanout), ~cut, stride * fanout
        nobody = self.sums.is_empty and not bool(whole.all())
        if nobody:
            part[OUTER] = 1
        variance += tree.variances[0] * part**2
        fourth += fourths[0] * part**4
        lost, got = (np.array(some[::-1], np.int64).reshape(-1, n) for some in (losing, gaining))
        return Reach(count, variance, fourth, lost, got, True, nobody, moved)

    def _around(self, node: KeyArray, fanout: int, stride: int, least: float) -> _Around:
        """Return what lies around nodes that cover ``stride`` keys each, under their parents."""
        own, back = np.unique(node, return_inverse=True)
        above, parents = np.unique(own // np.uint64(fanout), return_inverse=True)
        place = parents[back]
        possible = self._possible(above, fanout, stride)
        first, end = int(above[0]) * fanout, (int(above[-1]) + 1) * fanout
        child, held = self.sums.occupied(stride, first, end)
        parent, weak = child // np.uint64(fanout), held < least
        chosen = np.searchsorted(above, parent)
        ours = chosen < above.size
        ours[ours] = above[chosen[ours]] == parent[ours]
        chosen, held, weak = chosen[ours], held[ours], weak[ours]

        def summed(weights: Any) -> FloatArray:
            found: FloatArray = np.bincount(chosen, weights, above.size)[place].astype(np.float64)
            return found

        here = self.sums.of(own, stride)[back]
        is_weak, empty = here < least, possible[place] - summed(None)
        return _Around(
            here,
            self.sums.of(above, stride * fanout)[place],
            possible[place].astype(np.float64),
            is_weak,
            empty + summed(weak) - is_weak,
            summed(held * weak) - here * is_weak,
            empty - (here == 0),
        )


@dataclass(frozen=True, eq=False)
class _Around:
    """Nodes, their parents, and the parents' other children in the domain.

    Attributes
    ----------
    here, held : float64[n]
        Released in the node, and in its parent.
    possible : float64[n]
        Children of the parent that overlap the domain.
    is_weak : bool[n]
        Whether the node may hold nobody.
    weak, count : float64[n]
        How many of the others may hold nobody, and how many people were released there.
    zero : float64[n]
        How many of the others were released as 0.
    """

    here: FloatArray
    held: FloatArray
    possible: FloatArray
    is_weak: NDArray[np.bool_]
    weak: FloatArray
    count: FloatArray
    zero: FloatArray

    def list_children(
        self, whole: NDArray[np.bool_], risky: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return what :func:`geodp.accuracy.dropped.find_moved` goes by, 0 but where ``risky``.

        ``whole``: whether the node lies wholly in its region: the others lie in it in part.
        """
        is_zero = self.here == 0
        sides = np.array([whole, ~whole])
        zero = np.vstack([sides & is_zero, self.zero])
        kept = np.vstack([sides & ~is_zero, self.possible - 1 - self.zero])
        held = np.array([self.held - whole * self.here, self.here])
        return zero * risky, kept * risky, held * risky
