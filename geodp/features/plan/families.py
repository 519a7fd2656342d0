"""Objectives of users: families of regions, and their weights.

A family depends on public information only: the domain, a public map, a documented random
distribution with a fixed seed, or an official boundary file. Its error is a mean over its regions,
and the objective is the weighted geometric mean over families, so that a family of large regions
has no more weight than one of small regions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, log, pi
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError, require_library
from geodp.features.plan.areas import nodes_of
from geodp.features.plan.islands import draw_islands
from geodp.features.plan.regions import (
    MAX_DENSE,
    MAX_MAP,
    Blocks,
    Boxes,
    CellSets,
    RegionGroup,
    Settlements,
)
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.write.frame import cell_size
from geodp.reprs import one_line
from geodp.table.proxy import Proxy

REGIONS = 200
"""Number of regions of a random family."""

MAX_CELLS = 1 << 23
"""Maximal number of cells of all regions of a family."""

POLYGONS = ((1, 64), (64, 512), (512, 4096))
"""Sizes, in cells, of polygons without a size: groups, log-uniform within each."""

CORNERS = 12
"""Number of directions in which a star polygon has a random length."""

SEED = 20201001

KM2 = "km2"

ISLANDS = "islands"
"""The family of isolated settlements."""


@dataclass(frozen=True)
class Objective:
    """A family of regions, and its weight.

    Attributes
    ----------
    family : str
        One of ``FAMILIES``.
    weight : float
        Weight, above 0.
    size : str
        For ``polygons``: an area such as ``"10km2"``, cells such as ``"64"``, or the path of a file
        of polygons. Otherwise empty.
    """

    family: str
    weight: float = 1.0
    size: str = ""

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise UsageError(
                f"Families of regions are {', '.join(FAMILIES)}.", code="region-family-unknown"
            )
        if not (isfinite(self.weight) and self.weight > 0):
            raise UsageError(
                f"The weight of {self.family} must be a number above 0.", code="family-weight"
            )
        if self.size and self.family != "polygons":
            raise UsageError(f"{self.family} has no size.", code="family-without-size")
        if self.size and not self.file:
            _size_of(self.size)

    @property
    def file(self) -> str:
        """Path of a file of polygons; empty if the polygons are random."""
        return self.size if Path(self.size).suffix and not _is_number(self.size) else ""

    @property
    def is_drawn(self) -> bool:
        """Whether its regions are synthetic, although official ones may exist."""
        return self.family in ("municipalities", "polygons") and not self.file

    @property
    def name(self) -> str:
        """Name in the notation of :meth:`Objectives.parse`."""
        return f"{self.family}:{self.size}" if self.size else self.family


@dataclass(frozen=True)
class Objectives:
    """Families of regions and their weights.

    Attributes
    ----------
    families : tuple of Objective
    relative : bool
        Whether errors are divided by a region's people on the public map, or by the mean of its
        family if this is larger. Default: errors in people.

    Examples
    --------
    >>> objectives = Objectives.parse("municipalities=3,cells=1,polygons:10km2=1,relative")
    >>> [(one.name, one.weight) for one in objectives.families]
    [('municipalities', 3.0), ('cells', 1.0), ('polygons:10km2', 1.0)]
    """

    __repr__ = one_line

    families: tuple[Objective, ...]
    relative: bool = False

    def __post_init__(self) -> None:
        names = [one.name for one in self.families]
        if not names or len(set(names)) < len(names):
            raise UsageError(
                "Objectives need at least one family of regions, each of them once.",
                code="families-repeated",
            )

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``FAMILY`` or ``FAMILY=WEIGHT``, separated by commas, and ``relative``."""
        families, relative = [], False
        for part in (piece.strip() for piece in text.split(",")):
            if part == "relative" and not relative:
                relative = True
                continue
            name, _, weight = part.partition("=") if "=" in part else (part, "", "1")
            family, _, size = name.partition(":")
            try:
                number = float(weight)
            except ValueError:
                number = inf
            if not isfinite(number):
                raise UsageError(
                    "Objectives have the form FAMILY or FAMILY=WEIGHT, separated by commas, such "
                    "as municipalities=3,cells,polygons:10km2,relative.",
                    code="objectives-form",
                )
            families.append(Objective(family, number, size))
        return cls(tuple(families), relative)

    @property
    def text(self) -> str:
        """Text in the notation of :meth:`parse`."""
        parts = [f"{one.name}={one.weight:g}" for one in self.families]
        return ",".join([*parts, *["relative"] * self.relative])


@dataclass(frozen=True, eq=False)
class Family:
    """The regions of an objective.

    Attributes
    ----------
    objective : Objective
    groups : tuple of Group
        Groups of regions of similar size. The family's error is the geometric mean of theirs.
    description : str
        Description for people.
    """

    objective: Objective
    groups: tuple[RegionGroup | Settlements, ...] = field(repr=False)
    description: str


def draw_families(
    objectives: Objectives, grid: Grid, proxy: Proxy, shapes: Mapping[str, Any] | None = None
) -> tuple[Family, ...]:
    """Draw the regions of all objectives.

    Parameters
    ----------
    objectives : Objectives
    grid : Grid
    proxy : Proxy
        Public map whose people weight the locations of municipalities and polygons.
    shapes : mapping, optional
        For every file, its polygons by name, in the grid's CRS.

    Raises
    ------
    UsageError
        The grid does not support a family, or its regions have too many cells.
    """
    families = []
    for one in objectives.families:
        if one.file:
            polygons = (shapes or {}).get(one.file)
            if polygons is None:
                raise UsageError(
                    f"The polygons of {Path(one.file).name} are missing (shapes=).",
                    code="objective-polygons-missing",
                )
            regions = [Region.of(grid, shape).key for shape in polygons.values()]
            groups: tuple[RegionGroup | Settlements, ...] = (CellSets.of(one.name, regions),)
            description = f"{len(regions)} polygons of {Path(one.file).name}"
        else:
            # A stream for each family: adding a family to the objectives does not change the
            # regions of the others.
            random = np.random.default_rng([SEED, list(FAMILIES).index(one.family)])
            groups, description = FAMILIES[one.family](one, grid, proxy, random)
        families.append(Family(one, groups, description))
    return tuple(families)


Drawn = tuple[tuple[RegionGroup | Settlements, ...], str]
Draw = Callable[[Objective, Grid, Proxy, np.random.Generator], Drawn]


def _cells(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    return (Blocks("cells", len(grid.order.radices)),), "all cells of the domain"


def _squares(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    digits = range(len(grid.order.radices), -1, -1)
    groups = tuple(Blocks(f"squares of {_cells_of(grid, i):,}", i) for i in digits)
    return groups, "aligned blocks of all sizes"


def _cells_of(grid: Grid, digits: int) -> int:
    return int(np.prod([float(radix) for radix in grid.order.radices[digits:]]))


def _areas(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    if grid.areas.nested:
        nodes = nodes_of(grid).items()
        return tuple(
            Blocks(name, digits) for name, digits in nodes
        ), "published areas, which are levels of the order"
    if not grid.maps.areas:
        raise UsageError(
            "areas need a grid of a code system, or of regions.", code="areas-need-codes"
        )
    place = grid.places[0]
    key, groups = _all_cells(grid, proxy), []
    row, col = grid.decode(key)[:2]
    for name, side in grid.maps.areas:
        high, wide = (row + place.row0) // side, (col + place.col0) // side
        groups.append(CellSets.of_labels(name, key, high * (wide.max() + 1) + wide))
    return tuple(groups), f"published areas: {', '.join(group.name for group in groups)}"


def _municipalities(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    require_library("scipy", "The objective municipalities")
    from scipy.spatial import cKDTree  # slow to import

    _require_map(grid, one)
    cell, people = _people_of_map(grid, proxy)
    # At least four populated cells for each region, so that small maps do not get regions of
    # single cells.
    n = min(REGIONS, max(1, cell.shape[1] // 4))
    at = random.choice(cell.shape[1], n, replace=False, p=people / people.sum())
    key = _all_cells(grid, proxy)
    place = grid.decode(key)[:2]
    # The jitter breaks ties of cells that are equally far from two centres.
    label = cKDTree(cell[:, at].T + random.random((n, 2)) * 1e-3).query(place.T)[1]
    description = f"{n} Voronoi regions of cells drawn by their people"
    return (CellSets.of_labels(one.name, key, label),), description


def _polygons(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    _require_map(grid, one)
    cell, people = _people_of_map(grid, proxy)
    ranges: tuple[tuple[float, float], ...] = POLYGONS
    if one.size:
        cells = _size_of(one.size)
        if one.size.endswith(KM2):
            cells /= _km2_of_cell(grid)
        if cells < 1:
            raise UsageError(
                f"Polygons of {one.size} are smaller than a cell.", code="polygons-below-cell"
            )
        ranges = ((cells, cells),)
    groups = []
    for low, high in ranges:
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
        span = f"{low:,.4g}" if low == high else f"{low:,} to {high:,}"
        groups.append(CellSets.of(f"polygons of {span} cells", regions))
    description = f"star polygons around places drawn by their people, {REGIONS} of each size"
    return tuple(groups), description


def _rectangles(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    _require_map(grid, one)
    if grid.shape[0] * grid.shape[1] > MAX_MAP:
        raise UsageError(
            "rectangles need a map of at most 2**25 cells.", code="rectangles-map-too-large"
        )
    size = np.array(grid.shape[:2])[:, None, None]
    corner = random.integers(0, size, (2, REGIONS, 2))
    boxes = Boxes(one.name, corner.min(axis=2), corner.max(axis=2) + 1)
    return (boxes,), f"{REGIONS} rectangles between two uniform cells"


def _islands(one: Objective, grid: Grid, proxy: Proxy, random: np.random.Generator) -> Drawn:
    return draw_islands(proxy.table, random)


FAMILIES: dict[str, Draw] = {
    "cells": _cells,
    "squares": _squares,
    "areas": _areas,
    "municipalities": _municipalities,
    "polygons": _polygons,
    "rectangles": _rectangles,
    ISLANDS: _islands,
}
"""Functions that draw the regions of every family."""


def _require_map(grid: Grid, one: Objective) -> None:
    grid.require_map(Rule("families-need-one-map", f"{one.family} need a grid of one map."))


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
    if not number.size:
        raise UsageError(
            "The public map is empty, so regions cannot be placed by its people.",
            code="public-map-empty",
        )
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


def _size_of(text: str) -> float:
    """Parse square kilometres or a number of cells."""
    try:
        number = float(text.removesuffix(KM2))
    except ValueError:
        number = 0.0
    if not (isfinite(number) and number > 0):
        raise UsageError(
            "The size of polygons is an area such as 10km2, a number of cells such as 64, or a "
            "file such as districts.geojson.",
            code="polygons-size-form",
        )
    return number


def _is_number(text: str) -> bool:
    """Whether a size is a number of cells or of square kilometres."""
    return re.fullmatch(r"[-+.0-9e]+", text.removesuffix(KM2)) is not None


def _km2_of_cell(grid: Grid) -> float:
    """Return the area of a cell in the middle of the map, in square kilometres."""
    place = grid.places[0]
    if place.transform is None or place.crs is None:
        raise UsageError(
            "Polygons in km2 need a grid with a place on the Earth.", code="polygons-km2-need-earth"
        )
    wide, high = cell_size(place)
    return float(wide * high)
