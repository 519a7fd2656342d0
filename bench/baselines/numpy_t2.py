"""The paper's T2 in plain NumPy: level by level, on whole arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import geodp

Integers = NDArray[np.int64]

Draw = Callable[[Integers, int], tuple[Integers, Integers]]
"""Makes noise and rounding bits from ids of nodes and their level."""


def topdown(
    table: geodp.CountTable, total: int, draw: Draw
) -> tuple[NDArray[np.uint64], Integers, int]:
    """Compute cells above 0, their counts, and the number of split nodes.

    They are those of geodp where the noise is the same.

    Sums come from prefix sums over the sorted keys, as in geodp, so no coefficient is stored and
    only nodes that hold data are looked up. The domain must fill its keys.
    """
    bits, key = table.grid.bits, table.key.view(np.int64)
    before = np.concatenate([[0], np.cumsum(table.count)])
    roots = min(total, 1)
    node, held = np.zeros(roots, np.int64), np.full(roots, total)
    start, stop = np.zeros(roots, np.int64), np.full(roots, key.size)
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
        occupied = count > 0
        node, held, start, stop = child[occupied], count[occupied], start[occupied], stop[occupied]
    return node.view(np.uint64), held, visited


def _pairs(first: Integers, second: Integers) -> Integers:
    return np.stack([first, second], axis=1).reshape(-1)


def plain(scale: float) -> Draw:
    """Draw floating-point Laplace noise, rounded to whole numbers, as usual code does."""
    random = np.random.default_rng(1)

    def draw(node: Integers, level: int) -> tuple[Integers, Integers]:
        noise = np.rint(random.laplace(0, scale, node.size)).astype(np.int64)
        return noise, random.integers(0, 2, node.size)

    return draw
