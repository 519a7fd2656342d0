"""How far parts of a map's counts are off: by the map, by their noise, and by how places differ.

Parts of areas are measured down to some level; below it every cell has the shares of its area. So
the error of a sum of parts over some cells has three sources. The map's count of the cells is off,
and the parts with it. The parts of measured areas have noise; an area's error is shared out by
people among the areas inside. And areas differ from their surroundings: of t people, of whom the
area above has the share s in some parts, ``D = mu (1 + 0.7 sqrt(mu))`` is the expected square of
what is held more or less than ``s t``, with ``mu = t s (1 - s)``. The constants are those of public
tables (``python -m bench parts``). Where a level is measured with the variance V, what is left is
``V D / (V + D)``.

With f(v) the part of a node's people that live in the region, the variance is

    f(root)**2 V(root) + sum over nodes c below the root of (f(c) - f(parent of c))**2 tau(c),

as the error of a child is its own, less what its siblings and it are given together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import SKEWED_Z, round_out
from geodp.grid.joint import Joint
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

VERSION = 1
"""Of the constants, which cards state: counts up with every change of intervals in files."""

DIFFERENCE = 0.7
"""How much places differ: see above."""

BELOW, ABOVE = 2.12, SKEWED_Z
"""Half of a 95 % interval, in standard errors: small parts have more above their count."""

COIN = 0.25
"""Variance at most of what is rounded to a whole number."""


@dataclass(frozen=True, eq=False)
class StepNoise:
    """Noise of what one step of a method measures: groups of parts, or the parts in each group.

    Attributes
    ----------
    inside : int
        Parts that one measured count holds.
    together : int
        Counts that are shared out together, in each group; the last group may have fewer.
    variance : float64[groups, levels]
        Of a count; infinite where nothing is measured.
    """

    inside: int
    together: int
    variance: FloatArray = field(repr=False)

    def of(self, part: IntArray, parts: int) -> FloatArray:
        """Return variances of some of all parts together, and of what is shared out with them.

        Returns
        -------
        float64[2, levels]
            0 where the parts are all that is shared out.
        """
        sizes = np.bincount(np.arange(parts) // self.inside)
        unit, held = np.unique(part // self.inside, return_counts=True)
        whole = held == sizes[unit]
        found = np.zeros((2, self.variance.shape[1]))
        for group in np.unique(unit // self.together):
            own = unit // self.together == group
            n, of = int(own.sum()), min(self.together, sizes.size - group * self.together)
            if n < of or not whole[own].all():
                found += self.variance[group] * np.array([[n], [max(of - n, 1)]])
        return found


@dataclass(frozen=True, eq=False)
class MarginalNoise:
    """Noise of sums of parts that were measured by themselves.

    Attributes
    ----------
    label : int64[parts]
        Of every part.
    variance : float64[levels]
        Of a count; infinite where nothing is measured.
    """

    label: IntArray = field(repr=False)
    variance: FloatArray = field(repr=False)

    def of(self, part: IntArray) -> FloatArray | None:
        """Return the same as a step; None of parts that are not all of their labels'."""
        sizes = np.bincount(self.label)
        held = np.bincount(self.label[part], minlength=sizes.size)
        n = int((held == sizes).sum())
        if n == sizes.size or (held % sizes).any():
            return None
        return np.asarray(self.variance * np.array([[n], [sizes.size - n]]), np.float64)


@dataclass(frozen=True, eq=False)
class MapTree:
    """Nodes of a released map with somebody in them, level by level, the root's first.

    Attributes
    ----------
    strides : tuple of int
        Keys that a node of each level covers; the last is 1.
    node : list of uint64[n]
        Strictly increasing.
    count : list of float64[n]
    parent : list of int64[n]
        Place of a node's parent on the level above; of the root's 0.
    """

    strides: tuple[int, ...]
    node: list[KeyArray] = field(repr=False)
    count: list[FloatArray] = field(repr=False)
    parent: list[IntArray] = field(repr=False)

    @classmethod
    def of(cls, table: ReleasedTable, strides: tuple[int, ...]) -> Self:
        """Take the cells of a map, and levels."""
        node, count = [table.key], [table.count.astype(np.float64)]
        parent: list[IntArray] = []
        for stride, below in zip(strides[-2::-1], strides[:0:-1], strict=True):
            own = node[0] // np.uint64(stride // below)
            above, place = np.unique(own, return_inverse=True)
            count.insert(0, _add_up(place, count[0], above.size))
            node.insert(0, above)
            parent.insert(0, place)
        return cls(strides, node, count, [np.zeros(node[0].size, np.int64), *parent])

    def add_up(self, held: FloatArray) -> list[FloatArray]:
        """Return sums over the nodes of all levels of what their cells hold: float64[n] each."""
        found = [held]
        for i in range(len(self.node) - 1, 0, -1):
            found.insert(0, _add_up(self.parent[i], found[0], self.node[i - 1].size))
        return found

    def find(self, key: KeyArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return places of cells among those with somebody, and which of them are there."""
        at = np.searchsorted(self.node[-1], key)
        at = np.minimum(at, max(self.node[-1].size - 1, 0))
        return at, (self.node[-1][at] == key) if self.node[-1].size else np.zeros(at.size, bool)


@dataclass(frozen=True, eq=False)
class Split:
    """A release as a map and its parts.

    Attributes
    ----------
    joint : Joint
    map : ReleasedTable
    tree : MapTree
        Whose nodes' parts are measured, on its first levels.
    steps : tuple of StepNoise
    marginals : tuple of MarginalNoise
    """

    joint: Joint
    map: ReleasedTable
    tree: MapTree
    steps: tuple[StepNoise, ...]
    marginals: tuple[MarginalNoise, ...] = ()

    def add_up(self, part: IntArray, count: FloatArray) -> Sum:
        """Return sums of some parts, of whom ``count`` live in the map's cells: float64[n]."""
        noise = np.zeros((2, len(self.tree.strides)))
        for step in self.steps:
            noise += step.of(part, self.joint.parts)
        for marginal in self.marginals:
            if (other := marginal.of(part)) is not None:
                noise = pool(noise, other)
        return Sum(self.tree, self.tree.add_up(count), noise)


@dataclass(frozen=True, eq=False)
class PartEstimates:
    """What is known of some parts together, where they live.

    Attributes
    ----------
    share : float64[n]
        Of the people of the cell, by the smallest area that is known better than its cells.
    doubt : float64[n]
        Standard error of that.
    variance : float64[n]
        Of the parts' sum in the cell, where the map's counts are right.
    """

    share: FloatArray
    doubt: FloatArray
    variance: FloatArray


@dataclass(frozen=True, eq=False)
class Sum:
    """Sums of the same parts over the nodes of a map, as released.

    Attributes
    ----------
    tree : MapTree
    held : list of float64[n]
        By level, the root's first.
    noise : float64[2, levels]
        Variance of what was measured of these parts together, and of the others; infinite below
        the measured levels.
    """

    tree: MapTree
    held: list[FloatArray] = field(repr=False)
    noise: FloatArray

    @property
    def last(self) -> int:
        """The level whose shares are looked at: the last measured one, but for cells."""
        return max(0, min(int(np.isfinite(self.noise[0]).sum()), len(self.held) - 1) - 1)

    @cached_property
    def left(self) -> list[FloatArray]:
        """Variances that are left of nodes' own counts, by level: float64[n] each."""
        found = []
        for i, (own, rest) in enumerate(self.noise.T):
            people, parent = self.tree.count[i], self.tree.parent[i]
            above = max(i - 1, 0)
            share = (self.held[above] / self.tree.count[above])[parent]
            differ = difference(people, share)
            if not np.isfinite(own):
                found.append(differ + np.minimum(people * share, COIN))
                continue
            others = spread(people * np.clip(1 - share, 0.0, 1.0))
            if i:
                own = own * differ / (own + differ)
                rest = rest * others / (rest + others)
            left = (1 - share) ** 2 * own + share**2 * rest
            found.append(left + np.minimum(people * share, COIN))
        return found

    @cached_property
    def known(self) -> list[PartEstimates]:
        """What is known of nodes, by level."""
        root = self.held[0] / self.tree.count[0]
        variance = self.left[0]
        found = [PartEstimates(root, np.sqrt(variance) / self.tree.count[0], variance)]
        for i in range(1, len(self.held)):
            people, parent = self.tree.count[i], self.tree.parent[i]
            part = people / self.tree.count[i - 1][parent]
            left = self.left[i]
            beside = np.bincount(parent, left)[parent] - left
            variance = part**2 * (variance[parent] + beside) + (1 - part) ** 2 * left
            share, doubt = found[-1].share[parent], found[-1].doubt[parent]
            if i <= self.last:
                share, doubt = self.held[i] / people, np.sqrt(variance) / people
            found.append(PartEstimates(share, doubt, variance))
        return found

    def of_cells(self, key: KeyArray) -> PartEstimates:
        """Return what is known of cells: of those without anybody, by the area around them."""
        found = PartEstimates(*(np.zeros(key.size) for _ in range(3)))
        missing = np.ones(key.size, np.bool_)
        for i in range(len(self.held) - 1, -1, -1):
            node, some = self.tree.node[i], np.flatnonzero(missing)
            if not node.size or not some.size:
                break
            own = key[some] // np.uint64(self.tree.strides[i])
            at = np.minimum(np.searchsorted(node, own), node.size - 1)
            here = node[at] == own
            at, some = at[here], some[here]
            found.share[some], found.doubt[some] = self.known[i].share[at], self.known[i].doubt[at]
            if i == len(self.held) - 1:
                found.variance[some] = self.known[i].variance[at]
            missing[some] = False
        return found

    def of_region(self, key: KeyArray) -> PartEstimates:
        """Return what is known of cells together: float64[1] each."""
        cells = self.of_cells(key)
        at, some = self.tree.find(key)
        inside = np.zeros(self.tree.node[-1].size)
        inside[at[some]] = 1.0
        people = self.tree.add_up(inside * self.tree.count[-1])
        if not some.any():
            share, doubt = (float(each.max(initial=0.0)) for each in (cells.share, cells.doubt))
            return PartEstimates(np.array([share]), np.array([doubt]), np.zeros(1))
        weight = self.tree.count[-1][at[some]] / people[0].sum()
        share, doubt = (float(weight @ each[some]) for each in (cells.share, cells.doubt))
        of = [own / count for own, count in zip(people, self.tree.count, strict=True)]
        variance = float(of[0] ** 2 @ self.left[0])
        for i in range(1, len(of)):
            apart = of[i] - of[i - 1][self.tree.parent[i]]
            variance += float(apart**2 @ self.left[i])
        return PartEstimates(np.array([share]), np.array([doubt]), np.array([variance]))


def pool(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return variances of means of two estimates by the inverse of theirs; some are infinite."""
    both = np.isfinite(one) & np.isfinite(other)
    found = np.minimum(one, other)
    found[both] = one[both] * other[both] / (one[both] + other[both])
    return found


def _add_up(place: IntArray, held: FloatArray, n: int) -> FloatArray:
    return np.bincount(place, held, n).astype(np.float64)


def difference(people: Any, share: Any) -> Any:
    """Return the expected square of how many more or less than a share of people are in parts."""
    return spread(people * np.clip(share * (1 - share), 0.0, 0.25))


def spread(mean: Any) -> Any:
    """Return the same of ``t s (1 - s)``."""
    return mean * (1 + DIFFERENCE * np.sqrt(mean))


def intervals_around(
    count: Any, known: PartEstimates, people: Any, ends: tuple[Any, Any]
) -> tuple[FloatArray, FloatArray]:
    """Return low and high ends of 95 % intervals of sums of parts: float64[n] each.

    Parameters
    ----------
    count : float64[n]
        Released.
    known : Known
    people : float64[n]
        Released of the map.
    ends : (float64[n], float64[n])
        Of the map's intervals.
    """
    low, high = ends
    most = np.minimum(known.share + known.doubt, 1.0)
    more = difference(np.maximum(high - people, 0.0), most) + people * (most - known.share)
    down = np.hypot(known.share * (people - low), BELOW * np.sqrt(known.variance))
    up = np.hypot(known.share * (high - people), ABOVE * np.sqrt(known.variance + more))
    found = np.maximum(count - round_out(down, count), 0.0)
    return found, np.maximum(np.minimum(count + round_out(up, count), high), count)
