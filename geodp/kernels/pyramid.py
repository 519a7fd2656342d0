"""The pyramid on bare arrays: counts of children, estimates from below, shares from above."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import inlined, kernel


@kernel
def measure(
    child: NDArray[np.uint64],
    stride: np.uint64,
    fanout: int,
    span: NDArray[np.int64],
    key: NDArray[np.uint64],
    cumulative: NDArray[np.int64],
    start: NDArray[np.int64],
    measured: NDArray[np.float64],
) -> None:
    """Add the true counts of the children of n nodes to their noise.

    Parameters
    ----------
    child : uint64[n * fanout]
        Prefixes: the child covers ``stride`` keys from ``child * stride`` on.
    span : int64[2, n]
        First and one past the last of the node's data in ``key``.
    key : uint64[m], cumulative : int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    start : int64[n * fanout + 1], written
        First of each child's data; the last child's ends where its node's does.
    measured : float64[n * fanout]
        Noise, to which the counts are added.
    """
    for node in range(span.shape[1]):
        low, stop = span[0, node], span[1, node]
        for i in range(node * fanout, (node + 1) * fanout):
            start[i] = low
            if low == stop:
                continue
            end = child[i] * stride + (stride - np.uint64(1))
            left, right = low, stop
            while left < right:
                probe = (left + right) // 2
                if key[probe] <= end:
                    left = probe + 1
                else:
                    right = probe
            measured[i] += cumulative[left] - cumulative[low]
            low = left


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


@inlined
def _project(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    first: int,
    total: float,
    active: NDArray[np.bool_],
) -> float:
    """The tau of :func:`share`; ``active`` is cut down to the children above 0."""
    tau = 0.0
    again = True
    while again:
        above, spread = 0.0, 0.0
        for j in range(active.size):
            if active[j]:
                above += z[first + j]
                spread += variance[first + j]
        tau = (above - total) / spread
        again = False
        for j in range(active.size):
            if active[j] and z[first + j] <= tau * variance[first + j]:
                active[j] = False
                again = True
    return tau


@kernel
def share(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    fanout: int,
    total: NDArray[np.int64],
    uniform: NDArray[np.float64],
    least: float,
    out: NDArray[np.int64],
) -> None:
    """Whole, non-negative counts of children that add up to their node's.

    ``max(z - tau * variance, 0)`` with the tau that makes the sum ``total``: the projection on
    the simplex, weighted by precision (Michelot 1986: drop the negative ones and project again
    until there are none). Then systematic rounding: cumulative sums plus one uniform number,
    rounded down, so that no 0 becomes positive and every expectation is kept.

    Parameters
    ----------
    z, variance : float64[n * fanout]
        Variance 0: the child is closed and gets 0. A node with a total has an open child.
    total : int64[n]
        0 or above.
    uniform : float64[n]
        In [0, 1).
    least : float
        Children below it are dropped, but for the largest, and the rest is shared out again.
    out : int64[n * fanout], written
    """
    active = np.empty(fanout, np.bool_)
    for node in range(total.size):
        first = node * fanout
        for j in range(fanout):
            out[first + j] = 0
            active[j] = variance[first + j] > 0
        if total[node] == 0:
            continue
        goal = float(total[node])
        tau = _project(z, variance, first, goal, active)
        if least > 0:
            largest = 0.0
            for j in range(fanout):
                if active[j]:
                    largest = max(largest, z[first + j] - tau * variance[first + j])
            for j in range(fanout):
                x = z[first + j] - tau * variance[first + j]
                active[j] = active[j] and (x >= least or x == largest)
            tau = _project(z, variance, first, goal, active)
        last = 0
        for j in range(fanout):
            if active[j]:
                last = j
        reached, before = uniform[node], 0
        for j in range(last):
            if active[j]:
                reached += z[first + j] - tau * variance[first + j]
                upto = min(int(np.floor(reached)), total[node])
                out[first + j] = upto - before
                before = upto
        out[first + last] = total[node] - before
