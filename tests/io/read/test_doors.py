"""One content through every door: files and frames in memory give the same table or are refused."""

import datetime
import decimal

import geopandas
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import shapely

import geodp
from geodp.errors import GeodpError, InputError, UsageError
from geodp.grid.grid import Grid
from tests.refusals import refuses

MESH = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))
METRES = Grid.regular((8, 12), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
SEXES = MESH.with_attribute("sex", ("f", "m"))
CODES = ["533901001", "533901002", "533901003"]


def written(ending, write):
    """Return a door: what writes a frame to a file with an ending, and gives the file."""

    def door(frame, folder):
        path = folder / f"a.{ending}"
        write(frame, path)
        return path

    return door


DOORS = {
    "csv": written("csv", lambda frame, path: frame.to_csv(path, index=False)),
    "csv.gz": written("csv.gz", lambda frame, path: frame.to_csv(path, index=False)),
    "json lines": written(
        "jsonl",
        lambda frame, path: frame.to_json(path, orient="records", lines=True, date_format="iso"),
    ),
    "parquet": written("parquet", lambda frame, path: frame.to_parquet(path, index=False)),
    "xlsx": written("xlsx", lambda frame, path: frame.to_excel(path, index=False)),
    "pandas": lambda frame, _: frame,
    "polars": lambda frame, _: polars.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame, preserve_index=False),
}

WHOLE = dict(zip(CODES, (5, 7, 9), strict=True))
REFUSED = None


def _frame(counts, codes=CODES, **more):
    return pandas.DataFrame({"code": codes, "n": counts, **more})


CONTENTS = {
    "whole numbers": (_frame([5, 7, 9]), {}, WHOLE),
    "codes as numbers": (_frame([5, 7, 9], [int(code) for code in CODES]), {}, WHOLE),
    "codes as categories": (_frame([5, 7, 9], pandas.Categorical(CODES)), {}, WHOLE),
    "codes with blanks": (_frame([5, 7, 9], [f" {code} " for code in CODES]), {}, WHOLE),
    "small integers": (_frame(np.array([5, 7, 9], np.int8)), {}, WHOLE),
    "unsigned integers": (_frame(np.array([5, 7, 9], np.uint16)), {}, WHOLE),
    "nullable integers": (_frame(pandas.array([5, 7, 9], "Int64")), {}, WHOLE),
    "whole floats": (_frame([5.0, 7.0, 9.0]), {}, WHOLE),
    "counts as texts": (_frame(["5", "7", "9"]), {}, WHOLE),
    "counts as decimals": (_frame([decimal.Decimal(n) for n in (5, 7, 9)]), {}, WHOLE),
    "nobody somewhere": (_frame([5, 0, 9]), {}, {CODES[0]: 5, CODES[2]: 9}),
    "no rows": (_frame(np.array([], np.int64), np.array([], str)), {}, {}),
    "large counts": (_frame([2**53 + 1, 7, 9]), {}, WHOLE | {CODES[0]: 2**53 + 1}),
    "a fraction": (_frame([5.0, 7.5, 9.0]), {}, REFUSED),
    "a fraction rounded": (
        *(_frame([5.0, 7.25, 9.0]), {"rounding": "nearest"}),
        WHOLE,
    ),
    "a negative": (_frame([5, -7, 9]), {}, REFUSED),
    "a negative that is missing": (
        *(_frame([5, -1, 9]), {"missing": [-1]}),
        {CODES[0]: 5, CODES[2]: 9},
    ),
    "a count that is missing": (_frame([5.0, np.nan, 9.0]), {}, REFUSED),
    "a nullable that is missing": (_frame(pandas.array([5, None, 9], "Int64")), {}, REFUSED),
    "missing named": (
        *(_frame(["5", "", "9"]), {"missing": [""]}),
        {CODES[0]: 5, CODES[2]: 9},
    ),
    "a mark": (_frame(["5", "x", "9"]), {}, REFUSED),
    "a cell twice": (_frame([5, 7, 9], [*CODES[:2], CODES[0]]), {}, REFUSED),
    "a cell twice, added up": (
        *(_frame([5, 7, 9], [*CODES[:2], CODES[0]]), {"duplicates": "sum"}),
        {CODES[0]: 14, CODES[1]: 7},
    ),
    "a cell outside": (_frame([5, 7, 9], [*CODES[:2], "624100001"]), {}, REFUSED),
    "a cell outside, dropped": (
        *(_frame([5, 7, 9], [*CODES[:2], "624100001"]), {"outside": "drop"}),
        {CODES[0]: 5, CODES[1]: 7},
    ),
    "no code": (_frame([5, 7, 9], [*CODES[:2], None]), {}, REFUSED),
    "a code of another kind": (_frame([5, 7, 9], [*CODES[:2], "5339"]), {}, REFUSED),
    "dates as counts": (_frame([datetime.date(2020, 1, day) for day in (5, 7, 9)]), {}, REFUSED),
    "truths as counts": (_frame([True, False, True]), {}, REFUSED),
    "selected by a number": (
        *(_frame([5, 7, 9], year=[2015, 2020, 2020]), {"where": {"year": 2020}}),
        {CODES[1]: 7, CODES[2]: 9},
    ),
    "selected by a text": (
        *(_frame([5, 7, 9], sex=["f", "m", "f"]), {"where": {"sex": "f"}}),
        {CODES[0]: 5, CODES[2]: 9},
    ),
    "no such column": (_frame([5, 7, 9]).rename(columns={"n": "people"}), {}, REFUSED),
    "another letter case": (_frame([5, 7, 9]).rename(columns={"n": "N"}), {}, WHOLE),
}


LOST = {
    ("json lines", "no rows"): "a file without lines names no columns",
    ("xlsx", "large counts"): "a workbook keeps numbers as binary64",
}
"""What a format cannot hold, so that it is refused there."""


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("door", DOORS)
def test_a_content_is_the_same_table_through_every_door_or_refused(tmp_path, door, content):
    frame, options, wanted = CONTENTS[content]
    given = DOORS[door](frame, tmp_path)
    call = {"grid": MESH, "code": "code", "value": "n", **options}
    if wanted is REFUSED or (door, content) in LOST:
        with pytest.raises(GeodpError):
            geodp.read_table(given, **call)
        return
    table = geodp.read_table(given, **call)
    codes = MESH.places[0].format(*MESH.decode(table.key))
    assert dict(zip(codes.tolist(), table.count.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("door", DOORS)
def test_labels_have_a_column_through_every_door(tmp_path, door):
    frame = _frame([5, 7, 9], sex=["f", "m", "f"])
    call = {"grid": SEXES, "code": "code", "value": "n", "columns": {"sex": "sex"}}
    table = geodp.read_table(DOORS[door](frame, tmp_path), **call)
    assert SEXES.decode(table.key)[2].tolist() == [0, 1, 0]
    with refuses(InputError, r"label-not-of-attribute: \bf, m\b"):
        geodp.read_table(DOORS[door](frame.assign(sex="x"), tmp_path), **call)


SHAPES = {
    "geopandas": lambda frame, _: frame,
    "geoarrow": lambda frame, _: pa.table(frame.to_arrow()),
    "parquet": written("parquet", lambda frame, path: frame.to_parquet(path)),
    **{
        ending: written(ending, lambda frame, path: frame.to_file(path))
        for ending in ("gpkg", "fgb", "shp", "geojson")
    },
}


def outlines(n=6):
    """Cells of METRES with people, as outlines."""
    row, col = np.divmod(np.arange(n) * 7, 12)
    west, south, east, north = METRES.places[0].edges_at(row, col)
    boxes = shapely.box(west, south, east, north)
    return geopandas.GeoDataFrame({"n": np.arange(n) + 3}, geometry=boxes, crs="EPSG:3035")


@pytest.mark.parametrize("door", SHAPES)
@pytest.mark.parametrize("form", ["outlines", "centres", "in degrees"])
def test_geometries_that_are_cells_are_read_alike_through_every_door(tmp_path, door, form):
    frame = outlines()
    if form == "centres":
        frame = frame.set_geometry(frame.centroid)
    elif form == "in degrees":
        frame = frame.to_crs("EPSG:4326")
    table = geodp.read_table(SHAPES[door](frame, tmp_path), grid=METRES, value="n")
    assert sorted(table.count.tolist()) == [3, 4, 5, 6, 7, 8]
    assert sorted(zip(*METRES.decode(table.key).tolist(), strict=True)) == sorted(
        divmod(number * 7, 12) for number in range(6)
    )


FAULTS = ("wide", "triangle", "line", "empty", "another CRS", "no CRS")
IMPOSSIBLE = (("line", "shp"), ("line", "fgb"), ("empty", "fgb"))
"""Faults that no file of the format can hold."""


@pytest.mark.parametrize(
    ("fault", "door"),
    [
        (fault, door)
        for fault in FAULTS
        for door in SHAPES
        if door != "geojson" and (fault, door) not in IMPOSSIBLE
    ],
)
def test_geometries_that_are_no_cells_are_refused_through_every_door(tmp_path, door, fault):
    frame = outlines()
    whole = frame.geometry.iloc[2]
    west, south, east, north = whole.bounds
    bad = {
        "wide": whole.buffer(400),
        "triangle": shapely.Polygon([(west, south), (east, south), (east, north)]),
        "line": shapely.LineString([(west, south), (east, north)]),
        "empty": shapely.Polygon(),
    }
    if fault in bad:
        frame.loc[2, "geometry"] = bad[fault]
    elif fault == "another CRS":
        frame = frame.set_crs("EPSG:4301", allow_override=True)
    else:
        frame = frame.set_crs(None, allow_override=True)
    with refuses(
        InputError, "geometries-crs-differs|geometries-crs-untold|geometry-missing|geometry-no-cell"
    ):
        geodp.read_table(SHAPES[door](frame, tmp_path), grid=METRES, value="n")


@pytest.mark.parametrize("door", SHAPES)
def test_points_are_counted_in_the_cell_that_holds_them_through_every_door(tmp_path, door):
    rng = np.random.default_rng(3)
    points = geopandas.points_from_xy(rng.uniform(4e6, 4.012e6, 50), rng.uniform(2.992e6, 3e6, 50))
    frame = geopandas.GeoDataFrame({"who": np.arange(50)}, geometry=points, crs="EPSG:3035")
    table = geodp.read_points(SHAPES[door](frame, tmp_path), grid=METRES)
    index = np.array(METRES.places[0].locate(frame.geometry.x, frame.geometry.y))
    wanted = geodp.CountTable.from_index(METRES, index, np.ones(50, np.int64))
    assert (table.key == wanted.key).all()
    assert (table.count == wanted.count).all()


def test_points_without_a_crs_are_asked_for_it():
    frame = geopandas.GeoDataFrame(geometry=geopandas.points_from_xy([4e6], [3e6]))
    with refuses(UsageError, "geometries-without-crs"):
        geodp.read_points(frame, grid=METRES)


def test_of_several_geometries_the_active_one_is_read():
    frame = outlines()
    frame["middle"] = frame.geometry.translate(1e6)
    table = geodp.read_table(frame, grid=METRES, value="n")
    assert int(table.count.sum()) == 33
    moved = frame.set_geometry(frame.middle.translate(250))
    with refuses(InputError, "geometry-no-cell"):
        geodp.read_table(moved, grid=METRES, value="n")


def test_geometries_in_another_encoding_are_refused_with_the_remedy():
    lines = outlines()
    lines = lines.set_geometry(lines.boundary)
    native = pa.table(lines.to_arrow(geometry_encoding="geoarrow"))
    with refuses(InputError, "geometry-encoding"):
        geodp.read_table(native, grid=METRES, value="n")
