"""Sums around regions that bound their true sums from above and from below.

All regions are followed together from their cells up to the root, level by level, so that many
regions cost little more than the work on their nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import INNER, OUTER, NodeSums, Reach, half_interval
from geodp.accuracy.variance import INSIDE, MAX_CHILDREN, TreeVariance, find_children, find_moved
from geodp.grid.grid import Grid
from geodp.typing import FloatArray, IntArray

FEW = 3.0
"""Standard deviations of one child: fewer people in all the others may be noise alone."""

RISK = 0.1
"""Risk of taking an empty child for one with people, among all children around a region."""


@dataclass(frozen=True, eq=False)
class RegionKeys:
    """Cells of regions, one region after the other; no region is empty.

    Attributes
    ----------
    key : uint64[m]
        Cells, strictly increasing within each region.
    region : int64[m]
        Number of each cell's region, from 0 on without gaps.
    """

    key: NDArray[np.uint64]
    region: IntArray

    @classmethod
    def of(cls, keys: Sequence[NDArray[np.uint64]]) -> RegionKeys:
        """Create the keys from the cells of each region."""
        sizes = [key.size for key in keys]
        return cls(np.concatenate(keys), np.repeat(np.arange(len(keys)), sizes))

    @property
    def first(self) -> IntArray:
        """Position of each region's first cell: int64[n]."""
        return np.flatnonzero(np.diff(self.region, prepend=-1))

    def above(self, fanout: int) -> tuple[RegionKeys, NDArray[np.intp], NDArray[np.intp]]:
        """Return parents of nodes, the first node of each, and the number of each node's parent."""
        above = self.key // np.uint64(fanout)
        is_first = np.append(True, above[1:] != above[:-1])
        is_first[1:] |= self.region[1:] != self.region[:-1]
        first = np.flatnonzero(is_first)
        return RegionKeys(above[first], self.region[first]), first, np.cumsum(is_first) - 1


def strength(tree: TreeVariance, regions: RegionKeys, gaussian: bool) -> FloatArray:
    """Return the number of standard deviations that noise alone reaches in no child
    around a region.

    Parameters
    ----------
    tree, regions
        See :func:`reach`.
    gaussian : bool
        Whether the noise is Gaussian; otherwise it is Laplace noise, which has longer tails.

    Returns
    -------
    float64[n]
        One number for each region.
    """
    node = regions
    children = np.ones(regions.first.size)
    for fanout in reversed(tree.fanouts):
        node = node.above(fanout)[0]
        children += fanout * np.bincount(node.region, minlength=children.size)
    chance = RISK / children
    if gaussian:
        return np.array([NormalDist().inv_cdf(1 - one) for one in chance.tolist()])
    return np.asarray(np.log(0.5 / chance) / sqrt(2), np.float64)


def reach(
    tree: TreeVariance,
    sums: NodeSums,
    regions: RegionKeys,
    strong: FloatArray,
    grid: Grid | None = None,
) -> Reach:
    """Return sums over regions, their outer and their inner approximations.

    Parameters
    ----------
    tree : TreeVariance
    sums : NodeSums
        Sums of a table without negative counts.
    regions : RegionKeys
        The cells of n regions.
    strong : float64[n]
        A node with fewer people than this number of standard deviations of its
        measurement may be empty.
    grid : Grid, optional
        See :meth:`geodp.accuracy.variance.TreeVariance.region`.
    """
    if grid is not None and grid.size == prod(tree.fanouts):
        grid = None
    n = regions.first.size
    node, covered = regions, np.ones(regions.key.size, np.bool_)
    part = np.ones((3, regions.key.size))
    here = sums.of(regions.key, 1)
    count = np.repeat(here[None], 3, axis=0)
    variance, fourth, stride = np.zeros((3, n)), np.zeros((3, n)), 1
    losing, gaining, is_path = [], [], np.ones(n, np.bool_)
    isolation = _Isolation.of(regions, here)
    fourths, moved = tree.cumulants, np.zeros((2, n))
    drops = tree.drops[::-1] or (None,) * len(tree.fanouts)
    steps = zip(tree.fanouts[::-1], tree.variances[:0:-1], fourths[:0:-1], drops, strict=True)
    for fanout, level_variance, level_fourth, drop in steps:
        weak = here < strong[node.region] * sqrt(level_variance)
        # Weak nodes that the region touches belong to the outer approximation entirely, and to the
        # inner one not at all.
        part[OUTER, weak], count[OUTER, weak] = 1, here[weak]
        part[INNER, weak], count[INNER, weak] = 0, 0
        above, first, inverse = node.above(fanout)
        threshold = strong[above.region] * sqrt(level_variance)
        around = _around(above.key, node.key, inverse, (fanout, stride), grid, sums, threshold)
        held, possible = sums.of(above.key, stride * fanout), around.possible
        cut = np.add.reduceat(covered.astype(np.int64), first) < possible
        risky = cut & (held > 0)
        touched, each = np.diff(np.append(first, node.key.size)), above.first
        is_path &= np.logical_and.reduceat(~cut | (touched == 1), each)
        isolation.climb(above, held, level_variance)
        losing.append(np.add.reduceat((risky & (around.zero > 0)).astype(np.int64), each))
        lost = risky & np.logical_or.reduceat(here == 0, first)
        gaining.append(np.add.reduceat(lost.astype(np.int64), each))
        # A threshold moves people between siblings, which the clamp's bounds do not include.
        if drop is not None:
            zero, retained, other = _list_children(here, covered, first, around, held)
            moved += find_moved(zero * risky, retained * risky, other * risky, drop, each)
        # The outer approximation takes in all weak children that the region does not touch.
        added = np.array([[0], [1], [0]]) * around.weak
        total = np.add.reduceat(part, first, axis=1) + added
        squares = np.add.reduceat(part**2, first, axis=1) + added
        mean = total / possible
        # Fourth cumulants add up with the fourth powers of the weights' deviations.
        apart = np.square(part - mean[:, inverse])
        powers = np.add.reduceat(np.square(apart, out=apart), first, axis=1)
        outside = possible - touched - added
        powers += added * (1 - mean) ** 4 + outside * mean**4
        sum_ = np.add.reduceat(count, first, axis=1)
        sum_[OUTER] += around.count
        variance += level_variance * np.add.reduceat((squares - total * mean) * cut, each, axis=1)
        fourth += level_fourth * np.add.reduceat(powers * cut, each, axis=1)
        stride *= fanout
        part = np.where(cut, mean, 1)
        count = np.where(cut, sum_, held)
        node, covered, here = above, ~cut, held
    # If all was released as 0, the loss may have happened at the root, which no cut node shows.
    empty = ~covered if sums.is_empty else np.zeros(n, np.bool_)
    part[OUTER, empty] = 1
    variance += tree.variances[0] * part**2
    fourth += fourths[0] * part**4
    losses, gains = (np.array(levels[::-1]).reshape(-1, n) for levels in (losing, gaining))
    return Reach(count, variance, fourth, losses, gains, is_path, empty, moved, isolation.levels)


@dataclass
class _Isolation:
    """Levels on which regions are isolated, counted from the cells up.

    Attributes
    ----------
    inside : float64[n]
        People released in the nodes that each region touches.
    isolated : bool[n]
        Whether hardly anybody else was released on any level so far.
    depth, nodes : int64[n]
        As ``isolated`` of :class:`geodp.accuracy.interval.Reach`.
    """

    inside: FloatArray
    isolated: NDArray[np.bool_]
    depth: IntArray
    nodes: IntArray

    @classmethod
    def of(cls, regions: RegionKeys, people: FloatArray) -> _Isolation:
        """Begin with the cells of regions and their people."""
        inside = np.add.reduceat(people, regions.first)
        return cls(inside, inside > 0, np.zeros(inside.size, np.int64), _count(regions))

    def climb(self, nodes: RegionKeys, people: FloatArray, variance: float) -> None:
        """Go up to the parents, whose children are measured with this variance."""
        inside = np.add.reduceat(people, nodes.first)
        self.isolated = self.isolated & (inside - self.inside < FEW * sqrt(variance))
        self.depth = self.depth + self.isolated
        self.nodes = np.where(self.isolated, _count(nodes), self.nodes)
        self.inside = inside

    @property
    def levels(self) -> tuple[IntArray, IntArray]:
        """Depth and nodes of every region."""
        return self.depth, self.nodes


def _count(regions: RegionKeys) -> IntArray:
    """Count the nodes of each region: int64[n]."""
    return np.diff(np.append(regions.first, regions.key.size))


def _list_children(
    here: FloatArray,
    covered: NDArray[np.bool_],
    first: NDArray[np.intp],
    around: _Untouched,
    held: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the arguments of :func:`geodp.accuracy.variance.find_moved`.

    Parameters
    ----------
    here : float64[m]
        People released in the children that a region touches.
    covered : bool[m]
        Whether the region contains the child entirely.
    first : int64[n]
        Position of every node's first such child.
    around : _Around
    held : float64[n]
        People released in every node.
    """
    zero, sides = (here == 0).astype(np.float64), np.array([covered, ~covered]).astype(np.float64)
    none, some, people = (
        np.add.reduceat(sides * part, first, axis=1) for part in (zero, 1 - zero, here)
    )
    outside = around.possible - np.diff(np.append(first, here.size)) - around.zero
    other = np.array([held - people[INSIDE], people.sum(axis=0)])
    return np.vstack([none, around.zero]), np.vstack([some, outside]), other


@dataclass(frozen=True, eq=False)
class _Untouched:
    """Children of nodes that a region does not touch.

    Attributes
    ----------
    possible : float64[n]
        Number of children that overlap the domain, touched or not.
    weak, count : float64[n]
        Number of untouched children that may be empty, and the people released there.
    zero : float64[n]
        Number of untouched children released as 0.
    """

    possible: FloatArray
    weak: FloatArray
    count: FloatArray
    zero: FloatArray


def _around(
    above: NDArray[np.uint64],
    node: NDArray[np.uint64],
    parent: NDArray[np.intp],
    size: tuple[int, int],
    grid: Grid | None,
    sums: NodeSums,
    threshold: FloatArray,
) -> _Untouched:
    """Describe the children of nodes; ``size``: the fan-out, and the number of keys of a child."""
    (fanout, stride), n = size, above.size
    untouched = _Untouched(np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    step = max(1, MAX_CHILDREN // fanout)
    for start in range(0, above.size, step):
        some = slice(start, min(start + step, above.size))
        child, inside = find_children(grid, above[some], fanout, stride)
        untouched.possible[some] = inside.sum(axis=1)
        touched = slice(*np.searchsorted(parent, [some.start, some.stop]).tolist())
        inside[parent[touched] - start, (node[touched] % np.uint64(fanout)).astype(np.intp)] = False
        held = sums.of(child.reshape(-1), stride).reshape(child.shape)
        weak = inside & (held < threshold[some, None])
        untouched.weak[some] = weak.sum(axis=1)
        untouched.count[some] = (held * weak).sum(axis=1)
        untouched.zero[some] = (inside & (held == 0)).sum(axis=1)
    return untouched


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


def node_margins(tree: TreeVariance) -> NDArray[np.float64]:
    """Compute half of a node's 95 % interval without a clamp, from the cells up: float64[levels].

    If all around a cell is released as 0 up to some node, the cell is given all that is estimated
    of this node, with its error.
    """
    fourths, margins = tree.cumulants, []
    for start in range(len(tree.fanouts), -1, -1):
        part, variance, fourth = 1.0, 0.0, 0.0
        for i in range(start, 0, -1):
            b = tree.fanouts[i - 1]
            mean = part / b
            variance += tree.variances[i] * (part**2 - b * mean**2)
            fourth += fourths[i] * ((part - mean) ** 4 + (b - 1) * mean**4)
            part = mean
        variance += tree.variances[0] * part**2
        margins.append(half_interval(variance, fourth + fourths[0] * part**4))
    return np.array(margins)
