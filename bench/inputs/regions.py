"""Kinds of regions on a map whose intervals are measured, drawn from its true counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.inputs.families import draw_families
from bench.measure.regions import Boxes, CellSets
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy

SEED = 20201122
MANY = 1_000
"""People of a dense cell."""

AROUND, EDGE, CLEARANCE = 4, 1, 8
"""Cells around an isolated cell, next to an edge, and around an isolated settlement."""

VILLAGES, PEOPLE = 24, (500, 3_000)
"""Number of isolated settlements that are placed on a map, and their people."""

NEIGHBOURHOOD = 2
"""Cells from an empty cell to an inhabited one that counts as next to it."""

WIDE = "polygons of 512"
"""Kind of regions whose inhabited and empty cells are regions, too."""

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]


def place_villages(table: CountTable, random: np.random.Generator) -> tuple[Any, Places]:
    """Place isolated settlements of one cell on a map; return it, and their places: int64[2, n].

    There are fewer than ``VILLAGES`` where the map has not enough such places.
    """
    people = table.to_dense().copy()
    far = windows(np.pad(people > 0, CLEARANCE), CLEARANCE).sum(axis=(2, 3)) == 0
    far &= inside(table.grid)
    sites: list[NDArray[np.int64]] = []
    for at in random.permutation(np.argwhere(far)):
        # Settlements are kept apart as well, so that each is alone in its surroundings.
        if all(np.abs(at - other).max() > 2 * CLEARANCE for other in sites):
            sites.append(at)
            people[tuple(at)] = int(np.exp(random.uniform(*np.log(PEOPLE))))
        if len(sites) == VILLAGES:
            break
    places = np.array(sites, np.int64).reshape(-1, 2).T
    return CountTable.from_dense(people, table.grid), places


def windows(values: NDArray[Any], away: int) -> NDArray[Any]:
    """Collect the values around every cell: [rows, cols, 2 away + 1, 2 away + 1]."""
    return np.lib.stride_tricks.sliding_window_view(values, (2 * away + 1,) * 2)


def inside(grid: Grid) -> NDArray[np.bool_]:
    """Return which cells of the map lie in the domain."""
    index = np.indices(grid.shape).reshape(2, -1)
    return np.asarray(grid.contains(index).reshape(grid.shape))


def draw(
    table: CountTable, villages: Places, number: int, random: np.random.Generator
) -> dict[str, list[Region]]:
    """Draw up to ``number`` regions of every kind that the map has.

    Parameters
    ----------
    table : CountTable
        A table on one map, with the villages.
    villages : int64[2, n]
        Cells of the villages.
    number : int
    random : Generator
    """
    grid, people = table.grid, table.to_dense()
    inhabited = people > 0
    full = windows(np.pad(inhabited, EDGE, constant_values=True), EDGE).all(axis=(2, 3))
    isolated = windows(np.pad(inhabited, AROUND), AROUND).sum(axis=(2, 3)) == 1
    near_others = (
        windows(np.pad(inhabited, NEIGHBOURHOOD), NEIGHBOURHOOD).any(axis=(2, 3)) & ~inhabited
    )
    is_village = np.zeros(people.shape, np.bool_)
    is_village[tuple(villages)] = True
    cells = {
        "dense cells": full & (people >= MANY),
        "sparse cells": full & inhabited & (people < MANY),
        "cells at edges": inhabited & ~full & ~isolated,
        "isolated cells": inhabited & isolated & ~is_village,
        "empty cells beside others": near_others & inside(grid),
    }
    regions = {}
    for name, chosen in cells.items():
        at = random.permutation(np.argwhere(chosen))[:number]
        regions[name] = [Region.of(grid, region[:, None]) for region in at]
    regions["settlements alone"] = [Region.of(grid, at[:, None]) for at in villages.T]
    regions["2 km around them"] = [
        _box(grid, np.maximum(at - AROUND, 0), np.minimum(at + AROUND + 1, grid.shape))
        for at in villages.T
    ]
    regions |= draw_areas(table, ("municipalities", "polygons", "rectangles"), number, random)
    # Polygons are drawn around places by people, so edges are given as a table of their own.
    edge = CountTable.from_dense((inhabited & ~full).astype(np.int64), grid)
    beyond = CountTable.from_dense((near_others & inside(grid)).astype(np.int64), grid)
    for name, places in (("polygons at edges", edge), ("polygons in the empty", beyond)):
        kinds = draw_areas(places, ("polygons",), number // 3 + 1, random)
        regions[name] = [region for group in kinds.values() for region in group][:number]
    wide = [region for name, group in regions.items() if name.startswith(WIDE) for region in group]
    land = [np.isin(region.key, table.key) for region in wide]
    regions["their land"] = [
        Region(grid, region.key[at]) for region, at in zip(wide, land, strict=True)
    ]
    regions["their sea"] = [
        Region(grid, region.key[~at]) for region, at in zip(wide, land, strict=True)
    ]
    return {
        name: nonempty
        for name, group in regions.items()
        if (nonempty := [r for r in group if r.cells])
    }


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
