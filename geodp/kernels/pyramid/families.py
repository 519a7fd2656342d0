"""Steps of the first pass on one family after the other: open children, combine estimates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, part
from geodp.kernels.pyramid.edges import ALL, NOTHING, list_children, pitch_of
from geodp.kernels.pyramid.layout import (
    BEGIN,
    CANDIDATES,
    CLOSED,
    COUNT,
    DATUM,
    END,
    FANOUT,
    FIRST,
    FULL,
    LAST_CHILD,
    LOST,
    MIN_COUNT,
    NOISE_VARIANCE,
    NUMBER,
    PREFIX,
    SEVERAL,
    SPREAD,
    SPREADS,
    START,
    STOP,
    SUMS,
    THRESHOLDS,
    VARIANCE,
    Levels,
    PassWorkspace,
    Z,
)
from geodp.kernels.pyramid.rows import place_of, uniform_of, wrap
from geodp.kernels.pyramid.shares import could_be_above_zero, project, project_integers

EVERY_Z, EVERY_VARIANCE = 2, 3
"""Rows of ``PassWorkspace.family`` for all children of a family."""

CHILD, AT = range(2)
"""Rows of ``PassWorkspace.family`` for numbers of children, and for their positions among the
candidates."""


@part
def open_children(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    levels: Levels,
    level: int,
    workspace: PassWorkspace,
    counted: bool,
) -> int:
    """Apportion the counts of a block's nodes to the candidates; those above 0 are open.

    Parameters
    ----------
    nodes : int64[5, .]
    block : int, int
        First of the block's nodes, and their number.
    levels : Levels
    level : int
        Level of the children.
    workspace : PassWorkspace
        Counts, numbers and estimates of the level's open children are written.
    counted : bool
        Whether the sums of closed children include the open ones.

    Returns
    -------
    int
        Number of open children.
    """
    table, (first, families), row = levels.table, block, workspace.row
    fanout, noise_variance, min_count = (
        table[FANOUT, level],
        levels.real[NOISE_VARIANCE, level],
        levels.real[MIN_COUNT, level],
    )
    numbers, held, opened_child = (
        workspace.lane[level, NUMBER],
        workspace.nodes[COUNT],
        workspace.child,
    )
    child, z, estimates = workspace.family[1][CHILD], workspace.measured, workspace.estimates
    pitch, one = pitch_of(fanout, families), np.uint64(1)
    start = np.uint64(table[START, level])
    spreads, to = levels.spread[table[SPREADS, level] :], start
    for f in range(families):
        i, total, begin = np.uint64(f), nodes[COUNT, np.uint64(first + f)], to
        if row[CANDIDATES, i] < SEVERAL:
            last = np.uint64(row[CANDIDATES, i] - np.int32(SEVERAL // 2))
            estimates[Z, to] = np.float64(workspace.noisy[place_of(last, f, (families, pitch))])
            opened_child[to], held[to] = np.uint16(last), total
            to += one
        else:
            place = f, families, pitch
            some = list_children(workspace.mask, workspace.noisy, fanout, place, (child, z))
            some, tau = project_integers(z, child, some, spreads, (float(total), min_count))
            reached, shared = uniform_of(workspace.digits, i), 0
            numbers[i] = reached
            # Systematic rounding: cumulative sums plus one uniform number of the node, rounded
            # down. The last child gets the rest, so the children add up exactly.
            for e in range(some - one):
                reached += np.float64(z[e]) - tau * noise_variance
                upto = min(int(np.floor(reached)), total)
                opened_child[to], held[to] = np.uint16(child[e]), upto - shared
                estimates[Z, to] = np.float64(z[e])
                to += np.uint64(upto > shared)
                shared = upto
            opened_child[to], held[to] = np.uint16(child[some - one]), total - shared
            estimates[Z, to] = np.float64(z[some - one])
            to += np.uint64(total > shared)
        opened_child[to - one] |= np.uint16(LAST_CHILD)
        row[THRESHOLDS, i] = np.int32(to - begin)
    for e in range(start, to):
        estimates[VARIANCE, e] = noise_variance
    _sum_shut(
        (fanout, families, counted), spreads, row, workspace.lane[level], (estimates[Z], start)
    )
    return int(np.int64(to - start))


@part
def _sum_shut(
    kind: tuple[int, int, bool],
    spread: NDArray[np.float64],
    row: NDArray[np.int32],
    lane: NDArray[np.float64],
    opened: tuple[NDArray[np.float64], np.uint64],
) -> None:
    """Sum the measurements of every family's closed children, or with ``counted`` of all."""
    fanout, families, counted = kind
    z, e = opened
    for f in range(families):
        i, some = np.uint64(f), row[THRESHOLDS, np.uint64(f)]
        shut, inside = (
            np.int64(row[SUMS, i]) + (np.int64(row[LOST, i]) << 31),
            fanout - row[LOST, i],
        )
        if not counted:
            inside -= some
            for _ in range(some):
                shut -= np.int64(z[e])
                e += np.uint64(1)
        lane[CLOSED, i], lane[SPREAD, i] = np.float64(wrap(shut)), spread[np.uint64(inside)]


@part
def descend(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    fanout: int,
    place: tuple[int, int],
    workspace: PassWorkspace,
) -> None:
    """Complete the rows of a block's open children as nodes; their counts are written already.

    Parameters
    ----------
    nodes : int64[5, .]
    block : int, int
        First of the block's nodes, and their number.
    fanout : int
    place : int, int
        Where the level's open children start, and where they end.
    workspace : PassWorkspace
    """
    below, child, part = workspace.nodes, workspace.child, workspace.part
    datum, begin, end = workspace.scratch[DATUM], workspace.scratch[BEGIN], workspace.scratch[END]
    f, number_mask = np.uint64(0), np.uint64(LAST_CHILD - 1)
    for n in range(place[0], place[1]):
        to, node = np.uint64(n), np.uint64(block[0]) + f
        j = np.uint64(child[to]) & number_mask
        below[PREFIX, to] = nodes[PREFIX, node] * fanout + np.int64(j)
        below[FIRST, to], below[STOP, to], below[FULL, to] = 0, 0, 1
        # Data of the children were found when counts were added, so nothing is searched twice.
        at = np.uint64(datum[f] * fanout) + j
        if datum[f] >= 0 and end[at] > 0:
            below[FIRST, to], below[STOP, to] = begin[at], end[at]
        if not nodes[FULL, node]:
            below[FULL, to] = part[f * np.uint64(fanout) + j] == ALL
        f += np.uint64(child[to] > number_mask)


@part
def open_wide(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    levels: Levels,
    level: int,
    workspace: PassWorkspace,
    counted: bool,
) -> int:
    """Open children, like :func:`open_children`, in a block whose counts need 64 bits."""
    # Large counts are rare, so this is slower and simpler: estimates are float64 and projected one
    # family after the other. Where both forms apply they give the same.
    table, (first, families), lane = levels.table, block, workspace.lane[level]
    fanout, noise_variance, min_count = (
        table[FANOUT, level],
        levels.real[NOISE_VARIANCE, level],
        levels.real[MIN_COUNT, level],
    )
    child, at, held, opened_child = (
        workspace.family[1][CHILD],
        workspace.family[1][AT],
        workspace.nodes[COUNT],
        workspace.child,
    )
    z, spread, estimates = (
        workspace.family[0][Z],
        workspace.family[0][VARIANCE],
        workspace.estimates,
    )
    start, one = np.uint64(table[START, level]), np.uint64(1)
    spreads, to = levels.spread[table[SPREADS, level] :], start
    for j in range(fanout):
        spread[np.uint64(j)] = noise_variance
    for f in range(families):
        i, total, begin = np.uint64(f), nodes[COUNT, np.uint64(first + f)], to
        some, above = _list_wide(nodes, first, (fanout, families, f), noise_variance, workspace)
        reached = lane[NUMBER, i] = uniform_of(workspace.digits, i)
        sums, shared = (above, spreads[some]), 0
        some, tau = project(z, spread, at, some, sums, (float(total), min_count))
        for e in range(some):
            c, upto = at[e], total
            if e + one < some:
                reached += z[c] - tau * noise_variance
                upto = min(int(np.floor(reached)), total)
            opened_child[to], held[to] = np.uint16(child[c]), upto - shared
            estimates[Z, to], estimates[VARIANCE, to] = z[c], noise_variance
            to += np.uint64(upto > shared)
            shared = upto
        opened_child[to - one] |= np.uint16(LAST_CHILD)
        _sum_wide((fanout, counted), workspace, lane, f, (begin, to))
    return int(np.int64(to - start))


@part
def _list_wide(
    nodes: NDArray[np.int64],
    first: int,
    family: tuple[int, int, int],
    noise_variance: float,
    workspace: PassWorkspace,
) -> tuple[np.uint64, float]:
    """Estimate all children of a family; list, count and sum the candidates."""
    fanout, families, f = family
    node, shape = first + f, (families, pitch_of(fanout, families))
    z, variance = workspace.family[0][EVERY_Z], workspace.family[0][EVERY_VARIANCE]
    child = workspace.family[1][CHILD]
    for j in range(fanout):
        at = place_of(np.uint64(j), f, shape)
        z[j], variance[j] = 0.0, 0.0
        if nodes[FULL, node] or workspace.part[f * fanout + j] != NOTHING:
            z[j], variance[j] = np.float64(workspace.far[at]), noise_variance
    every, goal = (np.uint64(0), np.uint64(fanout)), np.float64(nodes[COUNT, node])
    selected_z, at = workspace.family[0][Z], workspace.family[1][AT]
    some, above, _ = could_be_above_zero(z, variance, every, goal, child)
    for e in range(some):
        selected_z[e], at[e] = z[child[e]], np.uint64(e)
    return some, above


@part
def _sum_wide(
    kind: tuple[int, bool],
    workspace: PassWorkspace,
    lane: NDArray[np.float64],
    f: int,
    opened: tuple[np.uint64, np.uint64],
) -> None:
    """Sum a family's estimates, those of closed children first."""
    fanout, counted = kind
    z, variance = workspace.family[0][EVERY_Z], workspace.family[0][EVERY_VARIANCE]
    shut, spread, e = 0.0, 0.0, np.uint64(opened[0])
    for j in range(fanout):
        if e < opened[1] and workspace.child[e] & (LAST_CHILD - 1) == j:
            e += np.uint64(1)
        elif variance[j] > 0:
            shut += z[j]
            spread += variance[j]
    if counted:
        for to in range(opened[0], opened[1]):
            shut += workspace.estimates[Z, to]
            spread += workspace.estimates[VARIANCE, to]
    lane[CLOSED, f], lane[SPREAD, f] = shut, spread


@bare
def combine_families(
    workspace: PassWorkspace,
    start: int,
    lane: NDArray[np.float64],
    noise_variance: float,
    block: tuple[int, int],
    counted: bool,
    above: NDArray[np.float64],
) -> None:
    """Compute the best linear estimates of a block's nodes from their measurements and children.

    Parameters
    ----------
    workspace : PassWorkspace
    start : int
        Where the level's open children start.
    lane : float64[3, LANES]
        Values of the level; the sums are overwritten.
    noise_variance : float
        Variance of a node's own measurement.
    block : int, int
        First of the block's nodes, and their number.
    counted : bool
        Whether the sums include the open children.
    above : float64[2, .]
        The nodes' own measurements and variances, overwritten with the estimates'.
    """
    # Closed children come first: their measurements are integers, so their sum is exact. Then the
    # open ones, in order. The dense form adds in the same order, and so gives the same bits.
    first, families = block
    z, variance, child = workspace.estimates[Z], workspace.estimates[VARIANCE], workspace.child
    shut, spread, e = lane[CLOSED], lane[SPREAD], np.uint64(start)
    if not counted:
        for f in range(families):
            below, wide, more = shut[f], spread[f], True
            while more:
                below += z[e]
                wide += variance[e]
                more = child[e] < LAST_CHILD
                e += np.uint64(1)
            shut[f], spread[f] = below, wide
    for f in range(families):
        i, node = np.uint64(f), np.uint64(first + f)
        weight = spread[i] / (spread[i] + noise_variance)
        above[Z, node] = weight * above[Z, node] + (1 - weight) * shut[i]
        above[VARIANCE, node] = weight * noise_variance
