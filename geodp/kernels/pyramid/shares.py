"""The two steps of the pyramid at a node: estimates from below, and apportioning from above.

An estimate is the best linear combination of a node's own measurement and its children's. A total
is apportioned by a projection on the simplex and systematic rounding; :func:`share` documents the
rule and applies it to many nodes.

The sparse form calls :func:`share_family` and :func:`share_between_two`, one node at a time
(:mod:`geodp.kernels.pyramid.passes`), the two projections (:mod:`geodp.kernels.pyramid.families`),
and ``combine_families`` there for estimates. :func:`share` takes whole levels, for simulations and
for local methods; :func:`combine` is for local methods.
"""

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
    noise_variance: float,
    at: NDArray[np.int64],
    above_z: NDArray[np.float64],
    above_variance: NDArray[np.float64],
) -> None:
    """Compute the best linear estimates of nodes from their measurements and their children's.

    Parameters
    ----------
    z, variance : float64[n * fanout]
        Estimates of the children and their variances; variance 0: outside the domain.
    noise_variance : float
        Variance of a node's own measurement.
    at : int64[n]
        Position of each node in ``above_z``.
    above_z, above_variance : float64[.]
        The nodes' own measurements and variances, overwritten with the estimates'.
    """
    # Inverse-variance weights: Hay et al. (2010), theorem 3.
    for node in range(at.size):
        below, spread = 0.0, 0.0
        for i in range(node * fanout, (node + 1) * fanout):
            if variance[i] > 0:
                below += z[i]
                spread += variance[i]
        weight = spread / (spread + noise_variance)
        i = at[node]
        above_z[i] = weight * above_z[i] + (1 - weight) * below
        above_variance[i] = weight * noise_variance


@bare_inline
def could_be_above_zero(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    goal: float,
    at: NDArray[np.uint64],
) -> tuple[np.uint64, float, float]:
    """List and count a node's children that some possible tau leaves above 0.

    Also return the sums of their z and of their variances, in order.
    """
    # The largest child gets no more than the total `goal`, which bounds tau from below. Where the
    # total is small against the noise, this leaves few children for the projection.
    first, after = children
    best, widest, active = -np.inf, 0.0, np.uint64(0)
    for j in range(first, after):
        best = z[j] if (z[j] > best) & (variance[j] > 0) else best
        widest = variance[j] if variance[j] > widest else widest
    free, excess = best <= goal, best - goal  # tau is at least excess / widest
    above, spread = 0.0, 0.0
    for j in range(first, after):  # selected ones move up, without a branch on a random number
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
    target: tuple[float, float],
) -> tuple[np.uint64, float]:
    """Project children, all above 0 so far, on the simplex of a total above 0.

    Parameters
    ----------
    z, variance : float64[.]
        Estimates and variances of children; the variances of those in ``at`` are above 0.
    at : uint64[.], overwritten
        Its first ``active`` entries are the positions of these children, in order.
    sums : float, float
        Sums of these children's z and variances, added up in order.
    target : float, float
        The total, and the count below which children are dropped, see :func:`share`.

    Returns
    -------
    active, tau
        Number of children above 0 in the end, whose positions are in ``at``. Each gets
        ``z - tau * variance``; a single one gets everything.
    """
    # Michelot (1986): drop the negative ones and project the others again, until none is negative.
    # tau never falls, so a dropped child never comes back and this ends.
    (goal, min_count), (above, spread), tau = target, sums, 0.0
    dropped = min_count <= 0
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
            some = (x >= min_count) | (x == largest)
            active += np.uint64(some)
            above += z[i] if some else 0.0
            spread += variance[i] if some else 0.0
    return active, tau


@bare_inline
def _sum_above(z: NDArray[np.int32], some: np.uint64, bar: np.int32) -> tuple[np.int32, np.int32]:
    """Return the sum and the number of the values above a bar."""
    above, active = np.int32(0), np.int32(0)
    for n in range(some):
        one = z[np.uint64(n)]
        above = np.int32(above + (one if one > bar else np.int32(0)))
        active = np.int32(active + np.int32(one > bar))
    return above, active


@bare_inline
def project_integers(
    z: NDArray[np.int32],
    child: NDArray[np.uint64],
    some: np.uint64,
    spread: NDArray[np.float64],
    target: tuple[float, float],
) -> tuple[np.uint64, float]:
    """Project integers that have one variance: the same as :func:`project`, but faster.

    Parameters
    ----------
    z, child : int32[.], uint64[.], changed
        Measurements of children, whose sum fits 32 bits, and their numbers: the first ``some``
        entries; afterwards those that are above 0 in the end, in order. The length is a multiple
        of ``STEP``.
    some : uint64
        At least 1.
    spread : float64[.]
        Variances of sums of 0, 1, 2 ... of them.
    target : float, float
        See :func:`project`.

    Returns
    -------
    active, tau
    """
    # Sums of integers are exact in any order, so tau is that of `project`, bit for bit. An integer
    # is above tau times the variance exactly if it is above that product rounded down; and as
    # dropped children never come back, one comparison with the highest bar so far is enough.
    (goal, min_count), noise_variance, tau = target, spread[np.uint64(1)], 0.0
    largest, dropped = np.int32(NOWHERE), min_count <= 0
    for n in range(some):
        largest = max(largest, z[np.uint64(n)])
    bar = np.int32(max(np.float64(largest) - goal, np.float64(NOWHERE)))  # it gets no more
    bar = bar if np.float64(largest) > goal else np.int32(NOWHERE)
    above, active = _sum_above(z, some, bar)
    while active > 1:
        before, tau = active, (np.float64(above) - goal) / spread[np.uint64(active)]
        bar = max(bar, np.int32(max(np.floor(tau * noise_variance), np.float64(NOWHERE))))
        above, active = _sum_above(z, some, bar)
        if active < before:
            continue
        if dropped:
            break
        dropped, cut = True, np.ceil(tau * noise_variance + min_count)
        # The comparison must be the one of `project`, with its rounding: ceil may be off by one.
        while cut - tau * noise_variance >= min_count:
            cut -= 1.0
        while cut + 1.0 - tau * noise_variance < min_count:
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
    target: tuple[int, float, float],
    at: NDArray[np.uint64],
    out: NDArray[np.int64],
) -> None:
    """Apportion one node's total, see :func:`share`; ``at`` is overwritten."""
    for j in range(children[0], children[1]):
        out[j] = 0
    if target[0] == 0:
        return
    active, above, spread = could_be_above_zero(z, variance, children, float(target[0]), at)
    total, reached, min_count = target
    sums, shared, one = (above, spread), 0, np.uint64(1)
    active, tau = project(z, variance, at, active, sums, (float(total), min_count))
    for j in range(active - one):
        i = at[j]
        reached += z[i] - tau * variance[i]
        upto = min(int(np.floor(reached)), total)
        out[i] = upto - shared
        shared = upto
    out[at[active - one]] = total - shared


@bare_inline
def share_between_two(
    one: tuple[float, float], other: tuple[float, float], target: tuple[int, float, float]
) -> int:
    """Return the count of the first of two children: the same as :func:`share_family`.

    Parameters
    ----------
    one, other : float, float
        Estimate and variance; at least one of the variances is above 0.
    target : int, float, float
        See :func:`share_family`.
    """
    # Half of all families with several open children have two, and without a loop there is no
    # branch that depends on noise.
    (z, variance), (other_z, other_variance), (total, chance, min_count) = one, other, target
    if total == 0:
        return 0
    goal, widest = float(total), max(variance, other_variance)
    best = max(z if variance > 0 else -np.inf, other_z if other_variance > 0 else -np.inf)
    free, excess = best <= goal, best - goal
    selected = (variance > 0) & (free | (z * widest > excess * variance))
    also = (other_variance > 0) & (free | (other_z * widest > excess * other_variance))
    above = (z if selected else 0.0) + (other_z if also else 0.0)
    spread = (variance if selected else 0.0) + (other_variance if also else 0.0)
    tau = (above - goal) / spread
    x, y = z - tau * variance, other_z - tau * other_variance
    largest = max(0.0, max(x, y))
    up, other_up = z > tau * variance, other_z > tau * other_variance
    stays, other_stays = (x >= min_count) | (x == largest), (y >= min_count) | (y == largest)
    first = selected & ((not also) | (up & ((not other_up) | stays)))
    second = also & ((not selected) | (other_up & ((not up) | other_stays)))
    upto = min(int(np.floor(chance + x)), total) if first & second else total
    return upto if first else 0


@kernel
def share(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    members: NDArray[np.int64],
    total: NDArray[np.int64],
    uniform: NDArray[np.float64],
    min_count: float,
    out: NDArray[np.int64],
) -> None:
    """Apportion nodes' totals to their children: non-negative integers that add up to the total.

    Before rounding a child has ``max(z - tau * variance, 0)``, with the tau for which the sum is
    ``total``: the projection on the simplex, weighted by precision (Michelot 1986). Then follows
    systematic rounding: cumulative sums plus one uniform number, rounded down, so that no 0 becomes
    positive and every expectation is kept.

    Parameters
    ----------
    z, variance : float64[.]
        Estimates and variances of all nodes' children. Variance 0: the child is closed and gets
        0. A node with a total above 0 has an open child.
    members : int64[n]
        Number of children of each node.
    total : int64[n]
        Not negative.
    uniform : float64[n]
        In [0, 1).
    min_count : float
        Children below it are dropped, except for the largest, and the total is projected again.
    out : int64[.], written
    """
    max_children = 1
    for i in range(members.size):
        max_children = max(max_children, members[i])
    at = np.empty(max_children, np.uint64)
    after = np.uint64(0)
    for n in range(total.size):  # unsigned indices spare the test for negative ones
        node = np.uint64(n)
        first, after = after, after + np.uint64(members[node])
        target = total[node], uniform[node], min_count
        share_family(z, variance, (first, after), target, at, out)
