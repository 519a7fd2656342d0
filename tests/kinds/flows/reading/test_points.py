"""Places that are point geometries, in files and frames; lines, texts and bytes are refused."""

import geopandas
import numpy as np
import pandas
import pytest
import shapely
from shapely import LineString, MultiPoint, Point

import geodp
from geodp.errors import InputError, UsageError
from tests.kinds.flows.units import make_units
from tests.refusals import refuses

GRID = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.25, "35.1666666667"))
ENDS = {"origin": "geometry", "destination": "to"}
BY_CODE = {"origin": "o", "destination": "d"}
PERSONS = {"person": "id", "trips": 4}


def draw_places(number, seed=1):
    draw = np.random.default_rng(seed)
    return draw.uniform((35.001, 139.001), (35.16, 139.24), (number, 2))


def make_frame(crs="EPSG:4326", crs_to="EPSG:4326", number=60):
    """Trips with two columns of points, and the same coordinates as numbers."""
    begins, ends = draw_places(number), draw_places(number, 2)
    rows = {"id": [f"p{n % 7}" for n in range(number)], "mode": ["a", "b"] * (number // 2)}
    for name, places in (("o", begins), ("d", ends)):
        rows |= {f"{name}y": places[:, 0], f"{name}x": places[:, 1]}
    points = [
        geopandas.points_from_xy(at[:, 1], at[:, 0], crs="EPSG:4326") for at in (begins, ends)
    ]
    frame = geopandas.GeoDataFrame(rows, geometry=geopandas.GeoSeries(points[0]).to_crs(crs))
    frame["to"] = geopandas.GeoSeries(points[1]).to_crs(crs_to)
    return frame


def read(source, **options):
    return geodp.flows.read_trips(source, grid=GRID, **options)


def read_numbers(frame, **options):
    rows = pandas.DataFrame(frame.drop(columns=["geometry", "to"], errors="ignore"))
    ends = {"origin": ("ox", "oy"), "destination": ("dx", "dy")}
    return geodp.flows.read_trips(rows, grid=GRID, **ends, **options)


def same(one, other):
    return one.key.tolist() == other.key.tolist() and one.count.tolist() == other.count.tolist()


@pytest.mark.parametrize("crs", ["EPSG:4326", "EPSG:6668"])
def test_a_frame_has_points_of_both_ends(crs):
    frame = make_frame(crs, "EPSG:6668")
    found = read(frame, **ENDS)
    assert found.count.sum() == len(frame)
    assert same(found, read_numbers(frame))


def test_a_layer_of_points_has_codes_of_the_other_end(tmp_path):
    frame = make_frame().drop(columns="to")
    codes = GRID.names.format(0, GRID.places[0].locate(frame["dx"], frame["dy"]))
    frame["zone"] = codes
    for name, column in (("t.gpkg", "geom"), ("t.geojson", "geometry"), ("t.fgb", "geometry")):
        path = tmp_path / name
        frame.to_file(path)
        assert same(read(path, origin=column, destination="zone"), read_numbers(frame))
        mixed = read(path, origin=column, destination=("dx", "dy"), by="mode",
                     labels={"mode": ("a", "b")})  # fmt: skip
        assert mixed.count.sum() == len(frame)


def test_points_are_looked_up_in_the_outlines_of_units():
    units = make_units()[0]
    west, south, east, north = units.known_outlines.bounds
    crs, draw = units.known_outlines.crs, np.random.default_rng(3)
    x, y = draw.uniform((west, south), (east, north), (200, 2)).T
    numbers = pandas.DataFrame({"oy": y[:100], "ox": x[:100], "dy": y[100:], "dx": x[100:]})
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy(x[:100], y[:100], crs=crs))
    frame["to"] = geopandas.points_from_xy(x[100:], y[100:], crs=crs)
    given = {"grid": units, "outside": "drop"}
    found = geodp.flows.read_trips(frame, **ENDS, **given)
    assert found.count.sum() > 0
    ends = {"origin": ("ox", "oy"), "destination": ("dx", "dy")}
    assert same(found, geodp.flows.read_trips(numbers, **ends, **given))


def pings():
    clock = pandas.Timestamp("2024-05-01") + pandas.to_timedelta(np.arange(18) * 20, "min")
    places = draw_places(6 * 20).reshape(20, 6, 2).repeat(3, axis=1).reshape(-1, 2)
    rows = {"id": np.arange(20).repeat(18).astype(str), "t": np.tile(clock, 20).astype(str)}
    rows |= {"y": places[:, 0], "x": places[:, 1]}
    points = geopandas.points_from_xy(places[:, 1], places[:, 0], crs="EPSG:4326")
    return geopandas.GeoDataFrame(rows, geometry=points)


@pytest.mark.parametrize("reader", [geodp.flows.read_pings, geodp.flows.read_stays])
def test_pings_and_stays_are_points(reader, tmp_path):
    frame = pings()
    path, metres = tmp_path / "p.gpkg", tmp_path / "m.parquet"
    frame.to_file(path)
    frame.to_crs("EPSG:6690").to_parquet(metres)
    given = {"grid": GRID, "time": "t", "person": "id", "trips": 50}
    plain = reader(pandas.DataFrame(frame.drop(columns="geometry")), place=("x", "y"), **given)
    assert plain.count.sum() > 50
    for source, column in ((frame, "geometry"), (path, "geom"), (metres, "geometry")):
        found = reader(source, place=column, **given)
        assert same(found, plain)
    assert found.reading.public.places == {"geometry": "geometry"}


def lines():
    shapes = [LineString([(139.05, 35.05), (139.15, 35.15)])]
    return geopandas.GeoDataFrame({"id": ["a"], "t": ["2024-05-01T08:00"]}, geometry=shapes,
                                  crs="EPSG:4326").assign(to="52396000")  # fmt: skip


@pytest.mark.parametrize("shape", [Point(), MultiPoint([(139.05, 35.05), (139.1, 35.1)]), None])
def test_what_is_no_point_is_refused_with_its_row(shape):
    frame = make_frame(number=4)
    frame.loc[2, "geometry"] = shape
    with refuses(InputError, "flows-geometry-not-a-point|geometry-missing") as refused:
        read(frame, **ENDS)
    assert refused.value.row == 3


def test_lines_are_refused_with_what_to_give():
    given = {"grid": GRID, "person": "id", "trips": 1}
    with pytest.raises(InputError, match="columns of their own"):
        geodp.flows.read_trips(lines(), origin="geometry", destination="to", **given)
    with pytest.raises(InputError, match="columns of their own"):
        geodp.flows.read_pings(lines(), place="geometry", time="t", **given)


def test_points_without_a_crs_are_asked_for_it():
    frame = make_frame().set_crs(None, allow_override=True)
    with refuses(UsageError, "geometries-without-crs"):
        read(frame, **ENDS)
    assert same(read(frame, **ENDS, crs="EPSG:4326"), read_numbers(frame))


CODES = pandas.DataFrame({"o": ["52396000"], "d": ["52396000"], "n": [1]})
POINT = Point(139.05, 35.05)
NO_TEXT = "column-not-utf8: Geometries are no codes"


def both(shape):
    """A row with one place at both ends."""
    return pandas.DataFrame({"o": [shape], "d": [shape]})


@pytest.mark.parametrize(
    ("rows", "given", "code"),
    [
        (make_frame(), {**ENDS, "grid": geodp.Grid.regular((4, 4))}, "grid-without-crs"),
        (CODES, {**BY_CODE, "crs": "EPSG:4326"}, "flows-crs-unused"),
        (both(POINT.wkt), BY_CODE, "code-is-wkt"),
        (both(f"SRID=4326;{POINT.wkt}"), BY_CODE, "code-is-wkt"),
        (both(POINT.wkt), {**BY_CODE, "grid": make_units()[0]}, "code-is-wkt"),
        (both(shapely.to_wkb(POINT)), BY_CODE, NO_TEXT),
        (
            make_frame().assign(n=1),
            {**ENDS, "value": "n"},
            NO_TEXT,
        ),
    ],
)
def test_what_is_no_place_is_refused(rows, given, code):
    with refuses((UsageError, InputError), code) as refused:
        geodp.flows.read_trips(rows, **{"grid": GRID, **given})
    assert "139.05" not in str(refused.value)


class Query:
    """A lazy frame that exports no stream, as those of Polars do not."""

    def __getitem__(self, _):
        raise TypeError("LazyFrame is not subscriptable")


def test_a_lazy_frame_is_asked_for_its_result():
    lazy = Query()
    with pytest.raises(UsageError, match=r"collect\(\)"):
        read(lazy, origin="o", destination="d", **PERSONS)
    with pytest.raises(UsageError, match=r"collect\(\)"):
        geodp.read(lazy, "jis:basic", code="o", value="n")
