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
    at: NDArray[np.uint64],
) -> tuple[np.uint64, float, float]:
    """List a node's children that are not below 0 for every tau that can be, and count them.

    The largest child gets no more than the total ``goal``, which bounds tau from below. With sums
    of their z and variances, in order.
    """
    first, after = children
    best, widest, active = -np.inf, 0.0, np.uint64(0)
    for j in range(first, after):
        best = z[j] if (z[j] > best) & (variance[j] > 0) else best
        widest = variance[j] if variance[j] > widest else widest
    free, excess = best <= goal, best - goal  # tau is at least excess / widest
    above, spread = 0.0, 0.0
    for j in range(first, after):  # kept ones move up; no branch on a random number
        at[active] = j
        some = free | (z[j] * widest > excess * variance[j])
        some &= variance[j] > 0
        active += np.uint64(some)
        above += z[j] if some else 0.0
        spread += variance[j] if some else 0.0
    return active, above, spread


@bare_inline
def project(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    at: NDArray[np.uint64],
    active: np.uint64,
    sums: tuple[float, float],
    known: tuple[float, float],
) -> tuple[np.uint64, float]:
    """Project children, all above 0 so far, on the simplex of a total above 0.

    Parameters
    ----------
    z, variance : float64[.]
        Of children; above 0 the variances of those that ``at`` names.
    at : uint64[.], overwritten
        The first ``active`` of them are the places of these children, in order.
    sums : float, float
        Of these children's z and variances, added up in order.
    known : float, float
        The total; children below the last are dropped, see :func:`share`.

    Returns
    -------
    active, tau
        How many are above 0 in the end, whose places ``at`` has: each of several gets
        ``z - tau * variance``, one alone everything.
    """
    (goal, least), (above, spread), tau = known, sums, 0.0
    dropped = least <= 0
    while active > np.uint64(1):
        tau, before = (above - goal) / spread, active
        above, spread, active = 0.0, 0.0, np.uint64(0)
        for j in range(before):  # no branch on a random number; sums for the next round
            i = at[j]
            at[active] = i
            some = z[i] > tau * variance[i]
            active += np.uint64(some)
            above += z[i] if some else 0.0
            spread += variance[i] if some else 0.0
        if active < before:
            continue
        if dropped:
            break
        dropped, largest = True, 0.0
        for j in range(before):
            largest = max(largest, z[at[j]] - tau * variance[at[j]])
        above, spread, active = 0.0, 0.0, np.uint64(0)
        for j in range(before):
            i = at[j]
            x = z[i] - tau * variance[i]
            at[active] = i
            some = (x >= least) | (x == largest)
            active += np.uint64(some)
            above += z[i] if some else 0.0
            spread += variance[i] if some else 0.0
    return active, tau


@bare_inline
def share_family(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    known: tuple[int, float, float],
    at: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> None:
    """Share out one node's total, see :func:`share`; ``at`` is overwritten."""
    for j in range(children[0], children[1]):
        out[j] = 0
    if known[0] == 0:
        return
    active, above, spread = could_be_above_zero(z, variance, children, float(known[0]), at)
    total, reached, least = known
    sums, shared, one = (above, spread), 0, np.uint64(1)
    active, tau = project(z, variance, at, active, sums, (float(total), least))
    for j in range(active - one):
        i = at[j]
        reached += z[i] - tau * variance[i]
        upto = min(int(np.floor(reached)), total)
        out[i] = upto - shared
        shared = upto
    out[at[active - one]] = total - shared


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
    at = np.empty(most, np.uint64)
    after = np.uint64(0)
    for n in range(total.size):  # unsigned indices spare the test for negative ones
        node = np.uint64(n)
        first, after = after, after + np.uint64(members[node])
        known = total[node], uniform[node], least
        share_family(z, variance, (first, after), known, at, out)
