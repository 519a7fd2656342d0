"""What the pyramid's first pass keeps of a block for the second one.

A record has, in words of 64 bits: the numbers of all open children in their families, 16 bits
each, the last one of a family marked; of families with several the estimates of these, and the
variances or one that all have, or the measurements as int32 where these are all that is known;
these families' own numbers; at last two words that say how many of each, and where it begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare
from geodp.kernels.pyramid.layout import (
    COUNT,
    FANOUT,
    LAST_CHILD,
    LEAST,
    NUMBER,
    OWN,
    PREFIX,
    START,
    VARIANCE,
    Below,
    Desk,
    Levels,
    Z,
)
from geodp.kernels.pyramid.shares import share_between_two, share_family
from geodp.kernels.pyramid.spare import is_spared, spare

UNEVEN, EVEN, MEASURED = range(3)
"""What variances a record has: each estimate's, one for all, or none, as they are measurements."""


@bare
def most_words(families: int, opened: int) -> int:
    """Words of 64 bits that a record has at most."""
    return families + 2 * opened + -(-opened // 4) + 3


@bare
def write_record(
    desk: Desk,
    start: int,
    lane: NDArray[np.float64],
    block: tuple[int, bool],
    record: NDArray[np.uint64],
    first: int,
) -> int:
    """Write a block's record from word ``first`` on; the word after it.

    Parameters
    ----------
    desk : Desk
    start : int
        Where the level's open children start.
    lane : float64[3, LANES]
        Of the level; the numbers are overwritten.
    block : int, bool
        Open children, and whether their estimates are measurements that int32 holds.
    record : uint64[.], written
    first : int
    """
    opened, measured = block
    real, short, half = record.view(np.float64), record.view(np.int32), record.view(np.uint16)
    number, z, variance = lane[NUMBER], desk.estimates[Z], desk.estimates[VARIANCE]
    child = desk.child[start:][:opened]
    for k in range(opened):
        half[4 * first + k] = child[k]
    at, here, mark = first - (-opened // 4), np.uint64(start), np.uint16(LAST_CHILD - 1)
    words, halves, spare = np.uint64(at), np.uint64(2 * at), np.uint64(at + opened)
    several, some, f, after = np.uint64(0), np.uint64(0), np.uint64(0), True
    for k in range(opened):  # no branch on a random number
        e = np.uint64(k)
        alone, after = after, child[e] > mark  # the first of its family, and the last
        alone &= after
        if measured:
            short[halves + some] = np.int32(z[here + e])
        else:
            real[words + some], real[spare + some] = z[here + e], variance[here + e]
        number[several] = number[f]
        several += np.uint64(after & (not alone))
        some += np.uint64(not alone)
        f += np.uint64(after)
    estimates, kind = int(np.int64(some)), EVEN
    if measured:
        kind, at = MEASURED, at - (-estimates // 2)
    else:
        for k in range(estimates):
            if real[spare + np.uint64(k)] != real[spare]:
                kind = UNEVEN
        spreads = min(estimates, 1) if kind == EVEN else estimates
        for k in range(spreads):
            real[at + estimates + k] = real[spare + np.uint64(k)]
        at += estimates + spreads
    for k in range(several):
        real[np.uint64(at) + k] = number[k]
    at += int(np.int64(several))
    record[at] = np.uint64(opened << 40 | estimates << 16 | np.int64(several) << 2 | kind)
    record[at + 1] = np.uint64(first)
    return int(at + 2)


@bare
def read_record(
    levels: Levels,
    level: int,
    nodes: NDArray[np.int64],
    block: tuple[int, int],
    below: Below,
    record: NDArray[np.uint64],
    end: int,
) -> tuple[int, int]:
    """Share out what nodes have by the record that ends at a word.

    Returns
    -------
    opened, begin : int
        Open children, and the word at which the record begins.
    """
    table, (first, families) = levels.table, block
    fanout, own, least = table[FANOUT, level], levels.real[OWN, level], levels.real[LEAST, level]
    z, variance, room = below.family[0][0], below.family[0][1], below.family[0][2]
    at, out = below.family[1], below.family[2]
    real, short, half = record.view(np.float64), record.view(np.int32), record.view(np.uint16)
    begin, known = np.int64(record[end - 1]), np.int64(record[end - 2])
    opened, estimates = known >> 40, known >> 16 & 0xFFFFFF
    several, kind = known >> 2 & 0xFF, known & 3
    child, e = np.uint64(4 * begin), np.uint64(0)
    words = np.uint64(begin - (-opened // 4))
    halves, spreads = words + words, words + np.uint64(estimates)
    number = np.uint64(end - 2 - several)
    to, some, last = np.uint64(table[START, level]), np.uint64(0), np.uint64(LAST_CHILD)
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
        while True:
            if kind == MEASURED:
                z[k], variance[k] = np.float64(short[halves + some]), own
            else:
                z[k] = real[words + some]
                variance[k] = real[spreads + (some if kind == UNEVEN else np.uint64(0))]
            some += np.uint64(1)
            k += np.uint64(1)
            if j >= last:
                break
            j = np.uint64(half[child + e])
            e += np.uint64(1)
        children, goal = (np.uint64(0), k), (total, real[number], least)
        number += np.uint64(1)
        if is_spared(z, variance, children, (total, firm)):
            spare(z, variance, children, (total, fanout, firm), room, at)
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
