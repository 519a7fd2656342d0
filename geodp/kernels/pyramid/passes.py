"""The pyramid's two passes over the subtrees of some nodes, block by block, depth first.

The first pass measures nodes and opens children from the root down. When everything below a block
is done, it combines estimates from below (``combine_families``) and writes the block's record:
steps 1 and 2 of docs/pyramid.md. The second pass, step 3 there, reads the records backwards and
apportions final counts (``apportion_record``): so a node comes before its children, no record is
searched for, and memory of records that were read can be released.
:mod:`geodp.mechanisms.trees.traversal` calls both; docs/proofs/privacy.md, section 4, is the proof.
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
    EMITTED,
    FANOUT,
    FROM,
    FULL,
    INDEX,
    LAST,
    LEVEL,
    LOAD,
    LONG,
    LOST,
    NEED_OUTPUT,
    NEED_RECORD,
    NEEDED,
    NOISE_VARIANCE,
    OPEN,
    OPENED,
    PHASE,
    PREFIX,
    REPLACED,
    SHARE,
    SPREADS,
    START,
    STRIDE,
    TOP,
    UPTO,
    VARIANCE,
    VISITED,
    WIDE,
    WIDTH,
    EmittedNodes,
    Levels,
    PassOptions,
    PassWorkspace,
    PyramidTree,
    SharingWorkspace,
    TopNodes,
    Z,
)
from geodp.kernels.pyramid.records import apportion_record, max_words, write_record


@bare
def first_pass(
    words: NDArray[np.uint32],
    tree: PyramidTree,
    options: PassOptions,
    top: TopNodes,
    workspace: PassWorkspace,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    record: NDArray[np.uint64],
    out: EmittedNodes,
) -> int:
    """Measure nodes, open children and write records; continue where the last call stopped.

    Parameters
    ----------
    words : uint32[8]
        The key.
    tree : PyramidTree
    options : PassOptions
    top : TopNodes
    workspace : PassWorkspace
    progress : int64[STATE], int64[h + 1, 5]
        State, and a row for every level's block; see :mod:`geodp.kernels.pyramid.layout`.
    record : uint64[.], written
        From ``state[AT]`` on.
    out : EmittedNodes
        From ``state[EMITTED]`` on.

    Returns
    -------
    int
        ``DONE``, ``DECIDE``, ``NEED_RECORD`` or ``NEED_OUTPUT``; ``NEEDED`` is the size that is
        missing.
    """
    # A loop with explicit state and no recursion: a kernel cannot allocate or decide a draw
    # exactly, so it returns to Python in the middle of a block and resumes there.
    table, (state, fill) = tree.levels.table, progress
    while True:
        i = state[LEVEL]
        base, nodes, above, some = (
            table[START, i - 1],
            workspace.nodes,
            workspace.estimates,
            fill[i - 1, OPEN],
        )
        if i == state[TOP]:
            base, nodes, above, some = 0, top.nodes, top.estimates, top.nodes.shape[1]
        block, last = (base + fill[i, FROM], fill[i, UPTO] - fill[i, FROM]), i == state[LAST]
        counted = last and options.keep_records and options.replacements.size == 0
        if state[PHASE] == LOAD:
            state[PHASE] = SHARE
            state[VISITED] += block[1] * table[FANOUT, i]
            state[BLOCKS] += block[1] * -(-table[FANOUT, i] // ROWS)
            fill[i, BEYOND] = table[LONG, i]
            prefix = nodes[PREFIX, block[0] :][: block[1]]
            # An exactly decided draw may be of any size, so the block takes the 64-bit path.
            if rows.draw(words, tree.levels, i, prefix, workspace):
                fill[i, BEYOND] = 1
                return DECIDE
        if state[PHASE] == SHARE:
            state[PHASE] = CLOSE
            _share(tree, nodes, block, workspace, i, fill[i], counted)
            if not last:
                state[LEVEL], state[PHASE] = i + 1, LOAD
                begin(table, fill, i + 1, fill[i, OPEN], 0)
                continue
            state[OPENED] += fill[i, OPEN]
        if options.keep_records:
            if not _close(tree.levels, options, block, workspace, progress, (counted, record)):
                return NEED_RECORD
            noise_variance, lane, start = (
                tree.levels.real[NOISE_VARIANCE, i - 1],
                workspace.lane[i],
                table[START, i],
            )
            combine_families(workspace, start, lane, noise_variance, block, counted, above)
        elif last and not _put_out(table[START, i], workspace, fill[i, OPEN], state, out):
            return NEED_OUTPUT
        if fill[i, UPTO] < some:
            state[PHASE] = LOAD
            begin(table, fill, i, some, fill[i, INDEX] + 1)
        elif i == state[TOP]:
            return DONE
        else:
            state[LEVEL] = i - 1  # whose phase is CLOSE too


@part
def _share(
    tree: PyramidTree,
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    workspace: PassWorkspace,
    level: int,
    fill: NDArray[np.int64],
    counted: bool,
) -> None:
    """Count, estimate and open the children of a block's nodes.

    With ``counted`` nothing below them is visited, so their rows as nodes are not completed.
    """
    levels, edges = tree.levels, tree.edges
    table, noisy, scratch = levels.table, workspace.noisy, workspace.scratch
    fanout, start = table[FANOUT, level], table[START, level]
    shape = fanout, table[STRIDE, level]
    largest = rows.add_counts(nodes, block, shape, tree.key, tree.cumulative, noisy, scratch)
    if largest >= WIDE:
        fill[BEYOND] = 1
    if fill[BEYOND]:
        rows.widen(fanout, block[1], tree.cumulative, noisy, scratch, workspace.far)
    here = slice(block[0], block[0] + block[1])
    if edges.limit.size:
        nodes_here = nodes[PREFIX, here], nodes[FULL, here]
        cut(edges, level, nodes_here, shape, noisy, workspace.row[LOST], workspace.part)
    if fill[BEYOND]:
        fill[OPEN] = open_wide(nodes, block, levels, level, workspace, counted)
    else:
        spread = levels.spread[table[SPREADS, level] : table[SPREADS, level + 1]]
        find_candidates(nodes[COUNT, here], fanout, noisy, spread, workspace.row, workspace.mask)
        fill[OPEN] = open_children(nodes, block, levels, level, workspace, counted)
    if not counted:
        descend(nodes, block, fanout, (start, start + fill[OPEN]), workspace)


@part
def _put_out(
    start: int, workspace: PassWorkspace, opened: int, state: NDArray[np.int64], out: EmittedNodes
) -> bool:
    """Emit a block's open children; return whether there was space."""
    state[NEEDED], to = opened, state[EMITTED]
    if to + opened > out.prefix.size:
        return False
    for e in range(start, start + opened):
        out.prefix[to], out.held[to] = workspace.nodes[PREFIX, e], workspace.nodes[COUNT, e]
        if out.estimates.size:
            out.estimates[Z, to] = workspace.estimates[Z, e]
            out.estimates[VARIANCE, to] = workspace.estimates[VARIANCE, e]
        to += 1
    state[EMITTED] = to
    return True


@part
def _close(
    levels: Levels,
    options: PassOptions,
    block: tuple[int, int],
    workspace: PassWorkspace,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    to: tuple[bool, NDArray[np.uint64]],
) -> bool:
    """Write a block's record; return whether there was space."""
    (state, fill), (counted, record) = progress, to
    i = state[LEVEL]
    start, opened = levels.table[START, i], fill[i, OPEN]
    state[NEEDED] = max_words(block[1], opened)
    if state[AT] + state[NEEDED] > record.size:
        return False
    if i == state[LAST] and options.replacements.size:
        for e in range(opened):
            workspace.estimates[Z, start + e] = options.replacements[Z, state[REPLACED] + e]
            workspace.estimates[VARIANCE, start + e] = options.replacements[
                VARIANCE, state[REPLACED] + e
            ]
        state[REPLACED] += opened
    measured = counted and fill[i, BEYOND] == 0
    written = opened, measured
    state[AT] = write_record(workspace, start, workspace.lane[i], written, record, state[AT])
    return True


@bare
def begin(
    table: NDArray[np.int64], fill: NDArray[np.int64], level: int, some: int, index: int
) -> None:
    """Start a level's block by its number: the open nodes above are divided evenly into blocks."""
    blocks = -(-some // table[WIDTH, level])
    fill[level, FROM], fill[level, UPTO] = some * index // blocks, some * (index + 1) // blocks
    fill[level, INDEX], fill[level, OPEN] = index, 0


@bare
def second_pass(
    levels: Levels,
    top: NDArray[np.int64],
    below: SharingWorkspace,
    progress: tuple[NDArray[np.int64], NDArray[np.int64]],
    record: NDArray[np.uint64],
    out: tuple[NDArray[np.uint64], NDArray[np.int64]],
) -> int:
    """Apportion the final counts of some nodes, from the last block and record backwards.

    Parameters
    ----------
    levels : Levels
    top : int64[2, n]
        Prefixes of the nodes at which the first pass started, and their final counts.
    below : SharingWorkspace
    progress : int64[STATE], int64[h + 1, 5]
        State, and a row for every level's block. The records end at word ``state[AT]``.
    record : uint64[.]
    out : uint64[.], int64[.], written
        Open nodes of the last level above 0 and their counts, from ``state[EMITTED]`` backwards.

    Returns
    -------
    int
        ``DONE``, or ``NEED_RECORD``: the preceding records are needed.
    """
    table, (state, fill) = levels.table, progress
    while True:
        i = state[LEVEL]
        if state[PHASE] == LOAD:
            if state[AT] == 0:
                return NEED_RECORD
            nodes, base = below.nodes, table[START, i - 1]
            if i == state[TOP]:
                nodes, base = top, 0
            block = base + fill[i, FROM], fill[i, UPTO] - fill[i, FROM]
            fill[i, OPEN], state[AT] = apportion_record(
                levels, i, nodes, block, below, record, state[AT]
            )
            # The last block was written last, so reading backwards starts with it.
            if i < state[LAST]:
                state[LEVEL], blocks = i + 1, -(-fill[i, OPEN] // table[WIDTH, i + 1])
                begin(table, fill, i + 1, fill[i, OPEN], blocks - 1)
                continue
            start = table[START, i]
            opened = below.nodes[:, start : start + fill[i, OPEN]]
            state[EMITTED] = _put_back(opened, out, state[EMITTED])
        if fill[i, INDEX] > 0:
            some = top.shape[1] if i == state[TOP] else fill[i - 1, OPEN]
            state[PHASE] = LOAD
            begin(table, fill, i, some, fill[i, INDEX] - 1)
        elif i == state[TOP]:
            return DONE
        else:
            state[LEVEL], state[PHASE] = i - 1, CLOSE


@part
def _put_back(
    opened: NDArray[np.int64], out: tuple[NDArray[np.uint64], NDArray[np.int64]], end: int
) -> int:
    """Emit a block's open children above 0 before a position; return the new first position."""
    last, to = np.uint64(opened.shape[1]), np.uint64(end)
    # Every child is written, and overwritten by the next one if it is 0: no branch on random
    # counts.
    for n in range(opened.shape[1]):
        e = last - np.uint64(n + 1)
        out[0][to - np.uint64(1)] = np.uint64(opened[PREFIX, e])
        out[1][to - np.uint64(1)] = opened[COUNT, e]
        to -= np.uint64(opened[COUNT, e] > 0)
    return int(np.int64(to))
