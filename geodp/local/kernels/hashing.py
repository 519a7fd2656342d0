"""Public hash functions of local oracles, and reports that are randomised through them.

A seed of 64 bits is spread by SplitMix64 (Steele, Lea, Flood 2014) to three words a, b, c. The hash
of a value with the halves low and high is the upper half of ``a low + b high + c``, modulo
``2**64`` (multiply-shift for vectors, Dietzfelbinger 1996: for uniform words any two values have
independent, uniform hashes of 32 bits); times the bound, its upper half is a number below it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.local.kernels.oracles import BLOCK, Digits, Values, below, flip, parity
from geodp.typing import IntArray, WordArray

MAX_HASHES = 8
"""Largest number of hash functions of a row of a sketch or of a cohort."""

SEED_BITS, HASH_BITS = 48, 16
"""Bits of the seed and of the hash in a report, which together fill one 64-bit word."""

_HALF = np.uint64(0xFFFFFFFF)


@inline
def _mix(z: np.uint64) -> np.uint64:
    """Compute SplitMix64's output for a state."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def expand(seed: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Derive the three words of a seed."""
    step = np.uint64(0x9E3779B97F4A7C15)
    one = seed + step
    two = one + step
    return _mix(one), _mix(two), _mix(two + step)


@inline
def hash_value(
    a: np.uint64, b: np.uint64, c: np.uint64, value: np.uint64, bound: np.uint64
) -> np.uint64:
    """Hash a value to a number below a bound of at most ``2**32``."""
    # Multiply-shift needs halves of 32 bits for pairwise independence in 64-bit words.
    mixed = a * (value & _HALF) + b * (value >> np.uint64(32)) + c
    return ((mixed >> np.uint64(32)) * bound) >> np.uint64(32)


@kernel
def answer_hashed(
    first: int,
    unit: WordArray,
    digit: Digits,
    value: Values,
    bound: int,
    seed: Values,
    reported: Values,
) -> tuple[int, int]:
    """Draw a hash function for each value, and its hash, or with chance 0 uniformly another.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
    bound : int
        Hashes are below it; at least 2.
    seed, reported : uint64[n], written from ``first`` on
    """
    used = 0
    limit, others = np.uint64(bound), np.uint64(bound - 1)
    seeds = np.uint64(1 << SEED_BITS)
    for i in range(first, value.size):
        drawn, at = below(unit, used, seeds)
        lie, at = flip(unit, at, digit[0])
        a, b, c = expand(drawn)
        hashed = hash_value(a, b, c, value[i], limit)
        if lie:
            other, at = below(unit, at, others)
            hashed = other + np.uint64(other >= hashed)
        if at < 0:
            return i, used
        seed[i] = drawn
        reported[i] = hashed
        used = at
    return value.size, used


@kernel
def count_matches(
    word: Values, count: IntArray, value: Values, bound: int, matches: IntArray
) -> None:
    """Count the reports whose hash is that of each value under their function.

    Parameters
    ----------
    word : uint64[m]
        Reports: the seed, and in the lower ``HASH_BITS`` the hash.
    count : int64[m]
        Frequency of each report.
    value : uint64[n]
    bound : int
    matches : int64[n], written
    """
    matches[:] = 0
    limit, mask = np.uint64(bound), np.uint64((1 << HASH_BITS) - 1)
    # Seeds are expanded once for a block of reports that stays in the cache, not once a value.
    a = np.empty(BLOCK, np.uint64)
    b, c, hashes = np.empty_like(a), np.empty_like(a), np.empty_like(a)
    for start in range(0, word.size, BLOCK):
        size = min(BLOCK, word.size - start)
        for i in range(size):
            a[i], b[i], c[i] = expand(word[start + i] >> np.uint64(HASH_BITS))
            hashes[i] = word[start + i] & mask
        for v in range(value.size):
            total = np.int64(0)
            candidate = value[v]
            for i in range(size):
                same = hash_value(a[i], b[i], c[i], candidate, limit) == hashes[i]
                total += count[start + i] if same else np.int64(0)
            matches[v] += total


@inline
def _positions(
    value: np.uint64, row: np.uint64, hashes: np.int64, shape: Values, place: NDArray[np.uint64]
) -> None:
    """Write the distinct positions of a value in a row, increasing: uint64[hashes]."""
    # The h-th hash counts the positions that are still free, so that all are distinct and every
    # set of positions is equally likely.
    for h in range(hashes):
        a, b, c = expand(shape[0] + row * np.uint64(MAX_HASHES) + np.uint64(h))
        free = hash_value(a, b, c, value, shape[3] - np.uint64(h))
        at = 0
        while at < h and place[at] <= free:
            free += np.uint64(1)
            at += 1
        for later in range(h, at, -1):
            place[later] = place[later - 1]
        place[at] = free


@inline
def _flip_bits(unit: WordArray, at: int, digit: Digits, width: int, bits: NDArray[np.uint8]) -> int:
    """Flip bits in place, a 0 with chance 0 and a 1 with chance 1; return the next unit's place."""
    for byte in range(bits.size):
        flipped = np.uint64(0)
        true = np.uint64(bits[byte])
        for j in range(min(8, width - 8 * byte)):
            bit = (true >> np.uint64(j)) & np.uint64(1)
            outcome, at = flip(unit, at, digit[bit])
            flipped |= np.uint64(outcome) << np.uint64(j)
        bits[byte] = np.uint8(true ^ flipped)
    return at


@kernel
def draw_bits(
    first: int,
    unit: WordArray,
    digit: Digits,
    value: Values,
    shape: Values,
    row: Values,
    bits: NDArray[np.uint8],
) -> tuple[int, int]:
    """Draw a row for each value, unless there is only one, and its bits, flipped by chance.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u]
    digit : uint64[2, k]
        Chances that a 0 and a 1 are flipped.
    value : uint64[n]
    shape : uint64[4]
        The first seed, rows, hash functions of a row, and bits. Without hash functions the bit of
        a value is the one of its number.
    row : uint64[n], bits : uint8[n, b], written from ``first`` on
        Bit j of a report is bit ``j % 8`` of byte ``j // 8``.
    """
    used, hashes, width = 0, np.int64(shape[2]), np.int64(shape[3])
    place = np.empty(max(shape[2], np.uint64(1)), np.uint64)
    for i in range(first, value.size):
        at = used
        drawn = np.uint64(0)
        if shape[1] > np.uint64(1):
            drawn, at = below(unit, at, shape[1])
        if hashes:
            _positions(value[i], drawn, hashes, shape, place)
        else:
            place[0] = value[i]
        bits[i] = 0
        for h in range(place.size):
            bits[i, place[h] >> np.uint64(3)] |= np.uint8(1) << np.uint8(place[h] & np.uint64(7))
        at = _flip_bits(unit, at, digit, width, bits[i])  # type: ignore[arg-type]
        if at < 0:
            return i, used
        row[i] = drawn
        used = at
    return value.size, used


@kernel
def flip_bits(
    first: int,
    unit: WordArray,
    digit: Digits,
    width: int,
    true: NDArray[np.uint8],
    bits: NDArray[np.uint8],
) -> tuple[int, int]:
    """Flip bits that a device has stored, as :func:`draw_bits` does.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[2, k]
    width : int
    true : uint8[n, b]
    bits : uint8[n, b], written from ``first`` on
    """
    used = 0
    for i in range(first, true.shape[0]):
        bits[i] = true[i]
        at = _flip_bits(unit, used, digit, width, bits[i])
        if at < 0:
            return i, used
        used = at
    return true.shape[0], used


@kernel
def add_bits(row: Values, bits: NDArray[np.uint8], width: int, total: IntArray) -> None:
    """Add the bits (uint8[n, b]) of reports to the totals (int64[rows * width]) of their rows."""
    for i in range(row.size):
        start = np.int64(row[i]) * width
        for byte in range(bits.shape[1]):
            eight = np.int64(bits[i, byte])
            for j in range(min(8, width - 8 * byte)):
                total[start + 8 * byte + j] += (eight >> j) & 1


@kernel
def project_hashed(
    first: int,
    unit: WordArray,
    digit: Digits,
    value: Values,
    shape: Values,
    row: Values,
    column: Values,
    bit: NDArray[np.uint8],
) -> tuple[int, int]:
    """Draw a row and a column of a sketch, and the Hadamard entry there, flipped by chance.

    Parameters
    ----------
    first : int
        Number of reports that are drawn already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
    shape : uint64[4]
        As in :func:`draw_bits`, with one hash function and a power of two for the bits.
    row, column : uint64[n], bit : uint8[n], written from ``first`` on
    """
    used = 0
    place = np.empty(1, np.uint64)
    for i in range(first, value.size):
        drawn, at = below(unit, used, shape[1])
        entry, at = below(unit, at, shape[3])
        flipped, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        _positions(value[i], drawn, np.int64(1), shape, place)
        row[i] = drawn
        column[i] = entry
        bit[i] = np.uint8(parity(entry & place[0]) ^ np.uint64(flipped))
        used = at
    return value.size, used


@kernel
def sum_columns(value: Values, shape: Values, total: IntArray, sums: IntArray) -> None:
    """Sum the totals of the columns of each value, over all rows.

    Parameters
    ----------
    value : uint64[n]
    shape : uint64[4]
        As in :func:`draw_bits`.
    total : int64[rows * bits]
    sums : int64[n], written
    """
    sums[:] = 0
    hashes, width = np.int64(shape[2]), np.int64(shape[3])
    place = np.empty(hashes, np.uint64)
    for r in range(np.int64(shape[1])):
        for v in range(value.size):
            _positions(value[v], np.uint64(r), hashes, shape, place)
            for h in range(hashes):
                sums[v] += total[r * width + np.int64(place[h])]


@kernel
def fold(field: Values, word: Values) -> None:
    """Fold a field of reports (uint64[n]) into a word of each (uint64[n], changed)."""
    step = np.uint64(0x9E3779B97F4A7C15)
    for i in range(word.size):
        word[i] = _mix((word[i] ^ field[i]) + step)


@kernel
def checksum(word: Values) -> tuple[np.uint64, np.uint64]:
    """Sum words and a hash of each, modulo ``2**64``, so that their order does not matter."""
    one, other = np.uint64(0), np.uint64(0)
    for i in range(word.size):
        one += word[i]
        other += _mix(word[i])
    return one, other
