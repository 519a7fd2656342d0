"""Terada et al. (2015): the refinement on integers, sparse in blocks (T2) and dense (T1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import chacha
from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import UNDECIDED, draw
from geodp.kernels.tree import BOTH, LEFT, branches

Rows = NDArray[np.int64]

NODES, DATA, NODE, DATUM = range(4)
"""Columns of a stack's fill: nodes, nodes with data, and the first of both not yet refined."""


class Stack(NamedTuple):
    """Nodes yet to be refined: a row for every level that a block of noise starts at.

    Attributes
    ----------
    level : int64[g + 1]
        Of every row; at last that of the nodes that are put out.
    rows : int64[g, 6, c]
        Of nodes, in key order: prefix; refined sum, above 0; not read. Of those that hold data:
        index among the nodes; first and one past the last of their data.
    fill : int64[g, 4]
        What of it is in use: ``NODES, DATA, NODE, DATUM``.
    """

    level: NDArray[np.int64]
    rows: NDArray[np.int64]
    fill: NDArray[np.int64]


class Room(NamedTuple):
    """Where blocks of at most b nodes are worked on.

    Attributes
    ----------
    nodes, data : int64[2, 3, 4 * b + 1]
        Of two levels: prefix, refined sum and place in the block; a stack's data.
    words, word : uint64[8 * b], uint64[4 * b]
        The block's noise, and every node's of one level.
    rows : int64[6, 4 * b + 1]
    """

    nodes: NDArray[np.int64]
    data: NDArray[np.int64]
    words: NDArray[np.uint64]
    word: NDArray[np.uint64]
    rows: NDArray[np.int64]


class Tree(NamedTuple):
    """What the refinement looks up.

    Attributes
    ----------
    key, cumulative : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    masks, limits, domain : uint64[bits], uint64[bits], uint64[r, 2]
        As :func:`geodp.kernels.tree.branches` takes them, for all levels.
    threshold, guide : uint64[t], uint32[2**b + 1]
        Of the noise, see :func:`geodp.kernels.noise.draw`.
    known : int64[2, e]
        Node ids whose draws the table cannot decide, and their noise.
    """

    key: NDArray[np.uint64]
    cumulative: NDArray[np.int64]
    masks: NDArray[np.uint64]
    limits: NDArray[np.uint64]
    domain: NDArray[np.uint64]
    threshold: NDArray[np.uint64]
    guide: NDArray[np.uint32]
    known: NDArray[np.int64]


@inline
def _split(total: int, noisy: int, rounding: int, branch: int) -> int:
    """Return the left child's share of ``total``: T2's clamp, and the node's bit for an odd one.

    Without branches, for a loop over nodes to be vectorised: a node with one possible child is
    one whose difference is as large as can be.
    """
    noisy = min(max(noisy, -total), total)
    if branch != BOTH:
        noisy = total if branch == LEFT else -total
    return (total + noisy + ((total + noisy) & 1) * (2 * rounding - 1)) >> 1


@kernel
def _words(
    nodes: Rows,
    size: int,
    depth: int,
    words: NDArray[np.uint64],
    word: NDArray[np.uint64],
    rounding: NDArray[np.int64],
) -> None:
    """Write the words and the rounding bits of a block's nodes."""
    first = np.uint64((1 << depth) - 1)
    prefix, place = nodes[0], nodes[2]
    for n in range(size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        slot = first + (np.uint64(prefix[i]) & first)
        block = np.uint64(place[i]) << np.uint64(3)
        word[i] = words[block + slot]
        rounding[i] = np.int64((words[block + np.uint64(7)] >> slot) & np.uint64(1))


@kernel
def _decide(
    prefix: NDArray[np.int64],
    size: int,
    level: int,
    known: NDArray[np.int64],
    noisy: NDArray[np.int64],
) -> int:
    """Look up undecided draws; 0, or the id of a node that should be known."""
    for n in range(size):
        if noisy[n] == UNDECIDED:
            node = prefix[n] | np.int64(1) << np.int64(level)
            for e in range(known.shape[1]):
                if known[0, e] == node:
                    noisy[n] = known[1, e]
            if noisy[n] == UNDECIDED:
                return int(np.int64(node))
    return 0


@kernel
def _add_details(
    nodes: Rows,
    data: Rows,
    size: int,
    height: int,
    tree: Tree,
    noisy: NDArray[np.int64],
    middle: NDArray[np.int64],
) -> None:
    """Add true details to noise; ``middle``: the first key of each right half."""
    prefix, at, start, stop = nodes[0], data[0], data[1], data[2]
    key, cumulative = tree.key, tree.cumulative
    half, one = np.uint64(1) << np.uint64(height - 1), np.uint64(1)
    for n in range(size):
        j = np.uint64(n)
        node, first, after = np.uint64(at[j]), np.uint64(start[j]), np.uint64(stop[j])
        split = (np.uint64(prefix[node]) << np.uint64(height)) + half
        low, left = first, after - first
        while left > np.uint64(0):  # no branch on what is found
            step = (left + one) >> one
            low += step * np.uint64(key[low + step - one] < split)
            left -= step
        middle[j] = np.int64(low)
        noisy[node] += 2 * cumulative[low] - cumulative[first] - cumulative[after]


@kernel
def _split_block(
    total: NDArray[np.int64],
    size: int,
    noisy: NDArray[np.int64],
    rounding: NDArray[np.int64],
    branch: NDArray[np.int64],
    left: NDArray[np.int64],
) -> None:
    """:func:`_split` of a block's nodes."""
    for n in range(size):
        i = np.uint64(n)
        left[i] = _split(total[i], noisy[i], rounding[i], branch[i])


@kernel
def _keep(
    nodes: Rows,
    size: int,
    left: NDArray[np.int64],
    below: Rows,
    written: int,
    first: NDArray[np.int64],
) -> int:
    """Write the children above 0, and where each node's first one is; return the new end.

    Both are written, and the next ones over those that are 0.
    """
    prefix, total, place = nodes[0], nodes[1], nodes[2]
    child, held, source = below[0], below[1], below[2]
    end = np.uint64(written)
    for n in range(size):
        i = np.uint64(n)
        key, share = prefix[i] << 1, left[i]
        rest = total[i] - share
        first[i] = np.int64(end)
        child[end], held[end], source[end] = key, share, place[i]
        end += np.uint64(share > 0)
        child[end], held[end], source[end] = key + 1, rest, place[i]
        end += np.uint64(rest > 0)
    return int(np.int64(end))


@kernel
def _keep_data(
    nodes: Rows,
    data: Rows,
    size: int,
    left: NDArray[np.int64],
    first: NDArray[np.int64],
    middle: NDArray[np.int64],
    below: Rows,
) -> int:
    """Write the data of the children that are kept; return how many hold data."""
    total, at, start, stop = nodes[1], data[0], data[1], data[2]
    child, begin, end = below[0], below[1], below[2]
    written = np.uint64(0)
    for n in range(size):
        j = np.uint64(n)
        node = np.uint64(at[j])
        some, others = left[node] > 0, left[node] < total[node]
        child[written], begin[written], end[written] = first[node], start[j], middle[j]
        written += np.uint64(some & (start[j] < middle[j]))
        child[written], begin[written], end[written] = first[node] + some, middle[j], stop[j]
        written += np.uint64(others & (middle[j] < stop[j]))
    return int(np.int64(written))


@kernel
def _take(stack: Stack, row: int, room: Room) -> tuple[int, int]:
    """Copy the next block of a row: how many nodes, and how many of them hold data.

    A row that is more than one block is cut evenly, for a short rest would cost as much.
    """
    at, datum, most = stack.fill[row, NODE], stack.fill[row, DATUM], room.words.size >> 3
    rest = stack.fill[row, NODES] - at
    size = -(-rest // -(-rest // most))
    nodes, source = room.nodes[0], stack.rows[row]
    prefix, total, place = nodes[0], nodes[1], nodes[2]
    from_prefix, from_total = source[0], source[1]
    for n in range(size):
        i, j = np.uint64(n), np.uint64(at + n)
        prefix[i], total[i], place[i] = from_prefix[j], from_total[j], n
    data, from_node = room.data[0], source[3]
    filled = 0
    while datum + filled < stack.fill[row, DATA] and from_node[datum + filled] < at + size:
        data[0, filled] = from_node[datum + filled] - at
        data[1, filled], data[2, filled] = source[4, datum + filled], source[5, datum + filled]
        filled += 1
    return size, filled


@kernel
def descend(
    stack: Stack,
    room: Room,
    tree: Tree,
    key: NDArray[np.uint32],
    stream: np.uint32,
    out: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """T2 on the nodes of a stack, block by block, depth first, so that output is in key order.

    A block goes down the (up to three) levels that share their noise, in four passes a level:
    noise of all nodes; details of those that hold data; shares of all; children above 0. Most
    nodes hold no data, and have no part in the second.

    Parameters
    ----------
    stack, room, tree
        See there. What the call leaves in the stack is done by the next one.
    key : uint32[8], stream : uint32
        As :func:`geodp.kernels.chacha.blocks` takes them.
    out : int64[3, s], written
        Prefix and refined sum of the nodes reached; the third row is of no use. ``s > 8 * b``.

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
    masks, limits = tree.masks, tree.limits
    noisy, rounding, branch = room.rows[0], room.rows[1], room.rows[2]
    left, first, middle = room.rows[3], room.rows[4], room.rows[5]
    block = room.words.size >> 3
    address = np.empty(block, np.uint64)
    written, visited, blocks = 0, 0, 0
    last = stack.fill.shape[0] - 1
    row = last
    while True:
        while row >= 0 and stack.fill[row, NODE] == stack.fill[row, NODES]:
            row -= 1
        if row < 0 or written + 8 * block >= out.shape[1]:
            return written, visited, blocks, 0
        level, steps = stack.level[row], stack.level[row + 1] - stack.level[row]
        size, filled = _take(stack, row, room)
        taken = size, filled
        first_nodes = room.nodes[0]
        prefix = first_nodes[0]
        for n in range(size):
            i = np.uint64(n)
            address[i] = np.uint64(prefix[i]) | np.uint64(1) << np.uint64(level)
        chacha.blocks(key, stream, np.uint32(0), address[:size], room.words)
        blocks, split = blocks + size, 0
        for depth in range(steps):
            nodes, data = room.nodes[depth & 1], room.data[depth & 1]
            height = masks.size - level - depth
            _words(nodes, size, depth, room.words, room.word, rounding)
            if draw(room.word[:size], tree.threshold, tree.guide, noisy):
                undecided = _decide(nodes[0], size, level + depth, tree.known, noisy)
                if undecided:
                    return written, visited, blocks, undecided
            _add_details(nodes, data, filled, height, tree, noisy, middle)
            at, prefix = level + depth, nodes[0]
            branches(prefix[:size], height, masks[at], limits[at], tree.domain, branch)
            _split_block(nodes[1], size, noisy, rounding, branch, left)
            split += size
            below = room.nodes[1 - (depth & 1)], room.data[1 - (depth & 1)]
            if depth + 1 == steps:
                if row == last:
                    written = _keep(nodes, size, left, out, written, first)
                    break
                below = stack.rows[row + 1, :3], stack.rows[row + 1, 3:]
            size = _keep(nodes, size, left, below[0], 0, first)
            filled = _keep_data(nodes, data, filled, left, first, middle, below[1])
        visited += split
        stack.fill[row, NODE] += taken[0]
        stack.fill[row, DATUM] += taken[1]
        if row < last:
            row += 1
            stack.fill[row] = (size, filled, 0, 0)


@kernel
def refine_dense(
    total: int,
    detail: NDArray[np.int64],
    noise: NDArray[np.int64],
    rounding: NDArray[np.int64],
    branch: NDArray[np.int64],
) -> None:
    """Run the second pass of T1: clamp every noisy detail to its refined sum.

    Parameters
    ----------
    total : int
        Refined sum of the root.
    detail : int64[n], overwritten
        True details in heap order; refined ones afterwards, of the same parity as the node's
        refined sum, so that :func:`geodp.kernels.haar.inverse_dense` is exact.
    noise, rounding, branch : int64[n]
        In heap order.
    """
    sums = np.zeros(2 * detail.size, np.int64)
    sums[1] = total
    for node in range(1, detail.size):
        left = _split(sums[node], detail[node] + noise[node], rounding[node], branch[node])
        right = sums[node] - left
        sums[2 * node] = left
        sums[2 * node + 1] = right
        detail[node] = left - right
