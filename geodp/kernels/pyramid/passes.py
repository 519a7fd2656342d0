"""The pyramid's two passes over the subtrees of some nodes, block by block, depth first.

The first pass writes what the second one needs as records, one for a block, when all below the
block is done. The second pass reads them backwards: so a node comes before its children, no record
is looked for, and what was read can be let go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, part
from geodp.kernels.pyramid import rows
from geodp.kernels.pyramid.candidates import find_candidates
from geodp.kernels.pyramid.edges import ROWS, cut
from geodp.kernels.pyramid.families import combine_families, descend, open_children, open_wide
from geodp.kernels.pyramid.layout import (
    AT,
    BEYOND,
    BLOCKS,
    CLOSE,
    COUNT,
    DECIDE,
    DONE,
    FANOUT,
    FROM,
    GIVEN,
    LAST,
    LEVEL,
    LOAD,
    LONG,
    LOST,
    NEEDED,
    OPEN,
    OPENED,
    OWN,
    PHASE,
    PREFIX,
    PUT,
    ROOM,
    SHARE,
    SPACE,
    SPREADS,
    START,
    STRIDE,
    TOP,
    TURN,
    UPTO,
    VARIANCE,
    VISITED,
    WHOLE,
    WIDE,
    WIDTH,
    Below,
    Desk,
    Goal,
    Levels,
    Out,
    PyramidTree,
    TopNodes,
    Z,
)
from geodp.kernels.pyramid.records import most_words, read_record, write_record


@bare
def first_pass(
    words: NDArray[np.uint32],
    tree: PyramidTree,
    goal: Goal,
    top: TopNodes,
    desk: Desk,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    record: NDArray[np.uint64],
    out: Out,
) -> int:
    """Measure what is below some nodes, and share out; it goes on where it came back from.

    Parameters
    ----------
    words : uint32[8]
        Of the key.
    tree : Tree
    goal : Goal
    top : Top
    desk : Desk
    progress : int64[STATE], int64[h + 1, 5]
        State, and a row for every level's block; see this file's constants.
    record : uint64[.], written
        From ``state[AT]`` on.
    out : Out
        From ``state[PUT]`` on.

    Returns
    -------
    int
        ``DONE``, ``DECIDE``, ``ROOM`` or ``SPACE``. ``NEEDED`` is the room or space.
    """
    table, (state, fill) = tree.levels.table, progress
    while True:
        i = state[LEVEL]
        base, nodes, above, some = (
            table[START, i - 1],
            desk.nodes,
            desk.estimates,
            fill[i - 1, OPEN],
        )
        if i == state[TOP]:
            base, nodes, above, some = 0, top.nodes, top.estimates, top.nodes.shape[1]
        block, last = (base + fill[i, FROM], fill[i, UPTO] - fill[i, FROM]), i == state[LAST]
        counted = last and goal.keep and goal.given.size == 0
        if state[PHASE] == LOAD:
            state[PHASE] = SHARE
            state[VISITED] += block[1] * table[FANOUT, i]
            state[BLOCKS] += block[1] * -(-table[FANOUT, i] // ROWS)
            fill[i, BEYOND] = table[LONG, i]
            prefix = nodes[PREFIX, block[0] :][: block[1]]
            if rows.draw(words, tree.levels, i, prefix, desk):
                fill[i, BEYOND] = 1
                return DECIDE
        if state[PHASE] == SHARE:
            state[PHASE] = CLOSE
            _share(tree, nodes, block, desk, i, fill[i], counted)
            if not last:
                state[LEVEL], state[PHASE] = i + 1, LOAD
                begin(table, fill, i + 1, fill[i, OPEN], 0)
                continue
            state[OPENED] += fill[i, OPEN]
        if goal.keep:
            if not _close(tree.levels, goal, block, desk, progress, (counted, record)):
                return ROOM
            own, lane, start = tree.levels.real[OWN, i - 1], desk.lane[i], table[START, i]
            combine_families(desk, start, lane, own, block, counted, above)
        elif last and not _put_out(table[START, i], desk, fill[i, OPEN], state, out):
            return SPACE
        if fill[i, UPTO] < some:
            state[PHASE] = LOAD
            begin(table, fill, i, some, fill[i, TURN] + 1)
        elif i == state[TOP]:
            return DONE
        else:
            state[LEVEL] = i - 1  # whose phase is CLOSE too


@part
def _share(
    tree: PyramidTree,
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    desk: Desk,
    level: int,
    fill: NDArray[np.int64],
    counted: bool,
) -> None:
    """Count, estimate and open the children of a block's nodes.

    With ``counted`` they are numbered only.
    """
    levels, edges = tree.levels, tree.edges
    table, noisy, scratch = levels.table, desk.noisy, desk.scratch
    fanout, start = table[FANOUT, level], table[START, level]
    shape = fanout, table[STRIDE, level]
    largest = rows.add_counts(nodes, block, shape, tree.key, tree.cumulative, noisy, scratch)
    if largest >= WIDE:
        fill[BEYOND] = 1
    if fill[BEYOND]:
        rows.widen(fanout, block[1], tree.cumulative, noisy, scratch, desk.far)
    here = slice(block[0], block[0] + block[1])
    if edges.limit.size:
        known = nodes[PREFIX, here], nodes[WHOLE, here]
        cut(edges, level, known, shape, noisy, desk.row[LOST], desk.part)
    if fill[BEYOND]:
        fill[OPEN] = open_wide(nodes, block, levels, level, desk, counted)
    else:
        spread = levels.spread[table[SPREADS, level] : table[SPREADS, level + 1]]
        find_candidates(nodes[COUNT, here], fanout, noisy, spread, desk.row, desk.mask)
        fill[OPEN] = open_children(nodes, block, levels, level, desk, counted)
    if not counted:
        descend(nodes, block, fanout, (start, start + fill[OPEN]), desk)


@part
def _put_out(start: int, desk: Desk, opened: int, state: NDArray[np.int64], out: Out) -> bool:
    """Put out a block's open children; whether there was space."""
    state[NEEDED], to = opened, state[PUT]
    if to + opened > out.prefix.size:
        return False
    for e in range(start, start + opened):
        out.prefix[to], out.held[to] = desk.nodes[PREFIX, e], desk.nodes[COUNT, e]
        if out.estimates.size:
            out.estimates[Z, to] = desk.estimates[Z, e]
            out.estimates[VARIANCE, to] = desk.estimates[VARIANCE, e]
        to += 1
    state[PUT] = to
    return True


@part
def _close(
    levels: Levels,
    goal: Goal,
    block: tuple[int, int],
    desk: Desk,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    to: tuple[bool, NDArray[np.uint64]],
) -> bool:
    """Write a block's record; whether there was room."""
    (state, fill), (counted, record) = progress, to
    i = state[LEVEL]
    start, opened = levels.table[START, i], fill[i, OPEN]
    state[NEEDED] = most_words(block[1], opened)
    if state[AT] + state[NEEDED] > record.size:
        return False
    if i == state[LAST] and goal.given.size:
        for e in range(opened):
            desk.estimates[Z, start + e] = goal.given[Z, state[GIVEN] + e]
            desk.estimates[VARIANCE, start + e] = goal.given[VARIANCE, state[GIVEN] + e]
        state[GIVEN] += opened
    measured = counted and fill[i, BEYOND] == 0
    written = opened, measured
    state[AT] = write_record(desk, start, desk.lane[i], written, record, state[AT])
    return True


@bare
def begin(
    table: NDArray[np.int64], fill: NDArray[np.int64], level: int, some: int, turn: int
) -> None:
    """Make a level's block that of a turn: of some open nodes above, evenly many for each."""
    blocks = -(-some // table[WIDTH, level])
    fill[level, FROM], fill[level, UPTO] = some * turn // blocks, some * (turn + 1) // blocks
    fill[level, TURN], fill[level, OPEN] = turn, 0


@bare
def second_pass(
    levels: Levels,
    top: NDArray[np.int64],
    below: Below,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    record: NDArray[np.uint64],
    out: tuple[NDArray[np.uint64], NDArray[np.int64]],
) -> int:
    """Share out the final counts of some nodes, from the last block and the last record backwards.

    Parameters
    ----------
    levels : Levels
    top : int64[2, n]
        Prefixes of the nodes that the first pass was run below, and what they have now.
    below : Below
    progress : int64[STATE], int64[h + 1, 5]
        State, and a row for every level's block. The records end at word ``state[AT]``.
    record : uint64[.]
    out : uint64[.], int64[.], written
        Open nodes of the last level above 0 and their counts, from ``state[PUT]`` backwards.

    Returns
    -------
    int
        ``DONE``, or ``ROOM``: it needs the records before these.
    """
    table, (state, fill) = levels.table, progress
    while True:
        i = state[LEVEL]
        if state[PHASE] == LOAD:
            if state[AT] == 0:
                return ROOM
            nodes, base = below.nodes, table[START, i - 1]
            if i == state[TOP]:
                nodes, base = top, 0
            block = base + fill[i, FROM], fill[i, UPTO] - fill[i, FROM]
            fill[i, OPEN], state[AT] = read_record(
                levels, i, nodes, block, below, record, state[AT]
            )
            if i < state[LAST]:
                state[LEVEL], blocks = i + 1, -(-fill[i, OPEN] // table[WIDTH, i + 1])
                begin(table, fill, i + 1, fill[i, OPEN], blocks - 1)
                continue
            start = table[START, i]
            opened = below.nodes[:, start : start + fill[i, OPEN]]
            state[PUT] = _put_back(opened, out, state[PUT])
        if fill[i, TURN] > 0:
            some = top.shape[1] if i == state[TOP] else fill[i - 1, OPEN]
            state[PHASE] = LOAD
            begin(table, fill, i, some, fill[i, TURN] - 1)
        elif i == state[TOP]:
            return DONE
        else:
            state[LEVEL], state[PHASE] = i - 1, CLOSE


@part
def _put_back(
    opened: NDArray[np.int64], out: tuple[NDArray[np.uint64], NDArray[np.int64]], end: int
) -> int:
    """Put out those above 0 of a block's open children before a place; the first one's place."""
    last, to = np.uint64(opened.shape[1]), np.uint64(end)
    for n in range(opened.shape[1]):  # no branch on what is found: there is a place for each
        e = last - np.uint64(n + 1)
        out[0][to - np.uint64(1)] = np.uint64(opened[PREFIX, e])
        out[1][to - np.uint64(1)] = opened[COUNT, e]
        to -= np.uint64(opened[COUNT, e] > 0)
    return int(np.int64(to))
