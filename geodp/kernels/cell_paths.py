"""Paths from cells up to the root, for the intervals of cells: all paths together, node by node.

Most of what a path accumulates is the same for many cells: shares and variances depend on the
pattern of nodes on the way, not on the people in them. Such a *state* is computed once for all
cells that share it, and a cell stores its number. A cell that is isolated in its nodes is visited
again where it first has company.

Everything here reads released counts, so it is post-processing. :mod:`geodp.accuracy.cell_interval`
calls it and explains the intervals.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import bare, bare_inline, kernel, part
from geodp.kernels.key_lists import find_before, find_from
from geodp.kernels.pyramid.edges import Edges, count_children, has_all

PLAIN, OUTER, INNER = range(3)
"""Rows: a cell itself, its outer approximation and its inner approximation."""

SHARE, VARIANCE, FOURTH = range(3)
"""Columns of a state's values: share, variance and fourth cumulant."""

LOSING, GAINING = range(2)
"""Rows of levels at which a clamp may have acted, as bits: the lowest bit is the cells' parents."""

FEW, MORE = 3.69, 1.9
"""Upper 97.5 % bounds of a Poisson mean: 3.69 if nothing was counted; otherwise the count plus 1.9
times its square root (plus the same 3.69)."""

SPREAD, MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd multipliers of 64 bits for hashing, so that products of consecutive numbers lie far apart."""


class PathSteps(NamedTuple):
    """The h levels of a tree, from the cells up.

    Attributes
    ----------
    fanout : int64[h]
        Children of a node of the level above.
    stride : int64[h + 1]
        Keys of a node of the level; the last entry is the root's.
    shift : int64[h + 1] or int64[0]
        Base-2 logarithms of ``stride``, if all are powers of 2.
    node_variance, node_fourth : float64[h + 1]
        Variance and fourth cumulant of a node's estimate; the last entry is the root's.
    min_people : float64[h]
        A node with fewer released people may be empty.
    drop : float64[h, 2]
        The count below which children are dropped, and the scale of their noise.
    drops : bool
        Whether anything is dropped.
    """

    fanout: NDArray[np.int64]
    stride: NDArray[np.int64]
    shift: NDArray[np.int64]
    node_variance: NDArray[np.float64]
    node_fourth: NDArray[np.float64]
    min_people: NDArray[np.float64]
    drop: NDArray[np.float64]
    drops: bool


class PathLayer(NamedTuple):
    """The occupied nodes of a level.

    Attributes
    ----------
    key : uint64[m]
        Strictly increasing.
    sums : int64[m + 1] or float64[m + 1]
        Prefix sums of their counts.
    stride : int
        Number of keys of a node.
    """

    key: NDArray[np.uint64]
    sums: NDArray[np.int64] | NDArray[np.float64]
    stride: int


class Around(NamedTuple):
    """The node around a cell whose cells determine the cell's class.

    Attributes
    ----------
    level, span : int
        Its level, where that of the cells is 0, and its number of keys.
    min_people : float
        A cell with at least this many people is certainly occupied.
    edges : Edges
        The domain, for a tree of two levels: such nodes, and cells.
    """

    level: int
    span: int
    min_people: float
    edges: Edges


class Paths(NamedTuple):
    """Results for n cells.

    Attributes
    ----------
    state : int64[n]
        Number of each cell's state at the root.
    people : float64[3, n]
        Released sums of each cell, of its outer and its inner approximation.
    clamped : uint64[2, n]
        Levels at which a clamp may have acted, ``LOSING`` and ``GAINING``.
    moved : float64[2, n]
        People whom a threshold may have moved out of the cell, and into it; n = 0: none.
    around : int64[4, n]
        Number of cells, and of children in the domain, of its surrounding nodes; of cells listed
        there; and of those that are certainly occupied.
    """

    state: NDArray[np.int64]
    people: NDArray[np.float64]
    clamped: NDArray[np.uint64]
    moved: NDArray[np.float64]
    around: NDArray[np.int64]


CELLS, CHILDREN, LISTED, SURE = range(4)
"""Rows of ``around``."""


class States(NamedTuple):
    """States of cells at one level.

    Attributes
    ----------
    value : float64[m, 3, 3]
        ``SHARE, VARIANCE, FOURTH`` of ``PLAIN, OUTER, INNER``.
    sole : bool[m]
        Whether the cell is the only cell of the domain in its node.
    """

    value: NDArray[np.float64]
    sole: NDArray[np.bool_]


class Memo(NamedTuple):
    """A hash table of a level's states, by the state and the pattern they follow from.

    Attributes
    ----------
    place : int64[c]
        Number of a state plus 1; 0: empty. c is a power of 2, of which a smaller one is in use.
    state, pattern : int64[m]
        For each state: the state on the level below, and the pattern of its node.
    row : int64[r]
        Patterns that have a row in ``then``.
    then : int32[t]
        By row and previous state, the state that follows plus 1; 0: not computed yet.
    size : int64[4]
        Numbers of states, of places in use, of rows, and of states on the level below.
    """

    place: NDArray[np.int64]
    state: NDArray[np.int64]
    pattern: NDArray[np.int64]
    row: NDArray[np.int64]
    then: NDArray[np.int32]
    size: NDArray[np.int64]


MADE, PLACES, ROWS, BEFORE = range(4)
"""Entries of ``size``."""

MAX_ROWS, THEN = 64, 1 << 16
"""Most patterns with a lookup row, and most entries of all rows."""

LOSSES = 1 << 12
"""Entries of the cache of clamp losses: a power of 2."""

FIRST_PLACES = 1 << 8
"""Initial size of a hash table, a power of 2."""


@bare_inline
def _above(prefix: np.uint64, level: int, steps: PathSteps) -> np.uint64:
    """Return the parent of a node."""
    if steps.shift.size:
        return prefix >> np.uint64(steps.shift[level + 1] - steps.shift[level])
    return prefix // np.uint64(steps.fanout[level])


@bare_inline
def _listed_as(key: np.uint64, layer: PathLayer) -> np.uint64:
    """Return the prefix of the layer's node that contains a key."""
    return key if layer.stride == 1 else key // np.uint64(layer.stride)


@bare_inline
def _sum(layer: PathLayer, start: int, stop: int) -> float:
    """Sum the people of some nodes of a layer."""
    return float(layer.sums[stop] - layer.sums[start])


@part
def _find_meeting(one: np.uint64, other: np.uint64, steps: PathSteps) -> int:
    """Find the lowest level on which one node contains both keys, by bisection."""
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
    steps: PathSteps,
    edges: Edges,
    at: NDArray[np.int64],
    full: NDArray[np.int64],
) -> None:
    """Find the highest level on which a cell's node lies in the domain completely.

    Parameters
    ----------
    key : uint64[n]
        Keys of the domain's cells, strictly increasing.
    steps, edges
    at : int64[a], overwritten
        Index of a cell along each of the domain's axes.
    full : int64[n], written
    """
    top = steps.fanout.size
    for i in range(key.size):
        level = top
        # Cells come in key order: below the level where a cell meets the one before, its nodes
        # are new; from there on they are the same, and so is the answer.
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
    steps: PathSteps,
    near: PathLayer,
    far: PathLayer,
    full: NDArray[np.int64],
    start: NDArray[np.int64],
    isolated: NDArray[np.int64],
) -> None:
    """Find the level up to which a listed cell's nodes contain no other listed or requested cell.

    Parameters
    ----------
    key : uint64[n]
        Strictly increasing.
    steps, near, far, full
        As for :func:`climb`.
    start : int64[n], written
        Number of listed keys that are smaller.
    isolated : int64[n], written
        At most ``full``, and below the level of the nodes of ``far``.
    """
    top = steps.fanout.size
    while far.stride and top and steps.stride[top] >= far.stride:
        top -= 1
    if steps.drops:
        top = 0
    at, met, listed = 0, 0, near.key
    for i in range(key.size):
        at = find_from(listed, key[i], at)
        start[i], isolated[i], before, met = at, 0, met, top + 1
        if i + 1 < key.size:
            met = min(met, _find_meeting(key[i], key[i + 1], steps))
        if at == listed.size or listed[at] != key[i]:
            continue
        level = min(before, met) if i else met
        if at and (not i or listed[at - 1] != key[i - 1]):
            level = min(level, _find_meeting(listed[at - 1], key[i], steps))
        if at + 1 < listed.size and (i + 1 == key.size or listed[at + 1] != key[i + 1]):
            level = min(level, _find_meeting(key[i], listed[at + 1], steps))
        isolated[i] = min(level - 1, full[i]) if full.size else level - 1


@part
def _derive_state(
    now: States,
    state: int,
    then: States,
    made: int,
    level: int,
    siblings: tuple[int, int, bool],
    steps: PathSteps,
) -> None:
    """Compute the state that follows from another at a node.

    See :func:`geodp.accuracy.reach.reach` for the formulas.
    ``siblings``: children of the parent in the domain; siblings that may be empty; whether the node
    itself may be empty.
    """
    possible, weak, is_weak = float(siblings[0]), float(siblings[1]), siblings[2]
    node_variance, node_fourth = steps.node_variance[level], steps.node_fourth[level]
    is_cut = siblings[0] > 1 or not now.sole[state]
    for row in range(3):
        part, added = now.value[state, row, SHARE], 0.0
        if row == OUTER:
            added = weak
            if is_weak:
                part = 1.0
        elif row == INNER and is_weak:
            part = 0.0
        variance, fourth = now.value[state, row, VARIANCE], now.value[state, row, FOURTH]
        # A node's total is shared among `possible` children: sharing subtracts their mean error, so
        # that a level adds its variance times the spread of the shares, and the node's own error
        # enters with the mean share.
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
            variance += node_variance * squares
            fourth += node_fourth * powers
            part = mean
        else:
            part = 1.0
        then.value[made, row, SHARE] = part
        then.value[made, row, VARIANCE], then.value[made, row, FOURTH] = variance, fourth
    then.sole[made] = not is_cut


@bare_inline
def _find_place(memo: Memo, state: int, pattern: int) -> int:
    """Return the hash table's place of a following state, or the empty place where it belongs."""
    hashed = np.uint64(state) * SPREAD ^ np.uint64(pattern) * MIX
    last = memo.size[PLACES] - 1
    place = np.int64((hashed ^ (hashed >> np.uint64(32))) & np.uint64(last))
    while memo.place[place]:
        made = memo.place[place] - 1
        if memo.state[made] == state and memo.pattern[made] == pattern:
            break
        place = (place + 1) & last
    return int(place)


@part
def _widen(memo: Memo) -> None:
    """Double the number of places in use, and insert all states again."""
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
    siblings: tuple[int, int, bool],
    steps: PathSteps,
) -> int:
    """Return the number of the state that follows from one at a node; compute it if it is new.

    ``siblings``: as for :func:`_derive_state`; ``pattern`` encodes all of it as a number.
    """
    place = _find_place(memo, state, pattern)
    if memo.place[place]:
        return int(memo.place[place] - 1)
    made = memo.size[MADE]
    _derive_state(now, state, then, made, level, siblings, steps)
    memo.state[made], memo.pattern[made], memo.place[place] = state, pattern, made + 1
    memo.size[MADE] += 1
    if 2 * memo.size[MADE] > memo.size[PLACES]:
        _widen(memo)
    return int(made)


@bare_inline
def _pattern_of(siblings: tuple[int, int, bool], fanout: int) -> int:
    """Encode in one number everything that the following state depends on besides the state."""
    return 2 * (siblings[0] * (fanout + 1) + siblings[1]) + siblings[2]


@part
def _find_row(memo: Memo, pattern: int) -> int:
    """Return where the row of a pattern begins, adding one if needed; -1: there is no space."""
    rows, before = memo.size[ROWS], memo.size[BEFORE]
    for row in range(rows):
        if memo.row[row] == pattern:
            return int(row * before)
    if rows == MAX_ROWS or (rows + 1) * before > THEN:
        return -1
    memo.row[rows] = pattern
    memo.size[ROWS] += 1
    memo.then[rows * before : (rows + 1) * before] = 0
    return int(rows * before)


@part
def _start_level(memo: Memo) -> None:
    """Clear the states, for the next level."""
    memo.size[BEFORE], memo.size[ROWS] = max(memo.size[MADE], 1), 0
    memo.size[MADE], memo.size[PLACES] = 0, FIRST_PLACES
    memo.place[:FIRST_PLACES] = 0


@bare_inline
def _max_dropped(drop: tuple[float, float], children: float, retained: float) -> float:
    """Bound the people in a dropped child: see :class:`geodp.accuracy.variance.Drop`."""
    chance = (retained + FEW + MORE * np.sqrt(retained)) / max(children, 1.0)
    lifted = drop[1] * np.log(0.5 / min(chance, 0.5))
    return float(max(drop[0] - lifted, 0.0))


@part
def _move(
    sole: bool,
    here: float,
    held: float,
    possible: float,
    zeros: float,
    drop: tuple[float, float],
) -> tuple[float, float]:
    """Bound the people moved out of and into a node: :func:`geodp.accuracy.variance.find_moved`."""
    zero = 1.0 if here == 0 else 0.0
    retained = 1.0 - zero
    rest = possible - 1 - zeros
    within_zero, within_retained = (zero, retained) if sole else (0.0, 0.0)
    part_zero, part_retained = (0.0, 0.0) if sole else (zero, retained)
    every = max(within_retained + part_retained + rest, 1.0)
    dropped, ours = within_zero + part_zero, within_retained + part_retained
    moved = dropped * (rest + part_retained) / every
    out = min(moved * _max_dropped(drop, dropped + ours, ours), held - (here if sole else 0.0))
    dropped, ours = zeros + part_zero, rest + part_retained
    moved = dropped * (within_retained + part_retained) / every
    return out, min(moved * _max_dropped(drop, dropped + ours, ours), here)


class PathNodes(NamedTuple):
    """Nodes of a level in key order, of cells that have company; at most n.

    Attributes
    ----------
    prefix : uint64[n]
    first, last : int64[n]
        The first of each node's cells, and one past the last.
    start, stop : int64[n]
        The same of its listed nodes, in the level's layer.
    """

    prefix: NDArray[np.uint64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]


@kernel
def _make_nodes(n: int) -> PathNodes:
    return PathNodes(
        np.empty(n, np.uint64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
    )


@part
def _wake(
    nodes: PathNodes,
    size: int,
    waking: NDArray[np.int64],
    key: NDArray[np.uint64],
    start: NDArray[np.int64],
    count: NDArray[np.float64],
    stride: int,
    to: PathNodes,
) -> int:
    """Merge nodes with those of cells that have company from here on, and count them.

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
def _scan_children(
    nodes: PathNodes,
    i: int,
    j: int,
    start: int,
    stop: int,
    layer: PathLayer,
    stride: int,
    min_people: float,
) -> tuple[int, int, float]:
    """Count a node's listed children and the weak ones among them, and sum the people of these.

    Parameters
    ----------
    nodes, i, j
        The children that are nodes already: numbers i to j - 1.
    start, stop : int
        Listed nodes below the node.
    layer, stride, min_people
        Layer, keys and threshold of the children.
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
        if held < min_people:
            weak += 1
            people += held
        start = after
    return listed, weak, people


@part
def _move_people(
    cells: tuple[int, int],
    here: float,
    siblings: tuple[float, float, int, int, int],
    drop: tuple[float, float],
    now: States,
    paths: Paths,
) -> None:
    """Add the people whom a threshold may have moved out of a node's cells, and into them."""
    held, possible, zeros = siblings[0], siblings[2], float(siblings[4])
    for c in range(cells[0], cells[1]):
        sole = now.sole[paths.state[c]]
        if possible > 1 or not sole:
            out, into = _move(sole, here, held, float(possible), zeros, drop)
            paths.moved[0, c] += out
            paths.moved[1, c] += into


@part
def _pass_states(
    cells: tuple[int, int],
    level: int,
    siblings: tuple[int, int, bool],
    steps: PathSteps,
    states: tuple[States, States, Memo],
    paths: Paths,
) -> None:
    """Advance the states of a node's cells; ``siblings``: as for :func:`_derive_state`."""
    now, then, memo = states
    # One cell alone is looked up in the hash table: a row would be filled for nothing.
    pattern, row = _pattern_of(siblings, steps.fanout[level]), -1
    if cells[1] > cells[0] + 1:
        row = _find_row(memo, pattern)
    for c in range(cells[0], cells[1]):
        state, after = paths.state[c], -1
        if row >= 0:
            after = memo.then[row + state] - 1
        if after < 0:
            after = _follow(now, then, memo, state, level, pattern, siblings, steps)
            if row >= 0:
                memo.then[row + state] = after + 1
        paths.state[c] = after


@part
def _pass_node(
    cells: tuple[int, int],
    here: float,
    siblings: tuple[float, float, int, int, int],
    level: int,
    steps: PathSteps,
    states: tuple[States, States, Memo],
    paths: Paths,
) -> None:
    """Advance the cells of a node to its parent.

    ``siblings``: people in the parent; in its other weak children; children of the parent in the
    domain; number of siblings that may be empty; number of siblings that were released as 0.
    """
    held, weak_people, possible, weak, zeros = siblings
    is_weak, first, end = here < steps.min_people[level], cells[0], cells[1]
    if steps.drops and held > 0:
        drop = (steps.drop[level, 0], steps.drop[level, 1])
        _move_people(cells, here, siblings, drop, states[0], paths)
    if is_weak:
        for c in range(first, end):
            paths.people[OUTER, c], paths.people[INNER, c] = here, 0.0
    if weak_people != 0:
        for c in range(first, end):
            paths.people[OUTER, c] += weak_people
    _pass_states(cells, level, (possible, weak, is_weak), steps, states, paths)
    # Nothing is shared out at such a node: the cell has the node's whole count.
    if possible == 1 and states[1].sole[paths.state[first]]:  # one cell is all that a node holds
        paths.people[OUTER, first] = paths.people[INNER, first] = held
        return
    # Where the parent is occupied, a sibling released as 0 may have been raised to 0 at the expense
    # of this node (losing), and a node released as 0 may have been raised itself (gaining).
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
    nodes: PathNodes,
    size: int,
    steps: PathSteps,
    layers: tuple[PathLayer, PathLayer, PathLayer],
    edges: Edges,
    full: NDArray[np.int64],
    around: Around,
    index: NDArray[np.int64],
    states: tuple[States, States, Memo],
    paths: Paths,
) -> int:
    """Replace nodes by their parents and advance their cells; return the number of parents.

    ``layers``: those of the nodes, of the parents, and of the cells. ``index``: overwritten.
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
        listed, weak, people = _scan_children(
            nodes, i, j, start, stop, layer, stride, steps.min_people[level]
        )
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
            is_weak, members = here < steps.min_people[level], (nodes.first[k], nodes.last[k])
            weak_people = people - here if is_weak else people
            zeros = possible - listed - (here == 0)
            siblings = (held, weak_people, possible, possible - listed + weak - is_weak, zeros)
            _pass_node(members, here, siblings, level, steps, states, paths)
        if level == 0:
            for c in range(cell, after):
                paths.around[CHILDREN, c] = possible
        if level + 1 == around.level:
            listed_here = (start, stop) if layer.stride == listed_cells.stride else (-1, -1)
            members = (cell, after)
            _look_around(members, prefix, listed_here, listed_cells, full, around, index, paths)
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
    layer: PathLayer,
    full: NDArray[np.int64],
    around: Around,
    index: NDArray[np.int64],
    paths: Paths,
) -> None:
    """Count what determines the class of a node's cells.

    ``listed``: where its cells are listed in ``layer``; -1: to be searched for.
    """
    first, last = cells
    start, stop = listed
    if start < 0:
        span = np.uint64(around.span)
        start = find_from(layer.key, prefix * span, 0)
        stop = find_from(layer.key, (prefix + np.uint64(1)) * span, start)
    sure = 0
    for i in range(start, stop):
        sure += _sum(layer, i, i + 1) >= around.min_people
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
def _make_memo(capacity: int) -> Memo:
    """Make a hash table for so many states."""
    # It doubles when half full, so it grows to less than four places for each state.
    places = FIRST_PLACES
    while places < 4 * capacity:
        places *= 2
    return Memo(
        np.empty(places, np.int64),
        np.empty(capacity, np.int64),
        np.empty(capacity, np.int64),
        np.empty(MAX_ROWS, np.int64),
        np.empty(THEN, np.int32),
        np.zeros(4, np.int64),
    )


@part
def _prepare(
    key: NDArray[np.uint64],
    steps: PathSteps,
    near: PathLayer,
    start: NDArray[np.int64],
    paths: Paths,
    around: Around,
) -> None:
    """Initialise the results of cells before the first level."""
    for i in range(key.size):
        at = start[i]
        is_listed = at < near.key.size and near.key[at] == key[i]
        count = _sum(near, at, at + 1) if is_listed else 0.0
        paths.people[PLAIN, i] = paths.people[OUTER, i] = paths.people[INNER, i] = count
        paths.clamped[LOSING, i] = paths.clamped[GAINING, i] = np.uint64(0)
        paths.state[i] = 0
        paths.around[CELLS, i] = around.span
        paths.around[CHILDREN, i] = steps.fanout[0] if steps.fanout.size else 1
        paths.around[LISTED, i], paths.around[SURE, i] = is_listed, count >= around.min_people


@bare_inline
def _count_reached(limit: NDArray[np.float64], people: float) -> int:
    """Count the limits, increasing, that are not above a number of people.

    Numba's ``np.searchsorted`` would load a part of NumPy and SciPy, in a tenth of a second.
    """
    low, high = 0, limit.size
    while low < high:
        middle = (low + high) // 2
        if limit[middle] <= people:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _sort_by(level: NDArray[np.int64], top: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort cells by the level at which they have company; also where each level's cells begin."""
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
    steps: PathSteps,
    near: PathLayer,
    far: PathLayer,
    edges: Edges,
    around: Around,
    full: NDArray[np.int64],
    paths: Paths,
) -> tuple[States, int]:
    """Follow the paths of cells up to the root.

    Parameters
    ----------
    key : uint64[n]
        Keys of cells of the domain, strictly increasing.
    steps : PathSteps
    near, far : PathLayer
        The listed cells, and the occupied nodes of a higher level, from which sums of the levels
        above are taken; stride 0: there is no such layer.
    edges : Edges
        The domain on the same levels; only read if ``full`` has entries.
    around : Around
    full : int64[n] or int64[0]
        Result of :func:`find_full`; n = 0: all keys are cells.
    paths : Paths, written

    Returns
    -------
    states : States
        States at the root, by the numbers in ``paths.state``.
    visited : int
        Number of nodes visited, counted on every level.
    """
    n, top = key.size, steps.fanout.size
    start, isolated = np.empty(n, np.int64), np.empty(n, np.int64)
    find_company(key, steps, near, far, full, start, isolated)
    _prepare(key, steps, near, start, paths, around)
    cell, first = _sort_by(isolated, top)
    capacity = n + 2 * (top + 2)
    now, then = _states(capacity), _states(capacity)
    memo = _make_memo(capacity)
    now.value[0, :, SHARE], now.value[0, :, VARIANCE], now.value[0, :, FOURTH] = 1.0, 0.0, 0.0
    now.sole[0] = True
    # Isolated cells differ only in the levels at which they may be empty: one chain of states
    # for every interval between thresholds serves all of them, until they have company.
    limit = np.sort(steps.min_people)
    chain, is_weak = np.zeros(top + 1, np.int64), np.zeros(top + 1, np.bool_)
    nodes, other, index = _make_nodes(n), _make_nodes(n), np.empty(edges.limit.shape[1], np.int64)
    size, visited, lost = 0, 0, np.uint64(0)
    for level in range(top + 1):
        waking = cell[first[level] : first[level + 1]]
        for c in waking:
            kind = _count_reached(limit, paths.people[PLAIN, c])
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
            weak = kind < top and steps.min_people[level] >= limit[kind]
            siblings = (fanout, fanout - 1, weak)
            pattern = _pattern_of(siblings, fanout)
            chain[kind] = _follow(now, then, memo, chain[kind], level, pattern, siblings, steps)
            sole = then.sole[chain[kind]]
            is_weak[kind] = (is_weak[kind] or weak) and not sole
            lost |= np.uint64(not sole and fanout > 1) << np.uint64(level)
        # Large nodes are summed from the upper layer, in which their runs are short.
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


class IntervalRule(NamedTuple):
    """Parameters of the intervals of cells: see :mod:`geodp.accuracy.interval`.

    Attributes
    ----------
    z : float64[3]
        Half a 95 % interval in standard errors: for Gaussian noise, for Laplace noise, and on the
        side to which an isolated cell's error is skewed.
    isolated : float64[2]
        Bias and standard deviation of an isolated cell; size 0: unavailable.
    losses : float64[h, 2]
        Mean and standard deviation of the clamp's loss, by level from the root; h = 0:
        unavailable.
    down, up : float64[classes + 1]
        Margins by class in standard errors; the last one is infinite.
    shares : float64[s]
        Bounds of the groups by the share of surrounding cells that were released as 0.
    children : int64[g]
        Bounds of the groups by the number of children.
    is_empty : bool
        Whether the release is empty.
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
    cached: NDArray[np.uint64],
    loss: NDArray[np.float64],
) -> int:
    """Return the cache entry with mean and standard deviation of a clamp's loss at some levels."""
    hashed = level * SPREAD
    place = np.int64((hashed >> np.uint64(32)) & np.uint64(LOSSES - 1))
    # Many cells have the same set of levels: a direct-mapped cache replaces a sum for each of them.
    if cached[place] != level:
        mean, variance, h = 0.0, 0.0, losses.shape[0]
        for i in range(h):  # from the root
            if level >> np.uint64(h - 1 - i) & np.uint64(1):
                mean += losses[i, 0]
                variance += losses[i, 1] * losses[i, 1]
        cached[place], loss[place, 0], loss[place, 1] = level, mean, np.sqrt(variance)
    return int(place)


@part
def _margins(
    states: States,
    state: int,
    root: tuple[float, float],
    is_empty: bool,
    z: tuple[float, float],
    margin: NDArray[np.float64],
) -> float:
    """Compute half the intervals of a state where nothing is clamped; return its standard error."""
    error = 0.0
    for row in range(3):
        part = states.value[state, row, SHARE]
        if row == OUTER and is_empty:
            part = 1.0
        square = part * part
        variance = states.value[state, row, VARIANCE] + root[0] * square
        fourth = states.value[state, row, FOURTH] + root[1] * (square * square)
        if row == PLAIN:
            error = np.sqrt(max(variance, 0.0))
        variance = max(variance, 1e-12)
        # A third of the excess kurtosis: 1 for one Laplace variable, 0 for a normal one. Between
        # them the quantile is interpolated.
        excess = min(max(fourth / (variance * variance) / 3, 0.0), 1.0)
        margin[state, row] = (z[0] + (z[1] - z[0]) * excess) * np.sqrt(variance)
    return error


@bare_inline
def _class_of(paths: Paths, i: int, min_people: float, rule: IntervalRule) -> int:
    """Return the class of a cell, by the children of its node and the other cells in it that are 0.

    It is an index into a flat table of margins; -1: isolated, as nobody is beyond doubt in another
    cell of the node, or all others are 0.
    """
    people_here = paths.people[PLAIN, i]
    cells, listed = paths.around[CELLS, i], paths.around[LISTED, i]
    others, zeros = float(cells - 1), float(cells - listed - (people_here == 0))
    if paths.around[SURE, i] <= (people_here >= min_people) or zeros >= others:
        return -1
    share, group, empty_share = 0, 0, zeros / max(others, 1.0)
    while share < rule.shares.size and rule.shares[share] < empty_share:
        share += 1
    while group < rule.children.size and rule.children[group] < paths.around[CHILDREN, i]:
        group += 1
    return group * rule.shares.size + share


@kernel
def find_classes(
    paths: Paths, around: Around, rule: IntervalRule, classes: NDArray[np.int64]
) -> None:
    """Find the classes of cells; -1: isolated."""
    for i in range(classes.size):
        classes[i] = _class_of(paths, i, around.min_people, rule)


@kernel
def find_ends(
    paths: Paths,
    states: States,
    root: tuple[float, float],
    around: Around,
    rule: IntervalRule,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Compute the ends of the intervals of cells.

    Parameters
    ----------
    paths, states
        Results of :func:`climb`.
    root : float, float
        Variance and fourth cumulant of the root's estimate.
    around, rule
    low, high : float64[n], written
    """
    m, h = states.sole.size, rule.losses.shape[0]
    margin, error, seen = np.empty((m, 3)), np.empty(m), np.zeros(m, np.bool_)
    cached, loss = np.zeros(LOSSES, np.uint64), np.zeros((LOSSES, 2))
    # Not unpacked: Numba's check of the length would store the name of this file's folder.
    gauss, laplace, skewed = rule.z[0], rule.z[1], rule.z[2]
    for i in range(low.size):
        state = paths.state[i]
        if not seen[state]:
            seen[state] = True
            is_empty = rule.is_empty and not states.sole[state]
            error[state] = _margins(states, state, root, is_empty, (gauss, laplace), margin)
        is_empty = rule.is_empty and not states.sole[state]
        count, outer, inner = paths.people[PLAIN, i], paths.people[OUTER, i], paths.people[INNER, i]
        # One unit in the last place, so that rounding never makes an interval exclude its count.
        rounding = np.spacing(count)
        plain = margin[state, PLAIN] + rounding
        bottom, top = count - plain, count + plain
        gaining, losing = paths.clamped[GAINING, i], paths.clamped[LOSING, i]
        if gaining:
            down = np.inf
            if h and not is_empty:
                place = _loss_of(gaining, rule.losses, cached, loss)
                down = loss[place, 0] + math.hypot(plain, loss[place, 1] * skewed)
            bottom = max(inner - (margin[state, INNER] + np.spacing(inner)), count - down)
        # In an empty release everything may have been lost to a clamp.
        if losing or is_empty:
            up = np.inf
            if rule.isolated.size:
                up = max(plain, skewed * rule.isolated[1]) - rule.isolated[0]
            if h and not is_empty:
                place = _loss_of(losing, rule.losses, cached, loss)
                up = min(up, loss[place, 0] + math.hypot(plain, loss[place, 1] * skewed))
            top = min(outer + (margin[state, OUTER] + np.spacing(outer)), count + up)
        if paths.moved.size:
            bottom -= paths.moved[1, i]
            top += paths.moved[0, i]
        bottom = max(bottom, 0.0)
        # The measured margins of the cell's class hold on average over many cells; the tighter end
        # wins.
        kind = _class_of(paths, i, around.min_people, rule)
        low[i] = max(bottom, count - (rule.down[kind] * error[state] + rounding))
        high[i] = min(top, count + (rule.up[kind] * error[state] + rounding))
