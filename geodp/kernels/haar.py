"""Unnormalised integer Haar transform of counts along the key order.

At a node, ``approx`` is left + right and ``detail`` is left - right. Level ``l`` of the tree has
``2**l`` nodes; its details belong to the nodes, not to their children. Terada et al. (2015),
equations (13) and (14) and appendix A.1, times ``2**i`` for a node that covers ``2**i`` cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel
from geodp.kernels.tree import BOTH, LEFT, split


@kernel
def forward_dense(sums: NDArray[np.int64], detail: NDArray[np.int64]) -> None:
    """Write sums and details of every node, in heap order (root 1, children 2v and 2v + 1).

    Parameters
    ----------
    sums : int64[2n], written
        The n leaves at ``sums[n:]`` are given; the inner nodes are written.
    detail : int64[n], written
    """
    for node in range(detail.size - 1, 0, -1):
        left, right = sums[2 * node], sums[2 * node + 1]
        sums[node] = left + right
        detail[node] = left - right


@kernel
def inverse_dense(detail: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """Leaves from the root's sum and the details: the inverse of :func:`forward_dense`.

    Parameters
    ----------
    detail : int64[n]
        Of the same parity as the node's sum.
    sums : int64[2n], written
        ``sums[1]`` is given.
    """
    for node in range(1, detail.size):
        sums[2 * node] = (sums[node] + detail[node]) >> 1
        sums[2 * node + 1] = (sums[node] - detail[node]) >> 1


@kernel
def forward_level(
    node: NDArray[np.uint64],
    approx: NDArray[np.int64],
    out_node: NDArray[np.uint64],
    out_approx: NDArray[np.int64],
    out_detail: NDArray[np.int64],
) -> int:
    """One level up from a sorted list of nodes with their sums; returns the parents' number.

    Parameters
    ----------
    node : uint64[m]
        Prefixes, sorted.
    approx : int64[m]
    out_node : uint64[m], out_approx, out_detail : int64[m], written
        The parents. A detail may be 0.
    """
    written = 0
    for i in range(node.size):
        parent = node[i] >> np.uint64(1)
        if written == 0 or out_node[written - 1] != parent:
            out_node[written] = parent
            out_approx[written] = 0
            out_detail[written] = 0
            written += 1
        out_approx[written - 1] += approx[i]
        out_detail[written - 1] += -approx[i] if node[i] & np.uint64(1) else approx[i]
    return written


@kernel
def inverse_level(
    node: NDArray[np.uint64],
    approx: NDArray[np.int64],
    detail: NDArray[np.int64],
    out_node: NDArray[np.uint64],
    out_approx: NDArray[np.int64],
) -> int:
    """One level down: the children whose sum is not 0; returns their number."""
    written = 0
    for i in range(node.size):
        left = (approx[i] + detail[i]) >> 1
        right = (approx[i] - detail[i]) >> 1
        if left != 0:
            out_node[written] = node[i] << np.uint64(1)
            out_approx[written] = left
            written += 1
        if right != 0:
            out_node[written] = (node[i] << np.uint64(1)) | np.uint64(1)
            out_approx[written] = right
            written += 1
    return written


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
        noisy = detail[node] + noise[node]
        if branch[node] != BOTH:
            noisy = sums[node] if branch[node] == LEFT else -sums[node]
        left = split(sums[node], noisy, np.uint32(rounding[node]))
        right = sums[node] - left
        sums[2 * node] = left
        sums[2 * node + 1] = right
        detail[node] = left - right
