"""Families of regions on a map: cells, aligned squares, municipalities, polygons and rectangles.

They are drawn with a fixed seed, polygons and municipalities around places by their people. The
error of a family is the geometric mean over its groups of regions of similar size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log, pi

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from bench.measure.regions import MAX_DENSE, MAX_MAP, Blocks, Boxes, CellSets, RegionGroup
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.table.proxy import Proxy

REGIONS = 200
"""Number of regions of a random family."""

MAX_CELLS = 1 << 23
"""Maximal number of cells of all regions of a family."""

POLYGONS = ((1, 64), (64, 512), (512, 4096))
"""Sizes, in cells, of polygons: groups, log-uniform within each."""

CORNERS = 12
"""Number of directions in which a star polygon has a random length."""

SEED = 20201001

Groups = tuple[RegionGroup, ...]
Draw = Callable[[Grid, Proxy, np.random.Generator], Groups]


@dataclass(frozen=True, eq=False)
class Family:
    """The regions of a family.

    Attributes
    ----------
    name : str
        One of ``FAMILIES``.
    groups : tuple of RegionGroup
        Groups of regions of similar size.
    """

    name: str
    groups: Groups = field(repr=False)


def draw_families(names: Sequence[str], grid: Grid, proxy: Proxy) -> tuple[Family, ...]:
    """Draw the regions of families.

    Parameters
    ----------
    names : sequence of str
        Of ``FAMILIES``.
    grid : Grid
        A grid of one map.
    proxy : Proxy
        Map whose people weight the locations of municipalities and polygons.
    """
    families = []
    for name in names:
        stream, draw = FAMILIES[name]
        # A stream for each family: the regions of one do not depend on which others are drawn.
        random = np.random.default_rng([SEED, stream])
        families.append(Family(name, draw(grid, proxy, random)))
    return tuple(families)


def _cells(grid: Grid, proxy: Proxy, random: np.random.Generator) -> Groups:
    return (Blocks("cells", len(grid.order.radices)),)


def _squares(grid: Grid, proxy: Proxy, random: np.random.Generator) -> Groups:
    digits = range(len(grid.order.radices), -1, -1)
    return tuple(Blocks(f"squares of {_cells_of(grid, i):,}", i) for i in digits)


def _cells_of(grid: Grid, digits: int) -> int:
    return int(np.prod([float(radix) for radix in grid.order.radices[digits:]]))


def _municipalities(grid: Grid, proxy: Proxy, random: np.random.Generator) -> Groups:
    """Draw Voronoi regions of cells, which are drawn by their people."""
    cell, people = _people_of_map(grid, proxy)
    # At least four populated cells for each region, so that small maps do not get regions of
    # single cells.
    n = min(REGIONS, max(1, cell.shape[1] // 4))
    at = random.choice(cell.shape[1], n, replace=False, p=people / people.sum())
    key = _all_cells(grid, proxy)
    place = grid.decode(key)[:2]
    # The jitter breaks ties of cells that are equally far from two centres.
    label = cKDTree(cell[:, at].T + random.random((n, 2)) * 1e-3).query(place.T)[1]
    return (CellSets.of_labels("municipalities", key, label),)


def _polygons(grid: Grid, proxy: Proxy, random: np.random.Generator) -> Groups:
    """Draw star polygons around places drawn by their people."""
    cell, people = _people_of_map(grid, proxy)
    groups = []
    for low, high in POLYGONS:
        if low > grid.shape[0] * grid.shape[1]:
            continue
        sizes = np.exp(random.uniform(log(low), log(high), REGIONS))
        at = random.choice(cell.shape[1], REGIONS, p=people / people.sum())
        centre = cell[:, at] + random.random((2, REGIONS))
        regions, total = [], 0
        for middle, size in zip(centre.T, sizes, strict=True):
            regions.append(_star(grid, middle, float(size), random))
            total += regions[-1].size
            if total > MAX_CELLS:
                break
        groups.append(CellSets.of(f"polygons of {low:,} to {high:,} cells", regions))
    return tuple(groups)


def _rectangles(grid: Grid, proxy: Proxy, random: np.random.Generator) -> Groups:
    """Draw rectangles between two uniform cells."""
    assert grid.shape[0] * grid.shape[1] <= MAX_MAP
    size = np.array(grid.shape[:2])[:, None, None]
    corner = random.integers(0, size, (2, REGIONS, 2))
    return (Boxes("rectangles", corner.min(axis=2), corner.max(axis=2) + 1),)


FAMILIES: dict[str, tuple[int, Draw]] = {
    "cells": (0, _cells),
    "squares": (1, _squares),
    "municipalities": (3, _municipalities),
    "polygons": (4, _polygons),
    "rectangles": (5, _rectangles),
}
"""For every family the number of its random stream, and the function that draws its regions."""


def _all_cells(grid: Grid, proxy: Proxy) -> NDArray[np.uint64]:
    """Return the keys of the domain; for a large one, of blocks of about 16 cells with people."""
    if grid.domain.cells <= MAX_DENSE:
        return np.sort(grid.domain.keys_of_ranks(np.arange(grid.domain.cells)))
    # Larger domains are labelled only around the people of the proxy, as memory and time would
    # grow with the empty cells.
    stride = np.uint64(_cells_of(grid, max(0, len(grid.order.radices) - 4)))
    first = np.asarray(np.unique(proxy.table.key // stride) * stride, np.uint64)
    key = (first[:, None] + np.arange(int(stride)).astype(np.uint64)).reshape(-1)
    return key[grid.contains_keys(key)]


def _people_of_map(grid: Grid, proxy: Proxy) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rows and columns of cells with people on the proxy, int64[2, n], and their people."""
    row, col = grid.decode(proxy.table.key)[:2]
    number, inverse = np.unique(row * grid.shape[1] + col, return_inverse=True)
    people = np.bincount(inverse.reshape(-1), proxy.table.count).astype(np.float64)
    return np.array(np.divmod(number, grid.shape[1])), people


def _star(
    grid: Grid, middle: NDArray[np.float64], size: float, random: np.random.Generator
) -> NDArray[np.uint64]:
    """Return keys of cells whose centre lies in a star polygon of about ``size`` cells."""
    # Log-normal lengths give irregular shapes, neither circles nor spikes.
    length = np.exp(random.normal(0, 0.4, CORNERS))
    # Scaled so that the area, pi times the mean squared length, is the requested one.
    length *= np.sqrt(size / (pi * float((length**2).mean())))
    reach = int(length.max()) + 1
    low = np.maximum(np.floor(middle).astype(np.int64) - reach, 0)
    high = np.minimum(low + 2 * reach + 1, grid.shape[:2])
    row, col = (part.reshape(-1) for part in np.mgrid[low[0] : high[0], low[1] : high[1]])
    down, right = row + 0.5 - middle[0], col + 0.5 - middle[1]
    direction = np.arctan2(down, right) / (2 * pi) * CORNERS
    at, part = np.floor(direction).astype(np.int64), direction - np.floor(direction)
    edge = length[at % CORNERS] * (1 - part) + length[(at + 1) % CORNERS] * part
    inside = np.hypot(down, right) <= edge
    # A star smaller than a cell may contain no centre: the cell around its middle stands for it.
    if not inside.any():
        inside = (row == int(middle[0])) & (col == int(middle[1]))
    try:
        return Region.of_map(grid, row[inside], col[inside]).key
    except UsageError:  # it lies outside the domain
        return np.empty(0, np.uint64)
