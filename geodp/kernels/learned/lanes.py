"""Families of children side by side, one in each lane, for vector instructions.

All lanes take the same steps, without branches. Sums run over a family's children in order, and a
child that takes no part in a sum adds 0. So results are bit for bit those of one family after the
other (:mod:`geodp.kernels.pyramid.shares`, :mod:`geodp.kernels.pyramid.reweighting`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare_inline, part
from geodp.kernels.pyramid.reweighting import MIN_FACTOR, POPULOUS, reweight
from geodp.kernels.pyramid.shares import share_family

LANES = 64
"""Number of families that are processed together."""

GOAL, ABOVE, SPREAD, TAU, BEST, WIDEST = range(6)
SCALE = TAU
"""Rows of ``Room.real``."""

TOTAL, SHARED, SOME_OPEN, LAST, REWEIGHTED = range(5)
"""Rows of ``Room.integer``."""

Z, VARIANCE, ACTIVE_Z, ACTIVE_VARIANCE, NEXT_Z, NEXT_VARIANCE, PREDICTED, REMAINING = range(8)
"""Rows of ``Room.child``."""


class LaneWorkspace(NamedTuple):
    """Arrays for the children of ``LANES`` families with f children each.

    Attributes
    ----------
    child : float64[8, f * LANES]
        Child j of the family in lane i is at ``j * LANES + i``: estimates and variances, twice
        those of the children that are above 0 so far; predictions and factors of the variance.
    out : int64[f * LANES]
        Counts of the children.
    place : int64[2, f * LANES]
        Positions in tables.
    real, integer : float64[6, LANES], int64[5, LANES]
        Values of each family.
    uniform : float64[LANES]
        Uniform number of each family, in [0, 1).
    family : float64[4, f + 1]
        Values of one family's children.
    at, held : uint64[f], int64[f]
        Positions and counts of one family's children.
    """

    child: NDArray[np.float64]
    out: NDArray[np.int64]
    place: NDArray[np.int64]
    real: NDArray[np.float64]
    integer: NDArray[np.int64]
    uniform: NDArray[np.float64]
    family: NDArray[np.float64]
    at: NDArray[np.uint64]
    held: NDArray[np.int64]


def make_workspace(fanout: int) -> LaneWorkspace:
    """Make a workspace for nodes with ``fanout`` children."""
    size = fanout * LANES
    return LaneWorkspace(
        child=np.zeros((8, size)),
        out=np.zeros(size, np.int64),
        place=np.zeros((2, size), np.int64),
        real=np.zeros((6, LANES)),
        integer=np.zeros((5, LANES), np.int64),
        uniform=np.zeros(LANES),
        family=np.zeros((4, fanout + 1)),
        at=np.zeros(fanout, np.uint64),
        held=np.zeros(fanout, np.int64),
    )


@bare_inline
def _row(j: int) -> slice:
    """Return the positions of child j of all families."""
    return slice(j * LANES, (j + 1) * LANES)


@part
def share_lanes(rows: int, min_count: float, workspace: LaneWorkspace) -> None:
    """Apportion every family's total to its children, see ``shares.share``.

    Parameters
    ----------
    rows : int
        Children of a family; missing ones have the variance 0.
    min_count : float
        Children below it are dropped.
    workspace : LaneWorkspace
        Estimates, variances, totals and uniform numbers; ``out`` is written.
    """
    # Dropping starts another projection for some families only, so these go one by one.
    if min_count > 0:
        _share_each(rows, min_count, workspace)
        return
    _find_candidates(rows, workspace)
    goal, above, spread, tau = (
        workspace.real[GOAL],
        workspace.real[ABOVE],
        workspace.real[SPREAD],
        workspace.real[TAU],
    )
    before, after, moved = ACTIVE_Z, NEXT_Z, True
    while moved:
        for i in range(LANES):
            tau[i] = (above[i] - goal[i]) / spread[i] if spread[i] > 0 else 0.0
            above[i], spread[i] = 0.0, 0.0
        dropped = 0
        # Into other rows: reading values that were just overwritten in part stalls the processor.
        for j in range(rows):
            z, variance = workspace.child[before, _row(j)], workspace.child[before + 1, _row(j)]
            to_z, to_variance = workspace.child[after, _row(j)], workspace.child[after + 1, _row(j)]
            for i in range(LANES):
                selected = z[i] > tau[i] * variance[i]
                dropped += int((variance[i] > 0) & (not selected))
                to_z[i] = z[i] if selected else 0.0
                to_variance[i] = variance[i] if selected else 0.0
                above[i] += to_z[i]
                spread[i] += to_variance[i]
        before, after, moved = after, before, dropped > 0
    _round(rows, before, workspace)


@part
def _find_candidates(rows: int, workspace: LaneWorkspace) -> None:
    """Select the children that some possible tau leaves above 0.

    See ``shares.could_be_above_zero``.
    """
    goal, above, spread = workspace.real[GOAL], workspace.real[ABOVE], workspace.real[SPREAD]
    best, widest, total = workspace.real[BEST], workspace.real[WIDEST], workspace.integer[TOTAL]
    for i in range(LANES):
        goal[i], above[i], spread[i] = np.float64(total[i]), 0.0, 0.0
        best[i], widest[i] = -np.inf, 0.0
    for j in range(rows):
        z, variance = workspace.child[Z, _row(j)], workspace.child[VARIANCE, _row(j)]
        for i in range(LANES):
            x = z[i] if variance[i] > 0 else -np.inf
            best[i] = x if x > best[i] else best[i]
            wide = variance[i] if variance[i] > 0 else 0.0
            widest[i] = wide if wide > widest[i] else widest[i]
    for j in range(rows):
        z, variance = workspace.child[Z, _row(j)], workspace.child[VARIANCE, _row(j)]
        to_z, to_variance = (
            workspace.child[ACTIVE_Z, _row(j)],
            workspace.child[ACTIVE_VARIANCE, _row(j)],
        )
        for i in range(LANES):
            # Multiplied instead of divided: the same comparison as for one family, bit for bit.
            near = z[i] * widest[i] > (best[i] - goal[i]) * variance[i]
            could = (best[i] <= goal[i]) | near
            could &= (variance[i] > 0) & (goal[i] > 0)
            to_z[i] = z[i] if could else 0.0
            to_variance[i] = variance[i] if could else 0.0
            above[i] += to_z[i]
            spread[i] += to_variance[i]


@part
def _round(rows: int, selected: int, workspace: LaneWorkspace) -> None:
    """Round shares systematically, see ``shares.share``; ``selected``: the rows that hold them."""
    tau, reached, spread = workspace.real[TAU], workspace.real[ABOVE], workspace.real[SPREAD]
    total, shared, last = (
        workspace.integer[TOTAL],
        workspace.integer[SHARED],
        workspace.integer[LAST],
    )
    lost = 0
    for i in range(LANES):
        lost += int((total[i] > 0) & (spread[i] == 0))
        reached[i], shared[i], last[i] = workspace.uniform[i], 0, 0
    for j in range(rows):
        variance = workspace.child[selected + 1, _row(j)]
        for i in range(LANES):
            last[i] = max(last[i], j * np.int64(variance[i] > 0))
    for j in range(rows):
        z, variance = workspace.child[selected, _row(j)], workspace.child[selected + 1, _row(j)]
        out = workspace.out[_row(j)]
        for i in range(LANES):
            reached[i] += z[i] - tau[i] * variance[i]
            upto = min(np.int64(np.floor(reached[i])), total[i])
            upto = total[i] if j >= last[i] else upto
            out[i] = upto - shared[i]
            shared[i] = upto
    if lost:
        _give_all(rows, workspace)


@part
def _give_all(rows: int, workspace: LaneWorkspace) -> None:
    """Give a family's total to the first of its largest children where none was left.

    That happens if one child is open whose total is so small compared with its estimate that the
    subtraction of floating-point numbers loses it.
    """
    for i in range(LANES):
        if workspace.integer[TOTAL, i] == 0 or workspace.real[SPREAD, i] > 0:
            continue
        left = workspace.integer[TOTAL, i]
        for j in range(rows):
            at = j * LANES + i
            is_largest = (
                workspace.child[VARIANCE, at] > 0
                and workspace.child[Z, at] == workspace.real[BEST, i]
            )
            workspace.out[at] = left if is_largest else 0
            left -= workspace.out[at]


@part
def _share_each(rows: int, min_count: float, workspace: LaneWorkspace) -> None:
    """Apportion one family after the other, for levels on which small children are dropped."""
    for i in range(LANES):
        for j in range(rows):
            at = j * LANES + i
            workspace.family[0, j], workspace.family[1, j] = (
                workspace.child[Z, at],
                workspace.child[VARIANCE, at],
            )
        children = np.uint64(0), np.uint64(rows)
        target = workspace.integer[TOTAL, i], workspace.uniform[i], min_count
        share_family(
            workspace.family[0], workspace.family[1], children, target, workspace.at, workspace.held
        )
        for j in range(rows):
            workspace.out[j * LANES + i] = workspace.held[j]


@part
def reweight_lanes(rows: int, family: tuple[int, bool], workspace: LaneWorkspace) -> None:
    """Change the variances by which the children of every family pay, see ``reweighting.reweight``.

    Parameters
    ----------
    rows : int
        Children of a family; missing ones have the variance 0.
    family : int, bool
        Children that a node has, and whether they are above the cells.
    workspace : LaneWorkspace
        Estimates and totals; variances are changed.
    """
    fanout, firm = family
    goal, held, below, spread = (
        workspace.real[GOAL],
        workspace.real[ABOVE],
        workspace.real[BEST],
        workspace.real[SPREAD],
    )
    min_variance, sure = workspace.real[WIDEST], workspace.real[TAU]
    total, clamped, some = (
        workspace.integer[TOTAL],
        workspace.integer[SHARED],
        workspace.integer[SOME_OPEN],
    )
    populous, reweighted = workspace.integer[LAST], workspace.integer[REWEIGHTED]
    for i in range(LANES):
        goal[i], held[i], below[i], spread[i], min_variance[i] = (
            np.float64(total[i]),
            0.0,
            0.0,
            0.0,
            np.inf,
        )
        some[i], populous[i] = 0, 0
    for j in range(rows):
        z, variance = workspace.child[Z, _row(j)], workspace.child[VARIANCE, _row(j)]
        for i in range(LANES):
            there, value = variance[i] > 0, z[i] if variance[i] > 0 else 0.0
            held[i] += value if value > 0 else 0.0
            below[i] += value
            spread[i] += variance[i]
            some[i] += np.int64(there)
            narrow = variance[i] if there else np.inf
            min_variance[i] = narrow if narrow < min_variance[i] else min_variance[i]
            populous[i] |= np.int64((value > 0) & (value * value > POPULOUS * variance[i]))
    for i in range(LANES):
        sure[i] = (below[i] - goal[i]) / spread[i] if spread[i] > 0 else 0.0
        clamped[i] = np.int64(some[i] < fanout)
    for j in range(rows):
        z, variance = workspace.child[Z, _row(j)], workspace.child[VARIANCE, _row(j)]
        for i in range(LANES):
            clamped[i] |= np.int64((variance[i] > 0) & (z[i] <= sure[i] * variance[i]))
    # Closing small children needs a projection of its own for a family, which lanes cannot share,
    # so those few families are handled one by one at the end.
    hard = 0
    for i in range(LANES):
        can = (goal[i] != 0) & (some[i] > 1) & (clamped[i] > 0)
        reweighted[i] = np.int64(can & (populous[i] > 0) & (held[i] > goal[i]))
        close = can & firm & (goal[i] * goal[i] >= POPULOUS * min_variance[i])
        clamped[i] = np.int64(close)
        hard += int(close)
        reweighted[i] = 0 if close else reweighted[i]
    for j in range(rows):
        z, variance = workspace.child[Z, _row(j)], workspace.child[VARIANCE, _row(j)]
        for i in range(LANES):
            square, bound = z[i] * z[i], POPULOUS * variance[i]
            pays = (reweighted[i] > 0) & (z[i] > 0) & (square > bound)
            factor = bound / square if pays else 1.0
            variance[i] *= factor if factor > MIN_FACTOR else MIN_FACTOR
    if hard:
        _reweight_each(rows, family, workspace)


@part
def _reweight_each(rows: int, family: tuple[int, bool], workspace: LaneWorkspace) -> None:
    """Reweight the families whose small children could be closed, one after the other."""
    fanout, firm = family
    for i in range(LANES):
        if workspace.integer[SHARED, i] == 0:
            continue
        for j in range(rows):
            at = j * LANES + i
            workspace.family[0, j], workspace.family[1, j] = (
                workspace.child[Z, at],
                workspace.child[VARIANCE, at],
            )
        z, variance, scratch = workspace.family[0], workspace.family[1], workspace.family[2]
        children = np.uint64(0), np.uint64(rows)
        reweight(
            z,
            variance,
            children,
            (workspace.integer[TOTAL, i], fanout, firm),
            scratch,
            workspace.at,
        )
        for j in range(rows):
            workspace.child[VARIANCE, j * LANES + i] = variance[j]
