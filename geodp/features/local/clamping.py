"""Simulate the bias that clamping at 0 causes where all people of a node are in a few children."""

from __future__ import annotations

from functools import lru_cache
from math import pi

import numpy as np
from numpy.typing import NDArray

from geodp.features.local.tree import PUBLIC
from geodp.kernels.pyramid import shares
from geodp.privacy.key import Stream, blocks

TRIALS = 1 << 11
"""Trees that are simulated."""

NODE_PEOPLE = 1 << 40
"""People of the simulated node: far more than the clamp can take away."""


@lru_cache(maxsize=64)
def simulate_isolated(fanouts: tuple[int, ...], spreads: tuple[float, ...]) -> tuple[float, float]:
    """Simulate bias and root-mean-square error of an isolated cell under a known total.

    Parameters
    ----------
    fanouts : tuple of int
        Number of children of a node of each level, the root's first.
    spreads : tuple of float
        Standard deviation of the normal estimate of a child, by level.
    """
    error = np.zeros(TRIALS)
    for level, (fanout, spread) in enumerate(zip(fanouts, spreads, strict=True)):
        error = _split(fanout, spread, error, 1, level)
    return float(error.mean()), float(np.sqrt((error**2).mean()))


@lru_cache(maxsize=256)
def simulate_losses(fanout: int, spread: float, above: float) -> tuple[float, float]:
    """Simulate mean and standard deviation of what one split takes from occupied children.

    All other children are empty; the worst of 1, 2, 4 ... occupied ones is returned.

    Parameters
    ----------
    fanout : int
    spread : float
        Standard deviation of the estimate of a child; ``above``: of the node's error.
    """
    # A stage that no level uses, so that the parent's error is independent of the children's.
    parent_error = above * _normals(1, 1 << 7)[0]
    worst, occupied = (0.0, 0.0), 1
    # Which number loses most depends on fan-out and spread, so powers of two are tried.
    while occupied < fanout:
        lost = -_split(fanout, spread, parent_error, occupied, 0)
        worst = max(worst, (float(lost.mean()), float(lost.std())))
        occupied *= 2
    return worst


def _split(
    fanout: int, spread: float, error: NDArray[np.float64], occupied: int, level: int
) -> NDArray[np.float64]:
    """Simulate the error of the occupied children's sum, given their node's: float64[TRIALS]."""
    z = spread * _normals(fanout, level).T
    z[:, :occupied] += NODE_PEOPLE / occupied
    out, members = np.empty(z.size, np.int64), np.full(TRIALS, fanout)
    total = NODE_PEOPLE + np.rint(error).astype(np.int64)
    # Stratified over the trials: every rounding threshold is used once.
    uniform = (np.arange(TRIALS) + 0.5) / TRIALS
    # The released code itself is simulated, as the clamp has no closed form with several children.
    shares.share(z.reshape(-1), np.ones(z.size), members, total, uniform, 0.0, out)
    held = out.reshape(TRIALS, fanout)[:, :occupied].sum(axis=1)
    return np.asarray(held - NODE_PEOPLE, np.float64)


@lru_cache(maxsize=16)
def _normals(rows: int, stage: int) -> NDArray[np.float64]:
    """Draw public normal numbers by Box and Muller's transform: float64[rows, TRIALS]."""
    n = rows * TRIALS
    words = blocks(PUBLIC, Stream.CONTINUOUS, np.arange(n, dtype=np.uint64), stage)
    radius, angle = ((word >> np.uint64(12)).astype(np.float64) + 0.5 for word in words[:2])
    normals = np.sqrt(-2 * np.log(radius / 2.0**52)) * np.cos(2 * pi * angle / 2.0**52)
    return np.asarray(normals.reshape(rows, TRIALS))
