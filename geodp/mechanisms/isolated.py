"""What the pyramid's clamp does to a populous cell in an empty region.

The mechanism itself, run on many trees that each have one occupied cell. They stand side by side
under one key that everybody knows, so the figures are the same everywhere, and public.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod, sqrt

import numpy as np
from numpy.typing import NDArray

from geodp.grid import Grid
from geodp.kernels import pyramid as kernels
from geodp.mechanisms.descent import Descent, descended, variance_of
from geodp.noise import Law, NodeNoise
from geodp.order import KEY_BITS, Order
from geodp.randomness import NoiseKey
from geodp.table import CountTable

PEOPLE = 1 << 32
"""In the cell: far more than the clamp can take away."""

TREES = 1 << 7
"""Side by side, where keys are long enough."""

MOST_NODES = 1 << 18
"""No further trees are tried beyond so many nodes."""

MOST_TREES = 1 << 10

SPLITS = 1 << 11
"""Nodes that are split to see what one split takes."""


def cell(descent: Descent) -> dict[str, float]:
    """``bias`` and ``rmse``, in counts."""
    error = _errors(descent.fanouts, descent.strides, descent.laws, descent.least, descent.passes)
    bias, rmse = float(error.mean()), float(np.sqrt((error**2).mean()))
    return {"bias": float(f"{bias:.4g}"), "rmse": float(f"{rmse:.4g}")}


@lru_cache(maxsize=256)
def _errors(
    fanouts: tuple[int, ...],
    strides: tuple[int, ...],
    laws: tuple[Law, ...],
    least: tuple[float, ...],
    passes: int,
) -> NDArray[np.float64]:
    """Released minus true counts of the cell, for every tree: float64[n]."""
    descent = Descent(fanouts, strides, laws, least, passes)
    keys = prod(fanouts)
    trees = min(TREES, (1 << KEY_BITS - 1) // keys)
    digits = (trees, *fanouts) if trees > 1 else fanouts
    order = Order((0,) * len(digits), digits)
    grid = Grid.regular((trees * keys,)).with_order(order)
    occupied = np.arange(trees, dtype=np.uint64) * np.uint64(keys) + np.uint64(keys // 3)
    table = CountTable.from_keys(grid, occupied, np.full(trees, PEOPLE))
    roots = np.arange(trees, dtype=np.uint64)
    found: list[NDArray[np.float64]] = []
    visited = 0
    while visited < MOST_NODES and len(found) * trees < MOST_TREES:
        public = NoiseKey(len(found).to_bytes(32, "little"))
        key, count, nodes = descended(table, descent, public, roots, threads=1)
        error = np.full(trees, -float(PEOPLE))
        at = np.searchsorted(key, occupied)
        error[: at.size] = count[at] - PEOPLE
        found.append(error)
        visited += nodes
    return np.concatenate(found)


@lru_cache(maxsize=512)
def split(law: Law, fanout: int, shrunk: float, above: float, least: float) -> tuple[float, float]:
    """Mean and standard deviation of what one split takes from occupied children, in counts.

    All other children are empty; of 1, 2, 4 ... occupied ones, those that lose most together.
    Where nothing is clamped their mean error is 0.

    Parameters
    ----------
    law : Law
        Noise of the children's measurements.
    fanout : int
    shrunk : float
        What is left of its standard deviation after the second pass, as a factor.
    above : float
        Standard deviation of the node's own error.
    least : float
        Children below it are dropped.
    """
    trials = min(SPLITS, max(MOST_NODES // fanout, 16))
    noise = NodeNoise(NoiseKey(bytes(32)), 0, law)
    drawn = noise.sequence(trials * (fanout + 1)).astype(np.float64)
    own = np.rint(above / sqrt(variance_of(law)) * drawn[:trials]).astype(np.int64)
    uniform = (np.arange(trials) + 0.5) / trials
    z, equal = shrunk * drawn[trials:].reshape(trials, fanout), np.ones(trials * fanout)
    members = np.full(trials, fanout)
    found, occupied = (0.0, 0.0), 1
    while occupied < fanout:
        people = np.where(np.arange(fanout) < occupied, PEOPLE, 0)
        out = np.empty(z.size, np.int64)
        total = occupied * PEOPLE + own
        kernels.share((z + people).reshape(-1), equal, members, total, uniform, least, out)
        lost = occupied * PEOPLE - out.reshape(trials, fanout)[:, :occupied].sum(axis=1)
        found = max(found, (float(lost.mean()), float(lost.std())))
        occupied *= 2
    return found
