"""Outlines of units: their order, their digest, and what noise does not depend on."""

import numpy as np
import pytest
import shapely

import geodp
from geodp.errors import UsageError
from geodp.grid.outlines import Outlines, rings_of
from geodp.grid.region import Region
from geodp.grid.units import grid_of_units
from geodp.io.verify.verify import verify
from tests import tracts
from tests.keys import keep
from tests.refusals import refuses


def test_an_outline_stays_with_its_unit_whatever_the_order_of_the_rows():
    table = tracts.frame()
    mixed = table.sample(frac=1, random_state=3)
    grids = []
    for one in (table, mixed):
        outlines = Outlines.of(one.geometry.to_numpy(), "EPSG:3035")
        levels = {"GEOID": one.GEOID.to_numpy(), "county": one.county.to_numpy()}
        grids.append(grid_of_units(levels, "made up", outlines))
    first, last = (grid.outlines for grid in grids)
    assert grids[0] == grids[1]
    assert first.sha256 == last.sha256
    index = grids[0].names.find(table.GEOID.to_list())
    for shape, col in zip(table.geometry, index[1], strict=True):
        assert shapely.equals(shape, first.shapes[col])


def test_noise_depends_on_codes_and_their_order_and_not_on_outlines(tmp_path):
    drawn = tracts.grid_in(tmp_path)
    levels = {"GEOID": tracts.CODES, "county": [code[:2] for code in tracts.CODES]}
    plain = grid_of_units(levels, "made up")
    assert plain == drawn
    assert plain.outlines is None
    key = geodp.NoiseKey.from_file(keep(tmp_path / "key"))
    counts = [
        geodp.publish(tracts.table_on(grid), epsilon=1, contribution=1, key=key).table.count
        for grid in (plain, drawn)
    ]
    assert np.array_equal(*counts)
    assert "outlines" in drawn.describe()
    assert "outlines" not in plain.describe()


def test_areas_are_those_of_the_ellipsoid_in_every_crs(tmp_path):
    areas = [tracts.grid_in(tmp_path, crs).outlines.areas for crs in (3035, 4326, 25832)]
    expected = [100 + (col == 0) + 100 * (col == 3) for _ in range(3) for col in range(4)]
    for found in areas:
        assert found == pytest.approx(expected, rel=2e-3)


def test_simplified_borders_stay_shared(tmp_path):
    outlines = tracts.grid_in(tmp_path, 4326).outlines
    laid = outlines.lay_on(outlines.ground, 1e-3)
    assert sum(map(len, rings_of(laid))) < sum(map(len, rings_of(outlines.shapes)))
    whole = shapely.union_all(laid)
    assert tracts.areas_of(laid) == pytest.approx(whole.area, rel=1e-12)
    assert len(rings_of(whole)) == 1 + 3  # no gap between neighbours; three islands


def test_a_polygon_holds_whole_units_and_cuts_none(tmp_path):
    grid = tracts.grid_in(tmp_path)
    south = shapely.box(4.19e6, 2.99e6, 4.26e6, 3.0103e6)  # 3 % of the row above
    assert Region.of(grid, south).cells == 4
    cut = shapely.box(4.19e6, 2.99e6, 4.26e6, 3.0135e6)
    with refuses(UsageError, "polygon-cuts-unit: 010"):
        Region.of(grid, cut)
    crossed = shapely.Polygon(
        [(4.19e6, 2.99e6), (4.27e6, 3.01e6), (4.27e6, 2.99e6), (4.19e6, 3.01e6)]
    )
    with refuses(UsageError, "polygon-cuts-unit"):  # a ring that crosses itself is no crash
        Region.of(grid, crossed)
    with refuses(UsageError, "region-without-cell: west 4.197e"):
        Region.of(grid, shapely.box(0, 0, 1, 1))


def test_pairs_of_units_have_no_outlines(tmp_path):
    from geodp.grid.units import pairs_of_units

    assert pairs_of_units(tracts.grid_in(tmp_path)).outlines is None


def lattice(side):
    """Codes in no order of places, and their outlines: squares of a lattice."""
    number = np.random.default_rng(5).permutation(side * side)
    row, col = np.divmod(np.arange(side * side), side)
    codes = [f"{one:05}" for one in number]
    return codes, Outlines.of(shapely.box(col, row, col + 1, row + 1), "EPSG:3035"), row, col


def test_many_units_without_a_level_above_stand_in_the_order_of_places():
    codes, outlines, row, col = lattice(66)
    placed = grid_of_units({"unit": codes}, "made up", outlines)
    plain = grid_of_units({"unit": codes}, "made up")
    assert placed != plain
    assert placed.describe()["order"]["regions"]["placed"] is True
    assert "placed" not in plain.describe()["order"]["regions"]
    near = np.array(codes)[(row < 12) & (col < 12)].tolist()
    errors = []
    for grid in (plain, placed):
        table = geodp.CountTable.from_index(grid, grid.names.find(codes[:1]), [9])
        release = geodp.publish(table, epsilon=1, contribution=1)
        errors.append(release.standard_error(Region.of(grid, near)))
        for code, shape in zip(codes[::500], outlines.shapes[::500], strict=True):
            found = grid.names.find([code])[1, 0]
            assert grid.names.format(0, np.array([[0], [found]]))[0] == code
            assert grid.outlines is None or shapely.equals(grid.outlines.shapes[found], shape)
    assert errors[1] < 0.75 * errors[0]


def test_few_units_stand_in_the_order_of_their_codes():
    codes, outlines, _, _ = lattice(4)
    assert grid_of_units({"unit": codes}, "x", outlines) == grid_of_units({"unit": codes}, "x")


def test_an_order_of_places_is_read_back(tmp_path):
    codes, outlines, _, _ = lattice(66)
    grid = grid_of_units({"unit": codes}, "made up", outlines)
    table = geodp.CountTable.from_index(grid, grid.names.find(codes), np.arange(66 * 66))
    release = geodp.publish(table, epsilon=1, contribution=1)
    release.write(tmp_path / "out")
    again = geodp.open(tmp_path / "out")
    assert again.grid == grid
    assert np.array_equal(again.table.key, release.table.key)
    assert [check.name for check in verify(tmp_path / "out") if not check.ok] == []


def test_units_across_180_degrees_are_drawn_side_by_side():
    shapes = [
        shapely.box(-170, 0, -160, 9),
        shapely.union(shapely.box(175, 0, 180, 9), shapely.box(-180, 0, -178, 9)),
    ]
    outlines = Outlines.of(np.array(shapes, object), "EPSG:4326")
    assert outlines.drawn.bounds == (-185, 0, -160, 9)
    assert outlines.bounds == (-180, 0, 180, 9)  # files keep what they were given
    assert outlines.drawn.areas == pytest.approx(outlines.areas)
    for bounds, crs in (((-180, 0, 180, 9), "EPSG:4326"), ((0, 0, 400, 9), "EPSG:3035")):
        around = Outlines.of(np.array([shapely.box(*bounds)], object), crs)
        assert around.drawn.bounds == bounds


def test_bytes_that_are_no_outline_are_refused():
    with refuses(UsageError, "outline-not-binary"):
        Outlines.from_wkb(np.array([b"x"], object), "EPSG:4326")


def _of(*boxes):
    return Outlines.of(np.array([shapely.box(*box) for box in boxes], object), "EPSG:3035")


BESIDE = ((0, 0, 10, 10), (10, 0, 20, 10), (0, 10, 20, 20))


@pytest.mark.parametrize(
    ("more", "pair"),
    [
        # A city beside one of its districts, a copy, half a unit, and a little of a small one.
        ((1, 1, 4, 4), (0, 3)),
        ((10, 0, 20, 10), (1, 3)),
        ((15, 0, 25, 10), (1, 3)),
        ((19.99, 0, 21, 1), (1, 3)),
    ],
)
def test_units_that_overlap_are_found_by_both(more, pair):
    assert _of(*BESIDE, more).find_overlap() == pair


@pytest.mark.parametrize(
    "more",
    [
        # Neighbours, slivers of two files, and a touching corner.
        (20, 0, 30, 20),
        (19.9999, 0, 30, 20),
        (20, 20, 30, 30),
    ],
)
def test_neighbours_and_slivers_are_no_overlaps(more):
    assert _of(*BESIDE, more).find_overlap() is None


def test_a_city_in_the_hole_of_its_state_overlaps_nothing():
    city, state = shapely.box(4, 4, 6, 6), shapely.box(0, 0, 10, 10)
    around = state.difference(city)
    shapes = np.array([around, None, city], object)
    assert Outlines.of(shapes, "EPSG:3035").find_overlap() is None
    shapes[0] = state
    assert Outlines.of(shapes, "EPSG:3035").find_overlap() == (0, 2)


def test_rings_that_cross_themselves_are_measured_and_allowed():
    crossed = shapely.Polygon([(0, 0), (10, 10), (10, 0), (0, 10)])
    shapes = np.array([crossed, shapely.box(10, 0, 20, 10)], object)
    assert Outlines.of(shapes, "EPSG:3035").find_overlap() is None
    shapes[1] = shapely.box(8, 4, 10, 6)
    assert Outlines.of(shapes, "EPSG:3035").find_overlap() == (0, 1)


def test_generalised_borders_of_many_units_are_no_overlaps():
    """Every outline is simplified by itself, so that borders differ by less than a thousandth."""
    rng = np.random.default_rng(1)
    x, y = np.meshgrid(np.arange(0, 201) / 10, np.arange(0, 21))
    y = y + rng.normal(0, 0.0015, y.shape)
    bands = [
        shapely.Polygon(
            [*zip(x[at], y[at], strict=True), *zip(x[at][::-1], y[at + 1][::-1], strict=True)]
        )
        for at in range(20)
    ]
    shapes = shapely.simplify(np.array(bands, object), [0.001, 0.003] * 10)
    assert shapely.area(shapely.intersection(shapes[0], shapes[1])) > 0
    assert Outlines.of(shapes, "EPSG:3035").find_overlap() is None
