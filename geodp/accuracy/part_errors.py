"""Errors of the parts of a map's counts: from the map, from noise, and from differences of places.

Parts of areas are measured down to some level; below it every cell has the shares of its area. So
the error of a sum of parts over some cells has three sources. The parts of measured areas have
noise; an area's error is apportioned by people to the areas inside. Given the map's count, n of k
parts with the variance v each have the variance ``v (n - n**2 / k)``, as what is missing is added
to all of them alike; where parts are divided further, so are their errors. Areas differ from their
surroundings: of t people, of whom the area above has the share s in some parts,
``D = k mu (1 + 0.7 sqrt(mu))`` is the expected squared deviation from ``s t``, with
``mu = t s (1 - s)``. Measurements with the variance V leave ``V D / (V + D)``, as they are shrunk.
The released deviations have the variance ``D**2 / (V + D)``, so that the factor k of each level
follows from the release; where predictions follow the size of places they have more, and k is
larger. It is far from 1 for many parts (``python -m bench parts``): the sexes differ less from
place to place, and the old more; some places differ far more than most, for which ``TAILS`` allows.
Levels that are not measured have the factor of the last one that is. And the map's count of the
cells has an error: of what was measured the parts take it evenly, as they are made to add up to the
map's count, and else by their shares of people.

With f(v) the part of a node's people that live in the region, the variance is

    f(root)**2 V(root) + sum over nodes c below the root of (f(c) - f(parent of c))**2 tau(c),

as the error of a child is its own, less what its siblings and it receive together. The map's errors
have the same form, with about the same tau on all levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import SKEWED_Z, round_out
from geodp.grid.joint import Joint
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, KeyArray

VERSION = 4
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

NEGLIGIBLE = 1e-9
"""Rounding errors of sums of shares stay below this."""

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
    counts : int64[groups], optional
        Number of counts that there are in each group; default: as many as are apportioned together.
    """

    inside: int
    together: int
    variance: FloatArray = field(repr=False)
    counts: IntArray | None = field(default=None, repr=False)

    def number(self, parts: int) -> IntArray:
        """Return the number of counts in each group: int64[groups]."""
        if self.counts is not None:
            return self.counts
        first = np.arange(self.variance.shape[0]) * self.together
        return np.minimum(self.together, -(-parts // self.inside) - first)

    def divide_evenly(self, parts: int) -> FloatArray:
        """Return the share of its group that each part's count has, if all are equal."""
        group = np.arange(parts) // (self.inside * self.together)
        return np.asarray(1 / np.maximum(self.number(parts), 1)[group], np.float64)

    def count_alike(self, part: IntArray, parts: int) -> float:
        """Count the counts of these parts, or of all others, as far as they differ alike.

        The same counts of several groups do, such as the old of both sexes. Those of one group do
        by half: what places have more of one of them, they have less of others.
        """
        number = self.number(parts)
        group = np.unique(part // self.inside) // self.together
        held = np.bincount(group, minlength=number.size)
        some = np.minimum(held, number - held)
        return max(1.0, float(some.sum()) ** (1 if (some > 0).sum() > 1 else 0.5))

    def of(self, part: IntArray, inside: FloatArray) -> FloatArray:
        """Return variances of the sum of some parts, given the counts that groups add up to.

        Parameters
        ----------
        part : int64[n]
        inside : float64[parts]
            The share of its measured count that each part has, as of errors.

        Returns
        -------
        float64[levels]
        """
        number = self.number(inside.size)
        held = np.bincount(part // self.inside, inside[part], number.size * self.together)
        held = held.reshape(-1, self.together)
        # All counts of a group have equal noise, and no noise of their own together.
        times = (held**2).sum(axis=1) - held.sum(axis=1) ** 2 / np.maximum(number, 1)
        some = times > NEGLIGIBLE
        return np.asarray(times[some] @ self.variance[some], np.float64)


def combine_steps(
    steps: Sequence[StepNoise], part: IntArray, parts: int
) -> tuple[FloatArray, float]:
    """Return variances of the sum of some parts, given the map, and its share if all are equal.

    Returns
    -------
    variance : float64[levels]
    even : float
    """
    variance, even = np.zeros(steps[0].variance.shape[1]), np.ones(parts)
    for step in reversed(steps):
        variance += step.of(part, even)
        even *= step.divide_evenly(parts)
    return variance, float(even[part].sum())


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
        return np.asarray(self.variance * (n - n**2 / sizes.size), np.float64)


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

    @cached_property
    def even(self) -> TreeErrors:
        """Errors of counts whose nodes are all known as well."""
        return TreeErrors(self, [np.ones(count.size) for count in self.count])

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

    def choose_cells(self, key: KeyArray) -> KeyArray:
        """Choose the cells of a region that say its errors: uint64[m], m above 0.

        These are those with people. Where nobody was released, cells of one node have the same, so
        that one of each says all. Of several cells there are always several, as the errors of a
        single one are others.
        """
        _, some = self.find(key)
        if not some.any():
            some[np.unique(key // np.uint64(self.strides[-2]), return_index=True)[1]] = True
        if some.sum() == 1 < some.size:
            some[np.argmin(some)] = True
        return key[some]


@dataclass(frozen=True, eq=False)
class TreeErrors:
    """Variances of sums over the nodes of a tree, by the second equation of the module.

    Attributes
    ----------
    tree : MapTree
    left : list of float64[n]
        Variances that remain of the nodes' own counts, by level.
    """

    tree: MapTree
    left: list[FloatArray] = field(repr=False)

    @cached_property
    def of_nodes(self) -> list[FloatArray]:
        """Variances of the nodes, by level: float64[n] each."""
        found = [self.left[0]]
        for i in range(1, len(self.left)):
            parent, left = self.tree.parent[i], self.left[i]
            part = self.tree.count[i] / self.tree.count[i - 1][parent]
            above = found[-1][parent] + self._of_children[i][parent] - left
            found.append(part**2 * above + (1 - part) ** 2 * left)
        return found

    @cached_property
    def _of_children(self) -> list[FloatArray]:
        """Sums of what remains of the children of each node of the level above; of the root 0."""
        sums = [np.zeros(0)]
        for i in range(1, len(self.left)):
            sums.append(_add_up(self.tree.parent[i], self.left[i], self.tree.count[i - 1].size))
        return sums

    def of_regions(self, at: IntArray, which: IntArray, n: int) -> FloatArray:
        """Return the variances of sums of cells, by their positions in order: float64[n].

        Of the second sum of the module's equation, a child outside the region whose parent is
        partly inside counts, too: only what siblings have together is needed of them. ``which``:
        the region of each cell, in order.
        """
        variance, inside = np.zeros(n), np.ones(at.size)
        for i in range(len(self.left) - 1, 0, -1):
            parent, people = self.tree.parent[i][at], self.tree.count[i][at] * inside
            left = self.left[i][at]
            first = np.append(True, (parent[1:] != parent[:-1]) | (which[1:] != which[:-1]))
            place, first = np.cumsum(first[: at.size]) - 1, first[: at.size]
            above, of = parent[first], which[first]
            part = _add_up(place, people, above.size) / self.tree.count[i - 1][above]
            crossed = _add_up(place, inside * left, above.size)
            variance += _add_up(which, inside**2 * left, n)
            variance += _add_up(of, part**2 * self._of_children[i][above] - 2 * part * crossed, n)
            at, inside, which = above, part, of
        return variance + _add_up(which, inside**2 * self.left[0][at], n)


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
    shrunk : bool
        Whether measurements were shrunk towards the shares of the area above.
    """

    joint: Joint
    map: ReleasedTable
    tree: MapTree
    steps: tuple[StepNoise, ...]
    marginals: tuple[MarginalNoise, ...] = ()
    tails: tuple[float, float] = (BELOW, ABOVE)
    shrunk: bool = True

    def add_up(self, part: IntArray, count: FloatArray) -> Sum:
        """Return sums of some parts, with ``count`` of their people in the cells: float64[n]."""
        noise, even = combine_steps(self.steps, part, self.joint.parts)
        for marginal in self.marginals:
            # A marginal measured only sums over complete labels.
            if (other := marginal.of(part)) is not None:
                noise = pool(noise, other)
        held = self.tree.add_up(count)
        alike = self.steps[-1].count_alike(part, self.joint.parts)
        return Sum(self.tree, held, noise, even, alike, self.tails, self.shrunk)


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
    gain : float64[n]
        By how much the sum is off for every one that the map's count is off.
    tails : (float, float)
        Half of a 95 % interval of what this variance is of, in standard errors, below and above.
    """

    share: FloatArray
    doubt: FloatArray
    variance: FloatArray
    gain: FloatArray
    tails: tuple[float, float] = field(default=(BELOW, ABOVE), kw_only=True)


@dataclass(frozen=True, eq=False)
class NodeShares:
    """Estimates of the same parts at all nodes of a map, as far as cells need them.

    Attributes
    ----------
    tree : MapTree
    levels : list of (float64[n], float64[n])
        Shares of nodes and their doubts, by level, the root's first; nodes of all levels below,
        down to the cells, have those of the last.
    variance, gain : float64[n]
        Of the cells.
    tails : (float, float)
        See :class:`Split`.
    """

    tree: MapTree
    levels: list[tuple[FloatArray, FloatArray]] = field(repr=False)
    variance: FloatArray = field(repr=False)
    gain: FloatArray = field(repr=False)
    tails: tuple[float, float] = (BELOW, ABOVE)

    @staticmethod
    def size(tree: MapTree) -> int:
        """Return how many bytes the estimates for a tree take at most."""
        return 2 * 8 * (sum(node.size for node in tree.node) + tree.node[-1].size)

    def of_cells(self, key: KeyArray) -> PartEstimates:
        """Return the estimates of cells.

        Cells without people have those of the area around them.
        """
        estimate = PartEstimates(*np.zeros((4, key.size)), tails=self.tails)
        missing = np.ones(key.size, np.bool_)
        # Up to the first node with people, whose share applies to empty cells, too.
        for i in range(len(self.levels) - 1, -1, -1):
            node, some = self.tree.node[i], np.flatnonzero(missing)
            if not node.size or not some.size:
                break
            ancestor = key[some] // np.uint64(self.tree.strides[i])
            at = np.minimum(np.searchsorted(node, ancestor), node.size - 1)
            here = node[at] == ancestor
            at, some = at[here], some[here]
            share, doubt = self.levels[i]
            estimate.share[some], estimate.doubt[some] = share[at], doubt[at]
            estimate.gain[some] = estimate.share[some]
            missing[some] = False
        # Nobody was released, so that nothing is known of shares: any part may be all of a cell.
        estimate.share[missing] = estimate.gain[missing] = 1.0
        at, here = self.tree.find(key)
        estimate.variance[here], estimate.gain[here] = self.variance[at[here]], self.gain[at[here]]
        return estimate


@dataclass(frozen=True, eq=False)
class Sum:
    """Sums of the same parts over the nodes of a map, as released.

    Attributes
    ----------
    tree : MapTree
    held : list of float64[n]
        Sums by level, the root's first.
    noise : float64[levels]
        Variance of what was measured, given the map's counts; infinite below the measured levels.
    even : float
        Share of these parts, if all that are apportioned together are equal.
    tails, shrunk
        See :class:`Split`.
    """

    tree: MapTree
    held: list[FloatArray] = field(repr=False)
    noise: FloatArray
    even: float
    alike: float
    tails: tuple[float, float] = (BELOW, ABOVE)
    shrunk: bool = True

    @property
    def last(self) -> int:
        """The level whose shares are used: the last measured one above the cells."""
        return max(0, min(self._measured, len(self.held) - 1) - 1)

    def _share_above(self, i: int) -> FloatArray:
        """Return the share of each node's parent, at the root its own: float64[n]."""
        above = max(i - 1, 0)
        return (self.held[above] / self.tree.count[above])[self.tree.parent[i]]

    @property
    def _measured(self) -> int:
        """Number of measured levels, which are the first."""
        return int(np.isfinite(self.noise).sum())

    @cached_property
    def factor(self) -> float:
        """Factor of the differences between places on the last measured level, and below."""
        largest = 0.0
        for factor, nodes in self.learned[:0:-1]:
            largest = max(largest, factor)
            if nodes >= FEWEST_NODES:
                return largest
        # Few nodes tell little: what coarser levels show is then the least.
        return max(largest, 1.0)

    @cached_property
    def learned(self) -> list[tuple[float, float]]:
        """The factor of each measured level, and from how many nodes; of the root none."""
        found = [(1.0, 0.0)]
        for i in range(1, self._measured):
            people, share = self.tree.count[i], self._share_above(i)
            differ, noise = difference(people, share), np.full(people.size, self.noise[i])
            found.append(learn_factor(self.held[i] - people * share, differ, noise, self.alike))
        return found

    @cached_property
    def own(self) -> TreeErrors:
        """Errors of the parts, given the map's counts."""
        remaining = []
        for i, people in enumerate(self.tree.count):
            share = self._share_above(i)
            differ = self._factor_of(i) * difference(people, share)
            if i >= self._measured:
                left = TAILS * differ
            else:
                left = np.full(people.size, self.noise[i])
                if self._is_shrunk(i):
                    left = shrink(left, differ, self.alike)
            # Counts are rounded at random.
            remaining.append(left + np.minimum(people * share, COIN))
        return TreeErrors(self.tree, remaining)

    def _is_shrunk(self, i: int) -> bool:
        """Test whether what a level's shrinkage leaves is known: few nodes tell too little."""
        if not self.shrunk:
            return False
        return 0 < i == self._measured - 1 or self.learned[i][1] >= FEWEST_NODES

    def _factor_of(self, i: int) -> float:
        """Return the factor of the differences between the places of a level."""
        return self.learned[i][0] if i < self._measured - 1 else self.factor

    @cached_property
    def of_map(self) -> TreeErrors:
        """Errors that the map's give the parts, if the map's nodes are all known as well."""
        gains = []
        for i, people in enumerate(self.tree.count):
            share = self._share_above(i)
            differ = self._factor_of(i) * difference(people, share)
            believed = np.ones(people.size)
            if self.shrunk and i and self.noise[i]:
                believed = differ / (differ + self.alike * self.noise[i])
            gains.append((share + believed * (self.even - share)) ** 2)
        return TreeErrors(self.tree, gains)

    @cached_property
    def shares(self) -> NodeShares:
        """Estimates for the nodes of all levels, without the sums."""
        # Below the last measured level, parts have the share of their area, and its doubt.
        levels = [
            (held / people, np.sqrt(variance) / people)
            for held, people, variance in zip(
                self.held[: self.last + 1], self.tree.count, self.own.of_nodes, strict=False
            )
        ]
        gain = np.sqrt(self.of_map.of_nodes[-1] / self.tree.even.of_nodes[-1])
        return NodeShares(self.tree, levels, self.own.of_nodes[-1], gain, self.tails)

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
        which = np.repeat(np.arange(sizes.size), sizes)
        key = np.concatenate(keys)
        at, some = self.tree.find(key)
        people = np.where(some, self.tree.count[-1][at], 0.0) if some.any() else np.zeros(key.size)
        total = _add_up(which, people, sizes.size)
        known = total > 0
        # A cell without people matters only where nobody was released in its whole region.
        used = some | ~known[which]
        place, cells = which[used], self.of_cells(key[used])
        weight = people[used] / np.where(known, total, 1.0)[place]
        share, doubt = (
            _add_up(place, weight * each, sizes.size) for each in (cells.share, cells.doubt)
        )
        # Of cells without people as many as are possible have these parts.
        for each, own in ((share, cells.share), (doubt, cells.doubt)):
            np.maximum.at(each, place, np.where(known[place], 0.0, own))
        variance, of_map, even = (
            errors.of_regions(at[some], which[some], sizes.size)
            for errors in (self.own, self.of_map, self.tree.even)
        )
        gain = np.sqrt(np.divide(of_map, even, out=share**2, where=known))
        # Cells average out: a share of many is at most as doubtful as their sum.
        doubt[known] = np.minimum(doubt[known], np.sqrt(variance[known]) / total[known])
        alone = sizes[place] == 1
        found = PartEstimates(share, doubt, variance, gain, tails=self.tails)
        for name in ("share", "doubt", "variance", "gain"):
            getattr(found, name)[place[alone]] = getattr(cells, name)[alone]
        return found


def pool(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return variances of means of two estimates, weighted inversely to theirs.

    Some are infinite.
    """
    # The formula is NaN for infinite variances: the smaller one stands there.
    both = np.isfinite(one) & np.isfinite(other)
    pooled = np.minimum(one, other)
    pooled[both] = one[both] * other[both] / (one[both] + other[both])
    return pooled


def shrink(noise: FloatArray, differ: FloatArray, alike: float) -> FloatArray:
    """Return the variances that shrinkage leaves of sums of counts that differ alike."""
    believed = differ / (differ + alike * noise)
    left = (1 - believed) ** 2 * TAILS * differ + believed**2 * noise
    return np.minimum(left, TAILS * noise)


def learn_factor(
    apart: FloatArray, differ: FloatArray, noise: FloatArray, alike: float = 1.0
) -> tuple[float, float]:
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
        own = factor * differ
        weight = own * (own + noise) / (own + alike * noise) ** 2
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
    down = np.hypot(estimate.gain * (people - low), below)
    up = np.hypot(estimate.gain * (high - people), above)
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
