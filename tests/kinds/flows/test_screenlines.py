"""Lines across a map: which zones lie on which side, what crosses, and what is refused."""

import json

import numpy as np
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.flows.regions import divide_zones, read_lines
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import count_between
from tests.kinds.flows.test_publish import GRID, MESH, publish, trips_on
from tests.refusals import refuses

RIVER = [(-1, 4), (5, 4), (9, 9), (17, 9)]


def places(region):
    return {*zip(*region.grid.decode(region.key).tolist(), strict=True)}


def test_the_left_is_what_lies_to_the_left_of_the_way():
    left, right = divide_zones(GRID, shapely.LineString([(0, 5), (16, 5)]))
    # Rows count downwards, so that the left of a line along the rows is above it.
    assert places(left) == {(row, col) for row in range(5) for col in range(16)}
    assert left.cells + right.cells == 256
    back = divide_zones(GRID, shapely.LineString([(16, 5), (0, 5)]))
    assert [places(one) for one in back] == [places(right), places(left)]


@pytest.mark.parametrize("beyond", [0, 3])
def test_bends_and_lines_that_reach_beyond_the_map(beyond):
    line = [(-beyond, 4), *RIVER[1:3], (16 + beyond, 9)]
    right, left = (places(one) for one in divide_zones(GRID, shapely.LineString(line)))
    assert {(15, 0), (5, 2), (10, 12)} <= left
    assert {(0, 0), (3, 2), (8, 12)} <= right


def test_a_closed_line_has_an_inside():
    ring = [(4, 4), (12, 4), (12, 12), (4, 12), (4, 4)]
    outside, inside = divide_zones(GRID, shapely.LineString(ring))
    assert inside.cells == 64
    assert places(inside) == {(row, col) for row in range(4, 12) for col in range(4, 12)}
    clockwise = divide_zones(GRID, shapely.LineString(ring[::-1]))
    assert [one.cells for one in clockwise] == [64, outside.cells]


def test_on_a_map_the_left_is_that_of_the_map():
    north = Grid.regular((16, 16), crs="EPSG:3035", transform=(1, 0, 0, 0, -1, 16))
    left, _ = divide_zones(north, shapely.LineString([(0, 5), (16, 5)]))
    # Row 0 is the northernmost, and y counts upwards.
    assert places(left) == {(row, col) for row in range(11) for col in range(16)}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (shapely.Point(1, 1), "flows-line-form"),
        (shapely.LineString(), "flows-line-form"),
        (shapely.LineString([(0, 0), (9, 9), (9, 0), (0, 9)]), "flows-line-form"),
        (shapely.LineString([(1, 1), (5, 5)]), "flows-line-divides"),
        (shapely.LineString([(-5, 1), (-1, 5)]), "flows-line-divides"),
        (shapely.LineString([(2, -1), (2, 17), (9, 17), (9, -1)]), "flows-line-divides"),
        (shapely.LineString([(0, 0.2), (16, 0.2)]), "flows-line-divides"),
        (shapely.LineString([(2, -1), (2, 5), (2, 17), (8, 17), (8, 0.5)]), "flows-line-divides"),
        (shapely.LineString([(8, 3), (8, -1), (2, -1), (2, 17)]), "flows-line-divides"),
        (shapely.LinearRing([(4, 4), (12, 4), (12, 12)]), "flows-line-form"),
        (shapely.LineString([(0, float("nan")), (16, 5)]), "flows-line-form"),
    ],
)
def test_what_does_not_divide_the_map_is_refused(line, code):
    with refuses(UsageError, code):
        divide_zones(GRID, line)


def test_counts_are_sums_of_the_flows(release):
    line = shapely.LineString(RIVER)
    found, sides = release.estimate_across(line), divide_zones(GRID, line)
    there, back = count_between(release.flows.table, [sides, sides[::-1]])
    assert [one.count for one in (found.there, found.back, found.both)] == [
        there,
        back,
        there + back,
    ]
    for one in (found.there, found.back, found.both):
        assert one.low <= one.count <= one.high
    # Both may be off alike.
    assert found.both.high == pytest.approx(found.there.high + found.back.high)


@pytest.mark.law
def test_intervals_hold_the_truth_about_as_often_as_stated():
    draw, held = np.random.default_rng(8), []
    table = trips_on(number=60_000)
    ends = draw.uniform(2, 14, (10, 2))
    lines = [shapely.LineString([(0, a), (16, b)]) for a, b in ends]
    lines += [shapely.LineString([(a, 0), (b, 16)]) for a, b in ends]
    sides = [divide_zones(GRID, line) for line in lines]
    true = [count_between(table, [pair, pair[::-1]]) for pair in sides]
    for number in range(4):
        release = publish(table, key=NoiseKey(number.to_bytes(32, "little")))
        found = release.estimate_screenlines(lines)
        for one, (there, back) in zip(found, true, strict=True):
            pairs = ((one.there, there), (one.back, back), (one.both, there + back))
            held += [each.low <= n <= each.high for each, n in pairs]
    assert np.mean(held) > 0.92


def write(path, *shapes, names=None):
    named = names or [None] * len(shapes)
    features = [
        {
            "type": "Feature",
            "properties": {} if name is None else {"name": name},
            "geometry": shapely.geometry.mapping(shape),
        }
        for shape, name in zip(shapes, named, strict=True)
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_lines_are_read_by_name(tmp_path):
    straight = shapely.LineString([(138, 35.05), (140, 35.05)])
    several = shapely.MultiLineString([[(138, 35.08), (139, 35.08)], [(139, 35.08), (140, 35.1)]])
    path = write(tmp_path / "lines.geojson", straight, several, names=["bay", "hill"])
    lines = read_lines(path, MESH)
    assert [*lines] == ["bay", "hill"]
    for line in lines.values():
        left, right = divide_zones(MESH, line)
        assert left.cells + right.cells == MESH.size
    assert [*read_lines(write(path, straight), MESH)] == ["1"]


def test_files_without_lines_are_refused(tmp_path):
    line = shapely.LineString([(138, 35.05), (140, 35.05)])
    path = write(tmp_path / "lines.geojson", line.buffer(1))
    with refuses(InputError, "not-only-lines"):
        read_lines(path, MESH)
    with refuses(InputError, "polygon-names-alike"):
        read_lines(write(path, line, line, names=["a", "a"]), MESH)
    with refuses(UsageError, "polygons-need-earth"):
        read_lines(path, geodp.Grid.regular((4, 4)))
