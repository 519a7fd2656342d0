"""What a card states of how its input was read: what was said of it, and nothing of the records."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rasterio
import shapely
from rasterio.transform import from_origin

import geodp
from geodp.release.report.markdown import markdown
from geodp.table.reading import (
    StatedCounts,
    StatedLayout,
    StatedReading,
    describe_facts,
    join_descriptions,
)
from geodp.table.source import Fact

MESHES = geodp.Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))
SEXES = MESHES.with_attribute("sex", ["m", "f"])
NORTH_UP = (1_000.0, 0.0, 4_000_000.0, 0.0, -1_000.0, 3_064_000.0)
PLANE = geodp.Grid.regular((64, 64), crs="EPSG:3035", transform=NORTH_UP)
CODES = ["53394611", "53394612", "53394613"]
WIDE = {"mesh": CODES, "P_F": [5, 6, 7], "P_M": [8, 9, 1]}
LONG = {"mesh": CODES, "Geschlecht": ["m", "f", "f"], "n": [3, 4, 5]}
POINTS = {"id": [1, 2, 2], "lon": [139.7, 139.8, 139.8], "lat": [35.6, 35.7, 35.7]}
ZENSUS = {
    "Gitter_ID_1km": ["CRS3035RES1000mN2689000E4337000"],
    "x_mp_1km": [4_337_500],
    "y_mp_1km": [2_689_500],
    "Einwohner": [12],
}
PAGE = "https://www.zensus2011.de/DE/Home/Aktuelles/DemografischeGrunddaten.html"
LAYOUT = StatedLayout("zensus2011", "Zensus 2011, grid cells of Germany", PAGE)


def read_by(places: dict[str, str], *counts: Any, **more: Any) -> StatedReading:
    """Return what a table states: columns of places, and those of counts, with their labels."""
    each = tuple(one if isinstance(one, StatedCounts) else StatedCounts(one) for one in counts)
    return StatedReading(form="table", places=places, counts=each, **more)


CODE, ENDS = {"code": "mesh"}, {"origin": "from", "destination": "to"}
BY_MESH = {"grid": MESHES, "code": "mesh"}
GERMANY = geodp.Grid.mesh("inspire:1km", bounds=(4_000_000, 2_600_000, 4_700_000, 3_600_000))
TABLES: dict[str, tuple[dict[str, Any], dict[str, Any], StatedReading]] = {
    "a column of counts": (WIDE, BY_MESH | {"value": "P_M"}, read_by(CODE, "P_M")),
    "another spelling of the names": (
        WIDE,
        {"grid": MESHES, "code": "MESH", "value": "p_m"},
        read_by({"code": "MESH"}, "p_m"),
    ),
    "columns that are the labels": (
        WIDE,
        BY_MESH | {"value": ["P_F", "P_M"], "by": "sex"},
        read_by(CODE, *(StatedCounts(one, (one,)) for one in ("P_F", "P_M"))),
    ),
    "columns that are paired by their names": (
        WIDE,
        BY_MESH | {"grid": SEXES, "value": ["P_F", "P_M"]},
        read_by(CODE, StatedCounts("P_M", ("m",)), StatedCounts("P_F", ("f",))),
    ),
    "columns that are paired by the call": (
        WIDE,
        BY_MESH | {"grid": SEXES, "value": {"f": "P_M", "m": "P_F"}},
        read_by(CODE, StatedCounts("P_F", ("m",)), StatedCounts("P_M", ("f",))),
    ),
    "a column of labels": (
        LONG,
        BY_MESH | {"grid": SEXES, "value": "n", "columns": {"sex": "Geschlecht"}},
        read_by(CODE, "n", labels={"sex": "Geschlecht"}),
    ),
    "coordinates of corners": (
        {"E": [4_000_000], "N": [3_000_000], "n": [4]},
        {"grid": PLANE, "x": "E", "y": "N", "value": "n", "anchor": "corner"},
        read_by({"x": "E", "y": "N"}, "n", anchor="corner"),
    ),
    "pairs": (
        {"from": CODES, "to": CODES, "n": [1, 2, 3]},
        {"grid": MESHES.pairs(), "value": "n", "columns": ENDS},
        read_by(ENDS, "n"),
    ),
    "a layout that is known": (
        ZENSUS,
        {"grid": GERMANY, "code": "Gitter_ID_1km", "value": "Einwohner"},
        read_by({"code": "Gitter_ID_1km"}, "Einwohner", layout=LAYOUT),
    ),
}


def stated(table: geodp.CountTable) -> StatedReading | None:
    assert table.reading is not None
    return table.reading.public


@pytest.mark.parametrize("door", ["memory", "CSV", "Parquet"])
@pytest.mark.parametrize("name", TABLES)
def test_every_door_states_of_a_table_what_was_said(name: str, door: str, tmp_path: Path) -> None:
    columns, options, expected = TABLES[name]
    given: Any = pa.table(columns)
    if door == "CSV":
        lines = zip(*(map(str, column) for column in columns.values()), strict=True)
        given = tmp_path / "t.csv"
        given.write_text("\n".join([",".join(columns), *map(",".join, lines)]) + "\n")
    elif door == "Parquet":
        pq.write_table(given, tmp_path / "t.parquet")
        given = tmp_path / "t.parquet"
    table = geodp.read_table(given, **options)
    assert stated(table) == expected
    release = geodp.publish(table, epsilon=1, contribution=2)
    assert release.card().reading == expected


def test_snapshots_state_what_is_true_of_all_of_them() -> None:
    first = geodp.read_table(pa.table(WIDE), grid=MESHES, code="mesh", value="P_M")
    other = geodp.read_table(pa.table(WIDE), grid=MESHES, code="mesh", value="P_F")
    terms: dict[str, Any] = {"times": ["2019", "2020"], "person": "all", "epsilon": 1}
    alike = geodp.publish_series([first, first], contribution=1, **terms)
    assert [one.card().reading for one in alike] == [stated(first)] * 2
    unlike = geodp.publish_series([first, other], contribution=1, **terms)
    assert [one.card().reading for one in unlike] == [None] * 2


def test_an_official_mesh_file_states_the_titles_of_its_header(tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("KEY_CODE,T1\n,人口（総数）\n53394611,30\n", encoding="utf-8")
    table = geodp.read_table(path, grid=MESHES)
    found = stated(table)
    assert found is not None
    assert (found.places, found.counts) == ({"code": "KEY_CODE"}, (StatedCounts("人口（総数）"),))


def test_geometries_are_stated_by_their_column() -> None:
    wkb = shapely.to_wkb(shapely.points([139.7], [35.6]))
    kind = pa.field("geom", pa.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})
    rows = pa.Table.from_arrays([pa.array(wkb, pa.binary())], schema=pa.schema([kind]))
    found = stated(geodp.read_points(rows, grid=MESHES, crs="EPSG:4326"))
    assert found == StatedReading(form="points", places={"geometry": "geom"}, crs="EPSG:4326")


def test_points_state_coordinates_persons_and_labels() -> None:
    table = geodp.read_points(pa.table(POINTS), grid=MESHES, x="lon", y="lat", person="id")
    assert stated(table) == StatedReading(
        form="points", places={"x": "lon", "y": "lat"}, person="id"
    )
    rows = pa.table({**POINTS, "s": ["m", "f", "f"]})
    labelled = geodp.read_points(rows, grid=SEXES, x="lon", y="lat", columns={"sex": "s"})
    assert stated(labelled) == StatedReading(
        form="points", places={"x": "lon", "y": "lat"}, labels={"sex": "s"}
    )


def test_a_raster_states_its_band_and_what_one_is(tmp_path: Path) -> None:
    path = tmp_path / "r.tif"
    options: dict[str, Any] = {"driver": "GTiff", "dtype": "int32", "count": 2, "crs": "EPSG:3035"}
    place = from_origin(4_000_000, 3_064_000, 1_000, 1_000)
    with rasterio.open(path, "w", width=64, height=64, transform=place, **options) as file:
        file.write(np.full((2, 64, 64), 20, np.int32))
    found = stated(geodp.read_raster(path, grid=PLANE, band=2, value_unit=10))
    assert found == StatedReading(
        form="raster", counts=(StatedCounts("band 2 of 2"),), unit_value="10"
    )


def test_an_array_states_its_name_its_coordinates_and_its_unit() -> None:
    xarray = pytest.importorskip("xarray")
    x = 4_000_500 + 1_000 * np.arange(64)
    y = 3_000_500 + 1_000 * np.arange(64)
    array = xarray.DataArray(
        np.full((64, 64), 3), {"n": y, "e": x}, ("n", "e"), "residents", {"units": "people"}
    )
    found = stated(geodp.read(array, PLANE, x="e", y="n"))
    assert found == StatedReading(
        form="array",
        places={"x": "e", "y": "n"},
        counts=(StatedCounts("residents"),),
        unit="people",
    )


def test_files_that_are_read_in_two_ways_state_nothing(tmp_path: Path) -> None:
    for name, title in (("a", "人口"), ("b", "男")):
        text = f"KEY_CODE,T1\n,{title}\n5339461{ord(name) - 96},30\n"
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    table = geodp.read_table([tmp_path / "a.txt", tmp_path / "b.txt"], grid=MESHES)
    assert stated(table) is None
    assert geodp.publish(table, epsilon=1, contribution=2).card().reading is None


def test_what_arrays_hold_states_nothing() -> None:
    table = geodp.CountTable.from_dense(np.full((8, 8), 9), geodp.Grid.regular((8, 8)))
    release = geodp.publish(table, epsilon=1, contribution=1)
    assert "reading" not in release.card().to_json()


@pytest.mark.parametrize("known_by", ["values", "default"])
def test_nothing_that_was_inferred_is_stated(known_by: Any) -> None:
    facts = [Fact("unit", "people", known_by), Fact("band", "1 of 1", known_by)]
    assert describe_facts("raster", facts) == StatedReading(form="raster")


def test_a_statement_of_several_is_one_or_none() -> None:
    one = StatedReading(form="table")
    assert join_descriptions(iter([one, one])) == one
    assert join_descriptions([one, StatedReading(form="points")]) is None


def test_sentences_say_all_of_it() -> None:
    said = StatedReading(
        form="raster",
        places={"x": "e", "y": "n"},
        labels={"sex": "Sex"},
        counts=(StatedCounts("a", ("m", "old")),),
        layout=LAYOUT,
        anchor="centre",
        crs="EPSG:4326",
        person="id",
        unit="people",
        unit_value="10",
    )
    assert said.list_sentences() == [
        "Read from a raster in the layout zensus2011: Zensus 2011, grid cells of Germany "
        f"({PAGE}).",
        "Places: x in column e, y in column n (the cell's centre), in EPSG:4326.",
        "Labels: sex in column Sex.",
        "Counts: a (m, old).",
        "Persons: in column id.",
        "Unit of the counts, as the input says: people.",
        "Value of one: 10.",
    ]
    release = geodp.publish(geodp.CountTable.from_keys(MESHES, [1], [9]), epsilon=1, contribution=1)
    text = markdown(replace(release.card(), reading=said))
    assert all(f"- {sentence}\n" in text for sentence in said.list_sentences())
