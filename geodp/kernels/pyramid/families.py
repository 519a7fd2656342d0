"""What is done to one family after the other: sharing out, and estimates from below."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.kernels.pyramid.edges import ALL, NOTHING, NOWHERE
from geodp.kernels.pyramid.layout import (
    BEGIN,
    COUNT,
    DATUM,
    FANOUT,
    FIRST,
    LAST_CHILD,
    LEAST,
    LOST,
    NUMBER,
    OWN,
    PREFIX,
    SHUT,
    SPREAD,
    SPREADS,
    START,
    STOP,
    SUMS,
    VARIANCE,
    WHOLE,
    WIDTH,
    Desk,
    Levels,
    Z,
)
from geodp.kernels.pyramid.masks import list_children
from geodp.kernels.pyramid.rows import own_number, wrap
from geodp.kernels.pyramid.shares import could_be_above_zero, settle

EVERY_Z, EVERY_VARIANCE = 2, 3
"""Rows of ``Desk.family`` for all children of a family."""

CHILD, AT = range(2)
"""Rows of ``Desk.family`` for numbers of children, and for their places among the candidates."""


@kernel
def open_children(
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    levels: Levels,
    level: int,
    desk: Desk,
    cumulative: NDArray[np.int64],
    how: tuple[bool, bool],
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
        Its open children of the level and what belongs to them is written.
    cumulative : int64[m + 1]
        Prefix sums of the counts of the data.
    how : bool, bool
        Whether nobody asks for the nodes, but for their numbers: then those that are open are among
        the sums of the others; and whether rows of 32 bits do not hold the block.

    Returns
    -------
    int
        Number of open children.
    """
    table, (first, families), (counted, wide) = levels.table, block, how
    fanout, width = table[FANOUT, level], table[WIDTH, level]
    variance, least, spreads = levels.real[OWN, level], levels.real[LEAST, level], table[SPREADS]
    own, spread = desk.family[0][Z], desk.family[0][VARIANCE]
    child, at, out = desk.family[1][CHILD], desk.family[1][AT], desk.family[2]
    noisy, sums, lost, lane = desk.noisy, desk.row[SUMS], desk.row[LOST], desk.lane[level]
    start, one = np.uint64(table[START, level]), np.uint64(1)
    opened, step = start, np.uint64(width)
    for f in range(families):
        i, node = np.uint64(f), np.uint64(first + f)
        total = nodes[COUNT, node]
        if wide:
            some = _list_wide(nodes, node, (fanout, width, f), variance, desk, cumulative)
        else:
            some = list_children(desk.mask, fanout, (f, width), child)
            for e in range(some):
                own[e] = np.float64(noisy[child[e] * step + i])
        out[0] = total
        if some > one:
            number = own_number(desk.digits, i)
            lane[NUMBER, i] = number
            for e in range(some):
                at[e], out[e] = np.uint64(e), 0
                if not wide:
                    spread[e] = variance
            settle(own, spread, at, some, (total, number, least), out)
            some = _keep_above_zero(own, child, out, some)
        if wide:
            _sum_wide((fanout, counted, some), desk, lane, i)
        else:
            inside = fanout - lost[i]
            shut = np.int64(wrap(np.int64(sums[i]) + (np.int64(lost[i]) << 31)))
            if not counted:
                inside -= np.int64(some)
                for e in range(some):
                    shut -= np.int64(own[e])
            lane[SHUT, i] = np.float64(shut)
            lane[SPREAD, i] = levels.spread[spreads[level] + inside]
        for e in range(some):
            to = opened + np.uint64(e)
            desk.child[to] = np.uint16(child[e])
            desk.estimates[Z, to], desk.estimates[VARIANCE, to] = own[e], variance
        if not counted:
            _put(nodes, node, (fanout, width, f), (opened, some), desk)
        opened += some
        desk.child[opened - one] |= np.uint16(LAST_CHILD)
    return int(np.int64(opened - start))


@inline
def _keep_above_zero(
    own: NDArray[np.float64], child: NDArray[np.uint64], out: NDArray[np.int64], some: np.uint64
) -> np.uint64:
    """Move what is above 0 up; how many there are."""
    kept = np.uint64(0)
    for e in range(some):
        held = out[e]
        child[kept], own[kept], out[kept] = child[e], own[e], held
        kept += np.uint64(held > 0)
    return kept


@inline
def _put(
    nodes: NDArray[np.int64],
    node: np.uint64,
    place: tuple[int, int, int],
    where: tuple[np.uint64, np.uint64],
    desk: Desk,
) -> None:
    """Put a family's open children, which :func:`open_children` lists, on the desk."""
    fanout, width, f = place
    opened, some = where
    out, child, below = desk.family[2], desk.family[1][CHILD], desk.nodes
    datum, begin, whole = desk.scratch[DATUM, f], desk.scratch[BEGIN], nodes[WHOLE, node]
    base = nodes[PREFIX, node] * fanout
    for e in range(some):
        to, j = opened + np.uint64(e), child[e]
        below[PREFIX, to], below[COUNT, to] = base + np.int64(j), out[e]
        low, end = 0, 0
        if datum >= 0:
            at = np.uint64(datum * (fanout + 1)) + j
            low, end = begin[at], begin[at + np.uint64(1)]
        below[FIRST, to], below[STOP, to], below[WHOLE, to] = low, end, 1
        if not whole:
            below[WHOLE, to] = desk.part[np.int64(j) * width + f] == ALL


@kernel
def _list_wide(
    nodes: NDArray[np.int64],
    node: np.uint64,
    place: tuple[int, int, int],
    own: float,
    desk: Desk,
    cumulative: NDArray[np.int64],
) -> np.uint64:
    """Estimate all children of a family, list the candidates and count them.

    Here alone estimates are more than the measurements can be: one from an earlier release too
    takes their place.
    """
    fanout, width, f = place
    z, variance = desk.family[0][EVERY_Z], desk.family[0][EVERY_VARIANCE]
    child = desk.family[1][CHILD]
    datum, begin = desk.scratch[DATUM, f], desk.scratch[BEGIN]
    for j in range(fanout):
        at, count = j * width + f, 0
        z[j], variance[j] = 0.0, 0.0
        if nodes[WHOLE, node] or desk.part[at] != NOTHING:
            if datum >= 0:
                here = datum * (fanout + 1) + j
                count = cumulative[begin[here + 1]] - cumulative[begin[here]]
            drawn = np.int64(wrap(np.int64(desk.noisy[at]) - count))
            z[j] = np.float64(count + (desk.far[at] if drawn == NOWHERE else drawn))
            variance[j] = own
    every, goal = (np.uint64(0), np.uint64(fanout)), np.float64(nodes[COUNT, node])
    own_z, own_variance = desk.family[0][Z], desk.family[0][VARIANCE]
    some = could_be_above_zero(z, variance, every, goal, own_z, child)
    for e in range(some):
        own_z[e], own_variance[e] = z[child[e]], variance[child[e]]
    return some


@kernel
def _sum_wide(
    family: tuple[int, bool, np.uint64], desk: Desk, lane: NDArray[np.float64], i: np.uint64
) -> None:
    """Add up a family's estimates, those of shut children first."""
    fanout, counted, some = family
    z, variance = desk.family[0][EVERY_Z], desk.family[0][EVERY_VARIANCE]
    own, child = desk.family[0][Z], desk.family[1][CHILD]
    shut, spread, e = 0.0, 0.0, np.uint64(0)
    for j in range(fanout):
        if e < some and child[e] == np.uint64(j):
            e += np.uint64(1)
        elif variance[j] > 0:
            shut += z[j]
            spread += variance[j]
    if counted:
        for e in range(some):
            shut += own[e]
            spread += variance[child[e]]
    lane[SHUT, i], lane[SPREAD, i] = shut, spread


@kernel
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
