"""Intervals of sums over regions, given which nodes were released as 0.

If a node is apportioned to its children without negative counts, those that were released as 0 take
no part in it: the others have the errors of a node that has these children alone. So the error of
a region is that of a tree without the nodes that were released as 0, and of three things more:

* nodes that were released as 0 may hide people, the more the larger their noise is;
* children with hardly more people than their noise may be empty. Where more of them lie on one
  side of a region's border, as along a coast, the people whom they received are missing on the
  other;
* few draws of Laplace noise have longer tails than a normal distribution.

Islands and other settlements that stand alone lose more. Where few people were released in a
region, all that its nodes of 0 may hide are its own, as many as their noise; and where few were
released around it, these may be its own, too.

A method with a threshold drops children with fewer people, who are then missing as well.

:mod:`geodp.accuracy.interval` has the bounds of the worst case, which assume nothing of the map.
How often these intervals hold, and how wide they are, is in docs/measured/uncertainty.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import NodeSums, half_interval, round_out
from geodp.accuracy.reach import RegionKeys
from geodp.accuracy.variance import MAX_CHILDREN, Drop, TreeVariance, find_children
from geodp.grid.grid import Grid
from geodp.typing import FloatArray

VERSION = 6
"""Version of the intervals, in cards: increases with every change of intervals in files."""

HIDDEN, FEW = 0.35, 0.25
"""Part of the variance of a child's noise that is added for one that was released as 0, if all of
its siblings were not; otherwise in proportion to these, below a part ``FEW`` to their square."""

ALONE = 6.0
"""Standard errors of a child's noise: where fewer people were released in the nodes of a region, or
around it, it may be a settlement that stands alone."""

WEAK = 1.5
"""Standard errors of noise, above a threshold, below which a child's count may be noise alone."""

MOVED = 2.1
"""People whom empty children received for one in those below ``WEAK``: some received more."""

DROPPED, DROPPED_SQUARE = 0.4, 0.5
"""Mean and mean square of the people in a dropped child, for one that it can hold at most."""


class Children(NamedTuple):
    """The children of the nodes of a level.

    Attributes
    ----------
    variance, fourth : float
        Of a child's estimate.
    weak : float
        People below whom a child may be empty.
    drop : Drop or None
        The rule by which children are dropped.
    """

    variance: float
    fourth: float
    weak: float
    drop: Drop | None

    def dropped(self, listed: Any, possible: Any) -> Any:
        """Return the most people that a dropped child holds, by how many of its node were kept."""
        if self.drop is None:
            return 0.0
        return self.drop.people_at((listed + 1) / (possible + 2))

    def unseen(self, listed: Any, possible: Any) -> Any:
        """Return the variance of the people in a child released as 0, by how many were not."""
        people, part = self.dropped(listed, possible), listed / possible
        hidden = HIDDEN * part * np.minimum(part / FEW, 1)
        return hidden * self.variance + DROPPED_SQUARE * people**2


def list_levels(tree: TreeVariance) -> list[Children]:
    """List the levels of a tree, from the cells up to the children of the root."""
    drops = tree.drops or (None,) * len(tree.fanouts)
    return [
        Children(
            variance,
            fourth,
            WEAK * sqrt(variance) + (0.0 if drop is None else drop.threshold),
            drop,
        )
        for variance, fourth, drop in zip(
            tree.variances[1:], tree.cumulants[1:], drops, strict=True
        )
    ][::-1]


@dataclass(frozen=True, eq=False)
class RegionErrors:
    """Errors of the released sums of n regions.

    Attributes
    ----------
    moments : float64[5, n]
        The variance as if nothing had been released as 0, which is the closed form; variance and
        fourth cumulant given the nodes that were released as 0; the variance of the people in
        these nodes; and people whom the region received from elsewhere (negative: lost).
    clamped : bool[n]
        Whether the region cuts a node with people that has a child released as 0.
    """

    moments: FloatArray
    clamped: NDArray[np.bool_]

    def interval(self, count: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends of 95 % intervals around released sums: float64[n] each."""
        _, kept, fourth, hidden, moved = self.moments
        margin = half_interval(kept + hidden, fourth)
        # Where nothing was released as 0, few people are no sign of empty children.
        moved = np.where(self.clamped, moved, 0.0)
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
    if grid is not None and grid.size == prod(tree.fanouts):
        grid = None
    total = np.zeros((6, regions.first.size))
    settlement = _Settlement.of(regions, sums)
    # The part of each node that is in the region, of all children and of those with people.
    node, part, stride = regions, np.ones((2, regions.key.size)), 1
    for fanout, level in zip(tree.fanouts[::-1], list_levels(tree), strict=True):
        above, _, parent = node.above(fanout)
        parts = np.ones((2, above.key.size))
        # Nothing is apportioned between a node's children if all of them are in the region.
        inside = np.bincount(parent, part.min(axis=0) == 1, above.key.size)
        cut, step = np.flatnonzero(inside < fanout), max(1, MAX_CHILDREN // fanout)
        limit = ALONE * sqrt(level.variance)
        few = settlement.has_few(limit)
        for start in range(0, cut.size, step):
            nodes = cut[start : start + step]
            child, possible = find_children(grid, above.key[nodes], fanout, stride)
            count = sums.of(child.reshape(-1), stride).reshape(child.shape)
            shares = _spread(nodes, parent, node.key % np.uint64(fanout), part, child.shape)
            families = _Families(possible, count, shares)
            parts[:, nodes] = families.means
            for row, each in enumerate(families.add_up(level, few[above.region[nodes]])):
                total[row] += np.bincount(above.region[nodes], each, total.shape[1])
        node, part, stride = above, parts, stride * fanout
        settlement.climb(node, sums, stride, limit)
    total[:2] += tree.variances[0] * part**2
    total[2] += tree.cumulants[0] * part[1] ** 4
    total[4] = np.where(settlement.around > 0, np.minimum(total[4], -settlement.around), total[4])
    return RegionErrors(total[:-1], (total[-1] > 0) | sums.is_empty)


@dataclass
class _Settlement:
    """Who was released around n regions, as long as these are few.

    Attributes
    ----------
    several : bool[n]
        Whether a region has several cells. A cell alone keeps the interval that files have, where
        it is one of all cells, most of which are empty if they were released as 0.
    people : float64[n]
        Released in the nodes that each region touches.
    alone : bool[n]
        Whether few others were released around them on any level so far.
    around : float64[n]
        People who were released around a region that is alone.
    """

    several: NDArray[np.bool_]
    people: FloatArray
    alone: NDArray[np.bool_]
    around: FloatArray

    @classmethod
    def of(cls, regions: RegionKeys, sums: NodeSums) -> _Settlement:
        """Begin with the cells of regions."""
        people = np.add.reduceat(sums.of(regions.key, 1), regions.first)
        several = np.bincount(regions.region) > 1
        return cls(several, people, several, np.zeros(people.size))

    def has_few(self, few: float) -> NDArray[np.bool_]:
        """Return whether fewer people were released in the nodes of each region: bool[n]."""
        return self.several & (self.people < few)

    def climb(self, nodes: RegionKeys, sums: NodeSums, stride: int, few: float) -> None:
        """Go up to nodes of so many cells, around whose children fewer than ``few`` are few."""
        people = np.add.reduceat(sums.of(nodes.key, stride), nodes.first)
        self.alone = self.alone & (people - self.people < few)
        self.around += np.where(self.alone, people - self.people, 0)
        self.people = people


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
    """

    possible: NDArray[np.bool_]
    count: FloatArray
    shares: FloatArray

    @cached_property
    def means(self) -> FloatArray:
        """The part of each node that is in the region: float64[2, n]."""
        every = _mean(self.shares[0], self.possible, 0.0)
        return np.stack([every, _mean(self.shares[1], self.count > 0, every)])

    def add_up(self, level: Children, few: NDArray[np.bool_]) -> Iterator[FloatArray]:
        """Yield what the nodes add to each moment, and children of 0 where cut: float64[n].

        ``few``: whether few people were released in the nodes of a node's region, bool[n].
        """
        every, some = self.means[0][:, None], self.means[1][:, None]
        listed = self.count > 0
        number = listed.sum(axis=1, keepdims=True)
        zero = self.possible & ~listed & (number > 0)
        possible = self.possible.sum(axis=1, keepdims=True)
        apart = self.shares[1] - some
        squares = np.square(apart)
        weak = listed & (self.count < level.weak)
        # What empty children received is missing where there are people beyond doubt.
        firm = _mean(self.shares[1], listed & ~weak, self.means[1])[:, None]
        lost = DROPPED * level.dropped(number, possible)
        received = MOVED * (self.shares[1] - firm) * self.count * weak
        # All people who are hidden in the nodes of a settlement are its own.
        alone = level.variance * (few[:, None] & (self.shares[0] > 0))
        for each in (
            level.variance * np.square(self.shares[0] - every) * self.possible,
            level.variance * squares * listed,
            level.fourth * squares**2 * listed,
            np.maximum(level.unseen(number, possible) * squares, alone) * zero,
            received - lost * apart * zero,
            # A node is not cut where the region has all of its children in the domain.
            zero & (every < 1),
        ):
            yield each.sum(axis=1)


def _mean(values: FloatArray, chosen: NDArray[np.bool_], otherwise: Any) -> FloatArray:
    """Return the mean of the chosen values of every row, or another number where there is none."""
    number = chosen.sum(axis=1)
    mean = (values * chosen).sum(axis=1) / np.maximum(number, 1)
    return np.asarray(np.where(number > 0, mean, otherwise), np.float64)
