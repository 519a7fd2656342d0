"""Reports of devices about nodes of a tree, on bare arrays: signs, sums of signs, their transform.

With ``p(x)`` the parity of the bits of x, a report of row r and sign y adds ``y (-1)^p(r & v)`` to
what is known of node v. All nodes of a level at once are a Walsh-Hadamard transform of the sums of
signs by row; few nodes are looked up by themselves, 64 reports in a word.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inlined, kernel

WORDS = 256
"""Words of reports that are looked at together: they and all their bits stay in the cache."""


@inlined
def count_bits(word: np.uint64) -> np.uint64:
    """Return how many bits of a word are set."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = np.uint64(0x3333333333333333)
    word = (word & low) + ((word >> np.uint64(2)) & low)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def write_bits(
    key: NDArray[np.uint64],
    bits: int,
    level: NDArray[np.uint8],
    row: NDArray[np.uint64],
    flip: NDArray[np.uint8],
    bit: NDArray[np.uint8],
) -> None:
    """Write what devices send about the halves of their nodes: 1 for -1, 0 for +1.

    Parameters
    ----------
    key : uint64[n]
        Of the devices' cells, below ``2**bits``.
    bits : int
    level : uint8[n]
        Of the nodes, below ``bits``.
    row : uint64[n]
        Below ``2**level``.
    flip : uint8[n]
        1: send the other bit.
    bit : uint8[n], written
    """
    one = np.uint64(1)
    for i in range(key.size):
        half = key[i] >> np.uint64(bits - 1 - level[i])
        odd = count_bits(row[i] & (half >> one)) ^ half
        bit[i] = np.uint8(odd & one) ^ flip[i]


@kernel
def add_signs(
    level: NDArray[np.uint8],
    row: NDArray[np.uint64],
    bit: NDArray[np.uint8],
    bits: int,
    sums: NDArray[np.int64],
) -> int:
    """Add signs to the sums of their rows; return how many reports were in range.

    Parameters
    ----------
    level, row, bit : uint8[n], uint64[n], uint8[n]
    bits : int
        Levels.
    sums : int64[2**bits] or int64[0], changed
        At ``2**level + row``. Empty: reports are looked at only.
    """
    good = 0
    for i in range(level.size):
        if level[i] >= bits or row[i] >> np.uint64(level[i]) or bit[i] > 1:
            continue
        good += 1
        if sums.size:
            sums[(np.uint64(1) << np.uint64(level[i])) | row[i]] += 1 - 2 * np.int64(bit[i])
    return good


@kernel
def transform(sums: NDArray[np.int64]) -> None:
    """Replace sums of signs by row by the sums at every node: a Walsh-Hadamard transform."""
    width = 1
    while width < sums.size:
        for first in range(0, sums.size, 2 * width):
            for i in range(first, first + width):
                a, b = sums[i], sums[i + width]
                sums[i], sums[i + width] = a + b, a - b
        width *= 2


@kernel
def slice_rows(
    row: NDArray[np.uint64], total: NDArray[np.int64], planes: NDArray[np.uint64]
) -> None:
    """Lay reports side by side, 64 in a word: a plane for every bit of a row, the last for signs.

    Parameters
    ----------
    row, total : uint64[n], int64[n]
        Rows and their sums of signs: as many reports as the sum is large.
    planes : uint64[bits + 1, words], written
        0 before; of as many words as the reports need.
    """
    bits, at = planes.shape[0] - 1, 0
    for i in range(row.size):
        for _ in range(abs(total[i])):
            word, mark = at >> 6, np.uint64(1) << np.uint64(at & 63)
            for b in range(bits):
                if row[i] >> np.uint64(b) & np.uint64(1):
                    planes[b, word] |= mark
            if total[i] < 0:
                planes[bits, word] |= mark
            at += 1


@kernel
def look_up(
    prefix: NDArray[np.uint64], planes: NDArray[np.uint64], reports: int, out: NDArray[np.int64]
) -> None:
    """Sums at some nodes of what :func:`slice_rows` laid out.

    From a node to the next only the planes of bits in which they differ are looked at.

    Parameters
    ----------
    prefix : uint64[n]
        Of the nodes, in key order.
    planes : uint64[bits + 1, words]
    reports : int
    out : int64[n], written
    """
    bits, words = planes.shape[0] - 1, planes.shape[1]
    odd = np.empty(WORDS, np.uint64)
    out[:] = reports
    for first in range(0, words, WORDS):
        width, before = min(WORDS, words - first), np.uint64(0)
        odd[:width] = planes[bits, first : first + width]
        for i in range(prefix.size):
            other = before ^ prefix[i]
            before = prefix[i]
            for b in range(bits):
                if other >> np.uint64(b) & np.uint64(1):
                    for j in range(width):
                        odd[j] ^= planes[b, first + j]
            found = np.uint64(0)
            for j in range(width):
                found += count_bits(odd[j])
            out[i] -= 2 * np.int64(found)
