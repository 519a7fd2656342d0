"""Stable radix sort of keys with one value each, by the bits in which the keys differ.

Large parts are split by their leading bits, most significant first, until a part fits into the
second-level cache; there its remaining bits are sorted digit by digit, least significant first.
"""

from __future__ import annotations

import numpy as np

from geodp.kernels.jit import inline, kernel
from geodp.typing import IntArray, KeyArray

DIGIT = 10
"""Most bits of a digit: 1024 write positions stay in the caches and in the page table cache."""

CACHED = 1 << 15
"""Size of the largest part that is sorted inside the cache."""

FEW = 16
"""Size of the largest part that is sorted by insertion."""


@kernel
def insert(key: KeyArray, value: IntArray, out_key: KeyArray, out_value: IntArray) -> None:
    """Sort a few pairs (``key`` uint64[n], ``value`` int64[n]) into ``out``, maybe in place."""
    for i in range(key.size):
        k, v = key[i], value[i]
        at = i
        while at > 0 and out_key[at - 1] > k:
            out_key[at], out_value[at] = out_key[at - 1], out_value[at - 1]
            at -= 1
        out_key[at], out_value[at] = k, v


@kernel
def differing_bits(key: KeyArray) -> np.uint64:
    """Return the bits in which some of the keys (uint64[n]) differ."""
    some, every = np.uint64(0), ~np.uint64(0)
    for i in range(key.size):
        some |= key[i]
        every &= key[i]
    return some ^ every


@kernel
def places(key: KeyArray, low: np.uint64, width: np.uint64, place: IntArray) -> None:
    """Compute where the first key of each digit goes.

    Parameters
    ----------
    key : uint64[n]
    low, width : uint64
        Bits below the digits, and bits of each.
    place : int64[digits, 2**width], written
        Digit 0 is the least significant.
    """
    place[:] = 0
    mask = np.uint64(place.shape[1] - 1)
    for i in range(key.size):
        rest = key[i] >> low
        for digit in range(place.shape[0]):
            place[np.uint64(digit), rest & mask] += 1
            rest >>= width
    for digit in range(place.shape[0]):
        at = np.int64(0)
        for number in range(place.shape[1]):
            held = place[digit, number]
            place[digit, number] = at
            at += held


@kernel
def scatter(
    key: KeyArray,
    value: IntArray,
    shift: np.uint64,
    place: IntArray,
    out_key: KeyArray,
    out_value: IntArray,
) -> None:
    """Move every key and its value to the place given by one of its digits.

    Parameters
    ----------
    key : uint64[n], value : int64[n]
    shift : uint64
        Bits below the digit.
    place : int64[2**width], changed
        Where the next key of each digit goes; in the end, where each digit's keys end.
    out_key : uint64[n], out_value : int64[n], written
    """
    mask = np.uint64(place.size - 1)
    # In order of position, so the sort is stable.
    for i in range(key.size):
        k = key[i]
        digit = (k >> shift) & mask
        at = np.uint64(place[digit])
        place[digit] += 1
        out_key[at] = k
        out_value[at] = value[i]


@inline
def bits_between(differ: np.uint64) -> tuple[int, int]:
    """Return the lowest bit that is set, and how many bits there are from it to the highest."""
    low = 0
    while low < 64 and not (differ >> np.uint64(low)) & np.uint64(1):
        low += 1
    bits = 0
    while low + bits < 64 and differ >> np.uint64(low + bits):
        bits += 1
    return low, bits


@kernel
def sort_pairs(key: KeyArray, value: IntArray, buffer_key: KeyArray, buffer_value: IntArray) -> int:
    """Sort keys with their values in place; equal keys stay as they were.

    Parameters
    ----------
    key : uint64[n], value : int64[n], changed
    buffer_key : uint64[n], spare_value : int64[n], written

    Returns
    -------
    int
        Pairs that were moved, over all passes.
    """
    moved = 0
    count = np.empty((10, 1 << DIGIT), np.int64)
    # A part's start, end, and whether it lies in the buffers. A part leaves the stack before its
    # own parts are pushed, and there are at most 7 digits, so the stack holds the parts of at most
    # 7 of them.
    stack = np.empty((8 << DIGIT, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, key.size, 0
    top = 1
    while top:
        top -= 1
        start, end, aside = stack[top, 0], stack[top, 1], stack[top, 2]
        n = end - start
        from_key, from_value = key[start:end], value[start:end]
        to_key, to_value = buffer_key[start:end], buffer_value[start:end]
        if aside:
            from_key, to_key = to_key, from_key
            from_value, to_value = to_value, from_value
        if n <= FEW:
            insert(from_key, from_value, key[start:end], value[start:end])
            moved += n
            continue
        low, bits = bits_between(differing_bits(from_key))
        if n > CACHED and bits > DIGIT:
            shift = np.uint64(low + bits - DIGIT)
            places(from_key, shift, np.uint64(DIGIT), count[:1])
            scatter(from_key, from_value, shift, count[0], to_key, to_value)
            moved += n
            begin = np.int64(0)
            for digit in range(1 << DIGIT):
                after = count[0, digit]
                if after > begin:
                    stack[top, 0], stack[top, 1] = start + begin, start + after
                    stack[top, 2] = 1 - aside
                    top += 1
                begin = after
            continue
        # The number of passes is made even or odd so that the last one ends in the caller's arrays.
        max_width = DIGIT if n > 1 << DIGIT else 8
        passes = (bits + max_width - 1) // max_width
        passes += (passes + aside) & 1
        if bits == 0:
            if aside:
                to_key[:] = from_key
                to_value[:] = from_value
                moved += n
            continue
        width = (bits + passes - 1) // passes
        low = min(low, 63 - (passes - 1) * width)  # the last digit may lie above all bits
        part = count[:passes, : 1 << width]
        places(from_key, np.uint64(low), np.uint64(width), part)
        for digit in range(passes):
            shift = np.uint64(low + digit * width)
            scatter(from_key, from_value, shift, part[digit], to_key, to_value)
            moved += n
            from_key, to_key = to_key, from_key
            from_value, to_value = to_value, from_value
    return moved


def sort_pairs_into(
    key: KeyArray, value: IntArray
) -> tuple[KeyArray, IntArray, KeyArray, IntArray]:
    """Return sorted copies of keys and values, and two buffers of the same size for further use.

    Parameters
    ----------
    key : uint64[n], value : int64[n]
        Not changed.

    Examples
    --------
    >>> key, value, *_ = sort_pairs_into(np.array([7, 2, 7], np.uint64), np.array([1, 2, 3]))
    >>> key.tolist(), value.tolist()
    ([2, 7, 7], [2, 1, 3])
    """
    key, value = key.copy(), value.copy()
    buffer_key, buffer_value = np.empty_like(key), np.empty_like(value)
    sort_pairs(key, value, buffer_key, buffer_value)
    return key, value, buffer_key, buffer_value
