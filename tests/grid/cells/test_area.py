"""Cells of public areas: the choice from coarse to fine is that of looking at every cell."""

import numpy as np
import pytest
import shapely

from geodp.errors import CodeError, UsageError
from geodp.grid.cells import SYSTEMS
from geodp.grid.cells.area import (
    MAX_CELLS,
    RADIUS,
    BoxArea,
    CellMask,
    OutlineArea,
    box_around,
    radii,
    select_cells,
)
from geodp.grid.cells.system import degrees, sphere
from tests.grid.cells.libraries import NEEDS
from tests.refusals import refuses

DEPTHS = {"h3": (0, 1, 2), "s2": (0, 2, 4)}


@pytest.fixture(params=["h3", "s2"])
def system(request):
    NEEDS[request.param]()
    return SYSTEMS[request.param]


def every(system, level):
    return system.children(system.base_cells(), level)


@pytest.mark.parametrize(
    "box",
    [
        (-180, -90, 180, 90),
        (-170, -60, 170, 80),  # wider than half of the Earth
        (-10, 35, 60, 72),
        (100, -90, 180, -50),
        (-180, 50, -120, 90),
        (170, -25, -170, -10),  # across 180 degrees
        (179, -90, -179, 90),
        (60, -80, 50, 85),  # all but a strip
    ],
)
def test_bounds_hold_the_cells_whose_centres_lie_there(system, box):
    west, south, east, north = box
    for level in DEPTHS[system.name]:
        cells = every(system, level)
        x, y = degrees(system.outline(cells)[0])
        across = (west <= x) & (x <= east) if west < east else (x >= west) | (x <= east)
        inside = np.sort(cells[across & (south <= y) & (y <= north)])
        assert np.array_equal(select_cells(system, level, [BoxArea(box)]), inside)


FIJI = [shapely.box(177, -19, 180, -16), shapely.box(-180, -19, -179, -16)]
SHAPES = {
    "a country": [shapely.Polygon([(5, 47), (16, 47), (14, 55), (6, 54)])],
    "across 180 degrees": FIJI,
    "a pole": [shapely.box(-180, 80, 180, 90)],
    "a point": [shapely.Point(0.01, 0.02)],
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_mask_without_a_distance_holds_the_cells_that_it_touches(system, name):
    """Points of shapes lie in cells of the mask, and cells of it lie near to shapes."""
    shapes = np.array(SHAPES[name], object)
    for level in DEPTHS[system.name]:
        found = select_cells(system, level, [OutlineArea(shapes)])
        west, south, east, north = shapely.bounds(shapes).T[:, :1]
        x = np.linspace(west, east, 40)[:, 0]
        y = np.linspace(south, north, 40)[:, 0]
        within = shapely.contains_xy(shapes[0], x, y)
        held = system.locate(x[within], y[within], level)
        assert np.isin(held, found).all()
        centre, corners = system.outline(found)
        wide = OutlineArea(shapes).touches(centre, radii(centre, corners))
        assert wide.all()
    assert found.size < every(system, level).size / 3


def test_the_edge_of_a_mask_is_that_of_the_cells_outlines(system):
    """Neither a cell beside the shape nor one of its own is missed: by the shapes of all cells."""
    level, shape = DEPTHS[system.name][-1], SHAPES["a country"][0]
    cells = every(system, level)
    x, y = degrees(system.outline(cells)[1])
    near = np.flatnonzero((np.abs(x - 10).max(1) < 60) & (np.abs(y - 50).max(1) < 35))
    outlines = shapely.polygons(np.stack([x[near], y[near]], axis=-1))
    expected, clear = shapely.intersects(outlines, shape), shapely.distance(outlines, shape) > 0.5
    found = np.isin(cells[near], select_cells(system, level, [OutlineArea(np.array([shape]))]))
    deep = shapely.area(shapely.intersection(shapely.make_valid(outlines), shape)) > 1
    assert found[expected & deep].all()
    assert not found[clear].any()


def test_land_is_widened_by_the_distance_at_least(system):
    level, reach = DEPTHS[system.name][-1] + 2, 300.0
    point = np.array([shapely.Point(139.7, 35.6)], object)
    found = select_cells(system, level, [OutlineArea(point, reach)])
    centre, corners = system.outline(found)
    away = np.arccos(np.clip(centre @ sphere(139.7, 35.6), -1, 1)) * RADIUS
    assert (away <= 2 * (reach + radii(centre, corners) * RADIUS)).all()
    for angle in np.linspace(0, 2 * np.pi, 17):
        y = 35.6 + np.degrees(reach / RADIUS) * np.sin(angle) * 0.99
        x = 139.7 + np.degrees(reach / RADIUS) * np.cos(angle) * 0.99 / np.cos(np.radians(y))
        assert np.isin(system.locate([x], [y], level), found).all()


def test_regions_and_lists_of_cells_are_met_together(system):
    level, box = DEPTHS[system.name][-1], (0.0, 40.0, 30.0, 60.0)
    parents = select_cells(system, level - 1, [BoxArea(box)])
    start = {level - 1: parents}
    both = np.array(SHAPES["a country"], object)
    listed = select_cells(system, level, [OutlineArea(both), BoxArea(box)], start)
    plain = select_cells(system, level, [OutlineArea(both), BoxArea(box)])
    assert np.array_equal(listed, plain[np.isin(system.parents(plain, level - 1), parents)])
    assert np.array_equal(
        select_cells(system, level, [], start), np.sort(system.children(parents, level))
    )


def test_more_than_a_million_cells_are_refused(system):
    with refuses(UsageError, f"area-has-too-many-cells: {MAX_CELLS:,} .*{system.name}:15"):
        select_cells(system, 15, [OutlineArea(np.array(SHAPES["a country"], object))])


def test_codes_of_a_mask_are_of_the_level_or_coarser(system):
    level = DEPTHS[system.name][-1]
    cells = every(system, level)
    some = [*system.format(cells[:2]), *system.format(system.parents(cells[-1:], level - 1))]
    mask = CellMask.of_codes(system, level, some, "an example")
    found = select_cells(system, level, [], mask.start)
    siblings = cells[system.parents(cells, level - 1) == system.parents(cells[-1:], level - 1)]
    assert np.array_equal(found, np.unique(np.append(cells[:2], siblings)))
    for bad, words in (
        (system.format(system.children(cells[:1], level + 1))[0], "mask-code-too-fine"),
        ("x", "mask-code-no-cell"),
    ):
        with refuses(CodeError, words) as caught:
            CellMask.of_codes(system, level, [some[0], bad], "an example")
        assert caught.value.position == 1


def test_boxes_around_circles_hold_them():
    centre = sphere(np.array([10.0, 179, 0, 50]), np.array([0.0, -40, 89, -89.5]))
    west, south, east, north = box_around(centre, np.radians([5.0, 3, 2, 1]))
    assert (west <= [5.001, 175.1, -180, -180]).all()
    assert (east >= [14.999, 182.9, 180, 180]).all()
    assert (north[2], south[3]) == (90, -90)
