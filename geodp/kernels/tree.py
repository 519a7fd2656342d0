"""The binary tree over the keys: splitting a sum in two, the Haar transform, overlaps of nodes.

The Haar transform of counts along the key order is the unnormalised one on integers.
At a node, ``approx`` is left + right and ``detail`` is left - right. Level ``l`` of the tree has
``2**l`` nodes; its details belong to the nodes, not to their children. These are equations (13) and
(14) and appendix A.1 of Terada et al. (2015) times ``2**i``, for a node that covers ``2**i`` cells.
Without the normalisation everything is an integer, and the noise has one scale on all levels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import inline, kernel

LEFT, RIGHT, BOTH = 1, 2, 3
"""Bits of a ``branch`` entry: the children of a node that overlap the domain."""


@inline
def split(total: np.int64, noisy: np.int64, rounding: np.uint32) -> np.int64:
    """Return the left child's share of ``total``: T2's clamp, and the node's bit for an odd sum."""
    # (S* + D*) / 2 with D* clamped to [-S*, S*]: an odd sum is rounded down or up by a fair bit,
    # which is unbiased. All terms are integers, so the children add up to the parent exactly; sums
    # with noise stay below 2**61, so nothing overflows.
    share: np.int64 = (total + min(max(noisy, -total), total) + np.int64(rounding)) >> np.int64(1)
    return share


@kernel
def branches(
    prefix: NDArray[np.int64],
    height: int,
    mask: np.uint64,
    limit: np.uint64,
    domain: NDArray[np.uint64],
    branch: NDArray[np.int64],
) -> None:
    """Determine which children of some nodes overlap the public domain.

    The domain is a box of cells from index 0, cut down by key ranges. A child overlaps the box
    exactly if its first cell lies inside; the left child's first cell is the node's own.

    Parameters
    ----------
    prefix : int64[n]
        Nodes of one level that overlap the domain.
    height : int
        The node covers ``2**height`` keys, at least 2.
    mask : uint64
        Key bits of the axis that this level splits.
    limit : uint64
        Key of the box's last index on that axis, 0 on the others.
    domain : uint64[r, 2]
        Sorted, disjoint ranges [start, stop) of keys; r = 0: the whole box.
    branch : int64[n], written
    """
    half = np.uint64(1) << np.uint64(height - 1)
    for i in range(prefix.size):
        first = np.uint64(prefix[i]) << np.uint64(height)
        middle = first + half
        possible = LEFT
        if (middle & mask) <= limit:
            possible = BOTH
        if domain.shape[0] > 0:
            a = range_after(domain, first)
            if a == domain.shape[0] or domain[a, 0] >= middle:
                possible &= RIGHT
            b = range_after(domain, middle)
            if b == domain.shape[0] or domain[b, 0] >= middle + half:
                possible &= LEFT
        branch[i] = possible


@inline
def range_after(domain: NDArray[np.uint64], key: np.uint64) -> int:
    """Return the index of the first range that ends above ``key``."""
    low, high = 0, domain.shape[0]
    while low < high:
        middle = (low + high) // 2
        if domain[middle, 1] > key:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def cover(
    prefix: NDArray[np.int64], height: int, domain: NDArray[np.uint64], inside: NDArray[np.bool_]
) -> None:
    """Test whether all keys of a node lie in one range of ``domain``; ``inside`` is written."""
    for i in range(prefix.size):
        first = np.uint64(prefix[i]) << np.uint64(height)
        a = range_after(domain, first)
        after = first + (np.uint64(1) << np.uint64(height))
        inside[i] = a < domain.shape[0] and domain[a, 0] <= first and domain[a, 1] >= after


@kernel
def forward_dense(sums: NDArray[np.int64], detail: NDArray[np.int64]) -> None:
    """Compute sums and details of every node, in heap order (root 1, children 2v and 2v + 1).

    Parameters
    ----------
    sums : int64[2n], written
        The n leaves at ``sums[n:]`` are read; the inner nodes are written.
    detail : int64[n], written
    """
    for node in range(detail.size - 1, 0, -1):
        left, right = sums[2 * node], sums[2 * node + 1]
        sums[node] = left + right
        detail[node] = left - right


@kernel
def inverse_dense(detail: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Compute the leaves from the root's sum and the details: the inverse of :func:`forward_dense`.

    Parameters
    ----------
    detail : int64[n]
        Each has the parity of its node's sum.
    sums : int64[2n], written
        ``sums[1]`` is read.
    """
    # Sum and detail of a node have the same parity, so that halving loses nothing.
    for node in range(1, detail.size):
        sums[2 * node] = (sums[node] + detail[node]) >> 1
        sums[2 * node + 1] = (sums[node] - detail[node]) >> 1


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
        True details in heap order; refined ones afterwards, each with the parity of the node's
        refined sum, so that :func:`geodp.kernels.tree.inverse_dense` is exact.
    noise, rounding, branch : int64[n]
        In heap order.
    """
    sums = np.zeros(2 * detail.size, np.int64)
    sums[1] = total
    for node in range(1, detail.size):
        noisy = detail[node] + noise[node]
        # With one possible child the detail is the sum or its negative for every table, so nothing
        # was measured: the child gets everything.
        if branch[node] != BOTH:
            noisy = sums[node] if branch[node] == LEFT else -sums[node]
        left = split(sums[node], noisy, np.uint32(rounding[node]))
        right = sums[node] - left
        sums[2 * node] = left
        sums[2 * node + 1] = right
        detail[node] = left - right
