"""What is done to the children of a block of families, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.chacha import LANES, _lanes
from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import UNDECIDED, UNIFORM_BITS
from geodp.kernels.pyramid.layout import (
    BEGIN,
    DATUM,
    FIRST,
    NOISY,
    PREFIX,
    STOP,
    VARIANCE,
    WORD,
    Z,
)

SLOTS = 7
"""Children that share a block of noise."""


@kernel
def draw(
    words: NDArray[np.uint32],
    stream: np.uint32,
    prefix: NDArray[np.int64],
    shape: tuple[int, int],
    law: tuple[NDArray[np.uint64], NDArray[np.uint32]],
    state: NDArray[np.uint32],
    noise: NDArray[np.int64],
    uniform: NDArray[np.float64],
) -> int:
    """Draw the noise of a block's children, and a number in [0, 1) for each family.

    A family has ``ceil(fanout / 7)`` ChaCha20 blocks: child j takes word ``j % 7`` of block
    ``j // 7``, and word 7 of the first one is the family's own.

    Parameters
    ----------
    words, stream : uint32[8], uint32
        Of the key.
    prefix : int64[n]
        Of at most ``LANES`` nodes.
    shape : int, int
        Children of a node, and width of a row.
    law : uint64[t], uint32[2**b + 1]
        Thresholds and guide, see :func:`geodp.kernels.noise.draw`.
    state : uint32[16 * LANES], written
    noise, uniform : int64[.], float64[n], written
        ``UNDECIDED`` where the table cannot decide.

    Returns
    -------
    int
        Number of undecided draws.
    """
    fanout, width = shape
    parts, undecided = -(-fanout // SLOTS), 0
    for part in range(parts):
        for n in range(prefix.size):
            i = np.uint64(n)  # unsigned: no test for negative indices
            one = np.uint64(prefix[i]) * np.uint64(parts) + np.uint64(part)
            state[i + np.uint64(14 * LANES)] = np.uint32(one & np.uint64(0xFFFFFFFF))
            state[i + np.uint64(15 * LANES)] = np.uint32(one >> np.uint64(32))
        _lanes(words, stream, np.uint32(0), prefix.size, state)
        if part == 0:
            for n in range(prefix.size):
                word = _word(state, 7, np.uint64(n))
                uniform[np.uint64(n)] = np.float64(word >> np.uint64(11)) * 2.0**-53
        for j in range(SLOTS * part, min(SLOTS * part + SLOTS, fanout)):
            row = noise[j * width : j * width + prefix.size]
            undecided += _decide(state, j - SLOTS * part, law, row)
    return undecided


@inline
def _word(state: NDArray[np.uint32], slot: int, lane: np.uint64) -> np.uint64:
    """Word of 64 bits of a lane's block."""
    low = np.uint64(state[np.uint64(2 * slot * LANES) + lane])
    return low | (np.uint64(state[np.uint64((2 * slot + 1) * LANES) + lane]) << np.uint64(32))


@kernel
def _decide(
    state: NDArray[np.uint32],
    slot: int,
    law: tuple[NDArray[np.uint64], NDArray[np.uint32]],
    noise: NDArray[np.int64],
) -> int:
    """Draw from one word of every lane, as :func:`geodp.kernels.noise.draw` does."""
    threshold, guide = law
    one, shift, buckets = np.uint64(1), np.uint64(UNIFORM_BITS), guide.size
    while buckets > 1:
        buckets >>= 1
        shift -= one
    undecided = 0
    for n in range(noise.size):
        i = np.uint64(n)
        word = _word(state, slot, i)
        sign = -np.int64(word >> np.uint64(63))
        u = word & np.uint64(0x7FFFFFFFFFFFFFFF)
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
def add_counts(
    nodes: NDArray[np.int64],
    shape: tuple[int, int],
    stride: int,
    key: NDArray[np.uint64],
    cumulative: NDArray[np.int64],
    scratch: NDArray[np.int64],
) -> None:
    """Add the counts of a block's children to their noise, as integers.

    Parameters
    ----------
    nodes : int64[6, n]
        Those that have these children.
    shape : int, int
        Children of a node, and width of a row.
    stride : int
        Keys of a child: child j covers those from ``(prefix * fanout + j) * stride`` on.
    key, cumulative : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    scratch : int64[3, .], changed
        ``NOISY``: noise of the children; afterwards their counts with noise. The others are
        written.
    """
    fanout, width = shape
    noisy, datum, begin = scratch[NOISY], scratch[DATUM], scratch[BEGIN]
    one, step, found_data = np.uint64(1), np.uint64(fanout), 0
    for f in range(nodes.shape[1]):
        low, end = np.uint64(nodes[FIRST, f]), np.uint64(nodes[STOP, f])
        datum[f] = -1
        if low == end:
            continue
        datum[f] = found_data
        at, place = np.uint64(found_data * (fanout + 1)), np.uint64(f)
        bound = np.uint64(nodes[PREFIX, f]) * step * np.uint64(stride)
        for j in range(step):
            begin[at + j] = np.int64(low)
            bound = bound + np.uint64(stride)  # may be 2**64, which is 0: the last key is one less
            found, left = low, end - low
            while left > np.uint64(0):  # no branch on what is found
                half = (left + one) >> one
                found += half * np.uint64(key[found + half - one] <= bound - one)
                left -= half
            noisy[place] += cumulative[found] - cumulative[low]
            place += np.uint64(width)
            low = found
        begin[at + step] = np.int64(end)
        found_data += 1


@kernel
def estimate(
    noisy: NDArray[np.int64],
    families: int,
    shape: tuple[int, int],
    own: float,
    estimates: NDArray[np.float64],
) -> None:
    """First estimates of a block's children, and their variances: the measurements themselves.

    All that follows looks at these alone. An estimate from more than the measurement, such as an
    earlier release's, takes this function's place.

    Parameters
    ----------
    noisy : int64[.]
        Counts with noise.
    families : int
    shape : int, int
        Children of a node, and width of a row.
    own : float
        Variance of the measurements.
    estimates : float64[2, .], written
    """
    fanout, width = shape
    z, variance = estimates[Z], estimates[VARIANCE]
    for j in range(fanout):
        row = np.uint64(j * width)
        for f in range(families):
            i = row + np.uint64(f)
            z[i] = np.float64(noisy[i])
            variance[i] = own


@kernel
def find_candidates(
    total: NDArray[np.int64],
    shape: tuple[int, int],
    estimates: NDArray[np.float64],
    lane: NDArray[np.float64],
    mask: NDArray[np.uint64],
) -> None:
    """Mark the children that are not below 0 for every tau that can be.

    The largest child of a family gets no more than the total, which bounds tau from below, as in
    :func:`geodp.kernels.pyramid.shares.share`.

    Parameters
    ----------
    total : int64[n]
        Of the families.
    shape : int, int
        Children of a node, and width of a row.
    estimates : float64[2, .]
    lane : float64[2 or more, LANES]
        The first two rows are overwritten.
    mask : uint64[.], written
    """
    fanout, width = shape
    best, least, z, variance = lane[0], lane[1], estimates[Z], estimates[VARIANCE]
    for f in range(total.size):
        i = np.uint64(f)
        best[i], least[i] = -np.inf, 0.0
    for j in range(fanout):
        row = np.uint64(j * width)
        for f in range(total.size):
            i = np.uint64(f)
            spread = variance[row + i]
            one = z[row + i] if spread > 0 else -np.inf
            best[i] = one if one > best[i] else best[i]
            least[i] = spread if spread > least[i] else least[i]
    for f in range(total.size):
        i = np.uint64(f)
        goal = np.float64(total[i])
        tau = (best[i] - goal) / least[i]
        least[i] = -np.inf if best[i] <= goal else tau
    for first in range(0, fanout, WORD):
        word = np.uint64(first // WORD * width)
        for f in range(total.size):
            mask[word + np.uint64(f)] = np.uint64(0)
        for j in range(first, min(first + WORD, fanout)):
            row, bit = np.uint64(j * width), np.uint64(1) << np.uint64(j - first)
            for f in range(total.size):
                i = np.uint64(f)
                spread = variance[row + i]
                some = (spread > 0) & (z[row + i] > least[i] * spread)
                mask[word + i] |= bit if some else np.uint64(0)


@kernel
def combine_rows(
    estimates: NDArray[np.float64],
    shape: tuple[int, int],
    own: float,
    lane: NDArray[np.float64],
    place: NDArray[np.int64],
    above_z: NDArray[np.float64],
    above_variance: NDArray[np.float64],
) -> None:
    """Best linear estimates of a block's nodes, as :func:`geodp.kernels.pyramid.shares.combine`.

    Parameters
    ----------
    estimates : float64[2, .]
        Of the children.
    shape : int, int
        Children of a node, and width of a row.
    own : float
        Variance of a node's own measurement.
    lane : float64[2 or more, LANES]
        The first two rows are overwritten.
    place : int64[n]
        Of each node in ``above_z``.
    above_z, above_variance : float64[.]
        The nodes' own measurements and variances, overwritten with the estimates'.
    """
    fanout, width = shape
    z, variance, below, spread = estimates[Z], estimates[VARIANCE], lane[0], lane[1]
    for f in range(place.size):
        below[np.uint64(f)], spread[np.uint64(f)] = 0.0, 0.0
    for j in range(fanout):
        row = np.uint64(j * width)
        for f in range(place.size):
            i = np.uint64(f)
            one = variance[row + i]
            below[i] += z[row + i] if one > 0 else 0.0
            spread[i] += one
    for f in range(place.size):
        weight = spread[f] / (spread[f] + own)
        i = np.uint64(place[f])
        above_z[i] = weight * above_z[i] + (1 - weight) * below[f]
        above_variance[i] = weight * own
