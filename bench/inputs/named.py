"""Tables to measure on: synthetic with a fixed seed, or the embedded example, without real people.

Only ``real`` is a public census next to the project; few machines have it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import geodp
from geodp.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "data" / "kanto"
CENSUS = ROOT.parent / "shared" / "data" / "estat-2020-500m"
BOUNDS = (138.0, 35.0, 141.2, 37.1333333333)
SIDE = 512
"""Cells along a side of the example and of the census window."""

SEED = 20150901

DATA = {
    "clusters": "towns of heavy-tailed sizes on empty land, any size",
    "uniform": "20 people a cell everywhere, any size",
    "trips": "origin and destination, four axes of the given size, a town's worth of trips",
    "kanto-example": "the embedded synthetic example, summed to squares for sizes below 512",
    "real": "the 2020 census around Tokyo, where it lies beside the project",
}
"""Names of the data sets, and what they are."""


@lru_cache(maxsize=4)
def load(name: str, size: int) -> geodp.CountTable:
    """Load a data set with axes of ``size`` cells; raises UsageError where it is missing."""
    # Sums to smaller maps need sides that divide each other.
    if size < 2 or size & (size - 1):
        raise UsageError("A size is a power of two of at least 2.")
    if name == "clusters":
        return _table(clusters(size))
    if name == "uniform":
        return _table(np.random.default_rng(SEED).poisson(20, (size, size)))
    if name == "trips":
        return trips(size)
    if name == "kanto-example":
        return _smaller(EXAMPLE, size)
    if name == "real":
        if not CENSUS.is_dir():
            raise UsageError("The census is not beside the project.")
        return _smaller(CENSUS, size)
    raise UsageError(f"data must be one of: {', '.join(DATA)}.")


def clusters(size: int) -> NDArray[np.int64]:
    """Generate towns: uniform places, Pareto populations, people in a Gaussian cloud.

    About a third of the cells of a large map is occupied, as on a census grid.
    """
    draw = np.random.default_rng(SEED)
    # At least four, so that small maps have empty land as well.
    towns = max(4, size * size // 400)
    people = (60 * size * size / towns * (draw.pareto(1.3, towns) + 0.2)).astype(np.int64)
    people = np.minimum(people, 200 * size * size // 8)
    centre = draw.uniform(0, size, (towns, 2))
    width = 0.5 + 0.9 * np.log10(1 + people / 1000)
    counts = np.zeros((size, size), np.int64)
    for (row, col), n, w in zip(centre, people, width, strict=True):
        index = (np.array([row, col]) + draw.normal(0, w, (min(n, 200_000), 2))).astype(np.int64)
        index = index[((index >= 0) & (index < size)).all(axis=1)]
        # Large towns are drawn with fewer points of several people, which bounds the time.
        np.add.at(counts, (index[:, 0], index[:, 1]), max(1, n // 200_000))
    return counts


def trips(size: int) -> geodp.CountTable:
    """Generate trips between places of towns, shorter ones more often; mostly single ones."""
    draw = np.random.default_rng(SEED)
    weight = clusters(size).reshape(-1).astype(np.float64)
    n = 40 * size * size
    places = draw.choice(weight.size, (2, n), p=weight / weight.sum())
    away = np.hypot(*np.subtract(*(np.divmod(p, size) for p in places)))
    chosen = places[:, draw.random(n) < np.exp(-away / (size / 8))]
    index = np.concatenate([np.divmod(p, size) for p in chosen])
    grid = geodp.Grid.regular((size, size)).pairs()
    return geodp.CountTable.from_index(grid, index, np.ones(index.shape[1], np.int64))


def shape(name: str, size: int) -> NDArray[np.float64]:
    """Compute a density over a square: float64[size, size], not negative, of sum 1.

    ``cities`` is the embedded example; ``streets`` are hotspots along a street grid, empty
    elsewhere, as taxi trips are; ``hotspots`` are three crowds on an even ground.
    """
    draw = np.random.default_rng(SEED)
    if name == "cities":
        density = load("kanto-example", size).to_dense().astype(np.float64)
    elif name == "streets":
        axis = np.arange(size)
        near = np.exp(-np.abs(axis - size / 2) / (size / 10))
        street = np.where(axis % max(2, size // 32) == 0, 1.0, 0.0)
        density = np.maximum.outer(street, street) * np.outer(near, near)
        spots = draw.integers(0, size, (2, 40))
        density[spots[0], spots[1]] += draw.pareto(1.0, 40) * density.mean() * 20
    elif name == "hotspots":
        row, col = np.indices((size, size)) / size
        density = np.full((size, size), 1.0)
        for y, x, width, height in [
            (0.3, 0.3, 0.02, 80),
            (0.7, 0.6, 0.05, 25),
            (0.5, 0.85, 0.01, 200),
        ]:
            density += height * np.exp(-((row - y) ** 2 + (col - x) ** 2) / (2 * width**2))
    else:
        raise UsageError(f"shape must be one of: {', '.join(SHAPES)}.")
    return np.asarray(density / density.sum(), np.float64)


SHAPES = ("cities", "streets", "hotspots")
"""Names that :func:`shape` supports."""


def sample(name: str, size: int, people: int) -> geodp.CountTable:
    """Draw exactly ``people`` independently from a shape, with a fixed seed."""
    density = shape(name, size)
    # Another seed for each scale, so that scales are independent samples.
    counts = np.random.default_rng(SEED + people).multinomial(people, density.reshape(-1))
    return _table(counts.reshape(size, size))


def _table(counts: NDArray[np.int64]) -> geodp.CountTable:
    return geodp.CountTable.from_dense(counts, geodp.Grid.regular(counts.shape))


@lru_cache(maxsize=2)
def _window(folder: Path) -> geodp.CountTable:
    paths = sorted(str(path) for path in folder.glob("*.zip"))
    return geodp.read_mesh(paths, grid="jis:half", value="人口（総数）", bounds=BOUNDS)


def _smaller(folder: Path, size: int) -> geodp.CountTable:
    if size > SIDE:
        raise UsageError(f"This data set has {SIDE} x {SIDE} cells at most.")
    table = _window(folder)
    if size == SIDE:
        return table
    block = SIDE // size
    return _table(table.to_dense().reshape(size, block, size, block).sum(axis=(1, 3)))
