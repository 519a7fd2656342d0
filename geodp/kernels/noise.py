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

from geodp.kernels.jit import kernel

UNIFORM_BITS = 63
"""Digits of the uniform number in a node's word; the top bit is the sign."""

UNDECIDED = np.iinfo(np.int64).min
"""Marks a draw that the table cannot decide; ``geodp.privacy.noise`` decides it exactly."""


@kernel
def draw(
    word: NDArray[np.uint64],
    threshold: NDArray[np.uint64],
    guide: NDArray[np.uint32],
    noise: NDArray[np.int64],
) -> int:
    """Draws of a symmetric law on the integers by integer comparison with a table.

    The top bit of a word is the sign, the other 63 are the first binary digits of a uniform
    number U; the magnitude is the number of thresholds above them. Where the digits equal a
    threshold, or lie below the last one, the draw is left ``UNDECIDED``.

    The guide gives bounds of that number. Most of its buckets hold one threshold or none, and
    one comparison without a branch is enough; the others are searched, and so is bucket 0. That
    is where the last threshold lies, so ``guide[bucket + 1]`` is an index everywhere. (Both ways
    store their result: brought together before, they would take twice as long.)

    Parameters
    ----------
    word : uint64[n]
    threshold : uint64[t]
        ``floor(2**63 * P(|Z| >= j + 1))``, never increasing.
    guide : uint32[2**b + 1]
        ``guide[i]``: how many thresholds are at least ``i << (63 - b)``.
    noise : int64[n], written

    Returns
    -------
    int
        Number of undecided draws.
    """
    one, shift, buckets = np.uint64(1), np.uint64(UNIFORM_BITS), guide.size
    while buckets > 1:  # digits below those that number the bucket
        buckets >>= 1
        shift -= one
    undecided = 0
    for n in range(word.size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        sign = -np.int64(word[i] >> np.uint64(63))  # 0 or -1: no branch on a random bit
        u = word[i] & np.uint64(0x7FFFFFFFFFFFFFFF)
        bucket = u >> shift
        low, high = np.uint64(guide[bucket + one]), np.uint64(guide[bucket])
        after = threshold[low]
        if (high - low > one) | (u == after) | (bucket == np.uint64(0)):
            while low < high:
                middle = (low + high) >> one
                if u < threshold[middle]:
                    low = middle + one
                else:
                    high = middle
            if low == np.uint64(threshold.size) or u == threshold[low]:
                noise[i] = UNDECIDED
                undecided += 1
            else:
                noise[i] = (np.int64(low) ^ sign) - sign
        else:
            low += np.uint64(low < high) & np.uint64(u < after)
            noise[i] = (np.int64(low) ^ sign) - sign
    return undecided


@kernel
def children(
    line: NDArray[np.uint64],
    fanout: int,
    word: NDArray[np.uint64],
    uniform: NDArray[np.float64],
) -> None:
    """Words of all children of n nodes, which have ``ceil(fanout / 7)`` blocks each.

    Parameters
    ----------
    line : uint64[8 * n * ceil(fanout / 7)]
        The blocks, as :func:`geodp.kernels.chacha.blocks` writes them: child j takes word
        ``j % 7`` of its node's block ``j // 7``.
    word : uint64[n * fanout], written
    uniform : float64[n], written
        In [0, 1), of word 7 of each node's first block.
    """
    i, block = np.uint64(0), np.uint64(0)
    for n in range(uniform.size):
        last = line[block + np.uint64(7)]
        uniform[np.uint64(n)] = np.float64(last >> np.uint64(11)) * 2.0**-53
        for part in range(0, fanout, 7):
            for slot in range(min(fanout - part, 7)):
                word[i] = line[block + np.uint64(slot)]
                i += np.uint64(1)
            block += np.uint64(8)


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
