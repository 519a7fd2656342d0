"""A zone of all other places, which lies nowhere, beside areal units with outlines."""

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.cells import cells_of
from geodp.grid.outlines import Outlines
from geodp.grid.unit_map import find_land
from geodp.grid.units import add_other, grid_of_units
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.regions import divide_zones
from geodp.kinds.flows.zones import Zones
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.units import OTHER, list_codes, make_units, middles, other_rows, with_other
from tests.refusals import refuses

PLAIN, CODES = make_units()
BY_CODE = {"origin": "o", "destination": "d", "person": "id", "trips": 4}
BY_POINT = {"origin": ("ox", "oy"), "destination": ("dx", "dy"), "person": "id", "trips": 4}
KEY = NoiseKey(bytes(range(32)))


GRID = with_other(PLAIN)
HOME = GRID.names.find([OTHER])[1, 0]


@pytest.fixture(scope="module")
def release():
    return geodp.flows.publish(
        other_rows(PLAIN), grid=GRID, other=OTHER, epsilon=5, key=KEY, **BY_CODE
    )


def test_codes_and_points_outside_are_trips_of_the_zone(tmp_path):
    by_code, by_point = (
        geodp.flows.read_trips(other_rows(PLAIN), grid=GRID, other=OTHER, key=KEY, **one)
        for one in (BY_CODE, BY_POINT)
    )
    assert np.array_equal(by_code.key, by_point.key)
    assert np.array_equal(by_code.count, by_point.count)
    index = by_code.grid.decode(by_code.key)
    begins, ends = (index[at] == HOME for at in (1, 3))
    assert by_code.count[begins & ends].sum() > 0
    # In a file as in a frame, and all trips of each person as they are without the zone.
    path = tmp_path / "trips.csv"
    other_rows(PLAIN).to_pandas().to_csv(path, index=False)
    from_file = geodp.flows.read_trips(path, grid=GRID, other=OTHER, key=KEY, **BY_CODE)
    assert np.array_equal(from_file.key, by_code.key)
    with refuses(InputError, "flows-code-unknown"):
        geodp.flows.read_trips(other_rows(PLAIN), grid=GRID, **BY_CODE)
    with refuses(InputError, "flows-point-outside-units"):
        geodp.flows.read_trips(other_rows(PLAIN), grid=GRID, **BY_POINT)
    left = geodp.flows.read_trips(
        other_rows(PLAIN), grid=GRID, outside="drop", **{**BY_CODE, "trips": 99}
    )
    assert left.count.sum() == 4000 - 800


def test_trips_are_the_same_through_every_door(tmp_path):
    """A column with a blank is written as 1.0 by pandas, in text and in binary files."""
    levels, source = add_other({"unit": np.array(["1", "2", "3"])}, "made up", OTHER)
    shapes = [*(shapely.box(139 + x / 10, 35, 139.1 + x / 10, 35.1) for x in range(3)), None]
    grid = grid_of_units(levels, source, Outlines.of(np.array(shapes, object), "EPSG:4326"))
    # The frame's floats stay floats: no blank is read.
    frame = pandas.DataFrame({"o": [1.0, 2.0, 9.0], "d": [2.0, 9.0, 3.0], "n": [1, 2, 3]})
    frame.to_csv(tmp_path / "trips.csv", index=False)
    assert "1.0" in (tmp_path / "trips.csv").read_text()
    frame.to_excel(tmp_path / "trips.xlsx", index=False)
    frame.to_parquet(tmp_path / "trips.parquet", index=False)
    table = pa.Table.from_pandas(frame)
    decimals = pa.table(
        [table[end].cast(pa.decimal128(24, 2)) for end in "od"] + [table["n"]], ["o", "d", "n"]
    )
    pq.write_table(decimals, tmp_path / "decimals.parquet")
    doors = [*sorted(tmp_path.iterdir()), frame, table, frame.astype({"o": int, "d": int})]
    for door in doors:
        trips = geodp.flows.read_trips(
            door, grid=grid, other=OTHER, origin="o", destination="d", value="n"
        )
        index = trips.grid.decode(trips.key)
        ends = [grid.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
        told = {*zip(*ends, trips.count.tolist(), strict=True)}
        assert told == {("1", "2", 1), ("2", OTHER, 2), (OTHER, "3", 3)}, door
    (tmp_path / "lost.csv").write_text("o,d,n\n1,2,1\n2,03,1\n")
    with refuses(InputError, "zeros-lost: lost.csv, row 3"):
        geodp.flows.read_trips(
            tmp_path / "lost.csv", grid=grid, other=OTHER, origin="o", destination="d", value="n"
        )


def test_counted_rows_have_the_zone_and_no_blank_codes():
    table = pa.table({"o": ["999", CODES[0, 0]], "d": [CODES[1, 1], OTHER], "n": [3, 4]})
    ends = {"origin": "o", "destination": "d", "value": "n", "grid": GRID, "other": OTHER}
    found = geodp.flows.read_trips(table, **ends)
    index = found.grid.decode(found.key)
    assert {*zip((index[1] == HOME).tolist(), found.count.tolist(), strict=True)} == {
        (True, 3),
        (False, 4),
    }
    blank = table.set_column(0, "o", pa.array([" ", CODES[0, 0]]))
    with refuses(InputError, "code-missing"):
        geodp.flows.read_trips(blank, **ends)


@pytest.mark.parametrize("code", [" ", None])
def test_a_blank_code_is_no_place_outside(code):
    rows = {"id": ["a"] * 2, "o": [CODES[0, 0], code], "d": [CODES[0, 1]] * 2}
    table = pa.table(rows | {"t": ["2024-05-01T08:00", "2024-05-01T09:00"]})
    given = {"grid": GRID, "other": OTHER, "person": "id", "trips": 4}
    with refuses(InputError, "flows-code-unknown|code-missing"):
        geodp.flows.read_trips(table, origin="o", destination="d", **given)
    with refuses(InputError, "flows-code-unknown|code-missing"):
        geodp.flows.read_stays(table, place="o", time="t", **given)


@pytest.mark.parametrize("reader", ["pings", "stays"])
def test_pings_and_stays_outside_are_in_the_zone(reader):
    at = middles(PLAIN)[[0, 5]]
    places = np.repeat([at[0], (10.0, 50.0), at[1]], 2, axis=0)
    times = [f"2024-05-01T{hour:02d}:{part}" for hour in (8, 9, 10) for part in ("00", "20")]
    table = pa.table({"id": ["a"] * 6, "t": times, "y": places[:, 1], "x": places[:, 0]})
    read, more = geodp.flows.read_stays, {}
    if reader == "pings":
        read, more = geodp.flows.read_pings, {"speed": 99_999}
    found = read(
        table, grid=GRID, other=OTHER, place=("x", "y"), time="t", person="id", trips=9, **more
    )
    index = found.grid.decode(found.key)
    moved = index[1] != index[3]
    names = GRID.names.format(0, index[:2, moved]), GRID.names.format(0, index[2:, moved])
    first, last = list_codes(GRID, find_land(GRID, drops=True).locate(*at.T)[1])
    assert {*zip(*names, strict=True)} == {(first, OTHER), (OTHER, last)}


def test_the_zone_is_a_block_of_its_own_without_distance():
    zones = Zones.of(GRID)
    assert zones.column[-1] == HOME
    same = Zones.of(PLAIN)
    codes = [
        one.grid.names.format(0, np.stack([one.row, one.column]))[:42].tolist()
        for one in (zones, same)
    ]
    assert codes[0] == codes[1]
    for side in (1, 2, 4):
        assert np.diff(zones.blocks(side).first)[-1] == 1
        law = zones.law(3.0, zones.blocks(side))
        assert np.isfinite(law).all()
        assert np.allclose(law[-1], law[-1, -1])
        assert law[:-1, :-1] == pytest.approx(same.law(3.0, same.blocks(side)))


def test_what_lies_on_a_map_leaves_the_zone_out(release):
    west, east = [*CODES[:, :4].reshape(-1)], [*CODES[:, 4:].reshape(-1)]
    shapes = PLAIN.outlines.boxes[PLAIN.names.find(west)[1]]
    polygon = shapely.box(*shapes[:, :2].min(axis=0), *shapes[:, 2:].max(axis=0))
    one = release.estimate(west, east)
    assert release.estimate(polygon, east) == one
    for shape, code in (
        (polygon.buffer(0.004), "flows-polygon-cuts-unit"),
        (shapely.box(0, 0, 1, 1), "flows-polygon-without-unit"),
        (shapely.Point(0, 0), "region-form"),
    ):
        with refuses(UsageError, code):
            release.estimate(shape, east)
    line = shapely.LineString([(float(shapes[:, 2].max()), 34), (float(shapes[:, 2].max()), 37)])
    left, right = divide_zones(release.origins.grid, line)
    assert left.cells + right.cells == GRID.size - 1
    assert release.estimate_across(line).there == one
    lines, flows = release.to_geopandas(), release.to_pandas()
    assert OTHER in {*flows["origin"]} & {*flows["destination"]}
    assert OTHER not in {*lines["origin"], *lines["destination"]}
    facts = " ".join(release.flows.card().guarantee.not_protected)
    assert f"places outside were counted as the zone {OTHER}" in facts
    places = {"Here": PLAIN.outlines.shapes[0], "Nowhere": shapely.box(0, 0, 1, 1), "E": [OTHER]}
    page = write_page(release, places=places)
    assert "Here" in page
    assert "Nowhere" not in page


@pytest.mark.parametrize(
    ("name", "unit", "code"),
    [
        *((one, "t1", "other-unit-name") for one in ("a,b", "two\nlines", "tab\tbed", "", " ")),
        (" away ", "t1", "other-unit-name"),
        ("t1", "t1", "other-unit-name"),
        # Codes of rows are read in narrow characters: theirs would be counted elsewhere.
        ("海外（欧州）", "t1", "other-unit-spelling"),
        ("０１", "01", "other-unit-spelling"),
        ("Ａｂｒｏａｄ", "t1", "other-unit-spelling"),
        ("a\u2212b", "t1", "other-unit-spelling"),
        ("cafe\u0301", "t1", "other-unit-spelling"),
        ("他", "Ａ地区", "other-unit-spelling"),
        ("south", "t1", "other-unit-name"),
    ],
)
def test_names_and_codes_that_rows_never_have_are_refused(name, unit, code):
    levels = {"town": np.array([unit]), "county": np.array(["south"])}
    with refuses(UsageError, code):
        add_other(levels, "made up", name)


def test_rows_in_full_width_are_of_the_zone_of_this_name(tmp_path):
    grid, path = with_other(PLAIN, name="海外(欧州)"), tmp_path / "trips.csv"
    (code,) = PLAIN.names.format(0, np.array([[0], [0]])).tolist()
    path.write_text(f"o,d,n\n海外（欧州）,{code},1\n{code},else,1\n", encoding="utf-8")
    trips = geodp.flows.read_trips(
        path, grid=grid, origin="o", destination="d", value="n", other="海外(欧州)"
    )
    index = trips.grid.decode(trips.key)
    ends = [grid.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
    pairs = [("海外(欧州)", code), (code, "海外(欧州)")]
    assert sorted(zip(*ends, strict=True)) == sorted(pairs)


def test_a_table_of_a_publisher_is_not_taken_for_cells():
    codes = ["872f5aadeffffff", "872f5aac4ffffff", "elsewhere", "nowhere"]
    assert cells_of(grid_of_units({"h3_7": codes}, "made up").hierarchy) is None
    levels, source = add_other({"h3_7": np.array(codes[:2])}, "made up", "elsewhere")
    assert cells_of(grid_of_units(levels, source).hierarchy) is not None


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"other": "moon"}, "other-no-unit"),
        ({"other": CODES[0, 0]}, "flows-other-is-place"),
        ({"grid": geodp.Grid.regular((4, 4)), **BY_POINT}, "flows-other-on-map"),
        ({"outside": "drop"}, "flows-other-with-outside"),
    ],
)
def test_what_is_no_zone_of_all_other_places_is_refused(given, code):
    with refuses(UsageError, code):
        geodp.flows.read_trips(
            other_rows(PLAIN), **{"grid": GRID, "other": OTHER, **BY_CODE, **given}
        )
