"""Errors of the parts of a map's counts: from the map, from noise, and from differences of places.

Parts of areas are measured down to some level; below it every cell has the shares of its area. So
the error of a sum of parts over some cells has three sources. The map's count of the cells has an
error, and the parts with it. The parts of measured areas have noise; an area's error is apportioned
by people to the areas inside; given the map's count, parts of the variance V and the others of the
variance W have together the variance ``V W / (V + W)``, a bound where both are of two steps. And
areas differ from their surroundings: of t people, of whom the area above has the share s in some
parts, ``D = k mu (1 + 0.7 sqrt(mu))`` is the expected squared deviation from ``s t``, with
``mu = t s (1 - s)``. Measurements with the variance V leave V; on the last measured level
``V D / (V + D)``, as they are shrunk. The released deviations there have the variance
``D**2 / (V + D)``, so that the factor k follows from the release; where predictions follow the size
of places they have more, and k is larger. It is far from 1 for many parts
(``python -m bench parts``): the sexes differ less from place to place, and the old more; some
places differ far more than most, for which ``TAILS`` allows.
Levels below have the same factor.

With f(v) the part of a node's people that live in the region, the variance is

    f(root)**2 V(root) + sum over nodes c below the root of (f(c) - f(parent of c))**2 tau(c),

as the error of a child is its own, less what its siblings and it receive together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import SKEWED_Z, round_out
from geodp.grid.joint import Joint
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

VERSION = 3
"""Version of the constants, in cards: increases with every change of intervals in files."""

DIFFERENCE = 0.7
"""Constant of the differences between places: see above."""

TAILS = 2.0
"""By how much squared deviations exceed those of a normal law that fits most places."""

FACTORS, HALVINGS = (-5.0, 9.0), 12
"""Range of the binary logarithm of a level's factor, and steps of its bisection."""

FEWEST_NODES = 10
"""Smallest number of nodes, weighted by how well they are known, from which a factor is learned."""

BELOW, ABOVE = 2.12, SKEWED_Z
"""Half of a 95 % interval, in standard errors, below and above a count: small parts are skewed."""

COIN = 0.25
"""Maximal variance of randomised rounding to an integer."""


@dataclass(frozen=True, eq=False)
class StepNoise:
    """Noise of the measurements of one step: groups of parts, or the parts in each group.

    Attributes
    ----------
    inside : int
        Number of parts in one measured count.
    together : int
        Number of counts in each group that is apportioned together; the last may have fewer.
    variance : float64[groups, levels]
        Variance of a count; infinite if it is not measured.
    """

    inside: int
    together: int
    variance: FloatArray = field(repr=False)

    def of(self, part: IntArray, parts: int) -> FloatArray:
        """Return variances of the sum of some parts, and of the others apportioned with them.

        Returns
        -------
        float64[2, levels]
            0 if the parts are all that is apportioned.
        """
        sizes = np.bincount(np.arange(parts) // self.inside)
        unit, held = np.unique(part // self.inside, return_counts=True)
        complete = held == sizes[unit]
        variances = np.zeros((2, self.variance.shape[1]))
        for group in np.unique(unit // self.together):
            members = unit // self.together == group
            n, of = int(members.sum()), min(self.together, sizes.size - group * self.together)
            # Parts that are a complete group have no noise of their own: their sum is that of the
            # node.
            if n < of or not complete[members].all():
                variances += self.variance[group] * np.array([[n], [max(of - n, 1)]])
        return variances


@dataclass(frozen=True, eq=False)
class MarginalNoise:
    """Noise of sums of parts that were measured separately.

    Attributes
    ----------
    label : int64[parts]
        Label of every part.
    variance : float64[levels]
        Variance of a count; infinite if it is not measured.
    """

    label: IntArray = field(repr=False)
    variance: FloatArray = field(repr=False)

    def of(self, part: IntArray) -> FloatArray | None:
        """Return variances as :meth:`StepNoise.of`; None unless the parts are entire labels."""
        sizes = np.bincount(self.label)
        held = np.bincount(self.label[part], minlength=sizes.size)
        n = int((held == sizes).sum())
        if n == sizes.size or (held % sizes).any():
            return None
        return np.asarray(self.variance * np.array([[n], [sizes.size - n]]), np.float64)


@dataclass(frozen=True, eq=False)
class MapTree:
    """Non-empty nodes of a released map, level by level, the root's first.

    Attributes
    ----------
    strides : tuple of int
        Number of keys of a node of each level; the last is 1.
    node : list of uint64[n]
        Nodes, strictly increasing.
    count : list of float64[n]
    parent : list of int64[n]
        Position of each node's parent on the level above; 0 for the root.
    """

    strides: tuple[int, ...]
    node: list[KeyArray] = field(repr=False)
    count: list[FloatArray] = field(repr=False)
    parent: list[IntArray] = field(repr=False)

    @classmethod
    def of(cls, table: ReleasedTable, strides: tuple[int, ...]) -> Self:
        """Create the tree of a map's cells with some levels."""
        node, count = [table.key], [table.count.astype(np.float64)]
        parent: list[IntArray] = []
        for stride, below in zip(strides[-2::-1], strides[:0:-1], strict=True):
            coarser = node[0] // np.uint64(stride // below)
            above, place = np.unique(coarser, return_inverse=True)
            count.insert(0, _add_up(place, count[0], above.size))
            node.insert(0, above)
            parent.insert(0, place)
        return cls(strides, node, count, [np.zeros(node[0].size, np.int64), *parent])

    def add_up(self, held: FloatArray) -> list[FloatArray]:
        """Return sums over the nodes of all levels of values of their cells: float64[n] each."""
        sums = [held]
        for i in range(len(self.node) - 1, 0, -1):
            sums.insert(0, _add_up(self.parent[i], sums[0], self.node[i - 1].size))
        return sums

    def find(self, key: KeyArray) -> tuple[IntArray, NDArray[np.bool_]]:
        """Return the positions of cells among the non-empty ones, and whether they are there."""
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
        Tree on whose first levels the parts of nodes are measured.
    steps : tuple of StepNoise
    marginals : tuple of MarginalNoise
    tails : (float, float)
        Half of a 95 % interval, in standard errors, below and above a sum of parts.
    """

    joint: Joint
    map: ReleasedTable
    tree: MapTree
    steps: tuple[StepNoise, ...]
    marginals: tuple[MarginalNoise, ...] = ()
    tails: tuple[float, float] = (BELOW, ABOVE)

    def add_up(self, part: IntArray, count: FloatArray) -> Sum:
        """Return sums of some parts, with ``count`` of their people in the cells: float64[n]."""
        noise = np.zeros((2, len(self.tree.strides)))
        for step in self.steps:
            noise += step.of(part, self.joint.parts)
        for marginal in self.marginals:
            # A marginal measured only sums over complete labels.
            if (other := marginal.of(part)) is not None:
                noise = pool(noise, other)
        return Sum(self.tree, self.tree.add_up(count), noise, self.tails)


@dataclass(frozen=True, eq=False)
class PartEstimates:
    """Estimates of some parts together, at some places.

    Attributes
    ----------
    share : float64[n]
        Share of the people of the cell, from the smallest area that is known better than its cells.
    doubt : float64[n]
        Standard error of the share.
    variance : float64[n]
        Variance of the parts' sum in the cell, given the map's counts.
    tails : (float, float)
        Half of a 95 % interval of what this variance is of, in standard errors, below and above.
    """

    share: FloatArray
    doubt: FloatArray
    variance: FloatArray
    tails: tuple[float, float] = field(default=(BELOW, ABOVE), kw_only=True)


@dataclass(frozen=True, eq=False)
class NodeShares:
    """Estimates of the same parts at all nodes of a map.

    Attributes
    ----------
    tree : MapTree
    estimates : list of PartEstimates
        By level, the root's first.
    tails : (float, float)
        See :class:`Split`.
    """

    NUMBERS: ClassVar[int] = 3
    """Of every node."""

    tree: MapTree
    estimates: list[PartEstimates] = field(repr=False)
    tails: tuple[float, float] = (BELOW, ABOVE)

    def of_cells(self, key: KeyArray) -> PartEstimates:
        """Return the estimates of cells.

        Cells without people have those of the area around them.
        """
        share, doubt, variance = np.zeros((3, key.size))
        estimate = PartEstimates(share, doubt, variance, tails=self.tails)
        missing = np.ones(key.size, np.bool_)
        # From the cells up to the first node with people, whose share applies to empty cells, too.
        for i in range(len(self.estimates) - 1, -1, -1):
            node, some = self.tree.node[i], np.flatnonzero(missing)
            if not node.size or not some.size:
                break
            ancestor = key[some] // np.uint64(self.tree.strides[i])
            at = np.minimum(np.searchsorted(node, ancestor), node.size - 1)
            here = node[at] == ancestor
            at, some = at[here], some[here]
            estimate.share[some], estimate.doubt[some] = (
                self.estimates[i].share[at],
                self.estimates[i].doubt[at],
            )
            if i == len(self.estimates) - 1:
                estimate.variance[some] = self.estimates[i].variance[at]
            missing[some] = False
        # Nobody was released, so that nothing is known of shares: any part may be all of a cell.
        estimate.share[missing] = 1.0
        return estimate


@dataclass(frozen=True, eq=False)
class Sum:
    """Sums of the same parts over the nodes of a map, as released.

    Attributes
    ----------
    tree : MapTree
    held : list of float64[n]
        Sums by level, the root's first.
    noise : float64[2, levels]
        Variance of the measurements of these parts together, and of the others; infinite below the
        measured levels.
    tails : (float, float)
        See :class:`Split`.
    """

    tree: MapTree
    held: list[FloatArray] = field(repr=False)
    noise: FloatArray
    tails: tuple[float, float] = (BELOW, ABOVE)

    @property
    def last(self) -> int:
        """The level whose shares are used: the last measured one above the cells."""
        return max(0, min(self._measured, len(self.held) - 1) - 1)

    def _share_above(self, i: int) -> FloatArray:
        """Return the share of each node's parent, at the root its own: float64[n]."""
        above = max(i - 1, 0)
        return (self.held[above] / self.tree.count[above])[self.tree.parent[i]]

    def _noise_of(self, i: int) -> float:
        """Return the variance of measured counts that are fitted to their sum."""
        variance, rest = self.noise[:, i]
        # Given the sum, what is missing is divided by the variances of both sides.
        return float(variance * rest / (variance + rest)) if variance + rest else 0.0

    @property
    def _measured(self) -> int:
        """Number of measured levels, which are the first."""
        return int(np.isfinite(self.noise[0]).sum())

    @cached_property
    def factor(self) -> float:
        """Factor of the differences between places, learned on the last measured level."""
        return self._learn_factor(self._measured - 1)

    def _learn_factor(self, i: int) -> float:
        """Learn the factor on a measured level; 1 on the root, which is no place among others."""
        if i < 1:
            return 1.0
        people, share = self.tree.count[i], self._share_above(i)
        differ, noise = difference(people, share), np.full(people.size, self._noise_of(i))
        factor, nodes = learn_factor(self.held[i] - people * share, differ, noise)
        # Few nodes tell little: what the coarser level shows is then the least.
        return factor if nodes >= FEWEST_NODES else max(factor, self._learn_factor(i - 1))

    @cached_property
    def left(self) -> list[FloatArray]:
        """Variances that remain of the nodes' own counts, by level: float64[n] each."""
        remaining = []
        for i, people in enumerate(self.tree.count):
            share = self._share_above(i)
            differ = TAILS * self.factor * difference(people, share)
            if i >= self._measured:
                left = differ
            else:
                left = np.full(people.size, self._noise_of(i))
                # Areas above the last measured level are few, and tell too little of how they
                # differ.
                if 0 < i == self._measured - 1:
                    left = left * differ / (left + differ)
            # Counts are rounded at random.
            remaining.append(left + np.minimum(people * share, COIN))
        return remaining

    @cached_property
    def estimates(self) -> list[PartEstimates]:
        """Estimates for the nodes of each level."""
        root = self.held[0] / self.tree.count[0]
        variance = self.left[0]
        doubt = np.sqrt(variance) / self.tree.count[0]
        estimates = [PartEstimates(root, doubt, variance)]
        for i in range(1, len(self.held)):
            people, parent = self.tree.count[i], self.tree.parent[i]
            part = people / self.tree.count[i - 1][parent]
            left = self.left[i]
            siblings = np.bincount(parent, left)[parent] - left
            variance = part**2 * (variance[parent] + siblings) + (1 - part) ** 2 * left
            share, doubt = estimates[-1].share[parent], estimates[-1].doubt[parent]
            # Below the last measured level, parts have the share of their area, and its doubt.
            if i <= self.last:
                share, doubt = self.held[i] / people, np.sqrt(variance) / people
            estimates.append(PartEstimates(share, doubt, variance))
        return estimates

    @cached_property
    def shares(self) -> NodeShares:
        """Estimates for the nodes of all levels, without the sums."""
        return NodeShares(self.tree, self.estimates, self.tails)

    def of_cells(self, key: KeyArray) -> PartEstimates:
        """Return the estimates of cells; see :meth:`NodeShares.of_cells`."""
        return self.shares.of_cells(key)

    def count_regions(self, keys: Sequence[KeyArray]) -> FloatArray:
        """Return the released sums of regions: float64[n]."""
        found = (self.tree.find(key) for key in keys)
        return np.array([self.held[-1][at[some]].sum() for at, some in found], np.float64)

    def of_region(self, key: KeyArray) -> PartEstimates:
        """Return the estimate of cells together: float64[1] each."""
        return self.of_regions([key])

    def of_regions(self, keys: Sequence[KeyArray]) -> PartEstimates:
        """Return the estimates of n regions: float64[n] each; ``keys``: cells of each, in order."""
        sizes = np.array([key.size for key in keys])
        starts, which = np.cumsum(sizes) - sizes, np.repeat(np.arange(sizes.size), sizes)
        key = np.concatenate(keys)
        cells = self.of_cells(key)
        at, some = self.tree.find(key)
        people = np.where(some, self.tree.count[-1][at], 0.0) if some.any() else np.zeros(key.size)
        total = _add_up(which, people, sizes.size)
        known = total > 0
        weight = people / np.where(known, total, 1.0)[which]
        share, doubt = (
            _add_up(which, weight * each, sizes.size) for each in (cells.share, cells.doubt)
        )
        # Of cells without people as many as are possible have these parts.
        for each, own in ((share, cells.share), (doubt, cells.doubt)):
            np.maximum.at(each, which, np.where(known[which], 0.0, own))
        variance = self._variances_of(at[some], which[some], sizes.size)
        # Cells average out: a share of many is at most as doubtful as their sum.
        doubt[known] = np.minimum(doubt[known], np.sqrt(variance[known]) / total[known])
        alone = sizes == 1
        for each, own in ((share, cells.share), (doubt, cells.doubt), (variance, cells.variance)):
            each[alone] = own[starts[alone]]
        return PartEstimates(share, doubt, variance, tails=self.tails)

    def _variances_of(self, at: IntArray, which: IntArray, n: int) -> FloatArray:
        """Return the variances of sums of cells, by their positions in order: float64[n].

        Of the second sum of the module's equation, a child outside the region whose parent is
        partly inside counts, too: only what siblings have together is needed of them. ``which``:
        the region of each cell, in order.
        """
        variance, inside = np.zeros(n), np.ones(at.size)
        for i in range(len(self.held) - 1, 0, -1):
            parent, people = self.tree.parent[i][at], self.tree.count[i][at] * inside
            left = self.left[i][at]
            first = np.append(True, (parent[1:] != parent[:-1]) | (which[1:] != which[:-1]))
            place, first = np.cumsum(first[: at.size]) - 1, first[: at.size]
            above, of = parent[first], which[first]
            part = _add_up(place, people, above.size) / self.tree.count[i - 1][above]
            of_all = self._left_of_children[i][above]
            crossed = _add_up(place, inside * left, above.size)
            variance += _add_up(which, inside**2 * left, n)
            variance += _add_up(of, part**2 * of_all - 2 * part * crossed, n)
            at, inside, which = above, part, of
        return variance + _add_up(which, inside**2 * self.left[0][at], n)

    @cached_property
    def _left_of_children(self) -> list[FloatArray]:
        """Sums of what remains of the children of each node of the level above; of the root 0."""
        sums = [np.zeros(0)]
        for i in range(1, len(self.held)):
            sums.append(_add_up(self.tree.parent[i], self.left[i], self.tree.count[i - 1].size))
        return sums


def pool(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return variances of means of two estimates, weighted inversely to theirs.

    Some are infinite.
    """
    # The formula is NaN for infinite variances: the smaller one stands there.
    both = np.isfinite(one) & np.isfinite(other)
    pooled = np.minimum(one, other)
    pooled[both] = one[both] * other[both] / (one[both] + other[both])
    return pooled


def learn_factor(apart: FloatArray, differ: FloatArray, noise: FloatArray) -> tuple[float, float]:
    """Estimate by which factor places differ more than expected, from released counts.

    Parameters
    ----------
    apart : float64[n]
        Released deviations from the shares of the areas above.
    differ : float64[n]
        Expected squared deviations, for a factor of 1.
    noise : float64[n]
        Variances of the measurements, above 0.

    Returns
    -------
    factor : float
        With an allowance for the number of nodes.
    nodes : float
        Number of nodes, each weighted by 0 to 1: how much of its deviation is measured.
    """
    some = differ > 0
    apart, differ, noise = np.square(apart[some]), differ[some], noise[some]
    low, high = FACTORS
    for _ in range(HALVINGS):
        factor = 2.0 ** ((low + high) / 2)
        weight = factor * differ / (factor * differ + noise)
        # A deviation that is shrunk towards 0 by its weight w has the variance w D.
        if float((apart / differ).sum()) > factor * float(weight.sum()):
            low = (low + high) / 2
        else:
            high = (low + high) / 2
    nodes = float(weight.sum())
    return factor * (1 + 2 * sqrt(2 / nodes)) if nodes else factor, nodes


def _add_up(place: IntArray, held: FloatArray, n: int) -> FloatArray:
    return np.bincount(place, held, n).astype(np.float64)


def difference(people: Any, share: Any) -> Any:
    """Return the expected squared deviation of parts from a share of people."""
    return spread(people * np.clip(share * (1 - share), 0.0, 0.25))


def spread(mean: Any) -> Any:
    """Return the expected squared deviation for a value of ``t s (1 - s)``."""
    return mean * (1 + DIFFERENCE * np.sqrt(mean))


def intervals_around(
    count: Any, estimate: PartEstimates, people: Any, ends: tuple[Any, Any]
) -> tuple[FloatArray, FloatArray]:
    """Return low and high ends of 95 % intervals of sums of parts: float64[n] each.

    Parameters
    ----------
    count : float64[n]
        Released counts of the parts.
    estimate : PartEstimates
    people : float64[n]
        Released counts of the map.
    ends : (float64[n], float64[n])
        Low and high ends of the map's intervals.
    """
    low, high = ends
    below, above = margins_in_map(estimate, people, high)
    down = np.hypot(estimate.share * (people - low), below)
    up = np.hypot(estimate.share * (high - people), above)
    low_end = np.maximum(count - round_out(down, count), 0.0)
    return low_end, np.maximum(np.minimum(count + round_out(up, count), high), count)


def margins_in_map(
    estimate: PartEstimates, people: Any, high: Any
) -> tuple[FloatArray, FloatArray]:
    """Return how far below and above its estimate a sum of parts may lie: float64[n] each.

    Given what the map's counts ``people`` say, of which there may be as many as ``high``.
    """
    upper_share = np.minimum(estimate.share + estimate.doubt, 1.0)
    more = difference(np.maximum(high - people, 0.0), upper_share) + people * (
        upper_share - estimate.share
    )
    low, up = estimate.tails
    return low * np.sqrt(estimate.variance), up * np.sqrt(estimate.variance + more)
