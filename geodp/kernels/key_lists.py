"""Lists of keys with one value each: in key order, sorted into it, and searched in it.

In a coordinate list in key order, keys are strictly increasing, with one count each.

The radix sort is stable, and by the bits in which the keys differ. Large parts are split by their
leading bits, most significant first, until a part fits into the second-level cache; there its
remaining bits are sorted digit by digit, least significant first.

Searches are fast if each value lies near the previous one: nodes and cells are looked up in key
order, so that a bisection of the whole list would be wasteful.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, inline, kernel
from geodp.typing import IntArray, KeyArray


@kernel
def coalesce(
    key: NDArray[np.uint64],
    count: NDArray[np.int64],
    out_key: NDArray[np.uint64],
    out_count: NDArray[np.int64],
) -> int:
    """Sum the counts of equal keys and drop the keys whose sum is 0.

    Parameters
    ----------
    key : uint64[n]
        Sorted.
    count : int64[n]
        The sum of their absolute values fits int64.
    out_key : uint64[n], out_count : int64[n], written

    Returns
    -------
    int
        Number of keys written.
    """
    written = 0
    i = 0
    while i < key.size:
        current = key[i]
        total = np.int64(0)
        while i < key.size and key[i] == current:
            total += count[i]
            i += 1
        if total != 0:
            out_key[written] = current
            out_count[written] = total
            written += 1
    return written


@kernel
def coalesce_with_records(
    key: NDArray[np.uint64],
    order: NDArray[np.int64],
    count: NDArray[np.int64],
    record: NDArray[np.int64],
    out_key: NDArray[np.uint64],
    out_count: NDArray[np.int64],
    out_record: NDArray[np.int64],
    again: NDArray[np.int64],
) -> int:
    """Sum the counts of equal keys, keep their first records, and find the first repetition.

    Parameters
    ----------
    key : uint64[n]
        Sorted.
    order : int64[n]
        Position of each key's count and record.
    count : int64[n]
        Not negative; their sum fits int64.
    record : int64[n]
        Numbers of records; equal keys have different ones.
    out_key : uint64[n], out_count, out_record : int64[n], written
    again : int64[2], changed
        ``again[1]`` is the first record that repeats a key, in this call or an earlier one;
        ``again[0]`` is the first record with that key.

    Returns
    -------
    int
        Number of keys written, including those with a count of 0.
    """
    # Chunks are sorted by key, not by record. The smallest repeating record of all chunks is the
    # one that a user sees first in the file, however the input was cut.
    written = 0
    i = 0
    while i < key.size:
        current = key[i]
        total = count[order[i]]
        first = record[order[i]]
        i += 1
        while i < key.size and key[i] == current:
            total += count[order[i]]
            other = record[order[i]]
            i += 1
            later = max(first, other)
            first = min(first, other)
            if later < again[1]:
                again[1] = later
                again[0] = first
        out_key[written] = current
        out_count[written] = total
        out_record[written] = first
        written += 1
    return written


DIGIT = 10
"""Most bits of a digit: 1024 write positions stay in the caches and in the page table cache."""

CACHED = 1 << 15
"""Size of the largest part that is sorted inside the cache."""

FEW = 16
"""Size of the largest part that is sorted by insertion."""


@bare
def is_sorted(key: KeyArray) -> bool:
    """Return whether keys (uint64[n]) increase, or stay as they are."""
    for i in range(1, key.size):  # noqa: SIM110
        if key[i] < key[i - 1]:
            return False
    return True


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


@bare
def take_places(group: IntArray, place: IntArray, taken: IntArray) -> None:
    """Take the next place of its group for each element, in their order.

    Parameters
    ----------
    group : int64[n]
    place : int64[groups], changed
        The next place of each group.
    taken : int64[n], written
    """
    for i in range(group.size):
        taken[i] = place[group[i]]
        place[group[i]] += 1


@kernel
def partition(key: KeyArray, value: IntArray, shift: np.uint64, place: IntArray) -> None:
    """Order keys with their values by one of their digits, in place.

    Every key is moved once (American flag sort: McIlroy, Bostic and McIlroy 1993).

    Parameters
    ----------
    key : uint64[n], value : int64[n], changed
    shift : uint64
        Bits below the digit.
    place : int64[2, 2**DIGIT], written
        Where the keys of each digit end, twice.
    """
    places(key, shift, np.uint64(DIGIT), place[:1])
    mask = np.uint64((1 << DIGIT) - 1)
    for digit in range(1 << DIGIT):
        place[1, digit] = place[0, digit + 1] if digit + 1 < 1 << DIGIT else key.size
    for digit in range(1 << DIGIT):
        while place[0, digit] < place[1, digit]:
            k, v = key[place[0, digit]], value[place[0, digit]]
            own = (k >> shift) & mask
            while own != np.uint64(digit):
                at = place[0, own]
                place[0, own] += 1
                k, key[at] = key[at], k
                v, value[at] = value[at], v
                own = (k >> shift) & mask
            key[place[0, digit]], value[place[0, digit]] = k, v
            place[0, digit] += 1


@kernel
def sort_with_few(
    key: KeyArray, value: IntArray, buffer_key: KeyArray, buffer_value: IntArray
) -> None:
    """Sort keys with their values in place, with buffers that are smaller than they are.

    Parameters
    ----------
    key : uint64[n], value : int64[n], changed
        Equal keys get any order.
    buffer_key : uint64[m], buffer_value : int64[m], written
        What fits into them is sorted by :func:`sort_pairs`.
    """
    place = np.empty((2, 1 << DIGIT), np.int64)
    # A part leaves the stack before its own parts are pushed, and there are at most 7 digits.
    stack = np.empty((8 << DIGIT, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, key.size
    top = 1
    while top:
        top -= 1
        start, end = stack[top, 0], stack[top, 1]
        n, some_key, some_value = end - start, key[start:end], value[start:end]
        if n <= buffer_key.size:
            sort_pairs(some_key, some_value, buffer_key[:n], buffer_value[:n])
            continue
        low, bits = bits_between(differing_bits(some_key))
        if bits == 0:
            continue
        partition(some_key, some_value, np.uint64(max(low + bits - DIGIT, 0)), place)
        begin = np.int64(0)
        for digit in range(1 << DIGIT):
            after = place[1, digit]
            if after > begin:
                stack[top, 0], stack[top, 1] = start + begin, start + after
                top += 1
            begin = after


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


def find(values: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Count the values that are smaller than each wanted one, like ``np.searchsorted``.

    Parameters
    ----------
    values : uint64[n]
        Increasing.
    wanted : uint64[m]
        In any order; fast if each lies near the previous one.
    """
    places = np.empty(wanted.size, np.int64)
    gallop(values, wanted, places)
    return places


@bare
def gallop(
    values: NDArray[np.uint64], wanted: NDArray[np.uint64], places: NDArray[np.int64]
) -> None:
    """Search around the previous place with doubling steps (Bentley, Yao 1976)."""
    at = 0
    for i in range(wanted.size):
        # One of the two searches, forwards and backwards, ends at once.
        at = find_before(values, wanted[i], find_from(values, wanted[i], at))
        places[i] = at


@bare_inline
def find_from(values: NDArray[np.uint64], wanted: np.uint64, at: int) -> int:
    """Count the values smaller than a wanted one, if at least ``at`` are; else return ``at``."""
    n, step = values.size, 1
    if at >= n or values[at] >= wanted:
        return at
    low = at
    while low + step < n and values[low + step] < wanted:
        low += step
        step *= 2
    return _halve(values, wanted, low, min(low + step, n))


@bare_inline
def find_before(values: NDArray[np.uint64], wanted: np.uint64, at: int) -> int:
    """Count the values smaller than a wanted one, if those from ``at`` on are not."""
    if at == 0 or values[at - 1] < wanted:
        return at
    high, step = at - 1, 1
    while high - step >= 0 and values[high - step] >= wanted:
        high -= step
        step *= 2
    return _halve(values, wanted, max(high - step, -1), high)


@bare_inline
def _halve(values: NDArray[np.uint64], wanted: np.uint64, low: int, high: int) -> int:
    """Count the smaller values by bisection: the one at ``low`` is, that at ``high`` is not."""
    while high - low > 1:
        middle = (low + high) // 2
        if values[middle] < wanted:
            low = middle
        else:
            high = middle
    return high
