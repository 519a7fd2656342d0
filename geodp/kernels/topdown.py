"""Terada et al. (2015): the refinement on integers, sparse by levels (T2) and dense (T1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp._jit import inlined, kernel
from geodp.kernels.tree import BOTH, LEFT


@inlined
def _split(total: int, detail: int, noise: int, rounding: int, branch: int) -> int:
    """The left child's share of ``total``: T2's clamp, and the node's bit for an odd one."""
    if branch == BOTH:
        noisy = min(max(detail + noise, -total), total)
        odd = (total + noisy) & 1
        return (total + noisy + odd * (2 * rounding - 1)) >> 1
    return total if branch == LEFT else 0


@kernel
def expand(
    frontier: NDArray[np.int64],
    height: int,
    branch: NDArray[np.int64],
    noise: NDArray[np.int64],
    rounding: NDArray[np.int64],
    key: NDArray[np.uint64],
    cumulative: NDArray[np.int64],
    children: NDArray[np.int64],
) -> int:
    """One level of T2: split every frontier node and keep the children above 0.

    Parameters
    ----------
    frontier : int64[5, n]
        Rows: prefix, refined sum (above 0), first and one past the last of the node's data in
        ``key``, group (any number that its children inherit).
    height : int
        A frontier node covers ``2**height`` keys, at least 2.
    branch, noise, rounding : int64[n]
    key : uint64[m]
        Occupied keys, strictly increasing.
    cumulative : int64[m + 1]
        Prefix sums of their counts.
    children : int64[5, 2n], written

    Returns
    -------
    int
        Number of children written, in key order.
    """
    half = np.uint64(1) << np.uint64(height - 1)
    written = 0
    for i in range(frontier.shape[1]):
        prefix, total, start, stop = frontier[0, i], frontier[1, i], frontier[2, i], frontier[3, i]
        middle = (np.uint64(prefix) << np.uint64(height)) + half
        low, high = start, stop
        while low < high:
            probe = (low + high) // 2
            if key[probe] < middle:
                low = probe + 1
            else:
                high = probe
        detail = 2 * cumulative[low] - cumulative[start] - cumulative[stop]
        left = _split(total, detail, noise[i], rounding[i], branch[i])
        if left > 0:
            children[0, written] = 2 * prefix
            children[1, written] = left
            children[2, written] = start
            children[3, written] = low
            children[4, written] = frontier[4, i]
            written += 1
        if left < total:
            children[0, written] = 2 * prefix + 1
            children[1, written] = total - left
            children[2, written] = low
            children[3, written] = stop
            children[4, written] = frontier[4, i]
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
        left = _split(sums[node], detail[node], noise[node], rounding[node], branch[node])
        right = sums[node] - left
        sums[2 * node] = left
        sums[2 * node + 1] = right
        detail[node] = left - right
