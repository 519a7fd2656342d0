"""The binary tree over the keys: splitting a sum in two, and which nodes overlap the domain."""

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
