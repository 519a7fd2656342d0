"""What is done to the children of a block of families, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.chacha import LANES, lanes
from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import UNDECIDED, Table, look_up, settle
from geodp.kernels.pyramid.layout import (
    BEGIN,
    DATUM,
    FIRST,
    NOISY,
    PREFIX,
    START,
    STOP,
    VARIANCE,
    WORD,
    Desk,
    Levels,
    Z,
)
from geodp.kernels.pyramid.masks import list_children

WORDS = 16
"""Children that share a block of noise."""


@inline
def estimates_of(desk: Desk, levels: Levels, level: int) -> NDArray[np.float64]:
    """Return the estimates of a level's block: float64[2, .]."""
    start, after = levels.table[START, level], levels.table[START, level + 1]
    return desk.estimates[2 * start : 2 * after].reshape(2, after - start)


@kernel
def draw(
    words: NDArray[np.uint32],
    stream: np.uint32,
    prefix: NDArray[np.int64],
    shape: tuple[int, int],
    law: Table,
    state: NDArray[np.uint32],
    noise: NDArray[np.int64],
) -> int:
    """Draw the noise of a block's children.

    The same as :func:`geodp.kernels.noise.families` and what follows it, from lanes where they lie.

    Parameters
    ----------
    words, stream : uint32[8], uint32
        Of the key.
    prefix : int64[n]
        Of at most ``LANES`` nodes.
    shape : int, int
        Children of a node, and width of a row.
    law : Table
    state : uint32[16 * LANES], written
        The families' first blocks, which their numbers in [0, 1) are taken from.
    noise : int64[.], written
        ``UNDECIDED`` where 91 digits do not decide.

    Returns
    -------
    int
        Number of undecided draws.
    """
    fanout, width = shape
    size, parts, undecided = prefix.size, -(-fanout // WORDS), 0
    address, todo = np.empty(size, np.uint64), np.empty(size + 1, np.int32)
    for part in range(parts - 1, -1, -1):  # the first block, of the families' numbers, comes last
        for n in range(size):
            i = np.uint64(n)  # unsigned: no test for negative indices
            address[i] = np.uint64(prefix[i]) * np.uint64(parts) + np.uint64(part)
        lanes(words, stream, np.uint32(0), address, state)
        for j in range(WORDS * part, min(WORDS * part + WORDS, fanout)):
            slot = j - WORDS * part
            word, drawn = state[slot * LANES :][:size], noise[j * width :][:size]
            left = look_up(word, law, drawn, todo)
            if left:
                for n in range(left):
                    child = np.uint64(prefix[todo[n]]) * np.uint64(fanout) + np.uint64(j)
                    address[n] = child
                left = settle(words, stream, address[:left], word, law, drawn, todo)
                for n in range(left):
                    drawn[todo[n]] = UNDECIDED
                undecided += left
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
    even: float,
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
    even : float
        The variance of all of them, or 0 where they differ.
    lane : float64[2 or more, LANES]
        The first two rows are overwritten.
    mask : uint64[.], written
    """
    fanout, width = shape
    best, least, z, variance = lane[0], lane[1], estimates[Z], estimates[VARIANCE]
    for f in range(total.size):
        best[np.uint64(f)], least[np.uint64(f)] = -np.inf, even
    for j in range(fanout):
        row = np.uint64(j * width)
        if even > 0:
            for f in range(total.size):
                i = np.uint64(f)
                best[i] = z[row + i] if z[row + i] > best[i] else best[i]
        else:
            for f in range(total.size):
                i = np.uint64(f)
                spread = variance[row + i]
                one = z[row + i] if spread > 0 else -np.inf
                best[i] = one if one > best[i] else best[i]
                least[i] = spread if spread > least[i] else least[i]
    for f in range(total.size):
        i = np.uint64(f)
        excess = best[i] - np.float64(total[i])
        best[i] = excess if excess > 0 else -np.inf
    for first in range(0, fanout, WORD):
        word = np.uint64(first // WORD * width)
        for f in range(total.size):
            mask[word + np.uint64(f)] = np.uint64(0)
        for j in range(first, min(first + WORD, fanout)):
            row, bit = np.uint64(j * width), np.uint64(1) << np.uint64(j - first)
            if even > 0:
                for f in range(total.size):
                    i = np.uint64(f)
                    mask[word + i] |= bit if z[row + i] > best[i] else np.uint64(0)
            else:
                for f in range(total.size):
                    i = np.uint64(f)
                    spread = variance[row + i]
                    some = (spread > 0) & (z[row + i] * least[i] > best[i] * spread)
                    mask[word + i] |= bit if some else np.uint64(0)


@kernel
def combine_rows(
    estimates: NDArray[np.float64],
    shape: tuple[int, int],
    mask: NDArray[np.uint64],
    own: float,
    desk: Desk,
    place: NDArray[np.int64],
    above: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Best linear estimates of a block's nodes from their own measurements and their children's.

    Those of children that are not open come first: they are sums of whole numbers. Then the open
    ones', in order.

    Parameters
    ----------
    estimates : float64[2, .]
        Of the children; variance 0: cannot hold anybody.
    shape : int, int
        Children of a node, and width of a row.
    mask : uint64[.]
        Which children are open.
    own : float
        Variance of a node's own measurement.
    desk : Desk
        The first two lanes and the numbers of a family are overwritten.
    place : int64[n]
        Of each node in ``above``.
    above : float64[.], float64[.]
        The nodes' own measurements and variances, overwritten with the estimates'.
    """
    fanout, width = shape
    z, variance, below, spread = estimates[Z], estimates[VARIANCE], desk.lane[0], desk.lane[1]
    for f in range(place.size):
        below[np.uint64(f)], spread[np.uint64(f)] = 0.0, 0.0
    for j in range(fanout):
        row, word, bit = np.uint64(j * width), np.uint64(j // WORD * width), np.uint64(j % WORD)
        for f in range(place.size):
            i = np.uint64(f)
            shut = (mask[word + i] >> bit) & np.uint64(1) == np.uint64(0)
            one = variance[row + i] if shut else 0.0
            below[i] += z[row + i] if one > 0 else 0.0
            spread[i] += one
    child = desk.family[2][1]
    for f in range(place.size):
        for e in range(list_children(mask, fanout, f, width, child)):
            i = np.uint64(child[e] * width + f)
            below[f] += z[i]
            spread[f] += variance[i]
        weight = spread[f] / (spread[f] + own)
        i = np.uint64(place[f])
        above[Z][i] = weight * above[Z][i] + (1 - weight) * below[f]
        above[VARIANCE][i] = weight * own
