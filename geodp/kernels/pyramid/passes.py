"""The pyramid's two passes over the subtrees of some nodes, block by block, depth first.

The first pass measures nodes and opens children from the root down. When everything below a block
is done, it combines estimates from below (``combine_families``) and writes the block's record:
steps 1 and 2 of docs/pyramid.md. The second pass, step 3 there, reads the records backwards and
apportions final counts (``apportion_record``): so a node comes before its children, no record is
searched for, and memory of records that were read can be released.
:mod:`geodp.mechanisms.trees.traversal` calls both; docs/proofs/privacy.md, section 4, is the proof.

A record consists of words of 64 bits: the numbers of all open children in their families, 16 bits
each, with a bit for the last one of a family; for families with several open children their
estimates, and their variances or the common one, or just the measurements as int32; the uniform
numbers of these families; finally two words with the numbers of entries, and where the record
begins. A single open child gets everything, so nothing else is stored of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, part
from geodp.kernels.pyramid import rows
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
    LAST_CHILD,
    LEVEL,
    LOAD,
    LONG,
    LOST,
    MIN_COUNT,
    NEED_OUTPUT,
    NEED_RECORD,
    NEEDED,
    NOISE_VARIANCE,
    NUMBER,
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
from geodp.kernels.pyramid.reweighting import may_reweight, reweight
from geodp.kernels.pyramid.rows import find_candidates
from geodp.kernels.pyramid.shares import share_between_two, share_family

UNEVEN, EVEN, MEASURED = range(3)
"""Kinds of records: with a variance for each estimate; with one for all; with measurements, whose
variance is that of the level."""


@bare
def max_words(families: int, opened: int) -> int:
    """Return the most words of 64 bits that a record can have."""
    return families + 2 * opened + -(-opened // 4) + 3


@bare
def write_record(
    workspace: PassWorkspace,
    start: int,
    lane: NDArray[np.float64],
    block: tuple[int, bool],
    record: NDArray[np.uint64],
    first: int,
) -> int:
    """Write a block's record from word ``first`` on; return the position after it.

    Parameters
    ----------
    workspace : PassWorkspace
    start : int
        Where the level's open children start.
    lane : float64[3, LANES]
        Values of the level; the uniform numbers are overwritten.
    block : int, bool
        Number of open children, and whether their estimates are measurements that fit int32.
    record : uint64[.], written
    first : int
    """
    opened, measured = block
    real, short, half = record.view(np.float64), record.view(np.int32), record.view(np.uint16)
    number, z, variance = lane[NUMBER], workspace.estimates[Z], workspace.estimates[VARIANCE]
    child = workspace.child[start:][:opened]
    for k in range(opened):
        half[4 * first + k] = child[k]
    at, here, number_mask = first - (-opened // 4), np.uint64(start), np.uint16(LAST_CHILD - 1)
    words, halves, variances_at = np.uint64(at), np.uint64(2 * at), np.uint64(at + opened)
    several, some, f, after = np.uint64(0), np.uint64(0), np.uint64(0), True
    # Without branches on random numbers: everything is written, and overwritten if not needed.
    for k in range(opened):
        e = np.uint64(k)
        single, after = after, child[e] > number_mask  # the first of its family, and the last
        single &= after
        if measured:
            short[halves + some] = np.int32(z[here + e])
        else:
            real[words + some], real[variances_at + some] = z[here + e], variance[here + e]
        number[several] = number[f]
        several += np.uint64(after & (not single))
        some += np.uint64(not single)
        f += np.uint64(after)
    estimates, kind = int(np.int64(some)), EVEN
    if measured:
        kind, at = MEASURED, at - (-estimates // 2)
    else:
        for k in range(estimates):
            if real[variances_at + np.uint64(k)] != real[variances_at]:
                kind = UNEVEN
        spreads = min(estimates, 1) if kind == EVEN else estimates
        for k in range(spreads):
            real[at + estimates + k] = real[variances_at + np.uint64(k)]
        at += estimates + spreads
    for k in range(several):
        real[np.uint64(at) + k] = number[k]
    at += int(np.int64(several))
    # The trailer packs the numbers of entries into one word, read first when going backwards: open
    # children in the upper 24 bits, then 24 bits, 14 bits, and 2 bits for the kind.
    record[at] = np.uint64(opened << 40 | estimates << 16 | np.int64(several) << 2 | kind)
    record[at + 1] = np.uint64(first)
    return int(at + 2)


@bare
def apportion_record(
    levels: Levels,
    level: int,
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    below: SharingWorkspace,
    record: NDArray[np.uint64],
    end: int,
) -> tuple[int, int]:
    """Apportion the final counts of a block's nodes to their children.

    The block's record ends before word ``end``.

    Returns
    -------
    opened, begin : int
        Number of open children, and the word at which the record begins.
    """
    table, (first, families) = levels.table, block
    fanout, noise_variance, min_count = (
        table[FANOUT, level],
        levels.real[NOISE_VARIANCE, level],
        levels.real[MIN_COUNT, level],
    )
    z, variance, scratch = below.family[0][0], below.family[0][1], below.family[0][2]
    at, out = below.family[1], below.family[2]
    real, short, half = record.view(np.float64), record.view(np.int32), record.view(np.uint16)
    begin, counts = np.int64(record[end - 1]), np.int64(record[end - 2])
    opened, estimates = counts >> 40, counts >> 16 & 0xFFFFFF
    several, kind = counts >> 2 & 0xFF, counts & 3
    child, e = np.uint64(4 * begin), np.uint64(0)
    words = np.uint64(begin - (-opened // 4))
    halves, spreads = words + words, words + np.uint64(estimates)
    number = np.uint64(end - 2 - several)
    to, some, last = np.uint64(table[START, level]), np.uint64(0), np.uint64(LAST_CHILD)
    # Small children are closed above the cells only, see `close_small`.
    firm = level < table.shape[1] - 2  # above the cells
    for f in range(families):
        node = np.uint64(first + f)
        total, base = nodes[COUNT, node], nodes[PREFIX, node] * fanout
        j, here, k = np.uint64(half[child + e]), e, np.uint64(0)
        e += np.uint64(1)
        if j >= last:
            below.nodes[PREFIX, to], below.nodes[COUNT, to] = base + np.int64(j - last), total
            to += np.uint64(1)
            continue
        # The family's estimates, up to the child with the bit LAST_CHILD.
        while True:
            if kind == MEASURED:
                z[k], variance[k] = np.float64(short[halves + some]), noise_variance
            else:
                z[k] = real[words + some]
                variance[k] = real[spreads + (some if kind == UNEVEN else np.uint64(0))]
            some += np.uint64(1)
            k += np.uint64(1)
            if j >= last:
                break
            j = np.uint64(half[child + e])
            e += np.uint64(1)
        children, goal = (np.uint64(0), k), (total, real[number], min_count)
        number += np.uint64(1)
        if may_reweight(z, variance, children, (total, firm)):
            reweight(z, variance, children, (total, fanout, firm), scratch, at)
        if k == np.uint64(2):
            out[0] = share_between_two((z[0], variance[0]), (z[1], variance[1]), goal)
            out[1] = total - out[0]
        else:
            share_family(z, variance, children, goal, at, out)
        for i in range(k):
            j = np.uint64(half[child + here + np.uint64(i)]) & np.uint64(LAST_CHILD - 1)
            below.nodes[PREFIX, to], below.nodes[COUNT, to] = base + np.int64(j), out[i]
            to += np.uint64(1)
    return int(opened), int(begin)


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
