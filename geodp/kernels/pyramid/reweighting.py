"""Weights by which children pay for the clamp: less for populous children than for small ones.

Where children are raised to 0, their siblings have more than their node, and the excess is taken
from them. Equal shares are right for an excess that is noise of the siblings themselves; but this
excess is what empty children gained, and an isolated settlement would pay for it on every level.
Only variances of noisy estimates change, so all of it is post-processing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, kernel, part

POPULOUS = 8.0
"""Ratio of an estimate's square to its variance from which on a child is populous and pays less: 4
scales of Laplace noise, whose variance is 2 squared scales."""

MIN_FACTOR = 0.1
"""Smallest factor of a variance: what the most populous children pay by."""


@bare_inline
def may_reweight(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    family: tuple[int, bool],
) -> bool:
    """Test whether :func:`reweight` may change the variances by which a node's children pay."""
    total, firm = family
    goal, held, min_variance, populous = float(total), 0.0, np.inf, False
    for j in range(children[0], children[1]):
        inside, square = variance[j] > 0, z[j] * z[j]
        held += max(z[j], 0.0) if inside else 0.0
        min_variance = min(min_variance, variance[j]) if inside else min_variance
        populous |= inside & (z[j] > 0) & (square > POPULOUS * variance[j])
    return (goal > 0) & (
        (populous & (held > goal)) | (firm & (goal * goal >= POPULOUS * min_variance))
    )


@part
def reweight(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    family: tuple[int, int, bool],
    payment: NDArray[np.float64],
    at: NDArray[np.uint64],
) -> None:
    """Change the variances by which a node's children pay, if one of them is clamped.

    A child with z**2 of more than ``POPULOUS`` variances pays by ``POPULOUS * variance / z**2`` of
    its variance, at least by ``MIN_FACTOR`` of it. With ``firm``, if few children are populous,
    small ones are closed: see :func:`close_small`. This is skipped if the whole total would not
    make one populous child.

    Parameters
    ----------
    z, variance : float64[.]
        Estimates and variances of all nodes' children; variance 0: the child is closed. The
        variances are changed.
    children : uint64, uint64
        First of the node's children and one past the last; missing ones are closed too.
    family : int, int, bool
        The node's total, not negative; number of children of a node; ``firm``.
    payment, at : float64[.], uint64[.], overwritten
        At least as long as the node's children.
    """
    first, after = children
    total, fanout, firm = family
    goal, held, below, spread, some = float(total), 0.0, 0.0, 0.0, 0
    min_variance, populous = np.inf, False
    for j in range(first, after):
        if variance[j] > 0:
            held += max(z[j], 0.0)
            below += z[j]
            spread += variance[j]
            some += 1
            min_variance = min(min_variance, variance[j])
            populous |= (z[j] > 0) & (z[j] * z[j] > POPULOUS * variance[j])
    reweighted = populous & (held > goal)
    firm &= goal * goal >= POPULOUS * min_variance
    if goal == 0 or some < 2 or not (reweighted or firm):
        return
    clamped, tau = some < fanout, (below - goal) / spread
    for j in range(first, after):
        clamped |= (variance[j] > 0) & (z[j] <= tau * variance[j])
    if not clamped:
        return
    for j in range(first, after):
        square, bound = z[j] * z[j], POPULOUS * variance[j]
        part = bound / square if reweighted & (z[j] > 0) & (square > bound) else 1.0
        payment[j - first] = variance[j] * max(part, MIN_FACTOR)
    if firm and close_small(z, variance, children, (goal, fanout), payment, at):
        held = 0.0
        for j in range(first, after):
            held += z[j] if variance[j] > 0 else 0.0
        # Here the siblings have too little, not too much: that is noise, and all share it equally.
        if held <= goal:
            return
    for j in range(first, after):
        variance[j] = payment[j - first] if variance[j] > 0 else 0.0


@part
def close_small(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    family: tuple[float, int],
    payment: NDArray[np.float64],
    at: NDArray[np.uint64],
) -> bool:
    """Close the children that are small compared with a few populous ones; return if there are any.

    If k of b children are populous, a small one has less than ``3 b (b - 2 k) / (b**2 + 2 k (b -
    k))`` scales of noise. None is closed if together they have as much as one populous child: then
    some of them are probably occupied.

    Parameters
    ----------
    z, variance, children
        See :func:`reweight`; at least two children are open.
    family : float, int
        The node's total; number of children of a node.
    payment : float64[.]
        The variances by which the children pay.
    at : uint64[.], overwritten
    """
    # The bound is a Pade approximation of log((b - k) / k), the size that the largest noise of b -
    # k empty children usually reaches. A rational function and no logarithm: its last digit is the
    # same on every machine.
    first, after = children
    goal, fanout = family
    one, active = np.uint64(1), np.uint64(0)
    for j in range(first, after):
        at[active] = j
        active += np.uint64((variance[j] > 0) & (z[j] > 0))
    if active == np.uint64(0):
        return False
    while True:
        above, spread, before = 0.0, 0.0, active
        for e in range(active):
            above += z[at[e]]
            spread += payment[at[e] - first]
        tau, active = (above - goal) / spread, np.uint64(0)
        for e in range(before):
            j = at[e]
            at[active] = j
            active += np.uint64(z[j] > tau * payment[j - first])
        if active == before:
            break
    populous = 0
    for e in range(active):
        x = z[at[e]] - tau * payment[at[e] - first]
        populous += x * x >= POPULOUS * variance[at[e]]
    if populous == 0 or 2 * populous >= fanout:
        return False
    rest = fanout - populous
    bar = 3.0 * fanout * (rest - populous) / (fanout * fanout + 2 * populous * rest)
    position, together, widest = np.uint64(0), 0.0, 0.0
    for j in range(first, after):
        x, widest = 0.0, max(widest, variance[j])
        if position < active and at[position] == j:
            x = z[j] - tau * payment[j - first]
            position += one
        if 2.0 * x * x < bar * bar * variance[j]:
            together += x
            payment[j - first] *= -1.0  # the sign marks a small child
    few, closed = together * together < POPULOUS * widest, False
    for j in range(first, after):
        if payment[j - first] < 0:
            payment[j - first] *= -1.0
            variance[j] = 0.0 if few else variance[j]
            closed |= few
    return closed


@kernel
def reweight_all(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    members: NDArray[np.int64],
    total: NDArray[np.int64],
    family: tuple[int, bool],
) -> None:
    """Change the variances by which the children of several nodes pay, see :func:`reweight`.

    Parameters
    ----------
    z, variance : float64[.]
        Estimates and variances of all nodes' children.
    members, total : int64[n]
        Number of each node's children in these arrays, and its total.
    family : int, bool
        Number of children of a node, and whether they are above the cells.
    """
    (fanout, firm), max_children = family, 1
    for n in range(members.size):
        max_children = max(max_children, members[n])
    payment, at = np.empty(max_children), np.empty(max_children, np.uint64)
    after = np.uint64(0)
    for n in range(total.size):
        first, after = after, after + np.uint64(members[n])
        reweight(z, variance, (first, after), (total[n], fanout, firm), payment, at)
