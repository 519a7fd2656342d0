"""What was released around cells: their paths up to the root, walked together, node by node.

Most of what a path adds up is alike for many cells: shares and variances follow from the pattern of
nodes on the way, not from the people in them. Such a *state* is worked out once for all cells that
have it, and a cell carries its number. A cell that is alone in its nodes is looked at again where
it first has company.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, kernel, part
from geodp.kernels.pyramid.edges import Edges, count_children, has_all
from geodp.kernels.searching import find_before, find_from

PLAIN, OUTER, INNER = range(3)
"""Rows of what is known of a cell, of its outer and of its inner approximation."""

SHARE, VARIANCE, FOURTH = range(3)
"""What a state holds of each of these."""

LOSING, GAINING = range(2)
"""Rows of levels at which a clamp may have been, as bits: the lowest is the cells' parents'."""

FEW, MORE = 3.69, 1.9
"""So many of a rare kind are expected at most, with 97.5 %, where none is there; and so many times
the root of their number more than there are of them."""

SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd, of 64 bits, so that products of numbers in a row lie apart."""


class Steps(NamedTuple):
    """The levels of a tree, from the cells up: h of them.

    Attributes
    ----------
    fanout : int64[h]
        Children of a node above the level.
    stride : int64[h + 1]
        Keys of a node of the level; at last of the root.
    shift : int64[h + 1] or int64[0]
        Their bits, where all of them are powers of 2.
    own, tail : float64[h + 1]
        Variance and fourth cumulant of what is estimated of a node; at last of the root.
    least : float64[h]
        A node with fewer people may hold nobody.
    drop : float64[h, 2]
        Children with fewer people are dropped, and the scale of their noise.
    drops : bool
        Whether anything is dropped.
    """

    fanout: NDArray[np.int64]
    stride: NDArray[np.int64]
    shift: NDArray[np.int64]
    own: NDArray[np.float64]
    tail: NDArray[np.float64]
    least: NDArray[np.float64]
    drop: NDArray[np.float64]
    drops: bool


class Layer(NamedTuple):
    """Nodes that hold somebody, of some level.

    Attributes
    ----------
    key : uint64[m]
        Strictly increasing.
    sums : int64[m + 1] or float64[m + 1]
        Prefix sums of their counts.
    stride : int
        Keys of a node.
    """

    key: NDArray[np.uint64]
    sums: NDArray[np.int64] | NDArray[np.float64]
    stride: int


class Around(NamedTuple):
    """The node whose cells tell a cell's class.

    Attributes
    ----------
    level, span : int
        Its number, the cells' being 0, and its keys.
    least : float
        A cell with as many people has somebody beyond doubt.
    edges : Edges
        Of a tree of two levels: such nodes, and cells.
    """

    level: int
    span: int
    least: float
    edges: Edges


class Paths(NamedTuple):
    """What is found of n cells.

    Attributes
    ----------
    state : int64[n]
        Number of each cell's state at the root.
    people : float64[3, n]
        Released sums of each cell, of its outer and its inner approximation.
    clamped : uint64[2, n]
        Levels at which a clamp may have been, ``LOSING`` and ``GAINING``.
    moved : float64[2, n]
        People whom a threshold can have moved out of the cell, and into it; n = 0: none.
    around : int64[4, n]
        Cells and children in the domain of its nodes, cells listed there, and such with people
        beyond doubt.
    """

    state: NDArray[np.int64]
    people: NDArray[np.float64]
    clamped: NDArray[np.uint64]
    moved: NDArray[np.float64]
    around: NDArray[np.int64]


CELLS, CHILDREN, LISTED, SURE = range(4)
"""Rows of ``around``."""


class States(NamedTuple):
    """States of cells, at one level.

    Attributes
    ----------
    value : float64[m, 3, 3]
        ``SHARE, VARIANCE, FOURTH`` of ``PLAIN, OUTER, INNER``.
    whole : bool[m]
        Whether the cell is all that its node holds of the domain.
    """

    value: NDArray[np.float64]
    whole: NDArray[np.bool_]


class Memo(NamedTuple):
    """States of a level by what they follow from: a table of hashes.

    Attributes
    ----------
    place : int64[c]
        Number of a state, and 1; 0: empty. c is a power of 2, of which a smaller one is in use.
    state, pattern : int64[m]
        Of each state: the one before, and what its node was like.
    row : int64[r]
        Patterns that have a row in ``then``.
    then : int32[t]
        By row and state before, the state that follows, and 1; 0: not known.
    size : int64[4]
        States that there are, places in use, rows, and states before.
    """

    place: NDArray[np.int64]
    state: NDArray[np.int64]
    pattern: NDArray[np.int64]
    row: NDArray[np.int64]
    then: NDArray[np.int32]
    size: NDArray[np.int64]


MADE, PLACES, ROWS, BEFORE = range(4)
"""Entries of ``size``."""

MOST_ROWS, THEN = 64, 1 << 16
"""Patterns that are looked up, and entries of their rows."""

LOSSES = 1 << 12
"""Sums of what a clamp takes that are kept: a power of 2."""

FIRST_PLACES = 1 << 8
"""Of a table of hashes."""


@bare_inline
def _above(prefix: np.uint64, level: int, steps: Steps) -> np.uint64:
    """Return the parent of a node."""
    if steps.shift.size:
        return prefix >> np.uint64(steps.shift[level + 1] - steps.shift[level])
    return prefix // np.uint64(steps.fanout[level])


@bare_inline
def _listed_as(key: np.uint64, layer: Layer) -> np.uint64:
    """Return the layer's node that begins with a key."""
    return key if layer.stride == 1 else key // np.uint64(layer.stride)


@bare_inline
def _sum(layer: Layer, start: int, stop: int) -> float:
    """Return the people of some nodes of a layer."""
    return float(layer.sums[stop] - layer.sums[start])


@part
def _find_meeting(one: np.uint64, other: np.uint64, steps: Steps) -> int:
    """Return the lowest level with a node that holds both of two keys."""
    low, high, apart = -1, steps.fanout.size, one ^ other
    while high - low > 1:
        middle = (low + high) // 2
        if steps.shift.size:
            is_one = apart >> np.uint64(steps.shift[middle]) == 0
        else:
            size = np.uint64(steps.stride[middle])
            is_one = one // size == other // size
        if is_one:
            high = middle
        else:
            low = middle
    return high


@bare
def find_full(
    key: NDArray[np.uint64],
    steps: Steps,
    edges: Edges,
    at: NDArray[np.int64],
    full: NDArray[np.int64],
) -> None:
    """Write the highest level at which a cell's node holds cells of the domain only.

    Parameters
    ----------
    key : uint64[n]
        Of cells of the domain, strictly increasing.
    steps, edges
    at : int64[a], overwritten
        Of the domain's axes.
    full : int64[n], written
    """
    top = steps.fanout.size
    for i in range(key.size):
        level = top
        if i:
            meeting, before = _find_meeting(key[i - 1], key[i], steps), full[i - 1]
            if meeting <= before:
                full[i] = before
                continue
            level = meeting - 1
        while level > 0:
            node: Any = np.int64(key[i] // np.uint64(steps.stride[level]))
            if has_all(edges, top - level, node, steps.stride[level], at):
                break
            level -= 1
        full[i] = level


@part
def find_company(
    key: NDArray[np.uint64],
    steps: Steps,
    near: Layer,
    far: Layer,
    full: NDArray[np.int64],
    start: NDArray[np.int64],
    alone: NDArray[np.int64],
) -> None:
    """Write up to which level a listed cell's nodes hold no other cell that is listed or asked for.

    Parameters
    ----------
    key : uint64[n]
        Strictly increasing.
    steps, near, far, full
        As for :func:`climb`.
    start : int64[n], written
        How many listed keys are smaller.
    alone : int64[n], written
        Not above a node that the domain cuts, nor above the nodes of ``near``.
    """
    top = steps.fanout.size
    while far.stride and top and steps.stride[top] >= far.stride:
        top -= 1
    if steps.drops:
        top = 0
    at, met, listed = 0, 0, near.key
    for i in range(key.size):
        at = find_from(listed, key[i], at)
        start[i], alone[i], before, met = at, 0, met, top + 1
        if i + 1 < key.size:
            met = min(met, _find_meeting(key[i], key[i + 1], steps))
        if at == listed.size or listed[at] != key[i]:
            continue
        level = min(before, met) if i else met
        if at and (not i or listed[at - 1] != key[i - 1]):
            level = min(level, _find_meeting(listed[at - 1], key[i], steps))
        if at + 1 < listed.size and (i + 1 == key.size or listed[at + 1] != key[i + 1]):
            level = min(level, _find_meeting(key[i], listed[at + 1], steps))
        alone[i] = min(level - 1, full[i]) if full.size else level - 1


@part
def _settle(
    now: States,
    state: int,
    then: States,
    made: int,
    level: int,
    around: tuple[int, int, bool],
    steps: Steps,
) -> None:
    """Write what follows from a state at a node: see :func:`geodp.accuracy.reach.reach`.

    ``around``: children of the parent in the domain; others that may hold nobody; whether the node
    may.
    """
    possible, weak, is_weak = float(around[0]), float(around[1]), around[2]
    own, tail = steps.own[level], steps.tail[level]
    is_cut = around[0] > 1 or not now.whole[state]
    for row in range(3):
        part, added = now.value[state, row, SHARE], 0.0
        if row == OUTER:
            added = weak
            if is_weak:
                part = 1.0
        elif row == INNER and is_weak:
            part = 0.0
        variance, fourth = now.value[state, row, VARIANCE], now.value[state, row, FOURTH]
        if is_cut:
            mean = (part + added) / possible
            squares = part * part + added - mean * mean * possible
            apart, rest, square = (
                (part - mean) * (part - mean),
                (1 - mean) * (1 - mean),
                mean * mean,
            )
            powers = apart * apart + added * (rest * rest)
            powers += (possible - 1 - added) * (square * square)
            variance += own * squares
            fourth += tail * powers
            part = mean
        else:
            part = 1.0
        then.value[made, row, SHARE] = part
        then.value[made, row, VARIANCE], then.value[made, row, FOURTH] = variance, fourth
    then.whole[made] = not is_cut


@bare_inline
def _find_place(memo: Memo, state: int, pattern: int) -> int:
    """Return the place of a state that follows from another, or an empty one."""
    mark = np.uint64(state) * SPREAD ^ np.uint64(pattern) * MIX
    last = memo.size[PLACES] - 1
    place = np.int64((mark ^ (mark >> np.uint64(32))) & np.uint64(last))
    while memo.place[place]:
        made = memo.place[place] - 1
        if memo.state[made] == state and memo.pattern[made] == pattern:
            break
        place = (place + 1) & last
    return int(place)


@part
def _widen(memo: Memo) -> None:
    """Double the places in use."""
    memo.size[PLACES] *= 2
    memo.place[: memo.size[PLACES]] = 0
    for made in range(memo.size[MADE]):
        memo.place[_find_place(memo, memo.state[made], memo.pattern[made])] = made + 1


@part
def _follow(
    now: States,
    then: States,
    memo: Memo,
    state: int,
    level: int,
    pattern: int,
    around: tuple[int, int, bool],
    steps: Steps,
) -> int:
    """Return the number of the state that follows from one at a node; make it where it is new.

    ``around``: as for :func:`_settle`, and all of it as a number in ``pattern``.
    """
    place = _find_place(memo, state, pattern)
    if memo.place[place]:
        return int(memo.place[place] - 1)
    made = memo.size[MADE]
    _settle(now, state, then, made, level, around, steps)
    memo.state[made], memo.pattern[made], memo.place[place] = state, pattern, made + 1
    memo.size[MADE] += 1
    if 2 * memo.size[MADE] > memo.size[PLACES]:
        _widen(memo)
    return int(made)


@bare_inline
def _pattern_of(around: tuple[int, int, bool], fanout: int) -> int:
    """Return what a state's follower depends on as a number."""
    return 2 * (around[0] * (fanout + 1) + around[1]) + around[2]


@part
def _find_row(memo: Memo, pattern: int) -> int:
    """Return where the row of a pattern begins, made where there is none; -1: there is no room."""
    rows, before = memo.size[ROWS], memo.size[BEFORE]
    for row in range(rows):
        if memo.row[row] == pattern:
            return int(row * before)
    if rows == MOST_ROWS or (rows + 1) * before > THEN:
        return -1
    memo.row[rows] = pattern
    memo.size[ROWS] += 1
    memo.then[rows * before : (rows + 1) * before] = 0
    return int(rows * before)


@part
def _start_level(memo: Memo) -> None:
    """Forget the states of a level."""
    memo.size[BEFORE], memo.size[ROWS] = max(memo.size[MADE], 1), 0
    memo.size[MADE], memo.size[PLACES] = 0, FIRST_PLACES
    memo.place[:FIRST_PLACES] = 0


@bare_inline
def _most(drop: tuple[float, float], children: float, kept: float) -> float:
    """Return how many people dropped children hold: see :class:`geodp.accuracy.dropped.Drop`."""
    chance = (kept + FEW + MORE * np.sqrt(kept)) / max(children, 1.0)
    lifted = drop[1] * np.log(0.5 / min(chance, 0.5))
    return float(max(drop[0] - lifted, 0.0))


@part
def _move(
    whole: bool,
    here: float,
    held: float,
    possible: float,
    zeros: float,
    drop: tuple[float, float],
) -> tuple[float, float]:
    """Return people moved out of and into a node: :func:`geodp.accuracy.dropped.find_moved`."""
    zero = 1.0 if here == 0 else 0.0
    kept = 1.0 - zero
    rest = possible - 1 - zeros
    within_zero, within_kept = (zero, kept) if whole else (0.0, 0.0)
    part_zero, part_kept = (0.0, 0.0) if whole else (zero, kept)
    every = max(within_kept + part_kept + rest, 1.0)
    dropped, ours = within_zero + part_zero, within_kept + part_kept
    moved = dropped * (rest + part_kept) / every
    out = min(moved * _most(drop, dropped + ours, ours), held - (here if whole else 0.0))
    dropped, ours = zeros + part_zero, rest + part_kept
    moved = dropped * (within_kept + part_kept) / every
    return out, min(moved * _most(drop, dropped + ours, ours), here)


class Nodes(NamedTuple):
    """Nodes of a level in key order, of cells that have company: n at most.

    Attributes
    ----------
    prefix : uint64[n]
    first, last : int64[n]
        Their cells: the first, and one past the last.
    start, stop : int64[n]
        Their listed nodes, in the level's layer.
    """

    prefix: NDArray[np.uint64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]


@kernel
def _room(n: int) -> Nodes:
    return Nodes(
        np.empty(n, np.uint64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )


@part
def _wake(
    nodes: Nodes,
    size: int,
    waking: NDArray[np.int64],
    key: NDArray[np.uint64],
    start: NDArray[np.int64],
    count: NDArray[np.float64],
    stride: int,
    to: Nodes,
) -> int:
    """Merge nodes with those of cells that have company from here on; return how many there are.

    ``waking``: numbers of these cells, increasing.
    """
    written, i = 0, 0
    for cell in waking:
        while i < size and nodes.first[i] < cell:
            to.prefix[written], to.first[written] = nodes.prefix[i], nodes.first[i]
            to.last[written], to.start[written] = nodes.last[i], nodes.start[i]
            to.stop[written] = nodes.stop[i]
            written += 1
            i += 1
        to.prefix[written] = key[cell] // np.uint64(stride)
        to.first[written], to.last[written] = cell, cell + 1
        to.start[written], to.stop[written] = start[cell], start[cell] + (count[cell] != 0)
        written += 1
    while i < size:
        to.prefix[written], to.first[written] = nodes.prefix[i], nodes.first[i]
        to.last[written], to.start[written] = nodes.last[i], nodes.start[i]
        to.stop[written] = nodes.stop[i]
        written += 1
        i += 1
    return written


@part
def _look(
    nodes: Nodes, i: int, j: int, start: int, stop: int, layer: Layer, stride: int, least: float
) -> tuple[int, int, float]:
    """Return how many children of a node are listed, how many of them are weak, and their people.

    Parameters
    ----------
    nodes, i, j
        Children that are known: from i on, before j.
    start, stop : int
        Listed nodes below it.
    layer, stride, least
        Of the children.
    """
    listed, weak, people = 0, 0, 0.0
    while start < stop:
        while i < j and nodes.stop[i] <= start:
            i += 1
        if i < j and nodes.start[i] == start:
            after = nodes.stop[i]
        else:
            child = layer.key[start] * np.uint64(layer.stride) // np.uint64(stride)
            limit = (child + np.uint64(1)) * np.uint64(stride) // np.uint64(layer.stride)
            after = find_from(layer.key, limit, start)
        held = _sum(layer, start, after)
        listed += 1
        if held < least:
            weak += 1
            people += held
        start = after
    return listed, weak, people


@part
def _move_people(
    cells: tuple[int, int],
    here: float,
    around: tuple[float, float, int, int, int],
    drop: tuple[float, float],
    now: States,
    paths: Paths,
) -> None:
    """Add what a threshold can have moved out of cells of a node, and into them."""
    held, possible, zeros = around[0], around[2], float(around[4])
    for c in range(cells[0], cells[1]):
        whole = now.whole[paths.state[c]]
        if possible > 1 or not whole:
            out, into = _move(whole, here, held, float(possible), zeros, drop)
            paths.moved[0, c] += out
            paths.moved[1, c] += into


@part
def _pass_states(
    cells: tuple[int, int],
    level: int,
    around: tuple[int, int, bool],
    steps: Steps,
    states: tuple[States, States, Memo],
    paths: Paths,
) -> None:
    """Give cells of a node the states that follow; ``around``: as for :func:`_settle`."""
    now, then, memo = states
    pattern, row = _pattern_of(around, steps.fanout[level]), -1
    if cells[1] > cells[0] + 1:
        row = _find_row(memo, pattern)
    for c in range(cells[0], cells[1]):
        state, after = paths.state[c], -1
        if row >= 0:
            after = memo.then[row + state] - 1
        if after < 0:
            after = _follow(now, then, memo, state, level, pattern, around, steps)
            if row >= 0:
                memo.then[row + state] = after + 1
        paths.state[c] = after


@part
def _pass_node(
    cells: tuple[int, int],
    here: float,
    around: tuple[float, float, int, int, int],
    level: int,
    steps: Steps,
    states: tuple[States, States, Memo],
    paths: Paths,
) -> None:
    """Take the cells of a node to its parent.

    ``around``: people in the parent; in its other weak children; children of the parent in the
    domain; how many others may hold nobody; how many others were released as 0.
    """
    held, beside, possible, weak, zeros = around
    is_weak, first, end = here < steps.least[level], cells[0], cells[1]
    if steps.drops and held > 0:
        drop = (steps.drop[level, 0], steps.drop[level, 1])
        _move_people(cells, here, around, drop, states[0], paths)
    if is_weak:
        for c in range(first, end):
            paths.people[OUTER, c], paths.people[INNER, c] = here, 0.0
    if beside != 0:
        for c in range(first, end):
            paths.people[OUTER, c] += beside
    _pass_states(cells, level, (possible, weak, is_weak), steps, states, paths)
    if possible == 1 and states[1].whole[paths.state[first]]:  # one cell is all that a node holds
        paths.people[OUTER, first] = paths.people[INNER, first] = held
        return
    losing = np.uint64(held > 0 and zeros > 0) << np.uint64(level)
    gaining = np.uint64(held > 0 and here == 0) << np.uint64(level)
    if losing:
        for c in range(first, end):
            paths.clamped[LOSING, c] |= losing
    if gaining:
        for c in range(first, end):
            paths.clamped[GAINING, c] |= gaining


@part
def _climb_level(
    level: int,
    nodes: Nodes,
    size: int,
    steps: Steps,
    layers: tuple[Layer, Layer, Layer],
    edges: Edges,
    full: NDArray[np.int64],
    around: Around,
    index: NDArray[np.int64],
    states: tuple[States, States, Memo],
    paths: Paths,
) -> int:
    """Make nodes their parents, and take their cells there; return how many parents there are.

    ``layers``: of the nodes, of the parents, and of the cells. ``index``: overwritten.
    """
    layer, above, listed_cells = layers
    fanout, stride = steps.fanout[level], steps.stride[level]
    written, i, at = 0, 0, 0
    span, top = np.uint64(steps.stride[level + 1]), steps.fanout.size
    while i < size:
        prefix, j = _above(nodes.prefix[i], level, steps), i + 1
        while j < size and _above(nodes.prefix[j], level, steps) == prefix:
            j += 1
        first, after_last = prefix * span, (prefix + np.uint64(1)) * span
        start = find_before(layer.key, _listed_as(first, layer), nodes.start[i])
        stop = find_from(layer.key, _listed_as(after_last, layer), nodes.stop[j - 1])
        listed, weak, people = _look(nodes, i, j, start, stop, layer, stride, steps.least[level])
        begin, end = start, stop
        if above.stride != layer.stride:
            at = begin = find_from(above.key, _listed_as(first, above), at)
            end = find_from(above.key, _listed_as(after_last, above), at)
        held, possible = _sum(above, begin, end), fanout
        cell, after = nodes.first[i], nodes.last[j - 1]
        if full.size and full[cell] <= level:
            node: Any = np.int64(prefix)
            possible = count_children(edges, top - level, node, fanout, stride, index)
        for k in range(i, j):
            here = _sum(layer, nodes.start[k], nodes.stop[k])
            is_weak, own = here < steps.least[level], (nodes.first[k], nodes.last[k])
            beside = people - here if is_weak else people
            others = possible - listed - (here == 0)
            known = (held, beside, possible, possible - listed + weak - is_weak, others)
            _pass_node(own, here, known, level, steps, states, paths)
        if level == 0:
            for c in range(cell, after):
                paths.around[CHILDREN, c] = possible
        if level + 1 == around.level:
            known_here = (start, stop) if layer.stride == listed_cells.stride else (-1, -1)
            own = (cell, after)
            _look_around(own, prefix, known_here, listed_cells, full, around, index, paths)
        nodes.prefix[written], nodes.first[written] = prefix, cell
        nodes.last[written], nodes.start[written], nodes.stop[written] = after, begin, end
        written += 1
        i = j
    return written


@part
def _look_around(
    cells: tuple[int, int],
    prefix: np.uint64,
    listed: tuple[int, int],
    layer: Layer,
    full: NDArray[np.int64],
    around: Around,
    index: NDArray[np.int64],
    paths: Paths,
) -> None:
    """Count what tells the class of some cells, all those of a node.

    ``listed``: where its cells are listed in ``layer``; -1: not known.
    """
    first, last = cells
    start, stop = listed
    if start < 0:
        span = np.uint64(around.span)
        start = find_from(layer.key, prefix * span, 0)
        stop = find_from(layer.key, (prefix + np.uint64(1)) * span, start)
    sure = 0
    for i in range(start, stop):
        sure += _sum(layer, i, i + 1) >= around.least
    possible = around.span
    if full.size and full[first] < around.level:
        node: Any = np.int64(prefix)
        possible = count_children(around.edges, 1, node, around.span, 1, index)
    for c in range(first, last):
        paths.around[CELLS, c], paths.around[LISTED, c] = possible, stop - start
        paths.around[SURE, c] = sure


@kernel
def _states(n: int) -> States:
    return States(np.empty((n, 3, 3)), np.empty(n, np.bool_))


@kernel
def _make_memo(most: int) -> Memo:
    """Return a table for so many states."""
    places = FIRST_PLACES
    while places < 4 * most:
        places *= 2
    return Memo(
        np.empty(places, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.int64),
        np.empty(MOST_ROWS, np.int64),
        np.empty(THEN, np.int32),
        np.zeros(4, np.int64),
    )


@part
def _prepare(
    key: NDArray[np.uint64],
    steps: Steps,
    near: Layer,
    start: NDArray[np.int64],
    paths: Paths,
    around: Around,
) -> None:
    """Write what is known of cells before the first level."""
    for i in range(key.size):
        at = start[i]
        is_listed = at < near.key.size and near.key[at] == key[i]
        count = _sum(near, at, at + 1) if is_listed else 0.0
        paths.people[PLAIN, i] = paths.people[OUTER, i] = paths.people[INNER, i] = count
        paths.clamped[LOSING, i] = paths.clamped[GAINING, i] = np.uint64(0)
        paths.state[i] = 0
        paths.around[CELLS, i] = around.span
        paths.around[CHILDREN, i] = steps.fanout[0] if steps.fanout.size else 1
        paths.around[LISTED, i], paths.around[SURE, i] = is_listed, count >= around.least


@kernel
def _sort_by(level: NDArray[np.int64], top: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return cells by the level at which they have company, and where each level's begin."""
    first = np.zeros(top + 2, np.int64)
    for one in level:
        first[one + 1] += 1
    for i in range(top + 1):
        first[i + 1] += first[i]
    cell, end = np.empty(level.size, np.int64), first.copy()
    for i in range(level.size):
        cell[end[level[i]]] = i
        end[level[i]] += 1
    return cell, first


@kernel
def climb(
    key: NDArray[np.uint64],
    steps: Steps,
    near: Layer,
    far: Layer,
    edges: Edges,
    around: Around,
    full: NDArray[np.int64],
    paths: Paths,
) -> tuple[States, int]:
    """Walk the paths of cells up to the root.

    Parameters
    ----------
    key : uint64[n]
        Of cells of the domain, strictly increasing.
    steps : Steps
    near, far : Layer
        The listed cells, and nodes of some level that hold somebody, which tell of those above;
        of stride 0: there are none.
    edges : Edges
        Of the domain, of the same levels; only read where ``full`` has entries.
    around : Around
    full : int64[n] or int64[0]
        Of :func:`find_full`; n = 0: all keys are cells.
    paths : Paths, written

    Returns
    -------
    states : States
        At the root, by the numbers in ``paths.state``.
    visited : int
        Nodes that were looked at, each as often as its level has it.
    """
    n, top = key.size, steps.fanout.size
    start, alone = np.empty(n, np.int64), np.empty(n, np.int64)
    find_company(key, steps, near, far, full, start, alone)
    _prepare(key, steps, near, start, paths, around)
    cell, first = _sort_by(alone, top)
    most = n + 2 * (top + 2)
    now, then = _states(most), _states(most)
    memo = _make_memo(most)
    now.value[0, :, SHARE], now.value[0, :, VARIANCE], now.value[0, :, FOURTH] = 1.0, 0.0, 0.0
    now.whole[0] = True
    # Cells that are alone differ in the levels at which they may be nobody.
    limit = np.sort(steps.least)
    chain, is_weak = np.zeros(top + 1, np.int64), np.zeros(top + 1, np.bool_)
    nodes, other, index = _room(n), _room(n), np.empty(edges.limit.shape[1], np.int64)
    size, visited, lost = 0, 0, np.uint64(0)
    for level in range(top + 1):
        waking = cell[first[level] : first[level + 1]]
        for c in waking:
            kind = np.searchsorted(limit, paths.people[PLAIN, c], "right")
            if level:
                paths.state[c] = chain[kind]
                paths.clamped[LOSING, c] = lost
                if is_weak[kind]:
                    paths.people[INNER, c] = 0.0
        if level == top:
            break
        if waking.size:
            stride = steps.stride[level]
            size = _wake(nodes, size, waking, key, start, paths.people[PLAIN], stride, other)
            nodes, other = other, nodes
        _start_level(memo)
        fanout = steps.fanout[level]
        for kind in range(top + 1):
            weak = kind < top and steps.least[level] >= limit[kind]
            known = (fanout, fanout - 1, weak)
            pattern = _pattern_of(known, fanout)
            chain[kind] = _follow(now, then, memo, chain[kind], level, pattern, known, steps)
            whole = then.whole[chain[kind]]
            is_weak[kind] = (is_weak[kind] or weak) and not whole
            lost |= np.uint64(not whole and fanout > 1) << np.uint64(level)
        layer = far if far.stride and steps.stride[level] >= far.stride else near
        above = far if far.stride and steps.stride[level + 1] >= far.stride else near
        visited += size
        size = _climb_level(
            level,
            nodes,
            size,
            steps,
            (layer, above, near),
            edges,
            full,
            around,
            index,
            (now, then, memo),
            paths,
        )
        now, then = then, now
    return now, visited


class Rule(NamedTuple):
    """How ends follow from what is released around a cell: see :mod:`geodp.accuracy.interval`.

    Attributes
    ----------
    z : float64[3]
        Half a 95 % interval in standard errors: of Gaussian noise, of Laplace noise, and to the
        side to which an isolated cell's is skewed.
    isolated : float64[2]
        Bias of an isolated cell and its standard deviation; size 0: not known.
    losses : float64[h, 2]
        Mean and standard deviation of what the clamp takes, by level from the root; h = 0: not
        known.
    down, up : float64[classes + 1]
        Margins by class in standard errors; the last one infinite.
    shares : float64[s]
        Bounds of the groups of shares of cells around that were released as 0.
    children : int64[g]
        Bounds of the groups of children.
    is_empty : bool
        Whether nobody at all was released.
    """

    z: NDArray[np.float64]
    isolated: NDArray[np.float64]
    losses: NDArray[np.float64]
    down: NDArray[np.float64]
    up: NDArray[np.float64]
    shares: NDArray[np.float64]
    children: NDArray[np.int64]
    is_empty: bool


@part
def _loss_of(
    level: np.uint64,
    losses: NDArray[np.float64],
    known: NDArray[np.uint64],
    loss: NDArray[np.float64],
) -> int:
    """Return where mean and standard deviation stand of what a clamp takes at some levels."""
    mark = level * SPREAD
    place = np.int64((mark >> np.uint64(32)) & np.uint64(LOSSES - 1))
    if known[place] != level:
        mean, variance, h = 0.0, 0.0, losses.shape[0]
        for i in range(h):  # from the root
            if level >> np.uint64(h - 1 - i) & np.uint64(1):
                mean += losses[i, 0]
                variance += losses[i, 1] * losses[i, 1]
        known[place], loss[place, 0], loss[place, 1] = level, mean, np.sqrt(variance)
    return int(place)


@part
def _margins(
    states: States,
    state: int,
    root: tuple[float, float],
    nobody: bool,
    z: tuple[float, float],
    margin: NDArray[np.float64],
) -> float:
    """Write half the intervals of a state, where nothing is clamped; return its standard error."""
    error = 0.0
    for row in range(3):
        part = states.value[state, row, SHARE]
        if row == OUTER and nobody:
            part = 1.0
        square = part * part
        variance = states.value[state, row, VARIANCE] + root[0] * square
        fourth = states.value[state, row, FOURTH] + root[1] * (square * square)
        if row == PLAIN:
            error = np.sqrt(max(variance, 0.0))
        variance = max(variance, 1e-12)
        excess = min(max(fourth / (variance * variance) / 3, 0.0), 1.0)
        margin[state, row] = (z[0] + (z[1] - z[0]) * excess) * np.sqrt(variance)
    return error


@bare_inline
def _class_of(paths: Paths, i: int, least: float, rule: Rule) -> int:
    """Return the class of a cell: see :func:`geodp.accuracy.margins.find_classes`."""
    own = paths.people[PLAIN, i]
    cells, listed = paths.around[CELLS, i], paths.around[LISTED, i]
    others, zeros = float(cells - 1), float(cells - listed - (own == 0))
    if paths.around[SURE, i] <= (own >= least) or zeros >= others:
        return -1
    share, group, most = 0, 0, zeros / max(others, 1.0)
    while share < rule.shares.size and rule.shares[share] < most:
        share += 1
    while group < rule.children.size and rule.children[group] < paths.around[CHILDREN, i]:
        group += 1
    return group * rule.shares.size + share


@kernel
def find_classes(paths: Paths, around: Around, rule: Rule, found: NDArray[np.int64]) -> None:
    """Write the classes of cells; -1: alone."""
    for i in range(found.size):
        found[i] = _class_of(paths, i, around.least, rule)


@kernel
def find_ends(
    paths: Paths,
    states: States,
    root: tuple[float, float],
    around: Around,
    rule: Rule,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Write the ends of intervals of cells whose paths were walked.

    Parameters
    ----------
    paths, states
        Of :func:`climb`.
    root : float, float
        Variance and fourth cumulant of the estimate of the root.
    around, rule
    low, high : float64[n], written
    """
    m, h = states.whole.size, rule.losses.shape[0]
    margin, error, seen = np.empty((m, 3)), np.empty(m), np.zeros(m, np.bool_)
    known, loss = np.zeros(LOSSES, np.uint64), np.zeros((LOSSES, 2))
    gauss, laplace, skewed = rule.z
    for i in range(low.size):
        state = paths.state[i]
        if not seen[state]:
            seen[state] = True
            nobody = rule.is_empty and not states.whole[state]
            error[state] = _margins(states, state, root, nobody, (gauss, laplace), margin)
        nobody = rule.is_empty and not states.whole[state]
        count, outer, inner = paths.people[PLAIN, i], paths.people[OUTER, i], paths.people[INNER, i]
        own = np.spacing(count)
        plain = margin[state, PLAIN] + own
        bottom, top = count - plain, count + plain
        gaining, losing = paths.clamped[GAINING, i], paths.clamped[LOSING, i]
        if gaining:
            down = np.inf
            if h and not nobody:
                place = _loss_of(gaining, rule.losses, known, loss)
                down = loss[place, 0] + math.hypot(plain, loss[place, 1] * skewed)
            bottom = max(inner - (margin[state, INNER] + np.spacing(inner)), count - down)
        if losing or nobody:
            up = np.inf
            if rule.isolated.size:
                up = max(plain, skewed * rule.isolated[1]) - rule.isolated[0]
            if h and not nobody:
                place = _loss_of(losing, rule.losses, known, loss)
                up = min(up, loss[place, 0] + math.hypot(plain, loss[place, 1] * skewed))
            top = min(outer + (margin[state, OUTER] + np.spacing(outer)), count + up)
        if paths.moved.size:
            bottom -= paths.moved[1, i]
            top += paths.moved[0, i]
        bottom = max(bottom, 0.0)
        kind = _class_of(paths, i, around.least, rule)
        low[i] = max(bottom, count - (rule.down[kind] * error[state] + own))
        high[i] = min(top, count + (rule.up[kind] * error[state] + own))
