"""Areal units as zones: their order and blocks, laws of distance, and whole releases."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.cells import system
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.grid.outlines import Outlines
from geodp.grid.unit_map import find_land
from geodp.grid.units import grid_of_units
from geodp.io.read.public.polygons import Circle
from geodp.kinds.flows import zones as of_zones
from geodp.kinds.flows.levels import choose_levels
from geodp.kinds.flows.page import MOST_PLACES, choose_units, list_places
from geodp.kinds.flows.publish import prepare_flows
from geodp.kinds.flows.zones import (
    LEAST_LAW,
    UnitLaw,
    Zones,
    count_blocks,
    order_units,
    pairs_of,
    start_blocks,
    trace_cells,
    zones_of,
)
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.grid.cells.libraries import NEEDS, need_h3
from tests.kinds.flows.forms import CODES, FORMS, UNITS, make
from tests.kinds.flows.units import STEP, list_codes, make_units, unit_table, unit_trips
from tests.refusals import refuses

PLACES = {"origin": ("ox", "oy"), "destination": ("dx", "dy"), "person": "id", "trips": 4}
BY_CODE = {**PLACES, "origin": "o", "destination": "d"}


@pytest.fixture(scope="module")
def release(shared):
    return make(shared, "units")


@pytest.mark.parametrize("number", [1, 2, 5, 42, 64, 100])
@pytest.mark.parametrize("side", [1, 2, 4, 16])
def test_blocks_have_at_most_their_size_and_nest(number, side):
    first = np.append(start_blocks(number, side), number)
    size = np.diff(first)
    assert size.size == count_blocks(number, side)
    assert 0 < size.min() <= size.max() <= side**2
    assert size.max() - size.min() <= 1
    assert {*start_blocks(number, 2 * side)} <= {*first}


def test_blocks_are_units_that_lie_together():
    draw = np.random.default_rng(0)
    point = draw.integers(0, 1000, (256, 2))
    order = order_units(point)
    assert np.array_equal(np.sort(order), np.arange(256))
    spread = [np.ptp(point[order[at : at + 16]], axis=0).max() for at in range(0, 256, 16)]
    # 16 of 256 units have a sixteenth of the map: squares of 250 by 250, about.
    assert np.mean(spread) < 400
    at_random = [np.ptp(point[at : at + 16], axis=0).max() for at in range(0, 256, 16)]
    assert np.mean(at_random) > 800


def test_the_order_does_not_depend_on_codes_but_for_equal_places():
    renamed, _ = make_units(seed=0)
    other = np.random.default_rng(9).permutation(42)
    codes = np.array([f"x{code:02d}" for code in other])
    grid = grid_of_units({"unit": codes}, "others", UNITS.outlines)
    one, two = Zones.of(UNITS), Zones.of(grid)
    at = [zones.grid.outlines.inner_points[zones.column] for zones in (one, two)]
    assert np.array_equal(*at)
    assert np.array_equal(Zones.of(renamed).column, one.column)


def test_zones_are_found_by_their_places():
    zones = Zones.of(UNITS)
    assert np.array_equal(zones.find(UNITS.decode(zones.key)), np.arange(42))
    assert zones_of(pairs_of(UNITS)) == UNITS
    blocks = zones.blocks(4)
    assert blocks.sums(np.ones(42, np.int64)).tolist() == np.diff(blocks.first).tolist()


def distances(zones):
    """Great-circle distances of the centroids of units, in km, by the haversine formula."""
    at = shapely.get_coordinates(shapely.centroid(zones.grid.outlines.shapes))[zones.column]
    x, y = np.radians(at).T
    a = np.sin((y[:, None] - y) / 2) ** 2
    a += np.cos(y[:, None]) * np.cos(y) * np.sin((x[:, None] - x) / 2) ** 2
    return 2 * 6371.0088 * np.arcsin(np.sqrt(a))


def test_the_law_of_units_is_that_of_their_centroids_and_within_of_their_areas():
    zones = Zones.of(UNITS)
    apart = distances(zones)
    areas = zones.grid.outlines.areas[zones.column]
    apart[np.diag_indices(42)] = 0.52 * np.sqrt(areas)
    expected = np.maximum(np.exp(-apart / 3), LEAST_LAW)
    assert zones.law(3.0, zones.blocks(1)) == pytest.approx(expected, rel=2e-2)
    assert zones.steps[2] == "km"
    assert zones.extent[0] == pytest.approx(np.sqrt(np.median(areas)))


@pytest.mark.parametrize("side", [2, 4, 8])
def test_the_law_of_blocks_is_the_mean_over_their_units(side):
    zones = Zones.of(UNITS)
    fine, blocks = zones.law(3.0, zones.blocks(1)), zones.blocks(side)
    every, law = np.arange(zones.number), UnitLaw(zones.places, 3.0)
    assert law.average(1) == pytest.approx(law.between(every, every), rel=1e-6)
    at, size = blocks.first[:-1], np.diff(blocks.first)
    mean = np.add.reduceat(np.add.reduceat(fine, at, 0), at, 1) / size[:, None] / size
    assert zones.law(3.0, blocks) == pytest.approx(mean)


def test_of_many_units_neighbours_are_taken_together(monkeypatch):
    zones = Zones.of(make_units(16, 16)[0])
    exact = zones.law(20.0, zones.blocks(8))
    monkeypatch.setattr("geodp.kinds.flows.zones.MOST_POINTS", 64)
    monkeypatch.setattr("geodp.kinds.flows.zones.CHUNK", 200)
    assert zones.law(20.0, zones.blocks(8)) == pytest.approx(exact, rel=0.05)


def test_attraction_sums_the_law_over_blocks(monkeypatch):
    zones = Zones.of(UNITS)
    law, blocks = zones.law(3.0, zones.blocks(1)), zones.blocks(4)
    weight = np.random.default_rng(0).random(42)
    origin, block = np.array([3, 0, 41]), np.array([0, 2, 3])
    sums = np.add.reduceat(law * weight, blocks.first[:-1], axis=1)[np.ix_(origin, block)]
    attraction = zones.attraction(3.0)
    assert attraction.attract(origin, block, blocks.first, weight) == pytest.approx(sums)
    monkeypatch.setattr("geodp.kinds.flows.zones.CHUNK", 1)
    assert attraction.attract(origin, block, blocks.first, weight) == pytest.approx(sums)


def test_a_prior_between_units_is_written_by_codes(shared):
    """As units have no rows and columns."""
    told = make(shared, "prior of units")
    rows = pq.read_table(shared.write(told) / "public" / "prior.parquet")
    assert rows.column_names == ["origin_code", "destination_code", "trips"]
    before = FORMS["units"].trips(4)
    index = before.grid.decode(before.key)
    ends = [UNITS.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
    listed = zip(*(rows[name].to_pylist() for name in rows.column_names), strict=True)
    assert sorted(listed) == sorted(zip(*ends, before.count.tolist(), strict=True))


def test_units_lie_in_polygons_and_beside_lines_as_a_whole(release):
    west, east = [*CODES[:, :4].reshape(-1)], [*CODES[:, 4:].reshape(-1)]
    one = release.estimate(west, east)
    boxes = UNITS.outlines.boxes[UNITS.names.find(west)[1]]
    polygon = shapely.box(*boxes[:, :2].min(axis=0), *boxes[:, 2:].max(axis=0))
    assert release.estimate(polygon, east) == one
    border = float(boxes[:, 2].max())
    with refuses(UsageError, "flows-polygon-cuts-unit"):
        release.estimate(polygon.buffer(0.5 * STEP), east)
    # The left, as seen northwards, is the west.
    line = shapely.LineString([(border, 34), (border, 37)])
    assert release.estimate_across(line).there == one


def test_points_of_another_crs_and_beyond_all_units():
    rows, key = unit_trips(UNITS, 50), NoiseKey(bytes(32))
    given = {"grid": UNITS, "key": key, **PLACES}
    plain, moved, mixed = (
        geodp.flows.read_trips(pa.table(rows), **given | more)
        for more in ({}, {"crs": "OGC:CRS84"}, {"origin": "o"})
    )
    assert plain.key.tolist() == moved.key.tolist() == mixed.key.tolist()
    rows["ox"] = np.where(np.arange(50) < 7, 10.0, rows["ox"])
    with refuses(InputError, "flows-point-outside-units") as refused:
        geodp.flows.read_trips(pa.table(rows), **given)
    assert refused.value.row == 1
    assert geodp.flows.read_trips(pa.table(rows), outside="drop", **given).count.sum() == 43
    rows["ox"] = np.full(50, 10.0)
    assert geodp.flows.read_trips(pa.table(rows), outside="drop", **given).count.sum() == 0
    row, column = find_land(UNITS, drops=True).locate([10.0, 0.0], [50.0, 0.0])
    assert row.tolist() == column.tolist() == [-1, -1]


def test_a_point_on_a_border_is_in_the_first_unit():
    land = find_land(UNITS, drops=True)
    boxes = UNITS.outlines.boxes
    row, column = land.locate(boxes[:, 0], (boxes[:, 1] + boxes[:, 3]) / 2)
    assert (row == 0).all()
    assert (column <= np.arange(42)).all()
    west = boxes[:, 0] == boxes[:, 0].min()
    assert np.array_equal(column[west], np.flatnonzero(west))


def test_pings_and_stays_in_units():
    at = [0, 0, 5, 5, 9, 9]
    times = [f"2024-05-01T{hour:02d}:{minute:02d}" for hour in (8, 9, 10) for minute in (0, 20)]
    x, y = UNITS.outlines.inner_points[at].T
    rows = {"id": ["a"] * 6, "t": times, "y": y, "x": x, "place": list_codes(UNITS, at)}
    where = {"grid": UNITS, "time": "t", "person": "id", "trips": 5, "place": ("x", "y")}
    index = pairs_of(UNITS).decode(geodp.flows.read_pings(pa.table(rows), **where).key)
    assert {*zip(index[1].tolist(), index[3].tolist(), strict=True)} == {(0, 5), (5, 9)}
    stays, also = (
        geodp.flows.read_stays(pa.table(rows), **where | {"place": place})
        for place in ("place", ("x", "y"))
    )
    assert np.array_equal(stays.key, also.key)
    beyond = pa.table({**rows, "x": [*x[:5], 10.0]})
    for read in (geodp.flows.read_pings, geodp.flows.read_stays):
        with refuses(InputError, "flows-point-outside-units"):
            read(beyond, **where)
        assert read(beyond, outside="drop", **where).count.sum() > 0


FIJI = [(174, 176), (176, 178), (178, 180), (-180, -178), (-178, -176)]
"""West and east of units across 180 degrees."""


def across(*edges):
    """A grid of units in a row, by their west and east edges, whose codes are 1, 2 and so on."""
    shapes = np.array([shapely.box(west, -20, east, -15) for west, east in edges], object)
    codes = [str(one + 1) for one in range(len(edges))]
    return grid_of_units({"unit": codes}, "made up", Outlines.of(shapes, "EPSG:4326"))


def fiji_flows(grid):
    rows = pa.table({"o": ["1"] * 1000 + ["5"] * 500, "d": ["4"] * 1000 + ["2"] * 500})
    table = geodp.flows.read_trips(rows, grid=grid, origin="o", destination="d")
    return geodp.flows.publish(table, contribution=1, epsilon=50, key=NoiseKey(bytes(32)))


def upright(x):
    return [(x, -21), (x, -14)]


@pytest.mark.parametrize("edges", [FIJI, [*FIJI[:3], (180, 182), (182, 184)]])
def test_lines_across_180_degrees(edges):
    made = fiji_flows(across(*edges))
    for points in (
        upright(178), upright(-182), upright(180), upright(-180),
        [(179, -21), (179, -18), (-179, -18), (-179, -14)],
        [(178, -21), (178, -17), (-160, -17), (-160, -14)],
    ):  # fmt: skip
        found = made.estimate_across(shapely.LineString(points))
        # The left, as seen northwards, is the west.
        assert found.there.count == pytest.approx(1000, abs=5)
        assert found.back.count == pytest.approx(500, abs=5)
    lines = made.to_geopandas()
    assert (np.ptp(lines.bounds[["minx", "maxx"]], axis=1) < 10).all()
    with refuses(UsageError, "flows-line-divides"):
        made.estimate_across(shapely.LineString([(178, -21), (178, -18), (-179, -18)]))


def test_points_east_of_180_degrees_are_in_outlines_that_go_on():
    for shift in (0, -360):
        edges = [(west + shift, east + shift) for west, east in [*FIJI[:3], (180, 182), (182, 184)]]
        land = find_land(across(*edges), drops=True)
        x = np.array([175, 179, -179, -177, 181, -185, 170])
        assert land.locate(x, np.full(7, -17))[1].tolist() == [0, 2, 3, 4, 3, 0, -1]


def test_a_page_of_many_units_has_those_with_the_most_trips():
    grid, _ = make_units(12, 12)
    made = geodp.flows.publish(unit_table(grid), contribution=1, epsilon=40)
    key = grid.domain.keys_of_ranks(np.arange(grid.size))
    trips = made.origins.table.counts_at(key) + made.destinations.table.counts_at(key)
    chosen = np.isin(key, np.concatenate([one.region.key for one in choose_units(made)]))
    assert chosen.sum() == MOST_PLACES
    assert trips[chosen].min() >= trips[~chosen].max()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"grid": grid_of_units({"unit": ["a"]}, "no outlines")}, "flows-units-need-outlines"),
        ({"grid": UNITS.with_attribute("sex", ["f", "m"])}, "flows-need-map"),
        ({"other": "elsewhere"}, "other-no-unit"),
    ],
)
def test_what_units_cannot_do_is_refused(given, code):
    rows = pa.table(unit_trips(UNITS, 10))
    with refuses(UsageError, code):
        geodp.flows.read_trips(rows, **{"grid": UNITS, **BY_CODE, **given})


def test_the_fingerprint_knows_which_units_a_block_has():
    def identify(grid):
        table = replace(unit_table(UNITS), grid=pairs_of(grid))
        return prepare_flows(table, Request(terms=Terms.of(epsilon=1, contribution=1))).identify()

    moved = UNITS.outlines.take(np.random.default_rng(0).permutation(42))
    codes = list_codes(UNITS)
    shifted = Outlines.of(shapely.transform(UNITS.outlines.shapes, lambda at: at + 1), "EPSG:4326")
    same, others, beside = (
        grid_of_units({"unit": codes}, "made up", one) for one in (UNITS.outlines, moved, shifted)
    )
    assert same == others == UNITS
    assert identify(same) == identify(UNITS) == identify(beside)
    assert identify(others) != identify(UNITS)


@pytest.mark.parametrize(
    ("number", "trips", "sides"),
    [(400, 10, (1, 2, 4, 8)), (1024, 10, (4, 8)), (1024, 2, (1, 2, 4, 8))],
)
def test_single_units_are_measured_where_they_are_few(number, trips, sides):
    grid = grid_of_units({"unit": [f"{one:05d}" for one in range(number)]}, "made up")
    assert tuple(choose_levels("default", grid, trips)) == sides


def test_units_of_several_levels(shared):
    made = make(shared, "towns")
    regions = [*CODES[:2].reshape(-1)], [*CODES[4:].reshape(-1)]
    assert made.estimate("t0", "t2") == made.estimate(*regions)


class TestCells:
    """Cells of H3 as zones."""

    BOUNDS = (139, 35, 139.2, 35.15)

    @staticmethod
    def rows(number=3000, beyond=0.02):
        low, high = (35 - beyond, 139 - beyond), (35.15 + beyond, 139.2 + beyond)
        ends = np.random.default_rng(0).uniform(low * 2, high * 2, (number, 4)).T
        ends = dict(zip(("oy", "ox", "dy", "dx"), ends, strict=True))
        return pa.table({"id": [f"p{at % 400}" for at in range(number)], **ends})

    @pytest.fixture(autouse=True)
    def _library(self):
        need_h3()

    def test_cells_are_in_a_polygon_where_their_centre_is(self, tmp_path):
        grid = grid_of_cells("h3:7", self.BOUNDS, other="elsewhere")
        made = geodp.flows.publish(self.rows(), grid=grid, other="elsewhere", epsilon=20, **PLACES)
        outlines, column = of_zones.find_outlines(grid.hierarchy)
        x = outlines.inner_points[:, 0]
        west, east = shapely.box(138, 34, 139.1, 36), shapely.box(139.1, 34, 140, 36)
        codes = [list_codes(grid, column[some]) for some in (x < 139.1, x > 139.1)]
        one = made.estimate(*codes)
        around = shapely.transform(west, lambda at: at + np.array([360, 0]))
        assert all(made.estimate(at, east) == one for at in (west, around))
        line = shapely.LineString([(139.1, 34), (139.1, 36)])
        assert made.estimate_across(line).there == one
        for shape, code in (
            (shapely.box(0, 0, 1, 1), "flows-polygon-without-zone"),
            (line, "region-form"),
        ):
            with refuses(UsageError, code):
                made.estimate(shape, east)
        made.write(tmp_path / "out")
        again = geodp.open(tmp_path / "out")
        assert again.estimate(west, east) == one
        circle = Circle(shapely.Point(139.05, 35.05).buffer(0.05), 5.0)
        shapes = {"West": west, "Nowhere": shapely.box(0, 0, 1, 1), "Near": circle}
        listed = list_places(made.origins.grid, {**shapes, "Here": codes[0]}, 1)
        assert [one.name for one in listed] == ["West", "Near", "Here"]
        assert listed[1].km == 5.0

    @pytest.mark.parametrize("spec", ["h3:7", "s2:12"])
    def test_the_order_does_not_depend_on_the_last_bit_of_coordinates(self, spec, monkeypatch):
        NEEDS[spec[:2]]()
        # Across the equator, where centres have latitudes near 0.
        grid = grid_of_cells(spec, (44.8, -0.2, 45.2, 0.2))
        column, draw = Zones.of(grid).column, np.random.default_rng(0)

        def degrees(points):
            exact = system.degrees(points)
            return tuple(np.nextafter(x, x + draw.choice([-1, 1], x.shape)) for x in exact)

        monkeypatch.setattr(of_zones, "degrees", degrees)
        for _ in range(3):
            of_zones._trace_table.cache_clear()
            of_zones._find_places.cache_clear()
            assert np.array_equal(Zones.of(grid).column, column)
        of_zones._trace_table.cache_clear()
        of_zones._find_places.cache_clear()

    def test_blocks_of_cells_lie_together(self):
        zones = Zones.of(grid_of_cells("h3:7", (139, 35, 139.6, 35.5)))
        first, point = zones.places.starts(4), zones.places.point
        across = [np.ptp(point[a:b], axis=0).max() for a, b in pairwise(first)]
        # Of 16 cells or fewer; across all it is 50 km.
        assert np.mean(across) < 4 * 4 * zones.places.extent[0]
        assert np.median(across) < 2 * 4 * zones.places.extent[0]

    @pytest.mark.parametrize(
        ("reader", "code", "rule"),
        [
            *(("trips", one, "code-no-cell") for one in ("foo", "0", "8.52e+17")),
            *((one, "ffffffffffffffff", "code-no-cell") for one in ("stays", "counted")),
            ("counted", "872f5aadbffffff", "code-finer-than-grid"),
            ("stays", "", "code-missing"),
        ],
    )
    def test_codes_that_are_no_cells_are_not_places_outside(self, reader, code, rule):
        grid = grid_of_cells("h3:6", self.BOUNDS, other="elsewhere")
        (there,) = list_codes(grid, [0])
        # A cell of New York, and the zone itself, lie outside.
        codes = [there, "862a1072fffffff", "elsewhere", there]
        rows = {"id": ["p"] * 4, "o": codes, "d": codes[::-1], "n": [1] * 4}
        rows["t"] = [f"2024-05-01T{hour:02d}:00" for hour in range(4)]
        read, given = geodp.flows.read_trips, BY_CODE
        if reader == "counted":
            given = {"origin": "o", "destination": "d", "value": "n", "duplicates": "sum"}
        elif reader == "stays":
            read = geodp.flows.read_stays
            given = {"place": "o", "time": "t", "person": "id", "trips": 4}
        given = {"grid": grid, "other": "elsewhere", **given}
        assert read(pa.table(rows), **given).count.sum() == (3 if reader == "stays" else 4)
        rows["o"] = [*codes[:3], code]
        with refuses(InputError, rule):
            read(pa.table(rows), **given)

    def test_stays_outside_are_in_one_zone(self):
        grid = grid_of_cells("h3:6", self.BOUNDS, other="elsewhere")
        rows = {
            "id": ["p"] * 3,
            "y": [10.0, 20.0, 30.0],
            "x": [10.0, 10.0, 10.0],
            "t": [f"2024-05-01T{hour:02d}:00" for hour in (0, 1, 3)],
            "e": [f"2024-05-01T{hour:02d}:00" for hour in (1, 2, 4)],
        }
        # The first two meet, and are one.
        found = geodp.flows.read_stays(
            pa.table(rows), grid=grid, other="elsewhere", place=("x", "y"), time="t", end="e",
            person="id", trips=4,
        )  # fmt: skip
        assert found.count.tolist() == [1]

    def test_cells_across_180_degrees_go_on(self):
        centre = np.array([[-1.0, 0, 0]])
        angle = np.radians([[179.0, -179.0, -179.0, 179.0]])
        corners = np.stack([np.cos(angle), np.sin(angle), np.array([[0, 0, 0.1, 0.1]])], axis=-1)
        west, _, east, _ = trace_cells(centre, corners).bounds
        assert east - west == pytest.approx(2)
