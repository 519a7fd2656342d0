"""Both counts in one table: every cell once, and mean sizes only where they may be believed."""

import csv

import geopandas

import geodp
from geodp.features.households.formats.joint import BELIEVED, max_error, write_joint
from tests.features.households.test_publish import publish, sizes_on


def rows_of(release, folder):
    files = write_joint(release.persons, release.households, folder)
    with (folder / files[0].name).open(newline="") as file:
        return files, [*csv.DictReader(file)]


def test_every_cell_has_both_counts(tmp_path):
    for protect in ("person", "household"):
        release = publish(by_size=sizes_on(), protect=protect)
        files, rows = rows_of(release, tmp_path)
        assert [int(row["persons"]) for row in rows] == release.persons.table.count.tolist()
        assert [int(row["households"]) for row in rows] == release.households.table.count.tolist()
        assert files[0].extras["columns"] == tuple(rows[0])


def test_mean_sizes_are_shown_where_households_are_well_above_their_error(tmp_path):
    release = publish(by_size=sizes_on())
    limit, (_, rows) = BELIEVED * max_error(release.households), rows_of(release, tmp_path)
    shown = [row["mean_size"] != "" for row in rows]
    assert shown == [int(row["households"]) >= limit for row in rows]
    assert any(shown)
    assert not all(shown)
    for row in rows:
        if row["mean_size"]:
            mean = int(row["persons"]) / int(row["households"])
            assert abs(float(row["mean_size"]) - mean) <= 0.0005 + 1e-9


def test_parquet_has_the_same_and_the_outlines(tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))
    release = publish(by_size=sizes_on(grid, scale=9))
    files, rows = rows_of(release, tmp_path)
    assert [one.name.partition(".")[2] for one in files] == ["csv", "csvt", "parquet"]
    found = geopandas.read_parquet(tmp_path / files[2].name)
    assert found.crs == "EPSG:6668"
    assert found["households"].tolist() == release.households.table.count.tolist()
    assert found["mean_size"].notna().tolist() == [row["mean_size"] != "" for row in rows]
    assert found.geometry.is_valid.all()


def test_codes_name_the_cells(tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))
    _, rows = rows_of(publish(by_size=sizes_on(grid, scale=9)), tmp_path)
    assert len({row["code"] for row in rows}) == len(rows)
    assert all(len(row["code"]) == 8 for row in rows)
