"""Terada et al. (2015): the refinement on integers, sparse by levels (T2) and dense (T1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import inlined, kernel
from geodp.kernels.noise import UNDECIDED, draw
from geodp.kernels.tree import BOTH, LEFT, branches

Three = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@inlined
def _split(total: int, noisy: int, rounding: int, branch: int) -> int:
    """The left child's share of ``total``: T2's clamp, and the node's bit for an odd one.

    Without branches, for a loop over nodes to be vectorised: a node with one possible child is
    one whose difference is as large as can be.
    """
    noisy = min(max(noisy, -total), total)
    if branch != BOTH:
        noisy = total if branch == LEFT else -total
    return (total + noisy + ((total + noisy) & 1) * (2 * rounding - 1)) >> 1


@kernel
def _add_details(
    data: Three,
    prefix: NDArray[np.int64],
    height: int,
    table: tuple[NDArray[np.uint64], NDArray[np.int64]],
    noisy: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Add true details to noise; return the index of the first key of each right half."""
    key, cumulative = table
    half, one = np.uint64(1) << np.uint64(height - 1), np.uint64(1)
    middle = np.empty(data[0].size, np.int64)
    for n in range(middle.size):
        j = np.uint64(n)
        at, start, stop = np.uint64(data[0][j]), np.uint64(data[1][j]), np.uint64(data[2][j])
        split = (np.uint64(prefix[at]) << np.uint64(height)) + half
        low, size = start, stop - start
        while size > np.uint64(0):  # no branch on what is found
            step = (size + one) >> one
            low += step * np.uint64(key[low + step - one] < split)
            size -= step
        middle[j] = np.int64(low)
        noisy[at] += 2 * cumulative[low] - cumulative[start] - cumulative[stop]
    return middle


@kernel
def _kept(nodes: Three, left: NDArray[np.int64], first: NDArray[np.int64]) -> Three:
    """The children above 0, and where each node's first one is among them."""
    size = 2 * left.size + 1
    prefix, total, group = (
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
    )
    written = np.uint64(0)
    for n in range(left.size):  # both are written, and the next ones over those that are 0
        i = np.uint64(n)
        first[i] = np.int64(written)
        prefix[written], total[written], group[written] = 2 * nodes[0][i], left[i], nodes[2][i]
        written += np.uint64(left[i] > 0)
        right = nodes[1][i] - left[i]
        prefix[written], total[written], group[written] = 2 * nodes[0][i] + 1, right, nodes[2][i]
        written += np.uint64(right > 0)
    return prefix[:written], total[:written], group[:written]


@kernel
def _kept_data(
    data: Three,
    middle: NDArray[np.int64],
    total: NDArray[np.int64],
    left: NDArray[np.int64],
    first: NDArray[np.int64],
) -> Three:
    """The data of the children that are kept."""
    size = 2 * middle.size + 1
    at, start, stop = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    written = np.uint64(0)
    for n in range(middle.size):
        j = np.uint64(n)
        node = np.uint64(data[0][j])
        some, others = left[node] > 0, left[node] < total[node]
        at[written], start[written], stop[written] = first[node], data[1][j], middle[j]
        written += np.uint64(some & (data[1][j] < middle[j]))
        at[written], start[written], stop[written] = first[node] + some, middle[j], data[2][j]
        written += np.uint64(others & (middle[j] < data[2][j]))
    return at[:written], start[:written], stop[:written]


@kernel
def descend(
    nodes: Three,
    data: Three,
    level: int,
    words: NDArray[np.uint64],
    table: tuple[NDArray[np.uint64], NDArray[np.int64]],
    domain: tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]],
    law: tuple[NDArray[np.uint64], NDArray[np.uint32]],
    known: NDArray[np.int64],
) -> tuple[Three, Three, int, int]:
    """T2 on a block of nodes, down the three levels whose noise is at hand.

    Four passes a level: noise of all nodes; details of those that hold data; shares of all;
    children above 0. Most nodes hold no data, and have no part in the second.

    Parameters
    ----------
    nodes : three int64[n]
        Of one level, in key order: prefix; refined sum, above 0; column in ``words``.
    data : three int64[d]
        Of the nodes that hold data: index in ``nodes``; first and one past the last of their
        data.
    level : int
        Divisible by three, and not the cells'.
    words : uint64[8, n]
        The nodes' blocks.
    table : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    domain : uint64[bits], uint64[bits], uint64[r, 2]
        As :func:`geodp.kernels.tree.branches` takes them, for all levels.
    law : uint64[t], uint32[2**b + 1]
        Threshold and guide, see :func:`geodp.kernels.noise.draw`.
    known : int64[2, e]
        Node ids whose draws the table cannot decide, and their noise.

    Returns
    -------
    nodes, data
        Of the level reached: three below, or the cells'.
    visited : int
        Three that were split.
    undecided : int
        0, or the id of a node that should be known; all else is then of no use.
    """
    masks, limits, ranges = domain
    visited = 0
    for depth in range(min(3, masks.size - level)):
        prefix, total, group = nodes
        n, height = prefix.size, masks.size - level - depth
        visited += n
        slot = (1 << depth) - 1 + (prefix & ((1 << depth) - 1))
        noisy, rounding = np.empty(n, np.int64), np.empty(n, np.int64)
        if draw(words, group, slot, law[0], law[1], noisy, rounding):
            for at in np.flatnonzero(noisy == UNDECIDED):
                node = int(prefix[at]) | 1 << (level + depth)
                found = np.flatnonzero(known[0] == node)
                if found.size == 0:
                    return nodes, data, visited, node
                noisy[at] = known[1, found[0]]
        middle = _add_details(data, prefix, height, table, noisy)
        branch, left, first = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
        branches(prefix, height, masks[level + depth], limits[level + depth], ranges, branch)
        for i in range(n):
            left[i] = _split(total[i], noisy[i], rounding[i], branch[i])
        nodes = _kept(nodes, left, first)
        data = _kept_data(data, middle, total, left, first)
    return nodes, data, visited, 0


@kernel
def refine_dense(
    total: int,
    detail: NDArray[np.int64],
    noise: NDArray[np.int64],
    rounding: NDArray[np.int64],
    branch: NDArray[np.int64],
) -> None:
    """The second pass of T1: clamp every noisy detail to its refined sum.

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
