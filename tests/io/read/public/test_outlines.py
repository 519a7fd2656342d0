"""Files of outlines as tables of units: every form and CRS, and what is asked."""

import json

import geopandas
import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely
from click.testing import CliRunner

import geodp
from geodp.cli.commands.publish import publish
from geodp.errors import InputError, UsageError
from geodp.grid.outlines import Outlines
from geodp.io.read.public.units import read_units
from geodp.io.verify.verify import verify
from tests import tracts
from tests.refusals import refuses

ENDINGS = ("gpkg", "shp", "zip", "geojson", "parquet", "fgb")


@pytest.mark.parametrize("crs", [4326, 25832, 3035, 2180])  # the last two: northing first
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


def refused(table, tmp_path, code, kind=InputError, **given):
    path = tracts.write(table, tmp_path / "given.gpkg")
    with refuses(kind, code):
        read_units(path, source="made up", **given)


def test_what_is_ambiguous_is_asked_with_the_candidates(tmp_path):
    table = tracts.frame()
    refused(table.assign(NAME=[f"tract {code}" for code in table.GEOID]), tmp_path,
            "units-codes-ambiguous: GEOID, NAME.*--units-columns GEOID")  # fmt: skip
    refused(table.drop(columns="GEOID").assign(sort="urban"), tmp_path,
            "units-codes-missing: county, sort")  # fmt: skip
    numbers = table.assign(ALAND=[0.5 + n for n in range(12)])  # no code is a fraction
    path = tracts.write(numbers, tmp_path / "numbers.gpkg")
    assert read_units(path, source="made up").hierarchy.levels == ("GEOID",)


def test_what_is_no_unit_is_refused_with_its_row(tmp_path):
    table = tracts.frame()
    twice = table.assign(GEOID=[*tracts.CODES[:-1], tracts.CODES[0]])
    refused(twice, tmp_path, "unit-repeated", columns=("GEOID",))
    points = table.set_geometry(table.geometry.centroid)
    refused(points, tmp_path, "unit-no-polygon", columns=("GEOID",))
    flat = table.copy()
    flat.loc[4, "geometry"] = shapely.Polygon()
    refused(flat, tmp_path, "unit-no-polygon", columns=("GEOID",))
    gone = table.copy()
    gone.loc[4, "geometry"] = None
    refused(gone, tmp_path, "geometry-missing", columns=("GEOID",))
    for name in ("a,b", "two\nlines", " ", tracts.CODES[0]):
        refused(table, tmp_path, "other-unit-name", UsageError, columns=("GEOID",), other=name)


@pytest.mark.parametrize("crs", [4326, 25832])
@pytest.mark.parametrize("columns", [(), ("GEOID", "county")])
def test_a_unit_that_holds_another_is_refused_with_both(crs, columns, tmp_path):
    table = tracts.frame(crs)
    table.loc[7, "geometry"] = table.geometry.iloc[[2, 7]].union_all()
    two, seven = table.GEOID.iloc[2], table.GEOID.iloc[7]
    table = table if columns else table.drop(columns="county")
    said = f"row 8: .*unit {seven} overlaps that of {two} by.*--units-columns"
    refused(table, tmp_path, f"units-overlap: {said}", columns=columns)


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


def test_an_outline_that_jumps_across_180_degrees_is_refused(tmp_path):
    table = tracts.frame(4326)
    ring = [(177, -19), (-178, -19), (-178, -16), (177, -16)]
    table.loc[3, "geometry"] = shapely.Polygon(ring)
    refused(table, tmp_path, "outline-jumps", columns=("GEOID",))


def test_a_crs_that_nobody_knows_is_refused(tmp_path):
    path = tmp_path / "a.geojson"
    named = {"type": "name", "properties": {"name": "nonsense"}}
    document = json.loads(tracts.frame(4326).to_json()) | {"crs": named}
    path.write_text(json.dumps(document))
    with refuses(InputError, "outlines-crs-unknown"):
        read_units(path, source="made up")


def test_the_command_takes_a_shapefile_as_it_is_published(tmp_path):
    path = tracts.write(tracts.frame(4326), tmp_path / "tracts.zip")
    rows = "".join(f"{code},{n}\n" for code, n in tracts.COUNTS.items())
    (tmp_path / "counts.csv").write_text(f"GEOID,n\n{rows}")
    done = CliRunner().invoke(publish, [
        str(tmp_path / "counts.csv"), "--grid", f"units:{path}", "--units-source", "made up",
        "--epsilon", "1", "--contribution", "1", "--output", str(tmp_path / "out"),
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out/public/population.outlines.parquet").is_file()
