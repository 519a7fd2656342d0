"""Strategies of the matrix mechanism: workloads, errors, and the search for good strategies.

Used by :mod:`geodp.mechanisms.baselines.matrix`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.typing import FloatArray, IntArray

QUANTUM = 256
"""Sum of every column of a chosen strategy, whose entries are whole numbers.

At 256 the rounding costs less than a thousandth of the error; larger would draw noise of so much
larger a scale, which has a limit.
"""

WORKLOADS = ("ranges", "blocks", "cells")

MAX_MIXED = 16
STEPS = 80
"""Most mixed rows of a p-identity strategy, and most steps of its optimiser."""


def gram_of(workload: str, n: int) -> FloatArray:
    """Compute ``W' W`` of a workload on n keys: float64[n, n].

    An entry is the number of queries that contain both keys.

    Examples
    --------
    >>> gram_of("ranges", 3)
    array([[3., 2., 1.],
           [2., 4., 2.],
           [1., 2., 3.]])
    """
    key = np.arange(n)
    if workload == "ranges":
        both = (np.minimum.outer(key, key) + 1) * (n - np.maximum.outer(key, key))
    elif workload == "blocks":  # as many levels as the keys have leading bits in common, and one
        both = n.bit_length() - np.frexp(np.bitwise_xor.outer(key, key))[1]
    elif workload == "cells":
        both = np.eye(n, dtype=np.int64)
    else:
        raise UsageError(f"A workload is one of: {', '.join(WORKLOADS)}.", code="workload-unknown")
    return np.asarray(both, np.float64)


def tree_rows(weights: NDArray[np.generic], *, wavelet: bool = False) -> IntArray:
    """Make the strategy of weighted sums of all aligned blocks: int64[rows, 2**k].

    With ``wavelet`` they are Haar rows instead: the total, then the difference of the halves of
    every block from the root down. A level of weight 0 is left out.

    Parameters
    ----------
    weights : int64[k + 1]
        Weights of all levels.

    Examples
    --------
    >>> tree_rows(np.array([1, 2]))
    array([[1, 1],
           [2, 0],
           [0, 2]])
    >>> tree_rows(np.array([1, 1]), wavelet=True)
    array([[ 1,  1],
           [ 1, -1]])
    """
    n = 1 << (weights.size - 1)
    rows = []
    for level, weight in enumerate(weights.tolist()):
        blocks = 1 << (max(level - 1, 0) if wavelet else level)
        row = np.full(n // blocks, weight)
        if wavelet and level:
            row[row.size // 2 :] *= -1
        if weight:
            rows.append(np.kron(np.eye(blocks, dtype=np.int64), row[None]))
    return np.asarray(np.concatenate(rows), np.int64)


def optimise(gram: FloatArray) -> IntArray:
    """Return the better strategy for ``W' W`` of two families, see :class:`Matrix`."""
    weights = integer_columns(tree_weights(haar_levels(gram))[:, None])[:, 0]
    candidates = [
        tree_rows(weights),
        integer_columns(p_identity(gram)),
    ]
    return min(candidates, key=lambda strategy: _trace(gram, strategy))


def _trace(gram: FloatArray, strategy: IntArray) -> float:
    """Compute ``trace(W' W (A' A)**-1)``; infinite for a strategy without full column rank."""
    matrix = strategy.astype(np.float64)
    try:
        return float(np.trace(np.linalg.solve(matrix.T @ matrix, gram)))
    except np.linalg.LinAlgError:
        return float("inf")


def integer_columns(matrix: FloatArray) -> IntArray:
    """Round a non-negative matrix to integers whose columns add up to exactly ``QUANTUM``.

    Every column is scaled and rounded down; the missing units go, one each, to the entries that
    lost most.

    Examples
    --------
    >>> integer_columns(np.array([[1.0], [1.0], [1.0]])).T
    array([[86, 85, 85]])
    """
    scaled = matrix * (QUANTUM / matrix.sum(axis=0))
    floors = np.floor(scaled)
    missing = QUANTUM - floors.sum(axis=0)
    place = np.argsort(np.argsort(floors - scaled, axis=0, kind="stable"), axis=0, kind="stable")
    return np.asarray(floors + (place < missing), np.int64)


def haar_levels(gram: FloatArray) -> FloatArray:
    """Compute the sums of ``h' W' W h`` over the orthonormal Haar rows h of every level.

    They are float64[k + 1].
    """
    n = gram.shape[0]
    sums, blocks = [], gram
    while blocks.shape[0] > 1:
        half = blocks.shape[0] // 2
        quarters = blocks.reshape(half, 2, half, 2)
        same = quarters.diagonal(axis1=0, axis2=2)  # [2, 2, half]
        differences = same[0, 0] + same[1, 1] - same[0, 1] - same[1, 0]
        sums.append(float(differences.sum()) * half / n)
        blocks = quarters.sum(axis=(1, 3))
    sums.append(float(blocks[0, 0]) / n)
    return np.array(sums[::-1])


def tree_weights(levels: FloatArray) -> FloatArray:
    """Optimise the weights of the sums of every level's blocks; they add up to 1."""
    # The Haar rows are eigenvectors of A' A; those of level i have the eigenvalue
    # sum(w[j]**2 * n / 2**j for j >= i), so the error is a sum over levels.
    from scipy.optimize import minimize  # late: it is slow to import

    k = levels.size - 1
    sizes = 2.0 ** (k - np.arange(k + 1))

    def error(w: FloatArray) -> tuple[float, FloatArray]:
        """Logarithm of ``sum(w)**2 * sum(g / value)``, and its gradient."""
        value = np.cumsum((w**2 * sizes)[::-1])[::-1]
        total = float((levels / value).sum())
        slope = np.cumsum(-levels / value**2) * 2 * w * sizes
        return 2 * np.log(w.sum()) + np.log(total), 2 / w.sum() + slope / total

    bounds = [(0.0, None)] * k + [(1e-6, None)]
    solution = minimize(error, np.ones(k + 1), jac=True, bounds=bounds, method="L-BFGS-B")
    return np.asarray(solution.x / solution.x.sum())


def p_identity(gram: FloatArray) -> FloatArray:
    """Optimise a strategy ``[I; T] D`` whose columns add up to 1: OPT_0 of McKenna et al. (2018).

    T has one non-negative row for every 16 keys, at most 16, and D scales the columns.

    Returns
    -------
    float64[n + p, n]
    """
    from scipy.optimize import minimize  # late: it is slow to import

    n = gram.shape[0]
    p = min(max(1, n // 16), MAX_MIXED)
    # A fixed start, so that the strategy is reproducible; irregular, as equal rows would stay equal
    # under gradient descent.
    row, key = np.arange(p)[:, None], np.arange(n)
    start = (0.6180339887 * row + np.sqrt(row + 2) * key) % 1
    scaled = gram / np.trace(gram)
    solution = minimize(
        lambda flat: mixed_error(flat.reshape(p, n), scaled),
        start.reshape(-1),
        jac=True,
        bounds=[(0.0, None)] * (p * n),
        method="L-BFGS-B",
        options={"maxiter": STEPS},
    )
    mixed = solution.x.reshape(p, n)
    return np.asarray(np.concatenate([np.eye(n), mixed]) / (1 + mixed.sum(axis=0)))


def mixed_error(mixed: FloatArray, gram: FloatArray) -> tuple[float, FloatArray]:
    """Compute ``trace(W' W (A' A)**-1)`` of ``A = [I; T] D``, and its gradient: float64[p * n]."""
    # With C the inverse of D and M = (I + T' T)**-1 = I - T' (I + T T')**-1 T it is
    # trace(M C W' W C): only p equations are solved, not n.
    column = 1 + mixed.sum(axis=0)
    weighted = gram * column[:, None] * column
    solved = np.linalg.solve(np.eye(mixed.shape[0]) + mixed @ mixed.T, mixed)
    product = solved @ weighted
    diagonal = weighted.diagonal() - (mixed * product).sum(axis=0)  # of M C W' W C
    gradient = -2 * (product - (product @ mixed.T) @ solved) + 2 * diagonal / column
    return float(diagonal.sum()), np.asarray(gradient.reshape(-1), np.float64)
