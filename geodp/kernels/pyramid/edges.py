"""Which children of the pyramid's nodes are part of the public domain."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, inline, kernel, part
from geodp.kernels.tree import range_after

NOTHING, SOME, ALL = range(3)
"""What of a node's keys are cells."""

NOWHERE = -(1 << 31)
"""Stands for the noisy count of a child that holds no cell, and for noise that is undecided."""

ROWS = 16
"""In which a block's children stand, see :mod:`geodp.kernels.pyramid.layout`: a block of noise has
so many words, and a word of a mask so many bits."""

STEP = 32
"""Places of a row that are gone through at once: rows end at whole steps, so that none is left."""


class Edges(NamedTuple):
    """A domain: a box of indices, cut down by ranges of keys and by a list of indices.

    Attributes
    ----------
    digit : int64[3, d]
        Of every digit of a key ``RADIX, AXIS, WEIGHT``: it adds ``weight`` times itself to the
        index of its axis.
    level : int64[h + 1, 2 + a]
        Of every level ``DIGITS, CHILD``: digits of its nodes, those that follow are their cells';
        where its children start in ``delta``. Then the indices that a node spans on every axis.
    limit : int64[2, a]
        First index of the box on every axis, and one past the last; a = 0: all keys are cells.
    delta : int64[., a]
        What each child adds to the indices of its node.
    ranges : uint64[r, 2]
        Sorted, disjoint ranges [start, stop) of keys; r = 0: all.
    number : int64[p, c]
        Sorted indices of each of the first p axes that are cells; p = 0: all.
    """

    digit: NDArray[np.int64]
    level: NDArray[np.int64]
    limit: NDArray[np.int64]
    delta: NDArray[np.int64]
    ranges: NDArray[np.uint64]
    number: NDArray[np.int64]


RADIX, AXIS, WEIGHT = range(3)
DIGITS, CHILD = range(2)
LOW, HIGH = range(2)
"""Rows and columns of :class:`Edges`."""


@bare_inline
def pitch_of(fanout: int, families: int) -> int:
    """Places of a row of a block, of which those past the families' parts are nobody's."""
    return int(-(-(-(-fanout // ROWS) * families) // STEP) * STEP)


@bare_inline
def length_of(row: int, fanout: int, shape: tuple[int, int]) -> int:
    """Places of a row that are gone through: all, but where the last part's child is none."""
    size, pitch = shape
    most = -((row - fanout) // ROWS)  # parts that have such a child
    return pitch if most == -(-fanout // ROWS) else most * size


@inline
def _before(number: NDArray[np.int64], bound: int) -> int:
    """How many of sorted numbers are below a bound."""
    low, high = 0, number.size
    while low < high:
        middle = (low + high) // 2
        if number[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@inline
def _locate(edges: Edges, level: int, prefix: int, at: NDArray[np.int64]) -> None:
    """Write the indices of the first cell of a node: ``at`` is int64[a]."""
    at[:] = 0
    for d in range(edges.level[level, DIGITS] - 1, -1, -1):
        above = prefix // edges.digit[RADIX, d]
        own = prefix - above * edges.digit[RADIX, d]
        at[edges.digit[AXIS, d]] += own * edges.digit[WEIGHT, d]
        prefix = above


@inline
def _part_of(edges: Edges, level: int, child: int, at: NDArray[np.int64]) -> int:
    """Return what the box and the lists hold of a child of the node at some indices."""
    found, step = ALL, edges.level[level, CHILD] + child
    for a in range(at.size):
        first = at[a] + edges.delta[step, a]
        after = first + edges.level[level, 2 + a]
        if first >= edges.limit[HIGH, a] or after <= edges.limit[LOW, a]:
            return NOTHING
        if first < edges.limit[LOW, a] or after > edges.limit[HIGH, a]:
            found = SOME
    for a in range(edges.number.shape[0]):
        first = at[a] + edges.delta[step, a]
        after = first + edges.level[level, 2 + a]
        cells = _before(edges.number[a], after) - _before(edges.number[a], first)
        if cells == 0:
            return NOTHING
        if cells < after - first:
            found = SOME
    return found


@part
def has_all(edges: Edges, level: int, prefix: int, stride: int, at: NDArray[np.int64]) -> bool:
    """Whether all keys of a node of a level, of ``stride`` keys, are cells; ``at``: int64[a]."""
    _locate(edges, level, prefix, at)
    for a in range(at.size):
        after = at[a] + edges.level[level, 2 + a]
        if at[a] < edges.limit[LOW, a] or after > edges.limit[HIGH, a]:
            return False
    for a in range(edges.number.shape[0]):
        after = at[a] + edges.level[level, 2 + a]
        cells = _before(edges.number[a], after) - _before(edges.number[a], at[a])
        if cells < after - at[a]:
            return False
    if not edges.ranges.shape[0]:
        return True
    first = np.uint64(prefix) * np.uint64(stride)
    r = range_after(edges.ranges, first)
    if r == edges.ranges.shape[0] or edges.ranges[r, 0] > first:
        return False
    return bool(edges.ranges[r, 1] >= first + np.uint64(stride))


@part
def count_children(
    edges: Edges, level: int, prefix: int, fanout: int, stride: int, at: NDArray[np.int64]
) -> int:
    """Count the children of a node that hold a cell; they are of a level and of ``stride`` keys.

    ``at``: int64[a], overwritten.
    """
    many, found = edges.ranges.shape[0], 0
    _locate(edges, level - 1, prefix, at)
    first = np.uint64(prefix) * np.uint64(fanout) * np.uint64(stride)
    r = range_after(edges.ranges, first)
    for j in range(fanout):
        after = first + np.uint64(stride)
        while r < many and edges.ranges[r, 1] <= first:
            r += 1
        meets = not many or (r < many and edges.ranges[r, 0] < after)
        found += meets and _part_of(edges, level, j, at) != NOTHING
        first = after
    return found


@kernel
def cut(
    edges: Edges,
    level: int,
    nodes: tuple[NDArray[np.int64], NDArray[np.int64]],
    shape: tuple[int, int],
    noisy: NDArray[np.int32],
    lost: NDArray[np.int32],
    part: NDArray[np.uint8],
) -> None:
    """Mark children that hold no cell, and tell of which all keys are cells.

    Parameters
    ----------
    edges : Edges
    level : int
        Of the children.
    nodes : int64[n], int64[n]
        Prefixes of a block's nodes, and 1 where all keys are cells: so are their children's.
    shape : int, int
        Children of a node, and keys of each.
    noisy : int32[.], changed
        ``NOWHERE`` for children without a cell.
    lost : int32[.], written
        How many these are in each family.
    part : uint8[.], written
        ``NOTHING``, ``SOME`` or ``ALL`` for the children of other nodes, one family's after the
        other's.
    """
    fanout, stride = shape
    prefix, whole = nodes
    pitch = pitch_of(fanout, prefix.size)
    at, many = np.empty(edges.limit.shape[1], np.int64), edges.ranges.shape[0]
    for f in range(prefix.size):
        lost[f] = 0
        if whole[f]:
            continue
        _locate(edges, level - 1, prefix[f], at)
        first = np.uint64(prefix[f]) * np.uint64(fanout) * np.uint64(stride)
        r = range_after(edges.ranges, first)
        for j in range(fanout):
            found, after = _part_of(edges, level, j, at), first + np.uint64(stride)
            if many:
                while r < many and edges.ranges[r, 1] <= first:
                    r += 1
                if r == many or edges.ranges[r, 0] >= after:
                    found = NOTHING
                elif edges.ranges[r, 0] > first or edges.ranges[r, 1] < after:
                    found = min(found, SOME)
            part[f * fanout + j] = found
            if found == NOTHING:
                noisy[j % ROWS * pitch + j // ROWS * prefix.size + f] = NOWHERE
                lost[f] += 1
            first = after
