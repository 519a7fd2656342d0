"""Synthetic sparse tables of any size, with clustered or isolated cells."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import geodp

PEOPLE = 12
"""Mean people of an occupied cell of the clustered ones."""

TOWNS = 2000
SEED = 20150901
BATCH = 1 << 22
"""Number of places that are drawn together."""


def grid_of(bits: int) -> geodp.Grid:
    """Build a map of ``2**bits`` cells, as square as possible."""
    return geodp.Grid.regular((1 << bits // 2, 1 << (bits - bits // 2)))


def clustered(bits: int, occupied: int) -> geodp.CountTable:
    """Generate cells around places of heavy-tailed sizes, some people in each: clustered."""
    draw, grid = np.random.default_rng(SEED), grid_of(bits)
    places = Places(draw)
    cells = np.empty(0, np.uint64)
    while cells.size < occupied:
        missing, drawn = occupied - cells.size, [cells]
        while missing > 0:
            # Some points repeat a cell, so more are drawn than are missing.
            where = places.near(min(BATCH, 2 * missing + 1000))
            key = grid.encode((where * np.array(grid.shape)[:, None]).astype(np.int64))
            drawn.append(_distinct(key))
            missing -= drawn[-1].size
        cells = _distinct(np.concatenate(drawn))
    # No more than requested: which ones are dropped does not matter.
    chosen = np.ones(cells.size, bool)
    chosen[draw.choice(cells.size, cells.size - occupied, replace=False, shuffle=False)] = False
    count = 1 + draw.geometric(1 / (PEOPLE - 1), occupied)
    return geodp.CountTable(grid, cells[chosen], count)


def isolated(bits: int, occupied: int, people: int) -> geodp.CountTable:
    """Generate populous cells far from each other: below their parents most nodes are empty."""
    draw, grid = np.random.default_rng(SEED), grid_of(bits)
    step = (1 << bits) // occupied
    key = np.arange(occupied) * step + draw.integers(0, step, occupied)
    return geodp.CountTable(grid, key.astype(np.uint64), np.full(occupied, people // occupied))


class Places:
    """Points of the unit square around centres, drawn repeatedly."""

    def __init__(self, draw: np.random.Generator) -> None:
        self._draw = draw
        weight = draw.pareto(1.1, TOWNS) + 1
        self._share = weight / weight.sum()
        self._centre = draw.uniform(0.2, 0.8, (2, TOWNS))

    def near(self, n: int) -> NDArray[np.float64]:
        """Draw at most n points, grouped by town, none outside: float64[2, .]."""
        town = np.repeat(np.arange(TOWNS), self._draw.multinomial(n, self._share))
        away = self._draw.normal(size=(2, n))
        where = self._centre[:, town] + 0.1 * np.sqrt(self._share)[town] * away * away * away
        inside: NDArray[np.float64] = where[:, ((where >= 0) & (where < 1)).all(axis=0)]
        return inside


def draw_lattice(side: int = 40, people: int = 30_000) -> geodp.CountTable:
    """Draw a sparse map: log-normal people on six of ten cells of a square."""
    random = np.random.default_rng(20261130)
    weight = np.exp(random.standard_normal((side, side))) * (random.random((side, side)) < 0.6)
    drawn = random.multinomial(people, (weight / weight.sum()).ravel())
    grid = geodp.Grid.regular((side, side))
    return geodp.CountTable.from_dense(drawn.reshape(side, side), grid)


def _distinct(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort and drop repeated keys; ``np.unique`` is slower for many."""
    key = np.sort(key)
    distinct: NDArray[np.uint64] = key[np.concatenate([[True], key[1:] != key[:-1]])]
    return distinct


def save(table: geodp.CountTable, folder: Path) -> None:
    """Save a table's arrays, for another process to :func:`load`."""
    np.save(folder / "key.npy", table.key)
    np.save(folder / "count.npy", table.count)


def load(folder: Path, bits: int) -> geodp.CountTable:
    """Load a saved table: exactly its two arrays are in memory."""
    return geodp.CountTable(
        grid_of(bits), np.load(folder / "key.npy"), np.load(folder / "count.npy")
    )
