"""Unnormalised integer Haar transform of counts along the key order.

At a node, ``approx`` is left + right and ``detail`` is left - right. Level ``l`` of the tree has
``2**l`` nodes; its details belong to the nodes, not to their children. These are equations (13) and
(14) and appendix A.1 of Terada et al. (2015) times ``2**i``, for a node that covers ``2**i`` cells.
Without the normalisation everything is an integer, and the noise has one scale on all levels.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.jit import kernel
from geodp.kernels.tree import BOTH, LEFT, split


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
def forward_level(
    node: NDArray[np.uint64],
    approx: NDArray[np.int64],
    out_node: NDArray[np.uint64],
    out_approx: NDArray[np.int64],
    out_detail: NDArray[np.int64],
) -> int:
    """Transform a sorted list of nodes one level up; return the number of parents.

    Parameters
    ----------
    node : uint64[m]
        Prefixes, sorted.
    approx : int64[m]
        Sums of the nodes.
    out_node : uint64[m], out_approx, out_detail : int64[m], written
        The parents. A detail may be 0.
    """
    # Appendix A.1. As printed, (A.1) and (A.2) lack the factor 1/2 of (13) and (14); without the
    # normalisation there is none. See docs/proofs/errata.md.
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
    """Transform one level down: write the children whose sum is not 0, and return their number."""
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
        True details in heap order; refined ones afterwards, each with the parity of the node's
        refined sum, so that :func:`geodp.kernels.haar.inverse_dense` is exact.
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
