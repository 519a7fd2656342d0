"""What the clamp takes where all people of a node are in some of its children, by simulation."""

from __future__ import annotations

from functools import lru_cache
from math import pi

import numpy as np
from numpy.typing import NDArray

from geodp.features.local.tree import PUBLIC
from geodp.kernels.pyramid import shares
from geodp.privacy.key import Stream, blocks

TRIALS = 1 << 11

PEOPLE = 1 << 40
"""In the node: far more than the clamp can take away."""


@lru_cache(maxsize=64)
def isolate(fanouts: tuple[int, ...], spreads: tuple[float, ...]) -> tuple[float, float]:
    """Return bias and root-mean-square error of a lone cell under a total that is known.

    Parameters
    ----------
    fanouts : tuple of int
        Children of a node of each level, the root's first.
    spreads : tuple of float
        Standard deviations of what is known of a child, normal.
    """
    error = np.zeros(TRIALS)
    for level, (fanout, spread) in enumerate(zip(fanouts, spreads, strict=True)):
        error = _split(fanout, spread, error, 1, level)
    return float(error.mean()), float(np.sqrt((error**2).mean()))


@lru_cache(maxsize=256)
def lose(fanout: int, spread: float, above: float) -> tuple[float, float]:
    """Return mean and standard deviation of what one split takes from occupied children.

    All others are empty; of 1, 2, 4 ... occupied ones, those that lose most together.

    Parameters
    ----------
    fanout : int
    spread : float
        Standard deviation of what is known of a child; ``above``: of the node's own error.
    """
    own = above * _normals(1, 1 << 7)[0]
    found, occupied = (0.0, 0.0), 1
    while occupied < fanout:
        lost = -_split(fanout, spread, own, occupied, 0)
        found = max(found, (float(lost.mean()), float(lost.std())))
        occupied *= 2
    return found


def _split(
    fanout: int, spread: float, error: NDArray[np.float64], occupied: int, level: int
) -> NDArray[np.float64]:
    """Return the error of the occupied children's sum, from their node's: float64[TRIALS]."""
    z = spread * _normals(fanout, level).T
    z[:, :occupied] += PEOPLE / occupied
    out, members = np.empty(z.size, np.int64), np.full(TRIALS, fanout)
    total = PEOPLE + np.rint(error).astype(np.int64)
    uniform = (np.arange(TRIALS) + 0.5) / TRIALS
    shares.share(z.reshape(-1), np.ones(z.size), members, total, uniform, 0.0, out)
    held = out.reshape(TRIALS, fanout)[:, :occupied].sum(axis=1)
    return np.asarray(held - PEOPLE, np.float64)


@lru_cache(maxsize=16)
def _normals(rows: int, stage: int) -> NDArray[np.float64]:
    """Return public normal numbers by Box and Muller's transform: float64[rows, TRIALS]."""
    n = rows * TRIALS
    words = blocks(PUBLIC, Stream.CONTINUOUS, np.arange(n, dtype=np.uint64), stage)
    radius, angle = ((word >> np.uint64(12)).astype(np.float64) + 0.5 for word in words[:2])
    found = np.sqrt(-2 * np.log(radius / 2.0**52)) * np.cos(2 * pi * angle / 2.0**52)
    return np.asarray(found.reshape(rows, TRIALS))
