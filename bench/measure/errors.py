"""Errors of a release: by area, and of random rectangles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def by_area(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the mean absolute error of the sums of aligned blocks of 1, 2, 4 ... keys.

    Parameters
    ----------
    error : float64[2**bits]
        Released minus true counts, in key order. Blocks of 4**i keys are squares of a map.

    Returns
    -------
    float64[bits + 1]
    """
    means = [np.abs(error).mean()]
    while error.size > 1:
        error = error.reshape(-1, 2).sum(axis=1)
        means.append(np.abs(error).mean())
    return np.array(means)


def mean_and_error(trials: Sequence[NDArray[np.float64]]) -> tuple[list[float], list[float]]:
    """Compute means over trials and their standard errors, which are 0 for a single trial."""
    values = np.array(trials)
    # One trial has no spread; 0 keeps the table's form.
    spread = values.std(axis=0, ddof=1) if len(values) > 1 else np.zeros(values.shape[1])
    return values.mean(axis=0).tolist(), (spread / np.sqrt(len(values))).tolist()


def rectangles(shape: tuple[int, int], number: int, seed: int) -> NDArray[np.int64]:
    """Draw random rectangles: int64[4, number], rows [0, 1) and columns [2, 3) of each.

    Both ends of both sides are uniform, so sides of all lengths occur.
    """
    draw = np.random.default_rng(seed)
    ends = [np.sort(draw.integers(0, side, (2, number)), axis=0) for side in shape]
    return np.array([ends[0][0], ends[0][1] + 1, ends[1][0], ends[1][1] + 1])


def sums(dense: NDArray[np.float64], rectangle: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum an array over rectangles, by a summed-area table."""
    corner = np.zeros((dense.shape[0] + 1, dense.shape[1] + 1))
    corner[1:, 1:] = dense.cumsum(axis=0).cumsum(axis=1)
    top, bottom, left, right = rectangle
    total: NDArray[np.float64] = (
        corner[bottom, right] - corner[top, right] - corner[bottom, left] + corner[top, left]
    )
    return total


def scaled_error(difference: NDArray[np.float64], people: int) -> float:
    """Compute the scaled average per-query error of Hay et al. (2016), definition 4, in L2."""
    return float(np.linalg.norm(difference) / (difference.size * people))
