"""T2 of Terada et al. (2015): the refinement on integers, sparse, in blocks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import chacha
from geodp.kernels.chacha import LANES
from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import LEVELS, NoiseTable, look_up, settle
from geodp.kernels.tree import BOTH, LEFT, branches, split

NODES, DATA, NODE, DATUM = range(4)
"""Columns of a stack's fill: nodes, nodes with data, and the first of both not yet refined."""

BLOCK = 8 * LANES
"""Nodes that are refined together."""

MOST = BLOCK << LEVELS
"""Nodes that a block can leave below it."""


class Stack(NamedTuple):
    """Nodes yet to be refined: a row for every level that blocks of noise start at.

    Attributes
    ----------
    level : int64[g + 1]
        Of every row; at last that of the nodes that are put out.
    nodes : int64[g, 2, c]
        In key order: prefix, and refined sum, above 0.
    data : int64[g, 3, c]
        Of nodes that hold data: index among the nodes; first and one past the last of their data.
    fill : int64[g, 4]
        What of it is in use: ``NODES, DATA, NODE, DATUM``.
    """

    level: NDArray[np.int64]
    nodes: NDArray[np.int64]
    data: NDArray[np.int64]
    fill: NDArray[np.int64]


class RefinementWorkspace(NamedTuple):
    """Where a block of at most ``BLOCK`` nodes goes down its levels.

    Attributes
    ----------
    top : int64[BLOCK]
        Prefixes of the block's nodes.
    state : uint32[16 * BLOCK]
        Their noise, in lanes: see :func:`geodp.kernels.chacha.lanes`; 128 nodes after the other.
    total, place, data : int64[2, c], uint32[2, c], int64[2, 3, c]
        Of two levels: refined sums; the place of each node's word in ``state``, which tells the
        node; a stack's data.
    word, noisy, todo : uint32[c], int64[c], int32[c]
        Of one level, as :func:`geodp.kernels.noise.look_up` takes them; noise becomes details, and
        these the left children's shares.
    first, middle, branch : int64[c]
        Index of each node's first child; of nodes with data, the first key of their right half;
        which children can be.
    """

    top: NDArray[np.int64]
    state: NDArray[np.uint32]
    total: NDArray[np.int64]
    place: NDArray[np.uint32]
    data: NDArray[np.int64]
    word: NDArray[np.uint32]
    noisy: NDArray[np.int64]
    todo: NDArray[np.int32]
    first: NDArray[np.int64]
    middle: NDArray[np.int64]
    branch: NDArray[np.int64]


class RefinementTables(NamedTuple):
    """What the refinement looks up.

    Attributes
    ----------
    key, cumulative : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    masks, limits, domain : uint64[bits], uint64[bits], uint64[r, 2]
        As :func:`geodp.kernels.tree.branches` takes them, for all levels.
    table : Table
        Of the noise.
    known : int64[2, e]
        Node ids whose draws the table cannot decide, and their noise.
    """

    key: NDArray[np.uint64]
    cumulative: NDArray[np.int64]
    masks: NDArray[np.uint64]
    limits: NDArray[np.uint64]
    domain: NDArray[np.uint64]
    table: NoiseTable
    known: NDArray[np.int64]


class NoiseStreams(NamedTuple):
    """Where the noise comes from: a key, uint32[8], and the streams of words and of more digits."""

    key: NDArray[np.uint32]
    stream: np.uint32


@inline
def _prefix(top: NDArray[np.int64], place: np.uint64, depth: int) -> np.uint64:
    """Return the prefix of a node so many levels below the block's, from its word's place."""
    slot = (place // np.uint64(LANES)) & np.uint64(15)
    own = (place // np.uint64(16 * LANES)) * np.uint64(LANES) + (place & np.uint64(LANES - 1))
    under = slot - ((np.uint64(1) << np.uint64(depth)) - np.uint64(1))
    return (np.uint64(top[own]) << np.uint64(depth)) | under


@kernel
def _take(stack: Stack, row: int, most: int, room: RefinementWorkspace) -> tuple[int, int]:
    """Copy the next block of a row: how many nodes, and how many of them hold data.

    A row that is more than one block is cut evenly, for a short rest would cost as much.
    """
    at, datum = stack.fill[row, NODE], stack.fill[row, DATUM]
    rest = stack.fill[row, NODES] - at
    size = -(-rest // -(-rest // most))
    top, total, place = room.top, room.total[0], room.place[0]
    from_prefix, from_total = stack.nodes[row, 0], stack.nodes[row, 1]
    for n in range(size):
        i, j = np.uint64(n), np.uint64(at + n)
        top[i], total[i] = from_prefix[j], from_total[j]
        place[i] = np.uint32(16 * LANES * (n // LANES) + n % LANES)
    data, source = room.data[0], stack.data[row]
    filled = 0
    while datum + filled < stack.fill[row, DATA] and source[0, datum + filled] < at + size:
        data[0, filled] = source[0, datum + filled] - at
        data[1, filled], data[2, filled] = source[1, datum + filled], source[2, datum + filled]
        filled += 1
    stack.fill[row, NODE] += size
    stack.fill[row, DATUM] += filled
    return size, filled


@kernel
def _compute_noise(room: RefinementWorkspace, size: int, level: int, noise: NoiseStreams) -> None:
    """Compute the words of a block."""
    address, top = np.empty(LANES, np.uint64), room.top
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        for n in range(lanes):
            i = np.uint64(n)
            address[i] = np.uint64(top[np.uint64(start) + i]) | np.uint64(1) << np.uint64(level)
        state = room.state[16 * start : 16 * (start + LANES)]
        chacha.lanes(noise.key, noise.stream, np.uint32(0), address[:lanes], state)


@kernel
def _gather(room: RefinementWorkspace, at: int, size: int) -> None:
    """Collect the words of a level's nodes."""
    state, place, word = room.state, room.place[at], room.word
    for n in range(size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        word[i] = state[np.uint64(place[i])]


@kernel
def _decide(
    level: int,
    depth: int,
    left: int,
    room: RefinementWorkspace,
    tree: RefinementTables,
    noise: NoiseStreams,
) -> int:
    """Decide the draws that the table leaves open; 0, or the id of a node that should be known."""
    node, place = np.empty(left, np.uint64), room.place[depth & 1]
    for n in range(left):
        prefix = _prefix(room.top, np.uint64(place[room.todo[n]]), depth)
        node[n] = prefix | np.uint64(1) << np.uint64(level + depth)
    noisy, todo, known = room.noisy, room.todo, tree.known
    left = settle(noise.key, noise.stream, node, room.word, tree.table, noisy, todo)
    for n in range(left):
        found = False
        for e in range(known.shape[1]):
            if np.uint64(known[0, e]) == node[n]:
                noisy[todo[n]], found = known[1, e], True
        if not found:
            return int(np.int64(node[n]))
    return 0


@kernel
def _add_details(
    room: RefinementWorkspace, size: int, level: int, depth: int, tree: RefinementTables
) -> None:
    """Add true details to noise, and find the first key of each right half."""
    at = depth & 1
    top, place, noisy, middle = room.top, room.place[at], room.noisy, room.middle
    node_of, start, stop = room.data[at, 0], room.data[at, 1], room.data[at, 2]
    key, cumulative, one = tree.key, tree.cumulative, np.uint64(1)
    height = np.uint64(tree.masks.size - level - depth)
    half, most, trips = one << (height - one), np.int64(1), 0
    for n in range(size):
        most = max(most, stop[n] - start[n])
    while most > 1:  # as often for every node, and no branch on what is found
        most -= most >> 1
        trips += 1
    for n in range(size):
        j = np.uint64(n)
        node, first, after = np.uint64(node_of[j]), np.uint64(start[j]), np.uint64(stop[j])
        edge = (_prefix(top, np.uint64(place[node]), depth) << height) + half
        low, left = first, after - first
        for _ in range(trips):
            step = left >> one
            low += step * np.uint64(key[low + step] < edge)
            left -= step
        low += np.uint64(key[low] < edge)
        middle[j] = np.int64(low)
        noisy[node] += 2 * cumulative[low] - cumulative[first] - cumulative[after]


@kernel
def _keep_inside(
    room: RefinementWorkspace, size: int, level: int, depth: int, tree: RefinementTables
) -> None:
    """Where only one child can be, make the detail as large as can be."""
    mask, limit = tree.masks[level + depth], tree.limits[level + depth]
    at = depth & 1
    place, total = room.place[at], room.total[at]
    prefix, branch, noisy = room.first[:size], room.branch, room.noisy
    for n in range(size):
        prefix[n] = np.int64(_prefix(room.top, np.uint64(place[n]), depth))
    branches(prefix, tree.masks.size - level - depth, mask, limit, tree.domain, branch)
    for n in range(size):
        i = np.uint64(n)
        if branch[i] != BOTH:
            noisy[i] = total[i] if branch[i] == LEFT else -total[i]


@kernel
def _split_nodes(room: RefinementWorkspace, at: int, size: int) -> None:
    """Make noisy details the shares of the left children."""
    noisy, word, total = room.noisy, room.word, room.total[at]
    for n in range(size):
        i = np.uint64(n)
        noisy[i] = split(total[i], noisy[i], word[i] & np.uint32(1))


@kernel
def _keep(room: RefinementWorkspace, at: int, size: int) -> int:
    """Split nodes, and keep the children above 0 and where each node's first one is.

    Both are written, and the next ones over those that are 0. Returns how many there are.
    """
    share_of, first = room.noisy, room.first
    total, place = room.total[at], room.place[at]
    held, source = room.total[1 - at], room.place[1 - at]
    end, lanes = np.uint64(0), np.uint32(LANES)
    for n in range(size):
        i = np.uint64(n)
        share = share_of[i]
        rest = total[i] - share
        below = place[i] + (place[i] & np.uint32(15 * LANES)) + lanes
        first[i] = np.int64(end)
        held[end], source[end] = share, below
        end += np.uint64(share > 0)
        held[end], source[end] = rest, below + lanes
        end += np.uint64(rest > 0)
    return int(np.int64(end))


@kernel
def _put(
    room: RefinementWorkspace, depth: int, size: int, out: NDArray[np.int64], row: int, written: int
) -> int:
    """Split nodes of a block's last level; prefixes and sums of the children; the new end."""
    at, top = depth & 1, room.top
    share_of, first = room.noisy, room.first
    total, place = room.total[at], room.place[at]
    child, held, end = out[row, 0], out[row, 1], np.uint64(written)
    for n in range(size):
        i = np.uint64(n)
        share = share_of[i]
        rest = total[i] - share
        prefix = np.int64(_prefix(top, np.uint64(place[i]), depth)) << 1
        first[i] = np.int64(end)
        child[end], held[end] = prefix, share
        end += np.uint64(share > 0)
        child[end], held[end] = prefix + 1, rest
        end += np.uint64(rest > 0)
    return int(np.int64(end))


@kernel
def _keep_data(
    room: RefinementWorkspace, at: int, size: int, below: NDArray[np.int64], row: int
) -> int:
    """Write the data of the children that are kept; return how many hold data."""
    node_of, start, stop = room.data[at, 0], room.data[at, 1], room.data[at, 2]
    share_of, first, middle, total = room.noisy, room.first, room.middle, room.total[at]
    child, begin, end = below[row, 0], below[row, 1], below[row, 2]
    written = np.uint64(0)
    for n in range(size):
        j = np.uint64(n)
        node = np.uint64(node_of[j])
        share = share_of[node]
        some, others = share > 0, share < total[node]
        child[written], begin[written], end[written] = first[node], start[j], middle[j]
        written += np.uint64(some & (start[j] < middle[j]))
        child[written], begin[written], end[written] = first[node] + some, middle[j], stop[j]
        written += np.uint64(others & (middle[j] < stop[j]))
    return int(np.int64(written))


@kernel
def descend(
    stack: Stack,
    most: int,
    room: RefinementWorkspace,
    tree: RefinementTables,
    noise: NoiseStreams,
    out: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """T2 on the nodes of a stack, block by block, depth first, so that output is in key order.

    A block goes down the (up to four) levels that share their noise, in a few passes a level:
    noise of all nodes; details of those that hold data; shares of all, and children above 0. Most
    nodes hold no data, and have no part in the second.

    Parameters
    ----------
    stack, room, tree, noise
        See there. What the call leaves in the stack is done by the next one.
    most : int
        Nodes of a block, 1 to ``BLOCK``.
    out : int64[1, 2, s], written
        Prefix and refined sum of the nodes reached. ``s > MOST``.

    Returns
    -------
    written : int
        Nodes put out.
    visited, blocks : int
        Nodes that were split, and blocks of noise that were computed for them.
    undecided : int
        The id of a node that ``tree.known`` should have, or 0: then the stack is empty, or
        ``out`` too full for another block.
    """
    written, visited, blocks = 0, 0, 0
    last, narrow = stack.fill.shape[0] - 1, tree.domain.shape[0] > 0
    row = last
    while True:
        while row >= 0 and stack.fill[row, NODE] == stack.fill[row, NODES]:
            row -= 1
        if row < 0 or written + MOST >= out.shape[2]:
            return written, visited, blocks, 0
        level, steps = stack.level[row], stack.level[row + 1] - stack.level[row]
        node, datum = stack.fill[row, NODE], stack.fill[row, DATUM]
        size, filled = _take(stack, row, most, room)
        _compute_noise(room, size, level, noise)
        taken, passed = size, 0
        for depth in range(steps):
            at, passed = depth & 1, passed + size
            _gather(room, at, size)
            left = look_up(room.word[:size], tree.table, room.noisy, room.todo)
            if left:
                undecided = _decide(level, depth, left, room, tree, noise)
                if undecided:
                    stack.fill[row, NODE], stack.fill[row, DATUM] = node, datum
                    return written, visited, blocks, undecided
            _add_details(room, filled, level, depth, tree)
            if narrow or tree.masks[level + depth] != tree.limits[level + depth]:
                _keep_inside(room, size, level, depth, tree)
            _split_nodes(room, at, size)
            if depth + 1 < steps:
                size = _keep(room, at, size)
                filled = _keep_data(room, at, filled, room.data, 1 - at)
            elif row == last:
                written = _put(room, depth, size, out, 0, written)
            else:
                size = _put(room, depth, size, stack.nodes, row + 1, 0)
                filled = _keep_data(room, at, filled, stack.data, row + 1)
        visited, blocks = visited + passed, blocks + taken
        if row < last:
            row += 1
            stack.fill[row] = (size, filled, 0, 0)
