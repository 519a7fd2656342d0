"""Classes of regions on a map whose intervals are measured, by public geometry."""

from __future__ import annotations

import numpy as np
import rasterio.features
import rasterio.warp
import shapely
from numpy.typing import NDArray
from scipy import ndimage

from bench.inputs.families import draw_families
from bench.measure.regions import Boxes, CellSets
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.land import read_lands
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy

SEED = 20201122

WIDE = "polygons of 512"
"""Polygons whose cells on land and at sea are regions, too."""

ISLAND = 400
"""Cells of the largest islands."""

Places = NDArray[np.int64]


def draw(table: CountTable, number: int, random: np.random.Generator) -> dict[str, list[Region]]:
    """Draw up to ``number`` regions of every class that the map has.

    Polygons and municipalities lie around places by their people, and polygons anywhere around
    places of the domain.
    """
    grid = table.grid
    found = draw_areas(table, ("municipalities", "polygons", "rectangles"), number, random)
    domain = CountTable.from_keys(
        grid,
        (key := grid.domain.keys_of_ranks(np.arange(grid.domain.cells))),
        np.ones(key.size, np.int64),
    )
    anywhere = draw_areas(domain, ("polygons",), number // 3 + 1, random)
    found["polygons anywhere"] = [one for group in anywhere.values() for one in group][:number]
    if (on_land := find_land(grid)) is not None:
        wide = [one for name, group in found.items() if name.startswith(WIDE) for one in group]
        land = Region.of(grid, np.array(np.nonzero(on_land))).key
        pairs = [(one, np.isin(one.key, land)) for one in wide]
        pairs = [(one, at) for one, at in pairs if at.any() and not at.all()]
        found["along a coast, land"] = [Region(grid, one.key[at]) for one, at in pairs]
        found["along a coast, sea"] = [Region(grid, one.key[~at]) for one, at in pairs]
        found["islands"] = list_islands(grid, on_land)
    some = {name: [one for one in group if one.cells > 1] for name, group in found.items()}
    return {name: group for name, group in some.items() if group}


def find_land(grid: Grid) -> NDArray[np.bool_] | None:
    """Return which cells the public coastline touches or holds; None for a grid without a CRS."""
    place = grid.places[0]
    if place.crs is None or place.transform is None:
        return None
    parts = shapely.get_parts(np.array(read_lands("world"), object))
    shapes = rasterio.warp.transform_geom(
        "EPSG:4326", place.crs, [*map(shapely.geometry.mapping, parts)]
    )
    return rasterio.features.rasterize(
        shapes,
        (place.rows, place.cols),
        transform=rasterio.Affine(*place.transform),
        all_touched=True,
    ).astype(bool)


def list_islands(grid: Grid, land: NDArray[np.bool_]) -> list[Region]:
    """List the islands of up to ``ISLAND`` cells that lie wholly on a map of land."""
    number, _ = ndimage.label(land, np.ones((3, 3)))
    cells = np.bincount(number.ravel())
    edge = [number[0], number[-1], number[:, 0], number[:, -1]]
    small = np.setdiff1d(np.flatnonzero(cells <= ISLAND), [0, *np.concatenate(edge)])
    return [Region.of(grid, np.array(np.nonzero(number == one))) for one in small]


def draw_areas(
    places: CountTable, families: tuple[str, ...], number: int, random: np.random.Generator
) -> dict[str, list[Region]]:
    """Draw regions of families, around places drawn by their people."""
    grid, proxy, regions = places.grid, Proxy(places, "the places"), {}
    for family in draw_families(families, grid, proxy):
        for group in family.groups:
            if isinstance(group, Boxes):
                order = random.permutation(group.count(grid))[:number]
                regions[group.name] = [_box(grid, group.low[:, i], group.high[:, i]) for i in order]
            elif isinstance(group, CellSets):
                keys = np.split(group.key, group.start[1:])
                order = random.permutation(len(keys))[:number]
                regions[group.name] = [Region(grid, np.sort(keys[i])) for i in order]
    return regions


def _box(grid: Grid, low: Places, high: Places) -> Region:
    """Build a rectangle of cells of the domain, from its first cell to before its last."""
    index = np.indices(tuple(high - low)).reshape(2, -1) + low[:, None]
    return Region.of(grid, index[:, grid.contains(index)])
