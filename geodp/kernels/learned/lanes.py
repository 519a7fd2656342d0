"""Families of children side by side, each in a lane: all lanes take the same steps, no branches.

Sums run over a family's children in order, and who has no part in one adds 0. So what comes out is
bit for bit what one family after the other gives (:mod:`geodp.kernels.pyramid.shares`,
:mod:`geodp.kernels.pyramid.spare`), and the loops over lanes are those of vector instructions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, part
from geodp.kernels.pyramid.shares import share_family
from geodp.kernels.pyramid.spare import LEAST_PART, POPULOUS, spare

LANES = 64
"""Families that are gone through together."""

GOAL, ABOVE, SPREAD, TAU, BEST, WIDEST = range(6)
SCALE = TAU
"""Rows of ``Room.real``."""

TOTAL, SHARED, SOME_OPEN, LAST, SPARED = range(5)
"""Rows of ``Room.whole``."""

Z, VARIANCE, OWN, SOME, OTHER, OTHER_SOME, PREDICTED, LEFT = range(8)
"""Rows of ``Room.child``."""


class LaneWorkspace(NamedTuple):
    """Room for the children of ``LANES`` families; f: children of a node.

    Attributes
    ----------
    child : float64[8, f * LANES]
        Child j of the family in lane i stands at ``j * LANES + i``: estimates and variances, and
        those of the children that are above 0 so far; predictions and parts of the variance.
    out : int64[f * LANES]
        What the children get.
    place : int64[2, f * LANES]
        Room for what is looked up of them.
    real, whole : float64[6, LANES], int64[5, LANES]
        Of the families.
    uniform : float64[LANES]
        In [0, 1): of each family.
    family : float64[4, f + 1]
        Of one family's children.
    at, held : uint64[f], int64[f]
        The same.
    """

    child: NDArray[np.float64]
    out: NDArray[np.int64]
    place: NDArray[np.int64]
    real: NDArray[np.float64]
    whole: NDArray[np.int64]
    uniform: NDArray[np.float64]
    family: NDArray[np.float64]
    at: NDArray[np.uint64]
    held: NDArray[np.int64]


def make_room(fanout: int) -> LaneWorkspace:
    """Return room for children of nodes that have so many."""
    size = fanout * LANES
    return LaneWorkspace(
        child=np.zeros((8, size)),
        out=np.zeros(size, np.int64),
        place=np.zeros((2, size), np.int64),
        real=np.zeros((6, LANES)),
        whole=np.zeros((5, LANES), np.int64),
        uniform=np.zeros(LANES),
        family=np.zeros((4, fanout + 1)),
        at=np.zeros(fanout, np.uint64),
        held=np.zeros(fanout, np.int64),
    )


@bare_inline
def _row(j: int) -> slice:
    """Return where child j of all families stands."""
    return slice(j * LANES, (j + 1) * LANES)


@part
def share_lanes(rows: int, least: float, room: LaneWorkspace) -> None:
    """Share out every family's total among its children, see ``shares.share``.

    Parameters
    ----------
    rows : int
        Children of a family; those that are not there have the variance 0.
    least : float
        Children below it are dropped.
    room : Room
        Estimates, variances, totals and uniform numbers; ``out`` is written.
    """
    if least > 0:
        _share_each(rows, least, room)
        return
    _find_candidates(rows, room)
    goal, above, spread, tau = room.real[GOAL], room.real[ABOVE], room.real[SPREAD], room.real[TAU]
    before, after, moved = OWN, OTHER, True
    while moved:
        for i in range(LANES):
            tau[i] = (above[i] - goal[i]) / spread[i] if spread[i] > 0 else 0.0
            above[i], spread[i] = 0.0, 0.0
        dropped = 0
        for j in range(rows):  # into other rows: what is partly overwritten is slow to be read
            z, variance = room.child[before, _row(j)], room.child[before + 1, _row(j)]
            to_z, to_variance = room.child[after, _row(j)], room.child[after + 1, _row(j)]
            for i in range(LANES):
                kept = z[i] > tau[i] * variance[i]
                dropped += int((variance[i] > 0) & (not kept))
                to_z[i] = z[i] if kept else 0.0
                to_variance[i] = variance[i] if kept else 0.0
                above[i] += to_z[i]
                spread[i] += to_variance[i]
        before, after, moved = after, before, dropped > 0
    _round(rows, before, room)


@part
def _find_candidates(rows: int, room: LaneWorkspace) -> None:
    """Keep the children that are not below 0 for every tau that can be.

    See ``shares.could_be_above_zero``.
    """
    goal, above, spread = room.real[GOAL], room.real[ABOVE], room.real[SPREAD]
    best, widest, total = room.real[BEST], room.real[WIDEST], room.whole[TOTAL]
    for i in range(LANES):
        goal[i], above[i], spread[i] = np.float64(total[i]), 0.0, 0.0
        best[i], widest[i] = -np.inf, 0.0
    for j in range(rows):
        z, variance = room.child[Z, _row(j)], room.child[VARIANCE, _row(j)]
        for i in range(LANES):
            x = z[i] if variance[i] > 0 else -np.inf
            best[i] = x if x > best[i] else best[i]
            wide = variance[i] if variance[i] > 0 else 0.0
            widest[i] = wide if wide > widest[i] else widest[i]
    for j in range(rows):
        z, variance = room.child[Z, _row(j)], room.child[VARIANCE, _row(j)]
        to_z, to_variance = room.child[OWN, _row(j)], room.child[SOME, _row(j)]
        for i in range(LANES):
            near = z[i] * widest[i] > (best[i] - goal[i]) * variance[i]
            could = (best[i] <= goal[i]) | near
            could &= (variance[i] > 0) & (goal[i] > 0)
            to_z[i] = z[i] if could else 0.0
            to_variance[i] = variance[i] if could else 0.0
            above[i] += to_z[i]
            spread[i] += to_variance[i]


@part
def _round(rows: int, kept: int, room: LaneWorkspace) -> None:
    """Round shares systematically, see ``shares.share``; ``kept``: in which rows they are."""
    tau, reached, spread = room.real[TAU], room.real[ABOVE], room.real[SPREAD]
    total, shared, last = room.whole[TOTAL], room.whole[SHARED], room.whole[LAST]
    lost = 0
    for i in range(LANES):
        lost += int((total[i] > 0) & (spread[i] == 0))
        reached[i], shared[i], last[i] = room.uniform[i], 0, 0
    for j in range(rows):
        variance = room.child[kept + 1, _row(j)]
        for i in range(LANES):
            last[i] = max(last[i], j * np.int64(variance[i] > 0))
    for j in range(rows):
        z, variance = room.child[kept, _row(j)], room.child[kept + 1, _row(j)]
        out = room.out[_row(j)]
        for i in range(LANES):
            reached[i] += z[i] - tau[i] * variance[i]
            upto = min(np.int64(np.floor(reached[i])), total[i])
            upto = total[i] if j >= last[i] else upto
            out[i] = upto - shared[i]
            shared[i] = upto
    if lost:
        _give_all(rows, room)


@part
def _give_all(rows: int, room: LaneWorkspace) -> None:
    """Give all to the first of the largest where none was left: one alone, and a total so small
    beside it that floating point does not tell."""
    for i in range(LANES):
        if room.whole[TOTAL, i] == 0 or room.real[SPREAD, i] > 0:
            continue
        left = room.whole[TOTAL, i]
        for j in range(rows):
            at = j * LANES + i
            own = room.child[VARIANCE, at] > 0 and room.child[Z, at] == room.real[BEST, i]
            room.out[at] = left if own else 0
            left -= room.out[at]


@part
def _share_each(rows: int, least: float, room: LaneWorkspace) -> None:
    """Share out one family after the other: where children are dropped that have too little."""
    for i in range(LANES):
        for j in range(rows):
            at = j * LANES + i
            room.family[0, j], room.family[1, j] = room.child[Z, at], room.child[VARIANCE, at]
        children = np.uint64(0), np.uint64(rows)
        known = room.whole[TOTAL, i], room.uniform[i], least
        share_family(room.family[0], room.family[1], children, known, room.at, room.held)
        for j in range(rows):
            room.out[j * LANES + i] = room.held[j]


@part
def spare_lanes(rows: int, known: tuple[int, bool], room: LaneWorkspace) -> None:
    """Change the variances by which the children of every family pay, see ``spare.spare``.

    Parameters
    ----------
    rows : int
        Children that are looked at; those that are not there have the variance 0.
    known : int, bool
        Children that a node has, and whether they are above the cells.
    room : Room
        Estimates and totals; variances are changed.
    """
    fanout, firm = known
    goal, held, below, spread = (
        room.real[GOAL],
        room.real[ABOVE],
        room.real[BEST],
        room.real[SPREAD],
    )
    least, sure = room.real[WIDEST], room.real[TAU]
    total, clamped, some = room.whole[TOTAL], room.whole[SHARED], room.whole[SOME_OPEN]
    populous, spared = room.whole[LAST], room.whole[SPARED]
    for i in range(LANES):
        goal[i], held[i], below[i], spread[i], least[i] = (
            np.float64(total[i]),
            0.0,
            0.0,
            0.0,
            np.inf,
        )
        some[i], populous[i] = 0, 0
    for j in range(rows):
        z, variance = room.child[Z, _row(j)], room.child[VARIANCE, _row(j)]
        for i in range(LANES):
            there, own = variance[i] > 0, z[i] if variance[i] > 0 else 0.0
            held[i] += own if own > 0 else 0.0
            below[i] += own
            spread[i] += variance[i]
            some[i] += np.int64(there)
            narrow = variance[i] if there else np.inf
            least[i] = narrow if narrow < least[i] else least[i]
            populous[i] |= np.int64((own > 0) & (own * own > POPULOUS * variance[i]))
    for i in range(LANES):
        sure[i] = (below[i] - goal[i]) / spread[i] if spread[i] > 0 else 0.0
        clamped[i] = np.int64(some[i] < fanout)
    for j in range(rows):
        z, variance = room.child[Z, _row(j)], room.child[VARIANCE, _row(j)]
        for i in range(LANES):
            clamped[i] |= np.int64((variance[i] > 0) & (z[i] <= sure[i] * variance[i]))
    hard = 0
    for i in range(LANES):
        can = (goal[i] != 0) & (some[i] > 1) & (clamped[i] > 0)
        spared[i] = np.int64(can & (populous[i] > 0) & (held[i] > goal[i]))
        close = can & firm & (goal[i] * goal[i] >= POPULOUS * least[i])
        clamped[i] = np.int64(close)
        hard += int(close)
        spared[i] = 0 if close else spared[i]
    for j in range(rows):
        z, variance = room.child[Z, _row(j)], room.child[VARIANCE, _row(j)]
        for i in range(LANES):
            square, own = z[i] * z[i], POPULOUS * variance[i]
            pays = (spared[i] > 0) & (z[i] > 0) & (square > own)
            factor = own / square if pays else 1.0
            variance[i] *= factor if factor > LEAST_PART else LEAST_PART
    if hard:
        _spare_each(rows, known, room)


@part
def _spare_each(rows: int, known: tuple[int, bool], room: LaneWorkspace) -> None:
    """Do so for the families whose small children could be closed, one after the other."""
    fanout, firm = known
    for i in range(LANES):
        if room.whole[SHARED, i] == 0:
            continue
        for j in range(rows):
            at = j * LANES + i
            room.family[0, j], room.family[1, j] = room.child[Z, at], room.child[VARIANCE, at]
        z, variance, own = room.family[0], room.family[1], room.family[2]
        children = np.uint64(0), np.uint64(rows)
        spare(z, variance, children, (room.whole[TOTAL, i], fanout, firm), own, room.at)
        for j in range(rows):
            room.child[VARIANCE, j * LANES + i] = variance[j]
