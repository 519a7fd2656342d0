"""The edges of the public domain: which children of the pyramid's nodes contain a cell of it.

What is outside the domain has no part in a release: its count is 0 for every table
(docs/proofs/privacy.md, section 4), and with fewer children to share among, the others have smaller
errors. One block of noise serves several children, so noise is also drawn for children outside, and
ignored. Masks have a bit for each child of a family.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, inline, kernel, part
from geodp.kernels.tree import range_after

NOTHING, SOME, ALL = range(3)
"""Fractions of a node that lie in the domain."""

NOWHERE = -(1 << 31)
"""Stands for the noisy count of a child that contains no cell, and for noise that is undecided."""

ROWS = 16
"""Number of rows of a block's children, see :mod:`geodp.kernels.pyramid.layout`: also the number of
words of a cipher block, and of bits used in a word of a mask."""

STEP = 32
"""Unit of the length of a row: a multiple of all vector widths, so that loops have no remainder."""


class Edges(NamedTuple):
    """A domain: a box of indices, reduced by ranges of keys and by a list of indices.

    Attributes
    ----------
    digit : int64[3, d]
        For every digit of a key ``RADIX, AXIS, WEIGHT``: it adds ``weight`` times its value to the
        index of its axis.
    level : int64[h + 1, 2 + a]
        For every level ``DIGITS, CHILD``: the number of digits of its nodes' prefixes, and where
        its children start in ``delta``; then the number of indices of a node on every axis.
    limit : int64[2, a]
        First index of the box on every axis, and one past the last; a = 0: all keys are cells.
    delta : int64[., a]
        What each child adds to the indices of its node.
    ranges : uint64[r, 2]
        Sorted, disjoint ranges [start, stop) of keys; r = 0: all.
    number : int64[p, c]
        Sorted indices in the domain of each of the first p axes; p = 0: all.
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
    """Return the length of a block's row; positions after those of the families are padding."""
    return int(-(-(-(-fanout // ROWS) * families) // STEP) * STEP)


@bare_inline
def length_of(row: int, fanout: int, shape: tuple[int, int]) -> int:
    """Return how many positions of a row are processed: all, unless the last part has no child."""
    size, pitch = shape
    parts = -((row - fanout) // ROWS)  # parts that have such a child
    return pitch if parts == -(-fanout // ROWS) else parts * size


@inline
def _before(number: NDArray[np.int64], bound: int) -> int:
    """Count the sorted numbers below a bound."""
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
    """Compute the indices of the first cell of a node: ``at`` is int64[a]."""
    at[:] = 0
    for d in range(edges.level[level, DIGITS] - 1, -1, -1):
        above = prefix // edges.digit[RADIX, d]
        value = prefix - above * edges.digit[RADIX, d]
        at[edges.digit[AXIS, d]] += value * edges.digit[WEIGHT, d]
        prefix = above


@inline
def _part_of(edges: Edges, level: int, child: int, at: NDArray[np.int64]) -> int:
    """Return how much of a child lies in the box and the lists; ``at``: indices of its parent."""
    extent, step = ALL, edges.level[level, CHILD] + child
    # The box first, which is cheap and decides most children; then the lists of single indices.
    for a in range(at.size):
        first = at[a] + edges.delta[step, a]
        after = first + edges.level[level, 2 + a]
        if first >= edges.limit[HIGH, a] or after <= edges.limit[LOW, a]:
            return NOTHING
        if first < edges.limit[LOW, a] or after > edges.limit[HIGH, a]:
            extent = SOME
    for a in range(edges.number.shape[0]):
        first = at[a] + edges.delta[step, a]
        after = first + edges.level[level, 2 + a]
        cells = _before(edges.number[a], after) - _before(edges.number[a], first)
        if cells == 0:
            return NOTHING
        if cells < after - first:
            extent = SOME
    return extent


@part
def count_children(
    edges: Edges, level: int, prefix: int, fanout: int, stride: int, at: NDArray[np.int64]
) -> int:
    """Count the children of a node that contain a cell.

    ``level`` and ``stride`` are those of the children; ``at``: int64[a], overwritten.
    """
    many, count = edges.ranges.shape[0], 0
    _locate(edges, level - 1, prefix, at)
    # Keys are unsigned: the last key of a domain of 64 bits does not fit int64.
    first = np.uint64(prefix) * np.uint64(fanout) * np.uint64(stride)
    r = range_after(edges.ranges, first)
    for j in range(fanout):
        after = first + np.uint64(stride)
        while r < many and edges.ranges[r, 1] <= first:
            r += 1
        meets = not many or (r < many and edges.ranges[r, 0] < after)
        count += meets and _part_of(edges, level, j, at) != NOTHING
        first = after
    return count


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
    """Find the children that contain no cell, and those all of whose keys are cells.

    Parameters
    ----------
    edges : Edges
    level : int
        Level of the children.
    nodes : int64[n], int64[n]
        Prefixes of a block's nodes, and 1 if all keys of the node are cells.
    shape : int, int
        Children of a node, and keys of each.
    noisy : int32[.], changed
        Set to ``NOWHERE`` for children without a cell.
    lost : int32[.], written
        Number of these in each family.
    part : uint8[.], written
        ``NOTHING``, ``SOME`` or ``ALL`` for the children of nodes that the domain cuts, family by
        family.
    """
    fanout, stride = shape
    prefix, full = nodes
    pitch = pitch_of(fanout, prefix.size)
    at, many = np.empty(edges.limit.shape[1], np.int64), edges.ranges.shape[0]
    for f in range(prefix.size):
        lost[f] = 0
        if full[f]:
            continue
        _locate(edges, level - 1, prefix[f], at)
        first = np.uint64(prefix[f]) * np.uint64(fanout) * np.uint64(stride)
        # Children follow each other in key order, so the search for their ranges only moves
        # forward.
        r = range_after(edges.ranges, first)
        for j in range(fanout):
            extent, after = _part_of(edges, level, j, at), first + np.uint64(stride)
            if many:
                while r < many and edges.ranges[r, 1] <= first:
                    r += 1
                if r == many or edges.ranges[r, 0] >= after:
                    extent = NOTHING
                elif edges.ranges[r, 0] > first or edges.ranges[r, 1] < after:
                    extent = min(extent, SOME)
            part[f * fanout + j] = extent
            if extent == NOTHING:
                noisy[j % ROWS * pitch + j // ROWS * prefix.size + f] = NOWHERE
                lost[f] += 1
            first = after


_PLACES = np.zeros(67, np.uint8)
_PLACES[[2**bit % 67 for bit in range(64)]] = np.arange(64)
"""Position of the bit of a power of 2, by its remainder modulo 67: as 2 is a primitive root of 67,
the remainders of all 64 powers differ."""

WORDS = 4
"""Words of a family's mask that are combined into one word of 64 bits."""


@bare_inline
def bit_of(power: np.uint64) -> np.uint64:
    """Return the position of the only 1 bit of a power of 2 below ``2**64``."""
    # A table of 67 bytes, which stays in the cache.
    return np.uint64(_PLACES[power % np.uint64(67)])


@bare_inline
def list_children(
    mask: NDArray[np.uint32],
    noisy: NDArray[np.int32],
    fanout: int,
    lane: tuple[int, int, int],
    to: tuple[NDArray[np.uint64], NDArray[np.int32]],
) -> np.uint64:
    """List a family's children whose bits are set in a mask, in order, and count them.

    Parameters
    ----------
    mask : uint32[.]
        Words at ``lane[0]``, ``lane[0] + lane[1]`` ...
    noisy : int32[.]
        Children at the same positions; rows are ``lane[2]`` apart.
    fanout : int
    lane : int, int, int
    to : uint64[.], int32[.], written
        The children's numbers, and their noisy counts.
    """
    (child, z), here, step, pitch = to, np.uint64(lane[0]), np.uint64(lane[1]), np.uint64(lane[2])
    count, last = np.uint64(0), np.uint64(ROWS - 1)
    for j in range(0, fanout, ROWS * WORDS):
        word = np.uint64(mask[here])
        for p in range(1, min(WORDS, -((j - fanout) // ROWS))):
            more = np.uint64(mask[here + np.uint64(p) * step])
            word |= more << np.uint64(ROWS * p)
        while word:
            # A number and its negative have exactly the lowest 1 bit in common.
            power = word & (~word + np.uint64(1))
            bit = bit_of(power)
            child[count] = np.uint64(j) + bit
            z[count] = noisy[(bit & last) * pitch + (bit >> np.uint64(4)) * step + here]
            count += np.uint64(1)
            word ^= power
        here += np.uint64(WORDS) * step
    return count
