"""Shrinkage by the clamp of an isolated populous cell, or settlement, in an empty region.

The sum of a settlement loses more than a cell, as more nodes cut it. The mechanism itself runs here
on many trees with one of them each, all in one table and with a public key: so the results are
public, and the same everywhere.

The loss if all people of a node are in one of its halves is computed, in noise scales
(:func:`lose`). With E the node's error and N the noise, the error of the occupied half is
``min(E, (E + N) / 2)``: the empty half cannot become negative. Distributions are computed on a
lattice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.order import KEY_BITS, Order
from geodp.kernels.pyramid import shares as kernels
from geodp.kernels.pyramid.reweighting import reweight_all
from geodp.mechanisms.trees.descent import Descent, variance_of
from geodp.mechanisms.trees.traversal import descend
from geodp.privacy.key import NoiseKey, Stream, blocks
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable
from geodp.typing import FloatArray, KeyedCounts


@lru_cache(maxsize=256)
def lose(above: float, gaussian: bool) -> tuple[float, float]:
    """Compute mean and standard deviation of ``-min(E, (E + N) / 2)``.

    Parameters
    ----------
    above : float
        E is distributed as this many times N.
    gaussian : bool
        Whether N is normal; otherwise it is Laplace noise.
    """
    noise = np.arange(-10, 10.05, 0.1)
    weight = np.exp(-(noise**2) / 2 if gaussian else -np.abs(noise))
    weight /= weight.sum()
    error = above * noise[:, None]
    lost = -np.minimum(error, (error + noise) / 2)
    mean = weight @ lost @ weight
    return float(mean), float((weight @ lost**2 @ weight - mean**2) ** 0.5)


@lru_cache(maxsize=128)
def isolate(spreads: tuple[float, ...]) -> tuple[float, float]:
    """Compute bias and root-mean-square error of an isolated cell if the total is exact.

    E is 0 at the root and becomes ``min(E, (E + N) / 2)`` on every level, with normal N.

    Parameters
    ----------
    spreads : tuple of float
        Standard deviations of N, the root's level first; at most 1.
    """
    step, reach = 1 / 40, 8.0
    value = np.arange(-reach, reach + step / 2, step)
    error = (np.abs(value) < step / 2).astype(np.float64)
    for spread in spreads:
        noise = np.exp(-((value / spread) ** 2) / 2)
        noise /= noise.sum()
        above = noise[::-1].cumsum()[::-1]  # P(N >= value)
        error = error * above + halve_sums(error, noise)
    return float(error @ value), float(np.sqrt(error @ value**2))


def halve_sums(error: FloatArray, noise: FloatArray) -> FloatArray:
    """Compute the part of the law of (E + N) / 2 with N < E, on the lattice of both laws."""
    # The half sum has twice the resolution; the probability of every second point is divided
    # between its neighbours, which keeps the mean.
    half = np.zeros(2 * error.size - 1)
    for i in np.flatnonzero(error > 1e-12):
        half[i : 2 * i] += error[i] * noise[:i]
    moved = half[::2].copy()
    moved[1:] += half[1::2] / 2
    moved[:-1] += half[1::2] / 2
    return moved


Trial = Callable[[CountTable, int, NoiseKey], KeyedCounts]
"""A mechanism on some levels of its tree: it releases a table of several trees. Equal mechanisms
compare equal, so that results are cached."""

PEOPLE = 1 << 32
"""People in the cell: far more than the clamp can take away."""

FIRST_TREES, MAX_TREES = 1 << 7, 1 << 10
"""Number of trees with an isolated cell: at first, and at most, as ``MAX_NODES`` allows."""

MAX_NODES = 1 << 18

SIDE = 4
"""Cells on a side of an isolated settlement."""

SETTLEMENTS = 1 << 9
"""Number of settlements, each in a separate tree; in one table if keys are long enough."""

MAX_ROUNDS = 1 << 5

SPLITS = 1 << 11
"""Number of simulated splits of a node."""


def cell(descent: Descent) -> dict[str, float]:
    """Return ``bias`` and ``rmse`` of an isolated cell, in counts."""
    error = _errors(descent)
    bias, rmse = float(error.mean()), float(np.sqrt((error**2).mean()))
    return {"bias": float(f"{bias:.4g}"), "rmse": float(f"{rmse:.4g}")}


@lru_cache(maxsize=256)
def _errors(descent: Descent) -> NDArray[np.float64]:
    """Simulate released minus true counts of the cell, for every tree: float64[n]."""
    capacity = (1 << KEY_BITS) // prod(descent.fanouts)
    errors: list[NDArray[np.float64]] = []
    # Each batch of trees has its own public key, so batches are independent.
    trees, visited, more = 0, 0, min(FIRST_TREES, capacity)
    while more:
        error, nodes = _errors_of(descent, more, NoiseKey(len(errors).to_bytes(32, "little")))
        errors.append(error)
        trees, visited = trees + more, visited + nodes
        more = min((MAX_NODES - visited) * trees // visited, MAX_TREES - trees, capacity)
        more = max(more, 0)
    return np.concatenate(errors)


def _errors_of(descent: Descent, trees: int, public: NoiseKey) -> tuple[NDArray[np.float64], int]:
    """Simulate errors for ``trees`` trees; also return the number of nodes measured."""
    keys = prod(descent.fanouts)
    digits = (trees, *descent.fanouts) if trees > 1 else descent.fanouts
    grid = Grid.regular((trees * keys,)).with_order(Order((0,) * len(digits), digits))
    # A third of the way along the keys: not at a corner of its nodes on every level.
    occupied = np.arange(trees, dtype=np.uint64) * np.uint64(keys) + np.uint64(keys // 3)
    table = CountTable.from_keys(grid, occupied, np.full(trees, PEOPLE))
    roots = np.arange(trees, dtype=np.uint64)
    key, count, nodes = descend(table, descent, public, roots, threads=1)
    # A cell that is not released lost all of its people.
    error = np.full(trees, -float(PEOPLE))
    at = np.searchsorted(key, occupied)
    error[: at.size] = count[at] - PEOPLE
    return error, nodes


def block(run: Trial, grid: Grid) -> dict[str, Any] | None:
    """Return ``meaning``, ``cells``, ``bias`` and ``rmse`` of an isolated settlement, in counts.

    None in an order of regions, which does not tell which cells are neighbours.
    """
    if not grid.order.follows_map:
        return None
    sides = _sides(grid.shape)
    error = _losses(run, grid.order, grid.shape)
    cells = " x ".join(map(str, sides))
    return {
        "meaning": f"the sum of an isolated settlement of {cells} populous cells",
        "cells": prod(sides),
        "bias": float(f"{error.mean():.4g}"),
        "rmse": float(f"{np.sqrt((error**2).mean()):.4g}"),
    }


def _sides(shape: tuple[int, ...]) -> list[int]:
    """Return the sides of a settlement on the first axes."""
    wanted = (SIDE, SIDE) if len(shape) > 1 else (SIDE**2,)
    return [min(side, size) for side, size in zip(wanted, shape, strict=False)]


@lru_cache(maxsize=256)
def _losses(run: Trial, order: Order, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Simulate released minus true sums of settlements at many places: float64[n]."""
    bits = max(0, min(SETTLEMENTS.bit_length() - 1, KEY_BITS - order.bits))
    trees, keys = 1 << bits, prod(order.radices)
    digits = (*(2,) * bits, *order.radices)
    grid = Grid.regular((trees * keys,)).with_order(Order((0,) * len(digits), digits))
    errors: list[NDArray[np.int64]] = []
    for n in range(min(MAX_ROUNDS, SETTLEMENTS >> bits)):
        places = _place_settlements(order, shape, np.arange(n * trees, (n + 1) * trees))
        places += np.arange(trees, dtype=np.uint64)[:, None] * np.uint64(keys)
        key = np.sort(places.reshape(-1))
        table = CountTable.from_keys(grid, key, np.full(key.size, PEOPLE))
        cells, counts = run(table, trees, NoiseKey(n.to_bytes(32, "little")))
        # Only the settlement's own cells count; what neighbours gained is not its sum.
        error = np.full(trees, -places.shape[1] * PEOPLE)
        inside = np.isin(cells, key)
        np.add.at(error, (cells[inside] // np.uint64(keys)).astype(np.int64), counts[inside])
        errors.append(error)
    return np.concatenate(errors).astype(np.float64)


def _place_settlements(
    order: Order, shape: tuple[int, ...], number: NDArray[np.int64]
) -> NDArray[np.uint64]:
    """Place numbered settlements anywhere on a map; return their cells' keys: uint64[n, cells]."""
    sides = (*_sides(shape), *(1,) * len(shape))[: len(shape)]
    cell = np.indices(sides).reshape(len(shape), -1)
    random_words = blocks(NoiseKey(bytes(32)), Stream.CONTINUOUS, number.astype(np.uint64))
    corners = [size - side + 1 for size, side in zip(shape, sides, strict=True)]
    # Uniform enough: the range is tiny compared with 2**64, and the figures are simulations.
    corner = np.array(
        [random_words[i % len(random_words)] % np.uint64(n) for i, n in enumerate(corners)],
        np.int64,
    )
    index = corner[:, :, None] + cell[:, None, :]
    return order.encode(index.reshape(len(shape), -1)).reshape(number.size, -1)


@lru_cache(maxsize=512)
def split(
    law: Law, fanout: int, shrunk: float, above: float, min_count: float, closes_small: bool | None
) -> tuple[float, float]:
    """Simulate the loss of occupied children in one split: mean and standard deviation, in counts.

    All other children are empty. Of 1, 2, 4 ... occupied children the case with the largest loss is
    returned.

    Parameters
    ----------
    law : Law
        Noise of the children's measurements.
    fanout : int
    shrunk : float
        Factor of its standard deviation after the second pass.
    above : float
        Standard deviation of the node's own error.
    min_count : float
        Count below which children are dropped.
    closes_small : bool or None
        None: all children pay equally; otherwise populous ones pay less, and this says whether
        small ones are closed, see :mod:`geodp.kernels.pyramid.reweighting`.
    """
    trials = min(SPLITS, max(MAX_NODES // fanout, 16))
    noise = NodeNoise(NoiseKey(bytes(32)), 0, law)
    drawn = noise.sequence(trials * (fanout + 1)).astype(np.float64)
    spread = variance_of(law)
    node_error = np.rint(above / sqrt(spread) * drawn[:trials]).astype(np.int64)
    # Evenly spaced instead of random rounding numbers: less simulation noise with the same mean.
    uniform = (np.arange(trials) + 0.5) / trials
    z = shrunk * drawn[trials:].reshape(trials, fanout)
    members = np.full(trials, fanout)
    largest, occupied = (0.0, 0.0), 1
    while occupied < fanout:
        people = np.where(np.arange(fanout) < occupied, PEOPLE, 0)
        out = np.empty(z.size, np.int64)
        total, noisy = occupied * PEOPLE + node_error, (z + people).reshape(-1)
        variance = np.full(z.size, shrunk**2 * spread)
        if closes_small is not None:
            reweight_all(noisy, variance, members, total, (fanout, closes_small))
        kernels.share(noisy, variance, members, total, uniform, min_count, out)
        lost = occupied * PEOPLE - out.reshape(trials, fanout)[:, :occupied].sum(axis=1)
        largest = max(largest, (float(lost.mean()), float(lost.std())))
        occupied *= 2
    return largest
