"""Noise of tree nodes as a pure function of (key, stream, node).

A node's id is ``1 << level | prefix``, so that of the root is 1. Four levels of a binary tree share
one ChaCha20 block: the block belongs to the node itself or its ancestor (the *group*) on the
nearest level that is a multiple of four above the leaves, or to the root; the nodes of the group's
subtree of up to four levels take words 0 to 14 in heap order (the *slot*). A word has 32 bits: the
sign and 27 digits of a draw, and 4 separate bits, of which the lowest is the node's rounding bit.
Levels are counted from the leaves, so that the lowest ones, which have the most nodes, always fill
their blocks.

In other trees the children of a node share its blocks, and the items of a list share blocks of 16.
See docs/decisions/0001 for the reasons, and docs/proofs/privacy.md, section 6, for the proof that
draws are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import chacha
from geodp.kernels.chacha import LANES
from geodp.kernels.jit import inline, kernel

UNDECIDED = np.iinfo(np.int64).min
"""Stands for a draw that the table cannot decide; ``geodp.privacy.noise`` decides it exactly."""

LEVELS = 4
"""Levels of a binary tree that share a block."""

FIRST_BITS = 27
"""Binary digits of the uniform number in a word of 32 bits, between the sign and a nibble."""

BUCKET_BITS = 12
"""Number of these digits that index the table of :class:`NoiseTable`."""

UNRESOLVED = np.int16(-(1 << 15))
"""Entry of that table where further digits decide."""

FURTHER = np.uint32(1 << 31)
"""The bit of a stream that marks the blocks of further digits, one node's each."""


class NoiseTable(NamedTuple):
    """Tables of a symmetric law on the integers, from which :func:`look_up` draws.

    Attributes
    ----------
    value : int16[2**13]
        The draw by the upper 13 bits of a word, sign and digits; ``UNRESOLVED`` where these do not
        decide it.
    first, rest : uint32[t], uint64[t]
        ``floor(2**91 * P(|Z| >= j + 1))``, never increasing: its first 27 digits and the other 64.
        The last one is below ``2**67``.
    guide : uint32[2**b + 1]
        ``guide[i]`` is the number of entries of ``first`` that are at least ``i << (27 - b)``; b is
        at most 17.
    """

    value: NDArray[np.int16]
    first: NDArray[np.uint32]
    rest: NDArray[np.uint64]
    guide: NDArray[np.uint32]


@inline
def _signed(magnitude: np.uint64, word: np.uint32) -> np.int64:
    """Apply the sign in a word's top bit to a magnitude."""
    # Without a branch: on a random bit, half of all branches would be mispredicted.
    sign = -np.int64(word >> np.uint32(31))
    return np.int64((np.int64(magnitude) ^ sign) - sign)


@kernel
def look_up(
    word: NDArray[np.uint32], table: NoiseTable, noise: NDArray[np.int64], todo: NDArray[np.int32]
) -> int:
    """Draw from a law by inversion with words of 32 bits, as far as these decide.

    The top bit of a word is the sign, and the 27 bits that follow are the first binary digits of a
    uniform number U; the magnitude is the number of thresholds above U. The other 4 bits are not
    part of the draw. Draws that stay open are left to :func:`resolve`.

    Parameters
    ----------
    word : uint32[n]
    table : NoiseTable
    noise : int64[n] or int32[n], written
        Except at the positions in ``todo``.
    todo : int32[n + 1], written
        Positions of the open draws, in order.

    Returns
    -------
    int
        Number of open draws.
    """
    # Exact: thresholds are integers, and a draw is decided only if no further digit of U or of a
    # threshold could change it. Where the first digits are equal, or U lies below the last
    # threshold, it stays open.
    value, first, guide = table.value, table.first, table.guide
    unresolved = np.uint64(0)
    for n in range(word.size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        drawn = value[np.uint64(word[i] >> np.uint32(31 - BUCKET_BITS))]
        noise[i] = drawn
        todo[unresolved] = n
        unresolved += np.uint64(drawn == UNRESOLVED)
    one, shift, buckets = np.uint64(1), np.uint64(FIRST_BITS), guide.size
    while buckets > 1:  # digits below those that number the bucket
        buckets >>= 1
        shift -= one
    left, last = np.uint64(0), np.uint64(first.size - 1)
    for m in range(unresolved):
        i = np.uint64(todo[np.uint64(m)])
        u = np.uint64((word[i] >> np.uint32(4)) & np.uint32((1 << FIRST_BITS) - 1))
        bucket = u >> shift
        low, high = np.uint64(guide[bucket + one]), np.uint64(guide[bucket])
        if high - low > one:
            while low < high:
                middle = (low + high) >> one
                if u < first[middle]:
                    low = middle + one
                else:
                    high = middle
        else:  # one threshold or none: no branch on a random bit
            after = first[min(low, last)]
            low += np.uint64(low < high) & np.uint64(u < after)
        todo[left] = np.int32(i)
        if low < np.uint64(first.size) and u != first[low]:
            noise[i] = _signed(low, word[i])
        else:
            left += one
    return int(np.int64(left))


@kernel
def resolve(
    key: NDArray[np.uint32],
    stream: np.uint32,
    node: NDArray[np.uint64],
    word: NDArray[np.uint32],
    table: NoiseTable,
    noise: NDArray[np.int64],
    todo: NDArray[np.int32],
) -> int:
    """Decide the draws that :func:`look_up` left open by 64 further digits.

    These are the first 64 bits of a node's own block, in the stream with the bit ``FURTHER``.

    Parameters
    ----------
    key, stream
        As for :func:`geodp.kernels.chacha.blocks`; the stream is that of the words.
    node : uint64[k], overwritten
        The ids of the nodes in ``todo``.
    word, table, noise, todo
        The arguments of :func:`look_up`, as it left them.

    Returns
    -------
    int
        Number of draws that 91 digits do not decide: they are the first entries of ``todo`` and of
        ``node``.
    """
    # The digits come from a block of the node, not from the next words of a generator: so they do
    # not depend on which other draws stay open, and threads and blocks do not show.
    first, rest, size = table.first, table.rest, np.uint64(table.first.size)
    state, one, left = np.empty(16 * LANES, np.uint32), np.uint64(1), 0
    for start in range(0, node.size, LANES):
        batch = node[start : start + LANES]
        chacha.lanes(key, np.uint32(stream | FURTHER), np.uint32(0), batch, state)
        for n in range(batch.size):
            i, at = np.uint64(todo[start + n]), node[start + n]
            more = np.uint64(state[n]) | np.uint64(state[LANES + n]) << np.uint64(32)
            u = (word[i] >> np.uint32(4)) & np.uint32((1 << FIRST_BITS) - 1)
            low, high = np.uint64(0), size
            while low < high:
                middle = (low + high) >> one
                if (u < first[middle]) | ((u == first[middle]) & (more < rest[middle])):
                    low = middle + one
                else:
                    high = middle
            todo[left], node[left] = np.int32(i), at
            if low < size and (u != first[low] or more != rest[low]):
                noise[i] = _signed(low, word[i])
            else:
                left += 1
    return left


@inline
def uniform(state: NDArray[np.uint32], lane: int) -> float:
    """Return a number in [0, 1) from the low nibbles of a block's 16 words.

    Parameters
    ----------
    state : uint32[16 * LANES]
        As :func:`geodp.kernels.chacha.lanes` writes it.
    lane : int
        Position of the block. The first word's nibble holds the first digits; 53 of 64 are used.
    """
    # No draw uses these nibbles, so the number is independent of the noise, and costs no block.
    digits = np.uint64(0)
    for j in range(16):
        nibble = np.uint64(state[np.uint64(j * LANES) + np.uint64(lane)] & np.uint32(15))
        digits = (digits << np.uint64(4)) | nibble
    return float(np.float64(digits >> np.uint64(11)) * 2.0**-53)


@kernel
def families(
    key: NDArray[np.uint32],
    stream: np.uint32,
    above: NDArray[np.uint64],
    fanout: int,
    word: NDArray[np.uint32],
    node_uniform: NDArray[np.float64],
) -> None:
    """Compute the words of all children of n nodes, which have ``ceil(fanout / 16)`` blocks each.

    Parameters
    ----------
    key, stream
        As for :func:`geodp.kernels.chacha.blocks`.
    above : uint64[n]
        The nodes.
    word : uint32[n * fanout], written
        Child j takes word ``j % 16`` of block ``above * ceil(fanout / 16) + j // 16``.
    node_uniform : float64[n], written
        The nodes' uniform numbers in [0, 1), from each node's first block: see :func:`uniform`.
    """
    state, address = np.empty(16 * LANES, np.uint32), np.empty(LANES, np.uint64)
    parts = -(-fanout // 16)
    for start in range(0, above.size, LANES):
        count = min(LANES, above.size - start)
        for part in range(parts):
            for n in range(count):
                node = above[np.uint64(start + n)]
                address[np.uint64(n)] = node * np.uint64(parts) + np.uint64(part)
            chacha.lanes(key, stream, np.uint32(0), address[:count], state)
            children = min(fanout - 16 * part, 16)
            for n in range(count):  # unsigned: no test for negative indices
                first, lane = np.uint64((start + n) * fanout + 16 * part), np.uint64(n)
                for j in range(children):
                    word[first + np.uint64(j)] = state[np.uint64(j * LANES) + lane]
                if part == 0:
                    node_uniform[np.uint64(start + n)] = uniform(state, n)


@kernel
def locate(
    node: NDArray[np.uint64],
    level: int,
    leaves: int,
    address: NDArray[np.uint64],
    slot: NDArray[np.int64],
) -> None:
    """Find the id of the group and the slot of each of some nodes of one level above the leaves."""
    up = np.uint64(min((level - leaves) % LEVELS, level))
    first = (np.uint64(1) << up) - np.uint64(1)
    for i in range(node.size):
        address[i] = node[i] >> up
        slot[i] = np.int64(first + (node[i] & first))
