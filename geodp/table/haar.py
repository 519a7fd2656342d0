"""The unnormalised integer Haar transform of counts along a key order, sparse and dense.

At a node that covers ``2**i`` cells, the approximation is left + right and the detail is
left - right: the paper's averages times ``2**i`` (Terada et al. 2015, equations 13 and 14;
appendix A.1 without its misprint).
"""

from __future__ import annotations

import numpy as np

from geodp.kernels import haar as kernels
from geodp.typing import IntArray, KeyArray, KeyedCounts


def forward(key: KeyArray, count: IntArray, bits: int) -> tuple[int, list[KeyedCounts]]:
    """Transform sparse counts in O(m bits): at most m details a level.

    Parameters
    ----------
    key : uint64[m]
        Strictly increasing, below ``2**bits``.
    count : int64[m]
    bits : int

    Returns
    -------
    total : int
    levels : list of (uint64[.], int64[.])
        From the root's level to the one above the cells.

    Examples
    --------
    >>> total, levels = forward(np.array([0, 3], np.uint64), np.array([5, 2]), 2)
    >>> total, [values.tolist() for _, values in levels]
    (7, [[3], [5, -2]])
    """
    levels: list[KeyedCounts] = []
    node, approx = key, count
    for _ in range(bits):
        parent, total, detail = np.empty_like(node), np.empty_like(approx), np.empty_like(approx)
        n = kernels.forward_level(node, approx, parent, total, detail)
        node, approx = parent[:n], total[:n]
        # Details of 0 are implied, so that a level never has more entries than occupied nodes.
        some = np.flatnonzero(detail[:n])
        levels.append((node[some], detail[some]))
    return int(approx.sum()), levels[::-1]


def inverse(total: int, levels: list[KeyedCounts]) -> tuple[KeyArray, IntArray]:
    """Invert :func:`forward`: return the cells whose count is not 0."""
    # A total of 0 starts without a node, yet noise in the details may still create cells.
    node = np.zeros(min(abs(total), 1), np.uint64)
    approx = np.full(node.size, total, np.int64)
    for prefix, detail in levels:
        # A node whose sum is 0 has children only if its detail is not 0.
        every = np.union1d(node, prefix)
        sums, details = np.zeros(every.size, np.int64), np.zeros(every.size, np.int64)
        sums[np.searchsorted(every, node)] = approx
        details[np.searchsorted(every, prefix)] = detail
        child, count = np.empty(2 * every.size, np.uint64), np.empty(2 * every.size, np.int64)
        n = kernels.inverse_level(every, sums, details, child, count)
        node, approx = child[:n], count[:n]
    return node, approx


def forward_dense(leaves: IntArray) -> tuple[int, IntArray]:
    """Transform ``2**bits`` dense leaves: the total, and details int64[n] in heap order."""
    n = leaves.size
    # Heap order: node i has the children 2 i and 2 i + 1, and the leaves follow the inner nodes.
    sums = np.concatenate([np.zeros(n, np.int64), leaves])
    detail = np.zeros(n, np.int64)
    kernels.forward_dense(sums, detail)
    return int(sums[1] if n > 1 else leaves[0]), detail


def inverse_dense(total: int, detail: IntArray) -> IntArray:
    """Invert :func:`forward_dense`: return the leaves int64[n]."""
    sums = np.zeros(2 * detail.size, np.int64)
    sums[1] = total
    kernels.inverse_dense(detail, sums)
    return sums[detail.size :]
