"""Every form of grid, small and drawn at random."""

import numpy as np

from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, grid_of_primaries, mask_of_blocks
from geodp.grid.order import Order
from geodp.grid.units import grid_of_units

LABELS = {"sex": ["female", "male"], "age": ["child", "adult", "old"], "kind": ["one"]}
SIDES = (0.001, 0.1, 1.0, 10.0, 12.5, 100.0, 500.0, 1000.0, 10_000.0)


def _regular(random, most=14):
    return Grid.regular(tuple(random.integers(1, most, 2).tolist()))


def _placed(random):
    """A box of cells anywhere in a projected or geographic CRS, north up or down."""
    rows, cols = random.integers(1, 14, 2).tolist()
    crs = str(random.choice(["EPSG:3035", "EPSG:32633", "EPSG:2263", "EPSG:4326"]))
    wide = high = float(random.choice(SIDES))
    if random.random() < 0.2:
        high = float(random.choice(SIDES))
    if crs == "EPSG:4326":
        wide, high = wide / 1e5, high / 1e5
    west, south = (8.0, float(random.choice([-60, 0, 48]))) if crs == "EPSG:4326" else (4e6, 3e6)
    if random.random() < 0.5:
        high, south = -high, south + rows * high
    return Grid.regular((rows, cols), crs=crs, transform=(wide, 0, west, 0, high, south))


def _round(random):
    """Round numbers of round cells."""
    cells = int(random.choice([2, 5, 8, 10, 20]))
    side = float(random.choice([10, 100, 500, 1000, 10_000]))
    return Grid.regular((cells, cells), crs="EPSG:3035", transform=(side, 0, 4e6, 0, side, 3e6))


def _line(random):
    return Grid.regular(tuple(random.integers(2, 9, int(random.choice([1, 3]))).tolist()))


def _jis(random):
    """Cells of a level of Japanese meshes, across edges of published areas or not."""
    level = str(random.choice(["basic", "half", "quarter"]))
    step = {"basic": 1, "half": 2, "quarter": 4}[level]
    rows, cols = random.integers(1, 13, 2).tolist()
    south, west = (int(x) for x in random.integers(-6, 7, 2))
    dy, dx = 1 / 120 / step, 1 / 80 / step
    y, x = 106 / 3 + south * dy, 139 + west * dx
    return Grid.mesh(f"jis:{level}", bounds=(x, y, x + cols * dx, y + rows * dy))


def _primaries(random):
    """Grids of 80 km or 10 km cells, in primary meshes that need not touch."""
    codes = random.choice([5339, 5340, 5439, 5240], int(random.integers(1, 4)), replace=False)
    level = "secondary" if len(codes) < 3 else "primary"
    return grid_of_primaries(f"jis:{level}", codes.tolist())


def _inspire(random):
    side = int(random.choice([1000, 10_000]))
    rows, cols = random.integers(1, 13, 2).tolist()
    south, west = (2_600_000 + side * int(x) for x in random.integers(-6, 7, 2))
    bounds = (west, south, west + cols * side, south + rows * side)
    return Grid.mesh(f"inspire:{side // 1000}km", bounds=bounds)


def _map(random):
    return (_regular, _placed, _jis, _inspire)[int(random.integers(4))](random)


def _coded(random):
    return (_jis, _inspire)[int(random.integers(2))](random)


def _with_attributes(random, grid, least=1):
    names = random.choice(list(LABELS), int(random.integers(least, 3)), replace=False)
    for name in names.tolist():
        grid = grid.with_attribute(name, LABELS[name])
    return grid


def _masked(random, grid):
    inside = random.random(grid.shape[:2]) < random.choice([0.1, 0.4, 0.9])
    if random.random() < 0.3:  # few islands
        inside[:] = False
    inside[tuple(int(random.integers(size)) for size in grid.shape[:2])] = True
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "a drawn coastline"))


def _attributes(random):
    """Attributes below, above or among the places."""
    grid = _with_attributes(random, _map(random))
    where = str(random.choice(["below", "above", "interleaved"]))
    return grid.with_attribute_order(where)


def _pairs(random):
    grid = _regular(random, 5).pairs() if random.random() < 0.5 else _small(random).pairs()
    return _with_attributes(random, grid) if random.random() < 0.3 else grid


def _small(random):
    bounds = (139, 35, 139 + 0.0125 * int(random.integers(1, 5)), 35 + 1 / 60)
    return Grid.mesh("jis:basic", bounds=bounds)


def _official(random):
    return _coded(random).with_official_order()


def _official_attributes(random):
    grid = _with_attributes(random, _coded(random))
    system = grid.places[0].system
    where = ["below", "above", *(name for name, _ in system.areas)]
    return grid.with_official_order(str(random.choice(where)))


def _table_of(random, grid):
    rows, cols = grid.shape[:2]
    cell = np.indices((rows, cols)).reshape(2, -1)
    kept = random.random(cell.shape[1]) < random.choice([0.3, 0.8, 1.0])
    kept[int(random.integers(kept.size))] = True
    row, col = cell = cell[:, kept]
    high, wide = (int(x) for x in random.integers(1, 7, 2))
    city = (row // high * 100 + col // wide).astype(str)
    levels = {"prefecture": (col // (2 * wide)).astype(str), "city": city}
    if random.random() < 0.3:
        levels.pop("prefecture")
    return Hierarchy.of_cells(cell, levels, "a drawn register")


def _regions(random):
    grid = _map(random)
    return grid.with_hierarchy(_table_of(random, grid))


def _regions_attributes(random):
    grid = _with_attributes(random, _map(random))
    table = _table_of(random, grid)
    return grid.with_hierarchy(table, str(random.choice(["below", "above", *table.levels])))


def _units(random):
    """Units of a list, some under a tract and county of their own, with attributes or without."""
    number = np.arange(int(random.integers(1, 40)))
    tract = number // int(random.integers(1, 9))
    county = tract // int(random.integers(1, 4))
    codes = {"block": number, "tract": tract, "county": county}
    named = {name: [f"{name}{code:02d}" for code in codes[name]] for name in codes}
    grid = grid_of_units(named, "a drawn list")
    if random.random() < 0.5:
        return grid
    where = str(random.choice(["below", "above", "tract"]))
    return _with_attributes(random, grid).with_attribute_order(where)


def _coarser(random):
    """What --stop-at makes of a grid, with a mask or attributes."""
    grid = _map(random)
    if random.random() < 0.5:
        grid = _masked(random, grid)
    if random.random() < 0.3:
        grid = _with_attributes(random, grid)
    return Coarsening.of(grid, int(random.integers(2, 5))).grid


def _digits(random):
    """An order of its own, of mixed digits."""
    return Grid.regular((10, 6)).with_order(Order((0, 1, 0, 1), (2, 3, 5, 2)))


FORMS = {
    "box": _regular,
    "placed box": _placed,
    "round box": _round,
    "plain axes": _line,
    "jis": _jis,
    "primary meshes": _primaries,
    "inspire": _inspire,
    "mask": lambda random: _masked(random, _map(random)),
    "mask, attributes": lambda random: _masked(random, _with_attributes(random, _map(random))),
    "attributes": _attributes,
    "pairs": _pairs,
    "official": _official,
    "official, attributes": _official_attributes,
    "regions": _regions,
    "regions, attributes": _regions_attributes,
    "units": _units,
    "coarser": _coarser,
    "mixed digits": _digits,
}
"""Maker of a grid of each form, from a random generator."""
