"""T2 of Terada et al. (2015): the refinement on integers, sparse, in blocks.

From the root down, at every node with a sum S* > 0 the detail D = S(left) - S(right) gets noise, is
clamped to [-S*, S*], and the halves get (S* + D*) / 2 and (S* - D*) / 2: section 4 of the paper,
with the corrections of docs/proofs/errata.md to (38) and (39). A node with S* = 0 is not visited.
:mod:`geodp.mechanisms.central.topdown` calls it; docs/proofs/privacy.md, section 3, is the proof.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels import chacha
from geodp.kernels.chacha import LANES
from geodp.kernels.jit import inline, kernel
from geodp.kernels.noise import LEVELS, NoiseTable, look_up, resolve
from geodp.kernels.tree import BOTH, LEFT, branches, split

NODES, DATA, NODE, DATUM = range(4)
"""Columns of a stack's fill: number of nodes and of nodes with data, and the first of either that
is not refined yet."""

BLOCK = 8 * LANES
"""Number of nodes that are refined together: they and their noise fit the cache."""

MAX_OPEN = BLOCK << LEVELS
"""Most nodes that a block can leave open below it."""


class Stack(NamedTuple):
    """Nodes that remain to be refined: a row for every level on which blocks of noise start.

    Attributes
    ----------
    level : int64[g + 1]
        Level of every row; the last entry is the level of the results.
    nodes : int64[g, 2, c]
        In key order: prefix, and refined sum, above 0.
    data : int64[g, 3, c]
        For nodes that hold data: index among the nodes; first and one past the last of their data.
    fill : int64[g, 4]
        The entries in use: ``NODES, DATA, NODE, DATUM``.
    """

    level: NDArray[np.int64]
    nodes: NDArray[np.int64]
    data: NDArray[np.int64]
    fill: NDArray[np.int64]


class RefinementWorkspace(NamedTuple):
    """Arrays for refining a block of at most ``BLOCK`` nodes, level by level.

    Attributes
    ----------
    top : int64[BLOCK]
        Prefixes of the block's nodes.
    state : uint32[16 * BLOCK]
        Their noise, in lanes of 128 nodes: see :func:`geodp.kernels.chacha.lanes`.
    total, place, data : int64[2, c], uint32[2, c], int64[2, 3, c]
        For two levels in turn: refined sums; the position of each node's word in ``state``, which
        identifies the node; the data, as in a stack.
    word, noisy, todo : uint32[c], int64[c], int32[c]
        For one level, the arguments of :func:`geodp.kernels.noise.look_up`; noise becomes noisy
        details, and these the left children's shares.
    first, middle, branch : int64[c]
        Index of each node's first child; for nodes with data, the first datum of their right half;
        which children overlap the domain.
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
    """Read-only inputs of the refinement.

    Attributes
    ----------
    key, cumulative : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    masks, limits, domain : uint64[bits], uint64[bits], uint64[r, 2]
        Arguments of :func:`geodp.kernels.tree.branches` for all levels.
    table : NoiseTable
        Law of the noise.
    resolved : int64[2, e]
        Ids of nodes whose draws the table cannot decide, and their noise, decided exactly.
    """

    key: NDArray[np.uint64]
    cumulative: NDArray[np.int64]
    masks: NDArray[np.uint64]
    limits: NDArray[np.uint64]
    domain: NDArray[np.uint64]
    table: NoiseTable
    resolved: NDArray[np.int64]


class NoiseStreams(NamedTuple):
    """Source of the noise: the key, uint32[8], and the stream of the details."""

    key: NDArray[np.uint32]
    stream: np.uint32


@inline
def _prefix(top: NDArray[np.int64], place: np.uint64, depth: int) -> np.uint64:
    """Return the prefix of a node ``depth`` levels below the block's from its word's position."""
    # The position in `state` encodes group, slot and lane: no prefixes are moved while a block is
    # refined down its levels.
    slot = (place // np.uint64(LANES)) & np.uint64(15)
    lane = (place // np.uint64(16 * LANES)) * np.uint64(LANES) + (place & np.uint64(LANES - 1))
    under = slot - ((np.uint64(1) << np.uint64(depth)) - np.uint64(1))
    return (np.uint64(top[lane]) << np.uint64(depth)) | under


@kernel
def _take(
    stack: Stack, row: int, block_size: int, workspace: RefinementWorkspace
) -> tuple[int, int]:
    """Copy the next block of a row; return its number of nodes, and of nodes with data."""
    # A longer row is cut evenly: a short last block would take as long as a full one.
    at, datum = stack.fill[row, NODE], stack.fill[row, DATUM]
    rest = stack.fill[row, NODES] - at
    size = -(-rest // -(-rest // block_size))
    top, total, place = workspace.top, workspace.total[0], workspace.place[0]
    from_prefix, from_total = stack.nodes[row, 0], stack.nodes[row, 1]
    for n in range(size):
        i, j = np.uint64(n), np.uint64(at + n)
        top[i], total[i] = from_prefix[j], from_total[j]
        place[i] = np.uint32(16 * LANES * (n // LANES) + n % LANES)
    data, source = workspace.data[0], stack.data[row]
    filled = 0
    while datum + filled < stack.fill[row, DATA] and source[0, datum + filled] < at + size:
        data[0, filled] = source[0, datum + filled] - at
        data[1, filled], data[2, filled] = source[1, datum + filled], source[2, datum + filled]
        filled += 1
    stack.fill[row, NODE] += size
    stack.fill[row, DATUM] += filled
    return size, filled


@kernel
def _compute_noise(
    workspace: RefinementWorkspace, size: int, level: int, noise: NoiseStreams
) -> None:
    """Compute the cipher blocks of a block's nodes."""
    address, top = np.empty(LANES, np.uint64), workspace.top
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        for n in range(lanes):
            i = np.uint64(n)
            address[i] = np.uint64(top[np.uint64(start) + i]) | np.uint64(1) << np.uint64(level)
        state = workspace.state[16 * start : 16 * (start + LANES)]
        chacha.lanes(noise.key, noise.stream, np.uint32(0), address[:lanes], state)


@kernel
def _gather(workspace: RefinementWorkspace, at: int, size: int) -> None:
    """Collect the words of a level's nodes."""
    state, place, word = workspace.state, workspace.place[at], workspace.word
    for n in range(size):
        i = np.uint64(n)  # unsigned: no test for negative indices
        word[i] = state[np.uint64(place[i])]


@kernel
def _decide(
    level: int,
    depth: int,
    left: int,
    workspace: RefinementWorkspace,
    tree: RefinementTables,
    noise: NoiseStreams,
) -> int:
    """Decide the draws that the table leaves open; return 0, or the id of an undecided node."""
    node, place = np.empty(left, np.uint64), workspace.place[depth & 1]
    for n in range(left):
        prefix = _prefix(workspace.top, np.uint64(place[workspace.todo[n]]), depth)
        node[n] = prefix | np.uint64(1) << np.uint64(level + depth)
    noisy, todo, resolved = workspace.noisy, workspace.todo, tree.resolved
    left = resolve(noise.key, noise.stream, node, workspace.word, tree.table, noisy, todo)
    for n in range(left):
        is_resolved = False
        for e in range(resolved.shape[1]):
            if np.uint64(resolved[0, e]) == node[n]:
                noisy[todo[n]], is_resolved = resolved[1, e], True
        if not is_resolved:
            return int(np.int64(node[n]))
    return 0


@kernel
def _add_details(
    workspace: RefinementWorkspace, size: int, level: int, depth: int, tree: RefinementTables
) -> None:
    """Add true details to noise, and find the first datum of each right half."""
    at = depth & 1
    top, place, noisy, middle = (
        workspace.top,
        workspace.place[at],
        workspace.noisy,
        workspace.middle,
    )
    node_of, start, stop = workspace.data[at, 0], workspace.data[at, 1], workspace.data[at, 2]
    key, cumulative, one = tree.key, tree.cumulative, np.uint64(1)
    height = np.uint64(tree.masks.size - level - depth)
    # D = S(left) - S(right) as differences of prefix sums: integers throughout, so that the noise
    # is added to the exact detail.
    half, longest, trips = one << (height - one), np.int64(1), 0
    for n in range(size):
        longest = max(longest, stop[n] - start[n])
    # Every node takes the same number of steps, so that no branch depends on the data.
    while longest > 1:
        longest -= longest >> 1
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
    workspace: RefinementWorkspace, size: int, level: int, depth: int, tree: RefinementTables
) -> None:
    """Give everything to the only child that overlaps the domain, where there is one."""
    mask, limit = tree.masks[level + depth], tree.limits[level + depth]
    at = depth & 1
    place, total = workspace.place[at], workspace.total[at]
    prefix, branch, noisy = workspace.first[:size], workspace.branch, workspace.noisy
    for n in range(size):
        prefix[n] = np.int64(_prefix(workspace.top, np.uint64(place[n]), depth))
    branches(prefix, tree.masks.size - level - depth, mask, limit, tree.domain, branch)
    for n in range(size):
        i = np.uint64(n)
        if branch[i] != BOTH:
            noisy[i] = total[i] if branch[i] == LEFT else -total[i]


@kernel
def _split_nodes(workspace: RefinementWorkspace, at: int, size: int) -> None:
    """Turn noisy details into the shares of the left children, which the clamp bounds."""
    noisy, word, total = workspace.noisy, workspace.word, workspace.total[at]
    for n in range(size):
        i = np.uint64(n)
        noisy[i] = split(total[i], noisy[i], word[i] & np.uint32(1))


@kernel
def _keep(workspace: RefinementWorkspace, at: int, size: int) -> int:
    """Split nodes, store the children above 0 and each node's first one; return their number."""
    # Both children are always written, and the next ones overwrite those that are 0: no branch on a
    # random number.
    share_of, first = workspace.noisy, workspace.first
    total, place = workspace.total[at], workspace.place[at]
    held, source = workspace.total[1 - at], workspace.place[1 - at]
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
def _emit(
    workspace: RefinementWorkspace,
    depth: int,
    size: int,
    out: NDArray[np.int64],
    row: int,
    written: int,
) -> int:
    """Split the nodes of a block's last level into prefixes and sums; return the new end."""
    at, top = depth & 1, workspace.top
    share_of, first = workspace.noisy, workspace.first
    total, place = workspace.total[at], workspace.place[at]
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
    workspace: RefinementWorkspace, at: int, size: int, below: NDArray[np.int64], row: int
) -> int:
    """Write the data of the children above 0; return how many hold data."""
    node_of, start, stop = workspace.data[at, 0], workspace.data[at, 1], workspace.data[at, 2]
    share_of, first, middle, total = (
        workspace.noisy,
        workspace.first,
        workspace.middle,
        workspace.total[at],
    )
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
    block_size: int,
    workspace: RefinementWorkspace,
    tree: RefinementTables,
    noise: NoiseStreams,
    out: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Run T2 on the nodes of a stack, block by block, depth first: output is in key order.

    A block is refined down the (up to four) levels that share their noise, in a few passes a level:
    noise of all nodes; details of those that hold data; shares of all nodes, and children above 0.
    Most nodes hold no data and take no part in the second pass.

    Parameters
    ----------
    stack, workspace, tree, noise
        See their classes. What a call leaves in the stack is done by the next one.
    block_size : int
        Nodes of a block, 1 to ``BLOCK``.
    out : int64[1, 2, s], written
        Prefix and refined sum of the nodes reached. ``s > MAX_OPEN``.

    Returns
    -------
    written : int
        Number of results.
    visited, blocks : int
        Nodes that were split, and blocks of noise that were computed for them.
    undecided : int
        The id of a node that ``tree.resolved`` must contain before the call is repeated; or 0: the
        stack is empty, or ``out`` is too full for another block.
    """
    written, visited, blocks = 0, 0, 0
    last, narrow = stack.fill.shape[0] - 1, tree.domain.shape[0] > 0
    row = last
    while True:
        while row >= 0 and stack.fill[row, NODE] == stack.fill[row, NODES]:
            row -= 1
        if row < 0 or written + MAX_OPEN >= out.shape[2]:
            return written, visited, blocks, 0
        level, steps = stack.level[row], stack.level[row + 1] - stack.level[row]
        node, datum = stack.fill[row, NODE], stack.fill[row, DATUM]
        size, filled = _take(stack, row, block_size, workspace)
        _compute_noise(workspace, size, level, noise)
        taken, passed = size, 0
        for depth in range(steps):
            at, passed = depth & 1, passed + size
            _gather(workspace, at, size)
            left = look_up(workspace.word[:size], tree.table, workspace.noisy, workspace.todo)
            if left:
                undecided = _decide(level, depth, left, workspace, tree, noise)
                # The block is undone and repeated once the draw is known: noise is a function of
                # the node, so the repetition finds the same.
                if undecided:
                    stack.fill[row, NODE], stack.fill[row, DATUM] = node, datum
                    return written, visited, blocks, undecided
            _add_details(workspace, filled, level, depth, tree)
            # Only levels at which the box or a range can cut a node are tested.
            if narrow or tree.masks[level + depth] != tree.limits[level + depth]:
                _keep_inside(workspace, size, level, depth, tree)
            _split_nodes(workspace, at, size)
            if depth + 1 < steps:
                size = _keep(workspace, at, size)
                filled = _keep_data(workspace, at, filled, workspace.data, 1 - at)
            elif row == last:
                written = _emit(workspace, depth, size, out, 0, written)
            else:
                size = _emit(workspace, depth, size, stack.nodes, row + 1, 0)
                filled = _keep_data(workspace, at, filled, stack.data, row + 1)
        visited, blocks = visited + passed, blocks + taken
        if row < last:
            row += 1
            stack.fill[row] = (size, filled, 0, 0)
