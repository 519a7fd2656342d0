"""Counts of the children of some nodes, of a table or of a prior."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel


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
    for n in range(prefix.size):
        first = prefix[n] * step * stride
        last = first + step * stride - one  # 2**64 is 0: the last key is one less
        low = _gallop(key, end, first - one) if first else end
        end = _gallop(key, low, last)
        if low == end:
            continue
        for j in range(fanout):
            last = first + stride - one
            found = _count_upto(key, low, end, last)
            out[n * fanout + j] += cumulative[found] - cumulative[low]
            low, first = found, first + stride


@kernel
def share_out(
    held: NDArray[np.int64],
    total: NDArray[np.int64],
    shape: tuple[int, int],
    floor: float,
    out: NDArray[np.float64],
) -> None:
    """Share out what nodes have among their children, as a prior's counts are.

    Parameters
    ----------
    held : int64[n * parts]
        The prior's counts of parts of the nodes.
    total : int64[n]
    shape : int, int
        Parts of a node, and how many children each has, whose shares are even.
    floor : float
        What each part has beside, above 0.
    out : float64[n * parts * children], written
    """
    parts, each = shape
    for n in range(total.size):
        whole, first = 0.0, n * parts
        for i in range(first, first + parts):
            whole += held[i] + floor
        unit = total[n] / whole
        for i in range(first, first + parts):
            own = unit * ((held[i] + floor) / each)
            for j in range(i * each, (i + 1) * each):
                out[j] = own


@kernel
def add_closed(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    count: NDArray[np.int64],
    fanout: int,
    sums: NDArray[np.float64],
) -> None:
    """Add up the estimates and variances of each node's closed children, in order.

    Parameters
    ----------
    z, variance, count : float64[n * fanout], float64[n * fanout], int64[n * fanout]
        Of all children; variance 0: it cannot hold anybody; count 0: closed.
    fanout : int
    sums : float64[2, n], written
    """
    for n in range(sums.shape[1]):
        below, spread = 0.0, 0.0
        for i in range(n * fanout, (n + 1) * fanout):
            if variance[i] > 0 and count[i] == 0:
                below += z[i]
                spread += variance[i]
        sums[0, n], sums[1, n] = below, spread


@kernel
def combine(
    members: NDArray[np.int64],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    sums: NDArray[np.float64],
    own: float,
    above: NDArray[np.float64],
) -> None:
    """Best linear estimates of nodes from their measurements and their children's estimates.

    Parameters
    ----------
    members : int64[n]
        Open children of each node.
    z, variance : float64[.]
        Of the open children.
    sums : float64[2, n]
        Of the closed ones, as :func:`add_closed` writes them: the open ones come after them.
    own : float
        Variance of a node's own measurement.
    above : float64[2, n], changed
        The nodes' own measurements; afterwards the estimates and their variances.
    """
    i = 0
    for n in range(members.size):
        below, spread = sums[0, n], sums[1, n]
        for _ in range(members[n]):
            below += z[i]
            spread += variance[i]
            i += 1
        weight = spread / (spread + own)
        above[0, n] = weight * above[0, n] + (1 - weight) * below
        above[1, n] = weight * own
