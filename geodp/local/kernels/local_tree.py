"""Reports of devices about nodes of a tree, on bare arrays: signs, and their sums at some nodes.

With ``p(x)`` the parity of the bits of x, a report of row r and sign y adds ``y (-1)^p(r & v)`` to
the sum of node v. All nodes of a level at once are a transform of the sums of signs by row
(:func:`geodp.local.kernels.oracles.transform`); few nodes are looked up here, 64 reports
in a word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.local.kernels.oracles import Digits, below, flip, parity
from geodp.typing import IntArray, WordArray

BATCH = 256
"""Words of reports that are processed together: they and all their bits stay in the cache."""


@inline
def count_bits(word: np.uint64) -> np.uint64:
    """Count the bits of a word that are set."""
    # Sums of neighbouring fields of 1, 2 and 4 bits; the product adds the bytes up.
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    word = (word & low) + ((word >> np.uint64(2)) & low)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def draw(
    first: int,
    unit: WordArray,
    digit: Digits,
    key: NDArray[np.uint64],
    ends: NDArray[np.uint64],
    level: NDArray[np.uint8],
    row: NDArray[np.uint64],
    bit: NDArray[np.uint8],
) -> tuple[int, int]:
    """Draw levels, rows and coins, and write the bits that devices send about their nodes.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
        See :mod:`geodp.local.kernels.oracles`; chance 0 flips a bit.
    key : uint64[n]
        Keys of the devices' cells, below ``2**bits``.
    ends : uint64[bits]
        Cumulative sums of the levels' weights.
    level, row, bit : uint8[n], uint64[n], uint8[n], written from ``first`` on
        The row is below ``2**level``. The bit is 1 for the sign -1: where row and node have an odd
        number of ones in common, or else the device is in the right half of its node, but not
        both.
    """
    used, one = 0, np.uint64(1)
    bits = ends.size
    for i in range(first, key.size):
        chosen, at = below(unit, used, ends[bits - 1])
        here = 0
        while ends[here] <= chosen:
            here += 1
        drawn, at = below(unit, at, one << np.uint64(here))
        flipped, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        half = key[i] >> np.uint64(bits - 1 - here)
        level[i], row[i] = here, drawn
        odd = parity(drawn & (half >> one)) ^ half ^ np.uint64(flipped)
        bit[i] = np.uint8(odd & one)
        used = at
    return key.size, used


@kernel
def draw_levels(
    first: int, unit: WordArray, digit: Digits, ends: NDArray[np.uint64], level: NDArray[np.uint8]
) -> tuple[int, int]:
    """Draw levels by their weights, see :func:`draw`."""
    used = 0
    for i in range(first, level.size):
        chosen, at = below(unit, used, ends[ends.size - 1])
        if at < 0:
            return i, used
        here = 0
        while ends[here] <= chosen:
            here += 1
        level[i] = here
        used = at
    return level.size, used


@kernel
def place_rows(
    level: NDArray[np.uint8],
    row: NDArray[np.uint64],
    bit: NDArray[np.uint8],
    bits: int,
    place: NDArray[np.uint64],
    sign: IntArray,
) -> int:
    """Write ``2**level + row`` and the sign of reports; return how many are in range.

    Parameters
    ----------
    level, row, bit : uint8[n], uint64[n], uint8[n]
    bits : int
        Levels.
    place, sign : uint64[n], int64[n], written
    """
    for i in range(level.size):
        # The position of the first bad report is returned, so that an error can name it.
        if level[i] >= bits or row[i] >> np.uint64(level[i]) or bit[i] > 1:
            return i
        place[i] = (np.uint64(1) << np.uint64(level[i])) | row[i]
        sign[i] = 1 - 2 * np.int64(bit[i])
    return level.size


@kernel
def slice_rows(row: NDArray[np.uint64], total: IntArray, planes: NDArray[np.uint64]) -> None:
    """Transpose reports, 64 in a word: a plane for every bit of a row, the last one for signs.

    Parameters
    ----------
    row, total : uint64[n], int64[n]
        Rows and their sums of signs: a sum of s stands for |s| reports of its sign.
    planes : uint64[bits + 1, words], written
        0 before; with as many words as the reports need.
    """
    bits, at = planes.shape[0] - 1, 0
    for i in range(row.size):
        for _ in range(abs(total[i])):
            word, position = at >> 6, np.uint64(1) << np.uint64(at & 63)
            for b in range(bits):
                if row[i] >> np.uint64(b) & np.uint64(1):
                    planes[b, word] |= position
            if total[i] < 0:
                planes[bits, word] |= position
            at += 1


@kernel
def look_up(
    prefix: NDArray[np.uint64], planes: NDArray[np.uint64], reports: int, out: IntArray
) -> None:
    """Look up the sums at some nodes of the reports that :func:`slice_rows` laid out.

    From one node to the next, only the planes of bits in which they differ are read.

    Parameters
    ----------
    prefix : uint64[n]
        Nodes, in key order.
    planes : uint64[bits + 1, words]
    reports : int
        Number of reports.
    out : int64[n], written
    """
    bits, columns = planes.shape[0] - 1, planes.shape[1]
    odd = np.empty(BATCH, np.uint64)
    out[:] = reports
    for first in range(0, columns, BATCH):
        width, before = min(BATCH, columns - first), np.uint64(0)
        # The running parity starts with the signs, and each bit of the node flips its plane.
        odd[:width] = planes[bits, first : first + width]
        for i in range(prefix.size):
            other = before ^ prefix[i]
            before = prefix[i]
            for b in range(bits):
                if other >> np.uint64(b) & np.uint64(1):
                    for j in range(width):
                        odd[j] ^= planes[b, first + j]
            odd_reports = np.uint64(0)
            for j in range(width):
                odd_reports += count_bits(odd[j])
            out[i] -= 2 * np.int64(odd_reports)


@kernel
def multiply(
    row: NDArray[np.uint64],
    total: IntArray,
    bits: int,
    value: NDArray[np.uint64],
    out: IntArray,
) -> None:
    """Write the sums at values, from rows with a sum of signs each, 64 reports in a word.

    Parameters
    ----------
    row, total : uint64[m], int64[m]
        Rows below ``2**bits``.
    bits : int
    value : uint64[n]
        Fastest where neighbours differ in few bits.
    out : int64[n], written
    """
    reports = 0
    for i in range(total.size):
        reports += abs(total[i])
    planes = np.zeros((bits + 1, (reports + 63) // 64), np.uint64)
    slice_rows(row, total, planes)
    look_up(value, planes, reports, out)
