"""Both passes over the children of nodes with a prior, which predicts their counts.

The steps are those of :mod:`geodp.kernels.pyramid.passes`, except that estimates are shrunk towards
predictions. :mod:`geodp.mechanisms.trees.informed` runs them level by level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, part
from geodp.kernels.learned.lanes import (
    LANES,
    PREDICTED,
    REMAINING,
    SCALE,
    TOTAL,
    VARIANCE,
    LaneWorkspace,
    Z,
    reweight_lanes,
    share_lanes,
)
from geodp.kernels.learned.residuals import bring_nearer, note
from geodp.kernels.pyramid.reweighting import reweight
from geodp.kernels.pyramid.shares import share_family

MIN_FACTOR = 1e-4
"""Smallest factor of a variance: even a child that is predicted exactly must give way to siblings,
as a variance of 0 means that it is closed."""

MANY = 1 << 31
"""Bound of integers whose products with one variance compare as the integers do: the rounding of
the products is smaller than the difference of two of them."""

Tables = tuple[float, NDArray[np.int64], NDArray[np.float64]]
"""Unit of the residuals, rows by size class, and the table: see
:func:`geodp.kernels.learned.residuals.shrink`; no rows: nothing was learned."""

Prior = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The prior's people in children, and in nodes."""


class OpenChildren(NamedTuple):
    """Open children of n nodes: those with counts above 0.

    Attributes
    ----------
    members : int64[n]
        Number of open children of each node.
    closed : float64[2, n]
        Sums of the other children's noisy counts and variances.
    prefix, held, z : uint64[n * fanout], int64[n * fanout], float64[n * fanout]
        Prefixes, apportioned counts and noisy counts of the open children.
    """

    members: NDArray[np.int64]
    closed: NDArray[np.float64]
    prefix: NDArray[np.uint64]
    held: NDArray[np.int64]
    z: NDArray[np.float64]


@bare
def gather_children(
    noisy: NDArray[np.int64],
    inside: NDArray[np.bool_],
    total: NDArray[np.int64],
    prior: Prior,
    sd: float,
    workspace: LaneWorkspace,
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add the residuals of the children of nodes to a histogram.

    Parameters
    ----------
    noisy : int64[n * fanout]
        Noisy counts.
    inside : bool[n * fanout] or bool[0]
        Which children contain a cell of the domain; size 0: all.
    total : int64[n]
        Counts of the nodes. Predictions are the prior's shares of them, or equal shares.
    prior : float64[n * fanout], float64[n]
    sd : float
        Standard deviation of the noise.
    workspace : LaneWorkspace
    bins, sums
        Added to, see :func:`geodp.kernels.learned.residuals.gather`.
    """
    share, totals = prior
    fanout, every, unit = workspace.held.size, inside.size == 0, 1 / sd
    z, predicted, even = workspace.child[Z], workspace.child[PREDICTED], workspace.child[REMAINING]
    for start in range(0, total.size, LANES):
        stop, to = min(start + LANES, total.size), np.uint64(0)
        for n in range(start, stop):
            cells, first = fanout, np.uint64(n * fanout)
            if not every:
                cells = 0
                for j in range(fanout):
                    cells += inside[first + np.uint64(j)]
                cells = max(cells, 1)
            scale, equal = total[n] / totals[n], total[n] / cells
            for j in range(fanout):
                predicted[to], even[to] = scale * share[first + np.uint64(j)], equal
                z[to] = np.float64(noisy[first + np.uint64(j)])
                to += np.uint64(1)
        some, size = slice(start * fanout, stop * fanout), (stop - start) * fanout
        counted = inside if every else inside[some]
        note(z[:size], predicted[:size], even[:size], counted, unit, workspace.place, bins, sums)


@part
def _predict(
    rows: int, totals: NDArray[np.float64], tables: Tables, workspace: LaneWorkspace
) -> None:
    """Shrink the children's estimates towards predictions: their shares of nodes in the prior.

    Parameters
    ----------
    rows : int
        Children of a family.
    totals : float64[n]
        The prior's counts of the nodes.
    tables : Tables
    workspace : LaneWorkspace
        Measurements and variances become estimates and their variances; the prior's counts of
        the children become predictions.
    """
    (sd, row, table), size, scale = tables, rows * LANES, workspace.real[SCALE]
    for i in range(LANES):
        scale[i] = workspace.integer[TOTAL, i] / totals[min(i, totals.size - 1)]
    z, predicted, left = (
        workspace.child[Z, :size],
        workspace.child[PREDICTED, :size],
        workspace.child[REMAINING, :size],
    )
    for j in range(rows):
        for i in range(LANES):
            predicted[j * LANES + i] *= scale[i]
    bring_nearer(z, predicted, sd, row, table, workspace.place, (z, left))
    # The shrunk estimate has a smaller variance, so the projection takes less from it.
    variance = workspace.child[VARIANCE, :size]
    for i in range(size):
        variance[i] *= max(left[i], MIN_FACTOR)


@bare
def open_children(
    nodes: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]],
    noisy: NDArray[np.int64],
    inside: NDArray[np.bool_],
    prior: Prior,
    tables: Tables,
    limits: tuple[float, float],
    workspace: LaneWorkspace,
    opened: OpenChildren,
) -> int:
    """Apportion the counts of nodes to their children, and list those above 0 as open.

    Parameters
    ----------
    nodes : uint64[n], int64[n], float64[n]
        Prefixes, counts and uniform numbers in [0, 1).
    noisy : int64[n * fanout]
        The children's noisy counts.
    inside : bool[n * fanout] or bool[0]
        Which children contain a cell of the domain; size 0: all.
    prior : float64[n * fanout], float64[n]
        The prior's counts of children and nodes, not read if nothing was learned. The first
        entries of the first array are overwritten with those of the open children.
    tables : Tables
    limits : float, float
        Variance of a noisy count, and the count below which children are dropped.
    workspace : LaneWorkspace
    opened : OpenChildren, written

    Returns
    -------
    int
        Number of open children.
    """
    if tables[2].size == 0:
        return _open_plainly(nodes, noisy, inside, limits, workspace, opened)
    above, total, uniform = nodes
    (share, totals), (noise_variance, min_count), fanout = prior, limits, workspace.held.size
    every, some = inside.size == 0, np.uint64(0)
    z, variance, expected = (
        workspace.child[Z],
        workspace.child[VARIANCE],
        workspace.child[PREDICTED],
    )
    for start in range(0, total.size, LANES):
        stop, first = min(start + LANES, total.size), np.uint64(start * fanout)
        _place_families(total[start:stop], uniform[start:stop], workspace)
        i = first
        for n in range(stop - start):
            for j in range(fanout):
                to = np.uint64(j * LANES + n)
                z[to], expected[to] = np.float64(noisy[i]), share[i]
                variance[to] = noise_variance if every or inside[i] else 0.0
                i += np.uint64(1)
        _predict(fanout, totals[start:stop], tables, workspace)
        share_lanes(fanout, min_count, workspace)
        for n in range(stop - start):
            below, spread, before, node = 0.0, 0.0, some, np.uint64(start + n)
            number = above[node] * np.uint64(fanout)
            for j in range(fanout):
                i, got = first + np.uint64(n * fanout + j), workspace.out[np.uint64(j * LANES + n)]
                shut, noisy_z = (got <= 0) & (every or inside[i]), np.float64(noisy[i])
                below += noisy_z if shut else 0.0
                spread += noise_variance if shut else 0.0
                opened.prefix[some], opened.held[some] = number + np.uint64(j), got
                opened.z[some], share[some] = noisy_z, share[i]
                some += np.uint64(got > 0)
            opened.members[node] = some - before
            opened.closed[0, node], opened.closed[1, node] = below, spread
    return int(some)


@part
def _open_plainly(
    nodes: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]],
    noisy: NDArray[np.int64],
    inside: NDArray[np.bool_],
    limits: tuple[float, float],
    workspace: LaneWorkspace,
    opened: OpenChildren,
) -> int:
    """Apportion counts where nothing was learned: usually few children can be above 0."""
    # One variance for all: candidates are found with integer comparisons, and only these few are
    # projected, one family after the other.
    above, total, uniform = nodes
    (noise_variance, min_count), fanout, at = limits, workspace.held.size, workspace.at
    z, variance, spreads = workspace.family[0], workspace.family[1], workspace.family[3]
    every, some, out = inside.size == 0, np.uint64(0), workspace.held
    spreads[0] = 0.0
    for j in range(fanout):
        spreads[j + 1] = spreads[j] + noise_variance
    for n in range(total.size):
        first, cells, goal, before = np.uint64(n * fanout), fanout, total[n], some
        if not every:
            cells = 0
            for j in range(fanout):
                cells += inside[first + np.uint64(j)]
        best, lowest, below = noisy[first], noisy[first], 0
        for j in range(fanout):
            value = noisy[first + np.uint64(j)]
            best, lowest, below = max(best, value), min(lowest, value), below + value
        number = above[n] * np.uint64(fanout)
        # The largest child gets at most the total, so with one variance for all only children above
        # the difference can stay above 0.
        if cells == fanout and best < MANY and lowest > -MANY and goal < MANY:
            active, bar = np.uint64(0), best - goal if best > goal else lowest - 1
            for j in range(fanout):
                at[active] = np.uint64(j)
                active += np.uint64(noisy[first + np.uint64(j)] > bar)
            out[np.uint64(0)] = goal
            if active > np.uint64(1):
                for j in range(active):
                    z[j], variance[j] = np.float64(noisy[first + at[j]]), noise_variance
                    workspace.place[0, j] = at[j]
                children = np.uint64(0), active
                share_family(z, variance, children, (goal, uniform[n], min_count), at, out)
            else:
                workspace.place[0, 0] = at[np.uint64(0)]
            for j in range(active):
                child = np.uint64(workspace.place[0, j])
                value, got = noisy[first + child], out[j]
                opened.prefix[some], opened.held[some] = number + child, got
                opened.z[some] = np.float64(value)
                below -= value if got > 0 else 0
                some += np.uint64(got > 0)
            opened.members[n] = some - before
            opened.closed[0, n] = np.float64(below)
            opened.closed[1, n] = spreads[np.uint64(fanout) - (some - before)]
            continue
        for j in range(fanout):
            i = first + np.uint64(j)
            z[j], variance[j] = np.float64(noisy[i]), noise_variance if every or inside[i] else 0.0
        some = _open_family(
            number, (goal, uniform[n], min_count), noise_variance, workspace, some, opened
        )
        opened.members[n] = some - before
        opened.closed[0, n], opened.closed[1, n] = workspace.family[2, 0], workspace.family[2, 1]
    return int(some)


@part
def _open_family(
    number: np.uint64,
    limits: tuple[int, float, float],
    noise_variance: float,
    workspace: LaneWorkspace,
    some: np.uint64,
    opened: OpenChildren,
) -> np.uint64:
    """Append the open children of one node to ``some`` others; return their total number.

    The sums of the closed ones are the first entries of row 2 of ``workspace.family``.
    """
    z, variance, out, fanout = (
        workspace.family[0],
        workspace.family[1],
        workspace.held,
        workspace.held.size,
    )
    share_family(z, variance, (np.uint64(0), np.uint64(fanout)), limits, workspace.at, out)
    shut, spread = 0.0, 0.0
    for j in range(fanout):
        closed = (out[j] <= 0) & (variance[j] > 0)
        shut += z[j] if closed else 0.0
        spread += noise_variance if closed else 0.0
        opened.prefix[some], opened.held[some] = number + np.uint64(j), out[j]
        opened.z[some] = z[j]
        some += np.uint64(out[j] > 0)
    workspace.family[2, 0], workspace.family[2, 1] = shut, spread
    return some


@part
def _place_families(
    total: NDArray[np.int64], uniform: NDArray[np.float64], workspace: LaneWorkspace
) -> None:
    """Put the counts and uniform numbers of nodes into lanes; unused lanes get a count of 0."""
    for n in range(LANES):
        workspace.integer[TOTAL, n], workspace.uniform[n] = 0, 0.0
    for n in range(total.size):
        workspace.integer[TOTAL, n], workspace.uniform[n] = total[n], uniform[n]


@bare
def share_again(
    nodes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    prior: Prior,
    tables: Tables,
    limits: tuple[float, bool],
    workspace: LaneWorkspace,
    count: NDArray[np.int64],
) -> None:
    """Apportion the final counts of nodes to their open children.

    Parameters
    ----------
    nodes : int64[n], int64[n], float64[n]
        Numbers of open children, counts, and uniform numbers in [0, 1).
    z : float64[k]
        The children's estimates.
    variance : float64[k] or float64[1]
        Their variances, or the one of all of them.
    prior : float64[k], float64[n]
    tables : Tables
    limits : float, bool
        The count below which children are dropped; and whether they are above the cells, see
        :func:`geodp.kernels.pyramid.reweighting.reweight`.
    workspace : LaneWorkspace
    count : int64[k], written
    """
    if tables[2].size == 0:
        _share_plainly(nodes, z, variance, limits, workspace, count)
        return
    members, total, uniform = nodes
    (share, totals), (min_count, firm), fanout = prior, limits, workspace.held.size
    alike, after, one = variance.size == 1, np.uint64(0), np.uint64(1)
    estimates, spread, expected = (
        workspace.child[Z],
        workspace.child[VARIANCE],
        workspace.child[PREDICTED],
    )
    for start in range(0, total.size, LANES):
        stop, first, rows = min(start + LANES, total.size), after, 0
        _place_families(total[start:stop], uniform[start:stop], workspace)
        for n in range(start, stop):
            rows = max(rows, members[n])
        for n in range(stop - start):
            some = members[start + n]
            # All rows, so that no branch depends on the number of children.
            for j in range(rows):
                to, there = np.uint64(j * LANES + n), j < some
                i = after + (np.uint64(j) if there else np.uint64(0))
                estimates[to] = z[i] if there else 0.0
                expected[to] = share[i] if there else 0.0
                spread_here = variance[np.uint64(0) if alike else i]
                spread[to] = spread_here if there else 0.0
            after += np.uint64(some)
        _predict(rows, totals[start:stop], tables, workspace)
        reweight_lanes(rows, (fanout, firm), workspace)
        share_lanes(rows, min_count, workspace)
        for n in range(stop - start):
            some = np.uint64(members[start + n])
            for j in range(rows):
                if np.uint64(j) < some:
                    count[first] = workspace.out[np.uint64(j * LANES + n)]
                    first += one


@part
def _share_plainly(
    nodes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    limits: tuple[float, bool],
    workspace: LaneWorkspace,
    count: NDArray[np.int64],
) -> None:
    """Apportion final counts where nothing was learned: usually few children are open."""
    members, total, uniform = nodes
    (min_count, firm), at, out, fanout = limits, workspace.at, workspace.held, workspace.held.size
    estimates, spread, scratch = workspace.family[0], workspace.family[1], workspace.family[2]
    alike, after = variance.size == 1, np.uint64(0)
    for n in range(total.size):
        first, some = after, members[n]
        after += np.uint64(some)
        if total[n] == 0 or some == 1:
            for j in range(some):
                count[first + np.uint64(j)] = total[n]
            continue
        for j in range(some):
            i = first + np.uint64(j)
            estimates[j], spread[j] = z[i], variance[np.uint64(0)] if alike else variance[i]
        children = np.uint64(0), np.uint64(some)
        reweight(estimates, spread, children, (total[n], fanout, firm), scratch, at)
        share_family(estimates, spread, children, (total[n], uniform[n], min_count), at, out)
        for j in range(some):
            count[first + np.uint64(j)] = out[j]
