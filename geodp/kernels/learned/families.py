"""Counts of the children of some nodes, of a table or of a prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

FEW = 4
"""Keys of a child, on average, up to which all of a node are gone through one after another."""


@inline
def _count_upto(
    key: NDArray[np.uint64], low: np.uint64, end: np.uint64, last: np.uint64
) -> np.uint64:
    """Index of the first of ``key[low:end]`` above ``last``."""
    one, found, left = np.uint64(1), low, end - low
    while left > np.uint64(0):  # no branch on what is found
        half = (left + one) >> one
        found += half * np.uint64(key[found + half - one] <= last)
        left -= half
    return found


@inline
def _gallop(key: NDArray[np.uint64], low: np.uint64, last: np.uint64) -> np.uint64:
    """Index of the first of ``key[low:]`` above ``last``, which is not far as a rule."""
    size, step = np.uint64(key.size), np.uint64(1)
    while low + step <= size and key[low + step - np.uint64(1)] <= last:
        low, step = low + step, step + step
    return _count_upto(key, low, min(low + step, size), last)


@kernel
def count_children(
    prefix: NDArray[np.uint64],
    stride: np.uint64,
    fanout: int,
    key: NDArray[np.uint64],
    cumulative: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Add the counts of the children of nodes to what is there, as integers.

    Parameters
    ----------
    prefix : uint64[n]
        Of the nodes, strictly increasing: child j covers ``stride`` keys from
        ``(prefix * fanout + j) * stride`` on.
    key, cumulative : uint64[m], int64[m + 1]
        Strictly increasing keys, and prefix sums of their counts.
    out : int64[n * fanout], changed
    """
    one, step, end = np.uint64(1), np.uint64(fanout), np.uint64(0)
    few, size, shift = np.uint64(FEW) * step, np.uint64(key.size), np.uint64(0)
    while stride >> shift > one:
        shift += one
    halving = stride == one << shift
    for n in range(prefix.size):
        first, to = prefix[n] * step * stride, np.uint64(n * fanout)
        last = first + step * stride - one  # 2**64 is 0: the last key is one less
        if end == size:
            return
        if key[end] > last:
            continue
        low = end if key[end] >= first else _gallop(key, end, first - one)
        if low + few < size and key[low + few] <= last:  # many: each child is searched for
            end = _gallop(key, low, last)
            for j in range(fanout):
                last = first + stride - one
                found = _count_upto(key, low, end, last)
                out[to + np.uint64(j)] += cumulative[found] - cumulative[low]
                low, first = found, first + stride
            continue
        end = low
        if halving:  # a key's digits tell the child
            while end < size and key[end] <= last:
                i = to + ((key[end] - first) >> shift)
                out[i] += cumulative[end + one] - cumulative[end]
                end += one
            continue
        child = first + stride - one
        while end < size and key[end] <= last:
            while key[end] > child:
                to, child = to + one, child + stride
            out[to] += cumulative[end + one] - cumulative[end]
            end += one


@kernel
def share_prior(
    held: NDArray[np.int64],
    shape: tuple[int, int],
    floor: float,
    share: NDArray[np.float64],
    whole: NDArray[np.float64],
) -> None:
    """Make a prior's counts of parts of nodes those of their children, none of which is 0.

    Parameters
    ----------
    held : int64[n * parts]
        The prior's counts.
    shape : int, int
        Parts of a node, and how many children each has, whose shares are even.
    floor : float
        What each part has beside, above 0.
    share : float64[n * parts * children], written
    whole : float64[n], written
        Of the nodes: their sums.
    """
    parts, each = shape
    for n in range(whole.size):
        total, first = 0.0, np.uint64(n * parts)
        for j in range(parts):
            total += held[first + np.uint64(j)] + floor
        whole[n] = total
    if each == 1:
        for n in range(held.size):
            share[np.uint64(n)] = held[np.uint64(n)] + floor
        return
    for n in range(held.size):
        own = (held[np.uint64(n)] + floor) / each
        for j in range(n * each, (n + 1) * each):
            share[np.uint64(j)] = own


@kernel
def combine(
    members: NDArray[np.int64],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    sums: NDArray[np.float64],
    own: float,
    above: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Best linear estimates of nodes from their measurements and their children's estimates.

    Parameters
    ----------
    members : int64[n]
        Open children of each node.
    z : float64[k]
        Of the open children.
    variance : float64[k] or float64[1]
        The same, or that of all of them.
    sums : float64[2, n]
        Of the closed ones' estimates and variances: the open ones come after them.
    own : float
        Variance of a node's own measurement.
    above : float64[n], float64[n], changed and written
        The nodes' own measurements, which become the estimates; and their variances.
    """
    i, step = 0, 1 if variance.size > 1 else 0
    for n in range(members.size):
        below, spread = sums[0, n], sums[1, n]
        for _ in range(members[n]):
            below += z[i]
            spread += variance[i * step]
            i += 1
        weight = spread / (spread + own)
        above[0][n] = weight * above[0][n] + (1 - weight) * below
        above[1][n] = weight * own


@kernel
def merge_scaled(
    one: tuple[NDArray[np.uint64], NDArray[np.int64]],
    other: tuple[NDArray[np.uint64], NDArray[np.int64]],
    factors: tuple[float, float],
    key: NDArray[np.uint64],
    part: NDArray[np.int64],
) -> int:
    """Add two lists of numbers by key, each times a factor and rounded to whole numbers.

    Parameters
    ----------
    one, other : (uint64[n], int64[n]), (uint64[k], int64[k])
        Strictly increasing keys, and numbers of 0 or more.
    factors : float, float
    key, part : uint64[n + k], int64[n + k], written
        What is above 0, in order.

    Returns
    -------
    int
        How many.
    """
    i, j, found = np.uint64(0), np.uint64(0), np.uint64(0)
    step = np.uint64(1)
    n, k = np.uint64(one[0].size), np.uint64(other[0].size)
    while i < n or j < k:
        first = j == k or (i < n and one[0][i] <= other[0][j])
        second = i == n or (j < k and other[0][j] <= one[0][i])
        key[found] = one[0][i] if first else other[0][j]
        total = np.int64(0)
        if first:
            total += np.int64(np.rint(one[1][i] * factors[0]))
            i += step
        if second:
            total += np.int64(np.rint(other[1][j] * factors[1]))
            j += step
        part[found] = total
        found += np.uint64(total > 0)
    return int(found)
