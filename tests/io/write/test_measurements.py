"""The files of measurements, read by pandas alone as a statistician would."""

import json

import numpy as np
import pytest

import geodp
from geodp.io.write import measurements
from geodp.io.write.measurements import COLUMNS
from tests.io.write.test_writers import GRIDS


def write(path, grid, **given):
    counts = np.random.default_rng(2).integers(0, 60, grid.shape)
    table = geodp.CountTable.from_dense(counts * grid.domain.to_dense(), grid)
    given = {"contribution": 1, "key": geodp.NoiseKey(bytes(32)), "measurements": "cell", **given}
    geodp.publish(table, epsilon=1, **given).write(path, name="jobs")
    return path / "public", table


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("mesh", "topdown"),
        ("attributes", "pyramid"),
        ("pairs", "pyramid"),
        ("axes", "topdown"),
        ("masked", "topdown"),
        ("masked", "pyramid"),
        ("one", "pyramid"),
    ],
)
def test_every_grid_has_tidy_rows_and_a_codebook(tmp_path, name, method):
    grid = GRIDS[name]
    folder, _ = write(tmp_path / "out", grid, method=method, measurements=8)
    rows = measurements.pa.parquet.read_table(folder / "jobs.measurements.parquet")
    book = json.loads((folder / "jobs.measurements.json").read_text())
    card = json.loads((folder / "release.json").read_text())
    entries = {file["name"]: file for file in card["files"]}
    entry = entries["jobs.measurements.parquet"]
    assert "jobs.measurements.json" in entries
    assert entry["columns"] == rows.schema.names
    assert entry["rows"] == rows.num_rows == sum(level["nodes"] for level in book["levels"])
    assert {*book["columns"]} == {*COLUMNS, *(f"first_{axis}" for axis in grid.axis_names)}
    assert book["release"]["release_id"] == card["release_id"]
    for level in book["levels"]:
        assert level["unbiased"] == level["complete"]
        assert (level["simulated"] is None) == level["complete"]
        assert {*level["size"]} == {*grid.axis_names}
        assert (level["halves_along"] is None) == (level["measures"] == "count")


def test_regions_have_their_codes(tmp_path):
    rows, cols = np.indices((4, 6)).reshape(2, -1)
    names = {"prefecture": np.where(cols < 3, "13", "14"), "city": (rows // 2).astype(str)}
    regions = geodp.grid.hierarchy.Hierarchy.of_cells([rows, cols], names, "a test")
    grid = geodp.Grid.regular((4, 6)).with_hierarchy(regions)
    folder, _ = write(tmp_path / "out", grid)
    table = measurements.pa.parquet.read_table(folder / "jobs.measurements.parquet").to_pandas()
    codes = table.groupby("level")["code"].apply(list)
    assert codes[1] == ["13", "14"]
    assert codes[2] == ["13/0", "13/1", "14/0", "14/1"]
    assert "first_row" not in table.columns
