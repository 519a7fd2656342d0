"""Inspection tells the schema of a file, and nothing about the people in it."""

from pathlib import Path

import geopandas
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from geodp.errors import UsageError
from geodp.io.read.layout.inspect import inspect
from tests.io.read.test_readers import BODY, COLUMNS, LABELS, official
from tests.refusals import refuses


def test_inspection_tells_the_schema_only(tmp_path: Path) -> None:
    path = official(tmp_path, [COLUMNS, LABELS, *BODY])
    (found,) = inspect(path)["tables"]
    assert found["columns"][4] == {"name": "T001", "label": "人口（総数）"}
    assert (found["key"], found["grid"], found["protected"]) == ("KEY_CODE", "jis:half", True)
    assert (found["encoding"], found["delimiter"]) == ("cp932", ",")
    told = {"name", "columns", "protected", "encoding", "delimiter", "geometry", "points"}
    single = {"key", "origin", "destination", "x", "y", "count", "grid", "digits", "own_grid"}
    assert set(found) == told | single | {
        "household",
        "size",
        "households",
        "ends",
        "cells_of_ends",
        "crs",
        "period_columns",
        "whole_periods",
    } | {*["keys", "counts", "times", "persons", "amounts", "grids", "quadkeys"]}


@pytest.mark.parametrize(
    ("name", "codes", "expected"),
    [
        ("KEY_CODE", ["53394611"], "jis:basic"),
        ("mesh_id", ["533946005"], "jis:2km"),
        ("KEY_CODE", ["5339461132"], None),
        ("KEY_CODE", ["53394611", "533946113"], None),
        ("GRD_ID", ["CRS3035RES1000mN2599000E4695000", "1kmN2599E4695"], "inspire:1km"),
        ("GRD_ID", ["1kmN2599E4695", "10kmN259E469"], None),
        ("Gitter_ID_100m", ["100mN26680E43341"], "inspire:100m"),
        ("GRD_ID", ["CRS3035RES1000mN2599000E4695000"], "inspire:1km"),
        ("GRD_ID", ["CRS3035RES300mN2700E2700"], None),
        ("KEY_CODE", ["x"], None),
        ("KEY_CODE", [], None),
    ],
)
def test_the_level_is_told_where_it_is_certain(
    name: str, codes: list[str], expected: str | None, tmp_path: Path
) -> None:
    path = official(tmp_path, [f"{name},n", *(f"{code},1" for code in 2 * codes)])
    assert inspect(path)["tables"][0]["grid"] == expected


@pytest.mark.parametrize(
    ("crs", "told"), [("EPSG:3035", "EPSG:3035"), ("+proj=laea +lat_0=10 +type=crs", "unknown")]
)
def test_the_crs_of_geometries_is_told_by_its_code(tmp_path: Path, crs: str, told: str) -> None:
    frame = geopandas.GeoDataFrame({"n": [3]}, geometry=[shapely.Point(4e6, 3e6)], crs=crs)
    frame.to_parquet(tmp_path / "t.parquet")
    assert inspect(tmp_path / "t.parquet")["tables"][0]["geometry"] == told


def test_inspection_of_parquet_tells_types_and_no_values(tmp_path: Path) -> None:
    """And blanks around names are no part of them, as in texts."""
    parquet = tmp_path / "t.parquet"
    pq.write_table(pa.table({" MESH_ID  ": 2 * ["53394611"], "n": 2 * [123454321]}), parquet)
    (found,) = inspect(parquet)["tables"]
    assert found["columns"] == [
        {"name": "MESH_ID", "type": "string"},
        {"name": "n", "type": "int64"},
    ]
    assert (found["key"], found["grid"]) == ("MESH_ID", "jis:basic")
    assert "123454321" not in str(found)
    raw = official(tmp_path, ["53394611,123454321"], name="raw.csv")
    assert inspect(raw)["tables"][0]["columns"] is None


def test_a_delimiter_that_is_named_divides_the_header(tmp_path: Path) -> None:
    path = official(tmp_path, ["mesh;a,b,c,d", "53394611;1,2,3,4"])
    assert len(inspect(path)["tables"][0]["columns"]) == 4
    (found,) = inspect(path, delimiter=";")["tables"]
    assert (found["delimiter"], found["key"]) == (";", "mesh")


def test_a_frame_is_described_as_a_file_of_it(tmp_path):
    frame = pandas.DataFrame({"mesh": ["53394611", "53394612"] * 9, "n": range(18)})
    frame.to_parquet(tmp_path / "a.parquet")
    (told,) = inspect(frame)["tables"]
    (of_file,) = inspect(tmp_path / "a.parquet")["tables"]
    assert told | {"name": ""} == of_file | {"name": ""}
    assert (told["key"], told["count"], told["grid"]) == ("mesh", "n", "jis:basic")
    kept = inspect(frame[1:])
    assert kept["format"] == "memory"
    assert kept["tables"][0]["counts"] == ["n"]  # and not the numbers of the rows
    with refuses(UsageError, "rows-need-text"):
        inspect(frame, header_row=2)
