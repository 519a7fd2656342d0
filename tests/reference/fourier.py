"""Walsh-Hadamard coefficients and the fitted table by explicit matrices."""

import numpy as np
from scipy.optimize import linprog


def hadamard(bits: int) -> np.ndarray:
    """Sylvester's matrix, 2**bits squared, of 1 and -1."""
    matrix = np.ones((1, 1), np.int64)
    for _ in range(bits):
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix


def rows(bits: int, order: int) -> list[int]:
    """Coefficients of all marginals of at most ``order`` attributes; 0: of all."""
    return [a for a in range(1 << bits) if order == 0 or bin(a).count("1") <= order]


def marginal(counts: np.ndarray, attributes: list[int]) -> dict[tuple[int, ...], float]:
    """Sums of the cells that agree in some bits of their key."""
    sums: dict[tuple[int, ...], float] = {}
    for key, count in enumerate(counts):
        cell = tuple(key >> bit & 1 for bit in attributes)
        sums[cell] = sums.get(cell, 0) + count
    return sums


def largest_difference(matrix: np.ndarray, noisy: np.ndarray) -> float:
    """The paper's linear program as it is printed; the value of its solution."""
    c, n = matrix.shape
    one = np.ones((c, 1))
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.block([[matrix, -one], [-matrix, -one]]),
        b_ub=np.concatenate([noisy, -noisy]),
        method="highs-ipm",
    )
    return found.fun
