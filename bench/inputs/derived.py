"""Public statistics summed to small maps, or read row by row as tables in one dimension.

The last one is synthetic: the worst case that is known for the pyramid's default.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import named, public

SIDE = 256
PEOPLE = 1_000_000
HALF, EACH = 32, 100
"""Cells of a half of a lowest node, and people in each cell of every other half."""

Counts = NDArray[np.int64]


def load(name: str, folder: Path | None) -> geodp.CountTable:
    """Load one of ``TABLES`` or of :mod:`bench.inputs.public`, on a grid without places.

    Raises UsageError with a sentence where the statistics are missing.
    """
    if name in TABLES:
        counts = TABLES[name](folder)
        return geodp.CountTable.from_dense(counts, geodp.Grid.regular(counts.shape))
    table = public.load(name, folder)
    # Grids of several maps keep their own order of keys.
    if len(table.grid.shape) > 2 or len(table.grid.places) > 1:
        return table
    return geodp.CountTable.from_keys(geodp.Grid.regular(table.grid.shape), table.key, table.count)


def _summed(name: str) -> Callable[[Path | None], Counts]:
    """Sum a map to 256 x 256 squares of its cells; pairs by their origin."""

    def make(folder: Path | None) -> Counts:
        table = public.load(name, folder)
        row, col = table.grid.decode(table.key)[:2]
        # Rounded up, so that the entire map fits.
        block = -(-max(table.grid.shape[:2]) // SIDE)
        counts = np.zeros((SIDE, SIDE), np.int64)
        np.add.at(counts, (row // block, col // block), table.count)
        return counts

    return make


def _rows(name: str, bits: int) -> Callable[[Path | None], Counts]:
    """Read the first ``2**bits`` cells of a map, row by row; pairs by their origin."""

    def make(folder: Path | None) -> Counts:
        table = public.load(name, folder)
        row, col = table.grid.decode(table.key)[:2]
        at = row * table.grid.shape[1] + col
        inside = at < 1 << bits
        counts = np.zeros((1, 1 << bits), np.int64)
        np.add.at(counts[0], at[inside], table.count[inside])
        return counts

    return make


def _streets(folder: Path | None) -> Counts:
    return np.asarray(named.sample("streets", SIDE, PEOPLE).to_dense(), np.int64)


def _halves(folder: Path | None) -> Counts:
    occupied = np.arange(SIDE * SIDE) // HALF % 2 == 0
    return np.where(occupied, EACH, 0)[None]


TABLES: dict[str, Callable[[Path | None], Counts]] = {
    "taxi-256": _summed("taxi"),
    "samoa-256": _summed("samoa-100m"),
    "europe-256": _summed("europe-2018-9-8"),
    "streets-256": _streets,
    "kanto-rows-12": _rows("kanto", 12),
    "kanto-rows-14": _rows("kanto", 14),
    "kanto-rows-15": _rows("kanto", 15),
    "kanto-rows-18": _rows("kanto", 18),
    "hiroshima-rows-16": _rows("hiroshima-2020", 16),
    "taxi-rows-14": _rows("taxi", 14),
    "halves": _halves,
}
"""Tables by name: origins of taxi trips, sums of maps, a synthetic street grid; rows of maps."""
