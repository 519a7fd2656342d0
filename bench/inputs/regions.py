"""Kinds of regions on a map whose intervals are asked for, drawn from its true counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.features.plan.families import Objective, Objectives, draw_families
from geodp.features.plan.regions import Boxes, CellSets
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy

SEED = 20201122
MANY = 1_000
"""People of a dense cell."""

AROUND, BESIDE, ALONE = 4, 1, 8
"""Cells around an isolated cell, beside an edge, and around a settlement that stands alone."""

VILLAGES, PEOPLE = 24, (500, 3_000)
"""Settlements placed alone on a map, and their people."""

NEAR = 2
"""Cells from an empty cell to an inhabited one that it lies beside."""

WIDE = "polygons of 512"
"""Whose inhabited and whose empty cells are regions, too."""

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]


def settle(table: CountTable, random: np.random.Generator) -> tuple[Any, Places]:
    """Return a map with settlements of one cell placed alone on it, and where: int64[2, n].

    Fewer than ``VILLAGES`` where there is no such place.
    """
    people = table.to_dense().copy()
    far = windows(np.pad(people > 0, ALONE), ALONE).sum(axis=(2, 3)) == 0
    far &= inside(table.grid)
    found: list[NDArray[np.int64]] = []
    for at in random.permutation(np.argwhere(far)):
        if all(np.abs(at - other).max() > 2 * ALONE for other in found):
            found.append(at)
            people[tuple(at)] = int(np.exp(random.uniform(*np.log(PEOPLE))))
        if len(found) == VILLAGES:
            break
    places = np.array(found, np.int64).reshape(-1, 2).T
    return CountTable.from_dense(people, table.grid), places


def windows(values: NDArray[Any], away: int) -> NDArray[Any]:
    """Return what lies so many cells around every cell: [rows, cols, 2 away + 1, 2 away + 1]."""
    return np.lib.stride_tricks.sliding_window_view(values, (2 * away + 1,) * 2)


def inside(grid: Grid) -> NDArray[np.bool_]:
    """Return which cells of the map lie in the domain."""
    index = np.indices(grid.shape).reshape(2, -1)
    return np.asarray(grid.contains(index).reshape(grid.shape))


def draw(
    table: CountTable, villages: Places, number: int, random: np.random.Generator
) -> dict[str, list[Region]]:
    """Return so many regions of every kind that the map has.

    Parameters
    ----------
    table : CountTable
        On one map, with the villages.
    villages : int64[2, n]
        Where they are.
    number : int
    random : Generator
    """
    grid, people = table.grid, table.to_dense()
    inhabited = people > 0
    full = windows(np.pad(inhabited, BESIDE, constant_values=True), BESIDE).all(axis=(2, 3))
    lone = windows(np.pad(inhabited, AROUND), AROUND).sum(axis=(2, 3)) == 1
    beside = windows(np.pad(inhabited, NEAR), NEAR).any(axis=(2, 3)) & ~inhabited
    own = np.zeros(people.shape, np.bool_)
    own[tuple(villages)] = True
    cells = {
        "dense cells": full & (people >= MANY),
        "sparse cells": full & inhabited & (people < MANY),
        "cells at edges": inhabited & ~full & ~lone,
        "isolated cells": inhabited & lone & ~own,
        "empty cells beside others": beside & inside(grid),
    }
    found = {}
    for name, chosen in cells.items():
        at = random.permutation(np.argwhere(chosen))[:number]
        found[name] = [Region.of(grid, one[:, None]) for one in at]
    found["settlements alone"] = [Region.of(grid, at[:, None]) for at in villages.T]
    found["2 km around them"] = [
        _box(grid, np.maximum(at - AROUND, 0), np.minimum(at + AROUND + 1, grid.shape))
        for at in villages.T
    ]
    found |= _areas(table, ("municipalities", "polygons", "rectangles"), number, random)
    edge = CountTable.from_dense((inhabited & ~full).astype(np.int64), grid)
    beyond = CountTable.from_dense((beside & inside(grid)).astype(np.int64), grid)
    for name, places in (("polygons at edges", edge), ("polygons in the empty", beyond)):
        kinds = _areas(places, ("polygons",), number // 3 + 1, random)
        found[name] = [one for some in kinds.values() for one in some][:number]
    wide = [one for name, some in found.items() if name.startswith(WIDE) for one in some]
    land = [np.isin(one.key, table.key) for one in wide]
    found["their land"] = [Region(grid, one.key[at]) for one, at in zip(wide, land, strict=True)]
    found["their sea"] = [Region(grid, one.key[~at]) for one, at in zip(wide, land, strict=True)]
    return {name: kept for name, some in found.items() if (kept := [r for r in some if r.cells])}


def _areas(
    places: CountTable, families: tuple[str, ...], number: int, random: np.random.Generator
) -> dict[str, list[Region]]:
    """Return some regions of families of the planner, around places drawn by their people."""
    grid, proxy, found = places.grid, Proxy(places, "the places"), {}
    for family in draw_families(Objectives(tuple(map(Objective, families))), grid, proxy):
        for group in family.groups:
            if isinstance(group, Boxes):
                every = random.permutation(group.count(grid))[:number]
                found[group.name] = [_box(grid, group.low[:, i], group.high[:, i]) for i in every]
            elif isinstance(group, CellSets):
                keys = np.split(group.key, group.start[1:])
                every = random.permutation(len(keys))[:number]
                found[group.name] = [Region(grid, np.sort(keys[i])) for i in every]
    return found


def _box(grid: Grid, low: Places, high: Places) -> Region:
    """Return a rectangle's cells of the domain, from its first and past its last."""
    index = np.indices(tuple(high - low)).reshape(2, -1) + low[:, None]
    return Region.of(grid, index[:, grid.contains(index)])
