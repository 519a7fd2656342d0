"""Intervals of single cells, for many cells at once.

The result of :func:`geodp.accuracy.reach.reach` for a region of one cell follows from the path of
its nodes up to the root: the people in the node, the possible children of its parent, and which of
these were released with few people or none. :mod:`geodp.kernels.cell_paths` climbs these paths. If
there are people around a cell, its error is also bounded by the margin of its class, see
:mod:`geodp.accuracy.margins`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from math import inf, prod
from operator import mul
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.closed_form import Variances, cell_errors
from geodp.accuracy.interval import (
    LAPLACE_Z,
    SKEWED_Z,
    NodeSums,
    Reach,
    Tops,
    Z,
    freeze,
    round_out,
    spread_of,
)
from geodp.accuracy.isolation_depth import FEW, find_depths, node_margins
from geodp.accuracy.margins import CHILDREN, MARGINS, SHARES, Margins, margins_of, span_of
from geodp.accuracy.reach import RegionKeys, strength
from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.tree import edges_of
from geodp.kernels import cell_paths
from geodp.kernels.cell_paths import PLAIN
from geodp.kernels.pyramid.edges import Edges
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

AT_ONCE = 1 << 16
"""Number of cells whose paths are followed together."""


class ErrorModel(Protocol):
    """Properties of a method that intervals need: whether it clamps, and its error model."""

    nonnegative: ClassVar[bool]

    def variances_of(
        self, grid: Grid, event: Any, stride: int, block: KeyArray, /
    ) -> FloatArray | None:
        """Return the variances of blocks of ``stride`` keys: float64[n]."""
        ...

    def tree_variance(self, grid: Grid, event: Any, /) -> TreeVariance | None:
        """Return the closed form of the error of any region."""
        ...

    def isolated_cell(self, grid: Grid, event: Any, /) -> dict[str, float] | None:
        """Return bias and error of an isolated cell."""
        ...

    def clamp_losses(self, grid: Grid, event: Any, /) -> list[tuple[float, float]] | None:
        """Return mean and standard deviation of the people lost to a clamp, for each level."""
        ...


def cell_intervals(
    method: ErrorModel,
    table: ReleasedTable,
    error: float | None,
    tops: Tops | None = None,
    margins: Margins = MARGINS,
) -> ClampedIntervals | PlainIntervals:
    """Return 95 % intervals of the cells of a release, see :meth:`geodp.Release.estimate`.

    Parameters
    ----------
    method : ErrorModel
        Method with a closed form of the error of a cell.
    table : ReleasedTable
    error : float, optional
        Standard error of a cell, if it is the same for all cells.
    tops : Tops, optional
        See :class:`geodp.accuracy.interval.NodeSums`.
    margins : Margins
        Margins of methods that drop nothing. If they are those of public maps and the method has a
        threshold, margins of public maps with a threshold are used.
    """
    grid, event = table.grid, table.event
    if not method.nonnegative:
        return PlainIntervals(table, error, partial(method.variances_of, grid, event))
    tree = method.tree_variance(grid, event)
    assert tree is not None  # methods that clamp and have errors of cells work on a tree
    return ClampedIntervals(
        tree,
        NodeSums(table, tops),
        event.is_normal,
        grid if grid.size < prod(tree.fanouts) else None,
        # Cells released as 0 in one lowest node have the same path, and thus one interval.
        1 if not grid.order.follows_map or not tree.fanouts else tree.fanouts[-1],
        method.isolated_cell(grid, event),
        count_unseen(method.clamp_losses(grid, event), tree.fanouts),
        margins_of(tree.drops) if tree.drops and margins is MARGINS else margins,
    )


def count_unseen(
    losses: list[tuple[float, float]] | None, fanouts: tuple[int, ...]
) -> list[tuple[float, float]] | None:
    """Convert losses of every split to losses for each node that shows one.

    A node shows a loss if an empty child of it was released as 0, since its siblings lost what was
    raised there. Only such nodes can be counted in a release. With more than two children nearly
    every split with an empty child shows its loss, so the losses stay as they are.

    With two children, the empty one is released as 0 in every second split only. In the others it
    receives people from its sibling and looks inhabited: a loss that does not show. So each node
    that shows a loss stands for two, with twice the mean. Their losses need no standard deviation
    of their own, because the margin of the sum contains the noise of both splits, which varies
    more. With e the noise of a split and b its scale: the loss max(e, 0) - b [e < 0] has a variance
    of 1.5 b^2, and e one of 2 b^2.

    Parameters
    ----------
    losses : list of (mean, standard deviation) or None
        Loss of one split on each level, the root's first, whether it shows or not.
    fanouts : tuple of int
        Fan-outs of the same levels.
    """
    if losses is None:
        return None
    return [
        (2 * mean, 0.0) if fanout == 2 else (mean, spread)
        for (mean, spread), fanout in zip(losses, fanouts, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class PlainIntervals:
    """Intervals of counts that may be negative: 2.12 standard errors of Laplace, 1.96 of Gaussian.

    Attributes
    ----------
    table : ReleasedTable
    error : float or None
        Standard error of a cell, if it is the same for all cells.
    variances : callable
        Closed-form variances of cells otherwise.
    """

    table: ReleasedTable
    error: float | None
    variances: Variances

    alike: ClassVar[int] = 1

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        count = self.table.counts_at(key).astype(np.float64)
        factor = Z if self.table.event.is_normal else LAPLACE_Z
        error = cell_errors(self.variances, key) if self.error is None else self.error
        margin = round_out(factor * error, count)
        return count - margin, count + margin

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return the low end, and twice the high end, of cells that are not listed.

        See :meth:`ClampedIntervals.unlisted`.
        """
        margin = (Z if self.table.event.is_normal else LAPLACE_Z) * error
        return -margin, margin, margin


@dataclass(frozen=True, eq=False)
class ClampedIntervals:
    """Intervals of a method that clamps at 0.

    Attributes
    ----------
    tree : TreeVariance
    sums : NodeSums
        Sums of the release.
    gaussian : bool
        Whether the noise is Gaussian; otherwise it is Laplace noise.
    grid : Grid or None
        Grid whose domain excludes children of nodes; None: all keys are cells.
    alike : int
        Size, in keys, of aligned blocks in which all cells released as 0 have one interval.
    isolated, losses
        See :meth:`geodp.accuracy.interval.Reach.interval`.
    margins : Margins
        Bounds of the error of a cell with people around it.
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
        """Return low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        once, back = _sort(key)
        low, high = np.empty(once.size), np.empty(once.size)
        root = (self.tree.variances[0], self.tree.fourths[0] if self.tree.fourths else 0.0)
        for part, paths, states, _ in self.climb_paths(once):
            ends = low[part], high[part]
            cell_paths.find_ends(paths, states, root, self._climb.around, self._rule, *ends)
            self._bound_isolated(once[part], paths, ends)
        return (low, high) if back is None else (low[back], high[back])

    def classes(self, key: KeyArray) -> IntArray:
        """Return the class of cells by the counts released around them: int64[n].

        It is an index into a flat table of :class:`geodp.accuracy.margins.Margins`, by the children
        of its node and the share of the other cells of the domain in the node around it that were
        released as 0; -1: isolated.
        """
        once, back = _sort(key)
        classes = np.empty(once.size, np.int64)
        for part, paths, _, _ in self.climb_paths(once):
            cell_paths.find_classes(paths, self._climb.around, self._rule, classes[part])
        return classes if back is None else classes[back]

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return the low end, and upper bounds of the high end, for cells that are not listed.

        The bounds hold for cells that are not isolated, and for those that are.

        Parameters
        ----------
        error : float
            The largest standard error of a cell.
        """
        levels = np.ones((len(self.tree.fanouts), 1), np.int64)
        worst = Reach(np.zeros((3, 1)), np.full((3, 1), error**2), np.zeros((3, 1)), levels, levels)
        dropped = sum(drop.threshold for drop in self.tree.drops)
        # One node on each level shows a loss: the worst case of a cell of which nothing is listed.
        # People of dropped children come on top.
        far = float(worst.reach_up(self.isolated, self.losses)[0]) + dropped
        finite = self.margins.up[np.isfinite(self.margins.up)]
        near_listed = min(far, float(finite.max()) * error) if finite.size else far
        return 0.0, near_listed, min(far, max(self.margins.isolated_losses, default=far))

    def climb_paths(
        self, key: KeyArray
    ) -> Iterator[tuple[slice, cell_paths.Paths, cell_paths.States, int]]:
        """Climb the paths of cells, chunk by chunk.

        Parameters
        ----------
        key : uint64[n]
            Cells, strictly increasing.

        Yields
        ------
        slice
            Positions of the cells of the chunk.
        paths, states, visited
            See :func:`geodp.kernels.cell_paths.climb`.
        """
        climb = self._climb
        for start in range(0, key.size, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, key.size))
            keys = freeze(key[part])
            full = np.empty(0 if self.grid is None else keys.size, np.int64)
            if full.size:
                at = np.empty(climb.edges.limit.shape[1], np.int64)
                cell_paths.find_full(keys, climb.steps, climb.edges, at, full)
            paths = cell_paths.Paths(
                np.empty(keys.size, np.int64),
                np.empty((3, keys.size)),
                np.empty((2, keys.size), np.uint64),
                np.zeros((2, keys.size if self.tree.drops else 0)),
                np.empty((4, keys.size), np.int64),
            )
            states, visited = cell_paths.climb(keys, *climb, full, paths)
            yield part, paths, states, visited

    def _bound_isolated(
        self, key: KeyArray, paths: cell_paths.Paths, ends: tuple[FloatArray, FloatArray]
    ) -> None:
        """Set the ends of isolated cells, changed in place, by the levels that bound their errors.

        The low ends allow for the error of the node that holds hardly anybody else, which is the
        cell's as well; high ends are bounded by the largest losses in simulated releases.
        """
        kind = np.empty(key.size, np.int64)
        cell_paths.find_classes(paths, self._climb.around, self._rule, kind)
        # An infinite margin marks a class without measured errors.
        isolated = np.flatnonzero(np.isinf(self._rule.up[kind]))
        depth = find_depths(self.tree, self.sums, key[isolated])
        count, (low, high) = paths.people[PLAIN, isolated], ends
        out, into = paths.moved[:, isolated] if self.tree.drops else np.zeros((2, 1))
        margin = round_out(self._node_margins[depth], count) + into
        low[isolated] = np.maximum(np.minimum(low[isolated], count - margin), 0.0)
        losses = np.array(self.margins.isolated_losses)
        if losses.size:
            lost = losses[np.minimum(depth, losses.size - 1)] + out
            high[isolated] = np.minimum(high[isolated], count + round_out(lost, count))

    @cached_property
    def _node_margins(self) -> FloatArray:
        """Half the intervals of nodes, from the cells up: float64[h + 1]."""
        return node_margins(self.tree)

    @cached_property
    def _climb(self) -> _Climb:
        """Arguments that all climbs of paths of this release share."""
        tree, h = self.tree, len(self.tree.fanouts)
        strides = tuple(accumulate(tree.fanouts[::-1], mul, initial=1))
        shifts = [stride.bit_length() - 1 for stride in strides]
        first = RegionKeys.of([np.zeros(1, np.uint64)])  # any cell has as many nodes above it
        variances = np.array(tree.variances[::-1])
        drops = [[drop.threshold, drop.scale] for drop in tree.drops[::-1]]
        steps = cell_paths.PathSteps(
            np.array(tree.fanouts[::-1], np.int64),
            np.array(strides, np.int64),
            np.array(shifts if [1 << one for one in shifts] == [*strides] else [], np.int64),
            variances,
            np.array(tree.fourths[::-1] or [0.0] * (h + 1)),
            float(strength(tree, first, self.gaussian)[0]) * np.sqrt(variances[:h]),
            np.array(drops).reshape(-1, 2),
            bool(drops),
        )
        span = span_of(tree.fanouts)
        edges = cells = NO_EDGES
        if self.grid is not None:
            edges = edges_of(self.grid, strides[::-1])
            cells = edges_of(self.grid, (span, 1)) if h else edges
        company = float(FEW * np.sqrt(tree.variances[-1]))
        around = cell_paths.Around(strides.index(span), span, company, cells)
        return _Climb(steps, *self.sums.layers(), edges, around)

    @cached_property
    def _rule(self) -> cell_paths.IntervalRule:
        """The rule that derives ends from the counts around a cell."""
        cell = self.isolated
        isolated = [] if cell is None else [cell["bias"], spread_of(cell)]
        down, up = (
            np.append(side.reshape(-1), inf) for side in (self.margins.down, self.margins.up)
        )
        return cell_paths.IntervalRule(
            np.array([Z, LAPLACE_Z, SKEWED_Z]),
            np.array(isolated, np.float64),
            np.array(self.losses or [], np.float64).reshape(-1, 2),
            down,
            up,
            np.array(SHARES),
            np.array(CHILDREN, np.int64),
            self.sums.is_empty,
        )


class _Climb(NamedTuple):
    """Arguments that all climbs of a release share: see :func:`geodp.kernels.cell_paths.climb`."""

    steps: cell_paths.PathSteps
    near: cell_paths.PathLayer
    far: cell_paths.PathLayer
    edges: Edges
    around: cell_paths.Around


NOTHING = np.empty((0, 0), np.int64)
NO_EDGES = Edges(NOTHING, NOTHING, NOTHING, NOTHING, np.empty((0, 2), np.uint64), NOTHING)
"""Edges of a tree all of whose keys are cells."""


def _sort(key: KeyArray) -> tuple[KeyArray, NDArray[np.intp] | None]:
    """Return sorted unique keys and the position of each; None if they were sorted and unique."""
    if (key[1:] > key[:-1]).all():
        return key, None
    return np.unique(key, return_inverse=True)
