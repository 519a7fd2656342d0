"""What is done to one family after the other: sharing out, and the records of both passes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import uniform as family_number
from geodp.kernels.pyramid.edges import ALL
from geodp.kernels.pyramid.layout import (
    BEGIN,
    COUNT,
    DATUM,
    FANOUT,
    FIRST,
    LEAST,
    MASK,
    OWN,
    PLACE,
    PREFIX,
    SEVERAL,
    START,
    STOP,
    VARIANCE,
    WHOLE,
    WIDTH,
    WORD,
    Below,
    Desk,
    Levels,
    Z,
)
from geodp.kernels.pyramid.masks import list_children
from geodp.kernels.pyramid.rows import estimates_of
from geodp.kernels.pyramid.shares import settle, share_family
from geodp.kernels.pyramid.spare import spare


@kernel
def open_children(
    nodes: NDArray[np.int64], levels: Levels, level: int, desk: Desk, counted: bool
) -> int:
    """Share out what a block's nodes hold among the candidates; those above 0 are open.

    Parameters
    ----------
    nodes : int64[6, n]
        The block's.
    levels : Levels
    level : int
        Of the children.
    desk : Desk
        Its masks of the level are read and changed, its nodes of the level are written.
    counted : bool
        Whether nobody asks for the nodes, but for their number.

    Returns
    -------
    int
        Number of open children.
    """
    table = levels.table
    fanout, width, start = table[FANOUT, level], table[WIDTH, level], table[START, level]
    mask = desk.mask[table[MASK, level] : table[MASK, level + 1]]
    estimates = estimates_of(desk, levels, level)
    z, variance = estimates[Z], estimates[VARIANCE]
    own, spread, at = desk.family[0][Z], desk.family[0][VARIANCE], desk.family[1]
    out, child = desk.family[2][0], desk.family[2][1]
    uniform, least, opened = desk.lane[2 + level], levels.real[LEAST, level], 0
    one = np.uint64(1)
    for f in range(nodes.shape[1]):
        total, word = nodes[COUNT, f], mask[np.uint64(f)]
        if counted and fanout <= WORD and word & (word - one) == 0:
            opened += 1  # an only child, of which nobody asks more
            continue
        some = list_children(mask, fanout, f, width, child)
        out[0] = total
        if some > 1:
            uniform[f] = family_number(desk.state, f)
            for e in range(some):
                i = np.uint64(child[e] * width + f)
                own[e], spread[e], at[e], out[e] = z[i], variance[i], np.uint64(e), 0
            settle(own, spread, at, np.uint64(some), (total, uniform[f], least), out)
            some = _mark(mask[f:], width, some, desk.family[2])
        if not counted:
            _put(nodes, (fanout, width), (start + opened, some, f), desk)
        opened += some
    return opened


@inline
def _mark(mask: NDArray[np.uint64], width: int, some: int, family: NDArray[np.int64]) -> int:
    """Make a family's mask that of its children above 0, and keep only those; how many they are."""
    out, child, kept = family[0], family[1], 0
    for word in range(0, mask.size, width):
        mask[word] = np.uint64(0)
    for e in range(some):
        j, held = child[e], out[e]
        if held > 0:
            mask[j // WORD * width] |= np.uint64(1) << np.uint64(j % WORD)
        child[kept], out[kept] = j, held
        kept += held > 0
    if kept > 1:
        mask[0] |= np.uint64(SEVERAL)
    return kept


@inline
def _put(
    nodes: NDArray[np.int64], shape: tuple[int, int], where: tuple[int, int, int], desk: Desk
) -> None:
    """Put a family's open children, which :func:`open_children` lists, on the desk."""
    fanout, width = shape
    start, some, f = where
    out, child, below = desk.family[2][0], desk.family[2][1], desk.nodes
    datum, begin = desk.scratch[DATUM, f], desk.scratch[BEGIN]
    for e in range(some):
        to, j = np.uint64(start + e), child[e]
        below[PREFIX, to], below[COUNT, to] = nodes[PREFIX, f] * fanout + j, out[e]
        below[FIRST, to], below[STOP, to] = 0, 0
        below[PLACE, to], below[WHOLE, to] = j * width + f, 1
        if datum >= 0:
            at = datum * (fanout + 1) + j
            below[FIRST, to], below[STOP, to] = begin[at], begin[at + 1]
        if not nodes[WHOLE, f]:
            below[WHOLE, to] = desk.part[j * width + f] == ALL


@inline
def most_words(families: int, opened: int, fanout: int) -> int:
    """Words of 64 bits that a record has at most."""
    words = -(-families * -(-fanout // WORD) // 4)
    return families + 2 * opened + -(-opened // 4) + words + 1


@kernel
def write_record(
    levels: Levels, desk: Desk, level: int, families: int, record: NDArray[np.uint64], first: int
) -> int:
    """Write a block's record from word ``first`` on; the word after it.

    Of the families with several open children: the estimate of each open one as float64, and which
    of the variances that follow is its own, as uint16; or the estimates alone, as int32, where they
    are whole and the variances the measurement's. Then the families' random numbers. Of all
    families the masks, 16 bits a word. At last one word: ``first``, numbers of these estimates and
    of these families, and whether int32 it is.
    """
    table, own = levels.table, levels.real[OWN, level]
    fanout, width = table[FANOUT, level], table[WIDTH, level]
    mask, child = desk.mask[table[MASK, level] :], desk.family[2][1]
    real, short, half = record.view(np.float64), record.view(np.int32), record.view(np.uint16)
    estimates = estimates_of(desk, levels, level)
    z, variance = estimates[Z], estimates[VARIANCE]
    uniform, several, some, narrow = desk.lane[0], 0, 0, True
    for f in range(families):
        if mask[f] < np.uint64(SEVERAL):
            continue
        uniform[several] = desk.lane[2 + level, f]
        several += 1
        for e in range(list_children(mask, fanout, f, width, child)):
            i = child[e] * width + f
            real[first + some], desk.reals[some] = z[i], variance[i]
            some += 1
            narrow &= (variance[i] == own) & (abs(z[i]) < 2.0**31) & (z[i] == np.floor(z[i]))
    if narrow:
        for e in range(some):
            short[2 * first + e] = np.int32(real[first + e])
        at = first + (some + 1) // 2
    else:
        at = _write_variances(desk.reals, some, record, first + some)
    for e in range(several):
        real[at + e] = uniform[e]
    at, words = at + several, -(-fanout // WORD)
    for f in range(families):
        for word in range(words):
            half[4 * at + f * words + word] = np.uint16(mask[word * width + f] & np.uint64(65535))
    at += -(-families * words // 4)
    record[at] = np.uint64(first << 32 | some << 16 | several << 1 | narrow)
    return int(at + 1)


@kernel
def _write_variances(
    variance: NDArray[np.float64], some: int, record: NDArray[np.uint64], at: int
) -> int:
    """Write some variances, which are overwritten, from a word on; the word after them.

    Nodes with alike subtrees have the same: it is written once if one of the last 32 is it.
    """
    half, real, different = record.view(np.uint16), record.view(np.float64), 0
    for e in range(some):
        one, which = variance[e], different
        for d in range(max(different - 32, 0), different):
            which = d if variance[d] == one else which
        variance[which] = one
        different += which == different
        half[4 * at + e] = np.uint16(which)
    at += -(-some // 4)
    for d in range(different):
        real[at + d] = variance[d]
    return int(at + different)


@kernel
def read_record(
    levels: Levels,
    level: int,
    nodes: NDArray[np.int64],
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
    fanout, start = levels.table[FANOUT, level], levels.table[START, level]
    own, least, words = levels.real[OWN, level], levels.real[LEAST, level], -(-fanout // WORD)
    z, variance, room = below.family[0][0], below.family[0][1], below.family[0][2]
    at, out, child = below.family[1], below.family[2][0], below.family[2][1]
    real, short, half = record.view(np.float64), record.view(np.int32), record.view(np.uint16)
    known = np.int64(record[end - 1])
    begin, variances = known >> 32, (known >> 32) + (known >> 16 & 65535)
    several, narrow, masks = known >> 1 & 255, known & 1, end - 1 - -(-nodes.shape[1] * words // 4)
    different = variances + -(-(variances - begin) // 4)
    uniform, estimates, opened = masks - several, 0, 0
    firm = level < levels.table.shape[1] - 2  # above the cells
    for f in range(nodes.shape[1]):
        some = list_children(half, fanout, 4 * masks + f * words, 1, child)
        out[0] = nodes[COUNT, f]
        if some > 1:
            for e in range(some):
                if narrow:
                    z[e], variance[e] = np.float64(short[2 * begin + estimates]), own
                else:
                    z[e] = real[begin + estimates]
                    variance[e] = real[different + half[4 * variances + estimates]]
                estimates += 1
            children = np.uint64(0), np.uint64(some)
            spare(z, variance, children, (nodes[COUNT, f], fanout, firm), room, at)
            share_family(
                z, variance, children, (nodes[COUNT, f], real[uniform], least), room, at, out
            )
            uniform += 1
        for e in range(some):
            below.nodes[PREFIX, start + opened] = nodes[PREFIX, f] * fanout + child[e]
            below.nodes[COUNT, start + opened] = out[e]
            opened += 1
    return opened, int(begin)
