"""Noise of tree nodes as a pure function of (key, stream, node).

A node's id is ``1 << level | prefix``, the root's is 1. Four levels of a binary tree share one
ChaCha20 block: the block belongs to the ancestor-or-self (the *group*) on the nearest level that
is a multiple of four above the leaves, or to the root; the nodes of its subtree of up to four
levels take its words 0 to 14 in heap order (the *slot*). A word has 32 bits: sign and 27 digits of
a draw, and 4 bits beside it, of which the lowest is the node's rounding bit. Counted from the
leaves, no block serves less than four of the lowest levels, which have the most nodes.

Of other trees a node's children share its blocks, and the items of a list share blocks of 16.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import chacha
from geodp.kernels.chacha import LANES
from geodp.kernels.jit import inline, kernel

UNDECIDED = np.iinfo(np.int64).min
"""Marks a draw that the table cannot decide; ``geodp.privacy.noise`` decides it exactly."""

LEVELS = 4
"""Levels of a binary tree that share a block."""

FIRST_BITS = 27
"""Digits of the uniform number in a word of 32 bits, after its sign and before a nibble."""

BUCKET_BITS = 12
"""Digits of it that the table of :class:`NoiseTable` sees."""

MARK = np.int16(-(1 << 15))
"""In that table: further digits decide."""

FURTHER = np.uint32(1 << 31)
"""The bit of a stream that marks the blocks of further digits, one node's each."""


class NoiseTable(NamedTuple):
    """A symmetric law on the integers, as :func:`look_up` draws from it.

    Attributes
    ----------
    value : int16[2**13]
        Of the upper 13 bits of a word, sign and digits: the draw; ``MARK`` where they do not
        decide it.
    first, rest : uint32[t], uint64[t]
        ``floor(2**91 * P(|Z| >= j + 1))``, never increasing: its 27 first digits and the other 64.
        The last one is below ``2**67``.
    guide : uint32[2**b + 1]
        ``guide[i]``: how many of ``first`` are at least ``i << (27 - b)``; b is at most 17.
    """

    value: NDArray[np.int16]
    first: NDArray[np.uint32]
    rest: NDArray[np.uint64]
    guide: NDArray[np.uint32]


@inline
def _signed(magnitude: np.uint64, word: np.uint32) -> np.int64:
    """Return the magnitude with the sign of the word's top bit, without a branch."""
    sign = -np.int64(word >> np.uint32(31))
    return np.int64((np.int64(magnitude) ^ sign) - sign)


@kernel
def look_up(
    word: NDArray[np.uint32], table: NoiseTable, noise: NDArray[np.int64], todo: NDArray[np.int32]
) -> int:
    """Draw from a law by words of 32 bits, as far as these decide.

    The top bit of a word is the sign, and the 27 that follow are the first binary digits of a
    uniform number U; the magnitude is the number of thresholds above U. The 4 bits that are left
    are no part of the draw. Most draws are told by the table; the others are compared with the
    thresholds' first digits, and where these are equal, or U lies below the last threshold,
    :func:`settle` goes on.

    Parameters
    ----------
    word : uint32[n]
    table : Table
    noise : int64[n] or int32[n], written
        But for the places in ``todo``.
    todo : int32[n + 1], written
        Places of the draws that are left, in order.

    Returns
    -------
    int
        How many are left.
    """
    value, first, guide = table.value, table.first, table.guide
    marked = np.uint64(0)
    for n in range(word.size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        drawn = value[np.uint64(word[i] >> np.uint32(31 - BUCKET_BITS))]
        noise[i] = drawn
        todo[marked] = n
        marked += np.uint64(drawn == MARK)
    one, shift, buckets = np.uint64(1), np.uint64(FIRST_BITS), guide.size
    while buckets > 1:  # digits below those that number the bucket
        buckets >>= 1
        shift -= one
    left, last = np.uint64(0), np.uint64(first.size - 1)
    for m in range(marked):
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
def settle(
    key: NDArray[np.uint32],
    stream: np.uint32,
    node: NDArray[np.uint64],
    word: NDArray[np.uint32],
    table: NoiseTable,
    noise: NDArray[np.int64],
    todo: NDArray[np.int32],
) -> int:
    """Decide the draws that :func:`look_up` has left by 64 further digits, each node's own.

    They are the first 64 bits of the node's block in the stream that ``FURTHER`` marks.

    Parameters
    ----------
    key, stream
        As :func:`geodp.kernels.chacha.blocks` takes them; the stream is that of the words.
    node : uint64[k], overwritten
        The ids of the nodes in ``todo``.
    word, table, noise, todo
        As :func:`look_up` was given them and has left them.

    Returns
    -------
    int
        How many are still left, which 91 digits do not decide: the first entries of ``todo`` and
        of ``node``.
    """
    first, rest, size = table.first, table.rest, np.uint64(table.first.size)
    state, one, left = np.empty(16 * LANES, np.uint32), np.uint64(1), 0
    for start in range(0, node.size, LANES):
        own = node[start : start + LANES]
        chacha.lanes(key, np.uint32(stream | FURTHER), np.uint32(0), own, state)
        for n in range(own.size):
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
    """Return a number in [0, 1) from the low nibbles of a block's 16 words, which no draw sees.

    Parameters
    ----------
    state : uint32[16 * LANES]
        As :func:`geodp.kernels.chacha.lanes` writes it.
    lane : int
        Of the block. The first word's nibble holds the first digits; 53 of 64 are taken.
    """
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
    own: NDArray[np.float64],
) -> None:
    """Write the words of all children of n nodes, which have ``ceil(fanout / 16)`` blocks each.

    Parameters
    ----------
    key, stream
        As :func:`geodp.kernels.chacha.blocks` takes them.
    above : uint64[n]
        The nodes.
    word : uint32[n * fanout], written
        Child j takes word ``j % 16`` of block ``above * ceil(fanout / 16) + j // 16``.
    own : float64[n], written
        The nodes' own numbers in [0, 1): the :func:`uniform` of each one's first block.
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
            most = min(fanout - 16 * part, 16)
            for n in range(count):  # unsigned: no test for negative indices
                first, lane = np.uint64((start + n) * fanout + 16 * part), np.uint64(n)
                for j in range(most):
                    word[first + np.uint64(j)] = state[np.uint64(j * LANES) + lane]
                if part == 0:
                    own[np.uint64(start + n)] = uniform(state, n)


@kernel
def locate(
    node: NDArray[np.uint64],
    level: int,
    leaves: int,
    address: NDArray[np.uint64],
    slot: NDArray[np.int64],
) -> None:
    """Write the group's id and the slot of nodes that all lie on one level above the leaves'."""
    up = np.uint64(min((level - leaves) % LEVELS, level))
    first = (np.uint64(1) << up) - np.uint64(1)
    for i in range(node.size):
        address[i] = node[i] >> up
        slot[i] = np.int64(first + (node[i] & first))
