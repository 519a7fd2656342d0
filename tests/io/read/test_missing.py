"""A value that means nobody is one however the file writes it and whichever reader sees it."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from geodp import Grid
from geodp.cli.commands.publish import publish
from geodp.errors import CodeError
from geodp.io.read.raster import read_raster
from geodp.io.read.rows import fields
from geodp.io.read.rows.pixels import grid_like
from geodp.io.read.table import read_table
from tests.io.files import tiff
from tests.refusals import refuses

NAN = float("nan")
LEAST = float(np.finfo(np.float32).min)


TOKENS = ["nan", "NaN", "NAN", " nan", NAN, np.float64("nan")]


@pytest.mark.parametrize(
    "column",
    [
        ["3", "NaN"],
        ["3", "nan"],
        ["3.0", " NAN "],
        ["3", "-nan"],
        pa.array([3.0, NAN]),
        pa.array([3.0, NAN], pa.float32()),
        pa.array([3.0, None]),  # as pandas writes NaN
        pa.array([3, None]),
        pa.array([Decimal(3), None], pa.decimal128(9, 2)),
        pa.array(["3", "NaN"]).dictionary_encode(),
        pa.array([3.0, NAN]).dictionary_encode(),
    ],
)
def test_nan_matches_however_it_is_written(column):
    for token in TOKENS:
        assert fields.counts(pa.array(column), missing=["-1", token]).tolist() == [3, 0]


@pytest.mark.parametrize("column", [["3", ""], ["3", None], ["3", "x"], ["3", "inf"]])
def test_nan_is_no_blank_of_a_text(column):
    with pytest.raises(CodeError) as caught:
        fields.counts(pa.array(column), missing=["nan"])
    assert caught.value.position == 1


@pytest.mark.parametrize("column", [["3", "nan"], pa.array([3.0, NAN])])
@pytest.mark.parametrize("missing", [[], ["-1"], ["inf"]])
def test_nan_that_is_not_named_is_refused(column, missing):
    with refuses(CodeError, "count-is-mark|count-not-finite: --missing"):
        fields.counts(pa.array(column), missing=missing)


@pytest.mark.parametrize(
    ("column", "missing"),
    [
        (["3", "99"], [99]),
        (["3", "99"], ["99.0"]),
        (["3", "99.0"], ["99"]),
        (["3", "-1.0"], [-1]),
        (["3", "-1"], ["-1.0"]),
        (["3.0", "-1e0"], [-1]),
        (["3", "-9999.00"], ["-9999"]),
        (["3", "inf"], ["Infinity"]),
        (["3", "1" * 30], ["1" * 30]),
        (pa.array([3.0, np.inf]), ["inf"]),
        (pa.array([3.0, LEAST], pa.float32()), [LEAST]),
        (pa.array([3.0, LEAST], pa.float32()), ["-3.4028235e+38"]),
        (pa.array([3, 99]), ["99.0"]),
        (pa.array([3, 99], pa.int8()), ["300", "99"]),
    ],
)
def test_a_number_matches_however_it_is_written(column, missing):
    assert fields.counts(pa.array(column), missing=missing).tolist() == [3, 0]


def test_what_is_not_named_counts():
    assert fields.counts(pa.array(["3", "100"]), missing=[99, "nan", "x"]).tolist() == [3, 100]
    assert fields.counts(pa.array([3, 100]), missing=[99, "nan", "x"]).tolist() == [3, 100]


def test_all_readers_take_nan(tmp_path: Path) -> None:
    grid = Grid.regular((1, 2), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
    places = {"grid": grid, "x": "x", "y": "y", "anchor": "index"}
    csv = tmp_path / "t.csv"
    csv.write_text("x,y,n\n0,0,3\n1,0,NaN\n")
    parquet = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [0, 1], "y": [0, 0], "n": [3.0, NAN]}), parquet)
    for path in (csv, parquet):
        found = read_table(path, value="n", missing=["nan"], **places)
        assert found.to_dense().tolist() == [[3, 0]]
    raster = tiff(np.array([[3, NAN]], np.float32))(tmp_path)
    assert read_raster(raster, grid=grid_like(raster), missing=[NAN]).to_dense().tolist() == [
        [3, 0]
    ]


@pytest.mark.parametrize("kind", ["table", "raster"])
def test_the_command_line_takes_nan(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    raster = tiff(np.array([[3, NAN]], np.float32))(tmp_path)
    csv = tmp_path / "t.csv"
    csv.write_text("x,y,n\n0,0,3\n1,0,NaN\n")
    call = [raster, "--grid", f"like:{raster}", "--domain-is-public"]
    if kind == "table":
        call = [csv, "--grid", "regular:1x2", "--value", "n", "--x", "x", "--y", "y"]
        call += ["--anchor", "index"]
    more = ["--missing", "nan", "--epsilon", "1", "--contribution", "1"]
    arguments = [*call, *more, "--output", out]
    done = CliRunner().invoke(publish, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0
    assert '"people": 3,' in (out / "restricted" / "run.json").read_text()
