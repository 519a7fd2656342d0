"""Closed-form variance of estimates on a tree, for blocks and for any set of cells.

Many methods end in the same way: the estimate of a node is apportioned to its children, and every
child's deviation from an equal share is uncorrelated with everything above it. With
``V[i]`` the variance of a child's own estimate on level i, and ``a(v)`` the part of a node's cells
that lie in a set R, the error of the sum over R has the variance

    a(root)**2 V[0] + sum over levels i >= 1 of V[i] (A[i] - b[i] A[i - 1]),
    A[i] = sum of a(v)**2 over the nodes v of level i,

because child c deviates by ``d(c)`` with ``Var = V (1 - 1/b)`` and ``Cov = -V / b``, so that node v
contributes ``V (sum of a(c)**2 - b a(v)**2)``. It holds where nothing is clamped and every node has
all of its children.

A method that drops children below a threshold gives their people to the siblings that it keeps, in
equal parts. A dropped child can hold as many people as the threshold, and more only by the amount
of noise, which the interval includes anyway. Many dropped children hold fewer each: if all of them
held that many, noise would have lifted more of them above the threshold than were kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.tree import cells_of_box, overlaps
from geodp.privacy.noise.node import number_children
from geodp.typing import FloatArray, IntArray

State = tuple[tuple[bool, bool], ...]
"""For every axis: whether the block contains the box's first and its last index."""


@dataclass(frozen=True)
class BoundaryBlocks:
    """Blocks of keys that share their first digits, classified by the edges they touch.

    The number of cells of blocks after equally many digits depends only on whether they contain
    the first and the last index of each axis.

    Attributes
    ----------
    axes, radices : tuple of int
        Axis and radix of each digit.
    first, last : tuple of int
        First and last index of every axis, with the order's offset.
    """

    axes: tuple[int, ...]
    radices: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]

    @classmethod
    def of(cls, grid: Grid) -> BoundaryBlocks:
        """Create the blocks of a grid's box, regardless of a mask."""
        order = grid.order
        first = order.offset or (0,) * len(grid.shape)
        last = tuple(at + size - 1 for at, size in zip(first, grid.shape, strict=True))
        return cls(order.axes, order.radices, tuple(first), last)

    @property
    def root(self) -> State:
        """State of the block of all keys."""
        return ((True, True),) * len(self.first)

    def below(self, state: State, digit: int) -> set[State]:
        """Return the states of the non-empty parts that a digit splits a block into."""
        axis = self.axes[digit]
        width, radix = self._side(digit + 1, axis), self.radices[digit]
        low, high = state[axis]
        first = self.first[axis] // width % radix if low else 0
        last = self.last[axis] // width % radix if high else radix - 1
        states = set()
        # Indices strictly between the first and the last are all equivalent: one of them stands
        # for all.
        for i in {first, min(first + 1, last), last}:
            edges = (low and i == first, high and i == last)
            states.add((*state[:axis], edges, *state[axis + 1 :]))
        return states

    def children(self, state: State, digit: int, stop: int) -> int:
        """Count the blocks of ``stop`` digits with a cell, within one of ``digit`` digits."""
        count = 1
        # Blocks are products of intervals, one along each axis.
        for axis, (low, high) in enumerate(state):
            width, each = self._side(digit, axis), self._side(stop, axis)
            first = self.first[axis] % width // each if low else 0
            last = self.last[axis] % width // each if high else width // each - 1
            count *= last - first + 1
        return count

    def _side(self, digit: int, axis: int) -> int:
        return _side(self.axes, self.radices, digit, axis)


@lru_cache(maxsize=1024)
def _side(axes: tuple[int, ...], radices: tuple[int, ...], digit: int, axis: int) -> int:
    """Return the number of indices of an axis that a block of ``digit`` digits spans."""
    width = 1
    for a, radix in zip(axes[digit:], radices[digit:], strict=True):
        width *= radix if a == axis else 1
    return width


MAX_CHILDREN = 1 << 20
"""Maximal children whose overlap with a domain is tested together."""


@dataclass(frozen=True)
class TreeVariance:
    """A tree over the keys and the variances of what it estimates.

    Attributes
    ----------
    fanouts : tuple of int
        Number of children of a node of each level but the last, from the root on.
    variances : tuple of float
        ``V`` of every level, the root's first, in counts squared.
    fourths : tuple of float
        Fourth cumulants of the same estimates, for the tails of intervals; empty: 0, as for
        Gaussian noise.
    drops : tuple of Drop
        Rules for children of every level but the root's; empty: none are dropped.

    Examples
    --------
    Independent noise of variance 2 on each of 8 cells is a tree of one level:

    >>> cells = TreeVariance((8,), (16.0, 2.0))
    >>> cells.region(np.array([0, 3, 5], np.uint64))
    6.0
    >>> cells.blocks().tolist()
    [16.0, 8.0, 4.0, 2.0]
    """

    fanouts: tuple[int, ...]
    variances: tuple[float, ...]
    fourths: tuple[float, ...] = ()
    drops: tuple[Drop, ...] = ()

    @property
    def cumulants(self) -> tuple[float, ...]:
        """Fourth cumulants of all levels, 0 where they are not known."""
        return self.fourths or (0.0,) * len(self.variances)

    def scaled(self, variance: float, fourth: float) -> Self:
        """Return the tree of a sum of multiples of independent estimates of this tree.

        Parameters
        ----------
        variance, fourth : float
            Sums of the squares and of the fourth powers of the multiples.
        """
        factors = {"variances": variance, "measured": variance, "fourths": fourth}
        changed: dict[str, Any] = {
            name: tuple(factor * value for value in getattr(self, name))
            for name, factor in factors.items()
            if hasattr(self, name)
        }
        return replace(self, **changed)

    def with_noise(self, variance: float) -> Self:
        """Return the tree with independent noise added to the estimate of every node.

        Parameters
        ----------
        variance : float
            In counts squared; its fourth cumulant is taken as 0.

        Examples
        --------
        >>> TreeVariance((4,), (8.0, 2.0)).with_noise(0.5).variances
        (8.5, 2.5)
        """
        changed: dict[str, Any] = {
            name: tuple(variance + value for value in getattr(self, name))
            for name in ("variances", "measured")
            if hasattr(self, name)
        }
        return replace(self, **changed)

    def levels(self) -> Iterator[tuple[int, float, float]]:
        """Yield fan-out, V and the variance of a node, level by level below the root."""
        node = self.variances[0]
        for fanout, variance in zip(self.fanouts, self.variances[1:], strict=True):
            node = variance * (1 - 1 / fanout) + node / fanout**2
            yield fanout, variance, node

    def nodes(self) -> list[float]:
        """Return the variance of a node of every level, the root's first."""
        return [self.variances[0], *(node for _, _, node in self.levels())]

    def blocks(self) -> NDArray[np.float64]:
        """Return the variance of an aligned block of ``2**(bits - i)`` keys at index i:
        float64[bits + 1].

        Fan-outs must be powers of two.
        """
        return self.prefixes((2,) * (prod(self.fanouts).bit_length() - 1))

    def prefixes(self, radices: Sequence[int]) -> NDArray[np.float64]:
        """Return the variance of the keys that share their first i digits, at index i.

        k of a node's b children have the variance ``k V (1 - k/b) + (k/b)**2 Var(node)``.

        Parameters
        ----------
        radices : sequence of int
            Radices of a key's digits, each of which belongs to one level. All keys are cells; see
            :meth:`largest` for a domain with edges.

        Examples
        --------
        >>> TreeVariance((10, 4), (9.0, 4.0, 1.0)).prefixes((2, 5, 4)).round(2).tolist()
        [9.0, 12.25, 3.69, 0.98]
        """
        digits = iter(radices)
        variances = [self.variances[0]]
        above = self.variances[0]
        for fanout, variance, node in self.levels():
            k = fanout
            while k > 1:
                k //= next(digits)
                variances.append(_of_children(k, fanout, variance, above))
            above = node
        return np.array(variances)

    def largest(self, grid: Grid) -> NDArray[np.float64]:
        """Return the largest variance of the keys that share their first i digits:
        float64[digits + 1].

        Nodes are apportioned to the children that overlap the domain. On a box of cells it is the
        exact variance of some such block; with a mask or regions, where nodes may have any
        children, an upper bound.
        """
        radices = grid.order.radices
        if grid.size == prod(radices):
            return self.prefixes(radices)
        if not grid.domain.is_box:
            return self._bound(radices)
        # Blocks of a box differ only by the edges that they touch: few states stand for all
        # blocks.
        edges = BoundaryBlocks.of(grid)
        largest = [self.variances[0]]
        nodes, digit = {edges.root: self.variances[0]}, 0
        for fanout, variance in zip(self.fanouts, self.variances[1:], strict=True):
            # Blocks are classified by the states of their node and themselves: one variance each.
            blocks = {(state, state) for state in nodes}
            k, last = fanout, digit
            while k > 1:
                k //= radices[last]
                last += 1
            for at in range(digit, last):
                blocks = {(top, low) for top, state in blocks for low in edges.below(state, at)}
                held = {
                    (top, state): _of_children(
                        edges.children(state, at + 1, last),
                        edges.children(top, digit, last),
                        variance,
                        nodes[top],
                    )
                    for top, state in blocks
                }
                largest.append(max(held.values()))
            if last > digit:
                states = {state for _, state in held}
                nodes = {s: max(v for (_, low), v in held.items() if low == s) for s in states}
            digit = last
        return np.array(largest)

    def _bound(self, radices: Sequence[int]) -> NDArray[np.float64]:
        """Return upper bounds of the variances if a node may have any of its children."""
        digits = iter(radices)
        bounds = [self.variances[0]]
        for fanout, variance in zip(self.fanouts, self.variances[1:], strict=True):
            k, node = fanout, bounds[-1]
            while k > 1:
                k //= next(digits)
                m = np.arange(1, fanout + 1, dtype=np.float64)
                minimum, maximum = np.maximum(1, m - (fanout - k)), np.minimum(m, k)
                # variance j - bend j**2 is largest at an end, or at its vertex if it bends down.
                bend = variance / m - node / m**2
                vertex = variance / (2 * np.where(bend > 0, bend, np.inf))
                tried = [minimum, maximum, np.clip(vertex, minimum, maximum)]
                bounds.append(max(float(_of_children(j, m, variance, node).max()) for j in tried))
        return np.array(bounds)

    def region(self, key: NDArray[np.uint64], grid: Grid | None = None) -> float:
        """Return the variance of the sum over cells.

        Parameters
        ----------
        key : uint64[n]
            Keys of the cells, strictly increasing.
        grid : Grid, optional
            Grid whose domain excludes children of nodes: a node is apportioned to those that
            overlap the domain. Default: all keys are cells.
        """
        if grid is not None and grid.size < prod(self.fanouts):
            return self._region_of(key, grid)
        stride = prod(self.fanouts)
        # A[0] of the module's equation, for the root.
        squares = [(key.size / stride) ** 2]
        for fanout in self.fanouts:
            stride //= fanout
            node = key // np.uint64(stride)
            first = np.flatnonzero(np.concatenate([[True], node[1:] != node[:-1]])[: node.size])
            inside = np.diff(np.append(first, node.size)) / stride
            squares.append(float(inside @ inside))
        steps = zip(self.fanouts, self.variances[1:], squares[:-1], squares[1:], strict=True)
        # The module's equation, sum over levels of V[i] (A[i] - b[i] A[i - 1]).
        below = sum(variance * (fine - fanout * coarse) for fanout, variance, coarse, fine in steps)
        return self.variances[0] * squares[0] + below

    def _region_of(self, key: NDArray[np.uint64], grid: Grid) -> float:
        """Return the variance for a domain, from the cells up.

        ``a(v)`` is the sum of ``a(c)`` over v's possible children, divided by their number b_v.
        """
        node, part = key, np.ones(key.size)
        total_variance, stride = 0.0, 1
        for fanout, variance in zip(
            reversed(self.fanouts), reversed(self.variances[1:]), strict=True
        ):
            above = node // np.uint64(fanout)
            first = np.flatnonzero(np.concatenate([[True], above[1:] != above[:-1]])[: above.size])
            above = above[first]
            total = np.add.reduceat(part, first) if first.size else part
            possible = possible_children(grid, above, fanout, stride)
            squares = np.add.reduceat(part * part, first) if first.size else part
            total_variance += variance * float((squares - total**2 / possible).sum())
            node, part, stride = above, total / possible, stride * fanout
        return total_variance + self.variances[0] * float((part * part).sum())


def _of_children(j: Any, children: Any, variance: float, node: float) -> Any:
    """Return the variance of the sum of j of a node's children."""
    return j * variance * (1 - j / children) + (j / children) ** 2 * node


def possible_children(
    grid: Grid, above: NDArray[np.uint64], fanout: int, stride: int
) -> NDArray[np.float64]:
    """Count the children of nodes that overlap the domain: float64[n].

    A child has ``stride`` keys.
    """
    children, some = np.full(above.size, float(fanout)), np.arange(above.size)
    # On a box, only the few nodes at its edges can lack children.
    if grid.domain.is_box:
        keys = stride * fanout
        some = np.flatnonzero(cells_of_box(grid, above, keys) < keys)
    # In chunks, as nodes times fan-out may exceed the memory.
    step = max(1, MAX_CHILDREN // fanout)
    for start in range(0, some.size, step):
        chosen = some[start : start + step]
        _, possible = find_children(grid, above[chosen], fanout, stride)
        children[chosen] = possible.sum(axis=1)
    return children


def find_children(
    grid: Grid | None, above: NDArray[np.uint64], fanout: int, stride: int
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """Find the children of n nodes, of ``stride`` keys each, and which of them are possible.

    Returns
    -------
    uint64[n, fanout], bool[n, fanout]
        Children, and whether they overlap the domain; without a grid all keys are cells.
    """
    child = number_children(above, fanout)
    possible = np.ones(child.size, np.bool_) if grid is None else overlaps(grid, child, stride)
    return child.reshape(-1, fanout), possible.reshape(-1, fanout)


def from_below(fanouts: tuple[int, ...], measured: tuple[float, ...]) -> tuple[float, ...]:
    """Return the variances of the best linear estimates of nodes from measurements
    at or below them.

    A node's own measurement of variance s and the sum of b children, each estimated with V,
    combine to ``s b V / (s + b V)`` (Hay et al. 2010, section 4.1, with a variance per level).

    Parameters
    ----------
    fanouts : tuple of int
    measured : tuple of float
        Variance of the measurements of each level, the root's first; ``math.inf`` for levels that
        are not measured.
    """
    best = [measured[-1]]
    for fanout, s in zip(reversed(fanouts), reversed(measured[:-1]), strict=True):
        below = fanout * best[-1]
        # Hay et al. (2010), section 4.1; in this form a level that is not measured, s = inf, needs
        # no special case.
        best.append(below / (1 + below / s))
    return tuple(reversed(best))


def fourths_from_below(
    fanouts: tuple[int, ...], measured: tuple[float, ...], best: tuple[float, ...]
) -> tuple[float, ...]:
    """Return the fourth cumulants of the estimates of :func:`from_below` with Laplace noise.

    Laplace noise of variance s has ``3 s**2``; the weights are ``w = V / s`` of a node's own
    measurement and ``1 - w`` of its children's sum.
    """
    fourths = [3 * measured[-1] ** 2]
    steps = zip(reversed(fanouts), reversed(measured[:-1]), reversed(best[:-1]), strict=True)
    for fanout, s, v in steps:
        w = v / s
        fourths.append(w**4 * 3 * s**2 + (1 - w) ** 4 * fanout * fourths[-1])
    return tuple(reversed(fourths))


FEW, MORE = 3.69, 1.9
"""Upper 97.5 % bounds of a Poisson mean: 3.69 if nothing was counted; otherwise the count plus 1.9
times its square root (plus the same 3.69)."""

INSIDE, CUT, OUTSIDE = range(3)
"""Children that lie in a region entirely, in part, and not at all."""


@dataclass(frozen=True)
class Drop:
    """The rule by which children are dropped on a level.

    Attributes
    ----------
    threshold : float
        Children with fewer people are dropped.
    scale : float
        Scale of their Laplace noise; 0: noise of another distribution, with the threshold as the
        only bound.
    """

    threshold: float
    scale: float

    def max_people(self, children: Any, retained: Any) -> Any:
        """Return an upper bound of the mean number of people in some dropped children.

        If each of them had ``c`` people, noise would lift it above the threshold with a probability
        that is convex in c, so that equal children hide most people. The bound is the c that the
        number of retained children still allows.

        Parameters
        ----------
        children, retained : float64[n]
            Number of children, and of those that were retained.
        """
        # An upper bound of the chance to be retained, from the number that were: FEW and MORE
        # leave room for its randomness.
        chance = (retained + FEW + MORE * np.sqrt(retained)) / np.maximum(children, 1)
        return self.people_at(chance)

    def people_at(self, chance: Any) -> Any:
        """Return the people of a child whom noise lifts above the threshold with a probability."""
        # Laplace noise exceeds x with probability 0.5 exp(-x / scale), solved for x.
        lifted = self.scale * np.log(0.5 / np.minimum(chance, 0.5))
        return np.maximum(self.threshold - lifted, 0.0)


def find_moved(
    zero: FloatArray,
    retained: FloatArray,
    held: FloatArray,
    drop: Drop,
    first: IntArray | None,
) -> FloatArray:
    """Return upper bounds of the people moved out of regions and into them: float64[2, regions].

    Parameters
    ----------
    zero, retained : float64[3, n]
        Numbers of children released as 0, and of others, of nodes that regions cut: those entirely
        in the region, in part, and outside.
    held : float64[2, n]
        People released in children that are not entirely in the region, and in those that are not
        entirely outside: upper bounds of the people moved out, and in.
    drop : Drop
    first : int64[regions], optional
        Position of each region's first node. Default: every node belongs to another region.
    """
    every = np.maximum(retained.sum(axis=0), 1)
    moved_people = []
    for side, other, limit in ((INSIDE, OUTSIDE, held[0]), (OUTSIDE, INSIDE, held[1])):
        dropped, ours = zero[side] + zero[CUT], retained[side] + retained[CUT]
        moved = dropped * (retained[other] + retained[CUT]) / every
        parts = np.array([moved, dropped + ours, ours, limit])
        if first is not None:
            parts = np.add.reduceat(parts, first, axis=1)
        moved_people.append(np.minimum(parts[0] * drop.max_people(parts[1], parts[2]), parts[3]))
    return np.array(moved_people)
