"""The files of measurements, read by pandas alone as a statistician would."""

import json
import subprocess
import sys

import numpy as np
import pytest

import geodp
from geodp.io.write import measurements
from geodp.io.write.measurements import COLUMNS
from tests.io.write.test_writers import GRIDS

MESH = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1)).with_official_order()

READ = """
import json, sys
import pandas as pd

folder = sys.argv[1]
rows = pd.read_parquet(f"{folder}/jobs.measurements.parquet")
book = json.load(open(f"{folder}/jobs.measurements.json"))
levels = pd.DataFrame(book["levels"]).set_index("level")
whole = rows[rows["complete"]]
sums = whole[whole["measures"] == "count"].groupby("level")["value"].sum()
variance = whole.groupby("level").size() * levels["variance"]
# The total by all complete levels, each weighted by its precision.
weight = (1 / variance[sums.index])
print(json.dumps({
    "total": float((sums * weight).sum() / weight.sum()),
    "error": float(weight.sum() ** -0.5),
    "kinds": [str(kind) for kind in rows.dtypes],
    "codes": rows["code"].dropna().tolist()[-3:],
    "rows": len(rows),
    "modules": [name for name in sys.modules if name.startswith("geodp")],
}))
"""


def write(path, grid, **given):
    counts = np.random.default_rng(2).integers(0, 60, grid.shape)
    table = geodp.CountTable.from_dense(counts * grid.domain.to_dense(), grid)
    given = {"contribution": 1, "key": geodp.NoiseKey(bytes(32)), "measurements": "cell", **given}
    geodp.publish(table, epsilon=1, **given).write(path, name="jobs")
    return path / "public", table


def test_pandas_alone_reads_them_back(tmp_path):
    folder, table = write(tmp_path / "out", MESH)
    done = subprocess.run(
        [sys.executable, "-c", READ, folder], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["modules"] == []
    assert abs(found["total"] - table.count.sum()) < 5 * found["error"]
    assert found["error"] < 20
    place = MESH.places[0]
    assert {*found["codes"]} <= {*place.format(*np.indices(MESH.shape).reshape(2, -1))}
    assert len(found["codes"]) == 3


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
