"""The matrix mechanism: queries are answered through other queries with smaller errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms.base import PUBLIC_DOMAIN, Mechanism, Query
from geodp.mechanisms.measure import add_noise, release_vector, stage_query
from geodp.mechanisms.trees.strategies import QUANTUM, WORKLOADS, gram_of, optimise, tree_rows
from geodp.privacy.event import PURE, Guarantee, Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray

MAX_KEYS = 1024
"""Most keys of a domain: choosing a strategy for this many takes seconds and 100 MiB."""

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

    workload: str = "ranges"
    strategy: str = "optimised"

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
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="Li et al. (2010), section 3: one person changes the measured "
        "vector by one column of the strategy, so its L1 sensitivity is the largest sum of "
        "absolute values in a column; the strategy does not depend on the data",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Least squares: the counts that are nearest to the noisy measurements; unbiased. "
        "Negative counts stay as they are.",
    )

    def __post_init__(self) -> None:
        if self.workload not in WORKLOADS:
            raise UsageError(
                f"matrix:workload is one of: {', '.join(WORKLOADS)}.", code="matrix-workload"
            )
        if self.strategy not in STRATEGIES:
            raise UsageError(
                f"matrix:strategy is one of: {', '.join(STRATEGIES)}.", code="matrix-strategy"
            )

    def unsupported(self, grid: Grid) -> str | None:
        """Reject more than 1024 keys, as matrices are dense."""
        if 1 << grid.bits > MAX_KEYS:
            return Rule(
                "matrix-too-many-keys",
                f"matrix takes at most {MAX_KEYS:,} keys, as it works on dense matrices; this "
                f"grid has {1 << grid.bits:,} (padded to powers of two).",
            )
        return None

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
