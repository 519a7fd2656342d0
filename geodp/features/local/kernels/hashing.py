"""Public hash functions of local oracles, and reports that go through them.

A seed of 64 bits is spread by SplitMix64 (Steele, Lea, Flood 2014) to three words a, b, c. The hash
of a value with the halves low and high is the upper half of ``a low + b high + c``, modulo
``2**64`` (multiply-shift for vectors, Dietzfelbinger 1996: for uniform words any two values have
independent, uniform hashes of 32 bits); times the bound, its upper half is a number below it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.features.local.kernels.oracles import TOGETHER, Digits, Values, below, flip, parity
from geodp.kernels.jit import inline, kernel
from geodp.typing import IntArray, WordArray

MOST_HASHES = 8
"""Hash functions that a row of a sketch or a cohort may have."""

SEED_BITS, TOLD_BITS = 48, 16
"""Of a report's own hash function, and of the hash that it tells: together the word of a report."""

_HALF = np.uint64(0xFFFFFFFF)


@inline
def _mix(z: np.uint64) -> np.uint64:
    """SplitMix64's output for a state."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inline
def expand(seed: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the three words of a seed."""
    step = np.uint64(0x9E3779B97F4A7C15)
    one = seed + step
    two = one + step
    return _mix(one), _mix(two), _mix(two + step)


@inline
def hash_value(
    a: np.uint64, b: np.uint64, c: np.uint64, value: np.uint64, bound: np.uint64
) -> np.uint64:
    """Return the hash of a value, below a bound of at most ``2**32``."""
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
    told: Values,
) -> tuple[int, int]:
    """Draw a hash function for each value, and its hash, or with chance 0 uniformly another.

    Parameters
    ----------
    first : int
        Reports that are there already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
    bound : int
        Hashes are below it; at least 2.
    seed, told : uint64[n], written from ``first`` on
    """
    used = 0
    most, others = np.uint64(bound), np.uint64(bound - 1)
    seeds = np.uint64(1 << SEED_BITS)
    for i in range(first, value.size):
        drawn, at = below(unit, used, seeds)
        lie, at = flip(unit, at, digit[0])
        a, b, c = expand(drawn)
        said = hash_value(a, b, c, value[i], most)
        if lie:
            other, at = below(unit, at, others)
            said = other + np.uint64(other >= said)
        if at < 0:
            return i, used
        seed[i] = drawn
        told[i] = said
        used = at
    return value.size, used


@kernel
def agree(word: Values, count: IntArray, value: Values, bound: int, found: IntArray) -> None:
    """How many reports tell the hash that their function has for each value.

    Parameters
    ----------
    word : uint64[m]
        Reports: the seed, and in the lower ``TOLD_BITS`` the hash.
    count : int64[m]
        How often each was made.
    value : uint64[n]
    bound : int
    found : int64[n], written
    """
    found[:] = 0
    most, mask = np.uint64(bound), np.uint64((1 << TOLD_BITS) - 1)
    a = np.empty(TOGETHER, np.uint64)
    b, c, told = np.empty_like(a), np.empty_like(a), np.empty_like(a)
    for start in range(0, word.size, TOGETHER):
        size = min(TOGETHER, word.size - start)
        for i in range(size):
            a[i], b[i], c[i] = expand(word[start + i] >> np.uint64(TOLD_BITS))
            told[i] = word[start + i] & mask
        for v in range(value.size):
            total = np.int64(0)
            one = value[v]
            for i in range(size):
                same = hash_value(a[i], b[i], c[i], one, most) == told[i]
                total += count[start + i] if same else np.int64(0)
            found[v] += total


@inline
def _place(
    value: np.uint64, row: np.uint64, hashes: np.int64, shape: Values, place: NDArray[np.uint64]
) -> None:
    """Write the different places of a value in a row, increasing: uint64[hashes]."""
    for h in range(hashes):
        a, b, c = expand(shape[0] + row * np.uint64(MOST_HASHES) + np.uint64(h))
        free = hash_value(a, b, c, value, shape[3] - np.uint64(h))
        at = 0
        while at < h and place[at] <= free:  # the free place of that number
            free += np.uint64(1)
            at += 1
        for later in range(h, at, -1):
            place[later] = place[later - 1]
        place[at] = free


@inline
def _turn(unit: WordArray, at: int, digit: Digits, width: int, bits: NDArray[np.uint8]) -> int:
    """Turn bits round in place, a 0 with chance 0 and a 1 with chance 1; where the next unit is."""
    for byte in range(bits.size):
        turned = np.uint64(0)
        true = np.uint64(bits[byte])
        for j in range(min(8, width - 8 * byte)):
            bit = (true >> np.uint64(j)) & np.uint64(1)
            outcome, at = flip(unit, at, digit[bit])
            turned |= np.uint64(outcome) << np.uint64(j)
        bits[byte] = np.uint8(true ^ turned)
    return at


@kernel
def mark(
    first: int,
    unit: WordArray,
    digit: Digits,
    value: Values,
    shape: Values,
    row: Values,
    bits: NDArray[np.uint8],
) -> tuple[int, int]:
    """Draw a row for each value, unless there is one only, and its bits, turned by chance.

    Parameters
    ----------
    first : int
        Reports that are there already.
    unit : uint32[u]
    digit : uint64[2, k]
        Chances that a 0 and a 1 are turned round.
    value : uint64[n]
    shape : uint64[4]
        The first seed, rows, hash functions of a row, and bits. Without hash functions the bit of
        a value is that of its number.
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
            _place(value[i], drawn, hashes, shape, place)
        else:
            place[0] = value[i]
        bits[i] = 0
        for h in range(place.size):
            bits[i, place[h] >> np.uint64(3)] |= np.uint8(1) << np.uint8(place[h] & np.uint64(7))
        at = _turn(unit, at, digit, width, bits[i])  # type: ignore[arg-type]
        if at < 0:
            return i, used
        row[i] = drawn
        used = at
    return value.size, used


@kernel
def turn(
    first: int,
    unit: WordArray,
    digit: Digits,
    width: int,
    true: NDArray[np.uint8],
    bits: NDArray[np.uint8],
) -> tuple[int, int]:
    """Turn bits round that are kept, as :func:`mark` does it.

    Parameters
    ----------
    first : int
        Reports that are there already.
    unit : uint32[u], digit : uint64[2, k]
    width : int
    true : uint8[n, b]
    bits : uint8[n, b], written from ``first`` on
    """
    used = 0
    for i in range(first, true.shape[0]):
        bits[i] = true[i]
        at = _turn(unit, used, digit, width, bits[i])
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
    """Draw a row and a column of a sketch, and the Hadamard entry there, turned by chance.

    Parameters
    ----------
    first : int
        Reports that are there already.
    unit : uint32[u], digit : uint64[1, k]
    value : uint64[n]
    shape : uint64[4]
        As in :func:`mark`, with one hash function and a power of two for the bits.
    row, column : uint64[n], bit : uint8[n], written from ``first`` on
    """
    used = 0
    place = np.empty(1, np.uint64)
    for i in range(first, value.size):
        drawn, at = below(unit, used, shape[1])
        entry, at = below(unit, at, shape[3])
        turned, at = flip(unit, at, digit[0])
        if at < 0:
            return i, used
        _place(value[i], drawn, np.int64(1), shape, place)
        row[i] = drawn
        column[i] = entry
        bit[i] = np.uint8(parity(entry & place[0]) ^ np.uint64(turned))
        used = at
    return value.size, used


@kernel
def ask(value: Values, shape: Values, total: IntArray, found: IntArray) -> None:
    """Sum the totals at the places of each value, over all rows.

    Parameters
    ----------
    value : uint64[n]
    shape : uint64[4]
        As in :func:`mark`.
    total : int64[rows * bits]
    found : int64[n], written
    """
    found[:] = 0
    hashes, width = np.int64(shape[2]), np.int64(shape[3])
    place = np.empty(hashes, np.uint64)
    for r in range(np.int64(shape[1])):
        for v in range(value.size):
            _place(value[v], np.uint64(r), hashes, shape, place)
            for h in range(hashes):
                found[v] += total[r * width + np.int64(place[h])]


@kernel
def fold(field: Values, word: Values) -> None:
    """Fold a field of reports (uint64[n]) into a word of each (uint64[n], changed)."""
    step = np.uint64(0x9E3779B97F4A7C15)
    for i in range(word.size):
        word[i] = _mix((word[i] ^ field[i]) + step)


@kernel
def sum_words(word: Values) -> tuple[np.uint64, np.uint64]:
    """Return the sums of words and of words made of them, modulo ``2**64``: in any order."""
    one, other = np.uint64(0), np.uint64(0)
    for i in range(word.size):
        one += word[i]
        other += _mix(word[i])
    return one, other
