"""Who pays for what a clamp gives to empty children: those that may be empty, not the populous.

Where children are raised to 0, their siblings hold more than their node has, and the excess is
taken from them. An equal share of it is right where it is noise; but it is what empty children got,
and a lone settlement would pay it again on every level.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, kernel, part

POPULOUS = 8.0
"""Squares of estimates over their variances from which on a child pays less: 4 scales of Laplace
noise."""

LEAST_PART = 0.1
"""Of its variance: what the most populous children pay by."""


@bare_inline
def is_spared(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    known: tuple[int, bool],
) -> bool:
    """Whether :func:`spare` may change the variances by which a node's children pay."""
    total, firm = known
    goal, held, least, populous = float(total), 0.0, np.inf, False
    for j in range(children[0], children[1]):
        inside, square = variance[j] > 0, z[j] * z[j]
        held += max(z[j], 0.0) if inside else 0.0
        least = min(least, variance[j]) if inside else least
        populous |= inside & (z[j] > 0) & (square > POPULOUS * variance[j])
    return (goal > 0) & ((populous & (held > goal)) | (firm & (goal * goal >= POPULOUS * least)))


@part
def spare(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    known: tuple[int, int, bool],
    room: NDArray[np.float64],
    at: NDArray[np.uint64],
) -> None:
    """Change the variances by which a node's children pay, if one of them is clamped.

    A child with z**2 of more than ``POPULOUS`` variances pays by ``POPULOUS * variance / z**2`` of
    its variance, at least by ``LEAST_PART`` of it. With ``firm``, if few children are populous,
    those that have little beside them are closed: see :func:`close_small`. That cannot be where
    all that the node has would not make one populous child.

    Parameters
    ----------
    z, variance : float64[.]
        Of all nodes' children; variance 0: the child is closed. The variances are changed.
    children : uint64, uint64
        First of the node's and one past its last: those that are not there are closed too.
    known : int, int, bool
        The node's total, 0 or above; children that a node has; ``firm``.
    room, at : float64[.], uint64[.], overwritten
        As long as the node has children.
    """
    first, after = children
    total, fanout, firm = known
    goal, held, below, spread, some = float(total), 0.0, 0.0, 0.0, 0
    least, populous = np.inf, False
    for j in range(first, after):
        if variance[j] > 0:
            held += max(z[j], 0.0)
            below += z[j]
            spread += variance[j]
            some += 1
            least = min(least, variance[j])
            populous |= (z[j] > 0) & (z[j] * z[j] > POPULOUS * variance[j])
    spared = populous & (held > goal)
    firm &= goal * goal >= POPULOUS * least
    if goal == 0 or some < 2 or not (spared or firm):
        return
    clamped, tau = some < fanout, (below - goal) / spread
    for j in range(first, after):
        clamped |= (variance[j] > 0) & (z[j] <= tau * variance[j])
    if not clamped:
        return
    for j in range(first, after):
        square, own = z[j] * z[j], POPULOUS * variance[j]
        part = own / square if spared & (z[j] > 0) & (square > own) else 1.0
        room[j - first] = variance[j] * max(part, LEAST_PART)
    if firm and close_small(z, variance, children, (goal, fanout), room, at):
        held = 0.0
        for j in range(first, after):
            held += z[j] if variance[j] > 0 else 0.0
        if held <= goal:  # what is missing was lost by noise: everybody gets of it
            return
    for j in range(first, after):
        variance[j] = room[j - first] if variance[j] > 0 else 0.0


@part
def close_small(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    children: tuple[np.uint64, np.uint64],
    known: tuple[float, int],
    room: NDArray[np.float64],
    at: NDArray[np.uint64],
) -> bool:
    """Close the children that are small beside a few populous ones, and tell whether there are any.

    Of b children k are populous. A small one has less than
    ``3 b (b - 2 k) / (b**2 + 2 k (b - k))`` scales of noise: near the logarithm of the others over
    the populous, up to which the largest noise of so many empty ones is usual. None is closed where
    they have as much together as makes one child populous: there somebody lives.

    Parameters
    ----------
    z, variance, children
        See :func:`spare`; at least two children are open.
    known : float, int
        The node's total; children that a node has.
    room : float64[.]
        By what each child pays.
    at : uint64[.], overwritten
    """
    first, after = children
    goal, fanout = known
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
            spread += room[at[e] - first]
        tau, active = (above - goal) / spread, np.uint64(0)
        for e in range(before):
            j = at[e]
            at[active] = j
            active += np.uint64(z[j] > tau * room[j - first])
        if active == before:
            break
    populous = 0
    for e in range(active):
        x = z[at[e]] - tau * room[at[e] - first]
        populous += x * x >= POPULOUS * variance[at[e]]
    if populous == 0 or 2 * populous >= fanout:
        return False
    rest = fanout - populous
    bar = 3.0 * fanout * (rest - populous) / (fanout * fanout + 2 * populous * rest)
    kept, together, widest = np.uint64(0), 0.0, 0.0
    for j in range(first, after):
        x, widest = 0.0, max(widest, variance[j])
        if kept < active and at[kept] == j:
            x = z[j] - tau * room[j - first]
            kept += one
        if 2.0 * x * x < bar * bar * variance[j]:
            together += x
            room[j - first] *= -1.0  # a mark
    few, closed = together * together < POPULOUS * widest, False
    for j in range(first, after):
        if room[j - first] < 0:
            room[j - first] *= -1.0
            variance[j] = 0.0 if few else variance[j]
            closed |= few
    return closed


@kernel
def spare_all(
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    members: NDArray[np.int64],
    total: NDArray[np.int64],
    known: tuple[int, bool],
) -> None:
    """Do so for nodes side by side.

    Parameters
    ----------
    z, variance : float64[.]
        Of all nodes' children, see :func:`spare`.
    members, total : int64[n]
        Children of each node that stand there; what it has.
    known : int, bool
        Children that a node has, and whether they are above the cells.
    """
    (fanout, firm), most = known, 1
    for n in range(members.size):
        most = max(most, members[n])
    room, at = np.empty(most), np.empty(most, np.uint64)
    after = np.uint64(0)
    for n in range(total.size):
        first, after = after, after + np.uint64(members[n])
        spare(z, variance, (first, after), (total[n], fanout, firm), room, at)
