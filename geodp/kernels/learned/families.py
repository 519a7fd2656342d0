"""Counts of the children of nodes, in a table or in a prior, and estimates from them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

FEW = 4
"""Average number of keys of a child up to which a node's keys are scanned instead of searched."""


@inline
def _count_upto(
    key: NDArray[np.uint64], low: np.uint64, end: np.uint64, last: np.uint64
) -> np.uint64:
    """Return the index of the first of ``key[low:end]`` above ``last``."""
    one, position, left = np.uint64(1), low, end - low
    # A bisection without a branch on its result: data are random, and branches on them are slow.
    while left > np.uint64(0):
        half = (left + one) >> one
        position += half * np.uint64(key[position + half - one] <= last)
        left -= half
    return position


@inline
def _gallop(key: NDArray[np.uint64], low: np.uint64, last: np.uint64) -> np.uint64:
    """Return the index of the first of ``key[low:]`` above ``last``, which is usually near."""
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
    """Add the true counts of the children of nodes to their noise, as integers.

    Parameters
    ----------
    prefix : uint64[n]
        Prefixes of the nodes, strictly increasing: child j covers ``stride`` keys from
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
        # The last key and not the one after it, which may be 2**64, that is 0.
        last = first + step * stride - one
        if end == size:
            return
        if key[end] > last:
            continue
        low = end if key[end] >= first else _gallop(key, end, first - one)
        # With many keys each child's end is searched for; otherwise the keys are scanned.
        if low + few < size and key[low + few] <= last:
            end = _gallop(key, low, last)
            for j in range(fanout):
                last = first + stride - one
                position = _count_upto(key, low, end, last)
                out[to + np.uint64(j)] += cumulative[position] - cumulative[low]
                low, first = position, first + stride
            continue
        end = low
        if halving:  # a shift gives the child, without a division
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
    totals: NDArray[np.float64],
) -> None:
    """Convert a prior's counts of parts of nodes to positive counts of their children.

    Parameters
    ----------
    held : int64[n * parts]
        The prior's counts.
    shape : int, int
        Parts of a node, and children of each part, which get equal shares of it.
    floor : float
        Added to each part, above 0.
    share : float64[n * parts * children], written
    totals : float64[n], written
        Sums of the nodes.
    """
    # The floor keeps predictions above 0: shares are divided by the node's sum.
    parts, each = shape
    for n in range(totals.size):
        total, first = 0.0, np.uint64(n * parts)
        for j in range(parts):
            total += held[first + np.uint64(j)] + floor
        totals[n] = total
    if each == 1:
        for n in range(held.size):
            share[np.uint64(n)] = held[np.uint64(n)] + floor
        return
    for n in range(held.size):
        equal_share = (held[np.uint64(n)] + floor) / each
        for j in range(n * each, (n + 1) * each):
            share[np.uint64(j)] = equal_share


@kernel
def combine(
    members: NDArray[np.int64],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    sums: NDArray[np.float64],
    noise_variance: float,
    above: tuple[NDArray[np.float64], NDArray[np.float64]],
) -> None:
    """Compute the best linear estimates of nodes from their measurements and their children's.

    Parameters
    ----------
    members : int64[n]
        Number of open children of each node.
    z : float64[k]
        Estimates of the open children.
    variance : float64[k] or float64[1]
        Their variances, or the one of all of them.
    sums : float64[2, n]
        Sums of the closed children's estimates and variances.
    noise_variance : float
        Variance of a node's own measurement.
    above : float64[n], float64[n], changed and written
        The nodes' own measurements, which become the estimates; and their variances.
    """
    # Inverse-variance weights (Hay et al. 2010, theorem 3). Closed children come first, then the
    # open ones in order: the order of a floating-point sum is part of the result.
    i, step = 0, 1 if variance.size > 1 else 0
    for n in range(members.size):
        below, spread = sums[0, n], sums[1, n]
        for _ in range(members[n]):
            below += z[i]
            spread += variance[i * step]
            i += 1
        weight = spread / (spread + noise_variance)
        above[0][n] = weight * above[0][n] + (1 - weight) * below
        above[1][n] = weight * noise_variance


@kernel
def merge_scaled(
    one: tuple[NDArray[np.uint64], NDArray[np.int64]],
    other: tuple[NDArray[np.uint64], NDArray[np.int64]],
    factors: tuple[float, float],
    key: NDArray[np.uint64],
    part: NDArray[np.int64],
) -> int:
    """Add two lists of numbers by key, each multiplied by a factor and rounded to integers.

    Parameters
    ----------
    one, other : (uint64[n], int64[n]), (uint64[k], int64[k])
        Strictly increasing keys, and non-negative numbers.
    factors : float, float
    key, part : uint64[n + k], int64[n + k], written
        The sums above 0, in key order.

    Returns
    -------
    int
        Number of such sums.
    """
    i, j, written = np.uint64(0), np.uint64(0), np.uint64(0)
    step = np.uint64(1)
    n, k = np.uint64(one[0].size), np.uint64(other[0].size)
    while i < n or j < k:
        first = j == k or (i < n and one[0][i] <= other[0][j])
        second = i == n or (j < k and other[0][j] <= one[0][i])
        key[written] = one[0][i] if first else other[0][j]
        total = np.int64(0)
        if first:
            total += np.int64(np.rint(one[1][i] * factors[0]))
            i += step
        if second:
            total += np.int64(np.rint(other[1][j] * factors[1]))
            j += step
        part[written] = total
        written += np.uint64(total > 0)
    return int(written)
