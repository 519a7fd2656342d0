"""HDMM: McKenna, Miklau, Hay, Machanavajjhala, "Optimizing error of high-dimensional statistical
queries under differential privacy", PVLDB 11(10), 2018.

A strategy for each axis is chosen without data for all ranges of it: the cells, and some mixed rows
(p-identity, section 5.2); the measurement is their Kronecker product (section 6.1). Least squares
convert the noisy answers to cells.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from geodp.mechanisms.baselines.matrix import gram_of

Real = NDArray[np.float64]

EACH = 16
"""Cells of an axis for each mixed row, as in section 8.1."""

STEPS = 200
"""Largest number of steps of its optimiser."""

SEED = 20180801


@lru_cache(maxsize=8)
def choose(n: int) -> Real:
    """Optimise the strategy for all ranges of n cells: float64[rows, n], columns with sum 1."""
    from scipy.optimize import minimize

    rows, gram = max(1, n // EACH), gram_of("ranges", n)
    start = np.random.default_rng(SEED).random(rows * n)
    optimum = minimize(
        lambda part: loss(part.reshape(rows, n), gram),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * start.size,
        options={"maxiter": STEPS},
    )
    mixed = optimum.x.reshape(rows, n)
    return np.concatenate([np.eye(n), mixed]) / (1 + mixed.sum(axis=0))


def loss(mixed: Real, gram: Real) -> tuple[float, Real]:
    """Compute the squared error of a p-identity strategy at unit variance, and its gradient.

    With s the columns' sums before normalisation, and ``B = I + mixed' mixed``, it is the trace
    of ``inv(B) (s s' * gram)``.

    Parameters
    ----------
    mixed : float64[rows, n]
        Weights of the mixed rows, not negative.
    gram : float64[n, n]
        ``W' W`` of the workload.
    """
    sums = 1 + mixed.sum(axis=0)
    # Woodbury's identity: the small matrix has one row for each mixed row.
    small = np.linalg.inv(np.eye(mixed.shape[0]) + mixed @ mixed.T)
    # Woodbury's.
    inverse = np.eye(mixed.shape[1]) - mixed.T @ small @ mixed
    weighted = gram * np.multiply.outer(sums, sums)
    by_rows = -2 * mixed @ inverse @ weighted @ inverse
    by_sums = 2 * (inverse * gram) @ sums
    return float((inverse * weighted).sum()), (by_rows + by_sums).reshape(-1)


def error_of(strategy: Real, n: int) -> float:
    """Compute the root-mean-square error of all ranges at noise of variance 1: section 3."""
    inverse = np.linalg.inv(strategy.T @ strategy)
    trace = float((inverse * gram_of("ranges", n)).sum())
    return float(np.abs(strategy).sum(axis=0).max() * np.sqrt(trace / (n * (n + 1) / 2)))


def release(counts: NDArray[np.int64], epsilon: float, random: np.random.Generator) -> Real:
    """Release a map: float64[rows, cols].

    Parameters
    ----------
    counts : int64[rows, cols]
    epsilon : float
    random : Generator
        Source of the noise; one person changes every measured vector by 1 in total.
    """
    down, across = (choose(n) for n in counts.shape)
    noisy = down @ counts @ across.T
    # Columns of both strategies sum to 1, so the L1 sensitivity of their product is 1.
    noisy += random.laplace(0, 1 / epsilon, noisy.shape)
    return np.asarray(invert(counts.shape[0]) @ noisy @ invert(counts.shape[1]).T, np.float64)


@lru_cache(maxsize=8)
def invert(n: int) -> Real:
    """Compute the least-squares inverse of the strategy: float64[n, rows]."""
    return np.asarray(np.linalg.pinv(choose(n)), np.float64)
