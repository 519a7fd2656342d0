"""Intervals of single cells, of many at once.

What :func:`geodp.interval.reach` finds for a region of one cell follows from the path of its nodes
up to the root: what the node itself holds, how many children its parent can have, and which of
these were released with few people or none. Cells that were released as 0 under the same node are
alike, so that one of them tells of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.areas import cell_errors
from geodp.grid import Grid
from geodp.interval import CORE, HULL, LAPLACE_Z, NodeSums, Reach, Tops, Z, strength
from geodp.mechanisms import Mechanism
from geodp.table import ReleasedTable
from geodp.variance import TreeVariance, possible_children

Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]

AT_ONCE = 1 << 18
"""Cells whose paths are followed together."""


def cell_ends(
    method: Mechanism, table: ReleasedTable, tops: Tops | None = None
) -> Callable[[Keys], tuple[Floats, Floats]]:
    """A function that gives the ends of 95 % intervals of cells, as `Release.estimate` does.

    Where no count is clamped they are 2.12 standard errors of Laplace noise away from the count,
    or 1.96 of Gaussian noise; see :class:`CellIntervals` for methods that clamp.

    Parameters
    ----------
    method : Mechanism
        With a closed form of the error of a cell.
    table : ReleasedTable
    tops : (int, uint64[k], int64[k]), optional
        As for :class:`geodp.interval.NodeSums`.

    Returns
    -------
    callable
        From keys of cells of the domain (uint64[n]) to low and high ends (float64[n] each).
    """
    grid, event = table.grid, table.event
    if not method.nonnegative:
        return partial(_around_counts, method, table)
    tree = method.tree_variance(grid, event)
    assert tree is not None  # whoever clamps and has errors of cells works on a tree
    return CellIntervals(
        tree,
        NodeSums(table, tops),
        event.rho is not None,
        grid if grid.size < prod(tree.fanouts) else None,
        method.isolated_cell(grid, event),
        method.clamp_losses(grid, event),
    ).of


def _around_counts(method: Mechanism, table: ReleasedTable, key: Keys) -> tuple[Floats, Floats]:
    """Intervals around counts that may be negative."""
    count = np.zeros(key.size)
    listed = np.isin(key, table.key)
    count[listed] = table.count[np.searchsorted(table.key, key[listed])]
    factor = LAPLACE_Z if table.event.rho is None else Z
    margin = factor * cell_errors(partial(method.variances_of, table.grid, table.event), key)
    return count - margin, count + margin


@dataclass(frozen=True, eq=False)
class CellIntervals:
    """95 % intervals of the cells of a release whose method clamps at 0.

    Attributes
    ----------
    tree : TreeVariance
    sums : NodeSums
        Of the release.
    gaussian : bool
        The noise's law; otherwise Laplace.
    grid : Grid or None
        Whose domain leaves nodes with fewer children; None: all keys are cells.
    alone, losses
        As for :meth:`geodp.interval.Reach.interval`.
    """

    tree: TreeVariance
    sums: NodeSums
    gaussian: bool
    grid: Grid | None
    alone: dict[str, float] | None
    losses: list[tuple[float, float]] | None

    def of(self, key: Keys) -> tuple[Floats, Floats]:
        """Low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        zero = self.sums.of(key, 1) == 0
        parent = key[zero] // np.uint64(self.tree.fanouts[-1] if self.tree.fanouts else 1)
        _, first, alike = np.unique(parent, return_index=True, return_inverse=True)
        chosen = np.concatenate([key[~zero], key[zero][first]])
        ends = np.empty((2, chosen.size))
        for start in range(0, chosen.size, AT_ONCE):
            part = slice(start, start + AT_ONCE)
            ends[:, part] = self._reach(chosen[part]).interval(self.alone, self.losses)
        found = np.empty((2, key.size))
        own = key.size - parent.size
        found[:, ~zero], found[:, zero] = ends[:, :own], ends[:, own:][:, alike]
        return found[0], found[1]

    def _reach(self, key: Keys) -> Reach:
        """What :func:`geodp.interval.reach` finds for each of some cells as a region."""
        tree, n = self.tree, key.size
        strong = strength(tree, key[:1], self.gaussian)
        node, whole, stride = key, np.ones(n, np.bool_), 1
        part = np.ones((3, n))
        count = np.repeat(self.sums.of(key, 1)[None], 3, axis=0)
        variance, fourth = np.zeros((3, n)), np.zeros((3, n))
        losing, gaining = [], []
        fourths = tree.fourths or (0.0,) * len(tree.variances)
        steps = zip(tree.fanouts[::-1], tree.variances[:0:-1], fourths[:0:-1], strict=True)
        for fanout, own, tail in steps:
            step = self._around(node, fanout, stride, strong * np.sqrt(own))
            part[HULL, step.is_weak], part[CORE, step.is_weak] = 1, 0
            count[HULL, step.is_weak] = step.here[step.is_weak]
            count[CORE, step.is_weak] = 0
            cut = whole < step.possible
            risky = cut & (step.held > 0)
            losing.append(risky & step.is_empty)
            gaining.append(risky & (step.here == 0))
            added = np.zeros((3, n))
            added[HULL] = step.weak
            mean = (part + added) / step.possible
            squares = part**2 + added - mean**2 * step.possible
            powers = (part - mean) ** 4 + added * (1 - mean) ** 4
            powers += (step.possible - 1 - added) * mean**4
            variance += np.where(cut, own * squares, 0)
            fourth += np.where(cut, tail * powers, 0)
            count[HULL] += step.count
            part, count = np.where(cut, mean, 1), np.where(cut, count, step.held)
            node, whole, stride = node // np.uint64(fanout), ~cut, stride * fanout
        nobody = self.sums.is_empty and not bool(whole.all())
        if nobody:
            part[HULL] = 1
        variance += tree.variances[0] * part**2
        fourth += fourths[0] * part**4
        lost, got = (np.array(some[::-1], np.int64).reshape(-1, n) for some in (losing, gaining))
        return Reach(count, variance, fourth, lost, got, True, nobody)

    def _around(self, node: Keys, fanout: int, stride: int, least: float) -> _Around:
        """What lies around nodes that cover ``stride`` keys each, under their parents."""
        above, place = np.unique(node // np.uint64(fanout), return_inverse=True)
        possible = np.full(above.size, float(fanout))
        if self.grid is not None:
            possible = possible_children(self.grid, above, fanout, stride)
        child, held = self.sums.occupied(stride)
        parent, weak = child // np.uint64(fanout), held < least
        chosen = np.searchsorted(above, parent)
        ours = chosen < above.size
        ours[ours] = above[chosen[ours]] == parent[ours]
        chosen, held, weak = chosen[ours], held[ours], weak[ours]

        def summed(weights: Any) -> Floats:
            found: Floats = np.bincount(chosen, weights, above.size)[place].astype(np.float64)
            return found

        here = self.sums.of(node, stride)
        is_weak, empty = here < least, possible[place] - summed(None)
        return _Around(
            here,
            self.sums.of(above, stride * fanout)[place],
            possible[place],
            is_weak,
            empty + summed(weak) - is_weak,
            summed(held * weak) - here * is_weak,
            empty > (here == 0),
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
    is_empty : bool[n]
        Whether one of the others was released as 0.
    """

    here: Floats
    held: Floats
    possible: Floats
    is_weak: NDArray[np.bool_]
    weak: Floats
    count: Floats
    is_empty: NDArray[np.bool_]
