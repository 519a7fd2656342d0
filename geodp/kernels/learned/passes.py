"""Both passes over the children of nodes, which predictions have a say in, family by family."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, part
from geodp.kernels.learned.lanes import (
    LANES,
    LEFT,
    PREDICTED,
    SCALE,
    TOTAL,
    VARIANCE,
    LaneWorkspace,
    Z,
    share_lanes,
    spare_lanes,
)
from geodp.kernels.learned.residuals import bring_nearer, note
from geodp.kernels.pyramid.shares import share_family
from geodp.kernels.pyramid.spare import spare

LEAST_FACTOR = 1e-4
"""Of a variance that is left: a child that is predicted exactly still gives way to its siblings."""

MANY = 1 << 31
"""Counts below are so far apart that products of them with one variance are too."""

Tables = tuple[float, NDArray[np.int64], NDArray[np.float64]]
"""Unit of the residuals, rows by size class, and the table: see
:func:`geodp.kernels.learned.residuals.shrink`; no rows: nothing was learned."""

Prior = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The prior's people in children, and in nodes."""


class OpenChildren(NamedTuple):
    """Open children of n nodes.

    Attributes
    ----------
    members : int64[n]
        How many each has.
    closed : float64[2, n]
        Sums of the other children's counts and variances.
    prefix, held, z : uint64[n * fanout], int64[n * fanout], float64[n * fanout]
        The open ones' numbers, what they have, and their counts with noise.
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
    room: LaneWorkspace,
    bins: NDArray[np.int64],
    sums: NDArray[np.int64],
) -> None:
    """Add the residuals of the children of nodes to a histogram.

    Parameters
    ----------
    noisy : int64[n * fanout]
        Counts with noise.
    inside : bool[n * fanout] or bool[0]
        Which hold a cell of the domain; none: all.
    total : int64[n]
        What the nodes have: predicted are shares of it, as the prior's are, or even ones.
    prior : float64[n * fanout], float64[n]
    sd : float
        Standard deviation of the noise.
    room : Room
        Of the fanout.
    bins, sums
        Added to, see :func:`geodp.kernels.learned.residuals.gather`.
    """
    share, whole = prior
    fanout, every, unit = room.held.size, inside.size == 0, 1 / sd
    z, predicted, even = room.child[Z], room.child[PREDICTED], room.child[LEFT]
    for start in range(0, total.size, LANES):
        stop, to = min(start + LANES, total.size), np.uint64(0)
        for n in range(start, stop):
            cells, first = fanout, np.uint64(n * fanout)
            if not every:
                cells = 0
                for j in range(fanout):
                    cells += inside[first + np.uint64(j)]
                cells = max(cells, 1)
            scale, own = total[n] / whole[n], total[n] / cells
            for j in range(fanout):
                predicted[to], even[to] = scale * share[first + np.uint64(j)], own
                z[to] = np.float64(noisy[first + np.uint64(j)])
                to += np.uint64(1)
        some, size = slice(start * fanout, stop * fanout), (stop - start) * fanout
        known = inside if every else inside[some]
        note(z[:size], predicted[:size], even[:size], known, unit, room.place, bins, sums)


@part
def _predict(rows: int, whole: NDArray[np.float64], tables: Tables, room: LaneWorkspace) -> None:
    """Bring estimates nearer to what nodes' people, by the prior, predict of their children.

    Parameters
    ----------
    rows : int
        Children that are looked at.
    whole : float64[n]
        The prior's people in the nodes.
    tables : Tables
    room : Room
        What is measured, and its variances, become the estimates and theirs; the prior's people in
        the children become the predictions.
    """
    (sd, row, table), size, scale = tables, rows * LANES, room.real[SCALE]
    for i in range(LANES):
        scale[i] = room.whole[TOTAL, i] / whole[min(i, whole.size - 1)]
    z, predicted, left = room.child[Z, :size], room.child[PREDICTED, :size], room.child[LEFT, :size]
    for j in range(rows):
        for i in range(LANES):
            predicted[j * LANES + i] *= scale[i]
    bring_nearer(z, predicted, sd, row, table, room.place, (z, left))
    variance = room.child[VARIANCE, :size]
    for i in range(size):
        variance[i] *= max(left[i], LEAST_FACTOR)


@bare
def open_children(
    nodes: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]],
    noisy: NDArray[np.int64],
    inside: NDArray[np.bool_],
    prior: Prior,
    tables: Tables,
    known: tuple[float, float],
    room: LaneWorkspace,
    found: OpenChildren,
) -> int:
    """Share out what nodes have among their children, and list those above 0: they are open.

    Parameters
    ----------
    nodes : uint64[n], int64[n], float64[n]
        Their numbers, what they have, and a number in [0, 1) of each.
    noisy : int64[n * fanout]
        The children's counts with noise.
    inside : bool[n * fanout] or bool[0]
        Which hold a cell of the domain; none: all.
    prior : float64[n * fanout], float64[n]
        As with ``noisy``; neither is looked at where nothing was learned. Of the first the first
        become those of the open children.
    tables : Tables
    known : float, float
        Variance of a count; children below the last are dropped.
    room : Room
        Of the fanout.
    found : Found
        Written.

    Returns
    -------
    int
        How many are open.
    """
    if tables[2].size == 0:
        return _open_plainly(nodes, noisy, inside, known, room, found)
    above, total, uniform = nodes
    (share, whole), (own, least), fanout = prior, known, room.held.size
    every, some = inside.size == 0, np.uint64(0)
    z, variance, expected = room.child[Z], room.child[VARIANCE], room.child[PREDICTED]
    for start in range(0, total.size, LANES):
        stop, first = min(start + LANES, total.size), np.uint64(start * fanout)
        _place_families(total[start:stop], uniform[start:stop], room)
        i = first
        for n in range(stop - start):
            for j in range(fanout):
                to = np.uint64(j * LANES + n)
                z[to], expected[to] = np.float64(noisy[i]), share[i]
                variance[to] = own if every or inside[i] else 0.0
                i += np.uint64(1)
        _predict(fanout, whole[start:stop], tables, room)
        share_lanes(fanout, least, room)
        for n in range(stop - start):
            below, spread, before, node = 0.0, 0.0, some, np.uint64(start + n)
            number = above[node] * np.uint64(fanout)
            for j in range(fanout):
                i, got = first + np.uint64(n * fanout + j), room.out[np.uint64(j * LANES + n)]
                shut, own_z = (got <= 0) & (every or inside[i]), np.float64(noisy[i])
                below += own_z if shut else 0.0
                spread += own if shut else 0.0
                found.prefix[some], found.held[some] = number + np.uint64(j), got
                found.z[some], share[some] = own_z, share[i]
                some += np.uint64(got > 0)
            found.members[node] = some - before
            found.closed[0, node], found.closed[1, node] = below, spread
    return int(some)


@part
def _open_plainly(
    nodes: tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]],
    noisy: NDArray[np.int64],
    inside: NDArray[np.bool_],
    known: tuple[float, float],
    room: LaneWorkspace,
    found: OpenChildren,
) -> int:
    """Do so where nothing was learned: few children could be above 0, as a rule."""
    above, total, uniform = nodes
    (own, least), fanout, at = known, room.held.size, room.at
    z, variance, spreads = room.family[0], room.family[1], room.family[3]
    every, some, out = inside.size == 0, np.uint64(0), room.held
    spreads[0] = 0.0
    for j in range(fanout):
        spreads[j + 1] = spreads[j] + own
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
        if cells == fanout and best < MANY and lowest > -MANY and goal < MANY:
            active, bar = np.uint64(0), best - goal if best > goal else lowest - 1
            for j in range(fanout):
                at[active] = np.uint64(j)
                active += np.uint64(noisy[first + np.uint64(j)] > bar)
            out[np.uint64(0)] = goal
            if active > np.uint64(1):
                for j in range(active):
                    z[j], variance[j] = np.float64(noisy[first + at[j]]), own
                    room.place[0, j] = at[j]
                children = np.uint64(0), active
                share_family(z, variance, children, (goal, uniform[n], least), at, out)
            else:
                room.place[0, 0] = at[np.uint64(0)]
            for j in range(active):
                child = np.uint64(room.place[0, j])
                value, got = noisy[first + child], out[j]
                found.prefix[some], found.held[some] = number + child, got
                found.z[some] = np.float64(value)
                below -= value if got > 0 else 0
                some += np.uint64(got > 0)
            found.members[n] = some - before
            found.closed[0, n] = np.float64(below)
            found.closed[1, n] = spreads[np.uint64(fanout) - (some - before)]
            continue
        for j in range(fanout):
            i = first + np.uint64(j)
            z[j], variance[j] = np.float64(noisy[i]), own if every or inside[i] else 0.0
        some = _open_family(number, (goal, uniform[n], least), own, room, some, found)
        found.members[n] = some - before
        found.closed[0, n], found.closed[1, n] = room.family[2, 0], room.family[2, 1]
    return int(some)


@part
def _open_family(
    number: np.uint64,
    known: tuple[int, float, float],
    own: float,
    room: LaneWorkspace,
    some: np.uint64,
    found: OpenChildren,
) -> np.uint64:
    """Put out the open children of one node after ``some`` others; how many there are then.

    Sums of the closed ones stand first in the last row of ``room.family``.
    """
    z, variance, out, fanout = room.family[0], room.family[1], room.held, room.held.size
    share_family(z, variance, (np.uint64(0), np.uint64(fanout)), known, room.at, out)
    shut, spread = 0.0, 0.0
    for j in range(fanout):
        closed = (out[j] <= 0) & (variance[j] > 0)
        shut += z[j] if closed else 0.0
        spread += own if closed else 0.0
        found.prefix[some], found.held[some] = number + np.uint64(j), out[j]
        found.z[some] = z[j]
        some += np.uint64(out[j] > 0)
    room.family[2, 0], room.family[2, 1] = shut, spread
    return some


@part
def _place_families(
    total: NDArray[np.int64], uniform: NDArray[np.float64], room: LaneWorkspace
) -> None:
    """Put nodes' people and random numbers into their lanes; the lanes that are left have none."""
    for n in range(LANES):
        room.whole[TOTAL, n], room.uniform[n] = 0, 0.0
    for n in range(total.size):
        room.whole[TOTAL, n], room.uniform[n] = total[n], uniform[n]


@bare
def share_again(
    nodes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    prior: Prior,
    tables: Tables,
    known: tuple[float, bool],
    room: LaneWorkspace,
    count: NDArray[np.int64],
) -> None:
    """Share out what nodes have in the end among their open children.

    Parameters
    ----------
    nodes : int64[n], int64[n], float64[n]
        Open children of each, what they have, and a number in [0, 1) of each.
    z : float64[k]
        The children's estimates.
    variance : float64[k] or float64[1]
        The same, or that of all of them.
    prior : float64[k], float64[n]
    tables : Tables
    known : float, bool
        Children below the first are dropped; whether they are above the cells, see
        :func:`geodp.kernels.pyramid.spare.spare`.
    room : Room
        Of the fanout.
    count : int64[k], written
    """
    if tables[2].size == 0:
        _share_plainly(nodes, z, variance, known, room, count)
        return
    members, total, uniform = nodes
    (share, whole), (least, firm), fanout = prior, known, room.held.size
    alike, after, one = variance.size == 1, np.uint64(0), np.uint64(1)
    own, spread, expected = room.child[Z], room.child[VARIANCE], room.child[PREDICTED]
    for start in range(0, total.size, LANES):
        stop, first, rows = min(start + LANES, total.size), after, 0
        _place_families(total[start:stop], uniform[start:stop], room)
        for n in range(start, stop):
            rows = max(rows, members[n])
        for n in range(stop - start):
            some = members[start + n]
            for j in range(rows):  # all of them, so that no branch depends on their number
                to, there = np.uint64(j * LANES + n), j < some
                i = after + (np.uint64(j) if there else np.uint64(0))
                own[to] = z[i] if there else 0.0
                expected[to] = share[i] if there else 0.0
                own_spread = variance[np.uint64(0) if alike else i]
                spread[to] = own_spread if there else 0.0
            after += np.uint64(some)
        _predict(rows, whole[start:stop], tables, room)
        spare_lanes(rows, (fanout, firm), room)
        share_lanes(rows, least, room)
        for n in range(stop - start):
            some = np.uint64(members[start + n])
            for j in range(rows):
                if np.uint64(j) < some:
                    count[first] = room.out[np.uint64(j * LANES + n)]
                    first += one


@part
def _share_plainly(
    nodes: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
    z: NDArray[np.float64],
    variance: NDArray[np.float64],
    known: tuple[float, bool],
    room: LaneWorkspace,
    count: NDArray[np.int64],
) -> None:
    """Do so where nothing was learned: few children of a node are open, as a rule."""
    members, total, uniform = nodes
    (least, firm), at, out, fanout = known, room.at, room.held, room.held.size
    own, spread, scratch = room.family[0], room.family[1], room.family[2]
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
            own[j], spread[j] = z[i], variance[np.uint64(0)] if alike else variance[i]
        children = np.uint64(0), np.uint64(some)
        spare(own, spread, children, (total[n], fanout, firm), scratch, at)
        share_family(own, spread, children, (total[n], uniform[n], least), at, out)
        for j in range(some):
            count[first + np.uint64(j)] = out[j]
