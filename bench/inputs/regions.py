"""Classes of regions on a map whose intervals are measured, by public geometry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.inputs.families import draw_families
from bench.measure.regions import Boxes, CellSets
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy

SEED = 20201122

WIDE = "polygons of 512"
"""Polygons whose inhabited and empty cells are regions, too, as a public map of land has them."""

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
    wide = [one for name, group in found.items() if name.startswith(WIDE) for one in group]
    land = [np.isin(one.key, table.key) for one in wide]
    pairs = [*zip(wide, land, strict=True)]
    found["along a coast, land"] = [Region(grid, one.key[at]) for one, at in pairs]
    found["along a coast, sea"] = [Region(grid, one.key[~at]) for one, at in pairs]
    some = {name: [one for one in group if one.cells > 1] for name, group in found.items()}
    return {name: group for name, group in some.items() if group}


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
