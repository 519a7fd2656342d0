"""The pyramid's two passes over the subtrees of some nodes, block by block, depth first.

The first pass writes what the second one needs as records, one for a block, when all below the
block is done. The second pass reads them backwards: so a node comes before its children, no record
is looked for, and what was read can be let go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel
from geodp.kernels.noise import BUCKET_BITS, Table
from geodp.kernels.pyramid import rows
from geodp.kernels.pyramid.edges import cut
from geodp.kernels.pyramid.families import most_words, open_children, read_record, write_record
from geodp.kernels.pyramid.layout import (
    AT,
    CLOSE,
    COUNT,
    DECIDE,
    DONE,
    FANOUT,
    FROM,
    GIVEN,
    GUIDE,
    LAST,
    LAW,
    LEVEL,
    LOAD,
    MASK,
    NEEDED,
    NOISY,
    OPEN,
    OPENED,
    OWN,
    PHASE,
    PLACE,
    PREFIX,
    PUT,
    ROOM,
    SHARE,
    SPACE,
    START,
    STREAM,
    STRIDE,
    TOP,
    TURN,
    UPTO,
    VARIANCE,
    VISITED,
    WHOLE,
    WIDTH,
    Below,
    Desk,
    Goal,
    Levels,
    Out,
    Top,
    Tree,
    Z,
)
from geodp.kernels.pyramid.masks import list_children
from geodp.kernels.pyramid.rows import estimates_of


@kernel
def first_pass(
    words: NDArray[np.uint32],
    tree: Tree,
    goal: Goal,
    top: Top,
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
    progress : int64[STATE], int64[h + 1, 4]
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
        base, last = table[START, i - 1], i == state[LAST]
        above = estimates_of(desk, tree.levels, i - 1)
        nodes, z, variance = desk.nodes, above[Z], above[VARIANCE]
        some = fill[i - 1, OPEN]
        if i == state[TOP]:
            base, nodes, z, variance = 0, top.nodes, top.z, top.variance
            some = nodes.shape[1]
        block = nodes[:, base + fill[i, FROM] : base + fill[i, UPTO]].copy()  # rows side by side
        if state[PHASE] == LOAD:
            state[PHASE] = SHARE
            state[VISITED] += block.shape[1] * table[FANOUT, i]
            if _load(words, tree.levels, block, desk, i):
                return DECIDE
        if state[PHASE] == SHARE:
            state[PHASE] = CLOSE
            fill[i, OPEN] = _share(tree, block, desk, i, last and goal.keep)
            if not last:
                state[LEVEL], state[PHASE] = i + 1, LOAD
                begin(table, fill, i + 1, fill[i, OPEN], 0)
                continue
            state[OPENED] += fill[i, OPEN]
        if goal.keep:
            if not _close(tree.levels, goal, block.shape[1], desk, progress, record):
                return ROOM
            estimates = estimates_of(desk, tree.levels, i)
            shape, own = (table[FANOUT, i], table[WIDTH, i]), tree.levels.real[OWN, i - 1]
            mask = desk.mask[table[MASK, i] :]
            rows.combine_rows(estimates, shape, mask, own, desk, block[PLACE], (z, variance))
        elif last and not _put_out(tree.levels, desk, fill[i, OPEN], state, out):
            return SPACE
        if fill[i, UPTO] < some:
            state[PHASE] = LOAD
            begin(table, fill, i, some, fill[i, TURN] + 1)
        elif i == state[TOP]:
            return DONE
        else:
            state[LEVEL] = i - 1  # whose phase is CLOSE too


@kernel
def _load(
    words: NDArray[np.uint32], levels: Levels, block: NDArray[np.int64], desk: Desk, level: int
) -> int:
    """Draw the noise of the children of a block's nodes; the number of undecided draws."""
    table = levels.table
    law = Table(
        levels.value[level << BUCKET_BITS + 1 :][: 1 << BUCKET_BITS + 1],
        levels.first[table[LAW, level] : table[LAW, level + 1]],
        levels.rest[table[LAW, level] : table[LAW, level + 1]],
        levels.guide[table[GUIDE, level] : table[GUIDE, level + 1]],
    )
    shape, stream = (table[FANOUT, level], table[WIDTH, level]), np.uint32(table[STREAM, level])
    return rows.draw(words, stream, block[PREFIX], shape, law, desk.state, desk.scratch[NOISY])


@kernel
def _share(tree: Tree, block: NDArray[np.int64], desk: Desk, level: int, counted: bool) -> int:
    """Count, estimate and open the children of a block's nodes; how many are open.

    With ``counted`` they are counted and marked only.
    """
    levels, edges = tree.levels, tree.edges
    table = levels.table
    shape, stride = (table[FANOUT, level], table[WIDTH, level]), table[STRIDE, level]
    rows.add_counts(block, shape, stride, tree.key, tree.cumulative, desk.scratch)
    estimates = estimates_of(desk, levels, level)
    noisy, own = desk.scratch[NOISY], levels.real[OWN, level]
    rows.estimate(noisy, block.shape[1], shape, own, estimates)
    even = own
    if edges.limit.size:
        nodes = block[PREFIX], block[WHOLE]
        if cut(edges, level, nodes, shape, stride, estimates[VARIANCE], desk.part):
            even = 0.0
    mask = desk.mask[table[MASK, level] : table[MASK, level + 1]]
    rows.find_candidates(block[COUNT], shape, estimates, even, desk.lane, mask)
    return open_children(block, levels, level, desk, counted)


@kernel
def _put_out(levels: Levels, desk: Desk, opened: int, state: NDArray[np.int64], out: Out) -> bool:
    """Put out a block's open children; whether there was space."""
    state[NEEDED], to = opened, state[PUT]
    if to + opened > out.prefix.size:
        return False
    start, estimates = levels.table[START, state[LEVEL]], estimates_of(desk, levels, state[LEVEL])
    for e in range(start, start + opened):
        out.prefix[to], out.held[to] = desk.nodes[PREFIX, e], desk.nodes[COUNT, e]
        if out.estimates.size:
            place = desk.nodes[PLACE, e]
            out.estimates[Z, to] = estimates[Z, place]
            out.estimates[VARIANCE, to] = estimates[VARIANCE, place]
        to += 1
    state[PUT] = to
    return True


@kernel
def _close(
    levels: Levels,
    goal: Goal,
    families: int,
    desk: Desk,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    record: NDArray[np.uint64],
) -> bool:
    """Write a block's record; whether there was room."""
    state, fill = progress
    i = state[LEVEL]
    table = levels.table
    fanout, width, estimates = table[FANOUT, i], table[WIDTH, i], estimates_of(desk, levels, i)
    state[NEEDED] = most_words(families, fill[i, OPEN], fanout)
    if state[AT] + state[NEEDED] > record.size:
        return False
    if i == state[LAST] and goal.given.size:
        mask, child = desk.mask[table[MASK, i] :], desk.family[2][1]
        for f in range(families):
            for e in range(list_children(mask, fanout, f, width, child)):
                place = child[e] * width + f
                estimates[Z, place] = goal.given[Z, state[GIVEN]]
                estimates[VARIANCE, place] = goal.given[VARIANCE, state[GIVEN]]
                state[GIVEN] += 1
    state[AT] = write_record(levels, desk, i, families, record, state[AT])
    return True


@kernel
def begin(
    table: NDArray[np.int64], fill: NDArray[np.int64], level: int, some: int, turn: int
) -> None:
    """Make a level's block that of a turn: of some open nodes above, evenly many for each."""
    blocks = -(-some // table[WIDTH, level])
    fill[level, FROM], fill[level, UPTO] = some * turn // blocks, some * (turn + 1) // blocks
    fill[level, TURN], fill[level, OPEN] = turn, 0


@kernel
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
    progress : int64[STATE], int64[h + 1, 4]
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
            block = nodes[:, base + fill[i, FROM] : base + fill[i, UPTO]].copy()
            fill[i, OPEN], state[AT] = read_record(levels, i, block, below, record, state[AT])
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


@kernel
def _put_back(
    opened: NDArray[np.int64], out: tuple[NDArray[np.uint64], NDArray[np.int64]], end: int
) -> int:
    """Put out those above 0 of a block's open children before a place; the first one's place."""
    for e in range(opened.shape[1] - 1, -1, -1):
        if opened[COUNT, e] > 0:
            end -= 1
            out[0][end], out[1][end] = np.uint64(opened[PREFIX, e]), opened[COUNT, e]
    return end
