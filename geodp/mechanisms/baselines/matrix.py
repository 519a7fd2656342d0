"""The matrix mechanism: queries are answered through other queries with smaller errors.

Its strategies: workloads, errors, and the search for good strategies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Mechanism, Query
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable
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


STRATEGIES = ("optimised", "identity", "wavelet", "tree")


@dataclass(frozen=True, kw_only=True)
class Matrix(Mechanism):
    """Li, Hay, Rastogi, Miklau, McGregor (2010): the matrix mechanism on a small domain.

    A strategy is a matrix A of whole numbers; ``A x`` of the counts x gets noise scaled to the
    largest column sum of A, and least squares turns it into counts. It is chosen, without
    looking at the data, to have a small total squared error on a workload of queries.

    The optimised strategy is the better one on that workload of two families, whose columns add
    up to exactly 256: a binary tree with a weight for every level, and the p-identity
    strategies of McKenna, Miklau, Hay, Machanavajjhala (2018), which are the cells and some
    mixed rows found by descent from a fixed start. The descent is done in floating point, so
    machines whose libraries of linear algebra differ may find strategies that differ a little,
    and then a kept key does not give the same release. All have the same sensitivity.

    Attributes
    ----------
    workload : str
        ``ranges``: all runs of keys; ``blocks``: all aligned blocks of ``2**l`` keys;
        ``cells``: all cells. Keys outside the domain count as well.
    strategy : str
        ``optimised``; or one of whole numbers as it is: ``identity``, ``wavelet`` (Haar rows of
        1 and -1), ``tree`` (sums of all aligned blocks).
    """

    workload: str = field(default="ranges", metadata={"choices": WORKLOADS})
    strategy: str = field(default="optimised", metadata={"choices": STRATEGIES})

    # Choosing a strategy for this many takes seconds and 100 MiB.
    max_cells: ClassVar[int] = 1024

    name: ClassVar[str] = "matrix"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "matrix mechanism with an optimised strategy (Li et al. 2010)"
    citation: ClassVar[str] = (
        "Li, Hay, Rastogi, Miklau, McGregor: Optimizing Linear Counting Queries Under "
        "Differential Privacy. PODS 2010. McKenna, Miklau, Hay, Machanavajjhala: Optimizing "
        "Error of High-Dimensional Statistical Queries under Differential Privacy. PVLDB 11(10), "
        "2018."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Li et al. (2010), section 3: one person changes the measured "
        "vector by one column of the strategy, so its L1 sensitivity is the largest sum of "
        "absolute values in a column; the strategy does not depend on the data",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Least squares: the counts that are nearest to the noisy measurements; unbiased. "
        "Negative counts stay as they are.",
    )

    def sensitivity(self, grid: Grid) -> int:
        """Return the sum of a column of the strategy, which is the same for all columns."""
        return {"optimised": QUANTUM, "identity": 1}.get(self.strategy, 1 + grid.bits)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the measurements by one column of the strategy, whose "
            f"whole numbers add up to {self.sensitivity(grid)}"
        )

    def measurements(self, grid: Grid) -> IntArray:
        """Return the strategy: int64[rows, 2**bits], read-only, columns in key order."""
        return _strategy(self.workload, self.strategy, grid.bits)

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the rows of the strategy, by a digest."""
        strategy = self.measurements(grid)
        sha256 = digest(strategy.astype("<i8"))
        return (stage_query(0, event.scale, "rows of a matrix", *strategy.shape, sha256),)

    def variances(self, grid: Grid, event: Measurement) -> FloatArray:
        """Compute ``sigma**2 * (A' A)**-1`` summed over a block's cells of the domain."""
        sizes = [1 << shift for shift in range(grid.bits, -1, -1)]
        return np.array([self._of_blocks(grid, event, size).max() for size in sizes])

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> FloatArray:
        """Compute exact variances."""
        return self._of_blocks(grid, event, stride)[block.astype(np.int64)]

    def _of_blocks(self, grid: Grid, event: Measurement, stride: int) -> FloatArray:
        """Compute the variances of all blocks of ``stride`` keys; 0 outside the domain."""
        keys = np.arange(1 << grid.bits, dtype=np.uint64)
        inside = grid.contains_keys(keys).astype(np.float64)
        start = np.arange(0, keys.size, stride)
        covariance = _covariance(self.workload, self.strategy, grid.bits) * inside[:, None] * inside
        sums = np.add.reduceat(np.add.reduceat(covariance, start), start, axis=1).diagonal()
        return np.asarray(sums * DiscreteLaplace.of_scale(event.scale).variance)

    def visited(self, released: ReleasedTable) -> int:
        """Count the measurements."""
        return int(self.measurements(released.grid).shape[0])

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release the counts that fit the noisy measurements best."""
        strategy, counts = self.measurements(table.grid), table.to_vector()
        # Weighted sums may exceed 2**63, so they are computed in two halves of 32 bits. Noise is
        # added to the lower one, and both together are the digits of the exact noisy sums.
        lower = add_noise(strategy @ (counts % 2**32), key, 0, event.scale)
        upper = strategy @ (counts >> 32) + (lower >> 32)
        values = estimate(strategy, upper * 2.0**32 + lower % 2**32)
        return release_vector(values, table.grid, event)


def estimate(strategy: NDArray[np.generic], noisy: NDArray[np.generic]) -> FloatArray:
    """Compute counts ``A+ y`` for a strategy of full column rank: float64[n]."""
    matrix = strategy.astype(np.float64)
    return np.asarray(np.linalg.solve(matrix.T @ matrix, matrix.T @ noisy.astype(np.float64)))


@lru_cache(maxsize=8)
def _strategy(workload: str, strategy: str, bits: int) -> IntArray:
    """Return an integer strategy whose columns all have the same sum."""
    if strategy == "optimised":
        rows = optimise(gram_of(workload, 1 << bits))
    elif strategy == "identity":
        rows = np.eye(1 << bits, dtype=np.int64)
    else:
        rows = tree_rows(np.ones(bits + 1, np.int64), wavelet=strategy == "wavelet")
    rows.setflags(write=False)
    return rows


@lru_cache(maxsize=2)
def _covariance(workload: str, strategy: str, bits: int) -> FloatArray:
    """Return ``(A' A)**-1``, read-only."""
    matrix = _strategy(workload, strategy, bits).astype(np.float64)
    inverse = np.linalg.inv(matrix.T @ matrix)
    inverse.setflags(write=False)
    return np.asarray(inverse)


METHODS = (Matrix(),)
