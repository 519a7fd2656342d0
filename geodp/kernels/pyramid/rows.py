"""What is done to the children of a block of families, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.chacha import LANES, lanes
from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import UNDECIDED, Table, look_up, settle
from geodp.kernels.pyramid.edges import NOWHERE
from geodp.kernels.pyramid.layout import (
    BEGIN,
    DATUM,
    FIRST,
    PREFIX,
    STOP,
    SUMS,
    THRESHOLDS,
    WORD,
)

WORDS = 16
"""Children that share a block of noise."""

SUB_BITS = 15
"""Digits of a draw below those that number its bucket."""


@inline
def wrap(number: np.int64) -> np.int32:
    """Return a whole number modulo ``2**32``, written so that it overflows nowhere."""
    return np.int32(((number + 2147483648) & 4294967295) - 2147483648)


@kernel
def draw(
    words: NDArray[np.uint32],
    stream: np.uint32,
    prefix: NDArray[np.int64],
    shape: tuple[int, int],
    law: tuple[Table, NDArray[np.int32]],
    state: NDArray[np.uint32],
    noise: NDArray[np.int32],
    digits: NDArray[np.uint32],
) -> int:
    """Draw the noise of a block's children.

    The same as :meth:`geodp.privacy.noise.node.NodeNoise.families`, from lanes where they lie.

    Parameters
    ----------
    words, stream : uint32[8], uint32
        Of the key.
    prefix : int64[n]
        Of at most ``LANES`` nodes.
    shape : int, int
        Children of a node, and width of a row.
    law : Table, int32[2**12]
        The law, and its buckets: see :attr:`geodp.privacy.noise.law.Law.bucket`.
    state : uint32[16 * LANES], overwritten
    noise : int32[.], written
        ``NOWHERE`` where 91 digits do not decide.
    digits : uint32[2, LANES], written
        Digits of the families' own numbers, see :func:`own_number`.

    Returns
    -------
    int
        Number of undecided draws.
    """
    fanout, width = shape
    size, parts, undecided = prefix.size, -(-fanout // WORDS), 0
    address = np.empty(size, np.uint64)
    for part in range(parts):
        for n in range(size):
            i = np.uint64(n)  # unsigned: no test for negative indices
            address[i] = np.uint64(prefix[i]) * np.uint64(parts) + np.uint64(part)
        lanes(words, stream, np.uint32(0), address, state)
        if part == 0:
            _collect_nibbles(state, size, digits)
        for j in range(WORDS * part, min(WORDS * part + WORDS, fanout)):
            word = state[(j - WORDS * part) * LANES :][:size]
            drawn = noise[j * width :][:size]
            if _look_up_row(word, law[1], drawn):
                child = (j, fanout)
                undecided += _finish_row(words, stream, prefix, child, word, law[0], drawn)
    return undecided


@inline
def _look_up_row(
    word: NDArray[np.uint32], bucket: NDArray[np.int32], drawn: NDArray[np.int32]
) -> bool:
    """Draw by one comparison each, without a branch; whether some are left, marked NOWHERE."""
    left = np.int32(0)
    for n in range(drawn.size):
        i = np.uint64(n)
        entry = bucket[np.uint64((word[i] >> np.uint32(4 + SUB_BITS)) & np.uint32(4095))]
        below = np.int32((word[i] >> np.uint32(4)) & np.uint32((1 << SUB_BITS) - 1))
        edge = np.int32(entry & np.int32(65535))
        sign = -np.int32(word[i] >> np.uint32(31))
        magnitude = np.int32(entry >> np.int32(16)) + np.int32(below < edge)
        one = np.int32((np.int32(magnitude) ^ sign) - sign)
        open_ = (below == edge) | (entry < np.int32(-(1 << 30)))
        drawn[i] = np.int32(NOWHERE) if open_ else one
        left |= np.int32(open_)
    return left != 0


@kernel
def _finish_row(
    words: NDArray[np.uint32],
    stream: np.uint32,
    prefix: NDArray[np.int64],
    child: tuple[int, int],
    word: NDArray[np.uint32],
    law: Table,
    drawn: NDArray[np.int32],
) -> int:
    """Draw by all digits what one comparison has left; how many even these do not decide."""
    j, fanout = child
    place, some = np.empty(drawn.size + 1, np.int64), 0
    for i in range(drawn.size):
        place[some] = i
        some += drawn[i] == NOWHERE
    own, noise = np.empty(some, np.uint32), np.empty(some, np.int64)
    todo = np.empty(some + 1, np.int32)
    for e in range(some):
        own[e] = word[place[e]]
    left = look_up(own, law, noise, todo)
    if left:
        node = np.empty(left, np.uint64)
        for e in range(left):
            node[e] = np.uint64(prefix[place[todo[e]]]) * np.uint64(fanout) + np.uint64(j)
        left = settle(words, stream, node, own, law, noise, todo)
        for e in range(left):
            noise[todo[e]] = UNDECIDED
    for e in range(some):
        one = noise[e]
        drawn[place[e]] = NOWHERE if one == UNDECIDED else one
    return left


@inline
def _collect_nibbles(state: NDArray[np.uint32], size: int, digits: NDArray[np.uint32]) -> None:
    """Put the low nibbles of blocks' 16 words together, which no draw sees, eight a word."""
    for half in range(2):
        own = digits[half]
        for n in range(size):
            own[np.uint64(n)] = np.uint32(0)
        for j in range(8 * half, 8 * half + 8):
            row = np.uint64(j * LANES)
            for n in range(size):
                i = np.uint64(n)
                nibble = state[row + i] & np.uint32(15)
                own[i] = np.uint32(own[i] << np.uint32(4)) | nibble


@inline
def own_number(digits: NDArray[np.uint32], family: int) -> float:
    """Return a family's number in [0, 1), of its first 53 digits.

    The same as :func:`geodp.kernels.noise.uniform` of its block.
    """
    upper = np.uint64(digits[0, family]) << np.uint64(32)
    return float(np.float64((upper | np.uint64(digits[1, family])) >> np.uint64(11)) * 2.0**-53)


@kernel
def add_counts(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    shape: tuple[int, int],
    stride: int,
    data: tuple[NDArray[np.uint64], NDArray[np.int64]],
    noisy: NDArray[np.int32],
    scratch: NDArray[np.int64],
) -> int:
    """Add the counts of a block's children to their noise, as integers modulo ``2**32``.

    Parameters
    ----------
    nodes : int64[5, .]
    block : int, int
        First of the block's nodes, and how many there are.
    shape : int, int
        Children of a node, and width of a row.
    stride : int
        Keys of a child: child j covers those from ``(prefix * fanout + j) * stride`` on.
    data : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    noisy : int32[.], changed
        Noise of the children; afterwards their counts with noise.
    scratch : int64[2, .], written

    Returns
    -------
    int
        The largest count of a node.
    """
    (fanout, width), (first, families), (key, cumulative) = shape, block, data
    datum, begin, largest = scratch[DATUM], scratch[BEGIN], 0
    one, step, found_data = np.uint64(1), np.uint64(fanout), 0
    for f in range(families):
        node = np.uint64(first + f)
        low, end = np.uint64(nodes[FIRST, node]), np.uint64(nodes[STOP, node])
        datum[np.uint64(f)] = -1
        if low == end:
            continue
        datum[np.uint64(f)] = found_data
        largest = max(largest, cumulative[end] - cumulative[low])
        at, place = np.uint64(found_data * (fanout + 1)), np.uint64(f)
        bound = np.uint64(nodes[PREFIX, node]) * step * np.uint64(stride)
        for j in range(step):
            begin[at + j] = np.int64(low)
            bound = bound + np.uint64(stride)  # may be 2**64, which is 0: the last key is one less
            found, left = low, end - low
            while left > np.uint64(0):  # no branch on what is found
                half = (left + one) >> one
                found += half * np.uint64(key[found + half - one] <= bound - one)
                left -= half
            if found > low:
                noisy[place] = wrap(np.int64(noisy[place]) + cumulative[found] - cumulative[low])
            place += np.uint64(width)
            low = found
        begin[at + step] = np.int64(end)
        found_data += 1
    return int(largest)


@kernel
def find_candidates(
    total: NDArray[np.int64],
    shape: tuple[int, int],
    noisy: NDArray[np.int32],
    row: NDArray[np.int32],
    mask: NDArray[np.uint32],
) -> None:
    """Mark the children that are not below 0 for every tau that can be, and add all of them up.

    The largest child of a family gets no more than the total, so tau is at least the rest. All have
    the same variance: the same as :func:`geodp.kernels.pyramid.shares.could_be_above_zero`, in
    whole numbers.

    Parameters
    ----------
    total : int64[n]
        Of the families.
    shape : int, int
        Children of a node, and width of a row.
    noisy : int32[.]
        Counts with noise; ``NOWHERE``: the child holds no cell.
    row : int32[2, LANES], written
        ``SUMS``: of each family's children modulo ``2**32``, those that are nowhere too.
    mask : uint32[.], written
        Word w of family f at ``w * width + f``.
    """
    fanout, width = shape
    edge, sums = row[THRESHOLDS], row[SUMS]
    for f in range(total.size):
        i = np.uint64(f)
        edge[i], sums[i] = noisy[i], np.int32(0)
    for j in range(fanout):
        start = np.uint64(j * width)
        for f in range(total.size):
            i = np.uint64(f)
            one = noisy[start + i]
            edge[i] = max(one, edge[i])
            sums[i] = wrap(np.int64(sums[i]) + np.int64(one))
    for f in range(total.size):
        i = np.uint64(f)
        excess = np.int64(edge[i]) - total[i]
        edge[i] = np.int32(excess) if excess > 0 else np.int32(NOWHERE)
    for first in range(0, fanout, WORD):
        word = np.uint64(first // WORD * width)
        for f in range(total.size):
            mask[word + np.uint64(f)] = np.uint32(0)
        for j in range(first, min(first + WORD, fanout)):
            start, bit = np.uint64(j * width), np.uint32(1 << (j - first))
            for f in range(total.size):
                i = np.uint64(f)
                mask[word + i] |= bit if noisy[start + i] > edge[i] else np.uint32(0)
