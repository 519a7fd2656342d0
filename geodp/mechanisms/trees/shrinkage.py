"""What the clamp does to one lone populous cell, or settlement, in an empty region.

The sum of a settlement loses more than a cell, as it is cut by more nodes. Here is the
mechanism itself, run on many trees that each have one of them. They stand side by side
under one key that everybody knows, so the figures are the same everywhere, and public.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.order import KEY_BITS, Order
from geodp.kernels.pyramid import shares as kernels
from geodp.kernels.pyramid.spare import spare_all
from geodp.mechanisms.trees.descent import Descent, variance_of
from geodp.mechanisms.trees.made_up import Halving, SyntheticLevels
from geodp.mechanisms.trees.walk import descend
from geodp.privacy.key import NoiseKey, Stream, blocks
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable

PEOPLE = 1 << 32
"""In the cell: far more than the clamp can take away."""

FIRST_TREES, MOST_TREES = 1 << 7, 1 << 10
"""With one lone cell each: first some, and then as many more as ``MOST_NODES`` allow."""

MOST_NODES = 1 << 18

SIDE = 4
"""Cells on a side of a lone settlement."""

SETTLEMENTS = 1 << 9
"""On trees of their own, side by side where keys are long enough."""

MOST_ROUNDS = 1 << 5

SPLITS = 1 << 11
"""Nodes that are split to see what one split takes."""


def cell(descent: Descent) -> dict[str, float]:
    """``bias`` and ``rmse``, in counts."""
    error = _errors(descent)
    bias, rmse = float(error.mean()), float(np.sqrt((error**2).mean()))
    return {"bias": float(f"{bias:.4g}"), "rmse": float(f"{rmse:.4g}")}


@lru_cache(maxsize=256)
def _errors(descent: Descent) -> NDArray[np.float64]:
    """Released minus true counts of the cell, for every tree: float64[n]."""
    room = (1 << KEY_BITS) // prod(descent.fanouts)
    found: list[NDArray[np.float64]] = []
    trees, visited, more = 0, 0, min(FIRST_TREES, room)
    while more:
        error, nodes = _errors_of(descent, more, NoiseKey(len(found).to_bytes(32, "little")))
        found.append(error)
        trees, visited = trees + more, visited + nodes
        more = min((MOST_NODES - visited) * trees // visited, MOST_TREES - trees, room)
        more = max(more, 0)
    return np.concatenate(found)


def _errors_of(descent: Descent, trees: int, public: NoiseKey) -> tuple[NDArray[np.float64], int]:
    """Return the same for so many trees side by side, and how many nodes were measured."""
    keys = prod(descent.fanouts)
    digits = (trees, *descent.fanouts) if trees > 1 else descent.fanouts
    grid = Grid.regular((trees * keys,)).with_order(Order((0,) * len(digits), digits))
    occupied = np.arange(trees, dtype=np.uint64) * np.uint64(keys) + np.uint64(keys // 3)
    table = CountTable.from_keys(grid, occupied, np.full(trees, PEOPLE))
    roots = np.arange(trees, dtype=np.uint64)
    key, count, nodes = descend(table, descent, public, roots, threads=1)
    error = np.full(trees, -float(PEOPLE))
    at = np.searchsorted(key, occupied)
    error[: at.size] = count[at] - PEOPLE
    return error, nodes


def block(run: SyntheticLevels | Halving, grid: Grid) -> dict[str, Any] | None:
    """``meaning``, ``cells``, ``bias`` and ``rmse`` of the sum of a lone settlement, in counts.

    None in an order of regions, where nothing tells which cells lie side by side.
    """
    if not grid.order.follows_map:
        return None
    sides = _sides(grid.shape)
    error = _losses(run, grid.order, grid.shape)
    cells = " x ".join(map(str, sides))
    return {
        "meaning": f"the sum of a lone settlement of {cells} populous cells in an empty region",
        "cells": prod(sides),
        "bias": float(f"{error.mean():.4g}"),
        "rmse": float(f"{np.sqrt((error**2).mean()):.4g}"),
    }


def _sides(shape: tuple[int, ...]) -> list[int]:
    """Of a settlement on the first axes."""
    wanted = (SIDE, SIDE) if len(shape) > 1 else (SIDE**2,)
    return [min(side, size) for side, size in zip(wanted, shape, strict=False)]


@lru_cache(maxsize=256)
def _losses(
    run: SyntheticLevels | Halving, order: Order, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    """Released minus true sums of settlements at many places: float64[n]."""
    bits = max(0, min(SETTLEMENTS.bit_length() - 1, KEY_BITS - order.bits))
    trees, keys = 1 << bits, prod(order.radices)
    digits = (*(2,) * bits, *order.radices)
    grid = Grid.regular((trees * keys,)).with_order(Order((0,) * len(digits), digits))
    found: list[NDArray[np.int64]] = []
    for n in range(min(MOST_ROUNDS, SETTLEMENTS >> bits)):
        places = _settle(order, shape, np.arange(n * trees, (n + 1) * trees))
        places += np.arange(trees, dtype=np.uint64)[:, None] * np.uint64(keys)
        key = np.sort(places.reshape(-1))
        table = CountTable.from_keys(grid, key, np.full(key.size, PEOPLE))
        cells, counts = run(table, trees, NoiseKey(n.to_bytes(32, "little")))
        error = np.full(trees, -places.shape[1] * PEOPLE)
        inside = np.isin(cells, key)
        np.add.at(error, (cells[inside] // np.uint64(keys)).astype(np.int64), counts[inside])
        found.append(error)
    return np.concatenate(found).astype(np.float64)


def _settle(order: Order, shape: tuple[int, ...], number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Keys of the cells of numbered settlements, anywhere on a map: uint64[n, cells]."""
    sides = (*_sides(shape), *(1,) * len(shape))[: len(shape)]
    cell = np.indices(sides).reshape(len(shape), -1)
    words = blocks(NoiseKey(bytes(32)), Stream.CONTINUOUS, number.astype(np.uint64))
    room = [size - side + 1 for size, side in zip(shape, sides, strict=True)]
    corner = np.array([words[i % len(words)] % np.uint64(n) for i, n in enumerate(room)], np.int64)
    index = corner[:, :, None] + cell[:, None, :]
    return order.encode(index.reshape(len(shape), -1)).reshape(number.size, -1)


@lru_cache(maxsize=512)
def split(
    law: Law, fanout: int, shrunk: float, above: float, least: float, spared: bool | None
) -> tuple[float, float]:
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
    spared : bool or None
        None: all pay alike; otherwise the populous are spared, and whether small ones beside them
        are closed, see :mod:`geodp.kernels.pyramid.spare`.
    """
    trials = min(SPLITS, max(MOST_NODES // fanout, 16))
    noise = NodeNoise(NoiseKey(bytes(32)), 0, law)
    drawn = noise.sequence(trials * (fanout + 1)).astype(np.float64)
    spread = variance_of(law)
    own = np.rint(above / sqrt(spread) * drawn[:trials]).astype(np.int64)
    uniform = (np.arange(trials) + 0.5) / trials
    z = shrunk * drawn[trials:].reshape(trials, fanout)
    members = np.full(trials, fanout)
    found, occupied = (0.0, 0.0), 1
    while occupied < fanout:
        people = np.where(np.arange(fanout) < occupied, PEOPLE, 0)
        out = np.empty(z.size, np.int64)
        total, given = occupied * PEOPLE + own, (z + people).reshape(-1)
        variance = np.full(z.size, shrunk**2 * spread)
        if spared is not None:
            spare_all(given, variance, members, total, (fanout, spared))
        kernels.share(given, variance, members, total, uniform, least, out)
        lost = occupied * PEOPLE - out.reshape(trials, fanout)[:, :occupied].sum(axis=1)
        found = max(found, (float(lost.mean()), float(lost.std())))
        occupied *= 2
    return found
