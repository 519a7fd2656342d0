"""Both counts in one table: every cell once, with intervals, in every format."""

import csv

import geopandas
import numpy as np
import pytest

import geodp
from geodp.kinds.households.households import COLUMNS
from tests.kinds.households.test_publish import publish, sizes_on


def rows_of(release, folder):
    files, _ = release.write_joint(folder)
    with (folder / files[0].name).open(newline="") as file:
        return files, [*csv.DictReader(file)]


@pytest.mark.parametrize("protect", ["person", "household"])
def test_every_cell_has_both_counts(tmp_path, protect):
    release = publish(by_size=sizes_on(), protect=protect)
    files, rows = rows_of(release, tmp_path)
    assert [int(row["persons"]) for row in rows] == release.persons.table.count.tolist()
    assert [int(row["households"]) for row in rows] == release.households.table.count.tolist()
    assert files[0].extras["columns"] == tuple(rows[0])
    assert tuple(rows[0])[-len(COLUMNS) :] == COLUMNS


@pytest.mark.parametrize("protect", ["person", "household"])
def test_intervals_are_those_of_estimates(tmp_path, protect):
    """Of cells as of regions of one cell, rounded outwards."""
    release = publish(by_size=sizes_on(scale=3), protect=protect)
    _, rows = rows_of(release, tmp_path)
    shown = 0
    key = release.persons.table.key
    for row, one in zip(rows, release.estimate_all(key[:, None]), strict=True):
        for name, found in (("persons", one.persons), ("households", one.households)):
            assert float(row[f"{name}_standard_error"]) == pytest.approx(
                found.standard_error, rel=1e-5
            )
            assert 0 <= found.low - float(row[f"{name}_low"]) < 0.01
            assert 0 <= float(row[f"{name}_high"]) - found.high < 0.01
        assert (row["mean_size"] == "") is (one.mean_size is None)
        if one.mean_size is not None:
            shown += 1
            assert float(row["mean_size"]) == pytest.approx(one.mean_size.value, abs=6e-5)
            assert 0 <= one.mean_size.low - float(row["mean_size_low"]) < 2e-4
            assert 0 <= float(row["mean_size_high"]) - one.mean_size.high < 2e-4
    assert shown


def test_other_formats_have_the_same_and_the_outlines(tmp_path):
    grid = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.5"))
    release = publish(by_size=sizes_on(grid, scale=9))
    files, rows = rows_of(release, tmp_path)
    assert [one.name.partition(".")[2] for one in files] == [
        *("csv", "csvt", "parquet", "gpkg", "qml")
    ]
    layers = [
        geopandas.read_parquet(tmp_path / files[2].name),
        geopandas.read_file(tmp_path / files[3].name),
    ]
    for found in layers:
        assert found.crs == "EPSG:6668"
        assert found["households"].tolist() == release.households.table.count.tolist()
        for name in COLUMNS:
            of_rows = [float(row[name]) if row[name] else np.nan for row in rows]
            assert np.array_equal(found[name].to_numpy(float), of_rows, equal_nan=True)
        assert found.geometry.is_valid.all()
    assert (layers[0].geometry == layers[1].geometry).all()
