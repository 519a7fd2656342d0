"""Noise of tree nodes as a pure function of (key, stream, node).

A node's id is ``1 << level | prefix``, the root's is 1. Three levels of the tree share one
ChaCha20 block: the block belongs to the ancestor-or-self at the nearest level divisible by
three (the *group*); the nodes of its three-level subtree take its words 0 to 6 in heap order
(the *slot*), and bit ``slot`` of word 7 is the node's rounding bit.
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
def _above(
    u: np.uint64, shift: np.uint64, threshold: NDArray[np.uint64], guide: NDArray[np.uint32]
) -> np.uint64:
    """How many thresholds are above ``u``: the guide gives bounds, bisection the rest."""
    one = np.uint64(1)
    bucket = u >> shift
    low, high = np.uint64(guide[bucket + one]), np.uint64(guide[bucket])
    while low < high:
        middle = (low + high) >> one
        if u < threshold[middle]:
            low = middle + one
        else:
            high = middle
    return low


@inlined
def _shift(buckets: int) -> np.uint64:
    """Digits of U below those that number its bucket of the guide."""
    shift = np.uint64(UNIFORM_BITS)
    while buckets > 1:
        buckets >>= 1
        shift -= np.uint64(1)
    return shift


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
    one = np.uint64(1)
    size = np.uint64(threshold.size)
    last = words[7]
    shift = _shift(guide.size)
    undecided = 0
    for n in range(group.size):
        i, s, g = np.uint64(n), np.uint64(slot[n]), np.uint64(group[n])
        word = words[s, g]
        rounding[i] = np.int64((last[g] >> s) & one)
        u = word & np.uint64(0x7FFFFFFFFFFFFFFF)
        above = _above(u, shift, threshold, guide)
        if above == size or u == threshold[above]:
            noise[i] = UNDECIDED
            undecided += 1
        else:
            sign = -np.int64(word >> np.uint64(63))  # 0 or -1: no branch on a random bit
            noise[i] = (np.int64(above) ^ sign) - sign
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
    size = np.uint64(threshold.size)
    shift = _shift(guide.size)
    column, undecided, first = np.uint64(0), 0, np.uint64(0)
    for _ in range(noise.size // fanout):
        for part in range(0, fanout, 7):
            for slot in range(min(fanout - part, 7)):
                word = words[np.uint64(slot), column]
                u = word & np.uint64(0x7FFFFFFFFFFFFFFF)
                above = _above(u, shift, threshold, guide)
                sign = -np.int64(word >> np.uint64(63))
                drawn = np.float64((np.int64(above) ^ sign) - sign)
                if above == size or u == threshold[above]:
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
    address: NDArray[np.uint64],
    slot: NDArray[np.int64],
) -> None:
    """Write the group's id and the slot of nodes that all lie on one level."""
    up = np.uint64(level % 3)
    first = np.int64((1 << (level % 3)) - 1)
    low = (np.uint64(1) << up) - np.uint64(1)
    for i in range(node.size):
        address[i] = node[i] >> up
        slot[i] = first + np.int64(node[i] & low)
