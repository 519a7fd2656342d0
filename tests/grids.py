"""Every form of grid that there is, small, for tests that ask all of them the same."""

import numpy as np

from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order

SEX = ("sex", ["f", "m"])
AGE = ("age", ["young", "middle", "old"])
SHAPE = (24, 11)  # more than the 10 x 10 blocks that plane methods begin with


def half(shape, seed):
    """A random half of a map's cells, never the whole: bool[rows, cols]."""
    inside = np.random.default_rng(seed).random(shape) < 0.5
    inside.flat[0], inside.flat[1] = False, True
    return inside


def masked(grid, inside):
    """A grid with a mask of cells of its map."""
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))


def regions_of(inside, prefectures=3, cities=4):
    """A hierarchy over some cells of a map: unequal numbers of cities of unequal sizes."""
    cell = np.argwhere(inside).T
    draw = np.random.default_rng(cell.shape[1])
    prefecture = np.sort(draw.integers(0, prefectures, cell.shape[1]))
    city = draw.integers(0, cities, cell.shape[1]) * prefecture // max(prefectures - 1, 1)
    codes = {"prefecture": prefecture.astype(str), "city": city.astype(str)}
    return Hierarchy.of_cells(cell, codes, "drawn for a test")


def in_regions(shape=SHAPE, attributes="below", labels=(), seed=2):
    """A random half of a map in the order of a hierarchy."""
    grid = Grid.regular(shape)
    for name, texts in labels:
        grid = grid.with_attribute(name, texts)
    return grid.with_hierarchy(regions_of(half(shape, seed)), attributes)


def full_regions():
    """A hierarchy without any gap: all ``2**bits`` keys are cells, but not all cells of the map."""
    inside = np.zeros((4, 12), bool)
    inside[:, 1:9] = True
    cell = np.argwhere(inside).T
    return Grid.regular(inside.shape).with_hierarchy(
        Hierarchy.of_cells(cell, {"city": (np.arange(32) // 8).astype(str)}, "drawn for a test")
    )


PLAIN = Grid.mesh("jis:secondary", bounds=(138.75, "35.25", "140.125", "36.25"))  # 12 x 11
CORNER = Grid.mesh("jis:secondary", bounds=(138.75, 35, 139.25, "35.5")).with_attribute(*AGE)
"""Parts of several 80 km meshes each."""

FORMS = {
    "one cell": Grid.regular((1, 1)),
    "square": Grid.regular((8, 8)),
    "padded": Grid.regular(SHAPE),
    "line": Grid.regular((50,)),
    "three axes": Grid.regular((3, 4, 5)),
    "attribute": Grid.regular((5, 6)).with_attribute(*AGE),
    "attribute above": Grid.regular((5, 6)).with_attribute(*AGE).with_attribute_order("above"),
    "interleaved": Grid.regular((5, 6)).with_attribute(*AGE).with_attribute_order("interleaved"),
    "pairs": Grid.regular((3, 4)).pairs(),
    "mixed": Grid.regular((9, 5)).with_order(Order((0, 1, 0, 1), (2, 2, 5, 3))),
    "official": PLAIN.with_official_order(),
    "official, attribute below": CORNER.with_official_order(),
    "official, attribute above": CORNER.with_official_order("above"),
    "official, attribute under": CORNER.with_official_order("jis:primary"),
    "mask": masked(Grid.regular(SHAPE), half(SHAPE, 1)),
    "mask, attributes": masked(
        Grid.regular((6, 5)).with_attribute(*SEX).with_attribute(*AGE), half((6, 5), 4)
    ),
    "regions": in_regions(),
    "regions without a gap": full_regions(),
    "regions, attributes below": in_regions((6, 5), "below", (SEX, AGE)),
    "regions, attributes above": in_regions((6, 5), "above", (SEX, AGE)),
    "regions, attributes under": in_regions((6, 5), "prefecture", (SEX, AGE)),
}
"""Grids by what is special about them, none above 1,024 keys."""


def cells_of(grid):
    """Index of every cell of a small grid's domain, by key: the definition, cell by cell."""
    every = np.indices(grid.shape).reshape(len(grid.shape), -1)
    if grid.mask is not None:
        keys = grid.order.encode(every)
        ranges = grid.mask.ranges
        held = ((ranges[:, :1] <= keys) & (keys < ranges[:, 1:])).any(axis=0)
    elif grid.hierarchy is not None:
        places = set(map(tuple, grid.hierarchy.cell.T.tolist()))
        ends = [range(2 * end, 2 * end + 2) for end in range(len(grid.places))]
        held = np.array([all(tuple(one[list(at)]) in places for at in ends) for one in every.T])
    else:
        held = np.ones(every.shape[1], bool)
    index = every[:, held]
    return dict(zip(grid.order.encode(index).tolist(), index.T.tolist(), strict=True))
