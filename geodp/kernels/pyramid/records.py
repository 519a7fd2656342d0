"""Write the records of the first pass, and apportion final counts by them in the second pass.

:func:`write_record` stores what the second pass needs of a block. :func:`apportion_record` is the
core of the second pass: it reads a record and apportions the counts of the block's nodes.

A record consists of words of 64 bits: the numbers of all open children in their families, 16 bits
each, with a bit for the last one of a family; for families with several open children their
estimates, and their variances or the common one, or just the measurements as int32; the uniform
numbers of these families; finally two words with the numbers of entries, and where the record
begins. A single open child gets everything, so nothing else is stored of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare
from geodp.kernels.pyramid.layout import (
    COUNT,
    FANOUT,
    LAST_CHILD,
    MIN_COUNT,
    NOISE_VARIANCE,
    NUMBER,
    PREFIX,
    START,
    VARIANCE,
    Levels,
    PassWorkspace,
    SharingWorkspace,
    Z,
)
from geodp.kernels.pyramid.reweighting import may_reweight, reweight
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
