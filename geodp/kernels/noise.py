"""Noise of tree nodes as a pure function of (key, stream, node).

A node's id is ``1 << level | prefix``, the root's is 1. Three levels of the tree share one
ChaCha20 block: the block belongs to the ancestor-or-self (the *group*) on the nearest level that
is a multiple of three above the leaves, or to the root; the nodes of its subtree of up to three
levels take its words 0 to 6 in heap order (the *slot*), and bit ``slot`` of word 7 is the node's
rounding bit. Counted from the leaves, no block serves less than three of the lowest levels, which
have the most nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import inlined, kernel

UNIFORM_BITS = 63
"""Digits of the uniform number in a node's word; the top bit is the sign."""

UNDECIDED = np.iinfo(np.int64).min
"""Marks a draw that the table cannot decide; ``geodp.noise`` decides it exactly."""


@inlined
def shift_of(guide: NDArray[np.uint32]) -> np.uint64:
    """Digits of U below those that number its bucket of the guide."""
    shift, buckets = np.uint64(UNIFORM_BITS), guide.size
    while buckets > 1:
        buckets >>= 1
        shift -= np.uint64(1)
    return shift


@inlined
def magnitude(
    word: np.uint64, shift: np.uint64, threshold: NDArray[np.uint64], guide: NDArray[np.uint32]
) -> np.int64:
    """How many thresholds are above a word's 63 digits, or UNDECIDED.

    The guide gives bounds. Most buckets hold one threshold or none, and one comparison without a
    branch is enough; the others are searched, and so is the bucket 0. That is where the last
    threshold lies, so that ``guide[bucket + 1]`` is an index.
    """
    one = np.uint64(1)
    u = word & np.uint64(0x7FFFFFFFFFFFFFFF)
    bucket = u >> shift
    low, high = np.uint64(guide[bucket + one]), np.uint64(guide[bucket])
    next_below = threshold[low]
    if (high - low > one) | (u == next_below) | (bucket == np.uint64(0)):
        while low < high:
            middle = (low + high) >> one
            if u < threshold[middle]:
                low = middle + one
            else:
                high = middle
        if low == np.uint64(threshold.size) or u == threshold[low]:
            return np.int64(UNDECIDED)
        return np.int64(low)
    return np.int64(low + (high - low) * np.uint64(u < next_below))


@kernel
def draw(
    words: NDArray[np.uint64],
    group: NDArray[np.int64],
    slot: NDArray[np.int64],
    threshold: NDArray[np.uint64],
    guide: NDArray[np.uint32],
    noise: NDArray[np.int64],
    rounding: NDArray[np.int64],
) -> int:
    """Draws of a symmetric law on the integers by integer comparison with a table.

    The top bit of a node's word is the sign, the other 63 are the first binary digits of a
    uniform number U; the magnitude is the number of thresholds above them. Where the digits
    equal a threshold, or lie below the last one, the draw is left ``UNDECIDED``. Indices are
    unsigned, which spares the test for negative ones.

    Parameters
    ----------
    words : uint64[8, g]
        Blocks of the groups.
    group, slot : int64[n]
        Column of a node's block in ``words``, and the node's place in it, 0 to 6.
    threshold : uint64[t]
        ``floor(2**63 * P(|Z| >= j + 1))``, never increasing.
    guide : uint32[2**b + 1]
        ``guide[i]``: how many thresholds are at least ``i << (63 - b)``.
    noise : int64[n], written
    rounding : int64[n], written
        0 or 1.

    Returns
    -------
    int
        Number of undecided draws.
    """
    last = words[7]
    shift = shift_of(guide)
    undecided = 0
    for n in range(group.size):
        i, s, g = np.uint64(n), np.uint64(slot[n]), np.uint64(group[n])
        word = words[s, g]
        rounding[i] = np.int64((last[g] >> s) & np.uint64(1))
        above = magnitude(word, shift, threshold, guide)
        sign = -np.int64(word >> np.uint64(63))  # 0 or -1: no branch on a random bit
        noise[i] = (above ^ sign) - sign
        if above == UNDECIDED:
            noise[i] = UNDECIDED
            undecided += 1
    return undecided


@kernel
def draw_children(
    words: NDArray[np.uint64],
    fanout: int,
    threshold: NDArray[np.uint64],
    guide: NDArray[np.uint32],
    noise: NDArray[np.float64],
) -> int:
    """Draws for the children of n nodes, ``ceil(fanout / 7)`` blocks a node.

    Child j takes word ``j % 7`` of the node's block ``j // 7``; see :func:`draw`.

    Parameters
    ----------
    words : uint64[8, n * ceil(fanout / 7)]
    threshold, guide : uint64[t], uint32[2**b + 1]
    noise : float64[n * fanout], written
        NaN where a draw is undecided.

    Returns
    -------
    int
        Number of undecided draws.
    """
    shift = shift_of(guide)
    column, undecided, first = np.uint64(0), 0, np.uint64(0)
    for _ in range(noise.size // fanout):
        for part in range(0, fanout, 7):
            for slot in range(min(fanout - part, 7)):
                word = words[np.uint64(slot), column]
                above = magnitude(word, shift, threshold, guide)
                sign = -np.int64(word >> np.uint64(63))
                drawn = np.float64((above ^ sign) - sign)
                if above == UNDECIDED:
                    drawn = np.float64(np.nan)
                    undecided += 1
                noise[first + np.uint64(slot)] = drawn
            first += np.uint64(min(fanout - part, 7))
            column += np.uint64(1)
    return undecided


@kernel
def locate(
    node: NDArray[np.uint64],
    level: int,
    leaves: int,
    address: NDArray[np.uint64],
    slot: NDArray[np.int64],
) -> None:
    """Write the group's id and the slot of nodes that all lie on one level above the leaves'."""
    up = np.uint64(min((level - leaves) % 3, level))
    first = (np.uint64(1) << up) - np.uint64(1)
    for i in range(node.size):
        address[i] = node[i] >> up
        slot[i] = np.int64(first + (node[i] & first))
