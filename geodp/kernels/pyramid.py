"""The pyramid on bare arrays: counts of children, estimates from below, shares from above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel


@kernel
def measure(
    prefix: NDArray[np.uint64],
    stride: np.uint64,
    fanout: int,
    span: tuple[NDArray[np.int64], NDArray[np.int64]],
    key: NDArray[np.uint64],
    cumulative: NDArray[np.int64],
    start: NDArray[np.int64],
    noisy: NDArray[np.int64],
) -> None:
    """Add the counts of the children of n nodes to their noise, as integers.

    Parameters
    ----------
    prefix : uint64[n]
        Of the nodes: child j covers ``stride`` keys from ``(prefix * fanout + j) * stride`` on.
    span : int64[n], int64[n]
        First and one past the last of the node's data in ``key``.
    key : uint64[m], cumulative : int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    start : int64[n * fanout], written
        First of each child's data; the last child's ends where its node's does.
    noisy : int64[n * fanout], changed
        Noise of the children; afterwards their counts with noise.
    """
    begin, stop = span
    one, step = np.uint64(1), np.uint64(fanout)
    for n in range(prefix.size):
        node = np.uint64(n)
        low, end = np.uint64(begin[node]), np.uint64(stop[node])
        first = node * step
        if low == end:
            for j in range(first, first + step):
                start[j] = np.int64(low)
            continue
        bound = prefix[node] * step * stride
        for j in range(first, first + step):
            start[j] = np.int64(low)
            bound = bound + stride  # may be 2**64, which is 0: the last key is one less
            found, left = low, end - low
            while left > np.uint64(0):  # no branch on what is found
                half = (left + one) >> one
                found += half * np.uint64(key[found + half - one] <= bound - one)
                left -= half
            noisy[j] += cumulative[found] - cumulative[low]
            low = found


@kernel
def open_children(
    prefix: NDArray[np.uint64],
    fanout: int,
    stop: NDArray[np.int64],
    start: NDArray[np.int64],
    count: NDArray[np.int64],
    members: NDArray[np.int64],
) -> tuple[
    NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]
]:
    """Return the children with a count.

    They are given as places, prefixes, first and past their last data, and counts.

    Parameters
    ----------
    prefix, stop : uint64[n], int64[n]
        Of the nodes, and one past the last of their data.
    start, count : int64[n * fanout]
        Of the children.
    members : int64[n], written
        How many children of each node have a count.
    """
    some = 0
    for i in range(count.size):
        some += count[i] > 0
    place, child = np.empty(some, np.int64), np.empty(some, np.uint64)
    first, after, held = (
        np.empty(some, np.int64),
        np.empty(some, np.int64),
        np.empty(some, np.int64),
    )
    written = 0
    for node in range(prefix.size):
        before = written
        for j in range(fanout):
            i = node * fanout + j
            if count[i] > 0:
                place[written] = i
                child[written] = prefix[node] * np.uint64(fanout) + np.uint64(j)
                first[written], held[written] = start[i], count[i]
                after[written] = start[i + 1] if j + 1 < fanout else stop[node]
                written += 1
        members[node] = written - before
    return place, child, first, after, held


@kernel
def combine(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    fanout: int,
    own: float,
    at: NDArray[np.int64],
    above_z: NDArray[np.float64],
    above_variance: NDArray[np.float64],
) -> None:
    """Best linear estimate of nodes from their own measurement and their children's estimates.

    Parameters
    ----------
    z, variance : float64[n * fanout]
        Estimates of the children and their variances; variance 0: cannot hold anybody.
    own : float
        Variance of a node's own measurement.
    at : int64[n]
        Place of each node in ``above_z``.
    above_z, above_variance : float64[.]
        The nodes' own measurements and variances, overwritten with the estimates'.
    """
    for node in range(at.size):
        below, spread = 0.0, 0.0
        for i in range(node * fanout, (node + 1) * fanout):
            if variance[i] > 0:
                below += z[i]
                spread += variance[i]
        weight = spread / (spread + own)
        i = at[node]
        above_z[i] = weight * above_z[i] + (1 - weight) * below
        above_variance[i] = weight * own


@inline
def could_be_above_zero(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    goal: float,
    own: NDArray[np.float64],
    at: NDArray[np.uint64],
) -> np.uint64:
    """List a node's children that are not below 0 for every tau that can be, and count them.

    The largest child gets no more than the total ``goal``, which bounds tau from below.
    """
    first, after = children
    best, widest, active = -np.inf, 0.0, np.uint64(0)
    for j in range(first, after):
        own[j - first] = z[j] if variance[j] > 0 else -np.inf
    for j in range(first, after):
        best = own[j - first] if own[j - first] > best else best
        widest = variance[j] if variance[j] > widest else widest
    free, least_tau = best <= goal, (best - goal) / widest
    for j in range(first, after):  # kept ones move up; no branch on a random number
        at[active] = j
        some = free | (own[j - first] > least_tau * variance[j])
        active += np.uint64(some & (variance[j] > 0))
    return active


@kernel
def share(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    members: NDArray[np.int64],
    total: NDArray[np.int64],
    uniform: NDArray[np.float64],
    least: float,
    out: NDArray[np.int64],
) -> None:
    """Whole, non-negative counts of children that add up to their node's.

    ``max(z - tau * variance, 0)`` with the tau that makes the sum ``total``: the projection on
    the simplex, weighted by precision (Michelot 1986: drop the negative ones and project again
    until there are none). The largest child gets no more than the total, which bounds tau from
    below: where the total is small against the noise, few are left to start with. Then systematic
    rounding: cumulative sums plus one uniform number, rounded down, so that no 0 becomes positive
    and every expectation is kept.

    Parameters
    ----------
    z, variance : float64[.]
        Of all nodes' children. Variance 0: the child is closed and gets 0. A node with a total
        has an open child.
    members : int64[n]
        Children of each node.
    total : int64[n]
        0 or above.
    uniform : float64[n]
        In [0, 1).
    least : float
        Children below it are dropped, but for the largest, and the rest is shared out again.
    out : int64[.], written
    """
    most = 1
    for i in range(members.size):
        most = max(most, members[i])
    at, own = np.empty(most, np.uint64), np.empty(most)
    one, after = np.uint64(1), np.uint64(0)
    for n in range(total.size):  # unsigned indices spare the test for negative ones
        node = np.uint64(n)
        first, after = after, after + np.uint64(members[node])
        for j in range(first, after):
            out[j] = 0
        if total[node] == 0:
            continue
        goal = float(total[node])
        active = could_be_above_zero(z, variance, (first, after), goal, own, at)
        if active == one:
            out[at[np.uint64(0)]] = total[node]
            continue
        dropped = least <= 0
        while True:
            above, spread, before = 0.0, 0.0, active
            for j in range(active):
                above += z[at[j]]
                spread += variance[at[j]]
            tau, active = (above - goal) / spread, np.uint64(0)
            for j in range(before):
                i = at[j]
                at[active] = i
                active += np.uint64(z[i] > tau * variance[i])
            if active < before:
                continue
            if dropped:
                break
            dropped, largest, active = True, 0.0, np.uint64(0)
            for j in range(before):
                largest = max(largest, z[at[j]] - tau * variance[at[j]])
            for j in range(before):
                i = at[j]
                x = z[i] - tau * variance[i]
                at[active] = i
                active += np.uint64((x >= least) | (x == largest))
        reached, shared = uniform[node], 0
        for j in range(active - one):
            i = at[j]
            reached += z[i] - tau * variance[i]
            upto = min(int(np.floor(reached)), total[node])
            out[i] = upto - shared
            shared = upto
        out[at[active - one]] = total[node] - shared
