"""A snapshot of a series may be empty; a file, a folder or a value that somebody names may not."""

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import rasterio
import xarray

import geodp
from geodp.errors import UsageError
from geodp.table.reading import SERIES_ROWS_FACT
from tests.refusals import refuses

GRID = geodp.Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, 1000, 3e6))
HOURS = range(4)
TIMES = [f"2024-05-31T{hour:02}" for hour in HOURS]
DAY = pd.DataFrame(
    [(1, col, hour, kind, 50) for hour in (0, 1, 3) for col in range(4) for kind in "ab"],
    columns=["row", "col", "hour", "kind", "n"],
)
"""Nobody is counted at 2."""

PLACE = {"row": "row", "col": "col"}


def read(given, where=None, **more):
    asked = {"grid": GRID, "value": "n", "columns": PLACE, "duplicates": "sum"}
    return geodp.read_table(given, **asked, where=where or {}, **more)


def publish(tables, **more):
    asked = {"person": "all", "epsilon": 4, "contribution": 1, "method": "laplace"}
    return geodp.publish_series(tables, times=TIMES[: len(tables)], **asked, **more)


def require_published(tables):
    series = publish(tables)
    assert len(series) == len(tables)
    for release in series:
        assert SERIES_ROWS_FACT in release.card().guarantee.not_protected


def require_refused(tables, words):
    with refuses(UsageError, words) as caught:
        publish(tables)
    assert "--allow-empty, allow_empty=True" in str(caught.value)
    assert SERIES_ROWS_FACT not in publish(tables, allow_empty=True)[0].public_facts


WRITTEN = {
    "numbers": ("{}", "{}"),
    "two digits": ("{:02}", "{}"),
    "time of day": ("{:02}:00", "{:02}:00"),
    "moment": ("2024-05-31T{:02}:00+09:00", "2024-05-30T{:02}:00+00:00"),
}


@pytest.mark.parametrize("form", ["csv", "parquet", "jsonl", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("written", WRITTEN)
def test_an_hour_of_a_file_or_frame_that_has_others_may_be_empty(tmp_path, form, written):
    column, value = WRITTEN[written]
    given = DAY.assign(hour=DAY.hour.map(column.format))
    path = tmp_path / f"day.{form}"
    if form == "csv":
        given.to_csv(path, index=False)
    elif form == "parquet":
        given.to_parquet(path)
    elif form == "jsonl":
        given.to_json(path, orient="records", lines=True)
    else:
        path = {"pandas": pd.DataFrame, "polars": polars.from_pandas, "arrow": pa.table}[form](
            given
        )
    ahead = 15 if written == "moment" else 0
    tables = [read(path, {"hour": value.format(hour + ahead)}) for hour in HOURS]
    assert [table.key.size for table in tables] == [4, 4, 0, 4]
    require_published(tables)


@pytest.mark.parametrize("where", [{"kind": "A"}, {"kind": "a", "row": 9}])
@pytest.mark.parametrize("form", ["file", "frame"])
def test_a_value_that_all_hours_share_must_add_somebody(tmp_path, where, form):
    given = DAY if form == "frame" else tmp_path / "day.csv"
    if form == "file":
        DAY.to_csv(given, index=False)
    tables = [read(given, {"hour": hour, **where}) for hour in HOURS]
    require_refused(
        tables, "file-none-selected: No other snapshot" if form == "file" else "snapshot-term-unmet"
    )


def test_a_day_that_is_named_for_several_hours_must_add_somebody():
    days = pd.concat([DAY.assign(day="2024-05-31"), DAY.assign(day="2024-06-01")])
    hours = [("2024-05-31", 0), ("2024-05-31", 3), ("2024-06-02", 0), ("2024-06-02", 3)]
    tables = [read(days, {"day": day, "hour": hour}) for day, hour in hours]
    require_refused(tables, "snapshot-term-unmet: day=2024-06-02")
    tables[3] = read(days, {"day": "2024-06-01", "hour": 3})
    require_published(tables)


def test_a_spelling_in_quotation_marks_must_add_somebody(tmp_path):
    DAY.to_csv(tmp_path / "day.csv", index=False)
    tables = [read(tmp_path / "day.csv", {"hour": f'"{hour}"'}) for hour in HOURS]
    require_refused(tables, 'snapshot-term-unmet: hour="2"')


EMPTY_FILES = {
    "no rows": (DAY[:0], "file-without-rows: h2.csv"),
    "another place": (DAY[:8].assign(row=90), "file-none-in-domain: h2.csv"),
    "another spelling": (DAY[:8].assign(kind="A"), "file-none-selected: h2.csv.*kind=a"),
}


@pytest.mark.parametrize("kind", EMPTY_FILES)
def test_a_file_of_one_snapshot_must_add_somebody(tmp_path, kind):
    rows, words = EMPTY_FILES[kind]
    for hour in HOURS:
        (rows if hour == 2 else DAY[DAY.hour == hour]).to_csv(
            tmp_path / f"h{hour}.csv", index=False
        )
    files = [tmp_path / f"h{hour}.csv" for hour in HOURS]
    require_refused([read(file, {"kind": "a"}, outside="drop") for file in files], words)


def test_one_of_several_files_must_add_somebody_to_any_snapshot(tmp_path):
    west, east = tmp_path / "west.csv", tmp_path / "east.csv"
    DAY[DAY.col < 2].to_csv(west, index=False)
    DAY[(DAY.col > 1) & (DAY.hour == 3)].to_csv(east, index=False)
    require_published([read([west, east], {"hour": hour}) for hour in HOURS])
    DAY[DAY.col > 9].to_csv(east, index=False)
    require_refused(
        [read([west, east], {"hour": hour}) for hour in HOURS], "file-without-rows: east.csv"
    )


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (None, "snapshot-folders-say-none: 2024-05-31T02"),
        (DAY[:0], "file-without-rows: hour=2/part.parquet"),
        (DAY[:8].assign(row=90), "file-none-in-domain: hour=2/part.parquet"),
        (DAY[:8], ""),
    ],
)
def test_a_partition_that_a_snapshot_names_must_add_somebody(tmp_path, second, words):
    for hour in HOURS:
        rows = second if hour == 2 else DAY[DAY.hour == hour]
        if rows is not None:
            (tmp_path / f"hour={hour}").mkdir()
            rows.drop(columns="hour").to_parquet(tmp_path / f"hour={hour}" / "part.parquet")
    tables = [read(tmp_path, {"hour": hour}, outside="drop") for hour in HOURS]
    require_refused(tables, words) if words else require_published(tables)


def array(counts, name):
    axis = 500 + 1000 * np.arange(4)
    places = {"y": 3e6 + axis, "x": 4e6 + axis}
    found = xarray.DataArray(counts, places, ("y", "x"), name)
    return geodp.read(found, GRID)


@pytest.mark.parametrize("make", ["dense", "array", "frame", "points"])
def test_what_is_in_memory_may_be_empty_but_not_all_of_it(make):
    def table(counts, number):
        if make == "dense":
            return geodp.CountTable.from_dense(counts, GRID)
        if make == "array":
            return array(counts, f"hour {number}")
        row, col = np.nonzero(counts)
        if make == "frame":
            return read(pd.DataFrame({"row": row, "col": col, "n": counts[row, col]}))
        where = pd.DataFrame({"x": 4e6 + 500 + 1000 * col, "y": 3e6 + 500 + 1000 * row})
        return geodp.read_points(where, grid=GRID, x="x", y="y")

    full, nobody = np.full((4, 4), 9), np.zeros((4, 4), int)
    require_published([table(one, number) for number, one in enumerate((nobody, full, nobody))])
    require_refused([table(nobody, number) for number in range(2)], "series-empty")


@pytest.mark.parametrize(("value", "words"), [(0, ""), (-1, "file-without-rows: r1.tif")])
def test_a_raster_of_zeros_is_an_empty_hour_and_one_without_values_none(tmp_path, value, words):
    for number, count in enumerate((9, value, 9)):
        profile = {"driver": "GTiff", "height": 4, "width": 4, "count": 1, "dtype": "int32"}
        placed = {"crs": GRID.places[0].crs, "nodata": -1}
        profile |= placed | {"transform": rasterio.Affine(1000, 0, 4e6, 0, -1000, 3.004e6)}
        with rasterio.open(tmp_path / f"r{number}.tif", "w", **profile) as file:
            file.write(np.full((4, 4), count, "int32"), 1)
    tables = [geodp.read_raster(tmp_path / f"r{number}.tif", grid=GRID) for number in range(3)]
    require_refused(tables, words) if words else require_published(tables)


def test_rows_that_say_zero_are_an_empty_hour_of_a_file_of_its_own(tmp_path):
    for hour in HOURS[:3]:
        rows = DAY[:8].assign(n=0) if hour == 2 else DAY[DAY.hour == hour]
        rows.to_csv(tmp_path / f"h{hour}.csv", index=False)
    require_published([read(tmp_path / f"h{hour}.csv") for hour in HOURS[:3]])


def test_labels_of_a_snapshot_may_be_empty():
    grid = GRID.with_attribute("kind", ["a", "b", "c"])
    rows = DAY.assign(n=range(len(DAY)))
    asked = {"grid": grid, "value": "n", "columns": {**PLACE, "kind": "kind"}}
    tables = [geodp.read_table(rows, **asked, where={"hour": hour}) for hour in HOURS]
    require_published(tables)
