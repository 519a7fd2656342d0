"""Estimates from below, and shares from above, of nodes whose children lie side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, kernel


@bare
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


@bare_inline
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
    free, excess = best <= goal, best - goal  # tau is at least excess / widest
    for j in range(first, after):  # kept ones move up; no branch on a random number
        at[active] = j
        some = free | (own[j - first] * widest > excess * variance[j])
        active += np.uint64(some & (variance[j] > 0))
    return active


@bare_inline
def settle(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    at: NDArray[np.uint64],
    active: np.uint64,
    known: tuple[int, float, float],
    out: NDArray[np.int64],
) -> None:
    """Share out a total above 0 among some children, all above 0 so far, in whole numbers.

    Parameters
    ----------
    z, variance : float64[.]
        Of children; above 0 the variances of those that ``at`` names.
    at : uint64[.], overwritten
        The first ``active`` of them, at least 2, are the places of these children, in order.
    known : int, float, float
        The total; a number in [0, 1); children below the last are dropped, see :func:`share`.
    out : int64[.], written
        At the places of children that are above 0 in the end; elsewhere as it was.
    """
    total, uniform, least = known
    one, goal = np.uint64(1), float(total)
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
    reached, shared = uniform, 0
    for j in range(active - one):
        i = at[j]
        reached += z[i] - tau * variance[i]
        upto = min(int(np.floor(reached)), total)
        out[i] = upto - shared
        shared = upto
    out[at[active - one]] = total - shared


@bare_inline
def share_family(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    known: tuple[int, float, float],
    own: NDArray[np.float64],
    at: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> None:
    """Share out one node's total, see :func:`share`; ``own`` and ``at`` are overwritten."""
    for j in range(children[0], children[1]):
        out[j] = 0
    if known[0] == 0:
        return
    active = could_be_above_zero(z, variance, children, float(known[0]), own, at)
    if active == np.uint64(1):
        out[at[np.uint64(0)]] = known[0]
    else:
        settle(z, variance, at, active, known, out)


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
    after = np.uint64(0)
    for n in range(total.size):  # unsigned indices spare the test for negative ones
        node = np.uint64(n)
        first, after = after, after + np.uint64(members[node])
        known = total[node], uniform[node], least
        share_family(z, variance, (first, after), known, own, at, out)
