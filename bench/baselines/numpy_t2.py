"""The paper's T2 as one would write it in NumPy: level by level, whole arrays at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import geodp

Integers = NDArray[np.int64]

Draw = Callable[[Integers, int], tuple[Integers, Integers]]
"""From ids of nodes and their level to noise and rounding bits."""


def topdown(
    table: geodp.CountTable, total: int, draw: Draw
) -> tuple[NDArray[np.uint64], Integers, int]:
    """Cells above 0, their counts, and nodes split: those of geodp where the noise is the same.

    Sums come from prefix sums over the sorted keys, as in geodp, so no coefficient is stored and
    only nodes that hold data are looked up. The domain must fill its keys.
    """
    bits, key = table.grid.bits, table.key.view(np.int64)
    before = np.concatenate([[0], np.cumsum(table.count)])
    some = min(total, 1)
    node, held = np.zeros(some, np.int64), np.full(some, total)
    start, stop = np.zeros(some, np.int64), np.full(some, key.size)
    visited = 0
    for level in range(bits):
        visited += node.size
        detail, rounding = draw(node | 1 << level, level)
        middle, data = start.copy(), np.flatnonzero(start < stop)
        split = np.searchsorted(key, 2 * node[data] + 1 << bits - level - 1)
        middle[data] = split
        detail[data] += 2 * before[split] - before[start[data]] - before[stop[data]]
        np.clip(detail, -held, held, out=detail)
        left = held + detail + (held + detail & 1) * (2 * rounding - 1) >> 1
        child, count = _pairs(2 * node, 2 * node + 1), _pairs(left, held - left)
        start, stop = _pairs(start, middle), _pairs(middle, stop)
        kept = count > 0
        node, held, start, stop = child[kept], count[kept], start[kept], stop[kept]
    return node.view(np.uint64), held, visited


def _pairs(first: Integers, second: Integers) -> Integers:
    return np.stack([first, second], axis=1).reshape(-1)


def plain(scale: float) -> Draw:
    """Floating-point Laplace noise, rounded to whole numbers, as anyone would draw it."""
    random = np.random.default_rng(1)

    def draw(node: Integers, level: int) -> tuple[Integers, Integers]:
        noise = np.rint(random.laplace(0, scale, node.size)).astype(np.int64)
        return noise, random.integers(0, 2, node.size)

    return draw
