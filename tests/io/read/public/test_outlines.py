"""Files of outlines as tables of units: every form and CRS, and what is asked."""

import json

import geopandas
import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.outlines import Outlines
from geodp.io.read.public.units import read_units
from geodp.io.verify.verify import verify
from tests import tracts
from tests.refusals import refuses

CODES = tracts.CODES
ENDINGS = ("gpkg", "shp", "zip", "geojson", "parquet", "fgb")


@pytest.mark.parametrize("crs", [4326, 2180])  # the last one: northing first
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_form_gives_codes_as_texts_and_outlines_in_its_crs(ending, crs, tmp_path):
    table = tracts.frame(crs)
    path = tracts.write(table, tmp_path / f"tracts.{ending}")
    grid = read_units(path, source="made up")
    assert grid.hierarchy.levels == ("GEOID",)
    assert [*grid.hierarchy.codes[-1]] == tracts.CODES
    assert grid.outlines.crs == f"EPSG:{crs}"
    assert grid.outlines.bounds == pytest.approx(table.total_bounds, abs=1e-8)


def test_levels_are_named(tmp_path):
    assert tracts.grid_in(tmp_path).hierarchy.levels == ("county", "GEOID")


RING = shapely.Polygon([(177, -19), (-178, -19), (-178, -16), (177, -16)])


def with_shape(shape, crs=25832):
    """Return what puts another outline in place of the fifth one."""

    def change(table):
        table = table.to_crs(crs)
        table.loc[4, "geometry"] = shape
        return table

    return change


AMBIGUOUS = "units-codes-ambiguous: GEOID, NAME.*--units-columns GEOID"
ONE = {"columns": ("GEOID",)}
REFUSED = {
    # What is done to a table of outlines, how it is read, and the rule.
    "names": (lambda t: t.assign(NAME=[f"tract {code}" for code in t.GEOID]), {}, AMBIGUOUS),
    "no codes": (
        lambda t: t.drop(columns="GEOID").assign(sort="urban"),
        {},
        "units-codes-missing: county, sort",
    ),
    "twice": (lambda t: t.assign(GEOID=[*CODES[:-1], CODES[0]]), ONE, "unit-repeated"),
    "points": (lambda t: t.set_geometry(t.geometry.centroid), ONE, "unit-no-polygon"),
    "flat": (with_shape(shapely.Polygon()), ONE, "unit-no-polygon"),
    "gone": (with_shape(None), ONE, "geometry-missing"),
    "across": (with_shape(RING, 4326), ONE, "outline-jumps"),
    **{
        name: (lambda t: t, {**ONE, "other": name}, "other-unit-name")
        for name in ("a,b", "two\nlines", " ", CODES[0])
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_unit_is_refused_and_what_is_ambiguous_asked(case, tmp_path):
    change, given, rule = REFUSED[case]
    path = tracts.write(change(tracts.frame()), tmp_path / "given.gpkg")
    with refuses((InputError, UsageError), rule):
        read_units(path, source="made up", **given)


def test_no_code_is_a_fraction(tmp_path):
    numbers = tracts.frame().assign(ALAND=[0.5 + n for n in range(12)])
    path = tracts.write(numbers, tmp_path / "numbers.gpkg")
    assert read_units(path, source="made up").hierarchy.levels == ("GEOID",)


@pytest.mark.parametrize("crs", [4326, 25832])
@pytest.mark.parametrize("columns", [(), ("GEOID", "county")])
def test_a_unit_that_holds_another_is_refused_with_both(crs, columns, tmp_path):
    table = tracts.frame(crs)
    table.loc[7, "geometry"] = table.geometry.iloc[[2, 7]].union_all()
    two, seven = table.GEOID.iloc[2], table.GEOID.iloc[7]
    table = table if columns else table.drop(columns="county")
    said = f"row 8: .*unit {seven} overlaps that of {two} by.*--units-columns"
    path = tracts.write(table, tmp_path / "given.gpkg")
    with refuses(InputError, f"units-overlap: {said}"):
        read_units(path, source="made up", columns=columns)


def test_a_unit_for_other_codes_lies_nowhere(tmp_path):
    path = tracts.write(tracts.frame(), tmp_path / "tracts.gpkg")
    grid = read_units(path, source="made up", columns=("GEOID", "county"), other="abroad")
    plain = read_units(path, source="made up", columns=("GEOID", "county"))
    at = grid.names.find(["abroad"])[1, 0]
    assert grid.outlines is None
    known = grid.known_outlines
    assert np.flatnonzero(~known.located).tolist() == [at]
    assert known.bounds == plain.outlines.bounds
    assert known.sha256 != plain.outlines.sha256
    assert np.array_equal(np.delete(known.boxes, at, axis=0), plain.outlines.boxes)
    # All but the outlines is as if the table had none; these are listed and read back.
    table = geodp.CountTable.from_index(grid, np.stack([[0, 0], [0, at]]), [90, 70])
    release = geodp.publish(table, epsilon=1, contribution=1)
    release.write(tmp_path / "out", name="residents")
    assert all(one.ok for one in verify(tmp_path / "out"))
    again = geodp.open(tmp_path / "out").grid
    assert again == grid
    assert again.known_outlines.sha256 == known.sha256
    listed = pq.read_table(tmp_path / "out" / "public" / "residents.outlines.parquet")
    assert sorted(listed["code"].to_pylist()) == sorted(tracts.CODES)


def test_an_empty_outline_is_refused_by_its_number():
    box = shapely.box(0, 0, 1, 1)
    with refuses(UsageError, "outline-empty: Outline 2"):
        Outlines.of(np.array([box, shapely.Polygon()], object), "EPSG:4326")
    with refuses(UsageError, "outlines-none"):
        Outlines.of(np.array([None], object), "EPSG:4326")
    assert Outlines.of(np.array([box, None], object), "EPSG:4326").located.tolist() == [True, False]


def test_outlines_need_a_crs(tmp_path):
    table = geopandas.GeoDataFrame({"id": ["a"]}, geometry=[shapely.box(0, 0, 1, 1)])
    table.to_parquet(tmp_path / "a.parquet")
    with refuses(InputError, "outlines-without-crs"):
        read_units(tmp_path / "a.parquet", source="made up")


def test_one_of_several_layers_is_asked_for(tmp_path):
    path = tracts.write(tracts.frame(), tmp_path / "two.gpkg")
    tracts.frame().to_file(path, layer="other")
    with refuses(InputError, "layer-missing: units.layer"):
        read_units(path, source="made up")


def test_a_ring_that_crosses_itself_is_made_valid(tmp_path):
    table = tracts.frame()
    bow = shapely.Polygon([(4.2e6, 3.03e6), (4.21e6, 3.04e6), (4.21e6, 3.03e6), (4.2e6, 3.04e6)])
    table.loc[0, "geometry"] = bow
    grid = read_units(tracts.write(table, tmp_path / "a.gpkg"), source="made up")
    assert grid.outlines.shapes[0].is_valid
    assert grid.outlines.shapes[0].area == pytest.approx(5e7)


def test_a_crs_that_nobody_knows_is_refused(tmp_path):
    path = tmp_path / "a.geojson"
    named = {"type": "name", "properties": {"name": "nonsense"}}
    document = json.loads(tracts.frame(4326).to_json()) | {"crs": named}
    path.write_text(json.dumps(document))
    with refuses(InputError, "outlines-crs-unknown"):
        read_units(path, source="made up")
