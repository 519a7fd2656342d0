"""What is done to one family after the other: sharing out, and estimates from below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, part
from geodp.kernels.pyramid.edges import ALL, NOTHING, pitch_of
from geodp.kernels.pyramid.layout import (
    BEGIN,
    CANDIDATES,
    COUNT,
    DATUM,
    END,
    FANOUT,
    FIRST,
    LAST_CHILD,
    LEAST,
    LOST,
    NUMBER,
    OWN,
    PREFIX,
    SEVERAL,
    SHUT,
    SPREAD,
    SPREADS,
    START,
    STOP,
    SUMS,
    THRESHOLDS,
    VARIANCE,
    WHOLE,
    Desk,
    Levels,
    Z,
)
from geodp.kernels.pyramid.masks import list_children
from geodp.kernels.pyramid.rows import own_number, place_of, wrap
from geodp.kernels.pyramid.shares import could_be_above_zero, project, project_whole

EVERY_Z, EVERY_VARIANCE = 2, 3
"""Rows of ``Desk.family`` for all children of a family."""

CHILD, AT = range(2)
"""Rows of ``Desk.family`` for numbers of children, and for their places among the candidates."""


@part
def open_children(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    levels: Levels,
    level: int,
    desk: Desk,
    counted: bool,
) -> int:
    """Share out what a block's nodes hold among the candidates; those above 0 are open.

    Parameters
    ----------
    nodes : int64[5, .]
    block : int, int
        First of the block's nodes, and how many there are.
    levels : Levels
    level : int
        Of the children.
    desk : Desk
        Counts, numbers and estimates of the level's open children are written.
    counted : bool
        Whether open children are among the sums of the others.

    Returns
    -------
    int
        Number of open children.
    """
    table, (first, families), row = levels.table, block, desk.row
    fanout, own, least = table[FANOUT, level], levels.real[OWN, level], levels.real[LEAST, level]
    numbers, held, opened_child = desk.lane[level, NUMBER], desk.nodes[COUNT], desk.child
    child, z, estimates = desk.family[1][CHILD], desk.whole, desk.estimates
    pitch, one = pitch_of(fanout, families), np.uint64(1)
    start = np.uint64(table[START, level])
    spreads, to = levels.spread[table[SPREADS, level] :], start
    for f in range(families):
        i, total, begin = np.uint64(f), nodes[COUNT, np.uint64(first + f)], to
        if row[CANDIDATES, i] < SEVERAL:
            last = np.uint64(row[CANDIDATES, i] - np.int32(SEVERAL // 2))
            estimates[Z, to] = np.float64(desk.noisy[place_of(last, f, (families, pitch))])
            opened_child[to], held[to] = np.uint16(last), total
            to += one
        else:
            place = f, families, pitch
            some = list_children(desk.mask, desk.noisy, fanout, place, (child, z))
            some, tau = project_whole(z, child, some, spreads, (float(total), least))
            reached, shared = own_number(desk.digits, i), 0
            numbers[i] = reached
            for e in range(some - one):
                reached += np.float64(z[e]) - tau * own
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
        estimates[VARIANCE, e] = own
    _sum_shut((fanout, families, counted), spreads, row, desk.lane[level], (estimates[Z], start))
    return int(np.int64(to - start))


@part
def _sum_shut(
    kind: tuple[int, int, bool],
    spread: NDArray[np.float64],
    row: NDArray[np.int32],
    lane: NDArray[np.float64],
    opened: tuple[NDArray[np.float64], np.uint64],
) -> None:
    """Add up the measurements of every family's shut children, or with ``counted`` of all."""
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
        lane[SHUT, i], lane[SPREAD, i] = np.float64(wrap(shut)), spread[np.uint64(inside)]


@part
def descend(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    fanout: int,
    place: tuple[int, int],
    desk: Desk,
) -> None:
    """Make nodes of a block's open children, whose counts are there.

    Parameters
    ----------
    nodes : int64[5, .]
    block : int, int
        First of the block's nodes, and how many there are.
    fanout : int
    place : int, int
        Where the level's open children start, and where they end.
    desk : Desk
    """
    below, child, part = desk.nodes, desk.child, desk.part
    datum, begin, end = desk.scratch[DATUM], desk.scratch[BEGIN], desk.scratch[END]
    f, mark = np.uint64(0), np.uint64(LAST_CHILD - 1)
    for n in range(place[0], place[1]):
        to, node = np.uint64(n), np.uint64(block[0]) + f
        j = np.uint64(child[to]) & mark
        below[PREFIX, to] = nodes[PREFIX, node] * fanout + np.int64(j)
        below[FIRST, to], below[STOP, to], below[WHOLE, to] = 0, 0, 1
        at = np.uint64(datum[f] * fanout) + j
        if datum[f] >= 0 and end[at] > 0:
            below[FIRST, to], below[STOP, to] = begin[at], end[at]
        if not nodes[WHOLE, node]:
            below[WHOLE, to] = part[f * np.uint64(fanout) + j] == ALL
        f += np.uint64(child[to] > mark)


@part
def open_wide(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    levels: Levels,
    level: int,
    desk: Desk,
    counted: bool,
) -> int:
    """Do so in a block that rows of 32 bits do not hold."""
    table, (first, families), lane = levels.table, block, desk.lane[level]
    fanout, own, least = table[FANOUT, level], levels.real[OWN, level], levels.real[LEAST, level]
    child, at, held, opened_child = (
        desk.family[1][CHILD],
        desk.family[1][AT],
        desk.nodes[COUNT],
        desk.child,
    )
    z, spread, estimates = desk.family[0][Z], desk.family[0][VARIANCE], desk.estimates
    start, one = np.uint64(table[START, level]), np.uint64(1)
    spreads, to = levels.spread[table[SPREADS, level] :], start
    for j in range(fanout):
        spread[np.uint64(j)] = own
    for f in range(families):
        i, total, begin = np.uint64(f), nodes[COUNT, np.uint64(first + f)], to
        some, above = _list_wide(nodes, first, (fanout, families, f), own, desk)
        reached = lane[NUMBER, i] = own_number(desk.digits, i)
        sums, shared = (above, spreads[some]), 0
        some, tau = project(z, spread, at, some, sums, (float(total), least))
        for e in range(some):
            c, upto = at[e], total
            if e + one < some:
                reached += z[c] - tau * own
                upto = min(int(np.floor(reached)), total)
            opened_child[to], held[to] = np.uint16(child[c]), upto - shared
            estimates[Z, to], estimates[VARIANCE, to] = z[c], own
            to += np.uint64(upto > shared)
            shared = upto
        opened_child[to - one] |= np.uint16(LAST_CHILD)
        _sum_wide((fanout, counted), desk, lane, f, (begin, to))
    return int(np.int64(to - start))


@part
def _list_wide(
    nodes: NDArray[np.int64],
    first: int,
    family: tuple[int, int, int],
    own: float,
    desk: Desk,
) -> tuple[np.uint64, float]:
    """Estimate all children of a family, list the candidates, count and add them up.

    Here alone estimates are more than the measurements can be: one from an earlier release too
    takes their place.
    """
    fanout, families, f = family
    node, shape = first + f, (families, pitch_of(fanout, families))
    z, variance = desk.family[0][EVERY_Z], desk.family[0][EVERY_VARIANCE]
    child = desk.family[1][CHILD]
    for j in range(fanout):
        at = place_of(np.uint64(j), f, shape)
        z[j], variance[j] = 0.0, 0.0
        if nodes[WHOLE, node] or desk.part[f * fanout + j] != NOTHING:
            z[j], variance[j] = np.float64(desk.far[at]), own
    every, goal = (np.uint64(0), np.uint64(fanout)), np.float64(nodes[COUNT, node])
    own_z, at = desk.family[0][Z], desk.family[1][AT]
    some, above, _ = could_be_above_zero(z, variance, every, goal, child)
    for e in range(some):
        own_z[e], at[e] = z[child[e]], np.uint64(e)
    return some, above


@part
def _sum_wide(
    kind: tuple[int, bool],
    desk: Desk,
    lane: NDArray[np.float64],
    f: int,
    opened: tuple[np.uint64, np.uint64],
) -> None:
    """Add up a family's estimates, those of shut children first."""
    fanout, counted = kind
    z, variance = desk.family[0][EVERY_Z], desk.family[0][EVERY_VARIANCE]
    shut, spread, e = 0.0, 0.0, np.uint64(opened[0])
    for j in range(fanout):
        if e < opened[1] and desk.child[e] & (LAST_CHILD - 1) == j:
            e += np.uint64(1)
        elif variance[j] > 0:
            shut += z[j]
            spread += variance[j]
    if counted:
        for to in range(opened[0], opened[1]):
            shut += desk.estimates[Z, to]
            spread += desk.estimates[VARIANCE, to]
    lane[SHUT, f], lane[SPREAD, f] = shut, spread


@bare
def combine_families(
    desk: Desk,
    start: int,
    lane: NDArray[np.float64],
    own: float,
    block: tuple[int, int],
    counted: bool,
    above: NDArray[np.float64],
) -> None:
    """Best linear estimates of a block's nodes from their own measurements and their children's.

    Children that are not open come first: theirs are whole numbers. Then the open ones, in order.

    Parameters
    ----------
    desk : Desk
    start : int
        Where the level's open children start.
    lane : float64[3, LANES]
        Of the level; the sums are overwritten.
    own : float
        Variance of a node's own measurement.
    block : int, int
        First of the block's nodes, and how many there are.
    counted : bool
        Whether the sums have the open children too.
    above : float64[2, .]
        The nodes' own measurements and variances, overwritten with the estimates'.
    """
    first, families = block
    z, variance, child = desk.estimates[Z], desk.estimates[VARIANCE], desk.child
    shut, spread, e = lane[SHUT], lane[SPREAD], np.uint64(start)
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
        weight = spread[i] / (spread[i] + own)
        above[Z, node] = weight * above[Z, node] + (1 - weight) * shut[i]
        above[VARIANCE, node] = weight * own
