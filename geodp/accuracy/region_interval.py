"""Intervals of sums over regions, given which nodes were released as 0.

If a node is apportioned to its children without negative counts, those that were released as 0 take
no part in it: the others have the errors of a node that has these children alone. So the error of
a region is that of a tree without the nodes that were released as 0, and of three things more:

* nodes that were released as 0 may hide people, the more the larger their noise is;
* children with hardly more people than their noise may be empty. Where more of them lie on one
  side of a region's border, as along a coast, the people whom they received are missing on the
  other;
* few draws of Laplace noise have longer tails than a normal distribution.

:mod:`geodp.accuracy.interval` has the bounds of the worst case, which assume nothing of the map.
How often these intervals hold, and how wide they are, is in docs/measured/uncertainty.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import NodeSums, half_interval, round_out
from geodp.accuracy.reach import RegionKeys
from geodp.accuracy.variance import MAX_CHILDREN, TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.typing import FloatArray

HIDDEN = 0.1
"""Part of the variance of their noise that is added for nodes that were released as 0."""

WEAK = 1.5
"""Standard errors of noise below which the count of a child may be noise alone."""

MOVED = 1.8
"""People whom empty children received for one in those below ``WEAK``: some received more."""


@dataclass(frozen=True, eq=False)
class RegionErrors:
    """Errors of the released sums of n regions.

    Attributes
    ----------
    variance : float64[n]
        Closed form, as if nothing had been released as 0.
    kept, fourth : float64[n]
        Variance and fourth cumulant given the nodes that were released as 0.
    hidden : float64[n]
        Variance that the noise of these nodes would add.
    moved : float64[n]
        People inside the region in children that may be noise alone, less those outside.
    clamped : bool[n]
        Whether the region cuts a node with people that has a child released as 0.
    """

    variance: FloatArray
    kept: FloatArray
    fourth: FloatArray
    hidden: FloatArray
    moved: FloatArray
    clamped: NDArray[np.bool_]

    def interval(self, count: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends of 95 % intervals around released sums: float64[n] each."""
        margin = half_interval(self.kept + HIDDEN * self.hidden, self.fourth)
        # Where nothing was released as 0, few people are no sign of empty children.
        moved = np.where(self.clamped, MOVED * self.moved, 0.0)
        below = round_out(margin + np.maximum(moved, 0.0), count)
        above = round_out(margin + np.maximum(-moved, 0.0), count)
        return np.maximum(count - below, 0.0), count + above


def find_errors(
    tree: TreeVariance, sums: NodeSums, regions: RegionKeys, grid: Grid | None = None
) -> RegionErrors:
    """Find the errors of sums over regions, from the cells up to the root.

    Parameters
    ----------
    tree : TreeVariance
    sums : NodeSums
        Sums of a table without negative counts.
    regions : RegionKeys
        The cells of n regions.
    grid : Grid, optional
        See :meth:`geodp.accuracy.variance.TreeVariance.region`.
    """
    full = grid is None or grid.size == prod(tree.fanouts)
    total = np.zeros((len(_Families.SUMS), regions.first.size))
    # The part of each node that is in the region, of all children and of those with people.
    node, part, stride = regions, np.ones((2, regions.key.size)), 1
    fourths = tree.fourths or (0.0,) * len(tree.variances)
    steps = zip(tree.fanouts[::-1], tree.variances[:0:-1], fourths[:0:-1], strict=True)
    for fanout, level, tails in steps:
        above, _, parent = node.above(fanout)
        parts = np.ones((2, above.key.size))
        # Nothing is apportioned between a node's children if all of them are in the region.
        inside = np.bincount(parent, part.min(axis=0) == 1, above.key.size)
        cut, step = np.flatnonzero(inside < fanout), max(1, MAX_CHILDREN // fanout)
        for start in range(0, cut.size, step):
            nodes = cut[start : start + step]
            first = above.key[nodes, None] * np.uint64(fanout)
            child = np.asarray(first + np.arange(fanout, dtype=np.uint64), np.uint64)
            possible = np.ones(child.shape, np.bool_)
            if not full:
                assert grid is not None
                possible = overlaps(grid, child.reshape(-1), stride).reshape(child.shape)
            count = sums.of(child.reshape(-1), stride).reshape(child.shape)
            shares = _spread(nodes, parent, node.key % np.uint64(fanout), part, child.shape)
            families = _Families(possible, count, shares, sqrt(level))
            parts[:, nodes] = families.means
            for row, each in enumerate(families.add_up(level, tails)):
                total[row] += np.bincount(above.region[nodes], each, total.shape[1])
        node, part, stride = above, parts, stride * fanout
    total[:2] += tree.variances[0] * part**2
    total[2] += fourths[0] * part[1] ** 4
    variance, kept, fourth, hidden, moved, zeros = total
    clamped = (zeros > 0) | sums.is_empty
    return RegionErrors(variance, kept, fourth, hidden, moved, clamped)


def _spread(
    nodes: NDArray[np.intp],
    parent: NDArray[np.intp],
    number: NDArray[np.uint64],
    part: FloatArray,
    shape: tuple[int, ...],
) -> FloatArray:
    """Return the parts of all children of some nodes: float64[2, nodes, children].

    Parameters
    ----------
    nodes : int64[n]
        Increasing.
    parent, number : int64[m], uint64[m]
        Of each child that a region touches, its node, in order, and its number there.
    part : float64[2, m]
    shape : (int, int)
        Nodes and children.
    """
    at = np.searchsorted(nodes, parent)
    some = np.flatnonzero(nodes[np.minimum(at, nodes.size - 1)] == parent)
    shares = np.zeros((2, *shape))
    shares[:, at[some], number[some].astype(np.intp)] = part[:, some]
    return shares


@dataclass(frozen=True, eq=False)
class _Families:
    """Children of n nodes that regions cut.

    Attributes
    ----------
    possible : bool[n, children]
        Children that overlap the domain.
    count : float64[n, children]
        Released counts.
    shares : float64[2, n, children]
        The part of each child that is in the region, of all and of those with people.
    noise : float
        Standard error of a child's measurement.
    """

    possible: NDArray[np.bool_]
    count: FloatArray
    shares: FloatArray
    noise: float

    SUMS: ClassVar = ("variance", "kept", "fourth", "hidden", "moved", "clamped")

    @property
    def means(self) -> FloatArray:
        """The part of each node that is in the region: float64[2, n]."""
        every = _mean(self.shares[0], self.possible, 0.0)
        return np.stack([every, _mean(self.shares[1], self.count > 0, every)])

    def add_up(self, variance: float, fourth: float) -> Iterator[FloatArray]:
        """Yield what the nodes add to each of ``SUMS``: float64[n]; arguments: of a child."""
        every, some = self.means[0][:, None], self.means[1][:, None]
        listed = self.count > 0
        zero = self.possible & ~listed & np.any(listed, axis=1, keepdims=True)
        apart = np.square(self.shares[1] - some)
        weak = listed & (self.count < WEAK * self.noise)
        # What empty children received is missing where there are people beyond doubt.
        firm = _mean(self.shares[1], listed & ~weak, self.means[1])[:, None]
        for each in (
            variance * np.square(self.shares[0] - every) * self.possible,
            variance * apart * listed,
            fourth * apart**2 * listed,
            variance * apart * zero,
            (self.shares[1] - firm) * self.count * weak,
            zero,
        ):
            yield each.sum(axis=1)


def _mean(values: FloatArray, chosen: NDArray[np.bool_], otherwise: Any) -> FloatArray:
    """Return the mean of the chosen values of every row, or another number where there is none."""
    number = chosen.sum(axis=1)
    mean = (values * chosen).sum(axis=1) / np.maximum(number, 1)
    return np.asarray(np.where(number > 0, mean, otherwise), np.float64)
