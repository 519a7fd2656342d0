"""The matrix mechanism with every query written out."""

import numpy as np


def queries(workload: str, n: int) -> np.ndarray:
    """One row of 0 and 1 for every query."""
    if workload == "cells":
        spans = [(i, i + 1) for i in range(n)]
    elif workload == "ranges":
        spans = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
    else:
        widths = [1 << level for level in range(n.bit_length())]
        spans = [(i, i + width) for width in widths for i in range(0, n, width)]
    return np.array([[int(low <= key < high) for key in range(n)] for low, high in spans])


def haar(n: int) -> np.ndarray:
    """Unnormalised Haar rows: the total, and the difference of the halves of every block."""
    rows = [[1] * n]
    width = n
    while width > 1:
        for start in range(0, n, width):
            half = start + width // 2
            rows.append(
                [
                    1 if start <= key < half else -1 if half <= key < start + width else 0
                    for key in range(n)
                ]
            )
        width //= 2
    return np.array(rows)


def errors(workload: np.ndarray, strategy: np.ndarray, variance: float) -> np.ndarray:
    """Variance of every answer ``W A+ y`` where every measurement has ``variance``."""
    return variance * ((workload @ np.linalg.pinv(strategy)) ** 2).sum(axis=1)
