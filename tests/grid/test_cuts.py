"""The part of each cell that lies in a polygon, by area and by a finer map."""

import numpy as np
import pytest
import shapely

from geodp.grid.cuts import FinerMap, cover, find_cuts
from geodp.grid.lattice import Lattice

X, Y = np.arange(9.0), np.arange(7.0) * 1.25


def draw(seed):
    """Draw a polygon, often with a hole or with two parts, that may reach beyond the map."""
    random = np.random.default_rng(seed)
    angle = np.sort(random.random(9)) * 2 * np.pi
    radius = random.uniform(0.5, 6, 9)
    middle = random.uniform(-1, 9, 2)
    ring = middle + np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    shape = shapely.Polygon(ring).buffer(0)
    if seed % 3 == 0:
        shape = shape.difference(shapely.Point(middle).buffer(0.7))
    if seed % 5 == 0:
        shape = shape.union(shapely.box(1, 1, 2.5, 7))
    return shapely.reverse(shape) if seed % 2 else shape


@pytest.mark.parametrize("rows", [slice(None), slice(None, None, -1)], ids=["north", "south"])
def test_parts_of_cells_are_those_of_the_intersection(rows):
    y = Y[rows]
    (west, south), (east, north) = (
        np.meshgrid(X[end], Y[end]) for end in (slice(-1), slice(1, None))
    )
    cells = shapely.box(west, south, east, north)[rows]
    for seed in range(60):
        shape = draw(seed)
        wanted = shapely.area(shapely.intersection(cells, shape)) / 1.25
        np.testing.assert_allclose(cover(shape, X, y), wanted, atol=1e-9)


def test_a_finer_map_says_which_part_of_a_cell_lies_inside():
    place = Lattice(2, 2, crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    shape = shapely.box(0, 0, 1.5, 2)  # half of the right cells
    mass = np.ones((4, 4))
    mass[0, 2:] = 0, 3  # people of the first right cell: one east of the border in four
    mass[1, 2:] = 1, 0
    plain = find_cuts(place, [shape, None])
    assert plain.place.tolist() == [[0, 1], [1, 1]]
    np.testing.assert_allclose(plain.share, 0.5)
    edges = np.arange(5) / 2
    finer = find_cuts(place, [shape], FinerMap(edges, edges, mass, is_people=True))
    np.testing.assert_allclose(finer.share, [0.25, 0.5])
    # Against the cell above it (outside the map), below, left and right of it.
    np.testing.assert_allclose(finer.against[:, 0], [1, 0.5, 0.5, 1])
