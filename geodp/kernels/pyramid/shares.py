"""Estimates from below, and shares from above, of nodes whose children lie side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, kernel
from geodp.kernels.pyramid.edges import NOWHERE


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
def _sum_above(z: NDArray[np.int32], some: np.uint64, bar: np.int32) -> tuple[np.int32, np.int32]:
    """Sum and number of those above a bar."""
    above, active = np.int32(0), np.int32(0)
    for n in range(some):
        one = z[np.uint64(n)]
        above = np.int32(above + (one if one > bar else np.int32(0)))
        active = np.int32(active + np.int32(one > bar))
    return above, active


@bare_inline
def project_whole(
    z: NDArray[np.int32],
    child: NDArray[np.uint64],
    some: np.uint64,
    spread: NDArray[np.float64],
    known: tuple[float, float],
) -> tuple[np.uint64, float]:
    """Project whole numbers that have one variance: the same as :func:`project`, without its order.

    A whole number is above tau times the variance where it is above that rounded down, and a child
    that has been dropped stays so: those are left that are above the highest bar so far.

    Parameters
    ----------
    z, child : int32[.], uint64[.], changed
        Measurements of children, whose sum fits 32 bits, and what else there is of each: the first
        ``some`` at first, afterwards those that are above 0 in the end, in order. Room for whole
        steps of ``STEP`` measurements.
    some : uint64
        At least 1.
    spread : float64[.]
        Variances of sums of 0, 1, 2 ... of them.
    known : float, float
        See :func:`project`.

    Returns
    -------
    active, tau
    """
    (goal, least), own, tau = known, spread[np.uint64(1)], 0.0
    largest, dropped = np.int32(NOWHERE), least <= 0
    for n in range(some):
        largest = max(largest, z[np.uint64(n)])
    bar = np.int32(max(np.float64(largest) - goal, np.float64(NOWHERE)))  # it gets no more
    bar = bar if np.float64(largest) > goal else np.int32(NOWHERE)
    above, active = _sum_above(z, some, bar)
    while active > 1:
        before, tau = active, (np.float64(above) - goal) / spread[np.uint64(active)]
        bar = max(bar, np.int32(max(np.floor(tau * own), np.float64(NOWHERE))))
        above, active = _sum_above(z, some, bar)
        if active < before:
            continue
        if dropped:
            break
        dropped, cut = True, np.ceil(tau * own + least)
        while cut - tau * own >= least:  # what sums of these lose by rounding
            cut -= 1.0
        while cut + 1.0 - tau * own < least:
            cut += 1.0
        bar = max(bar, np.int32(min(cut, np.float64(largest) - 1.0)))
        above, active = _sum_above(z, some, bar)
    left = np.uint64(0)
    for n in range(some):
        which, one = child[np.uint64(n)], z[np.uint64(n)]
        child[left], z[left] = which, one
        left += np.uint64(one > bar)
    return left, tau


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


@bare_inline
def share_between_two(
    one: tuple[float, float], other: tuple[float, float], known: tuple[int, float, float]
) -> int:
    """Return what the first of two children gets: the same as :func:`share_family`, in one go.

    Without a loop there is no branch that depends on noise: half of all families with several open
    children have two.

    Parameters
    ----------
    one, other : float, float
        Estimate and variance; the variance is above 0 of one of them at least.
    known : int, float, float
        See :func:`share_family`.
    """
    (z, variance), (other_z, other_variance), (total, chance, least) = one, other, known
    if total == 0:
        return 0
    goal, widest = float(total), max(variance, other_variance)
    best = max(z if variance > 0 else -np.inf, other_z if other_variance > 0 else -np.inf)
    free, excess = best <= goal, best - goal
    kept = (variance > 0) & (free | (z * widest > excess * variance))
    also = (other_variance > 0) & (free | (other_z * widest > excess * other_variance))
    above = (z if kept else 0.0) + (other_z if also else 0.0)
    spread = (variance if kept else 0.0) + (other_variance if also else 0.0)
    tau = (above - goal) / spread
    x, y = z - tau * variance, other_z - tau * other_variance
    largest = max(0.0, max(x, y))
    up, other_up = z > tau * variance, other_z > tau * other_variance
    stays, other_stays = (x >= least) | (x == largest), (y >= least) | (y == largest)
    first = kept & ((not also) | (up & ((not other_up) | stays)))
    second = also & ((not kept) | (other_up & ((not up) | other_stays)))
    upto = min(int(np.floor(chance + x)), total) if first & second else total
    return upto if first else 0


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
