"""Noise of tree nodes as a pure function of (key, stream, node).

A node's id is ``1 << level | prefix``, the root's is 1. Three levels of the tree share one
ChaCha20 block: the block belongs to the ancestor-or-self at the nearest level divisible by
three (the *group*); the nodes of its three-level subtree take its words 0 to 6 in heap order
(the *slot*), and bit ``slot`` of word 7 is the node's rounding bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import kernel

GUIDE_BITS = 12
GUIDE_SHIFT = 63 - GUIDE_BITS

UNDECIDED = np.iinfo(np.int64).min
"""Marks a draw that the table cannot decide; ``randomness`` decides it exactly."""


@kernel
def laplace(
    words: NDArray[np.uint64],
    group: NDArray[np.int64],
    slot: NDArray[np.int64],
    threshold: NDArray[np.uint64],
    guide: NDArray[np.int64],
    noise: NDArray[np.int64],
    rounding: NDArray[np.int64],
) -> int:
    """Discrete Laplace draws by integer comparison with a table.

    The top bit of a node's word is the sign, the other 63 are a uniform number U of 63 bits;
    the magnitude is the number of thresholds above it. Where U equals a threshold's 63 bits,
    or lies below the last one, the draw is left ``UNDECIDED``.

    Parameters
    ----------
    words : uint64[8, g]
        Blocks of the groups.
    group, slot : int64[n]
        Column of a node's block in ``words``, and the node's place in it, 0 to 6.
    threshold : uint64[t]
        ``floor(2**63 * P(|Z| >= j + 1))``, strictly decreasing or equal.
    guide : int64[2**12 + 1]
        ``guide[i]``: how many thresholds are at least ``i << 51``.
    noise : int64[n], written
    rounding : int64[n], written
        0 or 1.

    Returns
    -------
    int
        Number of undecided draws.
    """
    shift = np.uint64(GUIDE_SHIFT)
    undecided = 0
    for i in range(group.size):
        word = words[slot[i], group[i]]
        rounding[i] = np.int64((words[7, group[i]] >> np.uint64(slot[i])) & np.uint64(1))
        u = word & np.uint64(0x7FFFFFFFFFFFFFFF)
        bucket = np.int64(u >> shift)
        low = guide[bucket + 1]
        high = guide[bucket]
        while low < high:
            middle = (low + high) // 2
            if u < threshold[middle]:
                low = middle + 1
            else:
                high = middle
        if low == threshold.size or u == threshold[low]:
            noise[i] = UNDECIDED
            undecided += 1
        elif word >> np.uint64(63):
            noise[i] = -low
        else:
            noise[i] = low
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
